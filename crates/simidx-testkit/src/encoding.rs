//! Plain parsers and encoders for the structures of `format-spec.md`: files are forged with them, and the bytes of the
//! builder are compared with theirs. They share no code with the crate.

use bitvec::prelude::{BitSlice, BitVec, Msb0};

/// A bit stream as in section 3.2.
pub type Bits = BitVec<u8, Msb0>;

/// Kinds of section (section 4.5).
pub const BLOCKS: u16 = 1;
pub const GROUPS: u16 = 2;
pub const NUMBERS: u16 = 4;
pub const PLACES: u16 = 5;
pub const BUCKET_OFFSETS: u16 = 6;
pub const BUCKETS: u16 = 7;
pub const ID_ORDER: u16 = 8;
pub const BLOCK_COUNTS: u16 = 9;
pub const KEY_GROUPS: u16 = 10;
pub const KEY_ENTRIES: u16 = 11;
pub const STRING_CODE: u16 = 12;
pub const PIPELINE: u16 = 13;
pub const METADATA: u16 = 14;
pub const LINE_PAGES: u16 = 15;
pub const LOW_BITS: u16 = 16;
pub const FIRST_ANCILLARY: u16 = 0x8000;
pub const SKETCHES: u16 = 0x8001;

/// Bytes of the header, the footer, the directory before its records, and a section record.
pub const HEADER_LEN: usize = 16;
pub const FOOTER_LEN: usize = 40;
pub const DIRECTORY_FIXED_LEN: usize = 80;
pub const SECTION_RECORD_LEN: usize = 24;

/// Section 4.4: the fields of the directory, each as its place and its length.
pub mod directory {
    pub type Field = (usize, usize);

    pub const FINGERPRINT_COUNT: Field = (0, 8);
    pub const RECORD_COUNT: Field = (8, 8);
    pub const CONTENT_ID: Field = (16, 16);
    pub const ID_BASE: Field = (32, 8);
    pub const BLOCK_SIZE: Field = (40, 4);
    pub const TABLE_COUNT: Field = (44, 2);
    pub const SECTION_COUNT: Field = (46, 2);
    pub const MAX_DISTANCE: Field = (48, 2);
    pub const TABLE_RECORD_LEN: Field = (50, 2);
    pub const ID_KIND: Field = (52, 1);
    pub const ID_BITS: Field = (53, 1);
    pub const RESERVED: Field = (54, 2);
    pub const INCOMPATIBLE_FEATURES: Field = (56, 8);
    pub const COMPATIBLE_FEATURES: Field = (64, 8);
    pub const LAST_RESERVED: Field = (72, 8);
}

/// Returns whether a section ends with the checksums of its pages.
pub fn is_paged(kind: u16) -> bool {
    (GROUPS..=ID_ORDER).contains(&kind) || [LINE_PAGES, LOW_BITS].contains(&kind)
}

/// Returns whether the record of a section has its checksum.
pub fn has_record_checksum(kind: u16) -> bool {
    !is_paged(kind) && kind != BLOCKS && kind != KEY_GROUPS
}

/// Section 3.4: the effect of each byte on the checksum, bit by bit.
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

/// Section 3.4: computes a CRC-32 byte by byte.
pub fn crc32(bytes: &[u8]) -> u32 {
    let next = |state: u32, &byte: &u8| state >> 8 ^ CRC_OF_BYTES[(state as u8 ^ byte) as usize];
    !bytes.iter().fold(u32::MAX, next)
}

/// Section 3.4: computes the number that binds a checksum to the place of its bytes.
pub fn place(kind: u16, table: usize, number: usize) -> u32 {
    let kind = &kind.to_le_bytes()[..];
    let table = &(table as u16).to_le_bytes()[..];
    crc32(&[kind, table, &(number as u64).to_le_bytes()].concat())
}

/// Section 3.4: computes the checksum of bytes at a place.
pub fn bound_checksum(bytes: &[u8], kind: u16, table: usize, number: usize) -> u32 {
    crc32(bytes) ^ place(kind, table, number)
}

/// Reads a little-endian number of `len` bytes at `at`.
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

/// A table record of the directory, and where its fields are.
#[derive(Debug, Clone)]
pub struct Table {
    pub record_at: usize,
    pub codec_at: usize,
    pub mask_at: usize,
    pub lengths_at: usize,
    pub mask: u128,
    pub block_count: usize,
    pub codec: u8,
    pub address_bits: u8,
    pub lengths: Vec<u8>,
}

/// Returns the bytes of a table record without extension.
pub fn table_record_len(width: u32) -> usize {
    16 + width as usize / 8 + width as usize
}

