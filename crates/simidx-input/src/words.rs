//! Fingerprints as words of their width: the format `le`, and the arrays of the format `npy`.

use std::io::{self, Read};

use super::npy_header::{self, Layout};
use super::source::Source;
use super::{Record, RecordReader};
use crate::{Place, Result};
use simidx::{Fingerprints, Width};

/// Largest number of words that are read at a time.
const MOST: u64 = 1 << 16;

/// Reads consecutive words.
pub(super) struct WordReader {
    source: Source,
    width: Width,
    /// Number of words in an array; `None` if they continue to the end of the source.
    count: Option<u64>,
    is_big_endian: bool,
    /// The offset of the first word.
    start: u64,
    /// Number of words that have been read.
    seen: u64,
    /// Bytes at the end that do not form a complete word.
    rest: Vec<u8>,
    /// The failure that ended a bulk read, still to be returned.
    failure: Option<io::Error>,
    /// Working memory for a word.
    one: Fingerprints,
    ended: bool,
}

impl WordReader {
    /// Reads little-endian words to the end of the source.
    pub(super) fn le(source: Source, width: Width) -> Self {
        WordReader {
            source,
            width,
            count: None,
            is_big_endian: false,
            start: 0,
            seen: 0,
            rest: Vec::new(),
            failure: None,
            one: Fingerprints::new(width),
            ended: false,
        }
    }

    /// Reads the header of an array, and checks that the array contains fingerprints of the width.
    pub(super) fn npy(mut source: Source, width: Width) -> Result<Self> {
        let (Layout { count, big_endian }, start) = npy_header::read(&mut source, width)?;
        Ok(WordReader {
            count: Some(count),
            is_big_endian: big_endian,
            start,
            ..WordReader::le(source, width)
        })
    }

    /// Checks the end of the words.
    fn check_end(&mut self) -> Result<()> {
        let (seen, width, rest) = (self.seen, self.width, self.rest.len());
        let message = match self.count {
            None if rest == 0 => return Ok(()),
            None => {
                let bytes = width.bytes();
                format!("{rest} bytes are left over, a {width}-bit fingerprint takes {bytes}")
            }
            Some(count) if seen < count => {
                format!("ends after {seen} of {count} fingerprints of {width} bits")
            }
            Some(count) => match self.source.reader().fill_buf() {
                Ok([]) => return Ok(()),
                Ok(_) => format!("more bytes follow the array of {count} fingerprints"),
                Err(e) => return Err(self.source.io_error(e)),
            },
        };
        Err(self.source.input_error(self.place().1, message))
    }

    /// Appends available words to a column of their width, and returns their number, 0 at the end. It waits only for
    /// the first of them.
    fn take(&mut self, most: u64, out: &mut Fingerprints) -> io::Result<usize> {
        let left = self.count.map_or(u64::MAX, |count| count - self.seen);
        let (length, most) = (self.width.bytes(), most.min(left) as usize);
        let reader = self.source.reader();
        let buffer = reader.fill_buf()?;
        // The bytes of an incomplete word come first.
        let mut count = match self.rest.is_empty() {
            true => (buffer.len() / length).min(most),
            false => 0,
        };
        if count > 0 {
            append(&buffer[..count * length], self.is_big_endian, out);
            reader.consume(count * length);
        } else if most > 0 {
            // A word across two buffers, or the end.
            let missing = length - self.rest.len();
            reader.take(missing as u64).read_to_end(&mut self.rest)?;
            if self.rest.len() == length {
                append(&self.rest, self.is_big_endian, out);
                self.rest.clear();
                count = 1;
            }
        }
        self.seen += count as u64;
        Ok(count)
    }
}

/// Appends the values of words.
fn append(bytes: &[u8], is_big_endian: bool, out: &mut Fingerprints) {
    match (out, is_big_endian) {
        (Fingerprints::W32(out), false) => extend(bytes, u32::from_le_bytes, out),
        (Fingerprints::W32(out), true) => extend(bytes, u32::from_be_bytes, out),
        (Fingerprints::W64(out), false) => extend(bytes, u64::from_le_bytes, out),
        (Fingerprints::W64(out), true) => extend(bytes, u64::from_be_bytes, out),
        (Fingerprints::W128(out), false) => extend(bytes, u128::from_le_bytes, out),
        // Two words of 64 bits, the low one first in either byte order.
        (Fingerprints::W128(out), true) => {
            extend(bytes, |pair| u128::from_be_bytes(pair).rotate_left(64), out);
        }
    }
}

fn extend<F, const N: usize>(bytes: &[u8], word: impl Fn([u8; N]) -> F, out: &mut Vec<F>) {
    out.extend(bytes.as_chunks().0.iter().map(|bytes| word(*bytes)));
}

impl Iterator for WordReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.ended {
            return None;
        }
        let mut one = std::mem::replace(&mut self.one, Fingerprints::new(self.width));
        one.clear();
        let taken = match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.take(1, &mut one),
        };
        let word = one.iter().next();
        self.one = one;
        if let Some(word) = word {
            return Some(Ok(Record::fingerprint(word, None)));
        }
        self.ended = true;
        match taken {
            Ok(_) => self.check_end().err().map(Err),
            Err(e) => Some(Err(self.source.io_error(e))),
        }
    }
}

