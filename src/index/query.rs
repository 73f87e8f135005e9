//! Searching: probe each table, decode the blocks that can hold the prefix, compare (spec, section 8).

use std::ops::ControlFlow;

use super::Index;
use crate::design::Permuted;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// A fingerprint within the distance of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match<F> {
    /// Number of bits in which it differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: F,
}

/// What queries cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryStats {
    /// Look-ups, one a table; a scan of table 0 counts as one.
    pub probes: u64,
    /// Blocks decoded.
    pub blocks: u64,
    /// Fingerprints that shared a prefix with the query and were compared.
    pub candidates: u64,
}

impl std::ops::AddAssign for QueryStats {
    fn add_assign(&mut self, other: Self) {
        self.probes += other.probes;
        self.blocks += other.blocks;
        self.candidates += other.candidates;
    }
}

/// Answers queries one after the other and keeps its memory between them: once its list of matches
/// has grown to the largest answer, a query allocates nothing.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # for fingerprint in [7, 42, 1 << 60] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64, _>::from_bytes(file)?;
/// let mut searcher = index.searcher();
/// assert_eq!(searcher.query(43, 3)?.len(), 2); // 42 at distance 1, 7 at distance 3
/// assert_eq!(searcher.stats().probes, 4); // one a table
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher<'a, F, D> {
    index: &'a Index<F, D>,
    matches: Vec<Match<F>>,
    stats: QueryStats,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Searcher<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>) -> Self {
        Searcher {
            index,
            matches: Vec::new(),
            stats: QueryStats::default(),
        }
    }

    /// All fingerprints within `distance` of `fingerprint`, each once, by distance, then by value.
    ///
    /// Up to [`Index::max_distance`] each table is probed once; beyond it table 0 is scanned, which
    /// is as exact and as slow as a linear scan.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn query(&mut self, fingerprint: F, distance: u32) -> Result<&[Match<F>]> {
        let result = self.collect(fingerprint, distance);
        if result.is_err() {
            self.matches.clear();
        }
        result?;
        self.matches.sort_unstable();
        self.matches.dedup();
        Ok(&self.matches)
    }

    fn collect(&mut self, fingerprint: F, distance: u32) -> Result<()> {
        self.matches.clear();
        self.stats = QueryStats::default();
        let whole = (Permuted(F::ZERO), Permuted(F::MAX));
        if distance > self.index.max_distance() {
            self.probe(0, fingerprint, distance, whole)?;
        } else {
            for table in 0..self.index.tables.len() {
                let permutation = &self.index.tables[table].permutation;
                let range = permutation.prefix_range(permutation.apply(fingerprint));
                self.probe(table, fingerprint, distance, range)?;
            }
        }
        Ok(())
    }

    /// The answer to the last query; what an erroneous one had found is not an answer and is empty.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// What the last query cost.
    pub fn stats(&self) -> QueryStats {
        self.stats
    }

    /// Compares all values of a table within a range; a permutation keeps distances.
    fn probe(
        &mut self,
        table: usize,
        fingerprint: F,
        distance: u32,
        range: (Permuted<F>, Permuted<F>),
    ) -> Result<()> {
        let table = &self.index.tables[table];
        let query = table.permutation.apply(fingerprint);
        let (matches, mut candidates) = (&mut self.matches, 0);
        let blocks = table.for_each_in(self.index.bytes(), range, |value, _| {
            candidates += 1;
            let found = value.0.distance(query.0);
            if found <= distance {
                matches.push(Match {
                    distance: found,
                    fingerprint: table.permutation.invert(value),
                });
            }
            ControlFlow::Continue(())
        })?;
        self.stats += QueryStats {
            probes: 1,
            blocks: blocks as u64,
            candidates,
        };
        Ok(())
    }
}
