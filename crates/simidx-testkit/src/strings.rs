//! The code of string ids (section 9.5), bit by bit: all that the tests know of the bytes of buckets.

use bitvec::prelude::*;

use crate::encoding::{Bits, bits_of, codewords, filled};

/// Ids in a bucket; the last one may have fewer.
pub const BUCKET_LEN: usize = 16;

/// Buckets in a run.
pub const BUCKETS_PER_RUN: usize = 16;

/// Symbols of the prefix code; the last one precedes a prefix length of 16 bits.
const PREFIX_SYMBOLS: usize = 128;

/// The header of the symbol that ends a string and has no bytes.
const END: u8 = 16;

/// The contents of the section of the string code.
#[derive(Debug, Clone)]
pub struct StringCode {
    /// The codewords of the prefix code, empty for symbols that have none.
    prefixes: Vec<Bits>,
    symbols: Vec<Symbol>,
}

#[derive(Debug, Clone)]
struct Symbol {
    codeword: Bits,
    header: u8,
    bytes: Vec<u8>,
}

impl StringCode {
    /// Parses the section and asserts its rules.
    pub fn parse(section: &[u8]) -> Self {
        let (prefix_lengths, rest) = section.split_at(PREFIX_SYMBOLS);
        let (counts, mut rest) = rest.split_at(24);
        let mut lengths = Vec::new();
        for (count, len) in counts.chunks_exact(2).zip(1..) {
            let count = usize::from(count[0]) + 256 * usize::from(count[1]);
            lengths.resize(lengths.len() + count, len);
        }
        let mut symbols = Vec::new();
        for codeword in codewords(&lengths) {
            let (header, after) = rest.split_first().expect("the symbol is there");
            let (bytes, after) = after.split_at(usize::from(header % 16));
            assert!(*header < 32);
            symbols.push(Symbol {
                codeword,
                header: *header,
                bytes: bytes.to_vec(),
            });
            rest = after;
        }
        assert!(rest.is_empty() && symbols.len() >= 2);
        StringCode {
            prefixes: codewords(prefix_lengths),
            symbols,
        }
    }

    /// Decodes all ids of some buckets.
    pub fn decode_all(&self, buckets: &[Vec<u8>], count: usize) -> Vec<Vec<u8>> {
        let mut ids: Vec<Vec<u8>> = Vec::new();
        for (number, bucket) in buckets.iter().enumerate() {
            let reference = match number % BUCKETS_PER_RUN {
                0 => Vec::new(),
                after => ids[(number - after) * BUCKET_LEN].clone(),
            };
            let left = (count - ids.len()).min(BUCKET_LEN);
            ids.extend(self.decode(&reference, bucket, left));
        }
        ids
    }

    /// Encodes ids, sorted or not, as buckets.
    pub fn encode_all(&self, ids: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let buckets = ids.chunks(BUCKET_LEN).enumerate();
        let buckets = buckets.map(|(number, of_bucket)| {
            let run = number - number % BUCKETS_PER_RUN;
            let reference = match run == number {
                true => &[][..],
                false => &ids[run * BUCKET_LEN],
            };
            self.encode(reference, of_bucket)
        });
        buckets.collect()
    }

    /// Encodes a bucket whose first id follows the reference: prefixes are only shared with that, and each byte of a
    /// suffix is escaped.
    pub fn encode(&self, reference: &[u8], ids: &[Vec<u8>]) -> Vec<u8> {
        let (mut bits, mut before, mut prefix) = (Bits::new(), reference.to_vec(), 0);
        for id in ids {
            let pairs = before.iter().zip(id);
            let now = pairs.take_while(|(a, b)| a == b).count();
            self.write_prefix(&mut bits, prefix, now);
            self.write_suffix(&mut bits, &id[now..]);
            (before, prefix) = (id.clone(), now);
        }
        filled(bits)
    }

    fn write_prefix(&self, bits: &mut Bits, before: usize, now: usize) {
        let symbol = (now + 63)
            .checked_sub(before)
            .filter(|d| *d < PREFIX_SYMBOLS - 1);
        match symbol.filter(|d| !self.prefixes[*d].is_empty()) {
            Some(d) => bits.extend_from_bitslice(&self.prefixes[d]),
            None => {
                let escape = &self.prefixes[PREFIX_SYMBOLS - 1];
                assert!(!escape.is_empty(), "any prefix can be written");
                bits.extend_from_bitslice(escape);
                bits.extend_from_bitslice(&bits_of(now as u128, 16));
            }
        }
    }

    fn write_suffix(&self, bits: &mut Bits, suffix: &[u8]) {
        for &byte in suffix {
            bits.extend_from_bitslice(&self.symbol(0).codeword);
            bits.extend_from_bitslice(&bits_of(byte.into(), 8));
        }
        bits.extend_from_bitslice(&self.symbol(END).codeword);
    }

    fn symbol(&self, header: u8) -> &Symbol {
        let mut symbols = self.symbols.iter();
        let found = symbols.find(|symbol| symbol.header == header);
        found.expect("training makes the escape and the end")
    }