/// The structure of a file, unchecked.
#[derive(Debug, Clone)]
pub struct Layout {
    pub width: u32,
    pub fingerprint_count: usize,
    pub record_count: usize,
    pub content_id: u128,
    pub block_size: usize,
    pub id_kind: u8,
    pub id_bits: usize,
    pub id_base: u64,
    pub table_record_len: usize,
    pub directory_at: usize,
    pub directory_len: usize,
    pub tables: Vec<Table>,
    pub sections: Vec<Section>,
}

impl Layout {
    /// Parses a file by sections 4.2 to 4.4.
    pub fn parse(file: &[u8]) -> Self {
        let width = number(file, 10, 2) as u32;
        let footer = file.len() - FOOTER_LEN;
        let directory_at = length(file, footer, 8);
        let directory_len = length(file, footer + 8, 4);
        let field = |(at, len): directory::Field| number(file, directory_at + at, len);
        let count = |of| usize::try_from(field(of)).expect("counts of a file in memory fit");
        let table_record_len = count(directory::TABLE_RECORD_LEN);
        let mut at = directory_at + DIRECTORY_FIXED_LEN;
        let mut tables = Vec::new();
        for _ in 0..count(directory::TABLE_COUNT) {
            let mask_at = at + 16;
            let lengths_at = mask_at + width as usize / 8;
            tables.push(Table {
                record_at: at,
                codec_at: at + 8,
                mask_at,
                lengths_at,
                mask: number(file, mask_at, width as usize / 8),
                block_count: length(file, at, 8),
                codec: file[at + 8],
                address_bits: file[at + 9],
                lengths: file[lengths_at..lengths_at + width as usize].to_vec(),
            });
            at += table_record_len;
        }
        let mut sections = Vec::new();
        for _ in 0..count(directory::SECTION_COUNT) {
            sections.push(Section {
                record_at: at,
                kind: number(file, at, 2) as u16,
                table: number(file, at + 2, 2) as u16,
                checksum: number(file, at + 4, 4) as u32,
                offset: length(file, at + 8, 8),
                len: length(file, at + 16, 8),
            });
            at += SECTION_RECORD_LEN;
        }
        assert_eq!(at, directory_at + directory_len);
        Layout {
            width,
            fingerprint_count: count(directory::FINGERPRINT_COUNT),
            record_count: count(directory::RECORD_COUNT),
            content_id: field(directory::CONTENT_ID),
            block_size: count(directory::BLOCK_SIZE),
            id_kind: field(directory::ID_KIND) as u8,
            id_bits: count(directory::ID_BITS),
            id_base: field(directory::ID_BASE) as u64,
            table_record_len,
            directory_at,
            directory_len,
            tables,
            sections,
        }
    }

    /// Returns the section of a kind and a table.
    pub fn section(&self, kind: u16, table: usize) -> Section {
        let section = self.find_section(kind, table);
        section.expect("the file has the section")
    }

    /// Returns the section of a kind and a table, if there is one.
    pub fn find_section(&self, kind: u16, table: usize) -> Option<Section> {
        let mut sections = self.sections.iter().copied();
        sections.find(|s| s.kind == kind && usize::from(s.table) == table)
    }

    /// Returns the bytes of a section.
    pub fn bytes<'f>(&self, file: &'f [u8], kind: u16, table: usize) -> &'f [u8] {
        let section = self.section(kind, table);
        &file[section.offset..section.offset + section.len]
    }

    /// Returns the bytes of a paged section without the checksums.
    pub fn payload<'f>(&self, file: &'f [u8], kind: u16) -> &'f [u8] {
        self.payload_of(file, kind, 0)
    }

    /// Returns the bytes of a paged section of a table without the checksums.
    pub fn payload_of<'f>(&self, file: &'f [u8], kind: u16, table: usize) -> &'f [u8] {
        let bytes = self.bytes(file, kind, table);
        &bytes[..payload_len(bytes.len())]
    }

    /// Returns the bits of a place or of an index of an id.
    pub fn index_bits(&self) -> usize {
        bit_length(self.record_count.saturating_sub(1))
    }

    /// Returns the offset of a block.
    pub fn block_at(&self, table: usize, block: usize) -> usize {
        self.section(BLOCKS, table).offset + block * self.block_size
    }

    /// Returns the coding of the values of a table.
    pub fn coding(&self, table: usize) -> Coding {
        let table = &self.tables[table];
        Coding::new(table.codec, &table.lengths, self.width)
    }
}

/// Section 5: gathers the bits of `value` that `mask` selects in the low bits.
fn compress(value: u128, mask: u128) -> u128 {
    let chosen = (0..128).filter(|bit| mask >> bit & 1 == 1);
    chosen
        .enumerate()
        .fold(0, |result, (j, bit)| result | (value >> bit & 1) << j)
}

/// Section 5: brings a fingerprint into the bit order of a table.
pub fn apply(value: u128, mask: u128, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    let rest = all & !mask;
    match rest.count_ones() {
        128 => value,
        shift => compress(value, mask) << shift | compress(value, rest),
    }
}

