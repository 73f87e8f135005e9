//! The directory: parameters, tables and sections of a file. Spec §10.3.

use byteorder::{ByteOrder, LittleEndian};

use super::{IdKind, Kind, MAX_COUNT};
use crate::codec::{Codec, is_block_size};
use crate::error::FormatError;

/// Bytes before the table records. Spec §10.3.
const FIXED_LEN: usize = 40;

/// Bytes of a table record before its code lengths. Spec §10.3.
const TABLE_FIXED_LEN: usize = 32;

/// Spec §10.3.
const SECTION_RECORD_LEN: usize = 24;

/// Spec §10.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) fingerprint_count: u64,
    pub(crate) record_count: u64,
    pub(crate) id_base: u64,
    pub(crate) block_size: u32,
    pub(crate) max_distance: u32,
    pub(crate) id_kind: IdKind,
    pub(crate) id_bits: u32,
    pub(crate) tables: Vec<TableRecord>,
    pub(crate) sections: Vec<SectionRecord>,
}

/// Spec §10.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) prefix_mask: u128,
    pub(crate) block_count: u64,
    pub(crate) codec: Codec,
    pub(crate) code_lengths: Vec<u8>,
}

/// Spec §10.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub(crate) kind: Kind,
    pub(crate) table: u16,
    pub(crate) checksum: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Directory {
    /// Bytes of the longest directory that the counts in it can describe.
    pub(crate) const MAX_LEN: usize =
        FIXED_LEN + 0xff * (TABLE_FIXED_LEN + 128) + 0xffff * SECTION_RECORD_LEN;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_LEN];
        LittleEndian::write_u64(&mut bytes[..8], self.fingerprint_count);
        LittleEndian::write_u64(&mut bytes[8..16], self.record_count);
        LittleEndian::write_u64(&mut bytes[16..24], self.id_base);
        LittleEndian::write_u32(&mut bytes[24..28], self.block_size);
        LittleEndian::write_u16(&mut bytes[28..30], self.sections.len() as u16);
        bytes[30] = self.tables.len() as u8;
        bytes[31] = self.max_distance as u8;
        bytes[32] = self.id_kind.code();
        bytes[33] = self.id_bits as u8;
        for table in &self.tables {
            table.encode(&mut bytes);
        }
        for section in &self.sections {
            section.encode(&mut bytes);
        }
        bytes
    }

    /// Bytes that a table takes: its blocks, its keys and its record.
    pub(crate) fn table_len(&self, table: usize) -> u64 {
        let of_table = |section: &&SectionRecord| {
            matches!(section.kind, Kind::Blocks | Kind::Keys) && usize::from(section.table) == table
        };
        let sections: u64 = self.sections.iter().filter(of_table).map(|s| s.len).sum();
        sections + (TABLE_FIXED_LEN + self.tables[table].code_lengths.len()) as u64
    }

    /// Reads a directory by the rules V6 to V9; `at` is its offset in the file.
    pub(crate) fn decode(
        bytes: &[u8],
        at: u64,
        checksum: u32,
        width: u32,
    ) -> Result<Self, FormatError> {
        let table_len = TABLE_FIXED_LEN + width as usize;
        let v6 = |message: String| FormatError::damaged(6, message).at(at);
        if bytes.len() < FIXED_LEN {
            return Err(v6(format!("the directory has {} bytes", bytes.len())));
        }
        let section_count = usize::from(LittleEndian::read_u16(&bytes[28..30]));
        let sections_at = FIXED_LEN + usize::from(bytes[30]) * table_len;
        if bytes.len() != sections_at + section_count * SECTION_RECORD_LEN {
            return Err(v6(format!(
                "a directory of {} bytes cannot hold {} tables and {section_count} sections",
                bytes.len(),
                bytes[30]
            )));
        }
        if crc32fast::hash(bytes) != checksum {
            return Err(FormatError::damaged(7, "the directory checksum is wrong").at(at));
        }
        check_parameters(bytes, width)
            .map_err(|message| FormatError::damaged(8, message).at(at))?;
        let unknown = |message: &str| FormatError::unsupported(9, message).at(at);
        if bytes[34..FIXED_LEN].iter().any(|&b| b != 0) {
            return Err(unknown("a reserved byte of the directory is set"));
        }
        Ok(Directory {
            fingerprint_count: LittleEndian::read_u64(&bytes[..8]),
            record_count: LittleEndian::read_u64(&bytes[8..16]),
            id_base: LittleEndian::read_u64(&bytes[16..24]),
            block_size: LittleEndian::read_u32(&bytes[24..28]),
            max_distance: u32::from(bytes[31]),
            id_kind: IdKind::from_code(bytes[32]).ok_or_else(|| unknown("unknown kind of ids"))?,
            id_bits: u32::from(bytes[33]),
            tables: bytes[FIXED_LEN..sections_at]
                .chunks_exact(table_len)
                .map(|record| TableRecord::decode(record).map_err(unknown))
                .collect::<Result<_, _>>()?,
            sections: bytes[sections_at..]
                .chunks_exact(SECTION_RECORD_LEN)
                .map(|record| SectionRecord::decode(record).map_err(unknown))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Rule V8.
fn check_parameters(bytes: &[u8], width: u32) -> Result<(), String> {
    let fingerprints = LittleEndian::read_u64(&bytes[..8]);
    let records = LittleEndian::read_u64(&bytes[8..16]);
    let block_size = LittleEndian::read_u32(&bytes[24..28]);
    let most = if width == 32 { 1 << 32 } else { MAX_COUNT };
    if !is_block_size(block_size) {
        return Err(format!("a block size of {block_size} bytes"));
    }
    if bytes[30] == 0 {
        return Err("no table".into());
    }
    if u32::from(bytes[31]) > width {
        return Err(format!("a distance of {} in {width} bits", bytes[31]));
    }
    let counts_fit = fingerprints <= most && records <= MAX_COUNT && fingerprints <= records;
    if !counts_fit || (fingerprints == 0 && records > 0) {
        return Err(format!("{fingerprints} fingerprints of {records} records"));
    }
    Ok(())
}

impl TableRecord {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.prefix_mask.to_le_bytes());
        bytes.extend_from_slice(&self.block_count.to_le_bytes());
        bytes.push(self.codec.id());
        bytes.extend_from_slice(&[0; 7]);
        bytes.extend_from_slice(&self.code_lengths);
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes[25..TABLE_FIXED_LEN].iter().any(|&b| b != 0) {
            return Err("a reserved byte of a table is set");
        }
        Ok(TableRecord {
            prefix_mask: LittleEndian::read_u128(&bytes[..16]),
            block_count: LittleEndian::read_u64(&bytes[16..24]),
            codec: Codec::from_id(bytes[24]).ok_or("unknown codec")?,
            code_lengths: bytes[TABLE_FIXED_LEN..].to_vec(),
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
