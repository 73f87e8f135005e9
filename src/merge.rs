//! Merging segments into one file: their sorted tables are streamed through, nothing is sorted from scratch.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::build::{
    Assembler, AtomicFile, BuildProgress, BuildStage, FileParameters, IdSpool, Reporter,
    with_writer_thread,
};
use crate::codec::Codec;
use crate::design::Permutation;
use crate::error::{Error, FormatError, Result};
use crate::extsort::{
    MemoryLimit, Merge, NamedRecords, Numbered, RecordBuffer, Stream, TempSpace, ValueSource,
};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_COUNT};
use crate::index::{Fingerprints, Id, Index, Records, Segments};
use crate::summary::Summary;

/// Bytes of memory that a merge takes unless told otherwise.
const DEFAULT_MEMORY: u64 = 256 << 20;

/// Which codec the tables of a merged file have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeCodec {
    /// Chosen by the data, as in a build.
    #[default]
    Chosen,
    /// That of the segments, where they agree on it; otherwise chosen by the data.
    AsSegments,
    /// This one.
    Given(Codec),
}

/// How segments are merged. Start from [`MergeOptions::default`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergeOptions<F> {
    /// How the tables are coded.
    pub codec: MergeCodec,
    /// What is left out.
    pub exclusions: Exclusions<F>,
    /// Bytes of memory that the merge may use beside the segments themselves and what is decoded of each at a time, see
    /// [`merge`]; at least [`MIN_MEMORY`](crate::build::MIN_MEMORY), by default 256 MiB. The bytes of the result do not depend on it.
    pub memory: u64,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir). Only ids need them, about
    /// as many bytes as they take in the result.
    pub temp_dir: Option<PathBuf>,
}

impl<F> Default for MergeOptions<F> {
    fn default() -> Self {
        MergeOptions {
            codec: MergeCodec::default(),
            exclusions: Exclusions::default(),
            memory: DEFAULT_MEMORY,
            temp_dir: None,
        }
    }
}

/// Records that a merge leaves out: those of some fingerprints, and those with some ids. They are held in memory beside its
/// limit, some 20 to 100 bytes each, and so is each fingerprint that is left without a record.
#[derive(Debug, Clone)]
pub struct Exclusions<F> {
    fingerprints: HashSet<F>,
    numbers: HashSet<u64>,
    strings: HashSet<Vec<u8>>,
}

impl<F> Default for Exclusions<F> {
    fn default() -> Self {
        Exclusions {
            fingerprints: HashSet::new(),
            numbers: HashSet::new(),
            strings: HashSet::new(),
        }
    }
}

impl<F: Fingerprint> Exclusions<F> {
    /// Leaves all records of a fingerprint out.
    pub fn add_fingerprint(&mut self, fingerprint: F) {
        self.fingerprints.insert(fingerprint);
    }

    /// Leaves the records with this number as their id out.
    pub fn add_number(&mut self, id: u64) {
        self.numbers.insert(id);
    }

    /// Leaves the records with this string as their id out.
    pub fn add_string(&mut self, id: &str) {
        self.strings.insert(id.as_bytes().to_vec());
    }

    fn has_fingerprint(&self, fingerprint: F) -> bool {
        !self.fingerprints.is_empty() && self.fingerprints.contains(&fingerprint)
    }

    fn has_number(&self, id: u64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&id)
    }

    fn has_string(&self, id: &[u8]) -> bool {
        !self.strings.is_empty() && self.strings.contains(id)
    }
}

/// What a merge has made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Merged<F> {
    /// Parameters and sizes of the file.
    pub summary: Summary<F>,
    /// Records that were left out. Without ids, each fingerprint left out counts once for each segment that held it; where no
    /// fingerprint is left, all records do.
    pub dropped_record_count: u64,
    /// Distinct fingerprints that were left out with them.
    pub dropped_fingerprint_count: u64,
}

