//! Fingerprints as little-endian words: the format `le`.

use super::source::Source;
use super::words::{Word, Words};
use super::{Record, RecordReader};
use crate::{Error, Place, Result};
use simidx::{Fingerprints, Width};

/// A reader of one word after another.
pub(super) struct LeReader {
    words: Words,
    ended: bool,
}

impl LeReader {
    pub(super) fn new(source: Source, width: Width) -> Self {
        LeReader {
            words: Words::new(source, width, 0, u64::MAX),
            ended: false,
        }
    }

    fn left_over(&self, length: usize) -> Error {
        let width = self.words.width();
        let bytes = width.bytes();
        let message =
            format!("{length} bytes are left over, a {width}-bit fingerprint takes {bytes}");
        let place = Place::Offset(self.words.place());
        self.words.source().input_error(place, message)
    }
}

impl Iterator for LeReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.ended {
            return None;
        }
        let word = self.words.next();
        self.ended = !matches!(word, Ok(Word::Whole(_)));
        match word {
            Ok(Word::Whole(fingerprint)) => Some(Ok(Record::fingerprint(fingerprint, None))),
            Ok(Word::CutOff(0) | Word::Enough) => None,
            Ok(Word::CutOff(length)) => Some(Err(self.left_over(length))),
            Err(e) => Some(Err(e)),
        }
    }
}

impl RecordReader for LeReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        self.words.take_many(out)
    }

    fn bytes_read(&self) -> u64 {
        self.words.source().bytes_read()
    }

    fn expected_records(&self) -> Option<u64> {
        let len = self.words.source().plain_len()?;
        let bytes = self.words.width().bytes() as u64;
        len.is_multiple_of(bytes).then_some(len / bytes)
    }

    fn place(&self) -> (&str, Place) {
        (
            self.words.source().name(),
            Place::Offset(self.words.place()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::{gzip, source};
    use super::super::tests::{fingerprint, read_all, read_by};
    use super::*;
    use crate::Format;
    use std::io;

    #[test]
    fn words_are_little_endian() {
        let read = read_by(&[1, 2, 3, 4, 5, 0, 0, 0], Format::Le, &Width::W32.into());
        assert_eq!(
            read.records(),
            [fingerprint(0x0403_0201, None), fingerprint(5, None)]
        );
        let read = read_by(&[7; 16], Format::Le, &Width::W128.into());
        assert_eq!(read.records().len(), 1);
        assert_eq!(read_all(b"", Format::Le).records(), []);
    }

    #[test]
    fn words_across_buffers_are_read() {
        // Three bytes in front put every buffer's end inside a word.
        struct Slow(Vec<u8>);
        impl Read_ for Slow {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let length = self.0.len().min(out.len()).min(3);
                out[..length].copy_from_slice(&self.0[..length]);
                self.0.drain(..length);
                Ok(length)
            }
        }
        use std::io::Read as Read_;
        let bytes: Vec<u8> = (0..100u64).flat_map(u64::to_le_bytes).collect();
        let mut reader = LeReader::new(Source::new("in".into(), Slow(bytes)).unwrap(), Width::W64);
        for i in 0..100u64 {
            assert_eq!(reader.next().unwrap().unwrap(), fingerprint(i.into(), None));
            let place = reader.place();
            assert_eq!(place, ("in", Place::Offset(i * 8)));
        }
        assert!(reader.next().is_none());
    }

    #[test]
    fn bytes_left_over_are_reported() {
        let read = read_all(&[0; 19], Format::Le);
        let message = "in: offset 16: 3 bytes are left over, a 64-bit fingerprint takes 8";
        assert_eq!(read.errors(), [message]);
        assert_eq!(read.records().len(), 2);
    }

    #[test]
    fn a_failed_read_ends_the_records() {
        let bytes = gzip(&[1; 80]);
        let mut reader = LeReader::new(source(&bytes[..bytes.len() - 2]), Width::W64);
        let failed = reader.find_map(|record| record.err());
        assert!(matches!(failed, Some(Error::Io(_))));
        assert!(reader.next().is_none());
    }
}
