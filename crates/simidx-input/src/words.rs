//! Fingerprints as words of their width: the format `le`, and the arrays of the format `npy`.

use std::io::{self, Read};

use super::npy_header::{self, Layout};
use super::source::Source;
use super::{Record, RecordReader};
use crate::{Place, Result};
use simidx::{Fingerprints, Width};

/// The most words that are taken at a time.
const MOST: usize = 1 << 16;

/// A reader of one word after another.
pub(super) struct WordReader {
    source: Source,
    width: Width,
    /// The array that the words make up; none if they go on to the end of the source.
    array: Option<Layout>,
    /// The number of words, if the file has the length for them.
    expected: Option<u64>,
    /// Where the word returned last, or what stands in its place, starts.
    place: u64,
    /// Where the next word starts.
    offset: u64,
    /// Words that have come, and that may still come.
    seen: u64,
    left: u64,
    /// What stopped [`WordReader::take_many`] and is still to be reported.
    stop: Option<io::Result<usize>>,
    ended: bool,
}

impl WordReader {
    /// Reads words of which the least significant byte is the first, to the end of the source.
    pub(super) fn le(source: Source, width: Width) -> Self {
        let bytes = width.bytes() as u64;
        let whole = source.plain_len().filter(|len| len.is_multiple_of(bytes));
        WordReader {
            expected: whole.map(|len| len / bytes),
            source,
            width,
            array: None,
            place: 0,
            offset: 0,
            seen: 0,
            left: u64::MAX,
            stop: None,
            ended: false,
        }
    }

    /// Reads the header of an array and checks that this holds fingerprints of the width.
    pub(super) fn npy(mut source: Source, width: Width) -> Result<Self> {
        let (layout, start) = npy_header::read(&mut source, width)?;
        let end = layout.count.checked_mul(width.bytes() as u64);
        let end = end.and_then(|length| length.checked_add(start));
        let expected = end.filter(|&end| source.plain_len() == Some(end));
        Ok(WordReader {
            expected: expected.map(|_| layout.count),
            left: layout.count,
            array: Some(layout),
            place: start,
            offset: start,
            ..WordReader::le(source, width)
        })
    }

    fn is_big_endian(&self) -> bool {
        self.array.is_some_and(|array| array.big_endian)
    }

    /// The number in the order in which the array has its bytes.
    fn ordered(&self, word: u128) -> u128 {
        match (self.is_big_endian(), self.width) {
            (false, _) => word,
            (true, Width::W128) => swapped_pair(word),
            (true, width) => word.swap_bytes() >> (128 - width.bits()),
        }
    }

    /// What is wrong with the end of the words, after which `length` bytes are left that make no word.
    fn check_end(&mut self, length: usize) -> Result<()> {
        let (seen, width) = (self.seen, self.width);
        let message = match self.array {
            None if length == 0 => return Ok(()),
            None => {
                let bytes = width.bytes();
                format!("{length} bytes are left over, a {width}-bit fingerprint takes {bytes}")
            }
            Some(Layout { count, .. }) if seen < count => {
                format!("ends after {seen} of {count} fingerprints of {width} bits")
            }
            Some(Layout { count, .. }) => match self.source.reader().fill_buf() {
                Ok([]) => return Ok(()),
                Ok(_) => format!("more bytes follow the array of {count} fingerprints"),
                Err(e) => return Err(self.source.io_error(e)),
            },
        };
        Err(self.source.input_error(Place::Offset(self.place), message))
    }

    /// Appends words that come next to a column of their width and returns how many.
    fn take_many(&mut self, out: &mut Fingerprints) -> usize {
        let before = out.len();
        let fits = out.width() == self.width;
        while fits && self.stop.is_none() && out.len() - before < MOST && self.left > 0 {
            match self.take_buffered(out) {
                Ok(1..) => continue,
                Ok(0) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.stop = Some(Err(e));
                    break;
                }
            }
            // A word across two buffers, or the end.
            match self.read_word() {
                Ok((Some(word), _)) => {
                    out.push(word);
                    self.advance(1);
                }
                Ok((None, length)) => self.stop = Some(Ok(length)),
                Err(e) => self.stop = Some(Err(e)),
            }
        }
        out.len() - before
    }

    /// Appends the words that lie in the buffer as a whole.
    fn take_buffered(&mut self, out: &mut Fingerprints) -> io::Result<usize> {
        let buffer = self.source.reader().fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = (buffer.len() / self.width.bytes()).min(most);
        let length = count * self.width.bytes();
        let bytes = &buffer[..length];
        match out {
            Fingerprints::W32(out) => append(bytes, u32::from_le_bytes, out),
            Fingerprints::W64(out) => append(bytes, u64::from_le_bytes, out),
            Fingerprints::W128(out) => append(bytes, u128::from_le_bytes, out),
        }
        self.source.reader().consume(length);
        self.advance(count);
        Ok(count)
    }

    /// The next word, or `None` and the number of bytes that there were instead; these are 0 after the last word.
    fn read_word(&mut self) -> io::Result<(Option<u128>, usize)> {
        if self.left == 0 {
            return Ok((None, 0));
        }
        if let Some(stop) = self.stop.take() {
            return stop.map(|length| (None, length));
        }
        let length = self.width.bytes();
        let reader = self.source.reader();
        // Most words lie in the buffer as a whole.
        match reader.fill_buf() {
            Ok(buffer) if buffer.len() >= length => {
                let word = from_bytes(&buffer[..length]);
                reader.consume(length);
                return Ok((Some(word), length));
            }
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let mut word = Vec::with_capacity(length);
        reader.take(length as u64).read_to_end(&mut word)?;
        let whole = (word.len() == length).then(|| from_bytes(&word));
        Ok((whole, word.len()))
    }

    fn advance(&mut self, count: usize) {
        if count > 0 {
            let length = self.width.bytes() as u64;
            self.place = self.offset + (count as u64 - 1) * length;
            self.offset += count as u64 * length;
            self.seen += count as u64;
            self.left -= count as u64;
        }
    }
}

/// Appends words of so many bytes each.
fn append<F, const N: usize>(bytes: &[u8], word: impl Fn([u8; N]) -> F, out: &mut Vec<F>) {
    out.extend(bytes.as_chunks().0.iter().map(|bytes| word(*bytes)));
}

/// The value of a word, which has 16 bytes at most.
fn from_bytes(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
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

impl Iterator for WordReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.ended {
            return None;
        }
        let word = self.read_word();
        if let Ok((Some(word), _)) = word {
            self.advance(1);
            return Some(Ok(Record::fingerprint(self.ordered(word), None)));
        }
        self.ended = true;
        self.place = self.offset;
        match word {
            Ok((_, length)) => self.check_end(length).err().map(Err),
            Err(e) => Some(Err(self.source.io_error(e))),
        }
    }
}

impl RecordReader for WordReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let before = out.len();
        let count = self.take_many(out);
        match out {
            _ if !self.is_big_endian() => {}
            Fingerprints::W32(out) => swap(&mut out[before..], u32::swap_bytes),
            Fingerprints::W64(out) => swap(&mut out[before..], u64::swap_bytes),
            Fingerprints::W128(out) => swap(&mut out[before..], swapped_pair),
        }
        count
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn expected_records(&self) -> Option<u64> {
        self.expected
    }

    fn place(&self) -> (&str, Place) {
        (self.source.name(), Place::Offset(self.place))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::source::tests::{gzip, source, zstd};
    use super::super::tests::{Read, drain, drain_in_bulk, fingerprint, read_all, read_by};
    use super::*;
    use crate::{Error, Format};

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
        // Three bytes in front put every buffer's end inside a word.
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
