//! Edits files by hand: bytes are patched, then the checksums above them are corrected.

use simidx::Set;

use crate::encoding::directory::Field;
use crate::encoding::{
    self, BLOCKS, FOOTER_LEN, KEY_ENTRIES, KEY_GROUPS, Layout, PAGE_LEN, Section, bound_checksum,
    count_of, crc32, has_record_checksum, is_paged, number,
};
pub use crate::parts::{assemble, seal_footer};

/// A file that is being edited; offsets are those of the original file.
#[derive(Debug, Clone)]
pub struct Editor {
    pub file: Vec<u8>,
    pub layout: Layout,
}

impl Editor {
    pub fn new(file: Vec<u8>) -> Self {
        let layout = Layout::parse(&file);
        Editor { file, layout }
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes a little-endian number of `len` bytes.
    pub fn put_number(&mut self, at: usize, value: u128, len: usize) {
        self.put(at, &value.to_le_bytes()[..len]);
    }

    /// Writes a field of the directory.
    pub fn put_directory(&mut self, (at, len): Field, value: u128) {
        self.put_number(self.layout.directory_at + at, value, len);
    }

    /// Returns the offset of a byte of the footer.
    pub fn footer_at(&self, byte: usize) -> usize {
        self.file.len() - FOOTER_LEN + byte
    }

    pub fn flip(&mut self, at: usize, bits: u8) {
        self.file[at] ^= bits;
    }

    pub fn section(&self, kind: u16, table: usize) -> Section {
        self.layout.section(kind, table)
    }

    pub fn block(&self, table: usize, block: usize) -> &[u8] {
        let at = self.layout.block_at(table, block);
        &self.file[at..at + self.layout.block_size]
    }

    /// Returns the values of each block of a table, with the key last. The library reads them, so the file must be
    /// valid except for the checksums that [`Editor::finish`] corrects.
    pub fn blocks(&self, table: usize) -> Vec<Vec<u128>> {
        let set = Set::from_bytes(self.clone().finish()).expect("the file opens");
        let mut fingerprints = set.fingerprints(table).expect("the table is there");
        let mut values = Vec::new();
        while let Some(fingerprint) = fingerprints.next() {
            values.push(fingerprints.permuted(fingerprint.expect("the table is good")));
        }
        let mut values = values.into_iter();
        let mut block = |number| {
            let count = count_of(self.block(table, number));
            values.by_ref().take(count).collect()
        };
        let count = self.layout.tables[table].block_count;
        (0..count).map(&mut block).collect()
    }

    /// Returns the keys of a table, read like [`Editor::blocks`].
    pub fn keys(&self, table: usize) -> Vec<u128> {
        let blocks = self.blocks(table).into_iter();
        blocks.map(|values| values[values.len() - 1]).collect()
    }

    /// Writes other keys, whose sections must be as long as the old ones.
    pub fn put_keys(&mut self, table: usize, keys: &[u128]) {
        let (groups, entries) = encoding::key_sections(keys, self.layout.width, table);
        for (kind, bytes) in [(KEY_GROUPS, groups), (KEY_ENTRIES, entries)] {
            let section = self.section(kind, table);
            assert_eq!(bytes.len(), section.len, "the section keeps its length");
            self.put(section.offset, &bytes);
        }
        self.seal_section(KEY_ENTRIES, table);
    }

    /// Writes other values into a block, with the same or another key.
    pub fn put_values(&mut self, table: usize, block: usize, values: &[u128]) {
        let mut keys = self.keys(table);
        let before = block.checked_sub(1).map(|b| keys[b]);
        let stream = self.layout.coding(table).stream(before, values);
        let place = (table, block);
        let bytes = encoding::block(values.len(), &stream, self.layout.block_size, place);
        self.put(self.layout.block_at(table, block), &bytes);
        let key = values[values.len() - 1];
        if keys[block] != key {
            keys[block] = key;
            self.put_keys(table, &keys);
        }
    }

    /// Writes the checksum of a block.
    pub fn seal_block(&mut self, table: usize, block: usize) {
        let at = self.layout.block_at(table, block);
        seal_block(
            &mut self.file[at..at + self.layout.block_size],
            (table, block),
        );
    }

    /// Writes the checksum of a section into its record.
    pub fn seal_section(&mut self, kind: u16, table: usize) {
        self.seal_record(self.section(kind, table));
    }

    fn seal_record(&mut self, section: Section) {
        let checksum = crc32(&self.file[section.offset..section.offset + section.len]);
        self.put(section.record_at + 4, &checksum.to_le_bytes());
    }

    /// Returns the bytes of the payload of a paged section.
    pub fn payload_len(&self, kind: u16) -> usize {
        encoding::payload_len(self.section(kind, 0).len)
    }

    /// Writes the checksums of the pages of a section.
    pub fn seal_pages(&mut self, kind: u16) {
        self.seal_pages_of(kind, 0);
    }

    /// Writes the checksums of the pages of a table's section.
    pub fn seal_pages_of(&mut self, kind: u16, table: usize) {
        let Section { offset, len, .. } = self.section(kind, table);
        seal_pages(&mut self.file[offset..offset + len], kind, table);
    }

    /// Writes the checksums of the key groups of a table at the places in its entries, and that of the entries.
    pub fn seal_keys(&mut self, table: usize) {
        let groups = self.section(KEY_GROUPS, table);
        let entries = self.section(KEY_ENTRIES, table);
        let key_len = self.layout.width as usize / 8;
        let mut start = 0;
        for (g, entry) in (0..entries.len).step_by(key_len + 12).enumerate() {
            let at = entries.offset + entry + key_len;
            let end = number(&self.file, at, 8).min(groups.len as u128) as usize;
            let bytes = &self.file[groups.offset + start.min(end)..groups.offset + end];
            let checksum = bound_checksum(bytes, KEY_GROUPS, table, g);
            self.put(at + 8, &checksum.to_le_bytes());
            start = end;
        }
        self.seal_section(KEY_ENTRIES, table);
    }

    /// Writes every checksum within the sections.
    pub fn seal_all_sections(&mut self) {
        for section in self.layout.sections.clone() {
            let table = usize::from(section.table);
            match section.kind {
                BLOCKS => {
                    for block in 0..self.layout.tables[table].block_count {
                        self.seal_block(table, block);
                    }
                }
                KEY_ENTRIES => self.seal_keys(table),
                kind if is_paged(kind) => self.seal_pages_of(kind, table),
                kind if has_record_checksum(kind) => self.seal_record(section),
                _ => {}
            }
        }
    }

    /// Exchanges two parts of the file of equal length.
    pub fn swap(&mut self, one: usize, two: usize, len: usize) {
        let bytes = self.file[one..one + len].to_vec();
        self.file.copy_within(two..two + len, one);
        self.put(two, &bytes);
    }

    /// Returns the file after correcting the checksums of header, directory and footer.
    pub fn finish(mut self) -> Vec<u8> {
        let header = crc32(&self.file[..12]);
        self.put(12, &header.to_le_bytes());
        let (at, len) = (self.layout.directory_at, self.layout.directory_len);
        let directory = crc32(&self.file[at..at + len]);
        let footer = self.file.len() - FOOTER_LEN;
        self.put(footer + 12, &directory.to_le_bytes());
        seal_footer(&mut self.file);
        self.file
    }
}

/// Writes the checksum of a block, by its table and number.
pub fn seal_block(block: &mut [u8], (table, number): (usize, usize)) {
    let (checksum, stream) = block.split_at_mut(4);
    checksum.copy_from_slice(&bound_checksum(stream, BLOCKS, table, number).to_le_bytes());
}

/// Writes the checksums of the pages of a section of a table.
pub fn seal_pages(section: &mut [u8], kind: u16, table: usize) {
    let (payload, checksums) = section.split_at_mut(encoding::payload_len(section.len()));
    let pages = payload.chunks(PAGE_LEN).zip(checksums.chunks_exact_mut(4));
    for (number, (page, checksum)) in pages.enumerate() {
        let sum = bound_checksum(page, kind, table, number);
        checksum.copy_from_slice(&sum.to_le_bytes());
    }
}
