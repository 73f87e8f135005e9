//! Merges segments into one file: reads their records in order, and writes them as a build does.

mod design;
mod newest;
mod records;
mod streams;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::builder::{Assembler, AtomicFile, FileParameters, with_writer_thread};
use crate::codec::Codec;
use crate::design::TableDesign;
use crate::error::{Error, Result};
use crate::extsort::MemoryLimit;
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_COUNT, Metadata, SketchParameters};
use crate::set::{Exclusions, Set, Typed, at_width};
use crate::setters;
use crate::summary::Summary;
use crate::watch::{Reporter, Watch};
use records::Merger;

/// The default memory of a merge, in bytes.
const DEFAULT_MEMORY: u64 = 256 << 20;

/// The codec of the tables of a merged file.
///
/// ```
/// use simidx::Codec;
/// use simidx::merge::MergeCodec;
///
/// assert_eq!(MergeCodec::from(None), MergeCodec::Chosen);
/// assert_eq!(MergeCodec::from(Some(Codec::Gap)), MergeCodec::Given(Codec::Gap));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MergeCodec {
    /// Chosen by the data, as in a build.
    #[default]
    Chosen,
    /// For each table, the codec of the tables of this number in the segments, if all have one and agree; otherwise
    /// chosen by the data.
    Same,
    /// This codec.
    Given(Codec),
}

impl From<Option<Codec>> for MergeCodec {
    /// Converts the option [`BuildOptions::codec`](crate::BuildOptions::codec).
    fn from(codec: Option<Codec>) -> Self {
        codec.map_or(MergeCodec::Chosen, MergeCodec::Given)
    }
}

impl MergeCodec {
    /// Returns the codec of all tables, if it is known beforehand.
    fn given(self) -> Option<Codec> {
        match self {
            MergeCodec::Given(codec) => Some(codec),
            MergeCodec::Chosen | MergeCodec::Same => None,
        }
    }
}

/// Options of a merge. Start from [`MergeOptions::default`] and set what differs.
///
/// ```
/// use simidx::merge::{MergeCodec, MergeOptions};
///
/// let mut options = MergeOptions::default().codec(MergeCodec::Same).memory(1 << 30);
/// options.exclusions.add_fingerprint(0xdead_beef_u64);
/// options.segment_exclusions.entry(0).or_default().add_string("of the first segment only")?;
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeOptions {
    /// The codec of the tables.
    pub codec: MergeCodec,
    /// The tables; by default those of the segment with the most fingerprints, of equals the first.
    pub design: Option<TableDesign>,
    /// The distance of the tables. If given without a design, the tables are chosen for it by the number of
    /// fingerprints of the result, as in a build.
    pub max_distance: Option<u32>,
    /// Bytes of a block, see [`BuildOptions::block_size`](crate::BuildOptions::block_size); by default that of the
    /// segment with the most fingerprints.
    pub block_size: Option<u32>,
    /// Records to exclude from all segments.
    pub exclusions: Exclusions,
    /// Records to exclude from single segments, by the numbers of the segments.
    pub segment_exclusions: BTreeMap<usize, Exclusions>,
    /// Whether to drop records whose id a later segment has, so that a segment with new versions of records replaces
    /// the old ones. Exclusions apply in addition: excluding a new version does not restore the old one. Default false.
    pub newest_wins: bool,
    /// The most bytes of memory, in addition to the segments themselves and the blocks decoded at a time, see
    /// [`Set::merge`]; at least 64 MiB, 256 MiB by default. The bytes of the result do
    /// not depend on it.
    pub memory: u64,
    /// The folder for temporary files, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir). They take about
    /// the size of the ids and sketches of the result, and twice the size of its fingerprints if these do not fit in
    /// memory.
    pub temp_dir: Option<PathBuf>,
    /// Called with the progress of the merge, which it may stop. Default none.
    pub watch: Watch,
}

