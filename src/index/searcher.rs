//! An index and a scratch in one value.

use std::ops::Deref;

use super::query::{Match, QueryStats, Strategy};
use super::{Index, Scratch};
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// A [`Scratch`] together with the index that it queries.
///
/// `H` is a handle of the index: `&Index` in a searcher from [`Index::searcher`], or an `Arc<Index>`, which keeps the index
/// open for as long as the searcher lives.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use std::sync::Arc;
/// use simidx::Index;
/// use simidx::index::Searcher;
///
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # for fingerprint in [7_u64, 42, 1 << 60] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?;
/// let mut searcher = index.searcher();
/// assert_eq!(searcher.query(43, 3)?.len(), 2); // 42 at distance 1, 7 at distance 3
///
/// let mut searcher = Searcher::new(Arc::new(index));
/// let thread = std::thread::spawn(move || searcher.query(43, 1).map(<[_]>::len));
/// assert_eq!(thread.join().unwrap()?, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher<F: 'static, H> {
    index: H,
    scratch: Scratch<F>,
}

impl<F: Fingerprint, H: Deref<Target = Index<F>>> Searcher<F, H> {
    /// A searcher of the index, with an empty scratch.
    pub fn new(index: H) -> Self {
        Searcher {
            index,
            scratch: Scratch::new(),
        }
    }

    /// The index that is searched.
    pub fn index(&self) -> &H {
        &self.index
    }

    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.scratch.set_strategy(strategy);
    }

    /// Says whether the file is larger than the memory that it may take, as [`Scratch::expect_cold_blocks`] does.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.scratch.expect_cold_blocks(cold);
    }

    /// All fingerprints within a distance, as from [`Index::query_with`].
    ///
    /// # Errors
    /// As for [`Index::query_with`].
    pub fn query(&mut self, fingerprint: F, distance: u32) -> Result<&[Match<F>]> {
        self.index
            .query_with(&mut self.scratch, fingerprint, distance)
    }

    /// The nearest fingerprints within a distance, as from [`Index::nearest_with`].
    ///
    /// # Errors
    /// As for [`Index::nearest_with`].
    pub fn nearest(
        &mut self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<&[Match<F>]> {
        self.index
            .nearest_with(&mut self.scratch, fingerprint, count, max_distance)
    }

    /// Whether any fingerprint is near, as from [`Index::contains_near_with`].
    ///
    /// # Errors
    /// As for [`Index::contains_near_with`].
    pub fn contains_near(&mut self, fingerprint: F, distance: u32) -> Result<bool> {
        self.index
            .contains_near_with(&mut self.scratch, fingerprint, distance)
    }

    /// The answers to many queries, as from [`Index::query_many_with`].
    ///
    /// # Errors
    /// As for [`Index::query_many_with`].
    pub fn query_many(
        &mut self,
        fingerprints: &[F],
        distance: u32,
        visit: impl FnMut(usize, &[Match<F>]),
    ) -> Result<()> {
        let scratch = &mut self.scratch;
        self.index
            .query_many_with(scratch, fingerprints, distance, visit)
    }

    /// The answer to the last query; empty if it failed.
    pub fn matches(&self) -> &[Match<F>] {
        self.scratch.matches()
    }

    /// What the last query cost, or the last list of queries.
    pub fn stats(&self) -> QueryStats {
        self.scratch.stats()
    }
}
