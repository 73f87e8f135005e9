//! An index whose file is read in ranges: it may be on another machine.

mod ids;
mod query;
mod source;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::file_bytes::{Fetched, FileBytes};
use super::lines::LineTable;
use super::open::{
    check_directory, check_id_parameters, check_record_checksum, key_entries, line_table,
    metadata_of, pipeline_of,
};
use super::plans::{Plans, plausible_count};
use crate::codec::TableCode;
use crate::codec::keys::{self, KeyEntry};
use crate::design::{Costs, Permutation, ProbePlan, plan_probes};
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    ContentId, Directory, FOOTER_LEN, Footer, HEADER_LEN, Header, IdKind, Kind, Metadata, PAGE_LEN,
    SectionRecord,
};
use crate::summary::Summary;
use source::Parts;
pub use source::ReadRanges;

/// The least part of the end of a file that is read first.
const LEAST_TAIL: u64 = 1 << 16;

/// The part of a file that its key entries take at most, in the usual blocks of 512 bytes.
const TAIL_SHARE: u64 = 1 << 12;

/// Time in which a byte comes, for the plan of probes: 50 MB a second.
const BYTE_NS: f64 = 20.0;

/// Rounds after which a file that asks for more is not read any further.
const MOST_ROUNDS: usize = 1 << 10;

/// An index that is not on this machine, or not to be mapped: it is opened by reading its end, and a query reads the keys or
/// lines and then the blocks or low bits that it needs, each in one round for all queries that are asked together.
///
/// Opening a file of 10^7 fingerprints in six tables of lines reads 0.1 MB, a query 50 KB. Of tables in blocks, keys that
/// were read are kept. Every byte that is used has been checked, as by [`Index`](crate::Index).
///
/// ```
/// use std::fs::File;
/// use simidx::index::ranged::RangedIndex;
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.simidx");
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.extend_from_slice(&[7_u64, 42])?;
/// builder.finish_to_path(&path)?;
///
/// let index = RangedIndex::<u64, _>::open(File::open(&path)?)?; // or anything that implements ReadRanges
/// let found = index.query(43, 1)?;
/// assert_eq!(found[0].fingerprint, 42);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct RangedIndex<F, R> {
    source: R,
    file_len: u64,
    directory: Directory,
    tables: Vec<RangedTable<F>>,
    pipeline: Option<String>,
    metadata: Metadata,
    plans: Plans,
    /// Keys that have been read.
    keys: Mutex<KnownKeys<F>>,
    /// The code of the ids, not checked yet, if the end of the file that was read has it.
    string_code: Option<Vec<u8>>,
    /// What ids need beside their pages, once it has been read.
    for_ids: OnceLock<ids::ForIds>,
}

/// The table and the number of a key group.
type GroupPlace = (usize, usize);

/// Keys that have been read.
type KnownKeys<F> = HashMap<GroupPlace, Arc<[F]>>;

/// What opening reads of a table.
#[derive(Debug)]
struct RangedTable<F> {
    permutation: Permutation<F>,
    /// The table itself if it is in lines; the rest is for those in blocks.
    lines: Option<LineTable<F>>,
    code: Option<TableCode>,
    entries: Vec<KeyEntry<F>>,
    groups: Range<u64>,
    blocks: Range<u64>,
}

impl<F: Fingerprint, R: ReadRanges> RangedIndex<F, R> {
    /// Opens an index: reads the header and the end of the file in one round, and what is missing then in another.
    ///
    /// # Errors
    /// What the source reports, the first rule of the format that the bytes break, or [`Error::WidthMismatch`].
    pub fn open(source: R) -> Result<Self> {
        let file_len = source.file_len()?;
        let tail_len = LEAST_TAIL + file_len / TAIL_SHARE;
        let tail = file_len.saturating_sub(tail_len)..file_len;
        let head = 0..file_len.min(HEADER_LEN as u64);
        let parts = Parts::read(&source, vec![head.clone(), tail.clone()])?;
        let header = Header::decode(parts.get(head))?;
        let mut tail = Tail {
            start: tail.start,
            bytes: parts.get(tail).to_vec(),
        };
        let footer = Footer::decode(&tail.bytes, file_len)?;
        footer.check_width(header.width)?;
        if header.width != F::WIDTH {
            return Err(Error::WidthMismatch {
                index: header.width,
                requested: F::WIDTH,
            });
        }
        footer.check_directory_range()?;
        tail.extend_to(&source, footer.directory_offset)?;
        let directory = Directory::decode(
            tail.get(footer.directory_range()),
            footer.directory_offset,
            footer.directory_checksum,
            F::WIDTH,
        )?;
        let layout = check_directory::<F>(&directory, footer.directory_offset)?;
        check_id_parameters(&directory)?;
        let first = directory.section(Kind::KeyEntries, 0);
        tail.extend_to(&source, first.map_or(file_len, |section| section.offset))?;
        let bytes = |kind, table| -> Result<&[u8], FormatError> {
            let Some(section) = directory.section(kind, table) else {
                return Ok(&[]);
            };
            let bytes = tail.get(range(section));
            check_record_checksum(section, bytes)?;
            Ok(bytes)
        };
        let mut tables = Vec::with_capacity(layout.len());
        for (number, layout) in layout.into_iter().enumerate() {
            let groups = section_range(&directory, Kind::KeyGroups, number);
            let record = &directory.tables[number];
            let (mut lines, mut entries) = (None, Vec::new());
            if layout.code.is_none() {
                lines = Some(line_table(&directory, number, layout.mask)?);
            } else {
                let bytes = bytes(Kind::KeyEntries, number)?;
                entries = key_entries(bytes, groups.end - groups.start, record, number)?;
            }
            tables.push(RangedTable {
                permutation: Permutation::new(layout.mask),
                lines,
                code: layout.code,
                entries,
                groups,
                blocks: section_range(&directory, Kind::Blocks, number),
            });
        }
        let string_code = tail.after_start(section_range(&directory, Kind::StringCode, 0));
        let pipeline = bytes(Kind::Pipeline, 0)?;
        let metadata = bytes(Kind::Metadata, 0)?;
        Ok(RangedIndex {
            pipeline: pipeline_of(&directory, pipeline)?,
            metadata: metadata_of(&directory, metadata)?,
            file_len,
            directory,
            tables,
            source,
            plans: Plans::new(F::WIDTH),
            keys: Mutex::new(HashMap::new()),
            string_code,
            for_ids: OnceLock::new(),
        })
    }

