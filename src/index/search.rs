//! The probes of a plan, table by table.

use super::flips::Ranges;
use super::plans::include;
use super::probe::{BATCH_LEN, Findings, Lists, Probe, Target};
use super::table::Table;
use crate::design::TableProbes;
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;

/// The probes to run, and the values to find.
///
/// Probes are planned here by plain code. [`Target`] runs some dozens of them at a time in functions that are compiled
/// for each processor; keeping these apart compiles them only once.
pub(super) struct Search<'a, F> {
    pub(super) target: Target<'a, F>,
    pub(super) plan: &'a [TableProbes],
    /// Probes that have already run. They are not repeated.
    pub(super) probed: &'a [TableProbes],
    /// The largest wanted fingerprint.
    pub(super) highest: F,
    /// Whether one match is enough.
    pub(super) stop_at_first: bool,
}

impl<'a, F: Fingerprint> Search<'a, F> {
    /// Runs all probes for some queries.
    ///
    /// # Errors
    /// A damaged block that had to be read.
    pub(super) fn run(
        &self,
        fingerprints: &[F],
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        lists.lines.begin(self.stop_at_first);
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
                        let lines = &mut lists.lines;
                        self.target.probe_lines(
                            ask,
                            probes,
                            self.stop_at_first,
                            lines,
                            findings,
                        )?;
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

    /// Adds the probes of one table; `first` holds everything except the ranges. Runs them whenever there are enough.
    fn probe_blocks(
        &self,
        first: Probe<'a, F>,
        probes: &TableProbes,
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        // The values of table 0 are the fingerprints themselves.
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

    /// Returns whether the search can stop.
    fn is_enough(&self, findings: &Findings<F>) -> bool {
        self.stop_at_first && !findings.found.is_empty()
    }
}
