//! Documents on a line each: the format `lines`.

use super::line_reader::{LineFormat, LineReader};
use super::line_source::LineSource;
use super::source::Source;
use super::{MAX_DOCUMENT, Record};

/// Lines of a document without an id. Blank lines are no documents.
pub(super) struct Lines;

impl Lines {
    pub(super) fn reader(source: Source) -> LineReader<Self> {
        LineReader::new(LineSource::new(source, MAX_DOCUMENT), Lines)
    }
}

impl LineFormat for Lines {
    fn record(&self, line: &str) -> Result<Record, String> {
        Ok(Record::text(line.to_owned(), None))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{document, read_all};
    use crate::Format;

    #[test]
    fn each_line_is_a_document() {
        let read = read_all(" one\ttwo \r\n\n \nдва".as_bytes(), Format::Lines);
        assert_eq!(
            read.records(),
            [document(" one\ttwo ", None), document("два", None)]
        );
    }

    #[test]
    fn other_encodings_are_refused() {
        let read = read_all(b"a\nna\xefve\nb\n", Format::Lines);
        assert_eq!(read.errors(), ["in:2: not valid UTF-8"]);
        assert_eq!(read.records().len(), 2);
    }
}
