//! The memory of queries, kept from one query to the next.

use super::probe::{Findings, Lists};
use super::query::{Match, QueryStats, Strategy};

/// The memory that queries work in, with the answer to the last one: once its lists have grown to the largest answer, a
/// query allocates nothing.
///
/// A scratch belongs to no index. A thread keeps one and gives it to [`Index::query_with`](super::Index::query_with) of any
/// index of its width, also of one that was opened later.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::{Index, Scratch};
///
/// # let open = |fingerprints: &[u64]| {
/// #     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// #     for &fingerprint in fingerprints { builder.push(fingerprint)?; }
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let mut scratch = Scratch::new();
/// let mut index = open(&[7, 42, 1 << 60])?;
/// assert_eq!(index.query_with(&mut scratch, 43, 3)?.len(), 2); // 42 at distance 1, 7 at distance 3
/// assert_eq!(scratch.stats().candidates, 3); // fingerprints that were compared
///
/// index = open(&[7, 42, 43])?; // the scratch borrows nothing from the index before
/// assert_eq!(index.query_with(&mut scratch, 43, 3)?.len(), 3);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch<F: 'static> {
    pub(super) strategy: Strategy,
    pub(super) cold: bool,
    /// Whether matches get their ranks.
    pub(super) ranked: bool,
    pub(super) lists: Lists<'static, F>,
    pub(super) findings: Findings<F>,
    pub(super) matches: Vec<Match<F>>,
}

impl<F> Default for Scratch<F> {
    fn default() -> Self {
        Scratch {
            strategy: Strategy::Auto,
            cold: false,
            ranked: true,
            lists: Lists::default(),
            findings: Findings::default(),
            matches: Vec::new(),
        }
    }
}

impl<F> Scratch<F> {
    /// A scratch without memory; the first queries allocate it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Says whether the file is larger than the memory that it may take. Blocks that were used before may then have left
    /// memory, and the system is asked for all blocks of a query before the first is read, so that a query waits about
    /// as long as for one of them. Costs about a microsecond a block where they are in memory after all. Default
    /// `false`: only blocks that are used for the first time are asked for.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.cold = cold;
    }

    /// Whether matches of an index with ids get their ranks. Default `true`. A caller that does not read ids says `false`
    /// and saves a look-up in table 0 for each match of another table: up to a tenth of a query's time.
    pub fn set_ranked(&mut self, ranked: bool) {
        self.ranked = ranked;
    }

    /// The answer to the last query; empty if it failed.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// What the last query cost, or the last list of queries.
    pub fn stats(&self) -> QueryStats {
        self.findings.stats
    }
}
