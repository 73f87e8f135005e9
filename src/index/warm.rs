//! Warming: one parallel pass that loads a file into memory and checks each block and each page of ids, so that no
//! query has to.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Index;
use super::blocks::BlockTable;
use super::ids::IdSections;
use super::paged::Paged;
use super::table::Table;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::PAGE_LEN;
use crate::memory::will_need;
use crate::setters;
use crate::threads::lock;
use crate::watch::{Stage, Watch};

/// Bytes per task of a thread.
const CHUNK_LEN: usize = 1 << 20;

/// Options of warming.
///
/// ```
/// use simidx::index::WarmOptions;
///
/// let options = WarmOptions::default().threads(2);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WarmOptions {
    /// The number of threads, including the calling one. Default 0: as many as the processor runs at a time.
    pub threads: usize,
    /// Called on the calling thread with the number of warmed bytes, about once for each megabyte that this thread has
    /// done, and at the end. It may stop the work; completed checks stay valid. Default none.
    pub watch: Watch,
}

setters!(WarmOptions {
    threads(usize)
    watch(Watch)
});

/// The results of warming.
///
/// ```
/// use simidx::index::WarmOptions;
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # for fingerprint in 0..1000_u64 { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?;
/// let report = index.warm(&WarmOptions::default())?;
/// let blocks: u64 = index.summary().tables.iter().map(|table| table.block_count).sum();
/// assert_eq!(report.block_count, blocks);
/// assert_eq!(report.byte_len, blocks * u64::from(index.block_size()));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarmReport {
    /// Number of valid blocks loaded, in all tables.
    pub block_count: u64,
    /// Number of valid pages of ids loaded.
    pub page_count: u64,
    /// Bytes of these blocks and pages.
    pub byte_len: u64,
    /// The time taken.
    pub elapsed: Duration,
}

impl<F: Fingerprint> Index<F> {
    /// Loads the file into memory and checks each block and each page of ids that has not been checked yet. The first
    /// queries are then as fast as later ones.
    ///
    /// Takes one pass at the speed of the disk, or 100 to 500 MB a second for each thread. Queries may run meanwhile.
    /// Loaded bytes may leave memory again if there is too little; `lock` of an index over a
    /// [`Storage`](super::Storage) keeps them.
    ///
    /// Checks what queries rely on. [`Index::verify`] checks more, for example that all tables hold the same
    /// fingerprints.
    ///
    /// # Errors
    /// The first damaged block or page, in the order of the tables, then of the ids; [`Error::Interrupted`] if the
    /// watch stops the work early.
    pub fn warm(&self, options: &WarmOptions) -> Result<WarmReport> {
        warm_all(&[self], options).map_err(|(_, error)| error)
    }
}

/// Warms several indexes in one pass.
///
/// # Errors
/// The first damage, with the number of its index.
pub(crate) fn warm_all<F: Fingerprint>(
    indexes: &[&Index<F>],
    options: &WarmOptions,
) -> Result<WarmReport, (usize, Error)> {
    Pass::new(indexes).run(options)
}

/// The work: parts of one or several files, divided into chunks that are numbered throughout.
struct Pass<'a, F> {
    parts: Vec<Part<'a, F>>,
    chunk_count: usize,
    total: u64,
}

/// The blocks of a table, or the pages of a section.
struct Part<'a, F> {
    segment: usize,
    file: &'a [u8],
    items: Items<'a, F>,
    first_chunk: usize,
}

