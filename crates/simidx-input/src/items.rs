//! Streams of items, such as lines, and a reader that makes a record of each item.

use super::digits::Radix;
use super::source::Source;
use super::{Record, RecordReader};
use crate::{Error, Place, Result};
use simidx::{Fingerprints, Width};

/// The consecutive items of a stream: lines, rows or objects.
pub(super) trait Items: Send {
    /// Advances to the next item. Returns `false` at the end and after it. After an [`Error::Io`], the result is
    /// unspecified.
    fn advance(&mut self) -> Result<bool>;

    fn source(&self) -> &Source;

    /// The place of the item.
    fn place(&self) -> Place;

    /// The exact bytes of the item, and of its end.
    fn raw(&self) -> (&[u8], &'static [u8]);

    /// Whether invalid bytes in the item became U+FFFD.
    fn has_faults(&self) -> bool;

    /// The number of columns of a row of a table.
    fn cell_count(&self) -> usize {
        0
    }

    /// The columns of a row of a table.
    fn cells(&self) -> Result<Vec<&str>, String> {
        Err("has no fields".into())
    }

    /// Whether the items are elements of an array; `None` before that is known.
    fn are_in_array(&self) -> Option<bool> {
        None
    }

    /// Returns the error of the item.
    fn error(&self, message: impl Into<String>) -> Error
    where
        Self: Sized,
    {
        self.error_at(0, message.into())
    }

    /// Returns the error of a line of the item; `lines` is its distance from the first line.
    fn error_at(&self, _lines: u64, message: String) -> Error {
        self.source().input_error(self.place(), message)
    }

    /// The item as text.
    fn text(&self) -> Result<&str> {
        let text = std::str::from_utf8(self.raw().0);
        text.map_err(|_| self.error_at(0, "not valid UTF-8".into()))
    }

    /// Appends the fingerprints of the next items, up to the first item with other contents, and returns their number.
    fn read_fingerprints(&mut self, _: Radix, _: &mut Fingerprints) -> usize {
        0
    }
}

/// Makes the record of an item. The second argument is whether the item is the first.
type ReadRecord<I> = dyn Fn(&I, bool) -> Result<Record> + Send;

/// Reads one record from each item.
pub(super) struct ItemReader<I> {
    items: I,
    record: Box<ReadRecord<I>>,
    /// The notation of fingerprints, if they support bulk reads.
    plain: Option<(Radix, Width)>,
    /// Whether no item has been read yet.
    is_first: bool,
    /// Whether all items have been read.
    has_ended: bool,
}

impl<I: Items> ItemReader<I> {
    pub(super) fn new(
        items: I,
        record: impl Fn(&I, bool) -> Result<Record> + Send + 'static,
    ) -> Self {
        ItemReader {
            items,
            record: Box::new(record),
            plain: None,
            is_first: true,
            has_ended: false,
        }
    }

    /// Enables bulk reads, for items most of which are only a fingerprint.
    pub(super) fn plain(mut self, radix: Radix, width: Width) -> Self {
        self.plain = Some((radix, width));
        self
    }

    pub(super) fn items(&self) -> &I {
        &self.items
    }
}

impl<I: Items> Iterator for ItemReader<I> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.has_ended {
            return None;
        }
        let advanced = self.items.advance();
        self.has_ended = !matches!(advanced, Ok(true) | Err(Error::Input(_)));
        match advanced {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let record = (self.record)(&self.items, std::mem::take(&mut self.is_first));
        Some(record.map(|mut record| {
            record.has_faults = self.items.has_faults();
            record
        }))
    }
}

impl<I: Items> RecordReader for ItemReader<I> {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let count = match self.plain {
            Some((radix, width)) if width == out.width() && !self.has_ended => {
                self.items.read_fingerprints(radix, out)
            }
            _ => 0,
        };
        self.is_first &= count == 0;
        count
    }

    fn bytes_read(&self) -> u64 {
        self.items.source().bytes_read()
    }

    fn guessed_encoding(&self) -> Option<&'static str> {
        self.items.source().guessed_encoding()
    }

    fn place(&self) -> (&str, Place) {
        (self.items.source().name(), self.items.place())
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
