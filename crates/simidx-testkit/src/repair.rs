//! Repairs arbitrary bytes to a file with valid counts, places and checksums, so that its remaining faults lie deeper.

use crate::editor::seal_block;
use crate::encoding::{
    self, BLOCK_COUNTS, BLOCKS, DIRECTORY_FIXED_LEN, FOOTER_LEN, HEADER_LEN, KEY_ENTRIES,
    KEY_GROUPS, KEYS_PER_GROUP, LINE_PAGES, LOW_BITS, SECTION_RECORD_LEN, Section, bound_checksum,
    directory, elias_fano_len, is_paged, number, table_record_len,
};
use crate::lines::LINE_LEN;
use crate::parts::{Part, Parts};

/// The most bytes of all sections; more are cut off.
const MOST_BYTES: usize = 1 << 17;

/// The most bytes of a directory, enough for the most tables.
const MOST_DIRECTORY: usize = 1 << 16;

/// Returns the file with valid magic bytes, lengths, places and checksums, as far as that does not change its meaning.
/// A file that is too short for a directory stays unchanged.
pub fn repair(file: &[u8]) -> Vec<u8> {
    if file.len() < HEADER_LEN + DIRECTORY_FIXED_LEN + FOOTER_LEN {
        return file.to_vec();
    }
    let mut parts = parts(file);
    for table in 0..parts.tables.len() {
        repair_keys(&mut parts, table);
    }
    let block_size = parts.field(directory::BLOCK_SIZE) as usize;
    for section in parts.sections.iter_mut().filter(|s| s.kind == BLOCKS) {
        let table = usize::from(section.table);
        if block_size > 4 {
            let blocks = section.bytes.chunks_exact_mut(block_size);
            for (number, block) in blocks.enumerate() {
                seal_block(block, (table, number));
            }
        }
    }
    parts.file()
}

/// Returns the parts that the directory at the end of a file describes.
fn parts(file: &[u8]) -> Parts {
    let mut widths = [32, 64, 128].into_iter();
    let width = widths.find(|w| *w >= file[10]).unwrap_or(128).into();
    let at = directory_at(file, width);
    let lengths = Lengths::of(file, at, width);
    let mut directory = file[at..(file.len() - FOOTER_LEN).min(at + lengths.all())].to_vec();
    directory.resize(lengths.all(), 0);
    let (fixed, records) = directory.split_at(DIRECTORY_FIXED_LEN);
    let (tables, sections) = records.split_at(lengths.tables * lengths.table);
    let mut parts = Parts {
        width,
        fixed: fixed.to_vec(),
        tables: tables.chunks(lengths.table).map(<[u8]>::to_vec).collect(),
        sections: Vec::new(),
    };
    parts.put(directory::TABLE_RECORD_LEN, lengths.table as u128);
    let mut left = MOST_BYTES;
    for record in sections.chunks_exact(SECTION_RECORD_LEN) {
        let section = Section {
            record_at: 0,
            kind: number(record, 0, 2) as u16,
            table: number(record, 2, 2) as u16,
            checksum: 0,
            offset: number(record, 8, 8) as usize,
            len: number(record, 16, 8) as usize,
        };
        let mut bytes = contents(file, &parts, &section);
        bytes.truncate(left);
        left -= bytes.len();
        parts.sections.push(Part {
            kind: section.kind,
            table: section.table,
            bytes,
        });
    }
    parts
}

/// The lengths that a directory claims for itself, as far as they are possible.
struct Lengths {
    tables: usize,
    table: usize,
    sections: usize,
}

impl Lengths {
    fn of(file: &[u8], at: usize, width: u32) -> Self {
        let field = |(field, len): directory::Field| number(file, at + field, len) as usize;
        let room = MOST_DIRECTORY - DIRECTORY_FIXED_LEN;
        let tables = field(directory::TABLE_COUNT).min(255);
        let least = table_record_len(width);
        let most = (room / tables.max(1)).max(least);
        let table = field(directory::TABLE_RECORD_LEN).clamp(least, most);
        let left = room.saturating_sub(tables * table) / SECTION_RECORD_LEN;
        Lengths {
            tables,
            table,
            sections: field(directory::SECTION_COUNT).min(left),
        }
    }

    fn all(&self) -> usize {
        DIRECTORY_FIXED_LEN + self.tables * self.table + self.sections * SECTION_RECORD_LEN
    }
}

