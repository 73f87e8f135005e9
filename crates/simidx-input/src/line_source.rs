//! Splits a byte source into lines of bounded length.

use std::io::{self, BufRead, Read};

use super::digits::Radix;
use super::items::Items;
use super::read_ahead::ReadAhead;
use super::source::Source;
use super::{MAX_PASSED_OVER, plain_lines};
use crate::{Place, Result};
use simidx::Fingerprints;

/// The byte order mark in UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A source that is read line by line into one buffer.
pub(super) struct LineSource {
    ahead: ReadAhead,
    line: Vec<u8>,
    /// The end of the line, which is not part of it.
    end: &'static [u8],
    number: u64,
    /// Whether bytes of the line were replaced when it was decoded.
    has_faults: bool,
    /// Largest length of a line in bytes, without its end.
    limit: u64,
    /// Largest number of bytes that are skipped after a line that is too long.
    most_passed_over: u64,
    /// Whether the current line is too long and its rest is still to be skipped.
    is_unfinished: bool,
}

impl Items for LineSource {
    /// Advances to the next line that is not blank. A line that is too long is an `Error::Input` immediately; the next
    /// call skips its rest. If the rest is too long to skip, it is an `Error::Io`.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let read = self.read_line();
            match read.map_err(|e| self.source().io_error(e))? {
                LineRead::Line if self.line.trim_ascii().is_empty() => {}
                LineRead::Line => return Ok(true),
                LineRead::TooLong => {
                    let limit = self.limit;
                    return Err(self.error(format!("line is longer than {limit} bytes")));
                }
                LineRead::End => return Ok(false),
            }
        }
    }

    fn source(&self) -> &Source {
        self.ahead.source()
    }

    fn place(&self) -> Place {
        Place::Line(self.number)
    }

    fn raw(&self) -> (&[u8], &'static [u8]) {
        (&self.line, self.end)
    }

    fn has_faults(&self) -> bool {
        self.has_faults
    }

    fn cell_count(&self) -> usize {
        self.line.split(|&byte| byte == b'\t').count()
    }

    fn cells(&self) -> Result<Vec<&str>, String> {
        let line = std::str::from_utf8(&self.line).map_err(|_| "not valid UTF-8")?;
        Ok(line.split('\t').collect())
    }

    /// The next line might be the last one, or too long; in these cases, none is read.
    fn read_fingerprints(&mut self, radix: Radix, out: &mut Fingerprints) -> usize {
        if self.is_unfinished {
            return 0;
        }
        let before = out.len();
        let extent = plain_lines::read(self.ahead.whole_lines(), radix, out);
        self.number += extent.lines;
        self.ahead.consume(extent.bytes);
        out.len() - before
    }
}

impl LineSource {
    pub(super) fn new(source: Source, limit: u64) -> Self {
        LineSource {
            ahead: ReadAhead::new(source),
            line: Vec::new(),
            end: b"",
            number: 0,
            has_faults: false,
            limit,
            most_passed_over: MAX_PASSED_OVER,
            is_unfinished: false,
        }
    }

    fn read_line(&mut self) -> io::Result<LineRead> {
        self.line.clear();
        if std::mem::take(&mut self.is_unfinished) {
            self.pass_over_rest()?;
        }
        let length = (&mut self.ahead)
            .take(self.limit + 1)
            .read_until(b'\n', &mut self.line)?;
        if length == 0 {
            return Ok(LineRead::End);
        }
        self.number += 1;
        self.has_faults = self.ahead.source().is_faulty(self.number);
        self.end = b"";
        if self.line.ends_with(b"\n") {
            self.line.pop();
            self.end = b"\n";
        } else if length as u64 > self.limit {
            self.line.clear();
            self.is_unfinished = true;
            return Ok(LineRead::TooLong);
        }
        if self.line.ends_with(b"\r") {
            self.line.pop();
            self.end = match self.end {
                b"" => b"\r",
                _ => b"\r\n",
            };
        }
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(LineRead::Line)
    }

