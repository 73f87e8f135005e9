//! Searching: plan the probes of a query, carry them out together, merge what they find (spec, section 8).

use super::answer::{Match, QueryStats};
use super::flips::Ranges;
use super::probe::{BATCH_LEN, Buffers, Probe, Target};
use super::{Index, Scratch, Searcher};
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

/// How queries are answered: every strategy gives the same answer.
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

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// A searcher of this index, which has a scratch of its own; make one for each thread.
    pub fn searcher(&self) -> Searcher<F, &Self> {
        Searcher::new(self)
    }

    /// All fingerprints within `distance` of `fingerprint`, by distance, then by value. Allocates;
    /// [`Index::query_with`] does not.
    ///
    /// # Errors
    /// A damaged block.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        let mut scratch = Scratch::new();
        self.query_with(&mut scratch, fingerprint, distance)?;
        Ok(scratch.matches)
    }

    /// All fingerprints within `distance` of `fingerprint`, each once, by distance, then by value. They stay in the scratch
    /// until its next query.
    ///
    /// Any distance is answered exactly, by the probes of [`Index::plan`]; the more it exceeds
    /// [`Index::max_distance`], the more probes that takes, up to a scan of table 0.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn query_with<'s>(
        &self,
        scratch: &'s mut Scratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<&'s [Match<F>]> {
        scratch.matches.clear();
        self.find_matches(scratch, &[fingerprint], distance)?;
        let found = scratch.buffers.found.iter().map(|f| f.found);
        scratch.matches.extend(found);
        Ok(&scratch.matches)
    }

    /// Answers many queries, several under way at a time, and calls `visit` with the number of each in
    /// `fingerprints`, in order, and its answer as from [`Index::query_with`].
    ///
    /// # Errors
    /// A damaged block among those that had to be read: `visit` has then seen the answers to some of the queries
    /// before, and sees no more.
    pub fn query_many_with(
        &self,
        scratch: &mut Scratch<F>,
        fingerprints: &[F],
        distance: u32,
        mut visit: impl FnMut(usize, &[Match<F>]),
    ) -> Result<()> {
        scratch.matches.clear();
        let mut stats = QueryStats::default();
        for (i, group) in fingerprints.chunks(QUERIES_UNDER_WAY).enumerate() {
            let collected = self.find_matches(scratch, group, distance);
            if collected.is_err() {
                scratch.matches.clear();
            }
            collected?;
            stats += scratch.buffers.stats;
            let mut rest = &scratch.buffers.found[..];
            for owner in 0..group.len() {
                let end = rest.partition_point(|f| f.owner as usize <= owner);
                scratch.matches.clear();
                scratch.matches.extend(rest[..end].iter().map(|f| f.found));
                visit(i * QUERIES_UNDER_WAY + owner, &scratch.matches);
                rest = &rest[end..];
            }
        }
        scratch.buffers.stats = stats;
        Ok(())
    }

    /// Finds the matches of some queries, in order and each once.
    fn find_matches(
        &self,
        scratch: &mut Scratch<F>,
        fingerprints: &[F],
        distance: u32,
    ) -> Result<(), FormatError> {
        let plan = self.plan(distance);
        let probes = match scratch.strategy {
            Strategy::Auto => plan.best(),
            Strategy::Probe => Some(plan.probes()),
            Strategy::Scan => None,
        };
        let target = Target {
            tables: &self.tables,
            file: self.bytes(),
            distance,
            cold: scratch.cold,
        };
        let mut buffers = std::mem::take(&mut scratch.buffers).for_any_index();
        buffers.start();
        let probed = dispatch(ProbeAll {
            target,
            plan: probes.unwrap_or(&SCAN),
            fingerprints,
            buffers: &mut buffers,
        });
        if probed.is_ok() {
            buffers.merge();
        }
        scratch.buffers = buffers.for_any_index();
        probed
    }
}

/// All probes of a plan for some queries.
struct ProbeAll<'a, 'b, F> {
    target: Target<'a, F>,
    plan: &'a [TableProbes],
    fingerprints: &'b [F],
    buffers: &'b mut Buffers<'a, F>,
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
                    if self.buffers.probes.len() == BATCH_LEN {
                        self.target.run(cpu, self.buffers)?;
                    }
                    self.buffers.probes.push(Probe {
                        query,
                        low,
                        high,
                        table,
                        owner: owner as u32,
                    });
                }
            }
        }
        self.target.run(cpu, self.buffers)
    }
}
