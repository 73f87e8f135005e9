//! Opens an index: the constructors, and the rules of the stage "open" (spec, section 12), which they check.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::blocks::BlockTable;
use super::checked::CheckedSet;
use super::ids::IdSections;
use super::keys::Keys;
use super::lines::LineTable;
use super::paged::Paged;
use super::plans::Plans;
use super::table::Table;
use super::{Index, Storage};
use crate::codec::bits::bit_length;
use crate::codec::block::MAX_BLOCK_VALUES;
use crate::codec::huffman::Code;
use crate::codec::keys::{self, KeyEntry};
use crate::codec::lines::{LINE_ADDRESSES, LINE_BITS, MAX_ADDRESS_BITS, MAX_VALUES};
use crate::codec::span::Span;
use crate::codec::{Codec, TableCode};
use crate::design::Permutation;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::{Fingerprint, Width};
use crate::format::{
    Directory, Footer, HEADER_LEN, Header, IdKind, Kind, MAX_METADATA_LEN, MAX_PIPELINE_LEN,
    Metadata, SECTION_ALIGNMENT, SectionRecord, TableRecord, align, checksum_at, expected_sections,
    payload_len,
};
use crate::threads::map_parts_mut;

/// Returns a function that adds the name of the file to an error without one.
pub(crate) fn naming(path: &Path) -> impl Fn(Error) -> Error + '_ {
    move |error| match error {
        Error::Io(_) => error,
        error => Error::Segment {
            segment: 0,
            name: path.display().to_string(),
            error: Box::new(error),
        },
    }
}

/// With fewer blocks in all tables, a second thread does not pay.
const SMALL_FILE_BLOCKS: u64 = 1 << 16;

impl<F: Fingerprint> Index<F> {
    /// Opens an index file by mapping it: the bytes of the tables are read from disk when a query first needs them.
    /// [`Storage::map`] says which changes of the file are safe meanwhile.
    ///
    /// # Errors
    /// The errors of [`Storage::map`], [`Storage::check_len`] and [`Index::from_bytes`], with the name of the file.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_mapping(Storage::map(path)?).map_err(naming(path))
    }

    /// Opens a mapped file.
    #[cfg(feature = "mmap")]
    pub(crate) fn of_mapping(storage: Storage) -> Result<Self> {
        let index = Index::from_bytes(storage)?;
        prepare(index.storage())?;
        Ok(index)
    }

    /// Opens an index file by reading it into memory.
    ///
    /// # Errors
    /// The errors of [`Storage::read`] and [`Index::from_bytes`], with the name of the file.
    pub fn open_in_memory(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Index::from_bytes(Storage::read(path)?).map_err(naming(path))
    }

    /// Returns the fraction of the file that is in memory, see [`Storage::resident_fraction`].
    pub fn resident_fraction(&self) -> Option<f64> {
        self.storage().resident_fraction()
    }

    /// Opens an index from its bytes. Checks everything except blocks and ids, which are checked on first use. Time and
    /// memory are proportional to the number of blocks.
    ///
    /// # Errors
    /// The first broken rule of the format, or [`Error::WidthMismatch`].
    pub fn from_bytes(data: impl Into<Storage>) -> Result<Self> {
        let data = data.into();
        let header = Header::decode(data.as_ref())?;
        Index::with_header(&header, data)
    }

    fn with_header(header: &Header, data: Storage) -> Result<Self> {
        let parts = parse::<F>(header, data.as_ref())?;
        Ok(Index {
            data,
            directory: parts.directory,
            tables: parts.tables,
            ids: parts.ids,
            block_ranks: parts.block_ranks.map(OnceLock::from).unwrap_or_default(),
            pipeline: parts.pipeline,
            metadata: parts.metadata,
            sketches: OnceLock::new(),
            plans: Plans::new(F::WIDTH),
        })
    }
}