enum Items<'a, F> {
    Blocks(&'a BlockTable<F>),
    Pages(&'a Paged),
}

/// The counts of a pass, shared by its threads.
#[derive(Default)]
struct Counts {
    blocks: AtomicU64,
    pages: AtomicU64,
    bytes: AtomicU64,
}

/// Tells the other threads to stop if its thread panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<'a, F: Fingerprint> Pass<'a, F> {
    fn new(indexes: &[&'a Index<F>]) -> Self {
        let mut pass = Pass {
            parts: Vec::new(),
            chunk_count: 0,
            total: 0,
        };
        for (segment, &index) in indexes.iter().enumerate() {
            // Makes the plans of queries up to this distance.
            for distance in 0..=index.max_distance() {
                index.plan(distance);
            }
            let sections = index.ids.iter().flat_map(IdSections::paged_sections);
            let tables = index.tables.iter().flat_map(|table| match table {
                Table::Blocks(table) => vec![Items::Blocks(table)],
                Table::Lines(table) => vec![Items::Pages(&table.row), Items::Pages(&table.lines)],
            });
            for items in tables.chain(sections.map(Items::Pages)) {
                pass.total += items.byte_len(0..items.count());
                let first_chunk = pass.chunk_count;
                pass.chunk_count += items.count().div_ceil(items.per_chunk());
                pass.parts.push(Part {
                    segment,
                    file: index.bytes(),
                    items,
                    first_chunk,
                });
            }
        }
        pass
    }

    /// Warms all parts, or returns the first damage and the number of its segment.
    fn run(&self, options: &WarmOptions) -> Result<WarmReport, (usize, Error)> {
        let started = Instant::now();
        let (counts, next, stop) = (
            Counts::default(),
            AtomicUsize::new(0),
            AtomicBool::new(false),
        );
        // Only this thread reports to the watch, and the others may be done before it begins.
        self.report(&options.watch, &counts)
            .map_err(|error| (0, error))?;
        let damage: Mutex<Option<(usize, FormatError)>> = Mutex::new(None);
        let threads = self.thread_count(options);
        let work = |watch: Option<&Watch>| {
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.chunk_count {
                    break;
                }
                if number < threads {
                    self.ask_for(number);
                }
                self.ask_for(number + threads);
                let (part, items) = self.items(number);
                if let Err(error) = part.warm(items, &counts) {
                    // All earlier chunks have been taken, so the first damage of all is among those found.
                    stop.store(true, Ordering::Relaxed);
                    let mut first = lock(&damage);
                    if first.as_ref().is_none_or(|(other, _)| number < *other) {
                        *first = Some((number, error));
                    }
                }
                if watch.is_some_and(|watch| self.report(watch, &counts).is_err()) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            let _guard = StopOnPanic(&stop);
            for _ in 1..threads {
                // If a thread cannot be started, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, || work(None));
            }
            work(Some(&options.watch));
        });
        let damage = damage.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((chunk, error)) = damage {
            return Err((self.part(chunk).segment, error.into()));
        }
        if counts.bytes.load(Ordering::Relaxed) < self.total {
            return Err((0, Error::Interrupted));
        }
        // It is too late to stop.
        let _ = self.report(&options.watch, &counts);
        Ok(WarmReport {
            block_count: counts.blocks.into_inner(),
            page_count: counts.pages.into_inner(),
            byte_len: counts.bytes.into_inner(),
            elapsed: started.elapsed(),
        })
    }

    fn report(&self, watch: &Watch, counts: &Counts) -> Result<()> {
        let done = counts.bytes.load(Ordering::Relaxed);
        watch.report(Stage::Warm, done, self.total)
    }

    fn thread_count(&self, options: &WarmOptions) -> usize {
        let wanted = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        wanted.min(self.chunk_count).max(1)
    }

    /// Returns the part of a chunk.
    fn part(&self, chunk: usize) -> &Part<'a, F> {
        // The first part begins with chunk 0; of several that begin with the same chunk, only the last has any.
        let after = self.parts.partition_point(|part| part.first_chunk <= chunk);
        &self.parts[after - 1]
    }

    /// Returns the numbers of the blocks or pages of a chunk.
    fn items(&self, chunk: usize) -> (&Part<'a, F>, Range<usize>) {
        let part = self.part(chunk);
        let per_chunk = part.items.per_chunk();
        let start = (chunk - part.first_chunk) * per_chunk;
        (part, start..(start + per_chunk).min(part.items.count()))
    }

    /// Requests the bytes of a chunk, which will be read soon.
    fn ask_for(&self, chunk: usize) {
        if chunk < self.chunk_count {
            let (part, items) = self.items(chunk);
            will_need(part.items.bytes(part.file, items));
        }
    }
}

impl<F: Fingerprint> Part<'_, F> {
    fn warm(&self, items: Range<usize>, counts: &Counts) -> Result<(), FormatError> {
        let count = items.len() as u64;
        let len = self.items.byte_len(items.clone());
        match self.items {
            Items::Blocks(table) => {
                for number in items {
                    // A block that was checked before may have left memory since.
                    touch(&self.file[table.block_offset(number)]);
                    table.block(self.file, number)?;
                }
                counts.blocks.fetch_add(count, Ordering::Relaxed);
            }
            Items::Pages(section) => {
                for page in items {
                    let bytes = section.bytes(self.file, page * PAGE_LEN..(page + 1) * PAGE_LEN)?;
                    // Pages of the section and pages of memory are not aligned with each other.
                    bytes
                        .first()
                        .into_iter()
                        .chain(bytes.last())
                        .for_each(touch);
                }
                counts.pages.fetch_add(count, Ordering::Relaxed);
            }
        }
        counts.bytes.fetch_add(len, Ordering::Relaxed);
        Ok(())
    }
}

/// Reads a byte.
fn touch(byte: &u8) {
    std::hint::black_box(*byte);
}

impl<F: Fingerprint> Items<'_, F> {
    fn count(&self) -> usize {
        match self {
            Items::Blocks(table) => table.block_count(),
            Items::Pages(section) => section.page_count(),
        }
    }

    fn item_len(&self) -> usize {
        match self {
            Items::Blocks(table) => table.block_size,
            Items::Pages(_) => PAGE_LEN,
        }
    }

    /// Returns the number of blocks or pages in a chunk.
    fn per_chunk(&self) -> usize {
        (CHUNK_LEN / self.item_len()).max(1)
    }

    /// Returns the bytes of some blocks or pages.
    fn byte_len(&self, items: Range<usize>) -> u64 {
        match self {
            Items::Blocks(table) => (items.len() * table.block_size) as u64,
            Items::Pages(section) => {
                let end = section.len().min(items.end * PAGE_LEN);
                (end - items.start * PAGE_LEN) as u64
            }
        }
    }

    /// Returns the place in the file of some blocks or pages.
    fn bytes<'f>(&self, file: &'f [u8], items: Range<usize>) -> &'f [u8] {
        let start = match self {
            Items::Blocks(table) => table.block_offset(items.start),
            Items::Pages(section) => section.page_offset(items.start),
        };
        let end = start + self.byte_len(items) as usize;
        file.get(start..end).unwrap_or_default()
    }
}
