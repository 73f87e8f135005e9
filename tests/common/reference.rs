//! A second reading of `format-spec.md`, written for plainness: it shares no code with the crate.

use std::collections::HashMap;

use bitvec::prelude::{BitSlice, BitVec, Msb0};

/// A bit stream as in section 3.2.
pub(crate) type Bits = BitVec<u8, Msb0>;

/// Kinds of section (section 10.4).
pub(crate) const BLOCKS: u16 = 1;
pub(crate) const KEYS: u16 = 2;
pub(crate) const BLOCK_COUNTS: u16 = 3;
pub(crate) const GROUPS: u16 = 4;
pub(crate) const NUMBERS: u16 = 5;
pub(crate) const STRING_OFFSETS: u16 = 6;
pub(crate) const STRING_BYTES: u16 = 7;
pub(crate) const PIPELINE: u16 = 8;

/// Bytes of the footer.
pub(crate) const FOOTER_LEN: usize = 32;

/// Section 3.4, bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut state = u32::MAX;
    for &byte in bytes {
        state ^= u32::from(byte);
        for _ in 0..8 {
            let carry = state & 1;
            state >>= 1;
            if carry == 1 {
                state ^= 0xedb8_8320;
            }
        }
    }
    !state
}

/// A little-endian number of `len` bytes at `at`.
pub(crate) fn number(bytes: &[u8], at: usize, len: usize) -> u128 {
    bytes[at..at + len]
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

fn length(bytes: &[u8], at: usize, len: usize) -> usize {
    usize::try_from(number(bytes, at, len)).expect("lengths of a file in memory fit")
}

/// A section of the directory and the place of its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub(crate) record_at: usize,
    pub(crate) kind: u16,
    pub(crate) table: u16,
    pub(crate) checksum: u32,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

/// A table record of the directory.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) record_at: usize,
    pub(crate) mask: u128,
    pub(crate) block_count: usize,
    pub(crate) codec: u8,
    pub(crate) lengths: Vec<u8>,
}

/// A file taken apart, nothing checked.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) width: u32,
    pub(crate) fingerprint_count: usize,
    pub(crate) record_count: usize,
    pub(crate) block_size: usize,
    pub(crate) directory_at: usize,
    pub(crate) directory_len: usize,
    pub(crate) tables: Vec<Table>,
    pub(crate) sections: Vec<Section>,
}

impl Layout {
    /// Sections 10.1 to 10.3.
    pub(crate) fn parse(file: &[u8]) -> Self {
        let width = u32::from(file[10]);
        let footer = file.len() - FOOTER_LEN;
        let directory_at = length(file, footer, 8);
        let directory_len = length(file, footer + 8, 4);
        let section_count = length(file, directory_at + 28, 2);
        let table_count = usize::from(file[directory_at + 30]);
        let mut at = directory_at + 40;
        let mut tables = Vec::new();
        for _ in 0..table_count {
            tables.push(Table {
                record_at: at,
                mask: number(file, at, 16),
                block_count: length(file, at + 16, 8),
                codec: file[at + 24],
                lengths: file[at + 32..at + 32 + width as usize].to_vec(),
            });
            at += 32 + width as usize;
        }
        let mut sections = Vec::new();
        for _ in 0..section_count {
            sections.push(Section {
                record_at: at,
                kind: number(file, at, 2) as u16,
                table: number(file, at + 2, 2) as u16,
                checksum: number(file, at + 4, 4) as u32,
                offset: length(file, at + 8, 8),
                len: length(file, at + 16, 8),
            });
            at += 24;
        }
        assert_eq!(at, directory_at + directory_len);
        Layout {
            width,
            fingerprint_count: length(file, directory_at, 8),
            record_count: length(file, directory_at + 8, 8),
            block_size: length(file, directory_at + 24, 4),
            directory_at,
            directory_len,
            tables,
            sections,
        }
    }

    /// The section of a kind and a table.
    pub(crate) fn section(&self, kind: u16, table: usize) -> Section {
        *self
            .sections
            .iter()
            .find(|s| s.kind == kind && usize::from(s.table) == table)
            .expect("the file has the section")
    }

    /// The offset of a block.
    pub(crate) fn block_at(&self, table: usize, block: usize) -> usize {
        self.section(BLOCKS, table).offset + block * self.block_size
    }

    /// The keys of a table.
    pub(crate) fn keys(&self, file: &[u8], table: usize) -> Vec<u128> {
        let keys = self.section(KEYS, table);
        file[keys.offset..keys.offset + keys.len]
            .chunks_exact(self.width as usize / 8)
            .map(|key| number(key, 0, key.len()))
            .collect()
    }
}

/// Section 5: the bits of `value` that `mask` selects, in the low bits of the result.
fn compress(value: u128, mask: u128) -> u128 {
    let chosen = (0..128).filter(|bit| mask >> bit & 1 == 1);
    chosen
        .enumerate()
        .fold(0, |result, (j, bit)| result | (value >> bit & 1) << j)
}