/// Returns the width of the fingerprints in a file.
///
/// # Errors
/// The first broken rule of the header.
pub(crate) fn width_of(storage: &Storage) -> Result<Width> {
    let header = Header::decode(storage.as_ref())?;
    Ok(Width::from_bits(header.width).unwrap_or(Width::W128))
}

/// Prepares a mapping for queries once the file has been parsed. Opening reads it in order.
#[cfg(feature = "mmap")]
fn prepare(storage: &Storage) -> Result<()> {
    storage.check_len()?;
    storage.advise_random();
    Ok(())
}

/// The parts of a validated file.
pub(super) struct Parts<F> {
    pub(super) directory: Directory,
    pub(super) tables: Vec<Table<F>>,
    pub(super) ids: Option<IdSections>,
    /// The rank of the first value of each block of table 0, if the index has ids.
    pub(super) block_ranks: Option<Vec<u64>>,
    pub(super) pipeline: Option<String>,
    pub(super) metadata: Metadata,
}

/// Checks every rule of the stage "open" in order; those of the header have been checked.
///
/// # Errors
/// The first broken rule; [`Error::WidthMismatch`] for an index of another width.
pub(super) fn parse<F: Fingerprint>(header: &Header, file: &[u8]) -> Result<Parts<F>> {
    let footer = Footer::decode(file)?;
    footer.check_width(header.width)?;
    if header.width != F::WIDTH {
        return Err(Error::WidthMismatch {
            index: header.width,
            requested: F::WIDTH,
        });
    }
    footer.check_directory_range()?;
    let directory = read_directory(file, &footer, F::WIDTH)?;
    let layout = check_directory::<F>(&directory, footer.directory_offset)?;
    check_checksums(&directory, file)?;
    let tables = tables(file, &directory, layout)?;
    let bytes = |kind| {
        directory
            .section(kind, 0)
            .map_or(&[][..], |record| slice(file, record))
    };
    let counts = block_counts_of(&directory, bytes(Kind::BLOCK_COUNTS))?;
    let block_ranks = (directory.id_kind != IdKind::None).then(|| block_ranks(counts));
    let pipeline = pipeline_of(&directory, bytes(Kind::PIPELINE))?;
    check_id_parameters(&directory)?;
    let metadata = metadata_of(&directory, bytes(Kind::METADATA))?;
    let ids = IdSections::open(&directory, bytes(Kind::STRING_CODE))?;
    Ok(Parts {
        directory,
        tables,
        ids,
        block_ranks,
        pipeline,
        metadata,
    })
}

/// Checks the rules that concern only the directory: V11 to V15. Returns the mask and the code of each table; a table
/// in lines has no code.
///
/// # Errors
/// The first broken rule.
fn check_directory<F: Fingerprint>(
    directory: &Directory,
    directory_offset: u64,
) -> Result<Vec<(F, Option<TableCode>)>, FormatError> {
    let masks = masks::<F>(directory)?;
    let codes = check_codes(directory)?;
    check_table_sizes(directory, F::WIDTH)?;
    check_sections(directory, F::WIDTH, directory_offset)?;
    Ok(masks.into_iter().zip(codes).collect())
}

fn read_directory(file: &[u8], footer: &Footer, width: u32) -> Result<Directory, FormatError> {
    let start = footer.directory_offset as usize;
    let bytes = file.get(start..start + footer.directory_len as usize);
    let missing = || FormatError::damaged(6, "the directory is not in the file");
    let bytes = bytes.ok_or_else(missing)?;
    // A mapped file may be overwritten, so the checked bytes must be the ones in use.
    let bytes = match bytes.len() {
        ..=Directory::MAX_COPIED_LEN => Cow::Owned(bytes.to_vec()),
        _ => Cow::Borrowed(bytes),
    };
    Directory::decode(
        &bytes,
        footer.directory_offset,
        footer.directory_checksum,
        width,
    )
}

