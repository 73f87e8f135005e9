//! The directory: parameters, tables and sections of a file. Spec §4.4.

use byteorder::{ByteOrder, LittleEndian};

use super::{IdKind, Kind, MAX_COUNT};
use crate::codec::{Codec, is_block_size};
use crate::error::FormatError;

/// Bytes before the table records. Spec §4.4.
const FIXED_LEN: usize = 80;

/// Bytes of a table record before its mask. Spec §4.4.
const TABLE_FIXED_LEN: usize = 16;

/// The most tables. Spec §13.
const MAX_TABLES: u16 = 255;

/// Bytes of a section record. Spec §4.4.
const SECTION_RECORD_LEN: usize = 24;

/// The directory of a file. Spec §4.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) fingerprint_count: u64,
    pub(crate) record_count: u64,
    pub(crate) content_id: u128,
    pub(crate) id_base: u64,
    pub(crate) block_size: u32,
    pub(crate) max_distance: u32,
    pub(crate) id_kind: IdKind,
    pub(crate) id_bits: u32,
    pub(crate) tables: Vec<TableRecord>,
    pub(crate) sections: Vec<SectionRecord>,
}

/// The parameters of a table. Spec §4.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) prefix_mask: u128,
    pub(crate) block_count: u64,
    pub(crate) codec: Codec,
    /// The address bits of a table in lines; otherwise 0.
    pub(crate) address_bits: u32,
    pub(crate) code_lengths: Vec<u8>,
}

/// The place and checksum of a section. Spec §4.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub(crate) kind: Kind,
    pub(crate) table: u16,
    pub(crate) checksum: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Bytes of a table record as this version writes it; longer ones have more bytes, which are skipped.
fn table_record_len(width: u32) -> usize {
    TABLE_FIXED_LEN + width as usize / 8 + width as usize
}

impl Directory {
    /// The most bytes of a directory that is copied before it is checked. All that this version writes are shorter.
    pub(crate) const MAX_COPIED_LEN: usize = 4 << 20;

