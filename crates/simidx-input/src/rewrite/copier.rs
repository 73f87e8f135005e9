//! Writes records in their original form: lines, rows, and JSON values.

use std::io::Write;

use crate::Result;
use crate::items::Items;
use crate::line_source::BYTE_ORDER_MARK;

/// An output of records from several inputs.
pub(super) struct Copier<'a> {
    out: &'a mut dyn Write,
    /// Whether no line has been written yet.
    is_empty: bool,
    /// Whether the last written line lacks its end.
    open_line: bool,
    /// Whether the header has been written.
    pub(super) has_header: bool,
    /// Whether values are written as elements of an array; `None` before that is known.
    in_array: Option<bool>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Copier {
            out,
            is_empty: true,
            open_line: false,
            has_header: false,
            in_array: None,
        }
    }
}

impl Copier<'_> {
    /// Selects an array if the first input is an array.
    pub(super) fn note_array(&mut self, values: &dyn Items) {
        self.in_array = self.in_array.or(values.are_in_array());
    }

    /// Writes a value as an element of an array, or on a line of its own.
    pub(super) fn write_value(&mut self, value: &[u8]) -> Result<()> {
        let (before, after): (&[u8], &[u8]) = match (self.in_array, self.is_empty) {
            (Some(true), true) => (b"[\n", b""),
            (Some(true), false) => (b",\n", b""),
            _ => (b"", b"\n"),
        };
        self.is_empty = false;
        for part in [before, value, after] {
            self.out.write_all(part)?;
        }
        Ok(())
    }

    /// Ends an array.
    pub(super) fn finish(&mut self) -> Result<()> {
        let end: &[u8] = match (self.in_array, self.is_empty) {
            (Some(true), true) => b"[]\n",
            (Some(true), false) => b"\n]\n",
            _ => b"",
        };
        Ok(self.out.write_all(end)?)
    }

    /// Writes a line so that readers read it unchanged.
    pub(super) fn write_raw(&mut self, (line, end): (&[u8], &[u8])) -> Result<()> {
        if self.is_empty && line.starts_with(BYTE_ORDER_MARK) {
            self.out.write_all(BYTE_ORDER_MARK)?;
        }
        self.is_empty = false;
        self.write(line, end)
    }

    /// Writes the parts of a record, and flushes it.
    #[cfg(feature = "warc")]
    pub(super) fn write_parts(&mut self, parts: [&[u8]; 3]) -> Result<()> {
        parts.iter().try_for_each(|part| self.out.write_all(part))?;
        Ok(self.out.flush()?)
    }

    pub(super) fn write(&mut self, line: &[u8], end: &[u8]) -> Result<()> {
        if std::mem::replace(&mut self.open_line, !end.ends_with(b"\n")) {
            self.out.write_all(b"\n")?;
        }
        self.out.write_all(line)?;
        Ok(self.out.write_all(end)?)
    }
}
