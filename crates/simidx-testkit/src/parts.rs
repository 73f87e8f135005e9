//! Files as parts, from which valid files are assembled: counts, places and checksums are computed.

use crate::encoding::{
    self, BLOCK_COUNTS, BLOCKS, BUCKET_OFFSETS, BUCKETS, DIRECTORY_FIXED_LEN, FIRST_ANCILLARY,
    HEADER_LEN, ID_ORDER, KEY_ENTRIES, KEY_GROUPS, LINE_PAGES, LOW_BITS, Layout, PAGE_LEN, PLACES,
    STRING_CODE, bit_length, bound_checksum, crc32, directory, has_record_checksum, is_paged,
    number, packed_array,
};
use crate::strings::{BUCKET_LEN, StringCode};

/// A section without the checksums of its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: u16,
    pub table: u16,
    pub bytes: Vec<u8>,
}

/// The contents of a file, which may be invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub width: u32,
    /// The directory before its records; its counts are computed.
    pub fixed: Vec<u8>,
    /// The table records, all of the same length.
    pub tables: Vec<Vec<u8>>,
    /// The sections in the order of the file.
    pub sections: Vec<Part>,
}

impl Parts {
    pub fn of(file: &[u8]) -> Self {
        let layout = Layout::parse(file);
        let at = layout.directory_at;
        let record = |table: &encoding::Table| {
            file[table.record_at..table.record_at + layout.table_record_len].to_vec()
        };
        let section = |section: &encoding::Section| {
            let bytes = &file[section.offset..section.offset + section.len];
            let len = if is_paged(section.kind) {
                encoding::payload_len(bytes.len())
            } else {
                bytes.len()
            };
            Part {
                kind: section.kind,
                table: section.table,
                bytes: bytes[..len].to_vec(),
            }
        };
        Parts {
            width: layout.width,
            fixed: file[at..at + DIRECTORY_FIXED_LEN].to_vec(),
            tables: layout.tables.iter().map(record).collect(),
            sections: layout.sections.iter().map(section).collect(),
        }
    }

    pub fn field(&self, (at, len): directory::Field) -> u128 {
        number(&self.fixed, at, len)
    }