/// Section 6: returns the codeword of each symbol, by the procedure of the specification.
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

/// Returns the `count` low bits of a number, most significant first.
pub fn bits_of(value: u128, count: u32) -> Bits {
    (0..count).rev().map(|i| value >> i & 1 == 1).collect()
}

/// Returns the number of these bits, most significant first.
pub fn number_of(bits: &BitSlice<u8, Msb0>) -> u128 {
    bits.iter()
        .fold(0, |value, bit| value << 1 | u128::from(*bit))
}

/// Codecs (section 7.2).
pub const XOR: u8 = 1;
pub const GAP: u8 = 2;
pub const EF: u8 = 3;
pub const LINES: u8 = 4;

/// Section 3.6: returns the numbers of low bits and of buckets of `count` numbers up to `max`.
pub fn elias_fano_layout(count: usize, max: u128) -> (u32, usize) {
    let fits = |l: u32| max.checked_shr(l).unwrap_or(0) >= count as u128;
    let low_bits = (0..128).take_while(|&l| fits(l)).last().unwrap_or(0);
    let buckets = usize::try_from(max >> low_bits).expect("there are about as many as numbers");
    (low_bits, buckets + 1)
}

/// Section 3.6: returns the bits in the stream of `count` numbers up to `max`.
pub fn elias_fano_len(count: usize, max: u128) -> usize {
    let (low_bits, buckets) = elias_fano_layout(count, max);
    count + buckets + count * low_bits as usize
}

/// Section 3.6: encodes numbers up to `max`, whether they ascend within their buckets or not.
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

/// Section 8: the keys of a group; the last group may have fewer.
pub const KEYS_PER_GROUP: usize = 256;

/// Section 8: encodes a group of ascending keys after the key before them.
pub fn key_group(before: Option<u128>, keys: &[u128]) -> Vec<u8> {
    let Some((&last, others)) = keys.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let base = before.map_or(0, |before| before + 1);
    let numbers: Vec<u128> = others.iter().map(|key| key - base).collect();
    filled(elias_fano(&numbers, last - base - 1))
}

/// Returns the entry of a key group with these bytes.
pub fn key_entry(
    bytes: &[u8],
    (last, end): (u128, usize),
    width: u32,
    (table, group): (usize, usize),
) -> Vec<u8> {
    let mut entry = last.to_le_bytes()[..width as usize / 8].to_vec();
    entry.extend_from_slice(&(end as u64).to_le_bytes());
    let checksum = bound_checksum(bytes, KEY_GROUPS, table, group);
    entry.extend_from_slice(&checksum.to_le_bytes());
    entry
}

/// Section 8: returns the key groups and the key entries of the ascending keys of a table.
pub fn key_sections(keys: &[u128], width: u32, table: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut groups, mut entries, mut before) = (Vec::new(), Vec::new(), None);
    for (g, keys) in keys.chunks(KEYS_PER_GROUP).enumerate() {
        let bytes = key_group(before, keys);
        groups.extend_from_slice(&bytes);
        let last = keys[keys.len() - 1];
        entries.extend(key_entry(&bytes, (last, groups.len()), width, (table, g)));
        before = Some(last);
    }
    (groups, entries)
}

/// Section 2: returns the bit length of a number.
pub fn bit_length(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()) as usize
}

/// Section 3.3: returns the bytes of a packed array.
pub fn packed_array(numbers: &[u128], bits: usize) -> Vec<u8> {
    let mut array = Bits::new();
    for &number in numbers {
        array.extend_from_bitslice(&bits_of(number, bits as u32));
    }
    filled(array)
}

/// Section 3.5: the bytes of a page.
pub const PAGE_LEN: usize = 4096;

/// Section 3.5: returns the length of the payload of a section.
pub fn payload_len(section_len: usize) -> usize {
    section_len.saturating_sub(4 * section_len.div_ceil(PAGE_LEN + 4))
}

/// Section 10.3: computes the digest of the words of an item.
pub fn digest(words: &[u64]) -> u128 {
    let (mut a, mut b) = (0x243f_6a88_85a3_08d3u64, 0u64);
    for word in words {
        let product = u128::from(a ^ word) * 0x9e37_79b9_7f4a_7c15;
        let (low, high) = (product as u64, (product >> 64) as u64);
        a = high ^ low;
        b = (b ^ word).wrapping_add(high);
    }
    u128::from(a) + (u128::from(b) << 64)
}

/// Section 10.3: returns the words of a fingerprint.
pub fn words_of_fingerprint(fingerprint: u128, width: u32) -> Vec<u64> {
    let halves = [fingerprint as u64, (fingerprint >> 64) as u64];
    halves[..width.div_ceil(64) as usize].to_vec()
}