/// Checks V11.
fn masks<F: Fingerprint>(directory: &Directory) -> Result<Vec<F>, FormatError> {
    let masks = directory.tables.iter();
    let masks: Vec<F> = masks.map(|t| F::from_u128(t.prefix_mask)).collect();
    if !Permutation::new(masks[0]).is_identity() {
        let message = format!("the prefix mask {:#x} is not of leading bits", masks[0]);
        return Err(FormatError::damaged(11, message).in_table(0));
    }
    Ok(masks)
}

/// Checks V12 and V13.
fn check_codes(directory: &Directory) -> Result<Vec<Option<TableCode>>, FormatError> {
    for (t, table) in directory.tables.iter().enumerate() {
        let has_code = matches!(table.codec, Codec::Xor | Codec::Gap);
        if !has_code && table.code_lengths.iter().any(|&len| len != 0) {
            let message = "a table without a Huffman code has code lengths";
            return Err(FormatError::damaged(12, message).in_table(t));
        }
    }
    let tables = directory.tables.iter().enumerate();
    tables
        .map(|(t, table)| match Code::from_lengths(&table.code_lengths) {
            Ok(code) => Ok(TableCode::new(table.codec, code)),
            Err(_) => Err(FormatError::damaged(13, "the code lengths are not a code").in_table(t)),
        })
        .collect()
}

/// Returns whether a table in lines can have the number of lines that it claims.
fn is_line_count(table: &TableRecord, fingerprints: u64, width: u32) -> bool {
    let address_bits = LINE_BITS..=width.min(MAX_ADDRESS_BITS);
    if !address_bits.contains(&table.address_bits) || fingerprints > MAX_VALUES {
        return false;
    }
    let most = table.block_count.saturating_mul(LINE_ADDRESSES as u64);
    table.block_count >= 1 << (table.address_bits - LINE_BITS) && fingerprints <= most
}

/// Checks V14.
fn check_table_sizes(directory: &Directory, width: u32) -> Result<(), FormatError> {
    let fingerprints = directory.fingerprint_count;
    for (t, table) in directory.tables.iter().enumerate() {
        let (is_right, parts) = match table.codec {
            Codec::Lines => (is_line_count(table, fingerprints, width), "lines"),
            _ => {
                let most = table.block_count.saturating_mul(MAX_BLOCK_VALUES as u64);
                let is_right = (table.block_count..=most).contains(&fingerprints);
                (is_right, "blocks")
            }
        };
        if !is_right {
            let message = format!("{fingerprints} values in {} {parts}", table.block_count);
            return Err(FormatError::damaged(14, message).in_table(t));
        }
    }
    Ok(())
}

/// Checks V15.
fn check_sections(
    directory: &Directory,
    width: u32,
    directory_offset: u64,
) -> Result<(), FormatError> {
    let v15 = |message: String| FormatError::damaged(15, message);
    let expected = expected_sections(directory, width)
        .ok_or_else(|| v15("the sections pass 2^64 bytes".into()))?;
    let mut records = directory.sections.iter().peekable();
    let mut end = HEADER_LEN as u64;
    for section in expected {
        let is_it =
            |r: &&SectionRecord| r.kind == section.kind && usize::from(r.table) == section.table;
        let Some(record) = records.next_if(is_it) else {
            if section.is_optional {
                continue;
            }
            let name = section.kind.name();
            let message = format!("the section of the {name} is missing or not in its place");
            return Err(v15(message).in_table(section.table));
        };
        if section.len.is_some_and(|len| record.len != len) || !is_possible_len(record) {
            let message = format!("the length of the {} cannot be", section.kind.name());
            return Err(v15(message).at(record.offset));
        }
        end = check_place(record, directory, end, directory_offset)?;
    }
    for record in records {
        if !record.kind.is_ancillary() || record.table != 0 {
            let message = format!("the section of the {} cannot be", record.kind.name());
            return Err(v15(message).at(record.offset));
        }
        end = check_place(record, directory, end, directory_offset)?;
    }
    if align(end, SECTION_ALIGNMENT) != Some(directory_offset) {
        return Err(v15("the directory does not follow the sections".into()));
    }
    Ok(())
}

