//! Opening an index: the constructors, and the rules of stage "open" (spec, section 12), which they check.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::checked::CheckedSet;
use super::ids::{IdSections, IdValues};
use super::keys::Keys;
use super::paged::Paged;
use super::plans::Plans;
use super::table::Table;
use super::{AnyIndex, Index, Storage};
use crate::codec::bits::bit_length;
use crate::codec::block::MAX_BLOCK_VALUES;
use crate::codec::huffman::Code;
use crate::codec::{Codec, TableCode, keys};
use crate::design::Permutation;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Directory, Footer, HEADER_LEN, Header, IdKind, Kind, MAX_PIPELINE_LEN, SECTION_ALIGNMENT,
    SectionRecord, TableRecord, align, expected_sections, payload_len,
};

/// Blocks of all tables below which opening is not worth a second thread.
const SMALL_FILE_BLOCKS: u64 = 1 << 16;

impl<F: Fingerprint> Index<F, Storage> {
    /// Opens an index file by mapping it: the bytes of the tables are read from disk when a query
    /// first needs them. [`Storage::map`] says what may happen to the file meanwhile, and what must not.
    ///
    /// # Errors
    /// As for [`Storage::map`], [`Storage::check_len`] and [`Index::from_bytes`].
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let index = Index::from_bytes(Storage::map(path)?)?;
        prepare(index.storage())?;
        Ok(index)
    }

    /// Opens an index file by reading all of it into memory.
    ///
    /// # Errors
    /// As for [`Storage::read`] and [`Index::from_bytes`].
    pub fn open_in_memory(path: impl AsRef<Path>) -> Result<Self> {
        Index::from_bytes(Storage::read(path)?)
    }

    /// Keeps the file in memory, see [`Storage::lock`].
    ///
    /// # Errors
    /// As for `Storage::lock`.
    pub fn lock(&self) -> Result<()> {
        self.storage().lock()
    }

    /// The part of the file that is in memory, see [`Storage::resident_fraction`].
    pub fn resident_fraction(&self) -> Option<f64> {
        self.storage().resident_fraction()
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// Opens the index that `data` holds: checks everything but blocks and ids, which are checked when
    /// they are first used. Time and memory in proportion to the number of blocks.
    ///
    /// # Errors
    /// The first rule of the format that the bytes break, or [`Error::WidthMismatch`].
    pub fn from_bytes(data: D) -> Result<Self> {
        let header = Header::decode(data.as_ref())?;
        Index::with_header(&header, data)
    }

    fn with_header(header: &Header, data: D) -> Result<Self> {
        let parts = parse::<F>(header, data.as_ref())?;
        Ok(Index {
            data,
            directory: parts.directory,
            tables: parts.tables,
            ids: parts.ids,
            pipeline: parts.pipeline,
            plans: Plans::new(F::WIDTH),
        })
    }
}

impl AnyIndex<Storage> {
    /// Opens an index file of any width by mapping it, as [`Index::open`] does.
    ///
    /// # Errors
    /// As for [`Index::open`].
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let index = AnyIndex::from_bytes(Storage::map(path)?)?;
        prepare(index.storage())?;
        Ok(index)
    }

    /// Opens an index file of any width by reading it into memory.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`].
    pub fn open_in_memory(path: impl AsRef<Path>) -> Result<Self> {
        AnyIndex::from_bytes(Storage::read(path)?)
    }
}

impl<D: AsRef<[u8]>> AnyIndex<D> {
    /// Opens the index that `data` holds, whatever its width.
    ///
    /// # Errors
    /// As for [`Index::from_bytes`].
    pub fn from_bytes(data: D) -> Result<Self> {
        let header = Header::decode(data.as_ref())?;
        Ok(match header.width {
            32 => AnyIndex::W32(Index::with_header(&header, data)?),
            64 => AnyIndex::W64(Index::with_header(&header, data)?),
            _ => AnyIndex::W128(Index::with_header(&header, data)?),
        })
    }
}

/// Prepares a mapping for queries once the file has been parsed: what opening reads, it reads in order.
#[cfg(feature = "mmap")]
fn prepare(storage: &Storage) -> Result<()> {
    storage.check_len()?;
    storage.advise_random();
    Ok(())
}

