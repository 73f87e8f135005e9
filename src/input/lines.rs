//! Documents on a line each: the format `lines`.

use super::line_source::LineSource;
use super::source::Source;
use super::{MAX_DOCUMENT, Record, RecordReader};
use crate::{Fingerprint, Place, Result};

/// A reader of documents without ids. Blank lines are no documents.
pub(super) struct LinesReader {
    lines: LineSource,
}

impl LinesReader {
    pub(super) fn new(source: Source) -> Self {
        LinesReader {
            lines: LineSource::new(source, MAX_DOCUMENT),
        }
    }
}

impl<F: Fingerprint> RecordReader<F> for LinesReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        match self.lines.advance() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        Some(
            self.lines
                .text()
                .map(|text| Record::text(text.to_owned(), None)),
        )
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    fn place(&self) -> (&str, Place) {
        (self.lines.name(), self.lines.place())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Read, document, read_all};
    use crate::input::Format;

    #[test]
    fn each_line_is_a_document() {
        let read: Read<u64> = read_all(" one\ttwo \r\n\n \nдва".as_bytes(), Format::Lines);
        assert_eq!(
            read.records(),
            [document(" one\ttwo ", None), document("два", None)]
        );
    }

    #[test]
    fn other_encodings_are_refused() {
        let read: Read<u64> = read_all(b"a\nna\xefve\nb\n", Format::Lines);
        assert_eq!(read.errors(), ["in:2: not valid UTF-8"]);
        assert_eq!(read.records().len(), 2);
    }
}