    /// Decodes the ids of a bucket and asserts its rules.
    pub fn decode(&self, reference: &[u8], bytes: &[u8], count: usize) -> Vec<Vec<u8>> {
        let bits = Bits::from_slice(bytes);
        let (mut rest, mut prefix) = (&bits[..], 0);
        let (mut id, mut ids) = (reference.to_vec(), Vec::new());
        while ids.len() < count {
            let found = self.prefixes.iter().position(|word| is_next(word, rest));
            let d = found.expect("the prefix has a codeword");
            rest = &rest[self.prefixes[d].len()..];
            if d == PREFIX_SYMBOLS - 1 {
                prefix = take_number(&mut rest, 16);
            } else {
                prefix = (prefix + d).checked_sub(63).expect("it is not negative");
            }
            assert!(prefix <= id.len());
            id.truncate(prefix);
            loop {
                let mut symbols = self.symbols.iter();
                let symbol = symbols.find(|symbol| is_next(&symbol.codeword, rest));
                let symbol = symbol.expect("all bits start with a codeword");
                rest = &rest[symbol.codeword.len()..];
                match symbol.header {
                    0 => id.push(take_number(&mut rest, 8) as u8),
                    _ => id.extend_from_slice(&symbol.bytes),
                }
                if symbol.header >= END {
                    break;
                }
            }
            assert!(id.len() <= usize::from(u16::MAX));
            ids.push(id.clone());
        }
        assert!(
            rest.len() < 8 && rest.not_any(),
            "nothing follows the last id"
        );
        ids
    }

    /// Returns invalid buckets (V31), made of the ids of one that does not start a run.
    pub fn bad_buckets(&self, reference: &[u8], ids: &[Vec<u8>]) -> Vec<BadBucket> {
        let good = self.encode(reference, ids);
        let mut more = good.clone();
        more.push(0);
        let bad = |name, what, bytes, is_met_by_readers| BadBucket {
            name,
            what,
            bytes,
            is_met_by_readers,
        };
        let with_prefix = |prefix: usize| {
            let mut bits = Bits::new();
            bits.extend_from_bitslice(&self.prefixes[PREFIX_SYMBOLS - 1]);
            bits.extend_from_bitslice(&bits_of(prefix as u128, 16));
            self.write_suffix(&mut bits, b"");
            filled(bits)
        };
        let mut not_text = ids.to_vec();
        *not_text.last_mut().expect("there are ids") = b"\xff".to_vec();
        let mut too_long = ids.to_vec();
        too_long[1] = vec![b'x'; 1 << 16];
        let cut = good[..good.len() / 2].to_vec();
        vec![
            bad(
                "cut-off",
                "the second half of a bucket is missing",
                cut,
                true,
            ),
            bad(
                "a-byte-more",
                "a byte follows the last id of a bucket",
                more,
                false,
            ),
            bad(
                "prefix-too-long",
                "an id takes more bytes over than its predecessor has",
                with_prefix(reference.len() + 1),
                true,
            ),
            bad(
                "not-utf-8",
                "byte ff in an id",
                self.encode(reference, &not_text),
                true,
            ),
            bad(
                "too-long",
                "an id of 65,536 bytes",
                self.encode(reference, &too_long),
                true,
            ),
        ]
    }
}

fn is_next(codeword: &Bits, rest: &BitSlice<u8, Msb0>) -> bool {
    !codeword.is_empty() && rest.starts_with(codeword)
}

fn take_number(rest: &mut &BitSlice<u8, Msb0>, bits: usize) -> usize {
    let (number, after) = rest.split_at(bits);
    *rest = after;
    number.iter().fold(0, |n, bit| n << 1 | usize::from(*bit))
}

/// An invalid bucket.
#[derive(Debug, Clone)]
pub struct BadBucket {
    pub name: &'static str,
    pub what: &'static str,
    pub bytes: Vec<u8>,
    /// Whether reading all ids meets the fault, or only a full check does.
    pub is_met_by_readers: bool,
}

/// Returns sections that are not a string code (V42), made of a valid one, each with its fault.
pub fn bad_codes(good: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.to_vec();
        change(&mut bytes);
        bytes
    };
    vec![
        ("no-bytes", Vec::new()),
        ("a-byte-less", good[..good.len() - 1].to_vec()),
        ("a-byte-more", change(&|bytes| bytes.push(0))),
        ("prefixes-of-13-bits", change(&|bytes| bytes[0] = 13)),
        (
            "prefixes-without-a-code",
            change(&|bytes| bytes[..128].fill(1)),
        ),
        (
            "no-symbols",
            change(&|bytes| {
                bytes[128..152].fill(0);
                bytes.truncate(152);
            }),
        ),
        (
            "a-symbol-too-many",
            change(&|bytes| bytes[150] = bytes[150].wrapping_add(1)),
        ),
        ("a-header-above-31", change(&|bytes| bytes[152] |= 32)),
        (
            "a-header-of-32",
            change(&|bytes| {
                let mut at = 152;
                while bytes[at] != END {
                    at += 1 + usize::from(bytes[at] % 16);
                }
                bytes[at] = 32;
            }),
        ),
    ]
}
