//! NumPy arrays of fingerprints: the format `npy`.

use super::npy_header::{self, Layout};
use super::source::Source;
use super::words::{Word, Words};
use super::{Record, RecordReader};
use crate::{Error, Place, Result};
use simidx::{Fingerprints, Width};

/// A reader of the array behind a header.
pub(super) struct NpyReader {
    words: Words,
    layout: Layout,
    /// The number of fingerprints, if the file has the length for them.
    expected: Option<u64>,
    ended: bool,
}

impl NpyReader {
    /// Reads the header and checks that the array holds fingerprints of this width.
    pub(super) fn new(mut source: Source, width: Width) -> Result<Self> {
        let (layout, start) = npy_header::read(&mut source, width)?;
        let end = layout.count.checked_mul(width.bytes() as u64);
        let end = end.and_then(|length| length.checked_add(start));
        let expected = end.filter(|&end| source.plain_len() == Some(end));
        Ok(NpyReader {
            words: Words::new(source, width, start, layout.count),
            layout,
            expected: expected.map(|_| layout.count),
            ended: false,
        })
    }

    /// The number in the order in which the array has its bytes.
    fn ordered(&self, word: u128) -> u128 {
        let width = self.words.width();
        match (self.layout.big_endian, width) {
            (false, _) => word,
            (true, Width::W128) => swapped_pair(word),
            (true, _) => word.swap_bytes() >> (128 - width.bits()),
        }
    }

    /// What stands behind the array, which should be nothing.
    fn check_end(&mut self) -> Result<()> {
        let rest = match self.words.source_mut().reader().fill_buf() {
            Ok(rest) => rest.len(),
            Err(e) => return Err(self.words.source().io_error(e)),
        };
        if rest == 0 {
            return Ok(());
        }
        let count = self.layout.count;
        Err(self.error(format!(
            "more bytes follow the array of {count} fingerprints"
        )))
    }

    /// The error of an array that ends too early.
    fn cut_off(&self) -> Error {
        let (seen, count) = (self.words.seen(), self.layout.count);
        let width = self.words.width();
        self.error(format!(
            "ends after {seen} of {count} fingerprints of {width} bits"
        ))
    }

    fn error(&self, message: String) -> Error {
        let place = Place::Offset(self.words.place());
        self.words.source().input_error(place, message)
    }
}

/// The value with the bytes of each of its two words in the other order. The low one stands first in either order.
fn swapped_pair(value: u128) -> u128 {
    value.swap_bytes().rotate_left(64)
}

fn swap<F: Copy>(words: &mut [F], swapped: impl Fn(F) -> F) {
    for word in words {
        *word = swapped(*word);
    }
}

impl Iterator for NpyReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.ended {
            return None;
        }
        let word = self.words.next();
        self.ended = !matches!(word, Ok(Word::Whole(_)));
        match word {
            Ok(Word::Whole(word)) => Some(Ok(Record::fingerprint(self.ordered(word), None))),
            Ok(Word::CutOff(_)) => Some(Err(self.cut_off())),
            Ok(Word::Enough) => self.check_end().err().map(Err),
            Err(e) => Some(Err(e)),
        }
    }
}

impl RecordReader for NpyReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let before = out.len();
        let count = self.words.take_many(out);
        match out {
            _ if !self.layout.big_endian => {}
            Fingerprints::W32(out) => swap(&mut out[before..], u32::swap_bytes),
            Fingerprints::W64(out) => swap(&mut out[before..], u64::swap_bytes),
            Fingerprints::W128(out) => swap(&mut out[before..], swapped_pair),
        }
        count
    }

    fn bytes_read(&self) -> u64 {
        self.words.source().bytes_read()
    }

    fn expected_records(&self) -> Option<u64> {
        self.expected
    }

    fn place(&self) -> (&str, Place) {
        (
            self.words.source().name(),
            Place::Offset(self.words.place()),
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::source::tests::{gzip, source, zstd};
    use super::super::tests::{Read, drain, drain_in_bulk, fingerprint};
    use super::*;

    /// A file of version 1 with this description of its elements, shape and bytes.
    pub(crate) fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{dict:<117}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
    }

    fn bytes_of<const N: usize>(words: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        words.into_iter().flatten().collect()
    }

    /// The records of a file, which must be the same in bulk.
    fn read_as(width: Width, file: &[u8]) -> Read {
        let read = drain(&mut NpyReader::new(source(file), width).unwrap());
        let mut reader = NpyReader::new(source(file), width).unwrap();
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
    fn a_failed_read_ends_the_records() {
        let file = gzip(&npy("<u8", "(9,)", &[1; 72]));
        let read = read(&file[..file.len() - 2]);
        assert_eq!(read.errors().len(), 1, "{:?}", read.errors());
    }
}