/// A validated file, taken apart.
pub(super) struct Parts<F> {
    pub(super) directory: Directory,
    pub(super) tables: Vec<Table<F>>,
    pub(super) ids: Option<IdSections>,
    pub(super) pipeline: Option<String>,
}

/// Checks every rule of the stage "open" in their order; those of the header have been checked.
///
/// # Errors
/// The first rule broken; [`Error::WidthMismatch`] for an index of another width.
pub(super) fn parse<F: Fingerprint>(header: &Header, file: &[u8]) -> Result<Parts<F>> {
    let footer = Footer::decode(file)?;
    if header.width != F::WIDTH {
        return Err(Error::WidthMismatch {
            index: header.width,
            requested: F::WIDTH,
        });
    }
    let directory = read_directory(file, &footer, F::WIDTH)?;
    let masks = check_masks::<F>(&directory)?;
    let codes = check_codes(&directory)?;
    check_block_counts(&directory)?;
    let sections = Sections::check(&directory, footer.directory_offset)?;
    sections.check_checksums(file)?;
    let block_counts = sections.block_counts(file);
    let tables = tables(file, &directory, &sections, masks, codes, &block_counts)?;
    let block_ranks = block_ranks(&block_counts, &directory)?;
    let pipeline = sections.pipeline(file)?;
    let ids = ids(&directory, &sections, block_ranks)?;
    Ok(Parts {
        directory,
        tables,
        ids,
        pipeline,
    })
}

fn read_directory(file: &[u8], footer: &Footer, width: u32) -> Result<Directory, FormatError> {
    let start = footer.directory_offset as usize;
    let bytes = file.get(start..start + footer.directory_len as usize);
    let missing = || FormatError::damaged(6, "the directory is not in the file");
    let bytes = bytes.ok_or_else(missing)?;
    // What is checked must be what is used, and a mapped file may be overwritten between the two.
    let bytes = match bytes.len() {
        ..=Directory::MAX_LEN => Cow::Owned(bytes.to_vec()),
        _ => Cow::Borrowed(bytes),
    };
    Directory::decode(
        &bytes,
        footer.directory_offset,
        footer.directory_checksum,
        width,
    )
}

/// V10 and V11.
fn check_masks<F: Fingerprint>(directory: &Directory) -> Result<Vec<F>, FormatError> {
    let mut masks = Vec::with_capacity(directory.tables.len());
    for (t, table) in directory.tables.iter().enumerate() {
        let mask = F::from_u128(table.prefix_mask);
        if mask.to_u128() != table.prefix_mask {
            let message = format!("a prefix mask of more than {} bits", F::WIDTH);
            return Err(FormatError::damaged(10, message).in_table(t));
        }
        masks.push(mask);
    }
    if !Permutation::new(masks[0]).is_identity() {
        let message = format!("the prefix mask {:#x} is not of leading bits", masks[0]);
        return Err(FormatError::damaged(11, message).in_table(0));
    }
    Ok(masks)
}

/// V12 and V13.
fn check_codes(directory: &Directory) -> Result<Vec<TableCode>, FormatError> {
    for (t, table) in directory.tables.iter().enumerate() {
        if table.codec == Codec::EliasFano && table.code_lengths.iter().any(|&len| len != 0) {
            let message = "a table without a Huffman code has code lengths";
            return Err(FormatError::damaged(12, message).in_table(t));
        }
    }
    let tables = directory.tables.iter().enumerate();
    tables
        .map(|(t, table)| match Code::from_lengths(&table.code_lengths) {
            Ok(code) => Ok(TableCode::new(table.codec, code)),
            Err(_) => Err(FormatError::damaged(13, "the code lengths are no code").in_table(t)),
        })
        .collect()
}

/// V14.
fn check_block_counts(directory: &Directory) -> Result<(), FormatError> {
    let fingerprints = directory.fingerprint_count;
    for (t, table) in directory.tables.iter().enumerate() {
        let most = table.block_count.saturating_mul(MAX_BLOCK_VALUES as u64);
        if table.block_count > fingerprints || fingerprints > most {
            let message = format!("{fingerprints} values in {} blocks", table.block_count);
            return Err(FormatError::damaged(14, message).in_table(t));
        }
    }
    Ok(())
}