/// Writes one index with the records of all segments to `out`, from a thread of its own, and flushes it. The segments must
/// have the same tables, distance, block size, kind of ids and pipeline, but for segments without records, which add
/// nothing; the result has them too, and is byte for byte what a build with these parameters makes of all records.
///
/// Cost: each table is decoded once for each of its codec's passes (`ef` one, the others two), merged and encoded, some 20
/// to 40 ns a value. Memory does not grow with the records, but with the number of segments: of each, 16 blocks are decoded at a
/// time and their values held up to twice. With fingerprints of 64 bits that is some 30 KiB a segment for blocks of 512 bytes,
/// and at most 16 MiB for the largest ones. Without ids `record_count` is the sum of theirs, less one for
/// each segment that held a fingerprint left out: how often a fingerprint was repeated is not known. It is 0 where no
/// fingerprint is left.
///
/// # Errors
/// Segments that differ in a parameter, a damaged segment ([`Error::Segment`] tells which), exclusions by ids of a kind that
/// the segments do not have, too little memory, and what `out` or a temporary file reports.
pub fn merge<F: Fingerprint, D: AsRef<[u8]> + Sync, W: Write + Send>(
    segments: &Segments<F, D>,
    options: &MergeOptions<F>,
    out: W,
    mut progress: impl FnMut(BuildProgress),
) -> Result<Merged<F>> {
    check_parameters(segments)?;
    check_exclusions(segments, &options.exclusions)?;
    let limit = MemoryLimit::new(Some(options.memory))?;
    let merger = Merger {
        segments,
        options,
        temp: limit.temp(options.temp_dir.clone()),
        budget: limit.budget(),
    };
    let mut reporter = Reporter::new(&mut progress);
    with_writer_thread(out, |sink| {
        let records = merger.merge_records(&mut reporter)?;
        let model = merger.model();
        let temp = merger.temp.clone();
        let mut file = Assembler::new::<F>(sink, model.block_size(), temp, limit)?;
        let fingerprint_count = merger.merge_tables(&mut file, &records, &mut reporter)?;
        let record_count = records.count(fingerprint_count);
        let parameters = FileParameters {
            max_distance: model.max_distance(),
            block_size: model.block_size(),
            id_kind: model.id_kind(),
            record_count,
            pipeline: model.pipeline(),
        };
        Ok(Merged {
            summary: file.finish(&parameters, records.ids, &mut reporter)?,
            dropped_record_count: segments.record_count().saturating_sub(record_count),
            dropped_fingerprint_count: records.dropped.len() as u64,
        })
    })
}

/// [`merge`] into a file, which replaces what has that name when it is complete and on disk: see [`AtomicFile`]. That may be
/// one of the segments: while they are open they keep the old file.
///
/// ```
/// use simidx::segments::{MergeOptions, Segments, merge_to_path};
/// use simidx::{BuildOptions, Index, IndexBuilder};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("both.simidx");
/// let segment = |fingerprint| {
///     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
///     builder.push(fingerprint)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(7)?, segment(42)?])?;
/// merge_to_path(&segments, &MergeOptions::default(), &path, |_| ())?;
/// assert_eq!(Index::<u64, _>::open_in_memory(&path)?.fingerprint_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`merge`], [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn merge_to_path<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    segments: &Segments<F, D>,
    options: &MergeOptions<F>,
    path: impl AsRef<Path>,
    progress: impl FnMut(BuildProgress),
) -> Result<Merged<F>> {
    AtomicFile::write_with(path, |file| merge(segments, options, file, progress))
}

/// Whether all segments with records have the same parameters.
fn check_parameters<F: Fingerprint, D: AsRef<[u8]>>(segments: &Segments<F, D>) -> Result<()> {
    let named = segments.names().iter().zip(segments.segments());
    let mut with_records = named.filter(|(_, index)| !index.is_empty());
    if let Some((first_name, first)) = with_records.next() {
        for (name, other) in with_records {
            if let Some(difference) = difference(first, other) {
                return Err(Error::Mismatch {
                    first: first_name.clone(),
                    second: name.clone(),
                    difference,
                });
            }
        }
    }
    let records = segments.record_count();
    if records > MAX_COUNT {
        return Err(Error::LimitReached {
            what: "records",
            limit: MAX_COUNT,
        });
    }
    Ok(())
}

