//! Merges segments into one file: streams through their sorted tables and sorts nothing again.

mod excluded_ids;
mod exclusions;
mod passes;
mod streams;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::build::{
    Assembler, AtomicFile, BuildProgress, FileParameters, Reporter, with_writer_thread,
};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::extsort::MemoryLimit;
use crate::fingerprint::Fingerprint;
use crate::format::{MAX_COUNT, Metadata};
use crate::index::Index;
use crate::segments::{AsSegments, SegmentsView};
use crate::summary::Summary;
pub use exclusions::Exclusions;
use passes::Merger;

/// Bytes of memory that a merge takes by default.
const DEFAULT_MEMORY: u64 = 256 << 20;

/// Which codec the tables of a merged file have.
///
/// ```
/// use simidx::Codec;
/// use simidx::segments::MergeCodec;
///
/// assert_eq!(MergeCodec::from(None), MergeCodec::Chosen);
/// assert_eq!(MergeCodec::from(Some(Codec::Gap)), MergeCodec::Given(Codec::Gap));
/// ```
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

impl From<Option<Codec>> for MergeCodec {
    /// The choice that [`BuildOptions::codec`](crate::BuildOptions::codec) describes in the same way.
    fn from(codec: Option<Codec>) -> Self {
        codec.map_or(MergeCodec::Chosen, MergeCodec::Given)
    }
}

/// How segments are merged. Start from [`MergeOptions::default`] and set what differs.
///
/// ```
/// use simidx::segments::{MergeCodec, MergeOptions};
///
/// let mut options = MergeOptions::<u64>::default();
/// options.codec = MergeCodec::AsSegments;
/// options.exclusions.add_fingerprint(0xdead_beef);
/// options.memory = 1 << 30;
/// ```
#[derive(Debug)]
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

/// The result of a merge.
///
/// ```
/// use simidx::segments::{MergeOptions, Segments, merge};
///
/// # use simidx::{Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(Default::default())?;
/// # builder.extend([0xff00, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Segments::new(vec![Index::<u64, _>::from_bytes(file)?])?;
/// let mut options = MergeOptions::default();
/// options.exclusions.add_fingerprint(0xff01);
/// let merged = merge(&segments, &options, std::io::sink(), |_| ())?;
/// assert_eq!((merged.summary.fingerprint_count, merged.dropped_fingerprint_count), (2, 1));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Merged<F> {
    /// Parameters and sizes of the file.
    pub summary: Summary<F>,
    /// The metadata of the file: what all segments say.
    pub metadata: Metadata,
    /// Records that were left out. Without ids, each fingerprint left out counts once for each segment that held it; where no
    /// fingerprint is left, all records do.
    pub dropped_record_count: u64,
    /// Distinct fingerprints that were left out with them.
    pub dropped_fingerprint_count: u64,
    /// Ids among the exclusions that no record has.
    pub unmatched_id_count: u64,
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
/// ```
/// use simidx::segments::{MergeOptions, Segments, merge};
/// use simidx::{BuildOptions, Index, IndexBuilder};
///
/// let mut segments = Vec::new();
/// for fingerprints in [[7, 42], [42, 1 << 60]] {
///     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
///     builder.extend(fingerprints)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     segments.push(Index::<u64, _>::from_bytes(file)?);
/// }
/// let mut file = Vec::new();
/// let merged = merge(&Segments::new(segments)?, &MergeOptions::default(), &mut file, |_| ())?;
/// assert_eq!((merged.summary.record_count, merged.summary.fingerprint_count), (4, 3));
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// Segments that differ in a parameter, a damaged segment ([`Error::Segment`] names it), exclusions by ids of a kind that
/// the segments do not have, too little memory, and what `out` or a temporary file reports.
pub fn merge<F: Fingerprint, D: AsRef<[u8]> + Send + Sync, W: Write + Send>(
    segments: &(impl AsSegments<F, D> + ?Sized),
    options: &MergeOptions<F>,
    out: W,
    mut progress: impl FnMut(BuildProgress),
) -> Result<Merged<F>> {
    merge_view(segments.as_segments()?, options, out, &mut progress)
}

fn merge_view<F: Fingerprint, D: AsRef<[u8]> + Send + Sync, W: Write + Send>(
    segments: SegmentsView<'_, F, D>,
    options: &MergeOptions<F>,
    out: W,
    progress: &mut dyn FnMut(BuildProgress),
) -> Result<Merged<F>> {
    check_parameters(segments)?;
    options.exclusions.check(segments.id_kind())?;
    let limit = MemoryLimit::new(Some(options.memory))?;
    let merger = Merger {
        segments,
        options,
        temp: limit.temp(options.temp_dir.clone()),
        budget: limit.budget(),
    };
    let mut reporter = Reporter::new(progress);
    with_writer_thread(out, |sink| {
        let records = merger.merge_records(&mut reporter)?;
        let model = merger.model()?;
        let temp = merger.temp.clone();
        let mut file = Assembler::new::<F>(sink, model.block_size(), temp, limit)?;
        let fingerprint_count = merger.merge_tables(&mut file, &records, &mut reporter)?;
        let record_count = records.count(fingerprint_count);
        let metadata = merger.metadata();
        let parameters = FileParameters {
            max_distance: model.max_distance(),
            block_size: model.block_size(),
            id_kind: model.id_kind(),
            record_count,
            pipeline: model.pipeline(),
            metadata: &metadata,
        };
        Ok(Merged {
            summary: file.finish(&parameters, records.ids, &mut reporter)?,
            dropped_record_count: segments.record_count().saturating_sub(record_count),
            dropped_fingerprint_count: records.dropped.len() as u64,
            metadata,
            unmatched_id_count: records.unmatched_id_count,
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
///     Index::<u64, _>::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(7)?, segment(42)?])?;
/// merge_to_path(&segments, &MergeOptions::default(), &path, |_| ())?;
/// assert_eq!(Index::<u64, _>::open_in_memory(&path)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`merge`], [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn merge_to_path<F: Fingerprint, D: AsRef<[u8]> + Send + Sync>(
    segments: &(impl AsSegments<F, D> + ?Sized),
    options: &MergeOptions<F>,
    path: impl AsRef<Path>,
    progress: impl FnMut(BuildProgress),
) -> Result<Merged<F>> {
    AtomicFile::write_with(path, |file| merge(segments, options, file, progress))
}

/// Whether all segments with records have the same parameters.
fn check_parameters<F: Fingerprint, D: AsRef<[u8]>>(
    segments: SegmentsView<'_, F, D>,
) -> Result<()> {
    let numbered = segments.indexes().enumerate();
    let mut with_records = numbered.filter(|(_, index)| !index.is_empty());
    if let Some((first_number, first)) = with_records.next() {
        for (number, other) in with_records {
            if let Some(difference) = difference(first, other) {
                return Err(Error::Mismatch {
                    first: segments.name(first_number).into_owned(),
                    second: segments.name(number).into_owned(),
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
