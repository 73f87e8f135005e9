//! Reading the strings of a bucket.

use super::buffer::{SPARE, StringBuffer, TOGETHER};
use super::code::{PREFIX_BITS, PREFIX_ESCAPE, SAME_PREFIX, StringCode};
use super::symbol::SLOT_LEN;
use super::{MAX_STRING_LEN, StringFault};
use crate::codec::bits::window;

/// A bucket in a file: ascending strings in as many bytes as they need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket<'a> {
    code: &'a StringCode,
    bytes: &'a [u8],
    count: usize,
    reference: &'a [u8],
}

impl<'a> Bucket<'a> {
    /// Creates the bucket of `count` strings in `bytes`. Its first string is coded relative to `reference`, the first
    /// string of its group of buckets, which is empty for the first bucket of a group.
    pub(crate) fn new(
        code: &'a StringCode,
        bytes: &'a [u8],
        count: usize,
        reference: &'a [u8],
    ) -> Self {
        Bucket {
            code,
            bytes,
            count,
            reference,
        }
    }

    /// Creates a reader at the first string.
    pub(crate) fn reader(&self, string: &mut StringBuffer) -> BucketReader<'a> {
        string.set(self.reference);
        BucketReader {
            code: self.code,
            bytes: self.bytes,
            at: 0,
            prefix: 0,
            left: self.count,
        }
    }

    /// Decodes string number `index`, which must be less than their count.
    ///
    /// # Errors
    /// A string up to this one is malformed.
    pub(crate) fn nth(&self, index: usize, string: &mut StringBuffer) -> Result<(), StringFault> {
        debug_assert!(index < self.count);
        let mut reader = self.reader(string);
        for _ in 0..=index {
            reader.advance(string)?;
        }
        Ok(())
    }

    /// Returns whether the first string is less than `wanted`. Decodes as much of it as needed into `string`.
    ///
    /// # Errors
    /// The decoded part is malformed.
    pub(crate) fn first_is_less(
        &self,
        wanted: &[u8],
        string: &mut StringBuffer,
    ) -> Result<bool, StringFault> {
        let mut reader = self.reader(string);
        reader.advance_while(string, |decoded| wanted.starts_with(decoded))?;
        // The part that was cut off matters only after equal bytes.
        Ok(string.as_bytes() < wanted)
    }

    /// Checks that the strings of the bucket are valid, that they ascend from `previous` on, and that they end in its
    /// last byte, followed by zero bits. The last string is left in `string`. Calls `visit` for each string, with
    /// whether it equals the one before.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn check(
        &self,
        previous: &mut Vec<u8>,
        string: &mut StringBuffer,
        mut visit: impl FnMut(bool),
    ) -> Result<(), StringFault> {
        let mut reader = self.reader(string);
        while reader.next(string)? {
            if std::str::from_utf8(string.as_bytes()).is_err() {
                return Err(StringFault::Utf8);
            }
            if string.as_bytes() < previous.as_slice() {
                return Err(StringFault::Order);
            }
            visit(string.as_bytes() == previous.as_slice());
            previous.clear();
            previous.extend_from_slice(string.as_bytes());
        }
        reader.check_end()
    }
}

/// Reads the strings of a bucket in order, each into the buffer that holds the one before.
#[derive(Debug, Clone)]
pub(crate) struct BucketReader<'a> {
    code: &'a StringCode,
    bytes: &'a [u8],
    /// Number of bits read.
    at: usize,
    /// The prefix length of the last string.
    prefix: usize,
    left: usize,
}