/// What keeps two segments from being merged.
fn difference<F: Fingerprint, D: AsRef<[u8]>>(a: &Index<F, D>, b: &Index<F, D>) -> Option<String> {
    let (a_count, b_count) = (a.table_count(), b.table_count());
    if a_count != b_count {
        return Some(format!(
            "the number of their tables: {a_count} and {b_count}"
        ));
    }
    if !a.prefix_masks().eq(b.prefix_masks()) {
        return Some("the prefixes of their tables".into());
    }
    let (a_size, b_size) = (a.block_size(), b.block_size());
    if a_size != b_size {
        return Some(format!(
            "the size of their blocks: {a_size} and {b_size} bytes"
        ));
    }
    let (a_distance, b_distance) = (a.max_distance(), b.max_distance());
    if a_distance != b_distance {
        return Some(format!("their distance: {a_distance} and {b_distance}"));
    }
    if a.id_kind() != b.id_kind() {
        let (a_kind, b_kind) = (a.id_kind().name(), b.id_kind().name());
        return Some(format!("the kind of their ids: {a_kind} and {b_kind}"));
    }
    (a.pipeline() != b.pipeline()).then(|| "their text pipeline".into())
}

fn check_exclusions<F: Fingerprint, D: AsRef<[u8]>>(
    segments: &Segments<F, D>,
    exclusions: &Exclusions<F>,
) -> Result<()> {
    let kind = segments.id_kind();
    let by_number = !exclusions.numbers.is_empty() && kind != IdKind::Number;
    let by_string = !exclusions.strings.is_empty() && kind != IdKind::String;
    if !by_number && !by_string {
        return Ok(());
    }
    let message = format!(
        "records cannot be left out by such ids: the ids are {}",
        kind.name()
    );
    Err(Error::option("exclusions", message))
}

/// What is known when the records of all segments have been gone through.
struct MergedRecords<F> {
    ids: Option<IdSpool>,
    /// Without ids it still counts what repeated a fingerprint that is left out.
    record_count: u64,
    /// Fingerprints that the records have, where they were gone through.
    fingerprint_count: Option<u64>,
    /// Fingerprints that are left with no record, ascending.
    dropped: Vec<F>,
}

impl<F> MergedRecords<F> {
    /// The number of records to write beside so many fingerprints, as rule V8 wants it whatever was counted.
    fn count(&self, fingerprint_count: u64) -> u64 {
        match fingerprint_count {
            0 => 0,
            least => self.record_count.max(least),
        }
    }
}

