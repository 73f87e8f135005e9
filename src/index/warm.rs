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
    /// Loaded bytes may leave memory again if there is too little.
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

/// The work on one or several files.
struct Pass<'a, F> {
    chunks: Vec<Chunk<'a, F>>,
    total: u64,
}

/// About a megabyte of a table or of a section.
struct Chunk<'a, F> {
    segment: usize,
    file: &'a [u8],
    items: Items<'a, F>,
    numbers: Range<usize>,
}

#[derive(Clone, Copy)]
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
            chunks: Vec::new(),
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
                let (count, each) = items.count_and_len();
                let per_chunk = (CHUNK_LEN / each).max(1);
                for start in (0..count).step_by(per_chunk) {
                    let chunk = Chunk {
                        segment,
                        file: index.bytes(),
                        items,
                        numbers: start..(start + per_chunk).min(count),
                    };
                    pass.total += chunk.place().len() as u64;
                    pass.chunks.push(chunk);
                }
            }
        }
        pass
    }

    /// Warms all chunks, or returns the first damage and the number of its segment.
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
        let ask_for = |number: usize| {
            if let Some(chunk) = self.chunks.get(number) {
                will_need(chunk.bytes());
            }
        };
        let work = |watch: Option<&Watch>| {
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = self.chunks.get(number) else {
                    break;
                };
                if number < threads {
                    ask_for(number);
                }
                ask_for(number + threads);
                if let Err(error) = chunk.warm(&counts) {
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
            return Err((self.chunks[chunk].segment, error.into()));
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
        wanted.min(self.chunks.len()).max(1)
    }
}

impl<F: Fingerprint> Chunk<'_, F> {
    fn warm(&self, counts: &Counts) -> Result<(), FormatError> {
        let count = self.numbers.len() as u64;
        match self.items {
            Items::Blocks(table) => {
                for number in self.numbers.clone() {
                    // A block that was checked before may have left memory since.
                    touch(&self.file[table.block_offset(number)]);
                    table.block(self.file, number)?;
                }
                counts.blocks.fetch_add(count, Ordering::Relaxed);
            }
            Items::Pages(section) => {
                for page in self.numbers.clone() {
                    let bytes = section.bytes(self.file, page * PAGE_LEN..(page + 1) * PAGE_LEN)?;
                    // Pages of the section and pages of memory are not aligned with each other.
                    let ends = bytes.first().into_iter().chain(bytes.last());
                    ends.for_each(touch);
                }
                counts.pages.fetch_add(count, Ordering::Relaxed);
            }
        }
        let len = self.place().len() as u64;
        counts.bytes.fetch_add(len, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the place of the chunk in the file.
    fn place(&self) -> Range<usize> {
        let Range { start, end } = self.numbers;
        match self.items {
            Items::Blocks(table) => {
                let place = table.block_offset(start);
                place..place + (end - start) * table.block_size
            }
            Items::Pages(section) => {
                let place = section.page_offset(start);
                place..place + section.len().min(end * PAGE_LEN) - start * PAGE_LEN
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.file.get(self.place()).unwrap_or_default()
    }
}

/// Reads a byte.
fn touch(byte: &u8) {
    std::hint::black_box(*byte);
}

impl<F: Fingerprint> Items<'_, F> {
    /// Returns the number of blocks or pages, and the bytes of each.
    fn count_and_len(self) -> (usize, usize) {
        match self {
            Items::Blocks(table) => (table.block_count(), table.block_size),
            Items::Pages(section) => (section.page_count(), PAGE_LEN),
        }
    }
}
