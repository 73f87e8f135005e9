//! Splits a stream into JSON values, consecutive or in arrays, without parsing them.

use std::io::{self, ErrorKind};

use crate::items::Items;
use crate::source::{Source, io_error};
use crate::{Error, MAX_PASSED_OVER, Place, Result};

/// The values of a stream, including the elements of arrays, each in one buffer.
pub(crate) struct Values {
    source: Source,
    value: Vec<u8>,
    /// Largest length of a value in bytes.
    limit: u64,
    /// The number of the line in which the value begins, and of the current line.
    first_line: u64,
    line: u64,
    state: State,
    /// Whether the stream begins with an array.
    in_array: Option<bool>,
    /// Number of the value in its array, from 1.
    element: u64,
    /// The scan of a value that is too long.
    unfinished: Option<Scan>,
    at_start: bool,
}

/// The expected next token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Anywhere outside arrays: a value, an array or the end.
    Outside,
    /// After `[`: a value or `]`.
    First,
    /// After a comma: a value.
    Next,
    /// After a value: a comma or `]`.
    After,
}

/// The state of scanning a value.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Number of open objects and arrays.
    depth: u64,
    in_string: bool,
    /// Whether the last byte was a backslash in a string.
    escapes: bool,
    /// Whether the value is a number or a word, which ends before another byte.
    is_word: bool,
    length: u64,
}

impl Scan {
    fn of(first: u8) -> Self {
        Scan {
            is_word: !matches!(first, b'{' | b'[' | b'"'),
            ..Scan::default()
        }
    }

    /// Returns how many of these bytes belong to the value, and whether it ends there.
    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.is_word {
                if byte.is_ascii_whitespace() || b",]}[{\"".contains(&byte) {
                    return (at, true);
                }
                continue;
            }
            match byte {
                _ if self.escapes => self.escapes = false,
                b'\\' if self.in_string => self.escapes = true,
                b'"' => {
                    self.in_string = !self.in_string;
                    if !self.in_string && self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ => {}
            }
        }
        (bytes.len(), false)
    }
}

impl Items for Values {
    /// A value that is too long is an [`Error::Input`], and the next call skips it. Invalid JSON is an [`Error::Io`],
    /// and ends the values.
    fn advance(&mut self) -> Result<bool> {
        if let Some(scan) = self.unfinished.take() {
            self.pass_over(scan)?;
        }
        let Some(first) = self.find_value()? else {
            return Ok(false);
        };
        self.in_array.get_or_insert(false);
        self.element = match self.state {
            State::Outside => 0,
            _ => self.element + 1,
        };
        self.first_line = self.line;
        self.value.clear();
        let mut scan = Scan::of(first);
        while scan.length <= self.limit {
            if self.scan_on(&mut scan, true)? {
                self.end_value();
                if scan.length > self.limit {
                    return Err(self.too_long());
                }
                return Ok(true);
            }
        }
        self.unfinished = Some(scan);
        Err(self.too_long())
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn place(&self) -> Place {
        Place::Line(self.first_line)
    }

    fn raw(&self) -> (&[u8], &'static [u8]) {
        (&self.value, b"")
    }

    fn has_faults(&self) -> bool {
        let mut lines = self.first_line..=self.line;
        lines.any(|line| self.source.is_faulty(line))
    }

    fn are_in_array(&self) -> Option<bool> {
        self.in_array
    }

    fn error_at(&self, lines: u64, message: String) -> Error {
        let place = Place::Line(self.first_line + lines);
        let message = match self.element {
            0 => message,
            number => format!("element {number}: {message}"),
        };
        self.source.input_error(place, message)
    }
}

impl Values {
    pub(crate) fn new(source: Source, limit: u64) -> Self {
        Values {
            source,
            value: Vec::new(),
            limit,
            first_line: 0,
            line: 1,
            state: State::Outside,
            in_array: None,
            element: 0,
            unfinished: None,
            at_start: true,
        }
    }