/// Section 5: a fingerprint in the bit order of a table.
pub(crate) fn apply(value: u128, mask: u128, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    let rest = all & !mask;
    match rest.count_ones() {
        128 => value,
        shift => compress(value, mask) << shift | compress(value, rest),
    }
}

/// Section 6: the codeword of each symbol, by the recipe of the specification.
pub(crate) fn codewords(lengths: &[u8]) -> Vec<Bits> {
    let mut words = vec![Bits::new(); lengths.len()];
    let mut next = 0u32;
    for len in 1..=12u8 {
        next *= 2;
        for symbol in 0..lengths.len() {
            if lengths[symbol] == len {
                words[symbol] = bits_of(next.into(), len.into());
                next += 1;
            }
        }
    }
    words
}

/// The `count` low bits of a number, the most significant first.
pub(crate) fn bits_of(value: u128, count: u32) -> Bits {
    (0..count).rev().map(|i| value >> i & 1 == 1).collect()
}

fn number_of(bits: &BitSlice<u8, Msb0>) -> u128 {
    bits.iter()
        .fold(0, |value, bit| value << 1 | u128::from(*bit))
}

/// Section 7.2: the bits that `value` takes behind `previous`.
fn delta(previous: u128, value: u128, words: &[Bits]) -> Bits {
    let highest = 127 - (previous ^ value).leading_zeros();
    let word = &words[highest as usize];
    assert!(!word.is_empty(), "position {highest} has no codeword");
    let mut bits = word.clone();
    bits.extend_from_bitslice(&bits_of(value, highest));
    bits
}

/// Section 7.1: a block of the given stream, which must fit.
pub(crate) fn block(count: usize, stream: &BitSlice<u8, Msb0>, block_size: usize) -> Vec<u8> {
    let mut padded = stream.to_bitvec();
    padded.resize((block_size - 6) * 8, false);
    assert!(stream.len() <= padded.len());
    let mut block = vec![0; 4];
    block.extend_from_slice(&((count - 1) as u16).to_le_bytes());
    block.extend_from_slice(&padded.into_vec());
    let checksum = crc32(&block[4..]);
    block[..4].copy_from_slice(&checksum.to_le_bytes());
    block
}

/// The stream of values, whether they ascend or not.
pub(crate) fn stream(values: &[u128], lengths: &[u8], width: u32) -> Bits {
    let words = codewords(lengths);
    let mut bits = bits_of(values[0], width);
    for pair in values.windows(2) {
        bits.extend_from_bitslice(&delta(pair[0], pair[1], &words));
    }
    bits
}

/// The blocks of ascending values, each as full as it goes, and the number of values in each.
pub(crate) fn encode(
    values: &[u128],
    lengths: &[u8],
    width: u32,
    block_size: usize,
) -> (Vec<u8>, Vec<usize>) {
    let words = codewords(lengths);
    let room = (block_size - 6) * 8;
    let (mut file, mut counts) = (Vec::new(), Vec::new());
    let (mut bits, mut count) = (Bits::new(), 0);
    for (i, &value) in values.iter().enumerate() {
        if count > 0 {
            let more = delta(values[i - 1], value, &words);
            if count < 65_536 && bits.len() + more.len() <= room {
                bits.extend_from_bitslice(&more);
                count += 1;
                continue;
            }
            file.extend_from_slice(&block(count, &bits, block_size));
            counts.push(count);
        }
        bits = bits_of(value, width);
        count = 1;
    }
    if count > 0 {
        file.extend_from_slice(&block(count, &bits, block_size));
        counts.push(count);
    }
    (file, counts)
}

/// The values of a block, every rule of section 7.2 that needs no key asserted.
pub(crate) fn decode(block: &[u8], lengths: &[u8], width: u32) -> Vec<u128> {
    assert_eq!(number(block, 0, 4), u128::from(crc32(&block[4..])));
    let symbols: HashMap<Bits, u32> = codewords(lengths)
        .into_iter()
        .zip(0..)
        .filter(|(word, _)| !word.is_empty())
        .collect();
    let count = number(block, 4, 2) + 1;
    let bits = Bits::from_slice(&block[6..]);
    let mut at = width as usize;
    let mut values = vec![number_of(&bits[..at])];
    for _ in 1..count {
        let mut word = Bits::new();
        let position = loop {
            word.push(bits[at]);
            at += 1;
            if let Some(&position) = symbols.get(&word) {
                break position;
            }
            assert!(word.len() < 12, "no codeword starts with {word}");
        };
        let tail = number_of(&bits[at..at + position as usize]);
        at += position as usize;
        let previous = values[values.len() - 1];
        let value = (previous >> position | 1) << position | tail;
        assert!(previous < value, "the values ascend");
        values.push(value);
    }
    assert!(bits[at..].not_any(), "the padding is zero");
    values
}