struct Merger<'a, F, D> {
    segments: &'a Segments<F, D>,
    options: &'a MergeOptions<F>,
    temp: TempSpace,
    budget: usize,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]> + Sync> Merger<'a, F, D> {
    /// The segment whose parameters the result has.
    fn model(&self) -> &'a Index<F, D> {
        self.segments.typical()
    }

    /// Those that have records, with their numbers.
    fn segments(&self) -> impl Iterator<Item = (usize, &'a Index<F, D>)> + use<'a, F, D> {
        let segments = self.segments.segments().iter().enumerate();
        segments.filter(|(_, index)| !index.is_empty())
    }

    /// Streams through table `t` of each segment.
    fn tables(&self, t: usize) -> Result<Vec<TableStream<'a, F, D>>> {
        let stream = |(number, segment): (usize, &'a Index<F, D>)| {
            Ok(TableStream {
                segments: self.segments,
                number,
                table: t,
                fingerprints: segment.fingerprints(t)?,
                left: segment.fingerprint_count(),
                last: None,
            })
        };
        self.segments().map(stream).collect()
    }

    /// Streams through the records of each segment.
    fn records(&self) -> Result<Vec<RecordStream<'a, F, D>>> {
        let stream = |(number, segment): (usize, &'a Index<F, D>)| {
            Ok(RecordStream {
                segments: self.segments,
                number,
                records: segment.records()?,
                last: None,
            })
        };
        self.segments().map(stream).collect()
    }

    /// Goes through the records of all segments in order and sets their ids aside.
    fn merge_records(&self, reporter: &mut Reporter<'_>) -> Result<MergedRecords<F>> {
        let total = self.segments.record_count();
        let kind = self.model().id_kind();
        if kind == IdKind::None {
            return self.count_records(total);
        }
        reporter.begin(BuildStage::MergeRecords, total);
        let exclusions = &self.options.exclusions;
        let mut pass = IdPass::new(exclusions, IdSpool::new(kind, &self.temp));
        match kind {
            IdKind::Number => self.for_each_round(reporter, |round: &mut Vec<Numbered<F>>| {
                round.iter().try_for_each(|record| {
                    let excluded = exclusions.has_number(record.id);
                    match pass.keep(record.fingerprint, excluded) {
                        Some(is_first) => Ok(pass.ids.push_number(is_first, record.id)?),
                        None => Ok(()),
                    }
                })
            })?,
            _ => self.for_each_round(reporter, |round: &mut NamedRecords<F>| {
                round.for_each(|fingerprint, id| {
                    match pass.keep(fingerprint, exclusions.has_string(id)) {
                        Some(is_first) => Ok(pass.ids.push_string(is_first, id)?),
                        None => Ok(()),
                    }
                })
            })?,
        }
        Ok(pass.finish())
    }

    /// Without ids there is nothing to go through.
    fn count_records(&self, total: u64) -> Result<MergedRecords<F>> {
        let mut held = 0;
        let mut dropped = Vec::new();
        for &fingerprint in &self.options.exclusions.fingerprints {
            let mut is_held = false;
            for (number, segment) in self.segments() {
                let contains = segment.contains(fingerprint);
                if contains.map_err(self.segments.blame(number))? {
                    held += 1;
                    is_held = true;
                }
            }
            if is_held {
                dropped.push(fingerprint);
            }
        }
        F::sort(&mut dropped);
        Ok(MergedRecords {
            ids: None,
            // Segments whose counts are wrong are found out when their tables are read.
            record_count: total.saturating_sub(held),
            fingerprint_count: None,
            dropped,
        })
    }

    fn for_each_round<B>(
        &self,
        reporter: &mut Reporter<'_>,
        mut take: impl FnMut(&mut B) -> Result<()>,
    ) -> Result<()>
    where
        B: RecordBuffer,
        RecordStream<'a, F, D>: Stream<B>,
    {
        let mut merge = Merge::new(self.records()?, self.budget);
        while let Some(round) = merge.next_round()? {
            take(round)?;
            reporter.advance(round.count() as u64);
        }
        Ok(())
    }

    /// Writes all tables and returns the number of fingerprints in each.
    fn merge_tables(
        &self,
        file: &mut Assembler<'_>,
        records: &MergedRecords<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<u64> {
        let counts = self.segments().map(|(_, index)| index.fingerprint_count());
        let most = counts.sum();
        let mut first_count = records.fingerprint_count;
        for (t, mask) in self.model().prefix_masks().enumerate() {
            let permutation = Permutation::new(mask);
            let mut values = MergedTable {
                merger: self,
                table: t,
                dropped: records
                    .dropped
                    .iter()
                    .map(|&f| permutation.apply(f).0)
                    .collect(),
                seen: None,
            };
            F::sort(&mut values.dropped);
            let (codec, expected) = (self.codec(t), first_count.unwrap_or(most));
            let count = file.write_table(mask, codec, &mut values, expected, reporter)?;
            if *first_count.get_or_insert(count) != count {
                let message = "the tables of a segment hold different fingerprints";
                return Err(FormatError::damaged(36, message).in_table(t).into());
            }
        }
        Ok(first_count.unwrap_or(0))
    }

    /// The codec of table `t`; `None` where the data shall choose.
    fn codec(&self, t: usize) -> Option<Codec> {
        match self.options.codec {
            MergeCodec::Given(codec) => return Some(codec),
            MergeCodec::Chosen => return None,
            MergeCodec::AsSegments => {}
        }
        let mut codecs = self.segments().map(|(_, index)| index.codec(t));
        let first = codecs.next()?;
        codecs.all(|codec| codec == first).then_some(first)
    }
}