/// Returns whether the kind of a section allows its length.
fn is_possible_len(record: &SectionRecord) -> bool {
    match record.kind {
        Kind::BUCKETS => payload_len(record.len).is_some(),
        Kind::PIPELINE => (1..=MAX_PIPELINE_LEN as u64).contains(&record.len),
        Kind::METADATA => (1..=MAX_METADATA_LEN as u64).contains(&record.len),
        _ => true,
    }
}

/// Checks that a section starts right after `end`; returns its own end.
fn check_place(
    record: &SectionRecord,
    directory: &Directory,
    end: u64,
    directory_offset: u64,
) -> Result<u64, FormatError> {
    let kind = record.kind;
    let size = match kind.is_of_table() {
        true => directory.fingerprint_count,
        false => record.len,
    };
    let start = align(end, kind.alignment(directory.block_size, size));
    let next = record.offset.checked_add(record.len);
    let next = next.filter(|&next| next <= directory_offset && start == Some(record.offset));
    match next {
        Some(next) if kind.has_record_checksum() || record.checksum == 0 => Ok(next),
        _ => {
            let message = format!("the section of the {} cannot be", kind.name());
            Err(FormatError::damaged(15, message).at(record.offset))
        }
    }
}

/// Checks V16, except for the key groups.
fn check_checksums(directory: &Directory, file: &[u8]) -> Result<(), FormatError> {
    let known = |record: &&SectionRecord| !record.kind.is_ancillary();
    for record in directory.sections.iter().filter(known) {
        check_record_checksum(record, slice(file, record))?;
    }
    Ok(())
}

/// Checks V16 for a section with these bytes, and V40 for an ancillary one.
pub(super) fn check_record_checksum(
    record: &SectionRecord,
    bytes: &[u8],
) -> Result<(), FormatError> {
    if !record.kind.has_record_checksum() || crc32fast::hash(bytes) == record.checksum {
        return Ok(());
    }
    let rule = match record.kind.is_ancillary() {
        true => 40,
        false => 16,
    };
    let message = format!("the checksum of the {} is wrong", record.kind.name());
    let error = FormatError::damaged(rule, message).at(record.offset);
    Err(match record.kind {
        Kind::KEY_ENTRIES => error.in_table(record.table.into()),
        _ => error,
    })
}

/// Returns a section that exists, as V15 has checked.
pub(super) fn section(
    directory: &Directory,
    kind: Kind,
    table: usize,
) -> Result<&SectionRecord, FormatError> {
    let missing = || FormatError::damaged(15, format!("the {} are missing", kind.name()));
    directory.section(kind, table).ok_or_else(missing)
}

fn range(record: &SectionRecord) -> Range<usize> {
    record.offset as usize..(record.offset + record.len) as usize
}

/// Returns the bytes of a section that lies in the file, as V15 has checked.
pub(super) fn slice<'a>(file: &'a [u8], record: &SectionRecord) -> &'a [u8] {
    file.get(range(record)).unwrap_or_default()
}

/// Opens a table in lines.
fn line_table<F: Fingerprint>(
    directory: &Directory,
    number: usize,
    mask: F,
) -> Result<LineTable<F>, FormatError> {
    let record = &directory.tables[number];
    Ok(LineTable {
        number,
        permutation: Permutation::new(mask),
        address_bits: record.address_bits,
        value_count: directory.fingerprint_count,
        line_count: record.block_count,
        lines: paged(directory, Kind::LINES, number)?,
        row: paged(directory, Kind::LOW_BITS, number)?,
    })
}

