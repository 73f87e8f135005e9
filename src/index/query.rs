//! Searching: plan the probes of a query, carry them out together, merge what they find (spec, section 8).

use super::Index;
use super::answer::{Match, QueryStats};
use super::flips::Ranges;
use super::probe::{BATCH_LEN, Probe, Scratch, Target};
use crate::cpu::{Cpu, Work, dispatch};
use crate::design::TableProbes;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// Queries that are under way together.
const QUERIES_UNDER_WAY: usize = 64;

/// A scan: one probe of table 0 whose address has no bits, and so holds all values.
const SCAN: [TableProbes; 1] = [TableProbes {
    table: 0,
    address_bits: 0,
    flips: 0,
    range_bits: 0,
}];

/// How a searcher finds what is near: every strategy gives the same answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Probes or a scan, whichever the plan holds to be cheaper.
    #[default]
    Auto,
    /// Probes, even where a scan would be cheaper.
    Probe,
    /// A scan of table 0.
    Scan,
}

/// Answers queries and keeps its memory between them: once its lists have grown to the largest answer, a query
/// allocates nothing.
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
/// assert_eq!(searcher.stats().candidates, 3); // so few are compared one by one
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher<'a, F, D> {
    index: &'a Index<F, D>,
    strategy: Strategy,
    cold: bool,
    scratch: Scratch<'a, F>,
    matches: Vec<Match<F>>,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Searcher<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>) -> Self {
        Searcher {
            index,
            strategy: Strategy::Auto,
            cold: false,
            scratch: Scratch::default(),
            matches: Vec::new(),
        }
    }

    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Says whether the file is larger than the memory that it may take: blocks that were used before may then have left
    /// memory, and the system is asked for all blocks of a query before the first is read, so that a query waits about
    /// as long as for one of them. Costs about a microsecond a block where they are in memory after all. Default
    /// `false`: only blocks that are used for the first time are asked for.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.cold = cold;
    }

    /// All fingerprints within `distance` of `fingerprint`, each once, by distance, then by value.
    ///
    /// Any distance is answered exactly, by the probes of [`Index::plan`]; the more it exceeds
    /// [`Index::max_distance`], the more probes that takes, up to a scan of table 0.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn query(&mut self, fingerprint: F, distance: u32) -> Result<&[Match<F>]> {
        self.matches.clear();
        self.collect(&[fingerprint], distance)?;
        let found = self.scratch.found.iter().map(|f| f.found);
        self.matches.extend(found);
        Ok(&self.matches)
    }

    /// Answers many queries, several under way at a time, and calls `visit` with the number of each in
    /// `fingerprints`, in order, and its answer as from [`Searcher::query`].
    ///
    /// # Errors
    /// A damaged block among those that had to be read: `visit` has then seen the answers to some of the queries
    /// before, and sees no more.
    pub fn query_many(
        &mut self,
        fingerprints: &[F],
        distance: u32,
        mut visit: impl FnMut(usize, &[Match<F>]),
    ) -> Result<()> {
        self.matches.clear();
        let mut stats = QueryStats::default();
        for (i, group) in fingerprints.chunks(QUERIES_UNDER_WAY).enumerate() {
            let collected = self.collect(group, distance);
            if collected.is_err() {
                self.matches.clear();
            }
            collected?;
            stats += self.scratch.stats;
            let mut rest = &self.scratch.found[..];
            for owner in 0..group.len() {
                let end = rest.partition_point(|f| f.owner as usize <= owner);
                self.matches.clear();
                self.matches.extend(rest[..end].iter().map(|f| f.found));
                visit(i * QUERIES_UNDER_WAY + owner, &self.matches);
                rest = &rest[end..];
            }
        }
        self.scratch.stats = stats;
        Ok(())
    }

    /// The answer to the last query; what an erroneous one had found is not an answer and is empty.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// What the last query cost, or the last list of queries.
    pub fn stats(&self) -> QueryStats {
        self.scratch.stats
    }

    /// Finds the matches of some queries, in order and each once.
    fn collect(&mut self, fingerprints: &[F], distance: u32) -> Result<(), FormatError> {
        let index = self.index;
        self.scratch.start();
        let plan = index.plan(distance);
        let probes = match self.strategy {
            Strategy::Auto => plan.best(),
            Strategy::Probe => Some(plan.probes()),
            Strategy::Scan => None,
        };
        let target = Target {
            tables: &index.tables,
            file: index.bytes(),
            distance,
            cold: self.cold,
        };
        let scratch = &mut self.scratch;
        dispatch(ProbeAll {
            target,
            plan: probes.unwrap_or(&SCAN),
            fingerprints,
            scratch,
        })?;
        self.scratch.merge();
        Ok(())
    }
}

impl<F: Fingerprint> Scratch<'_, F> {
    /// Forgets the queries before.
    fn start(&mut self) {
        self.probes.clear();
        self.found.clear();
        self.stats = QueryStats::default();
    }

    /// Orders what was found and keeps one of what was found several times.
    fn merge(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
    }
}

/// All probes of a plan for some queries.
struct ProbeAll<'a, 'b, F> {
    target: Target<'a, F>,
    plan: &'a [TableProbes],
    fingerprints: &'b [F],
    scratch: &'b mut Scratch<'a, F>,
}

impl<F: Fingerprint> Work for ProbeAll<'_, '_, F> {
    type Output = Result<(), FormatError>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        for (owner, &fingerprint) in self.fingerprints.iter().enumerate() {
            for probes in self.plan {
                let table = &self.target.tables[probes.table];
                let query = table.permutation.apply_with(cpu, fingerprint).0;
                let mut ranges = Ranges::new(query, probes);
                while let Some((low, high)) = ranges.next_range() {
                    if self.scratch.probes.len() == BATCH_LEN {
                        self.target.run(cpu, self.scratch)?;
                    }
                    self.scratch.probes.push(Probe {
                        query,
                        low,
                        high,
                        table,
                        owner: owner as u32,
                    });
                }
            }
        }
        self.target.run(cpu, self.scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::Found;
    use super::*;

    #[test]
    fn merging_keeps_each_match_of_each_query_once() {
        let found = |owner, distance, fingerprint: u32| Found {
            owner,
            found: Match {
                distance,
                fingerprint,
            },
        };
        let mut scratch = Scratch::default();
        scratch.found = vec![
            found(1, 2, 9),
            found(0, 2, 9),
            found(0, 1, 8),
            found(0, 2, 9),
        ];
        scratch.merge();
        assert_eq!(
            scratch.found,
            [found(0, 1, 8), found(0, 2, 9), found(1, 2, 9)]
        );
    }
}
