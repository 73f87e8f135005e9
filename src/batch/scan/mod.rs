//! Many queries in one go: which way they are answered, and their answers in the order of the queries.
//!
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 4: the batch of queries is
//! indexed, and the fingerprints stream by.

mod hits;
mod probe;
mod queries;
mod query_tables;
mod shard;
mod stream;

pub use shard::Shard;

use std::path::PathBuf;

use crate::error::Result;
use crate::extsort::MemoryLimit;
use crate::fingerprint::Fingerprint;
use crate::index::{Match, QueryStats, Segments};
use hits::HitSorter;
use queries::Queries;
use query_tables::QueryTables;

/// Nanoseconds to decode a fingerprint of table 0.
const DECODE_NS: f64 = 3.0;

/// Which side of a batch is gone through in order: every strategy gives the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScanStrategy {
    /// Whichever an estimate holds to be cheaper.
    #[default]
    Auto,
    /// Tables of the queries are made in memory, and all fingerprints stream by.
    Stream,
    /// Each query is looked up in the tables of the index, near ones together.
    Probe,
}

/// How a batch is answered. Start from [`ScanOptions::default`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The largest distance of a match, in bits; any is exact. Default 3.
    pub distance: u32,
    /// Which way the answers are found.
    pub strategy: ScanStrategy,
    /// The part of the fingerprints that is looked at; by default all.
    pub shard: Shard,
    /// Bytes of memory for matches, at least [`MIN_MEMORY`](crate::build::MIN_MEMORY): what does not fit goes to temporary files.
    /// The queries and their tables, about 80 bytes a query, come on top. By default there is no limit.
    pub memory: Option<u64>,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        ScanOptions {
            distance: 3,
            strategy: ScanStrategy::Auto,
            shard: Shard::default(),
            memory: None,
            temp_dir: None,
        }
    }
}

/// What a batch has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanReport {
    /// How it was answered: stream or probe.
    pub strategy: ScanStrategy,
    /// Look-ups, blocks read and comparisons. Of a stream: look-ups in the tables of the queries, one for each fingerprint
    /// and table.
    pub stats: QueryStats,
}

/// Answers many queries: calls `visit` with the number of a query in `queries` and a match of it, by query, then by
/// distance, then by value; each match once, whatever the number of segments that hold it. These are the matches of
/// [`Segments::query`] of each query that lie in the shard.
///
/// Works on all threads of the current pool, calls `visit` on this one. A million queries on ten million fingerprints take
/// two to three seconds on one thread.
///
/// # Errors
/// A damaged segment, a memory limit that cannot be kept, what temporary files or `visit` report.
pub fn scan<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    segments: &Segments<F, D>,
    queries: &[F],
    options: &ScanOptions,
    visit: impl FnMut(usize, Match<F>) -> Result<()>,
) -> Result<ScanReport> {
    let limit = MemoryLimit::new(options.memory)?;
    let temp = limit.temp(options.temp_dir.clone());
    let queries = Queries::new(queries);
    let mut hits = HitSorter::new(temp, limit.budget());
    let batch = Batch {
        segments,
        queries: &queries,
        distance: options.distance.min(F::WIDTH),
        shard: &options.shard,
    };
    let plan = QueryTables::plan(queries.distinct(), batch.distance);
    let strategy = match options.strategy {
        ScanStrategy::Auto => batch.cheaper(plan.ns),
        given => given,
    };
    let stats = match strategy {
        ScanStrategy::Probe => probe::run(&batch, &mut hits)?,
        _ => stream::run(&batch, plan, &mut hits)?,
    };
    hits.for_each(visit)?;
    Ok(ScanReport { strategy, stats })
}

/// What both strategies are given.
struct Batch<'a, F, D> {
    segments: &'a Segments<F, D>,
    queries: &'a Queries<F>,
    distance: u32,
    shard: &'a Shard,
}

impl<F: Fingerprint, D: AsRef<[u8]> + Sync> Batch<'_, F, D> {
    /// The strategy of which less is expected, where a fingerprint that streams by costs so much beside its decoding.
    fn cheaper(&self, look_up_ns: f64) -> ScanStrategy {
        let segments = self.segments.segments().iter();
        let counts = segments.clone().map(|s| s.fingerprint_count() as f64);
        let streamed = counts.sum::<f64>() / f64::from(self.shard.count());
        let probe_ns: f64 = segments.map(|s| s.plan(self.distance).ns()).sum();
        let probes = self.queries.distinct().len() as f64 * probe_ns;
        match streamed * (DECODE_NS + look_up_ns) <= probes {
            true => ScanStrategy::Stream,
            false => ScanStrategy::Probe,
        }
    }
}