    fn pass_over_rest(&mut self) -> io::Result<()> {
        let most = self.most_passed_over;
        let passed = (&mut self.ahead).take(most).skip_until(b'\n')?;
        if (passed as u64) < most {
            return Ok(());
        }
        let number = self.number;
        let message = format!("line {number} is longer than {most} bytes; no more is read");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

/// The result of reading one line.
enum LineRead {
    Line,
    TooLong,
    End,
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::{gzip, source};
    use super::*;
    use crate::items::ItemReader;
    use crate::{Error, Record, RecordReader};

    /// Returns every line, or error, with its place.
    fn lines(bytes: &[u8], limit: u64) -> Vec<(Place, String)> {
        let mut lines = LineSource::new(source(bytes), limit);
        let mut all = Vec::new();
        loop {
            let text = match lines.advance() {
                Ok(false) => return all,
                Ok(true) => lines.text().map_or_else(|e| e.to_string(), str::to_owned),
                Err(e) => e.to_string(),
            };
            all.push((lines.place(), text));
        }
    }

    fn numbered(expected: &[(u64, &str)]) -> Vec<(Place, String)> {
        expected
            .iter()
            .map(|&(n, text)| (Place::Line(n), text.to_owned()))
            .collect()
    }

    #[test]
    fn both_line_ends_are_taken_off() {
        assert_eq!(
            lines(b"a\r\nb\nc\r", 9),
            numbered(&[(1, "a"), (2, "b"), (3, "c")])
        );
    }

    #[test]
    fn a_line_and_its_end_are_what_was_read() {
        for bytes in ["a\r\n", "b\n", "c\r", "d", "e\r\r\n", " f \n"] {
            let mut lines = LineSource::new(source(bytes.as_bytes()), 9);
            assert!(lines.advance().unwrap());
            let (line, end) = lines.raw();
            assert_eq!([line, end].concat(), bytes.as_bytes());
        }
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        assert_eq!(
            lines(b"\n \t\r\na\n\n\nb", 9),
            numbered(&[(3, "a"), (6, "b")])
        );
        assert_eq!(lines(b"", 9), []);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_start_only() {
        let text = "\u{feff}a\n\u{feff}b";
        assert_eq!(
            lines(text.as_bytes(), 9),
            numbered(&[(1, "a"), (2, "\u{feff}b")])
        );
    }

    #[test]
    fn a_line_too_long_is_skipped_to_its_end() {
        let long = "in:1: line is longer than 4 bytes";
        assert_eq!(
            lines(b"12345\n1234\n", 4),
            numbered(&[(1, long), (2, "1234")])
        );
        assert_eq!(lines(b"123456789", 4), numbered(&[(1, long)]));
        assert_eq!(lines(b"1234", 4), numbered(&[(1, "1234")]));
    }

    #[test]
    fn a_line_without_an_end_is_told_at_once_and_given_up_in_the_end() {
        let endless = Source::new("in".into(), io::repeat(b'x')).unwrap();
        let mut lines = LineSource::new(endless, 1 << 20);
        lines.most_passed_over = 8 << 20;
        let read = |line: &LineSource, _| Ok(Record::text(line.text()?.to_owned(), None));
        let mut reader = ItemReader::new(lines, read);
        let told = reader.next().unwrap().unwrap_err();
        assert!(matches!(told, Error::Input(_)), "{told}");
        assert!(reader.bytes_read() < 4 << 20, "{}", reader.bytes_read());
        let given_up = reader.next().unwrap().unwrap_err();
        assert!(matches!(given_up, Error::Io(_)), "{given_up}");
        let message = "in: line 1 is longer than 8388608 bytes; no more is read";
        assert_eq!(given_up.to_string(), message);
        assert!(reader.next().is_none());
    }

    #[test]
    fn other_encodings_are_refused_line_by_line() {
        let bad = "in:1: not valid UTF-8";
        assert_eq!(lines(b"\xff\xfe\nok", 9), numbered(&[(1, bad), (2, "ok")]));
    }

    #[test]
    fn a_failed_read_is_reported_once() {
        let mut bytes = gzip(b"a\nb\n");
        bytes.truncate(bytes.len() - 3);
        let mut lines = LineSource::new(source(&bytes), 9);
        let failed = std::iter::repeat_with(|| lines.advance()).find(|read| read.is_err());
        assert!(matches!(failed, Some(Err(Error::Io(_)))));
        assert!(matches!(lines.advance(), Ok(false)));
    }
}
