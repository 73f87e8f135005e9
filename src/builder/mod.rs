//! The builder: turns records in any order into an index file, within a memory limit.

mod assemble;
mod engine;
mod ids;
mod lines;
mod publish;
mod record_sorter;
mod sections;
mod sink;
mod sketches;
mod table_writer;

pub use crate::error::{BuildError, OptionsError};
// For the program and the tests: no interface to rely on.
#[doc(hidden)]
pub use crate::extsort::MIN_MEMORY;
pub use publish::AtomicFile;

use std::io::Write;
use std::path::PathBuf;

use crate::codec::{Codec, check_block_size};
use crate::design::{TableDesign, check_distance};
use crate::error::{Error, Result};
use crate::extsort::MemoryLimit;
use crate::fingerprint::{ByWidth, Column, Fingerprint, Width, by_width, for_width, taken};
use crate::format::{IdKind, MAX_COUNT, MAX_PIPELINE_LEN, Metadata, SketchParameters};
use crate::id::Id;
use crate::setters;
use crate::summary::Summary;
use crate::watch::Watch;
pub(crate) use assemble::{Assembler, FileParameters};
use engine::Collecting;
pub(crate) use record_sorter::{Separated, Separator};
pub(crate) use sink::with_writer_thread;

/// The options of a build. Start from [`BuildOptions::default`] and set what differs.
///
/// ```
/// use simidx::{BuildOptions, Codec, IdKind};
///
/// let options = BuildOptions::default()
///     .ids(IdKind::String)
///     .codec(Codec::Gap)
///     .memory(1 << 30);
/// options.check()?;
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildOptions {
    /// The distance that the tables are chosen for: 0 to 12, or more with your own design. Queries may use any
    /// distance. Default 3.
    pub max_distance: u32,
    /// The tables; by default those that [`PlanRequest::choose`](crate::design::PlanRequest::choose) selects for the
    /// number of fingerprints. The distance of a design must be `max_distance`.
    pub design: Option<TableDesign>,
    /// Bytes of a block, a power of two from 128 to 8,192. Default 512, with which the part of an Elias-Fano block that
    /// every probe reads fits one cache line.
    pub block_size: u32,
    /// The codec of the tables. By default it is chosen for each table by its data: lines, unless Elias-Fano makes the
    /// table smaller by 7 %, or a Huffman code by a tenth against Elias-Fano.
    pub codec: Option<Codec>,
    /// The kind of the ids. Default none.
    pub ids: IdKind,
    /// The text pipeline that produced the fingerprints, stored in the file; at most 65,536 bytes.
    pub pipeline: Option<String>,
    /// Whether the file stores the order of its ids, with which [`Index::rank_of_id`](crate::Index::rank_of_id) finds
    /// an id in a few microseconds. It costs log2 of the number of records in bits for each record: 20 bits at a
    /// million, 30 at a thousand million. Without it, a look-up reads an array of this size (strings) or all ids
    /// (numbers). Default false.
    pub id_lookup: bool,
    /// User-defined keys and values, stored in the file. Default none.
    pub metadata: Metadata,
    /// The parameters of the sketches, which [`IndexBuilder::push_with_sketch`] adds: one for each record, or, in an
    /// index without ids, one for each distinct fingerprint. Default none.
    pub sketches: Option<SketchParameters>,
    /// The most bytes of memory, at least 64 MiB. Records beyond it go to temporary files, sorted on the
    /// global thread pool while more records are added. The limit does not change the bytes of the index. Unlimited by
    /// default.
    pub memory: Option<u64>,
    /// The folder for temporary files, by default that of the system. The files have no names and disappear with the
    /// process, however it ends. They take at most about twice the size of the records, plus the size of the ids.
    pub temp_dir: Option<PathBuf>,
    /// Called with the progress of [`IndexBuilder::finish`], which it may stop. Default none.
    pub watch: Watch,
}

