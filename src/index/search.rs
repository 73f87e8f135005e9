//! The probes of a plan, table by table.

use super::flips::Ranges;
use super::plans::include;
use super::probe::{BATCH_LEN, Findings, Lists, Probe, Target};
use super::probe_lines::LINES_TOGETHER;
use super::table::Table;
use crate::design::TableProbes;
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;

/// Which probes are carried out, and what they look for.
///
/// They are planned here by plain code, and carried out in [`Target`] some dozens at a time by functions that are compiled
/// for each processor: so these kernels are compiled once, whoever searches.
pub(super) struct Search<'a, F> {
    pub(super) target: Target<'a, F>,
    pub(super) plan: &'a [TableProbes],
    /// Probes that have been carried out before. They are not repeated.
    pub(super) probed: &'a [TableProbes],
    /// Larger fingerprints are not wanted.
    pub(super) highest: F,
    /// Whether one match is enough.
    pub(super) stop_at_first: bool,
}

impl<'a, F: Fingerprint> Search<'a, F> {
    /// Carries out all probes for some queries.
    ///
    /// # Errors
    /// A damaged block among those that had to be read.
    pub(super) fn run(
        &self,
        fingerprints: &[F],
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        for (owner, &fingerprint) in fingerprints.iter().enumerate() {
            for probes in self.plan {
                if include(self.probed, probes) {
                    continue;
                }
                let table = &self.target.tables[probes.table];
                let query = table.permutation().apply(fingerprint).0;
                let owner = owner as u32;
                match table {
                    Table::Blocks(table) => {
                        let probe = Probe {
                            table,
                            query,
                            low: query,
                            high: query,
                            owner,
                        };
                        self.probe_blocks(probe, probes, lists, findings)?;
                    }
                    Table::Lines(table) => {
                        let ask = (table, query, owner);
                        let when = match self.stop_at_first {
                            true => (BATCH_LEN, true),
                            false => (LINES_TOGETHER, false),
                        };
                        let lines = &mut lists.lines;
                        self.target
                            .probe_lines(ask, probes, when, lines, findings)?;
                    }
                }
                if self.is_enough(findings) {
                    return Ok(());
                }
            }
        }
        self.target.run_lines(&mut lists.lines, findings)?;
        self.target.run(lists, findings)
    }

    /// Adds the probes of one table, of which `first` says all but the ranges. Carries them out whenever there are enough.
    fn probe_blocks(
        &self,
        first: Probe<'a, F>,
        probes: &TableProbes,
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        // Table 0 holds the fingerprints as they are.
        let highest = match probes.table {
            0 => self.highest,
            _ => F::MAX,
        };
        let mut ranges = Ranges::new(first.query, probes);
        while let Some((low, high)) = ranges.next_range() {
            if low > highest {
                continue;
            }
            if lists.probes.len() == BATCH_LEN {
                self.target.run(lists, findings)?;
                if self.is_enough(findings) {
                    return Ok(());
                }
            }
            lists.probes.push(Probe { low, high, ..first });
        }
        Ok(())
    }

    /// Whether the search can stop.
    fn is_enough(&self, findings: &Findings<F>) -> bool {
        self.stop_at_first && !findings.found.is_empty()
    }
}