/// A table of a segment, from its first value to its last.
struct TableStream<'a, F, D> {
    segments: &'a Segments<F, D>,
    number: usize,
    table: usize,
    fingerprints: Fingerprints<'a, F, D>,
    /// Values that must still come.
    left: u64,
    /// The value before them.
    last: Option<F>,
}

impl<F: Fingerprint, D: AsRef<[u8]>> TableStream<'_, F, D> {
    /// Rule V35: what an index says of its size must be true before it counts in another.
    fn check_count(&self, is_right: bool) -> Result<()> {
        if is_right {
            return Ok(());
        }
        let message = "the table does not hold as many values as there are fingerprints";
        Err(self.damaged(35, message))
    }

    /// Rule V24 once more: blocks are checked when they are first used, and a file may be overwritten while it is mapped.
    /// Merging and encoding rely on the order.
    fn check_order(&self, values: &[F]) -> Result<()> {
        let goes_on = self.last < values.first().copied();
        if values.is_empty() || goes_on && values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(self.damaged(24, "the values do not ascend"))
    }

    fn damaged(&self, rule: u8, message: &str) -> Error {
        let error = FormatError::damaged(rule, message).in_table(self.table);
        self.segments.blame(self.number)(error.into())
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Stream<Vec<F>> for TableStream<'_, F, D> {
    fn fill(&mut self, buffer: &mut Vec<F>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            let values = match self.fingerprints.next_chunk() {
                None => {
                    self.check_count(self.left == 0)?;
                    return Ok(false);
                }
                Some(Err(error)) => return Err(self.segments.blame(self.number)(error)),
                Some(Ok(values)) => values,
            };
            let (start, left) = (buffer.len(), self.left.checked_sub(values.len() as u64));
            buffer.extend(values.iter().map(|value| value.0));
            self.check_order(&buffer[start..])?;
            self.check_count(left.is_some())?;
            self.left = left.unwrap_or(0);
            self.last = buffer.last().copied();
        }
        Ok(true)
    }
}