setters!(BuildOptions {
    max_distance(u32)
    design(Some(TableDesign))
    block_size(u32)
    codec(Some(Codec))
    ids(IdKind)
    pipeline(Some(impl Into<String>))
    id_lookup(bool)
    metadata(Metadata)
    sketches(Some(SketchParameters))
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions {
            max_distance: 3,
            design: None,
            block_size: 512,
            codec: None,
            ids: IdKind::None,
            pipeline: None,
            id_lookup: false,
            metadata: Metadata::default(),
            sketches: None,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

impl BuildOptions {
    /// Checks these options: [`IndexBuilder::new`] accepts them if they pass, unless they have a design of another
    /// width.
    ///
    /// ```
    /// use simidx::BuildOptions;
    ///
    /// let mut options = BuildOptions::default();
    /// assert!(options.check().is_ok());
    /// options.block_size = 500; // not a power of two
    /// assert!(options.check().is_err());
    /// ```
    ///
    /// # Errors
    /// An option out of its range, a design for another distance, or a memory limit that is too small.
    pub fn check(&self) -> Result<()> {
        self.memory_limit().map(drop)
    }

    /// Checks all options and returns the memory limit.
    fn memory_limit(&self) -> Result<MemoryLimit> {
        check_options(self)?;
        MemoryLimit::new(self.memory)
    }
}

/// Collects records and writes them as an index.
///
/// Without a memory limit, all records are held until [`IndexBuilder::finish`]. A record takes f / 8 bytes; a number id
/// adds 8, a string id 16 and its length, a sketch 24 and its length; each distinct fingerprint adds f / 8. With a
/// limit ([`BuildOptions::memory`]), records beyond it are sorted, written to a temporary file and merged at the end.
/// The same records in any order give the same bytes, with any amount of memory and any number of threads.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// for fingerprint in [7_u64, 42, 42, 1 << 60] {
///     builder.push(fingerprint)?;
/// }
/// let mut file = Vec::new();
/// let summary = builder.finish(&mut file)?;
/// assert_eq!((summary.record_count, summary.fingerprint_count), (4, 3));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct IndexBuilder {
    collecting: OfWidth,
    record_count: u64,
}

/// The build, by width.
type OfWidth = ByWidth<Box<Collecting<u32>>, Box<Collecting<u64>>, Box<Collecting<u128>>>;

impl IndexBuilder {
    /// Creates a builder for fingerprints of a width.
    ///
    /// # Errors
    /// An option out of its range, or a design for another distance or width.
    pub fn new(width: Width, options: BuildOptions) -> Result<Self> {
        let collecting = for_width!(width, Box::new(Collecting::new(options)?));
        Ok(IndexBuilder {
            collecting,
            record_count: 0,
        })
    }

    /// Adds a record without an id.
    ///
    /// # Errors
    /// A value that does not fit the width, an index with ids, more than 2^48 records, or a temporary file that cannot
    /// be written.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_record(fingerprint.to_u128(), None, None)
    }

    /// Adds records without ids from a column, without copying it.
    ///
    /// ```
    /// use simidx::{BuildOptions, IndexBuilder, Width};
    ///
    /// let mut builder = IndexBuilder::new(Width::W32, BuildOptions::default())?;
    /// builder.extend_from_slice(&[7_u32, 42])?;
    /// assert!(builder.extend_from_slice(&[7_u64, 42]).is_err()); // another width
    /// assert_eq!(builder.record_count(), 2);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A column of another width, and the errors of [`IndexBuilder::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend_column(fingerprints.into())
    }

    fn extend_column(&mut self, fingerprints: Column<'_>) -> Result<()> {
        let count = fingerprints.len() as u64;
        self.check_room(count)?;
        let added = by_width!(ByWidth, &mut self.collecting, collecting => {
            fingerprints.values().and_then(|values| collecting.extend(values))
        });
        self.counted(count, added)
    }

    /// Adds a record with an id: a number, or a string of 1 to 65,535 bytes. A string may contain any characters: the
    /// program escapes those that would break a line of its output, and unescapes its input.
    ///
    /// ```
    /// use simidx::{BuildOptions, IdKind, IndexBuilder, Width};
    ///
    /// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default().ids(IdKind::String))?;
    /// builder.push_with_id(42_u64, "https://example.org/")?;
    /// assert!(builder.push_with_id(42_u64, 7_u64).is_err()); // a number
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// The index has no ids of this kind, the string is empty or too long, and the errors of [`IndexBuilder::push`].
    #[inline]
    pub fn push_with_id<'i>(
        &mut self,
        fingerprint: impl Fingerprint,
        id: impl Into<Id<'i>>,
    ) -> Result<()> {
        self.push_record(fingerprint.to_u128(), Some(id.into()), None)
    }

    /// Adds a record with its sketch, and with an id if the index has ids. The sketch must have
    /// [`SketchParameters::u64_count`] numbers. In an index without ids, each fingerprint keeps the sketch whose bytes
    /// are smallest.
    ///
    /// ```
    /// use simidx::format::SketchParameters;
    /// use simidx::{BuildOptions, IndexBuilder, Width};
    ///
    /// let mut options = BuildOptions::default();
    /// options.sketches = Some(SketchParameters::new(64, "words:3 html:no")?);
    /// let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// builder.push_with_sketch(42_u64, None, &[0x1234_5678])?;
    /// assert!(builder.push(42_u64).is_err()); // it has no sketch
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// The index has no sketches, or sketches of another length, and the errors of [`IndexBuilder::push_with_id`].
    pub fn push_with_sketch(
        &mut self,
        fingerprint: impl Fingerprint,
        id: Option<Id<'_>>,
        sketch: &[u64],
    ) -> Result<()> {
        self.push_record(fingerprint.to_u128(), id, Some(sketch))
    }

    fn push_record(
        &mut self,
        value: u128,
        id: Option<Id<'_>>,
        sketch: Option<&[u64]>,
    ) -> Result<()> {
        self.check_room(1)?;
        let added = by_width!(ByWidth, &mut self.collecting, collecting => {
            taken(value).and_then(|fingerprint| collecting.push(fingerprint, id, sketch))
        });
        self.counted(1, added)
    }

    /// Returns the number of records so far.
    pub fn record_count(&self) -> u64 {
        self.record_count
    }

    /// Sorts the records, writes the index to `out` from its own thread in large pieces, and flushes it. `out` need not
    /// seek. Never overwrite an index that is in use: write a file next to it and rename that, see `Storage::map`.
    ///
    /// # Errors
    /// Any error of `out` or of a temporary file, including earlier ones, and [`Error::Interrupted`] if the watch of
    /// the options stops the build. The bytes written so far are then not an index.
    pub fn finish<W: Write + Send>(self, mut out: W) -> Result<Summary> {
        self.finish_as_one(&mut out)
    }

    /// [`IndexBuilder::finish`], compiled once for all writers.
    fn finish_as_one(self, out: &mut (dyn Write + Send)) -> Result<Summary> {
        let count = self.record_count;
        by_width!(ByWidth, self.collecting, collecting => collecting.finish(count, out))
    }

    /// Checks that the index can hold `count` more records.
    fn check_room(&self, count: u64) -> Result<()> {
        if self.record_count + count > MAX_COUNT {
            return Err(Error::LimitReached {
                what: "records",
                limit: MAX_COUNT,
            });
        }
        Ok(())
    }

    /// Counts `count` records if they were added.
    fn counted(&mut self, count: u64, added: Result<()>) -> Result<()> {
        added?;
        self.record_count += count;
        Ok(())
    }
}

fn check_options(options: &BuildOptions) -> Result<(), OptionsError> {
    check_block_size(options.block_size)?;
    match &options.design {
        Some(design) if design.max_distance() != options.max_distance => {
            return Err(OptionsError::new(
                "design",
                format!(
                    "the table design is for distance {}, not {}",
                    design.max_distance(),
                    options.max_distance
                ),
            ));
        }
        Some(_) => {}
        None => check_distance(options.max_distance)?,
    }
    let pipeline_len = options.pipeline.as_ref().map_or(1, String::len);
    if !(1..=MAX_PIPELINE_LEN).contains(&pipeline_len) {
        return Err(OptionsError::new(
            "pipeline",
            format!("a pipeline description has 1 to {MAX_PIPELINE_LEN} bytes, not {pipeline_len}"),
        ));
    }
    Ok(())
}