setters!(MergeOptions {
    codec(MergeCodec)
    design(Some(TableDesign))
    max_distance(Some(u32))
    block_size(Some(u32))
    exclusions(Exclusions)
    segment_exclusions(BTreeMap<usize, Exclusions>)
    newest_wins(bool)
    memory(u64)
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions {
            codec: MergeCodec::default(),
            design: None,
            max_distance: None,
            block_size: None,
            exclusions: Exclusions::default(),
            segment_exclusions: BTreeMap::new(),
            newest_wins: false,
            memory: DEFAULT_MEMORY,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

/// The result of a merge.
///
/// ```
/// use simidx::merge::MergeOptions;
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let mut options = MergeOptions::default();
/// options.exclusions.add_fingerprint(0xff01_u64);
/// let merged = segments.merge(&options, std::io::sink())?;
/// assert_eq!((merged.summary.fingerprint_count, merged.dropped_fingerprint_count), (2, 1));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Merged {
    /// Parameters and sizes of the file.
    pub summary: Summary,
    /// The metadata of the file: the entries that all segments share.
    pub metadata: Metadata,
    /// The parameters of the sketches of the file: those of the segments, if all segments with records agree; otherwise
    /// none.
    pub sketches: Option<SketchParameters>,
    /// Number of dropped records. Without ids, each dropped fingerprint counts once for each segment that held it; if
    /// no fingerprint is left, all records count.
    pub dropped_record_count: u64,
    /// Number of distinct fingerprints dropped with them.
    pub dropped_fingerprint_count: u64,
    /// Number of dropped records whose id a later segment has, see [`MergeOptions::newest_wins`].
    pub replaced_record_count: u64,
    /// Exclusions for all segments that no segment has.
    pub unmatched: Unmatched,
    /// Exclusions for single segments that these do not have, by the numbers of the segments.
    pub unmatched_of_segments: BTreeMap<usize, Unmatched>,
}

/// The number of exclusions without a match.
///
/// ```
/// use simidx::merge::MergeOptions;
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let set = Set::from_bytes(file)?;
/// let mut options = MergeOptions::default();
/// options.exclusions.add_fingerprint(0xff01_u64);
/// options.exclusions.add_fingerprint(0xff77_u64);
/// let merged = set.merge(&options, std::io::sink())?;
/// assert_eq!(merged.unmatched.fingerprint_count, 1); // 0xff77
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Unmatched {
    /// Ids that no record has.
    pub id_count: u64,
    /// Fingerprints that no record has.
    pub fingerprint_count: u64,
}

impl Set {
    /// Writes one index with the records of all segments to `out`, from its own thread, and flushes it. The result is byte
    /// for byte that of a build with its parameters from all records: by default the tables, the distance and the block
    /// size of the largest segment. The segments may differ in these.
    ///
    /// Cost: the records are read once, 70 to 120 ns a record. Each table but the first is sorted again, as in a build, on
    /// all threads, about 100 ns a value including its encoding. A string id takes about a microsecond. Memory does not
    /// grow with the records, except for a bit a record if some are excluded by id. It grows with the number of segments:
    /// 16 blocks of each are decoded at a time, which is 15 KiB a segment for blocks of 512 bytes and fingerprints of 64
    /// bits, and at most 8 MiB for the largest blocks.
    ///
    /// Without ids, `record_count` is approximate: the sum over the segments, less one for each excluded fingerprint of a
    /// segment, since repetitions are not recorded. It is 0 if no fingerprint is left.
    ///
    /// ```
    /// use simidx::merge::MergeOptions;
    /// use simidx::Set;
    /// use simidx::{BuildOptions, Index, IndexBuilder, Width};
    ///
    /// let mut segments = Vec::new();
    /// for fingerprints in [[7_u64, 42], [42, 1 << 60]] {
    ///     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    ///     builder.extend_from_slice(&fingerprints)?;
    ///     let mut file = Vec::new();
    ///     builder.finish(&mut file)?;
    ///     segments.push(Index::<u64>::from_bytes(file)?);
    /// }
    /// let mut file = Vec::new();
    /// let merged = Set::new(segments)?.merge(&MergeOptions::default(), &mut file)?;
    /// assert_eq!((merged.summary.record_count, merged.summary.fingerprint_count), (4, 3));
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment ([`Error::Segment`] names it), options out of their range, exclusions by ids of another kind than
    /// the segments have, exclusions for a segment that does not exist, too little memory, and any error of `out` or of a
    /// temporary file; [`Error::Interrupted`] if the watch of the options stops the merge.
    pub fn merge<W: Write + Send>(&self, options: &MergeOptions, mut out: W) -> Result<Merged> {
        merge_any(self, options, &mut out)
    }
}

fn merge_any(set: &Set, options: &MergeOptions, out: &mut (dyn Write + Send)) -> Result<Merged> {
    at_width!(set, set => merge_typed(set, options, out))
}

fn merge_typed<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &MergeOptions,
    out: &mut (dyn Write + Send),
) -> Result<Merged> {
    check(segments, options)?;
    let limit = MemoryLimit::new(Some(options.memory))?;
    let space = limit.value_space(options.temp_dir.clone());
    let merger = Merger {
        segments,
        options,
        temp: space.temp.clone(),
        budget: limit.budget(),
    };
    let mut reporter = Reporter::new(options.watch.clone());
    with_writer_thread(out, |sink| {
        let sketches = merger.sketches()?;
        let records = merger.merge_records(sketches.as_ref(), &space, &mut reporter)?;
        let record_count = records.record_count;
        let design = merger.design(records.separated.fingerprint_count())?;
        let file = Assembler::new::<F>(sink, design.block_size, space, limit)?;
        let (model, metadata) = (merger.model(), merger.metadata());
        let parameters = FileParameters {
            max_distance: design.max_distance,
            block_size: design.block_size,
            id_kind: model.id_kind(),
            record_count,
            pipeline: model.pipeline(),
            metadata: &metadata,
        };
        let codec = |t| merger.codec(t);
        let summary = file.write(
            records.separated,
            &design.masks,
            &codec,
            &parameters,
            &mut reporter,
        )?;
        let numbers = options.segment_exclusions.keys().copied();
        Ok(Merged {
            summary,
            dropped_record_count: segments.record_count().saturating_sub(record_count),
            dropped_fingerprint_count: records.dropped_fingerprint_count,
            metadata,
            sketches,
            replaced_record_count: records.replaced_record_count,
            unmatched: records.unmatched,
            unmatched_of_segments: numbers.zip(records.unmatched_of_segments).collect(),
        })
    })
}

impl Set {
    /// [`Set::merge`] into a file, which replaces any file of its name once it is complete and on disk: see [`AtomicFile`]. That
    /// may be one of the segments, which keep the old file while they are open.
    ///
    /// ```
    /// use simidx::merge::MergeOptions;
    /// use simidx::Set;
    /// use simidx::{BuildOptions, Index, IndexBuilder, Width};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("both.simidx");
    /// let segment = |fingerprint: u64| {
    ///     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    ///     builder.push(fingerprint)?;
    ///     let mut file = Vec::new();
    ///     builder.finish(&mut file)?;
    ///     Index::<u64>::from_bytes(file)
    /// };
    /// let set = Set::new([segment(7)?, segment(42)?])?;
    /// set.merge_to_path(&MergeOptions::default(), &path)?;
    /// assert_eq!(Index::<u64>::open_in_memory(&path)?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Set::merge`], [`AtomicFile::create`] and [`AtomicFile::commit`].
    pub fn merge_to_path(&self, options: &MergeOptions, path: impl AsRef<Path>) -> Result<Merged> {
        AtomicFile::write_with(path, |file| self.merge(options, file))
    }
}

/// Checks that the segments can be merged with these options.
fn check<F: Fingerprint>(segments: Typed<'_, F>, options: &MergeOptions) -> Result<()> {
    if segments.record_count() > MAX_COUNT {
        return Err(Error::LimitReached {
            what: "records",
            limit: MAX_COUNT,
        });
    }
    options.check_design(segments.width())?;
    let kind = segments.id_kind();
    options.exclusions.check(&segments)?;
    for (&number, exclusions) in &options.segment_exclusions {
        if segments.segment(number).is_none() {
            let message = format!("there is no segment {number} to leave records out of");
            return Err(Error::option("segment_exclusions", message));
        }
        exclusions.check(&segments)?;
    }
    if options.newest_wins && kind == IdKind::None && !segments.is_empty() {
        let message = "which record is the newest is known by ids, and the segments have none";
        return Err(Error::option("newest_wins", message));
    }
    Ok(())
}
