//! Warming: one parallel pass that loads a file into memory and checks each block and each page of ids, so that no
//! query has to.

use std::ops::Range;
use std::panic::resume_unwind;
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
    /// Called on the calling thread with the number of warmed bytes, about once for each megabyte of each thread, and at
    /// the end. It may stop the work; completed checks stay valid. Default none.
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

    /// Warms all chunks, or returns the first damage and the number of its segment. In each round each thread warms one.
    fn run(&self, options: &WarmOptions) -> Result<WarmReport, (usize, Error)> {
        let started = Instant::now();
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let mut report = WarmReport {
            block_count: 0,
            page_count: 0,
            byte_len: 0,
            elapsed: Duration::ZERO,
        };
        let ask_for = |round: &[Chunk<'_, F>]| {
            for chunk in round {
                will_need(chunk.bytes());
            }
        };
        let mut rounds = self.chunks.chunks(threads).peekable();
        rounds.peek().copied().into_iter().for_each(ask_for);
        while let Some(round) = rounds.next() {
            let told = options
                .watch
                .report(Stage::Warm, report.byte_len, self.total);
            told.map_err(|error| (0, error))?;
            rounds.peek().copied().into_iter().for_each(ask_for);
            for (chunk, warmed) in round.iter().zip(warm_round(round)) {
                warmed.map_err(|error| (chunk.segment, error.into()))?;
                let count = chunk.numbers.len() as u64;
                match chunk.items {
                    Items::Blocks(_) => report.block_count += count,
                    Items::Pages(_) => report.page_count += count,
                }
                report.byte_len += chunk.place().len() as u64;
            }
        }
        // It is too late to stop.
        let _ = options
            .watch
            .report(Stage::Warm, report.byte_len, self.total);
        report.elapsed = started.elapsed();
        Ok(report)
    }
}

/// Warms each of some chunks on its own thread, the first on this one. These are not threads of a pool, because new ones
/// have the priority of this one.
fn warm_round<F: Fingerprint>(round: &[Chunk<'_, F>]) -> Vec<Result<(), FormatError>> {
    thread::scope(|scope| {
        let (first, others) = round.split_at(1);
        let others: Vec<_> = others
            .iter()
            .map(|chunk| {
                let started = thread::Builder::new().spawn_scoped(scope, || chunk.warm());
                started.map_err(|_| chunk)
            })
            .collect();
        let mut warmed: Vec<_> = first.iter().map(Chunk::warm).collect();
        warmed.extend(others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(chunk) => chunk.warm(),
        }));
        warmed
    })
}

impl<F: Fingerprint> Chunk<'_, F> {
    fn warm(&self) -> Result<(), FormatError> {
        match self.items {
            Items::Blocks(table) => {
                for number in self.numbers.clone() {
                    // A block that was checked before may have left memory since.
                    touch(&self.file[table.block_offset(number)]);
                    table.block(self.file, number)?;
                }
            }
            Items::Pages(section) => {
                for page in self.numbers.clone() {
                    let bytes = section.bytes(self.file, page * PAGE_LEN..(page + 1) * PAGE_LEN)?;
                    // Pages of the section and pages of memory are not aligned with each other.
                    let ends = bytes.first().into_iter().chain(bytes.last());
                    ends.for_each(touch);
                }
            }
        }
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