/// Returns the place of the directory: the one in the footer, or, if that is invalid, its length before the end.
fn directory_at(file: &[u8], width: u32) -> usize {
    let footer = file.len() - FOOTER_LEN;
    let last = (footer - DIRECTORY_FIXED_LEN) as u128;
    let told = number(file, footer, 8);
    let from_end = (footer as u128).saturating_sub(number(file, footer + 8, 4));
    let places = [told, from_end].map(|at| at.clamp(HEADER_LEN as u128, last) as usize);
    let is_right = |at: &usize| at + Lengths::of(file, *at, width).all() == footer;
    places.into_iter().find(is_right).unwrap_or(places[0])
}

/// Returns the bytes that a section claims, without the checksums of pages, with the length that it should have if that
/// is easily known.
fn contents(file: &[u8], parts: &Parts, section: &Section) -> Vec<u8> {
    let rest = file.get(section.offset..).unwrap_or_default();
    let len = match is_paged(section.kind) {
        true => encoding::payload_len(section.len),
        false => section.len,
    };
    let wanted = wanted_len(parts, section).filter(|len| *len <= MOST_BYTES);
    let len = wanted.unwrap_or(len);
    let mut bytes = rest[..rest.len().min(len)].to_vec();
    if len <= MOST_BYTES {
        bytes.resize(len, 0);
    }
    bytes
}

fn block_count(parts: &Parts, table: usize) -> Option<usize> {
    usize::try_from(number(parts.tables.get(table)?, 0, 8)).ok()
}

fn wanted_len(parts: &Parts, section: &Section) -> Option<usize> {
    let blocks = block_count(parts, section.table.into())?;
    match section.kind {
        BLOCKS => blocks.checked_mul(parts.field(directory::BLOCK_SIZE) as usize),
        BLOCK_COUNTS => blocks.checked_mul(2),
        LINE_PAGES => blocks.checked_mul(LINE_LEN),
        LOW_BITS => {
            let address_bits = parts.tables[usize::from(section.table)][9].into();
            let low_bits = parts.width.checked_sub(address_bits)? as usize;
            let count = usize::try_from(parts.field(directory::FINGERPRINT_COUNT)).ok()?;
            Some(count.checked_mul(low_bits)?.div_ceil(8))
        }
        KEY_ENTRIES => {
            let groups = blocks.div_ceil(KEYS_PER_GROUP);
            groups.checked_mul(parts.width as usize / 8 + 12)
        }
        _ => None,
    }
}

/// Corrects the ends and checksums of the key groups, and makes the groups as long as their entries require.
fn repair_keys(parts: &mut Parts, table: usize) {
    let has = |kind| {
        let mut sections = parts.sections.iter();
        sections.any(|s| s.kind == kind && usize::from(s.table) == table)
    };
    let blocks = block_count(parts, table).filter(|blocks| *blocks <= MOST_BYTES);
    let (Some(blocks), true, true) = (blocks, has(KEY_GROUPS), has(KEY_ENTRIES)) else {
        return;
    };
    let key_len = parts.width as usize / 8;
    let mut entries = parts.section(KEY_ENTRIES, table).clone();
    let groups = parts.section(KEY_GROUPS, table);
    let (mut before, mut start) = (None, 0);
    for (g, entry) in entries.chunks_exact_mut(key_len + 12).enumerate() {
        let last = number(entry, 0, key_len);
        let count = blocks.saturating_sub(g * KEYS_PER_GROUP);
        let Some(len) = group_len(before, last, count.min(KEYS_PER_GROUP)) else {
            return;
        };
        let end = start + len;
        if groups.len() < end {
            groups.resize(end, 0);
        }
        let checksum = bound_checksum(&groups[start..end], KEY_GROUPS, table, g);
        entry[key_len..key_len + 8].copy_from_slice(&(end as u64).to_le_bytes());
        entry[key_len + 8..].copy_from_slice(&checksum.to_le_bytes());
        (before, start) = (Some(last), end);
    }
    groups.truncate(start);
    *parts.section(KEY_ENTRIES, table) = entries;
}

/// Returns the bytes of a group of `count` keys, if that many are possible.
fn group_len(before: Option<u128>, last: u128, count: usize) -> Option<usize> {
    let base = before.map_or(Some(0), |before| before.checked_add(1))?;
    let others = count.checked_sub(1)?;
    let room = last.checked_sub(base)?;
    match others {
        0 => Some(0),
        _ if room < others as u128 => None,
        _ => Some(elias_fano_len(others, room - 1).div_ceil(8)),
    }
}