    pub(crate) fn encode(&self, width: u32) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_LEN];
        LittleEndian::write_u64(&mut bytes[..8], self.fingerprint_count);
        LittleEndian::write_u64(&mut bytes[8..16], self.record_count);
        LittleEndian::write_u128(&mut bytes[16..32], self.content_id);
        LittleEndian::write_u64(&mut bytes[32..40], self.id_base);
        LittleEndian::write_u32(&mut bytes[40..44], self.block_size);
        LittleEndian::write_u16(&mut bytes[44..46], self.tables.len() as u16);
        LittleEndian::write_u16(&mut bytes[46..48], self.sections.len() as u16);
        LittleEndian::write_u16(&mut bytes[48..50], self.max_distance as u16);
        LittleEndian::write_u16(&mut bytes[50..52], table_record_len(width) as u16);
        bytes[52] = self.id_kind.code();
        bytes[53] = self.id_bits as u8;
        for table in &self.tables {
            table.encode(width, &mut bytes);
        }
        for section in &self.sections {
            section.encode(&mut bytes);
        }
        bytes
    }

    /// Returns the bytes of a table: its blocks, its keys and its record.
    pub(crate) fn table_len(&self, table: usize) -> u64 {
        let of_table = |section: &&SectionRecord| {
            section.kind.is_of_table() && usize::from(section.table) == table
        };
        let sections: u64 = self.sections.iter().filter(of_table).map(|s| s.len).sum();
        let width = self.tables[table].code_lengths.len() as u32;
        sections + table_record_len(width) as u64
    }

    /// Returns the bytes of all sections that hold ids.
    pub(crate) fn ids_len(&self) -> u64 {
        let of_ids = self.sections.iter().filter(|s| s.kind.is_of_ids());
        of_ids.map(|s| s.len).sum()
    }

    /// Returns the section of a kind that belongs to a table; `table` is 0 for sections without one.
    pub(crate) fn section(&self, kind: Kind, table: usize) -> Option<&SectionRecord> {
        let mut sections = self.sections.iter();
        sections.find(|s| s.kind == kind && usize::from(s.table) == table)
    }

    /// Reads a directory and checks V6 to V9; `at` is its offset in the file.
    pub(crate) fn decode(
        bytes: &[u8],
        at: u64,
        checksum: u32,
        width: u32,
    ) -> Result<Self, FormatError> {
        let v6 = |message: String| FormatError::damaged(6, message).at(at);
        if bytes.len() < FIXED_LEN {
            return Err(v6(format!("the directory has {} bytes", bytes.len())));
        }
        let table_count = usize::from(LittleEndian::read_u16(&bytes[44..46]));
        let section_count = usize::from(LittleEndian::read_u16(&bytes[46..48]));
        let table_len = usize::from(LittleEndian::read_u16(&bytes[50..52]));
        let sections_at = FIXED_LEN + table_count * table_len;
        if table_len < table_record_len(width)
            || bytes.len() != sections_at + section_count * SECTION_RECORD_LEN
        {
            return Err(v6(format!(
                "a directory of {} bytes cannot hold {table_count} tables of {table_len} bytes and {section_count} sections",
                bytes.len(),
            )));
        }
        if crc32fast::hash(bytes) != checksum {
            return Err(FormatError::damaged(7, "the directory checksum is wrong").at(at));
        }
        check_parameters(bytes, width)
            .map_err(|message| FormatError::damaged(8, message).at(at))?;
        let unknown = |message: &str| FormatError::unsupported(9, message).at(at);
        if LittleEndian::read_u64(&bytes[56..64]) != 0 {
            return Err(unknown(
                "the file has a feature that this reader does not know",
            ));
        }
        if bytes[54..56]
            .iter()
            .chain(&bytes[72..FIXED_LEN])
            .any(|&b| b != 0)
        {
            return Err(unknown("a reserved byte of the directory is set"));
        }
        Ok(Directory {
            fingerprint_count: LittleEndian::read_u64(&bytes[..8]),
            record_count: LittleEndian::read_u64(&bytes[8..16]),
            content_id: LittleEndian::read_u128(&bytes[16..32]),
            id_base: LittleEndian::read_u64(&bytes[32..40]),
            block_size: LittleEndian::read_u32(&bytes[40..44]),
            max_distance: u32::from(LittleEndian::read_u16(&bytes[48..50])),
            id_kind: IdKind::from_code(bytes[52]).ok_or_else(|| unknown("unknown kind of ids"))?,
            id_bits: u32::from(bytes[53]),
            tables: bytes[FIXED_LEN..sections_at]
                .chunks_exact(table_len)
                .map(|record| TableRecord::decode(record, width).map_err(unknown))
                .collect::<Result<_, _>>()?,
            sections: bytes[sections_at..]
                .chunks_exact(SECTION_RECORD_LEN)
                .map(|record| SectionRecord::decode(record).map_err(unknown))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Checks V8.
fn check_parameters(bytes: &[u8], width: u32) -> Result<(), String> {
    let fingerprints = LittleEndian::read_u64(&bytes[..8]);
    let records = LittleEndian::read_u64(&bytes[8..16]);
    let block_size = LittleEndian::read_u32(&bytes[40..44]);
    let table_count = LittleEndian::read_u16(&bytes[44..46]);
    let max_distance = u32::from(LittleEndian::read_u16(&bytes[48..50]));
    let most = if width == 32 { 1 << 32 } else { MAX_COUNT };
    if !is_block_size(block_size) {
        return Err(format!("a block size of {block_size} bytes"));
    }
    if !(1..=MAX_TABLES).contains(&table_count) {
        return Err(format!("{table_count} tables"));
    }
    if max_distance > width {
        return Err(format!("a distance of {max_distance} in {width} bits"));
    }
    let counts_fit = fingerprints <= most && records <= MAX_COUNT && fingerprints <= records;
    if !counts_fit || (fingerprints == 0 && records > 0) {
        return Err(format!("{fingerprints} fingerprints of {records} records"));
    }
    Ok(())
}

impl TableRecord {
    fn encode(&self, width: u32, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.block_count.to_le_bytes());
        bytes.push(self.codec.id());
        bytes.push(self.address_bits as u8);
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&self.prefix_mask.to_le_bytes()[..width as usize / 8]);
        bytes.extend_from_slice(&self.code_lengths);
    }

    /// Reads a record that is at least as long as this version writes it.
    fn decode(bytes: &[u8], width: u32) -> Result<Self, &'static str> {
        if bytes[10..TABLE_FIXED_LEN].iter().any(|&b| b != 0) {
            return Err("a reserved byte of a table is set");
        }
        let codec = Codec::from_id(bytes[8]).ok_or("unknown codec")?;
        if codec != Codec::Lines && bytes[9] != 0 {
            return Err("a reserved byte of a table is set");
        }
        let mask_end = TABLE_FIXED_LEN + width as usize / 8;
        let mut mask = [0; 16];
        mask[..width as usize / 8].copy_from_slice(&bytes[TABLE_FIXED_LEN..mask_end]);
        Ok(TableRecord {
            prefix_mask: u128::from_le_bytes(mask),
            block_count: LittleEndian::read_u64(&bytes[..8]),
            codec,
            address_bits: bytes[9].into(),
            code_lengths: bytes[mask_end..mask_end + width as usize].to_vec(),
        })
    }
}

impl SectionRecord {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.kind.code().to_le_bytes());
        bytes.extend_from_slice(&self.table.to_le_bytes());
        bytes.extend_from_slice(&self.checksum.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.len.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let kind = Kind::from_code(LittleEndian::read_u16(&bytes[..2]));
        Ok(SectionRecord {
            kind: kind.ok_or("unknown kind of section")?,
            table: LittleEndian::read_u16(&bytes[2..4]),
            checksum: LittleEndian::read_u32(&bytes[4..8]),
            offset: LittleEndian::read_u64(&bytes[8..16]),
            len: LittleEndian::read_u64(&bytes[16..24]),
        })
    }
}