impl RecordReader for WordReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let before = self.seen;
        while out.width() == self.width && self.failure.is_none() && self.seen - before < MOST {
            match self.take(MOST - (self.seen - before), out) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => self.failure = Some(e),
            }
        }
        (self.seen - before) as usize
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The place of the last returned word, or of the failure after it.
    fn place(&self) -> (&str, Place) {
        let before = self.seen - u64::from(!self.ended && self.seen > 0);
        let offset = self.start + before * self.width.bytes() as u64;
        (self.source.name(), Place::Offset(offset))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::source::tests::{gzip, source, zstd};
    use super::super::tests::{Read, drain, drain_in_bulk, fingerprint, read_all, read_by};
    use super::*;
    use crate::{Error, Format};

    /// Returns a file of version 1 with this element type, shape and contents.
    pub(crate) fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{dict:<117}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
    }

    fn bytes_of<const N: usize>(words: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        words.into_iter().flatten().collect()
    }

    /// Reads the records of a file, and checks that a bulk read returns the same.
    fn read_as(width: Width, file: &[u8]) -> Read {
        let read = drain(&mut WordReader::npy(source(file), width).unwrap());
        let mut reader = WordReader::npy(source(file), width).unwrap();
        let (bulk, _) = drain_in_bulk(&mut reader, width, 1);
        assert_eq!(
            (bulk.records(), bulk.errors()),
            (read.records(), read.errors())
        );
        read
    }

    fn read(file: &[u8]) -> Read {
        read_as(Width::W64, file)
    }

    #[test]
    fn arrays_of_every_width_and_order_are_read() {
        let words = [1u64, u64::MAX - 1, 0x0102_0304_0506_0708];
        let expected = words.map(|word| fingerprint(word.into(), None));
        for (descr, bytes) in [
            ("<u8", bytes_of(words.map(u64::to_le_bytes))),
            ("<i8", bytes_of(words.map(u64::to_le_bytes))),
            (">u8", bytes_of(words.map(u64::to_be_bytes))),
            (">i8", bytes_of(words.map(u64::to_be_bytes))),
        ] {
            let file = npy(descr, "(3,)", &bytes);
            for file in [gzip(&file), zstd(&file), file] {
                assert_eq!(read(&file).records(), expected, "{descr}");
            }
        }
        let bytes = bytes_of([7u32, u32::MAX - 7].map(u32::to_be_bytes));
        let read = read_as(Width::W32, &npy(">u4", "(2,)", &bytes));
        let expected = [
            fingerprint(7, None),
            fingerprint((u32::MAX - 7).into(), None),
        ];
        assert_eq!(read.records(), expected);
    }

    #[test]
    fn wide_fingerprints_are_rows_with_the_low_word_first() {
        let value = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10u128;
        let (low, high) = (value as u64, (value >> 64) as u64);
        for (descr, words) in [
            ("<u8", [low, high].map(u64::to_le_bytes)),
            (">u8", [low, high].map(u64::to_be_bytes)),
        ] {
            let file = npy(descr, "(1, 2)", &bytes_of(words));
            assert_eq!(
                read_as(Width::W128, &file).records(),
                [fingerprint(value, None)]
            );
        }
    }

    #[test]
    fn an_array_longer_than_any_buffer_is_read() {
        let words = (0..300_000u64).map(|i| i * i);
        let file = npy(
            "<u8",
            "(300000,)",
            &bytes_of(words.clone().map(u64::to_le_bytes)),
        );
        let expected = words.map(|word| fingerprint(word.into(), None));
        assert!(read(&file).records().into_iter().eq(expected));
    }

    #[test]
    fn too_few_and_too_many_bytes_are_reported() {
        let file = npy("<u8", "(3,)", &[0; 20]);
        let cut = read(&file);
        assert_eq!(cut.records().len(), 2);
        let message = "in: offset 144: ends after 2 of 3 fingerprints of 64 bits";
        assert_eq!(cut.errors(), [message]);
        let long = read(&npy("<u8", "(1,)", &[0; 9]));
        assert_eq!(long.records().len(), 1);
        let message = "in: offset 136: more bytes follow the array of 1 fingerprints";
        assert_eq!(long.errors(), [message]);
        assert_eq!(read(&npy("<u8", "(0,)", &[])).errors(), [""; 0]);
    }

    #[test]
    fn a_failed_read_ends_the_array() {
        let file = gzip(&npy("<u8", "(9,)", &[1; 72]));
        let read = read(&file[..file.len() - 2]);
        assert_eq!(read.errors().len(), 1, "{:?}", read.errors());
    }

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
        // Reads of three bytes put the end of every buffer inside a word.
        struct Slow(Vec<u8>);
        impl io::Read for Slow {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let length = self.0.len().min(out.len()).min(3);
                out[..length].copy_from_slice(&self.0[..length]);
                self.0.drain(..length);
                Ok(length)
            }
        }
        let bytes: Vec<u8> = (0..100u64).flat_map(u64::to_le_bytes).collect();
        let mut reader = WordReader::le(Source::new("in".into(), Slow(bytes)).unwrap(), Width::W64);
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
        let mut reader = WordReader::le(source(&bytes[..bytes.len() - 2]), Width::W64);
        let failed = reader.find_map(|record| record.err());
        assert!(matches!(failed, Some(Error::Io(_))));
        assert!(reader.next().is_none());
    }
}