/// Opens the tables, with V16 and V17 for their keys.
fn tables<F: Fingerprint>(
    file: &[u8],
    directory: &Directory,
    mut layout: Vec<(F, Option<TableCode>)>,
) -> Result<Vec<Table<F>>, FormatError> {
    let read = |number: usize, (mask, code): &mut (F, Option<TableCode>)| {
        let record = &directory.tables[number];
        let Some(code) = code.take() else {
            return Ok(Table::Lines(line_table(directory, number, *mask)?));
        };
        let blocks = section(directory, Kind::BLOCKS, number)?;
        let entries = section(directory, Kind::KEY_ENTRIES, number)?;
        let groups = section(directory, Kind::KEY_GROUPS, number)?;
        let counts = directory.section(Kind::BLOCK_COUNTS, 0);
        let entries = key_entries(slice(file, entries), groups.len, record, number)?;
        Ok(Table::Blocks(BlockTable {
            number,
            permutation: Permutation::new(*mask),
            code,
            keys: read_keys(slice(file, groups), &entries, record, number)?,
            blocks: range(blocks),
            block_size: directory.block_size as usize,
            block_counts: counts.filter(|_| number == 0).map(range),
            checked: CheckedSet::new(record.block_count as usize),
        }))
    };
    let block_count = directory.tables.iter().map(|t| t.block_count);
    let tables: Vec<Result<Table<F>, FormatError>> = if block_count.sum::<u64>() < SMALL_FILE_BLOCKS
    {
        let numbered = layout.iter_mut().enumerate();
        numbered
            .map(|(number, layout)| read(number, layout))
            .collect()
    } else {
        map_parts_mut(&mut layout, 1, |number, part| read(number, &mut part[0]))
    };
    // In order, so that the same error is reported when there are several.
    tables.into_iter().collect()
}

/// Returns the entries of the key groups of a table, after checking the part of V17 that concerns them.
fn key_entries<F: Fingerprint>(
    bytes: &[u8],
    groups_len: u64,
    table: &TableRecord,
    number: usize,
) -> Result<Vec<KeyEntry<F>>, FormatError> {
    let v17 = |message: &str| FormatError::damaged(17, message).in_table(number);
    let entries = bytes.chunks_exact(keys::entry_len(F::WIDTH));
    let entries: Option<Vec<KeyEntry<F>>> = entries.map(KeyEntry::decode).collect();
    let entries = entries.unwrap_or_default();
    if entries.len() as u64 != keys::group_count(table.block_count) {
        return Err(v17("a key group is missing"));
    }
    let mut start = 0;
    for group in 0..entries.len() {
        let len = keys::group_len(span(&entries, group), keys_of_group(table, group));
        let end = entries[group].end;
        if len.and_then(|len| (len as u64).checked_add(start)) != Some(end) {
            return Err(v17("the entries of the key groups do not fit together"));
        }
        start = end;
    }
    if start != groups_len {
        return Err(v17("the key groups are not as long as their entries say"));
    }
    Ok(entries)
}

/// Returns the last key before a group, and its own last key.
fn span<F: Fingerprint>(entries: &[KeyEntry<F>], group: usize) -> Span<F> {
    Span {
        previous: group.checked_sub(1).map(|before| entries[before].last),
        key: entries[group].last,
    }
}

/// Returns the number of keys of a group.
fn keys_of_group(table: &TableRecord, group: usize) -> usize {
    let first = (group * keys::GROUP_KEYS) as u64;
    table
        .block_count
        .saturating_sub(first)
        .min(keys::GROUP_KEYS as u64) as usize
}

/// Appends the keys of a group, after checking V16 and V17 for it.
fn read_key_group<F: Fingerprint>(
    bytes: &[u8],
    entries: &[KeyEntry<F>],
    group: usize,
    table: (usize, &TableRecord),
    keys: &mut Vec<F>,
) -> Result<(), FormatError> {
    let (number, record) = table;
    if checksum_at(bytes, Kind::KEY_GROUPS, number, group) != entries[group].checksum {
        let message = format!("the checksum of key group {group} is wrong");
        return Err(FormatError::damaged(16, message).in_table(number));
    }
    let count = keys_of_group(record, group);
    let decoded = keys::decode_group(bytes, span(entries, group), count, keys);
    decoded.map_err(|fault| {
        let message = format!("the keys of group {group} {fault}");
        FormatError::damaged(17, message).in_table(number)
    })
}

