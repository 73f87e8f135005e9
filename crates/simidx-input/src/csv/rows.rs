//! Splits a stream into rows of comma-separated values.

use std::io::{self, ErrorKind};

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use crate::items::Items;
use crate::source::{Source, io_error};
use crate::{MAX_PASSED_OVER, Place, Result};

/// Number of bytes by which the buffer of values grows.
const ROOM: usize = 64 << 10;

/// The rows of a stream, each with its values and its bytes.
pub(crate) struct Rows {
    source: Source,
    delimiter: u8,
    parser: Reader,
    /// The unquoted values of the row without separators, followed by free space; their total length; and the end of
    /// each.
    values: Vec<u8>,
    filled: usize,
    ends: Vec<usize>,
    /// The bytes of the row, including its line end.
    raw: Vec<u8>,
    /// Largest length of a row in bytes.
    limit: u64,
    /// The number of the line in which the row begins, and of the current line.
    first_line: u64,
    line: u64,
    /// Number of bytes of the current row so far.
    length: u64,
    /// Whether the row is too long and its rest is still to be skipped.
    is_unfinished: bool,
}

impl Items for Rows {
    /// A row that is too long, or that ends within quotation marks, is an [`Error::Input`](crate::Error::Input).
    fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_unfinished) {
            self.pass_over()?;
        }
        self.clear();
        self.length = 0;
        // The offset of the last value in the bytes of the row.
        let mut value_start = 0;
        loop {
            let values = self.ends.len();
            let step = self.step()?;
            if step == Step::Within && self.ends.len() > values {
                value_start = self.raw.len();
            }
            if self.length > self.limit {
                self.find_first_line();
                self.is_unfinished = step == Step::Within;
                return Err(self.error(format!("row is longer than {} bytes", self.limit)));
            }
            match step {
                Step::Within => {}
                Step::StreamEnd if self.ends.is_empty() => return Ok(false),
                Step::StreamEnd | Step::RowEnd => {
                    self.take_line_feed()?;
                    self.find_first_line();
                    if step == Step::StreamEnd {
                        self.check_quotes(value_start)?;
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn place(&self) -> Place {
        Place::Line(self.first_line)
    }

    fn raw(&self) -> (&[u8], &'static [u8]) {
        let blank = self.raw.iter().take_while(|b| b"\r\n".contains(b)).count();
        let row = &self.raw[blank..];
        let end: &[u8] = match row {
            [.., b'\r', b'\n'] => b"\r\n",
            [.., b'\n'] => b"\n",
            [.., b'\r'] => b"\r",
            _ => b"",
        };
        (&row[..row.len() - end.len()], end)
    }

    fn has_faults(&self) -> bool {
        let mut lines = self.first_line..self.line.max(self.first_line + 1);
        lines.any(|line| self.source.is_faulty(line))
    }

    fn cell_count(&self) -> usize {
        self.ends.len()
    }

    fn cells(&self) -> Result<Vec<&str>, String> {
        (0..self.cell_count())
            .map(|index| self.value(index))
            .collect()
    }
}

/// The result of parsing some bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Within,
    RowEnd,
    StreamEnd,
}

impl Rows {
    /// Creates the rows of a stream without a byte order mark, whose values are separated by `delimiter`.
    pub(crate) fn new(source: Source, delimiter: u8, limit: u64) -> Self {
        let mut parser = ReaderBuilder::new().delimiter(delimiter).build();
        // After a blank line, the parser does not skip a byte order mark.
        parser.read_field(b"\n", &mut [0]);
        Rows {
            source,
            delimiter,
            parser,
            values: Vec::new(),
            filled: 0,
            ends: Vec::new(),
            raw: Vec::new(),
            limit,
            first_line: 0,
            line: 1,
            length: 0,
            is_unfinished: false,
        }
    }

    /// Sets the largest length in bytes of the next rows.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The byte that separates values.
    pub(crate) fn delimiter(&self) -> u8 {
        self.delimiter
    }
    /// Returns a value of the row.
    pub(crate) fn value(&self, index: usize) -> Result<&str, String> {
        let start = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        std::str::from_utf8(&self.values[start..end]).map_err(|_| "not valid UTF-8".into())
    }
    fn clear(&mut self) {
        self.filled = 0;
        self.ends.clear();
        self.raw.clear();
    }

    /// Parses up to the end of a value or of the available bytes.
    fn step(&mut self) -> Result<Step> {
        let bytes = match self.source.reader().fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.source.io_error(error)),
        };
        let is_end = bytes.is_empty();
        if self.values.len() == self.filled {
            self.values.resize(self.filled * 2 + ROOM, 0);
        }
        let room = &mut self.values[self.filled..];
        let (result, read, written) = self.parser.read_field(bytes, room);
        self.filled += written;
        self.raw.extend_from_slice(&bytes[..read]);
        self.length += read as u64;
        self.source.reader().consume(read);
        Ok(match result {
            ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => Step::Within,
            ReadFieldResult::End => Step::StreamEnd,
            ReadFieldResult::Field { record_end } => {
                self.ends.push(self.filled);
                match record_end {
                    true if is_end => Step::StreamEnd,
                    true => Step::RowEnd,
                    false => Step::Within,
                }
            }
        })
    }

    /// Consumes the line feed after a carriage return that ends the row.
    fn take_line_feed(&mut self) -> Result<()> {
        if !self.raw.ends_with(b"\r") {
            return Ok(());
        }
        let next = self
            .source
            .reader()
            .fill_buf()
            .map(|bytes| bytes.first().copied());
        if next.map_err(|error| self.source.io_error(error))? == Some(b'\n') {
            self.source.reader().consume(1);
            self.raw.push(b'\n');
        }
        Ok(())
    }

    /// Counts the lines of the row and of the blank lines before it.
    fn find_first_line(&mut self) {
        let lines = |bytes: &[u8]| bytes.iter().filter(|&&b| b == b'\n').count() as u64;
        let blank = self.raw.iter().take_while(|b| b"\r\n".contains(b)).count();
        self.first_line = self.line + lines(&self.raw[..blank]);
        self.line += lines(&self.raw);
    }

    /// Refuses a row with an unclosed quotation, which the parser would end at the end of the stream, with all rows in
    /// between.
    fn check_quotes(&self, value_start: usize) -> Result<()> {
        let last = self.raw.get(value_start..).unwrap_or_default();
        let blank = last.iter().take_while(|b| b"\r\n".contains(b)).count();
        let is_quoted = last.get(blank) == Some(&b'"');
        let quotes = last.iter().filter(|&&b| b == b'"').count();
        match is_quoted && quotes % 2 == 1 {
            true => Err(self.error("the quotation marks that open in this row never close")),
            false => Ok(()),
        }
    }

    /// Skips the rest of a row that is too long.
    fn pass_over(&mut self) -> Result<()> {
        let first_line = self.first_line;
        while self.length <= MAX_PASSED_OVER {
            self.clear();
            let step = self.step()?;
            self.line += self.raw.iter().filter(|&&b| b == b'\n').count() as u64;
            if step == Step::StreamEnd || step == Step::RowEnd {
                return Ok(());
            }
        }
        let message = format!("row is longer than {MAX_PASSED_OVER} bytes; no more is read");
        let name = format!("{}:{first_line}", self.source.name());
        Err(io_error(
            &name,
            io::Error::new(ErrorKind::InvalidData, message),
        ))
    }
}
