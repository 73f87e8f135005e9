//! Changing files by hand: bytes are patched, then the checksums above them made right again.

use crate::reference::{self, FOOTER_LEN, KEYS, Layout, Section, crc32, number};

/// A file under change; places are those of the file as it was.
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
    pub fn put_directory(&mut self, at: usize, value: u128, len: usize) {
        self.put_number(self.layout.directory_at + at, value, len);
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

    /// The keys of a table, its section being right.
    pub fn keys(&self, table: usize) -> Vec<u128> {
        self.layout.keys(&self.file, table)
    }

    /// Writes other keys, whose section must be as long as that of the old ones.
    pub fn put_keys(&mut self, table: usize, keys: &[u128]) {
        let section = self.section(KEYS, table);
        let bytes = reference::keys_section(keys, self.layout.width);
        assert_eq!(bytes.len(), section.len, "the section keeps its length");
        self.put(section.offset, &bytes);
        self.seal_section(KEYS, table);
    }

    /// Writes other values into a block, whose key stays that of the keys section or becomes it.
    pub fn put_values(&mut self, table: usize, block: usize, values: &[u128]) {
        let mut keys = self.keys(table);
        let before = block.checked_sub(1).map(|b| keys[b]);
        let stream = self.layout.coding(table).stream(before, values);
        let bytes = reference::block(values.len(), &stream, self.layout.block_size);
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
        seal_block(&mut self.file[at..at + self.layout.block_size]);
    }

    /// Writes the checksum of a section into its record.
    pub fn seal_section(&mut self, kind: u16, table: usize) {
        let section = self.section(kind, table);
        let checksum = crc32(&self.file[section.offset..section.offset + section.len]);
        self.put(section.record_at + 4, &checksum.to_le_bytes());
    }

    /// Bytes of the payload of a paged section.
    pub fn payload_len(&self, kind: u16) -> usize {
        let len = self.section(kind, 0).len;
        len - 4 * len.div_ceil(4100)
    }

    /// Writes the checksums of the pages of a section.
    pub fn seal_pages(&mut self, kind: u16) {
        let Section { offset, len, .. } = self.section(kind, 0);
        seal_pages(&mut self.file[offset..offset + len]);
    }

    /// Writes every checksum within the sections.
    pub fn seal_all_sections(&mut self) {
        for section in self.layout.sections.clone() {
            match section.kind {
                1 => {
                    let table = usize::from(section.table);
                    for block in 0..self.layout.tables[table].block_count {
                        self.seal_block(table, block);
                    }
                }
                2 | 3 | 8 => self.seal_section(section.kind, section.table.into()),
                kind => self.seal_pages(kind),
            }
        }
    }

    /// The file with the checksums of header, directory and footer made right.
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

/// Writes the checksum of a block.
pub fn seal_block(block: &mut [u8]) {
    let (checksum, stream) = block.split_at_mut(4);
    checksum.copy_from_slice(&crc32(stream).to_le_bytes());
}

/// Writes the checksums of the pages of a section.
pub fn seal_pages(section: &mut [u8]) {
    let pages = section.len().div_ceil(4100);
    let (payload, checksums) = section.split_at_mut(section.len().saturating_sub(4 * pages));
    for (page, checksum) in payload.chunks(4096).zip(checksums.chunks_mut(4)) {
        checksum.copy_from_slice(&crc32(page).to_le_bytes());
    }
}

/// Writes the checksum of the footer.
pub fn seal_footer(file: &mut [u8]) {
    let footer = file.len() - FOOTER_LEN;
    let checksum = crc32(&file[footer..footer + 24]);
    file[footer + 24..footer + 28].copy_from_slice(&checksum.to_le_bytes());
}

/// A file of the given bytes before the directory, with that directory and a good footer.
pub fn assemble(front: &[u8], directory: &[u8]) -> Vec<u8> {
    let mut file = front.to_vec();
    file.extend_from_slice(directory);
    file.extend_from_slice(&(front.len() as u64).to_le_bytes());
    file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    file.extend_from_slice(&crc32(directory).to_le_bytes());
    let file_len = file.len() as u64 + 16;
    file.extend_from_slice(&file_len.to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(b"XDIS");
    seal_footer(&mut file);
    assert_eq!(number(&file, file.len() - 16, 8), file.len() as u128);
    file
}