    fn too_long(&mut self) -> Error {
        self.value.clear();
        let message = format!("value is longer than {} bytes", self.limit);
        self.error(message)
    }

    /// Skips the rest of a value that is too long.
    fn pass_over(&mut self, mut scan: Scan) -> Result<()> {
        while scan.length <= MAX_PASSED_OVER {
            if self.scan_on(&mut scan, false)? {
                self.end_value();
                return Ok(());
            }
        }
        let message = format!("value is longer than {MAX_PASSED_OVER} bytes; no more is read");
        Err(self.broken(self.first_line, &message))
    }

    fn end_value(&mut self) {
        if self.state != State::Outside {
            self.state = State::After;
        }
    }

    /// Reads some bytes of a value; returns `true` at its end.
    fn scan_on(&mut self, scan: &mut Scan, keeps: bool) -> Result<bool> {
        let bytes = match self.source.reader().fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.source.io_error(error)),
        };
        if bytes.is_empty() {
            if scan.is_word {
                return Ok(true);
            }
            let message = "the value that begins here has no end";
            return Err(self.broken(self.first_line, message));
        }
        let (length, is_end) = scan.take(bytes);
        let taken = &bytes[..length];
        if keeps {
            self.value.extend_from_slice(taken);
        }
        self.line += taken.iter().filter(|&&b| b == b'\n').count() as u64;
        scan.length += length as u64;
        self.source.reader().consume(length);
        Ok(is_end)
    }

    /// Advances to the first byte of the next value, without consuming it; returns `None` at the end.
    fn find_value(&mut self) -> Result<Option<u8>> {
        loop {
            let Some(byte) = self.peek_byte()? else {
                return match self.state {
                    State::Outside => Ok(None),
                    _ => Err(self.broken(self.line, "the array has no end")),
                };
            };
            match (self.state, byte) {
                (_, b' ' | b'\t' | b'\r' | b'\n') => self.pass_byte(byte),
                (State::Outside, 0xef) if self.at_start => self.pass_mark()?,
                (State::Outside, b'[') => {
                    self.pass_byte(byte);
                    self.state = State::First;
                    self.element = 0;
                    self.in_array.get_or_insert(true);
                }
                (State::First | State::After, b']') => {
                    self.pass_byte(byte);
                    self.state = State::Outside;
                }
                (State::After, b',') => {
                    self.pass_byte(byte);
                    self.state = State::Next;
                }
                (State::After, _) => {
                    return Err(self.broken(self.line, "neither a comma nor the end of the array"));
                }
                (_, b'}' | b']' | b',' | b':') => {
                    let message = format!("{:?} where a value is wanted", char::from(byte));
                    return Err(self.broken(self.line, &message));
                }
                (State::Outside, byte) if !b"{\"-tfn0123456789".contains(&byte) => {
                    return Err(self.broken(self.line, "not JSON"));
                }
                (_, byte) => return Ok(Some(byte)),
            }
            self.at_start = false;
        }
    }

    fn peek_byte(&mut self) -> Result<Option<u8>> {
        match self.source.reader().fill_buf() {
            Ok(bytes) => Ok(bytes.first().copied()),
            Err(error) => Err(self.source.io_error(error)),
        }
    }

    fn pass_byte(&mut self, byte: u8) {
        self.source.reader().consume(1);
        self.line += u64::from(byte == b'\n');
    }

    /// Skips a byte order mark.
    fn pass_mark(&mut self) -> Result<()> {
        let mut mark = [0; 3];
        let read = self.source.reader().read_exact(&mut mark);
        match read {
            Ok(()) if mark == *crate::line_source::BYTE_ORDER_MARK => Ok(()),
            _ => Err(self.broken(self.line, "not JSON")),
        }
    }

    /// Returns the error of a stream in which no further value can be found.
    fn broken(&self, line: u64, message: &str) -> Error {
        let name = format!("{}:{line}", self.source.name());
        io_error(&name, io::Error::new(ErrorKind::InvalidData, message))
    }
}
