//! What the formats that are made of lines share: a record on each line.

use super::line_source::LineSource;
use super::plain_lines::Extent;
use super::{Record, RecordReader};
use crate::{Place, Result};
use simidx::Fingerprints;

/// What a line holds in one of those formats.
pub(super) trait LineFormat: Send {
    /// The record of a line, or what is wrong with it.
    fn record(&self, line: &str) -> Result<Record, String>;

    /// The message about the first line, which may be wrong for a reason of its own.
    fn explain_first(&self, line: &str, message: String) -> String {
        let _ = line;
        message
    }

    /// Appends the fingerprints of lines that hold nothing else, up to the first one that does.
    fn read_fingerprints(&self, lines: &mut LineSource, out: &mut Fingerprints) -> Extent {
        let _ = (lines, out);
        Extent::default()
    }
}

/// A reader of one record a line.
pub(super) struct LineReader<L> {
    lines: LineSource,
    format: L,
    /// Whether no line has been read.
    is_first: bool,
}

impl<L> LineReader<L> {
    pub(super) fn new(lines: LineSource, format: L) -> Self {
        let is_first = true;
        LineReader {
            lines,
            format,
            is_first,
        }
    }

    pub(super) fn into_format(self) -> L {
        self.format
    }
}

impl<L: LineFormat> Iterator for LineReader<L> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        match self.lines.advance() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        let is_first = std::mem::take(&mut self.is_first);
        let record = self.lines.text().and_then(|line| {
            let record = self.format.record(line);
            record.map_err(|message| match is_first {
                true => self.lines.error(self.format.explain_first(line, message)),
                false => self.lines.error(message),
            })
        });
        Some(record.map(|mut record| {
            record.has_faults = self.lines.has_faults();
            record
        }))
    }
}

impl<L: LineFormat> RecordReader for LineReader<L> {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let before = out.len();
        let extent = self.format.read_fingerprints(&mut self.lines, out);
        self.lines.pass_over(extent.lines, extent.bytes);
        self.is_first &= extent.lines == 0;
        out.len() - before
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    fn guessed_encoding(&self) -> Option<&'static str> {
        self.lines.guessed_encoding()
    }

    fn place(&self) -> (&str, Place) {
        (self.lines.name(), self.lines.place())
    }
}