/// The sections of a file, known to lie where they must.
struct Sections<'a> {
    records: &'a [SectionRecord],
}

impl<'a> Sections<'a> {
    /// V15.
    fn check(directory: &'a Directory, directory_offset: u64) -> Result<Self, FormatError> {
        let v15 = |message: String| FormatError::damaged(15, message);
        let expected = expected_sections(directory)
            .ok_or_else(|| v15("the sections pass 2^64 bytes".into()))?;
        let records = &directory.sections[..];
        let pipeline = records.get(expected.len()).map(|record| record.kind);
        let extra = records.len().checked_sub(expected.len());
        if !matches!(
            (extra, pipeline),
            (Some(0), None) | (Some(1), Some(Kind::Pipeline))
        ) {
            return Err(v15(format!("{} sections", records.len())));
        }
        let mut end = HEADER_LEN as u64;
        for (i, record) in records.iter().enumerate() {
            let (kind, table, len) = match expected.get(i) {
                Some(section) => (section.kind, section.table, section.len),
                None => (Kind::Pipeline, 0, None),
            };
            let placed = record.kind == kind
                && usize::from(record.table) == table
                && len.is_none_or(|len| record.len == len)
                && (kind.has_record_checksum() || record.checksum == 0)
                && Some(record.offset) == align(end, kind.alignment(directory.block_size));
            let next = record.offset.checked_add(record.len);
            match next.filter(|&next| placed && next <= directory_offset) {
                Some(next) => end = next,
                None => {
                    let message = format!("the section of the {} cannot be", kind.name());
                    return Err(v15(message).at(record.offset));
                }
            }
            let possible = match kind {
                Kind::StringBytes => payload_len(record.len).is_some(),
                Kind::Pipeline => (1..=MAX_PIPELINE_LEN as u64).contains(&record.len),
                _ => true,
            };
            if !possible {
                let message = format!("the length of the {} cannot be", kind.name());
                return Err(v15(message).at(record.offset));
            }
        }
        if align(end, SECTION_ALIGNMENT) != Some(directory_offset) {
            return Err(v15("the directory does not follow the sections".into()));
        }
        Ok(Sections { records })
    }

    /// V16.
    fn check_checksums(&self, file: &[u8]) -> Result<(), FormatError> {
        for record in self.records {
            if !record.kind.has_record_checksum() {
                continue;
            }
            if crc32fast::hash(slice(file, record)) != record.checksum {
                let message = format!("the checksum of the {} is wrong", record.kind.name());
                return Err(FormatError::damaged(16, message)
                    .at(record.offset)
                    .in_table(record.table.into()));
            }
        }
        Ok(())
    }

    fn find(&self, kind: Kind, table: usize) -> Option<&'a SectionRecord> {
        self.records
            .iter()
            .find(|r| r.kind == kind && usize::from(r.table) == table)
    }

    fn block_counts(&self, file: &[u8]) -> Option<Vec<u16>> {
        let record = self.find(Kind::BlockCounts, 0)?;
        let pairs = slice(file, record).chunks_exact(2);
        Some(pairs.map(|p| u16::from_le_bytes([p[0], p[1]])).collect())
    }

    /// V19.
    fn pipeline(&self, file: &[u8]) -> Result<Option<String>, FormatError> {
        let Some(record) = self.find(Kind::Pipeline, 0) else {
            return Ok(None);
        };
        match std::str::from_utf8(slice(file, record)) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(FormatError::damaged(19, "the pipeline is no text").at(record.offset)),
        }
    }

    fn paged(&self, kind: Kind) -> Result<Paged, FormatError> {
        self.find(kind, 0)
            .and_then(|record| Paged::new(kind.name(), range(record)))
            .ok_or_else(|| FormatError::damaged(15, format!("the {} are missing", kind.name())))
    }
}

fn range(record: &SectionRecord) -> Range<usize> {
    record.offset as usize..(record.offset + record.len) as usize
}

