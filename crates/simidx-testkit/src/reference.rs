//! A second reading of `format-spec.md`, written for plainness: it shares no code with the crate.

use std::collections::HashMap;

use bitvec::prelude::{BitSlice, BitVec, Msb0};

/// A bit stream as in section 3.2.
pub type Bits = BitVec<u8, Msb0>;

/// Kinds of section (section 10.4).
pub const BLOCKS: u16 = 1;
pub const KEYS: u16 = 2;
pub const BLOCK_COUNTS: u16 = 3;
pub const GROUPS: u16 = 4;
pub const NUMBERS: u16 = 5;
pub const STRING_OFFSETS: u16 = 6;
pub const STRING_BYTES: u16 = 7;
pub const PIPELINE: u16 = 8;

/// Bytes of the footer.
pub const FOOTER_LEN: usize = 32;

/// Section 3.4: what each byte does to the checksum, bit by bit.
const CRC_OF_BYTES: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut state, mut bit) = (byte as u32, 0);
        while bit < 8 {
            let carry = state & 1;
            state >>= 1;
            if carry == 1 {
                state ^= 0xedb8_8320;
            }
            bit += 1;
        }
        table[byte] = state;
        byte += 1;
    }
    table
};

/// Section 3.4, byte by byte.
pub fn crc32(bytes: &[u8]) -> u32 {
    let next = |state: u32, &byte: &u8| state >> 8 ^ CRC_OF_BYTES[(state as u8 ^ byte) as usize];
    !bytes.iter().fold(u32::MAX, next)
}

