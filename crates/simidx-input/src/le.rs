//! Fingerprints as little-endian words: the format `le`.

use super::source::Source;
use super::words::{Word, Words};
use super::{Record, RecordReader};
use crate::{Error, Place, Result};
use simidx::Fingerprint;

/// A reader of words of `F::BYTES` bytes each.
pub(super) struct LeReader {
    words: Words,
    ended: bool,
}

impl LeReader {
    pub(super) fn new(source: Source) -> Self {
        LeReader {
            words: Words::new(source, 0, u64::MAX),
            ended: false,
        }
    }

    fn left_over<F: Fingerprint>(&self, length: usize) -> Error {
        let (bytes, width) = (F::BYTES, F::WIDTH);
        let message =
            format!("{length} bytes are left over, a {width}-bit fingerprint takes {bytes}");
        let place = Place::Offset(self.words.place());
        self.words.source().input_error(place, message)
    }
}

impl<F: Fingerprint> RecordReader<F> for LeReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        if self.ended {
            return None;
        }
        let word = self.words.next::<F>();
        self.ended = !matches!(word, Ok(Word::Whole(_)));
        match word {
            Ok(Word::Whole(fingerprint)) => Some(Ok(Record::fingerprint(fingerprint, None))),
            Ok(Word::CutOff(0) | Word::Enough) => None,
            Ok(Word::CutOff(length)) => Some(Err(self.left_over::<F>(length))),
            Err(e) => Some(Err(e)),
        }
    }

    fn read_fingerprints(&mut self, out: &mut Vec<F>) -> usize {
        self.words.take_many(out)
    }

    fn bytes_read(&self) -> u64 {
        self.words.source().bytes_read()
    }

    fn expected_records(&self) -> Option<u64> {
        let len = self.words.source().plain_len()?;
        let bytes = F::BYTES as u64;
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
    use super::super::tests::{Read, fingerprint, read_all};
    use super::*;
    use crate::Format;
    use std::io;

    #[test]
    fn words_are_little_endian() {
        let read: Read<u32> = read_all(&[1, 2, 3, 4, 5, 0, 0, 0], Format::Le);
        assert_eq!(
            read.records(),
            [fingerprint(0x0403_0201, None), fingerprint(5, None)]
        );
        assert_eq!(read_all::<u128>(&[7; 16], Format::Le).records().len(), 1);
        assert_eq!(read_all::<u64>(b"", Format::Le).records(), []);
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
        let mut reader = LeReader::new(Source::new("in".into(), Slow(bytes)).unwrap());
        for i in 0..100u64 {
            assert_eq!(reader.next_record().unwrap().unwrap(), fingerprint(i, None));
            let place = RecordReader::<u64>::place(&reader);
            assert_eq!(place, ("in", Place::Offset(i * 8)));
        }
        assert!(RecordReader::<u64>::next_record(&mut reader).is_none());
    }

    #[test]
    fn bytes_left_over_are_reported() {
        let read: Read<u64> = read_all(&[0; 19], Format::Le);
        let message = "in: offset 16: 3 bytes are left over, a 64-bit fingerprint takes 8";
        assert_eq!(read.errors(), [message]);
        assert_eq!(read.records().len(), 2);
    }

    #[test]
    fn a_failed_read_ends_the_records() {
        let bytes = gzip(&[1; 80]);
        let mut reader = LeReader::new(source(&bytes[..bytes.len() - 2]));
        let mut next = || RecordReader::<u64>::next_record(&mut reader);
        let failed = std::iter::from_fn(&mut next).find_map(|record| record.err());
        assert!(matches!(failed, Some(Error::Io(_))));
        assert!(next().is_none());
    }
}