/// Reads all keys of a table.
fn read_keys<F: Fingerprint>(
    bytes: &[u8],
    entries: &[KeyEntry<F>],
    record: &TableRecord,
    table: usize,
) -> Result<Keys<F>, FormatError> {
    // Each group has some bytes or is the only key of the last one, so the entries justify the memory.
    let mut keys = Keys::room_for(record.block_count as usize);
    let mut start = 0;
    for group in 0..entries.len() {
        let end = entries[group].end as usize;
        let bytes = bytes.get(start..end).unwrap_or_default();
        read_key_group(bytes, entries, group, (table, record), &mut keys)?;
        start = end;
    }
    Ok(Keys::new(keys))
}

/// Returns the numbers of values of the blocks of table 0, each less 1, after checking V18.
fn block_counts_of<'a>(
    directory: &Directory,
    bytes: &'a [u8],
) -> Result<&'a [[u8; 2]], FormatError> {
    let (counts, _) = bytes.as_chunks::<2>();
    let values = counts.iter().map(|&c| u64::from(u16::from_le_bytes(c)) + 1);
    let sum: u64 = values.sum();
    let is_in_lines = directory.tables[0].codec == Codec::Lines;
    if !is_in_lines && sum != directory.fingerprint_count {
        let fingerprints = directory.fingerprint_count;
        let message = format!("the blocks count {sum} fingerprints, not {fingerprints}");
        return Err(FormatError::damaged(18, message));
    }
    Ok(counts)
}

/// Returns the rank of the first value of each block of table 0.
pub(super) fn block_ranks(counts: &[[u8; 2]]) -> Vec<u64> {
    let mut next = 0;
    let ranks = counts.iter().map(|&count| {
        let rank = next;
        next += u64::from(u16::from_le_bytes(count)) + 1;
        rank
    });
    ranks.collect()
}

/// Reads the pipeline and checks V19.
fn pipeline_of(directory: &Directory, bytes: &[u8]) -> Result<Option<String>, FormatError> {
    let Some(record) = directory.section(Kind::PIPELINE, 0) else {
        return Ok(None);
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(FormatError::damaged(19, "the pipeline is not UTF-8").at(record.offset)),
    }
}

/// Reads the metadata and checks V41.
fn metadata_of(directory: &Directory, bytes: &[u8]) -> Result<Metadata, FormatError> {
    let Some(record) = directory.section(Kind::METADATA, 0) else {
        return Ok(Metadata::default());
    };
    Metadata::decode(bytes).map_err(|fault| {
        FormatError::damaged(41, format!("the metadata {fault}")).at(record.offset)
    })
}

/// Checks V20.
fn check_id_parameters(directory: &Directory) -> Result<(), FormatError> {
    let (base, bits) = (directory.id_base, directory.id_bits);
    let buckets = directory.section(Kind::BUCKETS, 0);
    let payload = buckets.and_then(|section| payload_len(section.len));
    let is_right = match directory.id_kind {
        IdKind::None => bits == 0 && base == 0,
        IdKind::Number => bits <= 64,
        IdKind::String => bits == bit_length(payload.unwrap_or(0)) && base == 0,
    };
    match is_right {
        true => Ok(()),
        false => Err(FormatError::damaged(
            20,
            format!("ids of {bits} bits from {base}"),
        )),
    }
}

/// Returns a paged section that exists.
pub(super) fn paged(directory: &Directory, kind: Kind, table: usize) -> Result<Paged, FormatError> {
    let record = section(directory, kind, table)?;
    let paged = Paged::new(kind, table, range(record));
    paged.ok_or_else(|| FormatError::damaged(15, format!("the {} are missing", kind.name())))
}