impl BucketReader<'_> {
    /// Turns the previous string into the next one; `false` after the last.
    ///
    /// # Errors
    /// The string is malformed.
    pub(crate) fn next(&mut self, string: &mut StringBuffer) -> Result<bool, StringFault> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.advance(string)?;
        Ok(true)
    }

    #[inline(always)]
    fn advance(&mut self, string: &mut StringBuffer) -> Result<(), StringFault> {
        self.advance_while(string, |_| true)
    }

    /// [`Self::next`], but it may stop within the string, a few symbols after `accepts` has refused its bytes so far.
    #[inline(always)]
    fn advance_while(
        &mut self,
        string: &mut StringBuffer,
        accepts: impl Fn(&[u8]) -> bool,
    ) -> Result<(), StringFault> {
        let after = self.read_prefix(string)?;
        self.read_suffix(after, string, accepts)?;
        if self.at > self.bytes.len() * 8 {
            return Err(StringFault::End);
        }
        Ok(())
    }

    /// Reads the length of the prefix and truncates the string to it. Returns the bits that follow, enough for
    /// [`TOGETHER`] - 1 codewords.
    #[inline(always)]
    fn read_prefix(&mut self, string: &mut StringBuffer) -> Result<u64, StringFault> {
        let mut bits = window(self.bytes, self.at);
        let (symbol, len) = self.code.prefix_code().decode_table().look_up(bits);
        self.at += len as usize;
        bits <<= len;
        let symbol = symbol as usize;
        // Wraps below zero, to more than any string has.
        let mut prefix = (self.prefix + symbol).wrapping_sub(SAME_PREFIX);
        if symbol == PREFIX_ESCAPE {
            prefix = (bits >> (64 - PREFIX_BITS)) as usize;
            self.at += PREFIX_BITS as usize;
            bits = window(self.bytes, self.at);
        }
        if len == 0 || prefix > string.len() {
            return Err(StringFault::Prefix);
        }
        string.truncate(prefix);
        self.prefix = prefix;
        Ok(bits)
    }

    /// Appends symbols up to the end of the string, or until `accepts` refuses its bytes so far; `bits` follow the
    /// prefix.
    #[inline(always)]
    fn read_suffix(
        &mut self,
        mut bits: u64,
        string: &mut StringBuffer,
        accepts: impl Fn(&[u8]) -> bool,
    ) -> Result<(), StringFault> {
        let table = self.code.table();
        let (mut target, mut len) = string.parts();
        let mut at = self.at;
        let mut together = TOGETHER - 1;
        loop {
            let Some(room) = target
                .get_mut(len..)
                .and_then(<[u8]>::first_chunk_mut::<SPARE>)
            else {
                string.grow(len)?;
                (target, _) = string.parts();
                continue;
            };
            let mut filled = 0;
            for _ in 0..together {
                let entry = table.look_up(bits);
                room[filled..filled + SLOT_LEN].copy_from_slice(table.slot(entry));
                filled += entry.symbol_len();
                at += entry.code_len();
                bits <<= entry.code_len();
                if entry.is_inner() {
                    continue;
                }
                if entry.ends() {
                    len += filled;
                    string.set_len(len);
                    self.at = at;
                    return (len <= MAX_STRING_LEN)
                        .then_some(())
                        .ok_or(StringFault::Length);
                }
                room[filled] = (window(self.bytes, at) >> 56) as u8;
                filled += 1;
                at += 8;
                break;
            }
            len += filled;
            if !accepts(&target[..len]) {
                string.set_len(len);
                self.at = at;
                return Ok(());
            }
            bits = window(self.bytes, at);
            together = TOGETHER;
        }
    }

    /// Checks the bits after the last string.
    fn check_end(&self) -> Result<(), StringFault> {
        if self.at.div_ceil(8) != self.bytes.len() {
            return Err(StringFault::End);
        }
        let spare = self.bytes.len() * 8 - self.at;
        match self.bytes.last() {
            Some(last) if last.trailing_zeros() < spare as u32 => Err(StringFault::Padding),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::code::PREFIX_SYMBOLS;
    use super::super::symbol::Symbol;
    use super::*;
    use crate::codec::bits::BitWriter;

    /// The code of the example in the specification.
    fn example_code() -> StringCode {
        let mut prefix_lengths = [0; PREFIX_SYMBOLS];
        prefix_lengths[SAME_PREFIX] = 1;
        prefix_lengths[SAME_PREFIX + 2] = 2;
        prefix_lengths[PREFIX_ESCAPE] = 2;
        let symbols = vec![
            (1, Symbol::new(b"ab", false)),
            (2, Symbol::new(b"c", true)),
            (3, Symbol::ESCAPE),
            (3, Symbol::EMPTY_END),
        ];
        StringCode::new(symbols, &prefix_lengths)
    }

    const EXAMPLE: [u8; 7] = [0x3d, 0x33, 0x27, 0xc0, 0x00, 0x33, 0x17];

    fn strings(bytes: &[u8], count: usize) -> Result<Vec<Vec<u8>>, StringFault> {
        let code = example_code();
        let bucket = Bucket::new(&code, bytes, count, b"");
        let (mut string, mut strings) = (StringBuffer::default(), Vec::new());
        let mut reader = bucket.reader(&mut string);
        while reader.next(&mut string)? {
            strings.push(string.as_bytes().to_vec());
        }
        bucket.check(&mut Vec::new(), &mut string, |_| ())?;
        Ok(strings)
    }

    #[test]
    fn reads_the_example_of_the_specification() {
        let expected = [&b"ab"[..], b"abc", b"abd", b"b"];
        assert_eq!(strings(&EXAMPLE, 4).unwrap(), expected);
        let code = example_code();
        let written = code.to_bytes();
        assert_eq!(
            written[128..],
            hex("01000100020000000000000000000000000000000000000002616211630010")
        );
        assert_eq!(
            StringCode::from_bytes(&written).unwrap().to_bytes(),
            written
        );
    }

    #[test]
    fn compares_the_first_string_as_if_it_were_decoded_whole() {
        let code = example_code();
        // "abababab…" in one bit each, up to an end of three bits.
        for pairs in [0usize, 1, 5, 30] {
            let first = "ab".repeat(pairs);
            let mut writer = BitWriter::new();
            writer.write(0, 1);
            for _ in 0..pairs {
                writer.write(0, 1);
            }
            writer.write(0b111, 3);
            let bytes = writer.finish();
            let bucket = Bucket::new(&code, &bytes, 1, b"");
            for wanted in [
                "",
                "a",
                "ab",
                "abc",
                "b",
                "ababababababababb",
                "ababababababababaa",
            ] {
                let wanted = [wanted, &"ab".repeat(pairs), &format!("{first}x")];
                for wanted in wanted {
                    let is_less =
                        bucket.first_is_less(wanted.as_bytes(), &mut StringBuffer::default());
                    assert_eq!(is_less, Ok(first.as_str() < wanted), "{first} {wanted}");
                }
            }
        }
    }

    #[test]
    fn names_what_is_wrong_with_a_bucket() {
        let mut long = EXAMPLE.to_vec();
        long.push(0);
        assert_eq!(strings(&long, 4), Err(StringFault::End));
        assert_eq!(strings(&EXAMPLE, 3), Err(StringFault::End));
        // `0 0 0 0 0 0 0 1`, and the second bit of a codeword after the end.
        assert_eq!(strings(&[0x01], 1), Err(StringFault::End));
        assert_eq!(strings(&[], 0), Ok(vec![]));
        assert_eq!(strings(&[0x00], 0), Err(StringFault::End));
        // `0 10`: "c", and five zero bits, one of which is not.
        assert_eq!(strings(&[0x40], 1), Ok(vec![b"c".to_vec()]));
        assert_eq!(strings(&[0x41], 1), Err(StringFault::Padding));
        // `10 ..`: two bytes of a string that has none; `11`: one of one.
        assert_eq!(strings(&[0x90], 1), Err(StringFault::Prefix));
        assert_eq!(strings(&[0xc0, 0x00, 0x60], 1), Err(StringFault::Prefix));
        // `0 10` `0 111`: "c", then an empty string.
        assert_eq!(strings(&[0x4e], 2), Err(StringFault::Order));
        // `0 110 ff 111`: the byte ff.
        assert_eq!(strings(&[0x6f, 0xfe], 1), Err(StringFault::Utf8));
    }

    #[test]
    fn a_string_without_an_end_stops_at_the_longest() {
        for bytes in [&[][..], &[0; 3000], &[0; 5000]] {
            let code = example_code();
            let mut string = StringBuffer::default();
            let found = Bucket::new(&code, bytes, 1, b"").nth(0, &mut string);
            assert_eq!(found, Err(StringFault::Length));
            assert!(string.as_bytes().len() <= MAX_STRING_LEN);
        }
    }

    #[test]
    fn strings_without_codewords_for_their_prefixes_are_refused() {
        // A lone codeword `0` for prefixes of the same length, and none that starts with 1.
        let mut prefix_lengths = [0; PREFIX_SYMBOLS];
        prefix_lengths[SAME_PREFIX] = 1;
        let symbols = vec![(1, Symbol::ESCAPE), (1, Symbol::EMPTY_END)];
        let code = StringCode::new(symbols, &prefix_lengths);
        let mut string = StringBuffer::default();
        let mut nth = |bytes: &[u8]| Bucket::new(&code, bytes, 1, b"").nth(0, &mut string);
        assert_eq!(nth(&[0b0100_0000]), Ok(()));
        assert_eq!(nth(&[0b1100_0000]), Err(StringFault::Prefix));
    }

    #[test]
    fn the_first_string_continues_the_reference() {
        let code = example_code();
        let bucket = Bucket::new(&code, &[0x90], 1, b"xyz");
        let mut string = StringBuffer::default();
        bucket.nth(0, &mut string).unwrap();
        assert_eq!(string.as_bytes(), b"xyabc");
    }

    fn hex(digits: &str) -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2);
        let text = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
        text.map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }
}