    /// What the bytes come from.
    pub fn source(&self) -> &R {
        &self.source
    }

    /// Number of distinct fingerprints.
    pub fn len(&self) -> u64 {
        self.directory.fingerprint_count
    }

    /// Whether the index holds no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.directory.id_kind
    }

    /// The distance that the tables were chosen for. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        self.directory.max_distance
    }

    /// How the documents became fingerprints, if the index records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.pipeline.as_deref()
    }

    /// The keys and values that were stored with the index.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What identifies the contents of the index.
    pub fn content_id(&self) -> ContentId {
        ContentId(self.directory.content_id)
    }

    /// Parameters and sizes of the index and of each table.
    pub fn summary(&self) -> Summary {
        Summary::of::<F>(&self.directory, self.file_len)
    }

    /// How queries within a distance are answered, so that few bytes have to come.
    fn plan(&self, distance: u32) -> &ProbePlan {
        let distance = distance.min(F::WIDTH);
        self.plans.get(distance, || {
            let masks = self.tables.iter().map(|t| t.permutation.mask());
            let masks: Vec<F> = masks.collect();
            let directory = &self.directory;
            let per_value = directory.table_len(0) as f64 / self.len().max(1) as f64;
            let probe_len = match self.tables[0].lines {
                // A page of lines and one of low bits.
                Some(_) => 2 * PAGE_LEN,
                None => directory.block_size as usize + keys::GROUP_KEYS * F::BYTES,
            };
            let costs = Costs {
                probe_ns: probe_len as f64 * BYTE_NS,
                candidate_ns: per_value * BYTE_NS,
                row_ns: 0.0,
                address_bits: 0,
                scan_ns: per_value * BYTE_NS,
            };
            plan_probes(&masks, distance, plausible_count(directory), &costs)
        })
    }

    /// Does what reads the file, in as many rounds as it asks for parts that it has not seen.
    fn in_rounds<T>(
        &self,
        mut read: impl FnMut(FileBytes<'_>) -> Result<T, FormatError>,
    ) -> Result<T> {
        let mut fetched = Fetched::default();
        for _ in 0..MOST_ROUNDS {
            let result = read(FileBytes::Fetched(&fetched));
            let missing = fetched.take_missing().into_iter();
            let missing = missing.filter(|range| range.end <= self.file_len);
            let missing: Vec<Range<u64>> = missing.collect();
            if missing.is_empty() {
                return Ok(result?);
            }
            for (start, bytes) in Parts::read(&self.source, missing)?.into_parts() {
                fetched.insert(start, bytes);
            }
        }
        Err(FormatError::damaged(29, "what is asked for is spread over too many pages").into())
    }

    fn lock_keys(&self) -> MutexGuard<'_, KnownKeys<F>> {
        // Keys are put in when they are complete.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a file, as far as it has been read.
struct Tail {
    start: u64,
    bytes: Vec<u8>,
}

impl Tail {
    /// Reads more of the file, so that the tail starts no later than at `start`.
    fn extend_to(&mut self, source: &impl ReadRanges, start: u64) -> Result<()> {
        if start < self.start {
            let missing = start..self.start;
            let parts = Parts::read(source, vec![missing.clone()])?;
            let mut bytes = parts.get(missing).to_vec();
            bytes.append(&mut self.bytes);
            (self.start, self.bytes) = (start, bytes);
        }
        Ok(())
    }

    /// The bytes of a range, if they have been read.
    fn after_start(&self, range: Range<u64>) -> Option<Vec<u8>> {
        (range.start >= self.start).then(|| self.get(range).to_vec())
    }

    fn get(&self, range: Range<u64>) -> &[u8] {
        let from = range.start.checked_sub(self.start);
        let to = range.end.checked_sub(self.start);
        let found = from.zip(to);
        found
            .and_then(|(from, to)| self.bytes.get(from as usize..to as usize))
            .unwrap_or_default()
    }
}

fn range(section: &SectionRecord) -> Range<u64> {
    section.offset..section.offset + section.len
}

/// Where a section is; nowhere if it is missing.
fn section_range(directory: &Directory, kind: Kind, table: usize) -> Range<u64> {
    directory.section(kind, table).map_or(0..0, range)
}

const _: () = assert!(FOOTER_LEN as u64 <= LEAST_TAIL);