/// A little-endian number of `len` bytes at `at`.
pub fn number(bytes: &[u8], at: usize, len: usize) -> u128 {
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
pub struct Section {
    pub record_at: usize,
    pub kind: u16,
    pub table: u16,
    pub checksum: u32,
    pub offset: usize,
    pub len: usize,
}

/// A table record of the directory.
#[derive(Debug, Clone)]
pub struct Table {
    pub record_at: usize,
    pub mask: u128,
    pub block_count: usize,
    pub codec: u8,
    pub lengths: Vec<u8>,
}

/// A file taken apart, nothing checked.
#[derive(Debug, Clone)]
pub struct Layout {
    pub width: u32,
    pub fingerprint_count: usize,
    pub record_count: usize,
    pub block_size: usize,
    pub directory_at: usize,
    pub directory_len: usize,
    pub tables: Vec<Table>,
    pub sections: Vec<Section>,
}

impl Layout {
    /// Sections 10.1 to 10.3.
    pub fn parse(file: &[u8]) -> Self {
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
    pub fn section(&self, kind: u16, table: usize) -> Section {
        *self
            .sections
            .iter()
            .find(|s| s.kind == kind && usize::from(s.table) == table)
            .expect("the file has the section")
    }

    /// The offset of a block.
    pub fn block_at(&self, table: usize, block: usize) -> usize {
        self.section(BLOCKS, table).offset + block * self.block_size
    }

    /// The keys of a table.
    pub fn keys(&self, file: &[u8], table: usize) -> Vec<u128> {
        let keys = self.section(KEYS, table);
        let bytes = &file[keys.offset..keys.offset + keys.len];
        read_keys(bytes, self.tables[table].block_count, self.width)
    }

    /// How the values of a table are coded.
    pub fn coding(&self, table: usize) -> Coding {
        let table = &self.tables[table];
        Coding::new(table.codec, &table.lengths, self.width)
    }

    /// The values of each block of a table, and the key before it.
    pub fn blocks(&self, file: &[u8], table: usize) -> Vec<(Option<u128>, Vec<u128>)> {
        let coding = self.coding(table);
        let mut before = None;
        let mut blocks = Vec::new();
        for (number, key) in self.keys(file, table).into_iter().enumerate() {
            let at = self.block_at(table, number);
            let block = &file[at..at + self.block_size];
            blocks.push((before, coding.decode(block, before, key)));
            before = Some(key);
        }
        blocks
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
pub fn apply(value: u128, mask: u128, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    let rest = all & !mask;
    match rest.count_ones() {
        128 => value,
        shift => compress(value, mask) << shift | compress(value, rest),
    }
}

/// Section 6: the codeword of each symbol, by the recipe of the specification.
pub fn codewords(lengths: &[u8]) -> Vec<Bits> {
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
pub fn bits_of(value: u128, count: u32) -> Bits {
    (0..count).rev().map(|i| value >> i & 1 == 1).collect()
}

fn number_of(bits: &BitSlice<u8, Msb0>) -> u128 {
    bits.iter()
        .fold(0, |value, bit| value << 1 | u128::from(*bit))
}

/// Codecs (section 10.3).
pub const XOR: u8 = 1;
pub const GAP: u8 = 2;
pub const EF: u8 = 3;

/// Section 3.6: the numbers of low bits and of buckets of `count` numbers up to `max`.
pub fn elias_fano_layout(count: usize, max: u128) -> (u32, usize) {
    let fits = |l: u32| max.checked_shr(l).unwrap_or(0) >= count as u128;
    let low_bits = (0..128).take_while(|&l| fits(l)).last().unwrap_or(0);
    let buckets = usize::try_from(max >> low_bits).expect("there are about as many as numbers");
    (low_bits, buckets + 1)
}

/// Section 3.6: the bits that the stream of so many numbers up to `max` has.
pub fn elias_fano_len(count: usize, max: u128) -> usize {
    let (low_bits, buckets) = elias_fano_layout(count, max);
    count + buckets + count * low_bits as usize
}

/// Section 3.6: the stream of numbers up to `max`, whether they ascend within their buckets or not.
pub fn elias_fano(numbers: &[u128], max: u128) -> Bits {
    let (low_bits, buckets) = elias_fano_layout(numbers.len(), max);
    let mut bits = Bits::repeat(false, numbers.len() + buckets);
    for (i, number) in numbers.iter().enumerate() {
        bits.set((number >> low_bits) as usize + i, true);
    }
    for &number in numbers {
        bits.extend_from_bitslice(&bits_of(number, low_bits));
    }
    bits
}

/// Section 3.6: the numbers at the start of a stream, and the bits that they take.
fn read_elias_fano(bits: &BitSlice<u8, Msb0>, count: usize, max: u128) -> (Vec<u128>, usize) {
    let (low_bits, buckets) = elias_fano_layout(count, max);
    let (high, low) = bits.split_at(count + buckets);
    let ones: Vec<usize> = high.iter_ones().collect();
    assert_eq!(ones.len(), count, "as many high bits as numbers");
    let low_bits = low_bits as usize;
    let numbers: Vec<u128> = (0..count)
        .map(|i| {
            let low = number_of(&low[i * low_bits..(i + 1) * low_bits]);
            ((ones[i] - i) as u128) << low_bits | low
        })
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.iter().all(|n| *n <= max));
    (numbers, count + buckets + count * low_bits)
}

/// Section 7.3: the keys section of ascending keys.
pub fn keys_section(keys: &[u128], width: u32) -> Vec<u8> {
    let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
        return Vec::new();
    };
    let numbers: Vec<u128> = keys.iter().map(|key| key - first).collect();
    let key_len = width as usize / 8;
    let mut bytes = first.to_le_bytes()[..key_len].to_vec();
    bytes.extend_from_slice(&last.to_le_bytes()[..key_len]);
    bytes.extend_from_slice(&filled(elias_fano(&numbers, last - first)));
    bytes
}

/// Section 7.3, its rules asserted.
fn read_keys(bytes: &[u8], count: usize, width: u32) -> Vec<u128> {
    if count == 0 {
        assert!(bytes.is_empty(), "no keys, no bytes");
        return Vec::new();
    }
    let key_len = width as usize / 8;
    let (first, last) = (number(bytes, 0, key_len), number(bytes, key_len, key_len));
    let bits = Bits::from_slice(&bytes[2 * key_len..]);
    let (numbers, len) = read_elias_fano(&bits, count, last - first);
    assert!(bits[len..].not_any() && bits.len() < len + 8, "the length");
    let keys: Vec<u128> = numbers.iter().map(|number| first + number).collect();
    assert_eq!((keys[0], keys[count - 1]), (first, last));
    keys
}

/// The bytes of a stream, its last one filled with zero bits.
pub fn filled(mut bits: Bits) -> Vec<u8> {
    bits.set_uninitialized(false);
    bits.into_vec()
}

/// Section 7.1: the bits of the count in a block of so many bytes.
pub fn count_bits(block_size: usize) -> u32 {
    16.min(3 + block_size.ilog2())
}

/// Section 7.1: the bits that a block has for its values.
pub fn room(block_size: usize) -> usize {
    (block_size - 4) * 8 - count_bits(block_size) as usize
}

/// Section 7.1: a block that says it holds `count` values, with that stream; what does not fit is cut off.
pub fn block(count: usize, stream: &BitSlice<u8, Msb0>, block_size: usize) -> Vec<u8> {
    let mut bits = bits_of(count as u128 - 1, count_bits(block_size));
    bits.extend_from_bitslice(stream);
    bits.resize((block_size - 4) * 8, false);
    let bytes = filled(bits);
    [&crc32(&bytes).to_le_bytes()[..], &bytes].concat()
}

/// Section 7.1: the number of values that a block says it holds.
pub fn count_of(block: &[u8]) -> usize {
    let bits = Bits::from_slice(&block[4..6]);
    number_of(&bits[..count_bits(block.len()) as usize]) as usize + 1
}

/// Section 7.2: how the values of a table are coded.
#[derive(Debug, Clone)]
pub struct Coding {
    codec: u8,
    width: u32,
    words: Vec<Bits>,
}

impl Coding {
    pub fn new(codec: u8, lengths: &[u8], width: u32) -> Self {
        assert!((XOR..=EF).contains(&codec));
        assert!(codec != EF || lengths.iter().all(|len| *len == 0));
        let words = codewords(lengths);
        Coding {
            codec,
            width,
            words,
        }
    }

    /// The position that has a codeword, and what stands above and in the tail, of a value behind a smaller one.
    pub fn split(&self, previous: u128, value: u128) -> (u32, u128) {
        let number = match self.codec {
            XOR => previous ^ value,
            _ => value - previous,
        };
        let tail = if self.codec == XOR { value } else { number };
        (127 - number.leading_zeros(), tail)
    }

    /// The bits that a value takes behind a smaller one.
    fn delta(&self, previous: u128, value: u128) -> Bits {
        let (position, tail) = self.split(previous, value);
        let word = &self.words[position as usize];
        assert!(!word.is_empty(), "position {position} has no codeword");
        let mut bits = word.clone();
        bits.extend_from_bitslice(&bits_of(tail, position));
        bits
    }

    /// The stream of the values of a block, the last of which is its key and not in the stream. The key need not be the
    /// largest.
    pub fn stream(&self, before: Option<u128>, values: &[u128]) -> Bits {
        let Some((&key, stored)) = values.split_last().filter(|(_, stored)| !stored.is_empty())
        else {
            return Bits::new();
        };
        if self.codec == EF {
            let base = before.map_or(0, |before| before + 1);
            let numbers: Vec<u128> = stored.iter().map(|value| value - base).collect();
            return elias_fano(&numbers, key - base - 1);
        }
        let (mut bits, mut previous) = (Bits::new(), before);
        for &value in stored {
            match previous {
                None => bits.extend_from_bitslice(&bits_of(value, self.width)),
                Some(previous) => bits.extend_from_bitslice(&self.delta(previous, value)),
            }
            previous = Some(value);
        }
        bits
    }

    /// Number of bits of [`Coding::stream`], quicker.
    pub fn stream_len(&self, before: Option<u128>, values: &[u128]) -> usize {
        let Some((&key, stored)) = values.split_last().filter(|(_, stored)| !stored.is_empty())
        else {
            return 0;
        };
        if self.codec == EF {
            return elias_fano_len(
                stored.len(),
                key - before.map_or(0, |before| before + 1) - 1,
            );
        }
        let first = before.map_or(self.width as usize, |before| self.len(before, stored[0]));
        let more = stored.windows(2).map(|pair| self.len(pair[0], pair[1]));
        first + more.sum::<usize>()
    }

    fn len(&self, previous: u128, value: u128) -> usize {
        let (position, _) = self.split(previous, value);
        self.words[position as usize].len() + position as usize
    }

    /// The values of a block, every rule of section 7.2.4 asserted.
    pub fn decode(&self, block: &[u8], before: Option<u128>, key: u128) -> Vec<u128> {
        assert_eq!(number(block, 0, 4), u128::from(crc32(&block[4..])));
        let bits = Bits::from_slice(&block[4..]);
        let bits = &bits[count_bits(block.len()) as usize..];
        let stored = count_of(block) - 1;
        let (mut values, end) = match self.codec {
            _ if stored == 0 => (Vec::new(), 0),
            EF => {
                let base = before.map_or(0, |before| before + 1);
                let (numbers, end) = read_elias_fano(bits, stored, key - base - 1);
                (numbers.iter().map(|n| base + n).collect(), end)
            }
            _ => self.decode_deltas(bits, before, stored),
        };
        assert!(bits[end..].not_any(), "the padding is zero");
        values.push(key);
        assert!(values.is_sorted_by(|a, b| a < b), "the values ascend");
        assert!(before < Some(values[0]), "above the key before");
        values
    }

    fn decode_deltas(
        &self,
        bits: &BitSlice<u8, Msb0>,
        before: Option<u128>,
        stored: usize,
    ) -> (Vec<u128>, usize) {
        let symbols: HashMap<&Bits, u32> = self
            .words
            .iter()
            .zip(0..)
            .filter(|(word, _)| !word.is_empty())
            .collect();
        let (mut values, mut at, mut previous) = (Vec::new(), 0, before);
        while values.len() < stored {
            let value = match previous {
                None => {
                    at += self.width as usize;
                    number_of(&bits[..at])
                }
                Some(previous) => {
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
                    match self.codec {
                        XOR => (previous >> position | 1) << position | tail,
                        _ => previous + (1 << position) + tail,
                    }
                }
            };
            values.push(value);
            previous = Some(value);
        }
        (values, at)
    }

    /// The blocks of ascending values, each as full as it goes, and the number of values in each.
    pub fn encode(&self, values: &[u128], block_size: usize) -> (Vec<u8>, Vec<usize>) {
        let (mut file, mut counts) = (Vec::new(), Vec::new());
        let (mut before, mut rest) = (None, values);
        while !rest.is_empty() {
            let count = self.fitting(before, rest, block_size);
            let stream = self.stream(before, &rest[..count]);
            file.extend_from_slice(&block(count, &stream, block_size));
            counts.push(count);
            before = Some(rest[count - 1]);
            rest = &rest[count..];
        }
        (file, counts)
    }

    /// The values that fit a block, when they are added one by one.
    fn fitting(&self, before: Option<u128>, values: &[u128], block_size: usize) -> usize {
        let room = room(block_size);
        if self.codec == EF {
            let fits = |count: &usize| self.stream_len(before, &values[..*count]) <= room;
            let counts = 1..=values.len().min(65_536);
            return counts.take_while(fits).last().expect("one value fits");
        }
        let (mut used, mut previous) = (0, before);
        for (i, &value) in values.iter().enumerate().take(65_536) {
            used += previous.map_or(self.width as usize, |previous| self.len(previous, value));
            previous = Some(value);
            // The value does not fit the stream, but it can be the key.
            if used > room {
                return i + 1;
            }
        }
        values.len().min(65_536)
    }
}