/// Section 10.3: returns the words of a string id.
pub fn words_of_string(id: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| number(bytes, 0, bytes.len()) as u64;
    let mut words: Vec<u64> = id.chunks(8).map(word).collect();
    words.push(id.len() as u64);
    words
}

/// Section 10.3: computes the content id of fingerprints without ids.
pub fn content_id_of_fingerprints(fingerprints: &[u128], width: u32) -> u128 {
    let digests = fingerprints
        .iter()
        .map(|&fingerprint| digest(&words_of_fingerprint(fingerprint, width)));
    digests.fold(0, u128::wrapping_add)
}

/// Returns the bytes of a stream; the last is padded with zero bits.
pub fn filled(mut bits: Bits) -> Vec<u8> {
    bits.set_uninitialized(false);
    bits.into_vec()
}

/// Section 7.1: returns the bits of the count in a block of this size.
pub fn count_bits(block_size: usize) -> u32 {
    3 + block_size.ilog2()
}

/// Section 7.1: returns the bits that a block has for its values.
pub fn room(block_size: usize) -> usize {
    (block_size - 4) * 8 - count_bits(block_size) as usize
}

/// Section 7.1: encodes a block at a place, its table and number, which claims to hold `count` values, with this
/// stream. Bits that do not fit are cut off.
pub fn block(
    count: usize,
    stream: &BitSlice<u8, Msb0>,
    block_size: usize,
    (table, number): (usize, usize),
) -> Vec<u8> {
    let mut bits = bits_of(count as u128 - 1, count_bits(block_size));
    bits.extend_from_bitslice(stream);
    bits.resize((block_size - 4) * 8, false);
    let bytes = filled(bits);
    let checksum = bound_checksum(&bytes, BLOCKS, table, number);
    [&checksum.to_le_bytes()[..], &bytes].concat()
}

/// Section 7: asserts that the bytes of a table in blocks and of its keys are those of these ascending values, with
/// each block as full as possible.
pub fn assert_blocks(file: &[u8], layout: &Layout, table: usize, values: &[u128], what: &str) {
    let coding = layout.coding(table);
    let (mut before, mut rest) = (None, values);
    let (mut keys, mut counts) = (Vec::new(), Vec::new());
    let stored = layout.bytes(file, BLOCKS, table);
    assert_eq!(
        stored.len(),
        layout.tables[table].block_count * layout.block_size,
        "{what}"
    );
    for (number, bytes) in stored.chunks_exact(layout.block_size).enumerate() {
        let count = count_of(bytes);
        assert!(count <= rest.len(), "{what}: a block of more values");
        let stream = coding.stream(before, &rest[..count]);
        let encoded = block(count, &stream, layout.block_size, (table, number));
        assert!(encoded == bytes, "{what}: the encodings of a block differ");
        let one_more = rest.get(..count + 1);
        let full = one_more
            .is_none_or(|values| coding.stream(before, values).len() > room(layout.block_size));
        assert!(full, "{what}: a block has room for one more value");
        before = Some(rest[count - 1]);
        keys.extend(before);
        counts.extend(((count - 1) as u16).to_le_bytes());
        rest = &rest[count..];
    }
    assert!(rest.is_empty(), "{what}: {} values are missing", rest.len());
    if table == 0 {
        let found = layout.bytes(file, BLOCK_COUNTS, table);
        assert!(found == counts, "{what}: the counts of the blocks");
    }
    let (groups, entries) = key_sections(&keys, layout.width, table);
    for (kind, bytes) in [(KEY_GROUPS, groups), (KEY_ENTRIES, entries)] {
        let found = layout.bytes(file, kind, table);
        assert!(found == bytes, "{what}: the keys");
    }
}

/// Section 7.1: returns the number of values that a block claims to hold.
pub fn count_of(block: &[u8]) -> usize {
    let bits = Bits::from_slice(&block[4..6]);
    number_of(&bits[..count_bits(block.len()) as usize]) as usize + 1
}

/// Section 7.2: the coding of the values of a table.
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

    /// Returns the position that has a codeword, and the bits above and in the tail, of a value after a smaller one.
    pub fn split(&self, previous: u128, value: u128) -> (u32, u128) {
        let number = match self.codec {
            XOR => previous ^ value,
            _ => value - previous,
        };
        let tail = if self.codec == XOR { value } else { number };
        (127 - number.leading_zeros(), tail)
    }

    /// Returns the bits of a value after a smaller one.
    fn delta(&self, previous: u128, value: u128) -> Bits {
        let (position, tail) = self.split(previous, value);
        let word = &self.words[position as usize];
        assert!(!word.is_empty(), "position {position} has no codeword");
        let mut bits = word.clone();
        bits.extend_from_bitslice(&bits_of(tail, position));
        bits
    }

    /// Returns the stream of the values of a block. The last of them is the key, which is not in the stream. The key
    /// need not be the largest.
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
}
