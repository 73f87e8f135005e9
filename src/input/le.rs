//! Fingerprints as little-endian words: the format `le`.

use std::io::{self, Read};

use super::source::Source;
use super::{Record, RecordReader};
use crate::{Error, Fingerprint, Place, Result};

/// The most bytes that a fingerprint has.
const WIDEST: usize = 16;

/// A reader of words of `F::BYTES` bytes each.
pub(super) struct LeReader {
    source: Source,
    /// Where the record returned last starts.
    place: u64,
    /// Bytes read.
    offset: u64,
    ended: bool,
}

impl LeReader {
    pub(super) fn new(source: Source) -> Self {
        LeReader {
            source,
            place: 0,
            offset: 0,
            ended: false,
        }
    }

    /// The next word, or `None` and the number of bytes left over at the end.
    fn next_word<F: Fingerprint>(&mut self) -> io::Result<(Option<F>, usize)> {
        let reader = self.source.reader();
        // Most words lie in the buffer as a whole.
        match reader.fill_buf() {
            Ok(buffer) if buffer.len() >= F::BYTES => {
                let fingerprint = F::from_le_slice(&buffer[..F::BYTES]);
                reader.consume(F::BYTES);
                return Ok((fingerprint, F::BYTES));
            }
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let mut word = Vec::with_capacity(WIDEST);
        reader.take(F::BYTES as u64).read_to_end(&mut word)?;
        Ok((F::from_le_slice(&word), word.len()))
    }

    fn left_over<F: Fingerprint>(&self, length: usize) -> Error {
        let (bytes, width) = (F::BYTES, F::WIDTH);
        let message =
            format!("{length} bytes are left over, a {width}-bit fingerprint takes {bytes}");
        self.source.input_error(Place::Offset(self.place), message)
    }
}

impl<F: Fingerprint> RecordReader<F> for LeReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        if self.ended {
            return None;
        }
        let read = self.next_word::<F>();
        self.ended = !matches!(read, Ok((Some(_), _)));
        match read {
            Ok((None, 0)) => None,
            Ok((word, length)) => {
                self.place = self.offset;
                self.offset += length as u64;
                Some(match word {
                    Some(fingerprint) => Ok(Record::fingerprint(fingerprint, None)),
                    None => Err(self.left_over::<F>(length)),
                })
            }
            Err(e) => Some(Err(self.source.io_error(e))),
        }
    }

    fn place(&self) -> (&str, Place) {
        (self.source.name(), Place::Offset(self.place))
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::{gzip, source};
    use super::super::tests::{Read, fingerprint, read_all};
    use super::*;
    use crate::input::Format;

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
