//! Joins a batch of queries with a set: chooses a strategy, and returns the answers in the order of the queries.
//!
//! The stream strategy is that of Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
//! section 4: the batch of queries is indexed, and all fingerprints stream past it.

mod hits;
mod probe;
mod query_tables;
mod stream;

use std::path::PathBuf;

use rayon::prelude::*;

use crate::error::{OptionsError, Result};
use crate::extsort::MemoryLimit;
use crate::fingerprint::{Column, Fingerprint};
use crate::index::{Match, QueryStats};
use crate::set::{Set, Typed, at_width};
use crate::watch::Watch;
use crate::{named, setters};
use hits::HitSorter;
use query_tables::QueryTables;

/// Nanoseconds to decode a fingerprint of table 0.
const DECODE_NS: f64 = 3.0;

/// How a batch is answered. All strategies give the same answers.
///
/// ```
/// use simidx::batch::JoinStrategy;
///
/// let strategy: JoinStrategy = "probe".parse()?;
/// assert_eq!(strategy, JoinStrategy::Probe);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum JoinStrategy {
    /// The strategy with the lower estimated cost.
    #[default]
    Auto,
    /// Builds tables of the queries in memory, and streams all fingerprints past them.
    Stream,
    /// Looks up each query in the tables of the index, with similar queries together.
    Probe,
}

named!(
    JoinStrategy,
    OptionsError,
    |name| OptionsError::new(
        "strategy",
        format!("{name:?} is not a strategy: auto, stream or probe")
    ),
    Auto = "auto",
    Stream = "stream",
    Probe = "probe",
);

/// Options of a join.
///
/// ```
/// use simidx::batch::{JoinOptions, JoinStrategy};
///
/// let options = JoinOptions::default()
///     .strategy(JoinStrategy::Stream)
///     .distance(6);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JoinOptions {
    /// The largest distance of a match, in bits; any is exact. Default 3.
    pub distance: u32,
    /// How the answers are found.
    pub strategy: JoinStrategy,
    /// The most bytes of memory for matches, at least 64 MiB. Matches beyond it go
    /// to temporary files. The queries and their tables take about 80 bytes a query in addition. Unlimited by default.
    pub memory: Option<u64>,
    /// The folder for temporary files, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
    /// Called on the calling thread with the number of completed parts of the search: before the first one, and
    /// whenever a thread has searched a piece. It may stop the search. Default none.
    pub watch: Watch,
}