/// The records of a segment in order.
struct RecordStream<'a, F, D> {
    segments: &'a Segments<F, D>,
    number: usize,
    records: Records<'a, F, D>,
    /// The record given last.
    last: Option<(F, Id<'a>)>,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> RecordStream<'a, F, D> {
    fn next(&mut self) -> Result<Option<(F, Id<'a>)>> {
        let record = self.records.next().transpose();
        let record = record.map_err(self.segments.blame(self.number))?;
        self.check_order(record)?;
        self.last = record;
        Ok(record)
    }

    /// Rules V24 and V33, which are not checked each time that records are read: merging relies on the order.
    fn check_order(&self, record: Option<(F, Id<'a>)>) -> Result<()> {
        if record.is_none() || record >= self.last {
            return Ok(());
        }
        let error = match (record, self.last) {
            (Some((now, _)), Some((before, _))) if now == before => {
                FormatError::damaged(33, "the ids of a fingerprint descend")
            }
            _ => FormatError::damaged(24, "the values do not ascend").in_table(0),
        };
        Err(self.segments.blame(self.number)(error.into()))
    }
}

/// Records whose ids are numbers.
impl<F: Fingerprint, D: AsRef<[u8]>> Stream<Vec<Numbered<F>>> for RecordStream<'_, F, D> {
    fn fill(&mut self, buffer: &mut Vec<Numbered<F>>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            match self.next()? {
                Some((fingerprint, Id::Number(id))) => buffer.push(Numbered { fingerprint, id }),
                Some((_, Id::String(_))) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Records whose ids are strings.
impl<F: Fingerprint, D: AsRef<[u8]>> Stream<NamedRecords<F>> for RecordStream<'_, F, D> {
    fn fill(&mut self, buffer: &mut NamedRecords<F>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            match self.next()? {
                Some((fingerprint, Id::String(id))) => buffer.push(fingerprint, id.as_bytes()),
                Some((_, Id::Number(_))) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// The union of a table of all segments, without what is dropped.
struct MergedTable<'m, 'a, F, D> {
    merger: &'m Merger<'a, F, D>,
    table: usize,
    /// Permuted values, ascending.
    dropped: Vec<F>,
    /// What the first pass went through.
    seen: Option<Seen<F>>,
}

/// What tells whether two passes went through the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen<F> {
    count: u64,
    /// Of all values, less what passes the width.
    sum: F,
}

impl<F: Fingerprint> Seen<F> {
    fn add(&mut self, values: &[F]) {
        self.count += values.len() as u64;
        let sum = |sum: F, &value: &F| sum.wrapping_add(value);
        self.sum = values.iter().fold(self.sum, sum);
    }
}

impl<F: Fingerprint, D> MergedTable<'_, '_, F, D> {
    /// The code is chosen by the first pass and has no codeword for what else the second one may hold.
    fn check_pass(&mut self, seen: Seen<F>) -> Result<()> {
        if *self.seen.get_or_insert(seen) == seen {
            return Ok(());
        }
        let message = "the table of a segment changed while it was read";
        Err(FormatError::damaged(36, message)
            .in_table(self.table)
            .into())
    }
}

impl<F: Fingerprint, D: AsRef<[u8]> + Sync> ValueSource<F> for MergedTable<'_, '_, F, D> {
    fn for_each_piece(&mut self, take: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        let streams = self.merger.tables(self.table)?;
        let mut merge = Merge::<Vec<F>, _>::new(streams, self.merger.budget);
        let mut dropped = self.dropped.as_slice();
        let mut last = None;
        let mut seen = Seen {
            count: 0,
            sum: F::ZERO,
        };
        while let Some(round) = merge.next_round()? {
            let end = round.last().copied();
            round.retain(|&value| {
                let passed = dropped.iter().take_while(|d| **d < value).count();
                dropped = &dropped[passed..];
                dropped.first() != Some(&value) && last != Some(value)
            });
            last = end;
            seen.add(round);
            take(round)?;
        }
        self.check_pass(seen)
    }
}

/// Tells which records stay, and which fingerprints are left without any.
struct IdPass<'e, F> {
    exclusions: &'e Exclusions<F>,
    ids: IdSpool,
    open: Option<OpenGroup<F>>,
    dropped: Vec<F>,
}

/// The records of one fingerprint.
struct OpenGroup<F> {
    fingerprint: F,
    is_excluded: bool,
    has_records: bool,
}

impl<'e, F: Fingerprint> IdPass<'e, F> {
    fn new(exclusions: &'e Exclusions<F>, ids: IdSpool) -> Self {
        IdPass {
            exclusions,
            ids,
            open: None,
            dropped: Vec::new(),
        }
    }

    /// Takes the next record: `None` if it is left out, otherwise whether it is the first one of its fingerprint.
    fn keep(&mut self, fingerprint: F, id_is_excluded: bool) -> Option<bool> {
        if self
            .open
            .as_ref()
            .is_none_or(|open| open.fingerprint != fingerprint)
        {
            self.close();
            self.open = Some(OpenGroup {
                fingerprint,
                is_excluded: self.exclusions.has_fingerprint(fingerprint),
                has_records: false,
            });
        }
        let open = self.open.as_mut()?;
        if open.is_excluded || id_is_excluded {
            return None;
        }
        Some(!std::mem::replace(&mut open.has_records, true))
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take().filter(|open| !open.has_records) {
            self.dropped.push(open.fingerprint);
        }
    }

    fn finish(mut self) -> MergedRecords<F> {
        self.close();
        MergedRecords {
            record_count: self.ids.record_count(),
            fingerprint_count: Some(self.ids.fingerprint_count()),
            ids: Some(self.ids),
            dropped: self.dropped,
        }
    }
}