/// The bytes of a section; rule V15 has shown that they are in the file.
fn slice<'a>(file: &'a [u8], record: &SectionRecord) -> &'a [u8] {
    file.get(range(record)).unwrap_or_default()
}

/// The tables, with V17.
fn tables<F: Fingerprint>(
    file: &[u8],
    directory: &Directory,
    sections: &Sections<'_>,
    masks: Vec<F>,
    codes: Vec<TableCode>,
    block_counts: &Option<Vec<u16>>,
) -> Result<Vec<Table<F>>, FormatError> {
    let read = |(number, (mask, code))| {
        let missing = || FormatError::damaged(15, "a section is missing").in_table(number);
        let blocks = sections.find(Kind::Blocks, number).ok_or_else(missing)?;
        let keys = sections.find(Kind::Keys, number).ok_or_else(missing)?;
        Ok(Table {
            number,
            permutation: Permutation::new(mask),
            code,
            keys: read_keys(slice(file, keys), &directory.tables[number], number)?,
            blocks: range(blocks),
            block_size: directory.block_size as usize,
            block_counts: block_counts.as_ref().filter(|_| number == 0).cloned(),
            checked: CheckedSet::new(directory.tables[number].block_count as usize),
        })
    };
    let block_count = directory.tables.iter().map(|t| t.block_count);
    let numbered: Vec<_> = masks.into_iter().zip(codes).enumerate().collect();
    let tables: Vec<Result<Table<F>, FormatError>> = if block_count.sum::<u64>() < SMALL_FILE_BLOCKS
    {
        numbered.into_iter().map(read).collect()
    } else {
        numbered.into_par_iter().map(read).collect()
    };
    // In order, so that of several faults always the same one is told.
    tables.into_iter().collect()
}

/// V17.
fn read_keys<F: Fingerprint>(
    bytes: &[u8],
    record: &TableRecord,
    table: usize,
) -> Result<Keys<F>, FormatError> {
    match keys::decode(bytes, record.block_count, Keys::room_for) {
        Ok(keys) => Ok(Keys::new(keys)),
        Err(fault) => {
            let message = format!("the keys {fault}");
            Err(FormatError::damaged(17, message).in_table(table))
        }
    }
}

/// V18: the rank of the first value of each block of table 0.
fn block_ranks(
    block_counts: &Option<Vec<u16>>,
    directory: &Directory,
) -> Result<Vec<u64>, FormatError> {
    let Some(counts) = block_counts else {
        return Ok(Vec::new());
    };
    let mut ranks = Vec::with_capacity(counts.len());
    let mut next = 0;
    for &count in counts {
        ranks.push(next);
        next += u64::from(count) + 1;
    }
    if next != directory.fingerprint_count {
        let message = format!(
            "the blocks count {next} fingerprints, not {}",
            directory.fingerprint_count
        );
        return Err(FormatError::damaged(18, message));
    }
    Ok(ranks)
}

/// V20 and the places of the ids.
fn ids(
    directory: &Directory,
    sections: &Sections<'_>,
    block_ranks: Vec<u64>,
) -> Result<Option<IdSections>, FormatError> {
    let (base, bits) = (directory.id_base, directory.id_bits);
    let v20 = || FormatError::damaged(20, format!("ids of {bits} bits from {base}"));
    let values = match directory.id_kind {
        IdKind::None if bits == 0 && base == 0 => return Ok(None),
        IdKind::Number if bits <= 64 => IdValues::Numbers {
            base,
            bits,
            packed: sections.paged(Kind::Numbers)?,
        },
        IdKind::String => {
            let bytes = sections.paged(Kind::StringBytes)?;
            if bits != bit_length(bytes.len() as u64) || base != 0 {
                return Err(v20());
            }
            IdValues::Strings {
                bits,
                offsets: sections.paged(Kind::StringOffsets)?,
                bytes,
            }
        }
        _ => return Err(v20()),
    };
    let groups = directory.record_count > directory.fingerprint_count;
    Ok(Some(IdSections {
        block_ranks,
        fingerprint_count: directory.fingerprint_count,
        record_count: directory.record_count,
        groups: groups.then(|| sections.paged(Kind::Groups)).transpose()?,
        values,
    }))
}
