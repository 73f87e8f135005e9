//! Makes of any bytes a file in which all that is counted, placed and summed up is right: what is wrong with it lies
//! deeper.

use crate::editor::{assemble, seal_block, seal_pages};
use crate::reference::{BLOCK_COUNTS, BLOCKS, GROUPS, PIPELINE, STRING_BYTES};
use crate::reference::{FOOTER_LEN, KEYS, Layout, Section, crc32, elias_fano_len, number};

/// Bytes of the directory before its table records, and of a section record.
const FIXED_LEN: usize = 40;
const RECORD_LEN: usize = 24;

/// Most bytes of sections together: what says it has more is cut off.
const MOST_BYTES: usize = 1 << 17;

/// Most bytes of a directory, enough for the most tables.
const MOST_DIRECTORY: usize = 1 << 16;

/// The file with its magic bytes, lengths, places and checksums made right, as far as that makes it no other file; a file
/// that is too short for a directory stays as it is.
pub fn repair(file: &[u8]) -> Vec<u8> {
    if file.len() < 16 + FIXED_LEN + FOOTER_LEN {
        return file.to_vec();
    }
    let file = with_a_directory(file);
    let layout = Layout::parse(&file);
    let directory = layout.directory_at..layout.directory_at + layout.directory_len;
    let mut directory = file[directory].to_vec();
    let mut front = file[..16].to_vec();
    for section in &layout.sections {
        let mut bytes = contents(&file, &layout, section);
        bytes.truncate(MOST_BYTES.saturating_sub(front.len()));
        let checksum = seal(&mut bytes, section.kind, layout.block_size);
        let start = alignment(section.kind, &layout);
        let start = front.len().next_multiple_of(start);
        front.resize(start, 0);
        let record = &mut directory[section.record_at - layout.directory_at..][..RECORD_LEN];
        record[4..8].copy_from_slice(&checksum.to_le_bytes());
        record[8..16].copy_from_slice(&(start as u64).to_le_bytes());
        record[16..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        front.extend(bytes);
    }
    front.resize(front.len().next_multiple_of(64), 0);
    assemble(&front, &directory)
}

/// The file with a good header, and at its end a directory as long as it says.
fn with_a_directory(file: &[u8]) -> Vec<u8> {
    let mut widths = [32, 64, 128].into_iter();
    let width = widths.find(|w| *w >= file[10]).unwrap_or(128);
    let footer = file.len() - FOOTER_LEN;
    let at = directory_at(file, width);
    let len = directory_len(file, at, width).min(MOST_DIRECTORY);
    let mut directory = file[at..footer.min(at + len)].to_vec();
    directory.resize(len, 0);
    let tables = usize::from(directory[30]);
    let sections = (len - FIXED_LEN - tables * (32 + usize::from(width))) / RECORD_LEN;
    directory.truncate(FIXED_LEN + tables * (32 + usize::from(width)) + sections * RECORD_LEN);
    directory[28..30].copy_from_slice(&(sections as u16).to_le_bytes());
    let mut front = file[..at].to_vec();
    front[..12].copy_from_slice(b"\x89SIMIDX\x0a\x01\0\0\0");
    front[10] = width;
    let checksum = crc32(&front[..12]);
    front[12..16].copy_from_slice(&checksum.to_le_bytes());
    assemble(&front, &directory)
}

/// Where the directory is: where the footer says, or, if that is not right, as far from the end as it is long.
fn directory_at(file: &[u8], width: u8) -> usize {
    let footer = file.len() - FOOTER_LEN;
    let last = (footer - FIXED_LEN) as u128;
    let told = number(file, footer, 8);
    let from_end = (footer as u128).saturating_sub(number(file, footer + 8, 4));
    let places = [told, from_end].map(|at| at.clamp(16, last) as usize);
    let is_right = |at: &usize| at + directory_len(file, *at, width) == footer;
    places.into_iter().find(is_right).unwrap_or(places[0])
}

/// Bytes of a directory for as many tables and sections as the one at this place says it has.
fn directory_len(file: &[u8], at: usize, width: u8) -> usize {
    let tables = usize::from(file[at + 30]);
    let sections = number(file, at + 28, 2) as usize;
    FIXED_LEN + tables * (32 + usize::from(width)) + sections * RECORD_LEN
}

/// The bytes that a section says are its own, as many as it should have where that is quickly told.
fn contents(file: &[u8], layout: &Layout, section: &Section) -> Vec<u8> {
    let rest = file.get(section.offset..).unwrap_or_default();
    let len = wanted_len(rest, layout, section).filter(|len| *len <= MOST_BYTES);
    let len = len.unwrap_or(section.len);
    let mut bytes = rest[..rest.len().min(len)].to_vec();
    if len <= MOST_BYTES {
        bytes.resize(len, 0);
    }
    bytes
}

fn wanted_len(rest: &[u8], layout: &Layout, section: &Section) -> Option<usize> {
    let table = layout.tables.get(usize::from(section.table))?;
    match section.kind {
        BLOCKS => table.block_count.checked_mul(layout.block_size),
        KEYS if table.block_count == 0 => Some(0),
        KEYS if table.block_count <= MOST_BYTES => {
            let key_len = layout.width as usize / 8;
            let ends = rest.get(..2 * key_len)?;
            let first = number(ends, 0, key_len);
            let max = number(ends, key_len, key_len).checked_sub(first)?;
            (max >= table.block_count as u128 - 1)
                .then(|| 2 * key_len + elias_fano_len(table.block_count, max).div_ceil(8))
        }
        BLOCK_COUNTS => table.block_count.checked_mul(2),
        _ => None,
    }
}

fn alignment(kind: u16, layout: &Layout) -> usize {
    let block_size = layout.block_size;
    if kind == BLOCKS && block_size.is_power_of_two() && block_size > 64 {
        block_size.min(4096)
    } else {
        64
    }
}

/// Writes the checksums within a section; returns that for its record.
fn seal(bytes: &mut [u8], kind: u16, block_size: usize) -> u32 {
    match kind {
        BLOCKS if block_size > 4 => {
            bytes.chunks_exact_mut(block_size).for_each(seal_block);
            0
        }
        KEYS | BLOCK_COUNTS | PIPELINE => crc32(bytes),
        GROUPS..=STRING_BYTES => {
            seal_pages(bytes);
            0
        }
        _ => 0,
    }
}