    pub fn put(&mut self, (at, len): directory::Field, value: u128) {
        self.fixed[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }

    fn place_of(&self, kind: u16, table: usize) -> Option<usize> {
        let mut sections = self.sections.iter();
        sections.position(|s| s.kind == kind && usize::from(s.table) == table)
    }

    /// Returns the section of a kind and a table, which must exist.
    pub fn section(&mut self, kind: u16, table: usize) -> &mut Vec<u8> {
        let place = self.place_of(kind, table);
        &mut self.sections[place.expect("the file has the section")].bytes
    }

    /// Adds a section without a table, after those of lower kinds and its own.
    pub fn add(&mut self, kind: u16, bytes: Vec<u8>) {
        let is_later = |s: &Part| s.kind > kind && ![LINE_PAGES, LOW_BITS].contains(&s.kind);
        let place = self.sections.iter().position(is_later);
        let place = place.filter(|_| kind < FIRST_ANCILLARY);
        let part = Part {
            kind,
            table: 0,
            bytes,
        };
        self.sections
            .insert(place.unwrap_or(self.sections.len()), part);
    }

    /// Removes the section of a kind and a table.
    pub fn remove(&mut self, kind: u16, table: usize) {
        let place = self.place_of(kind, table);
        self.sections
            .remove(place.expect("the file has the section"));
    }

    /// The number of records.
    pub fn record_count(&self) -> usize {
        self.field(directory::RECORD_COUNT) as usize
    }

    fn index_bits(&self) -> usize {
        bit_length(self.record_count().saturating_sub(1))
    }

    /// Returns the numbers of a section of places or indexes of ids.
    pub fn indexes(&mut self, kind: u16) -> Vec<u128> {
        let (count, bits) = (self.record_count(), self.index_bits());
        let array = encoding::Bits::from_slice(self.section(kind, 0));
        let number = |i: usize| {
            let bits = &array[i * bits..(i + 1) * bits];
            bits.iter().fold(0, |n, bit| n << 1 | u128::from(*bit))
        };
        (0..count).map(number).collect()
    }

    /// Writes the numbers of a section of places or indexes of ids.
    pub fn put_indexes(&mut self, kind: u16, indexes: &[u128]) {
        let bits = self.index_bits();
        *self.section(kind, 0) = packed_array(indexes, bits);
    }

    /// Exchanges two places, and their indexes if the file has the order of the ids.
    pub fn swap_places(&mut self, one: u128, two: u128) {
        let mut places = self.indexes(PLACES);
        for place in &mut places {
            *place = match *place {
                p if p == one => two,
                p if p == two => one,
                p => p,
            };
        }
        self.put_indexes(PLACES, &places);
        if self.place_of(ID_ORDER, 0).is_some() {
            let mut order = self.indexes(ID_ORDER);
            order.swap(one as usize, two as usize);
            self.put_indexes(ID_ORDER, &order);
        }
    }

    /// Returns the code of the strings.
    pub fn string_code(&mut self) -> StringCode {
        StringCode::parse(self.section(STRING_CODE, 0))
    }

    /// Returns the buckets of the dictionary, which must be valid.
    pub fn buckets(&mut self) -> Vec<Vec<u8>> {
        let bits = self.field(directory::ID_BITS) as u32;
        let offsets = encoding::Bits::from_slice(self.section(BUCKET_OFFSETS, 0));
        let offset = |g: usize| {
            let bits = &offsets[g * bits as usize..(g + 1) * bits as usize];
            bits.iter().fold(0, |n, bit| n << 1 | usize::from(*bit))
        };
        let count = self.record_count().div_ceil(BUCKET_LEN);
        let mut ends: Vec<usize> = (1..count).map(offset).collect();
        let payload = self.section(BUCKETS, 0);
        ends.push(payload.len());
        let mut start = 0;
        let bucket = |end| {
            let bucket = payload[start..end].to_vec();
            start = end;
            bucket
        };
        ends.into_iter().take(count).map(bucket).collect()
    }

    /// Writes the buckets, with their offsets.
    pub fn put_buckets(&mut self, buckets: &[Vec<u8>]) {
        let (mut offsets, mut payload) = (Vec::new(), Vec::new());
        for bucket in buckets {
            offsets.push(payload.len() as u128);
            payload.extend_from_slice(bucket);
        }
        *self.section(BUCKETS, 0) = payload;
        self.put_offsets(&offsets);
    }

    /// Writes the offsets of the buckets.
    pub fn put_offsets(&mut self, offsets: &[u128]) {
        let bits = bit_length(self.section(BUCKETS, 0).len());
        self.put(directory::ID_BITS, bits as u128);
        *self.section(BUCKET_OFFSETS, 0) = packed_array(offsets, bits);
    }

    /// Returns the ids of the dictionary, which must be valid.
    pub fn dictionary(&mut self) -> Vec<Vec<u8>> {
        let (code, count) = (self.string_code(), self.record_count());
        code.decode_all(&self.buckets(), count)
    }

    /// Writes the ids of the dictionary, sorted or not.
    pub fn put_dictionary(&mut self, ids: &[Vec<u8>]) {
        let code = self.string_code();
        self.put_buckets(&code.encode_all(ids));
    }

    /// Writes other keys of a table.
    pub fn put_keys(&mut self, table: usize, keys: &[u128]) {
        let (groups, entries) = encoding::key_sections(keys, self.width, table);
        *self.section(KEY_GROUPS, table) = groups;
        *self.section(KEY_ENTRIES, table) = entries;
    }

    /// Writes the numbers of values of the blocks of table 0.
    pub fn put_block_counts(&mut self, counts: &[usize]) {
        let bytes = counts.iter().flat_map(|c| ((*c - 1) as u16).to_le_bytes());
        *self.section(BLOCK_COUNTS, 0) = bytes.collect();
    }

    /// Returns the file with sections in their places, and with valid counts in the directory and valid checksums,
    /// except those in blocks and in key entries.
    pub fn file(&self) -> Vec<u8> {
        let mut parts = self.clone();
        parts.put(directory::TABLE_COUNT, self.tables.len() as u128);
        parts.put(directory::SECTION_COUNT, self.sections.len() as u128);
        let mut directory = parts.fixed.clone();
        directory.extend(self.tables.concat());
        let block_size = self.field(directory::BLOCK_SIZE) as usize;
        let count = self.field(directory::FINGERPRINT_COUNT);
        let mut front = header(self.width);
        for section in &self.sections {
            let alignment = match section.kind {
                LINE_PAGES | LOW_BITS if count > 4100 => 4096,
                LINE_PAGES | LOW_BITS => 64,
                kind => alignment(kind, section.bytes.len(), block_size),
            };
            let start = front.len().next_multiple_of(alignment);
            front.resize(start, 0);
            front.extend_from_slice(&section.bytes);
            if is_paged(section.kind) {
                for (number, page) in section.bytes.chunks(PAGE_LEN).enumerate() {
                    let table = usize::from(section.table);
                    let checksum = bound_checksum(page, section.kind, table, number);
                    front.extend_from_slice(&checksum.to_le_bytes());
                }
            }
            let checksum = match has_record_checksum(section.kind) {
                true => crc32(&section.bytes),
                false => 0,
            };
            directory.extend_from_slice(&section.kind.to_le_bytes());
            directory.extend_from_slice(&section.table.to_le_bytes());
            directory.extend_from_slice(&checksum.to_le_bytes());
            directory.extend_from_slice(&(start as u64).to_le_bytes());
            directory.extend_from_slice(&((front.len() - start) as u64).to_le_bytes());
        }
        front.resize(front.len().next_multiple_of(64), 0);
        assemble(&front, &directory)
    }
}

/// Returns the alignment of a section; 64 for blocks of an invalid size.
fn alignment(kind: u16, payload_len: usize, block_size: usize) -> usize {
    match kind {
        BLOCKS if block_size.is_power_of_two() => block_size.clamp(64, 4096),
        _ if is_paged(kind) && payload_len > PAGE_LEN => 4096,
        _ => 64,
    }
}

/// Returns the header of a file of this version.
pub fn header(width: u32) -> Vec<u8> {
    let mut header = b"\x89SIMIDX\x0a\x01\0".to_vec();
    header.extend_from_slice(&(width as u16).to_le_bytes());
    header.extend_from_slice(&crc32(&header).to_le_bytes());
    assert_eq!(header.len(), HEADER_LEN);
    header
}

/// Returns a file of the given bytes before the directory, with that directory and a valid footer.
pub fn assemble(front: &[u8], directory: &[u8]) -> Vec<u8> {
    let mut file = front.to_vec();
    file.extend_from_slice(directory);
    file.extend_from_slice(&(front.len() as u64).to_le_bytes());
    file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    file.extend_from_slice(&crc32(directory).to_le_bytes());
    let file_len = file.len() as u64 + 24;
    file.extend_from_slice(&file_len.to_le_bytes());
    // Version and width, as in the header.
    file.extend_from_slice(&front[8..12]);
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(b"XDIS");
    seal_footer(&mut file);
    file
}

/// Writes the checksum of the footer.
pub fn seal_footer(file: &mut [u8]) {
    let footer = file.len() - encoding::FOOTER_LEN;
    let checksum = crc32(&file[footer..footer + 32]);
    file[footer + 32..footer + 36].copy_from_slice(&checksum.to_le_bytes());
}