setters!(JoinOptions {
    distance(u32)
    strategy(JoinStrategy)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for JoinOptions {
    fn default() -> Self {
        JoinOptions {
            distance: 3,
            strategy: JoinStrategy::Auto,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

/// The cost of a join.
///
/// ```
/// use simidx::batch::{JoinOptions, JoinStrategy};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let options = JoinOptions::default().strategy(JoinStrategy::Stream);
/// let report = segments.join(&[0xff03_u64], &options, |_, _| Ok(()))?;
/// assert_eq!((report.strategy, report.stats.blocks), (JoinStrategy::Stream, 1));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinReport {
    /// The strategy used: stream or probe.
    pub strategy: JoinStrategy,
    /// Look-ups, blocks read and comparisons. For the stream strategy, a look-up is one fingerprint in one table of
    /// queries.
    pub stats: QueryStats,
}

impl Set {
    /// Answers many queries. Calls `visit` with the number of a query in `queries` and a match of it, ordered by query,
    /// distance and value. Each match is visited once, however many segments hold it. The matches of a query are those of
    /// [`Set::query`](crate::Set::query).
    ///
    /// Works on all threads of the current pool and calls `visit` on this one. A million queries on ten million
    /// fingerprints take two to three seconds on one thread.
    ///
    /// ```
    /// use simidx::batch::JoinOptions;
    /// use simidx::Set;
    ///
    /// # use simidx::{Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
    /// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let segments = Set::from_bytes(file)?;
    /// let queries = [0xff03_u64, 0xabcd_0000_0000];
    /// let mut found = Vec::new();
    /// segments.join(&queries, &JoinOptions::default(), |query, near| {
    ///     found.push((query, near.fingerprint, near.distance));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, [(0, 0xff01, 1), (0, 0xff00, 2)]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged file, queries of another width than the set, a memory limit that is too small, and any error of temporary
    /// files or of `visit`. [`Error::Interrupted`](crate::Error::Interrupted) if the watch of the options stops the search;
    /// each thread then finishes its current piece.
    pub fn join<'q>(
        &self,
        queries: impl Into<Column<'q>>,
        options: &JoinOptions,
        mut visit: impl FnMut(usize, Match<u128>) -> Result<()>,
    ) -> Result<JoinReport> {
        join_column(self, queries.into(), options, &mut visit)
    }
}

fn join_column(
    set: &Set,
    queries: Column<'_>,
    options: &JoinOptions,
    visit: &mut dyn FnMut(usize, Match<u128>) -> Result<()>,
) -> Result<JoinReport> {
    at_width!(set, set => {
        let mut visit = |query, found: Match<_>| {
            let fingerprint = Fingerprint::to_u128(found.fingerprint);
            visit(query, Match::unranked(found.distance, fingerprint))
        };
        join_of(set, queries.values()?, options, &mut visit)
    })
}

/// [`Set::join`] of a set at its width.
pub(super) fn join_of<F: Fingerprint>(
    segments: Typed<'_, F>,
    queries: &[F],
    options: &JoinOptions,
    visit: &mut dyn FnMut(usize, Match<F>) -> Result<()>,
) -> Result<JoinReport> {
    let limit = MemoryLimit::new(options.memory)?;
    let temp = limit.temp(options.temp_dir.clone());
    let queries = Queries::new(queries);
    let mut hits = HitSorter::new(temp, limit.budget());
    let input = JoinInput {
        segments,
        queries: &queries,
        distance: options.distance.min(F::WIDTH),
    };
    let plan = QueryTables::plan(queries.distinct(), input.distance);
    let strategy = match options.strategy {
        JoinStrategy::Auto => input.cheaper(plan.ns),
        given => given,
    };
    let stats = match strategy {
        JoinStrategy::Probe => probe::run(&input, &mut hits, &options.watch)?,
        _ => stream::run(&input, plan, &mut hits, &options.watch)?,
    };
    hits.for_each(visit)?;
    Ok(JoinReport { strategy, stats })
}

/// The input of both strategies.
struct JoinInput<'a, F> {
    segments: Typed<'a, F>,
    queries: &'a Queries<F>,
    distance: u32,
}

impl<F: Fingerprint> JoinInput<'_, F> {
    /// Returns the strategy with the lower estimated cost, if a streamed fingerprint costs `look_up_ns` in addition to
    /// its decoding.
    fn cheaper(&self, look_up_ns: f64) -> JoinStrategy {
        let segments = self.segments.indexes();
        let counts = segments.clone().map(|s| s.len() as f64);
        let streamed = counts.sum::<f64>();
        let probe_ns: f64 = segments.map(|s| s.plan(self.distance).ns()).sum();
        let probes = self.queries.distinct().len() as f64 * probe_ns;
        match streamed * (DECODE_NS + look_up_ns) <= probes {
            true => JoinStrategy::Stream,
            false => JoinStrategy::Probe,
        }
    }
}

/// The distinct queries, ascending, each with its positions in the batch.
#[derive(Debug)]
struct Queries<F> {
    distinct: Vec<F>,
    /// The start in `positions` of each distinct query's positions, and the end of the last.
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl<F: Fingerprint> Queries<F> {
    /// Sorts a batch of at most 2^32 - 1 queries.
    fn new(queries: &[F]) -> Self {
        let mut sorted: Vec<(F, u32)> = queries.iter().copied().zip(0..).collect();
        sorted.par_sort_unstable();
        let mut distinct = Vec::new();
        let mut starts = Vec::new();
        for (&(query, _), i) in sorted.iter().zip(0..) {
            if distinct.last() != Some(&query) {
                distinct.push(query);
                starts.push(i);
            }
        }
        let positions: Vec<u32> = sorted.into_iter().map(|(_, position)| position).collect();
        starts.push(positions.len() as u32);
        Queries {
            distinct,
            starts,
            positions,
        }
    }

    /// Returns the distinct queries, ascending.
    fn distinct(&self) -> &[F] {
        &self.distinct
    }

    /// Returns the positions in the batch of distinct query `number`, ascending.
    fn positions(&self, number: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|i| self.starts[number as usize + i] as usize);
        &self.positions[start..end]
    }
}
