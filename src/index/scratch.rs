//! The working memory of queries, reused from one query to the next.

use super::probe::{Findings, Lists};
use super::query::{Match, QueryStats, Strategy};

/// The working memory of queries, which also holds the answer to the last one. Once its lists have grown to the largest
/// answer, queries allocate nothing.
///
/// A scratch is not tied to an index. A thread keeps one and passes it to
/// [`Index::query_with`](super::Index::query_with) of any index of its width, including one that is opened later.
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
    /// Creates an empty scratch; the first queries allocate its memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how later queries are answered.
    #[doc(hidden)]
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Sets whether the file is larger than the memory available to it. Blocks may then have left memory since their
    /// last use, so a query requests all its blocks before it reads the first, and waits about as long as for one. This
    /// costs about a microsecond for each block that is in memory after all. Default `false`: only blocks that are used
    /// for the first time are requested.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.cold = cold;
    }

    /// Sets whether matches of an index with ids get their ranks. Default `true`. If no ids are read, `false` saves a
    /// look-up in table 0 for each match of another table: up to a tenth of a query's time.
    pub fn set_ranked(&mut self, ranked: bool) {
        self.ranked = ranked;
    }

    /// Returns the answer to the last query; empty if it failed.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// Returns the cost of the last query, or of the last list of queries.
    pub fn stats(&self) -> QueryStats {
        self.findings.stats
    }
}
