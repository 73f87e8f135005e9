//! The figures at the end, and what is to be thought of them.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use simidx::batch::DedupCounts;

use crate::support::failure::Failure;
use crate::support::output::{say, stdout, write_report};
use crate::support::page::grouped;
use crate::support::quiet::is_quiet;

/// The share of documents that only a mistake drops, mostly.
const MANY_DROPPED: f64 = 0.95;

/// The figures of a run.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    documents: u64,
    kept: u64,
    dropped: u64,
    /// Of those, what the index has.
    in_index: u64,
    /// And what is beyond the distance from the document that is kept for it.
    chained: u64,
    clusters: u64,
    largest_cluster: u64,
    /// Documents that only equal ones are near to.
    without_features: u64,
    /// Documents with the id of an earlier one.
    repeated_ids: u64,
    /// Records that are no documents.
    skipped: u64,
    /// Of those, what is in the output.
    skipped_kept: u64,
    /// Records in which bytes became U+FFFD.
    replaced: u64,
}

/// What became of records that are no documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unjudged {
    pub(super) count: u64,
    /// Of those, what is in the output.
    pub(super) kept: u64,
}

impl Summary {
    pub(super) fn new(counts: &DedupCounts, unjudged: Unjudged) -> Self {
        Summary {
            documents: counts.documents,
            kept: counts.kept,
            dropped: counts.documents - counts.kept,
            in_index: counts.excluded,
            chained: 0,
            clusters: counts.clusters,
            largest_cluster: counts.largest,
            without_features: counts.without_fingerprint,
            repeated_ids: 0,
            skipped: unjudged.count,
            skipped_kept: unjudged.kept,
            replaced: 0,
        }
    }

    pub(super) fn with_chained(mut self, count: u64) -> Self {
        self.chained = count;
        self
    }

    pub(super) fn with_repeated_ids(mut self, count: u64) -> Self {
        self.repeated_ids = count;
        self
    }

    pub(super) fn with_replaced(mut self, count: u64) -> Self {
        self.replaced = count;
        self
    }

    /// Names and values of the figures, for a page.
    pub(super) fn figures(&self) -> Vec<(&'static str, String)> {
        let figures = [
            ("documents", self.documents),
            ("kept", self.kept),
            ("dropped", self.dropped),
            ("of these, near a member of the index", self.in_index),
            ("of these, linked by chains only", self.chained),
            ("clusters", self.clusters),
            ("documents of the largest cluster", self.largest_cluster),
            ("documents without features", self.without_features),
            ("documents with the id of an earlier one", self.repeated_ids),
            ("records not judged", self.skipped),
        ];
        figures.map(|(name, value)| (name, grouped(value))).to_vec()
    }

    /// Prints the figures: for a person on stderr, as JSON on standard output.
    ///
    /// # Errors
    /// What the output reports.
    pub(super) fn tell(&self, json: bool) -> Result<(), Failure> {
        if json {
            write_report(stdout(), self, true, |_| Ok(()))?;
        } else if !is_quiet() {
            // That stderr cannot be written is no reason to fail.
            let _ = self.print(&mut io::stderr());
        }
        if let Some(share) = self.share_dropped() {
            say(format_args!(
                "{:.1} % of the documents are dropped as near-duplicates of others; look at a --report before you trust this",
                share * 100.0
            ));
        }
        Ok(())
    }

    /// The share of documents that others are kept for, if it is very large. What an index has does not count.
    fn share_dropped(&self) -> Option<f64> {
        let judged = self.documents - self.in_index;
        let dropped = judged.saturating_sub(self.kept);
        let share = dropped as f64 / judged.max(1) as f64;
        (share > MANY_DROPPED).then_some(share)
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut row = |name: &str, value: &dyn fmt::Display| writeln!(out, "{name:<24}{value}");
        row("documents", &self.documents)?;
        row("kept", &self.kept)?;
        match self.in_index {
            0 => row("dropped", &self.dropped)?,
            known => row(
                "dropped",
                &format_args!("{}, {known} of them in the index", self.dropped),
            )?,
        }
        if self.chained > 0 {
            row("dropped by chains only", &self.chained)?;
        }
        row("clusters", &self.clusters)?;
        row("largest cluster", &self.largest_cluster)?;
        if self.without_features > 0 {
            row("without features", &self.without_features)?;
        }
        match (self.skipped, self.skipped_kept) {
            (0, _) => Ok(()),
            (count, 0) => row("not judged", &format_args!("{count}, left out")),
            (count, kept) if kept == count => row("not judged", &format_args!("{count}, kept")),
            (count, kept) => row("not judged", &format_args!("{count}, {kept} of them kept")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_dropped_are_suspicious() {
        let share = |documents: u64, excluded: u64, kept: u64| {
            let mut counts = DedupCounts::default();
            (counts.documents, counts.excluded, counts.kept) = (documents, excluded, kept);
            let none = Unjudged { count: 0, kept: 0 };
            Summary::new(&counts, none).share_dropped()
        };
        assert_eq!(share(100, 0, 1), Some(0.99));
        assert_eq!(share(100, 0, 5), None);
        assert_eq!(share(0, 0, 0), None);
        // An index that has everything is no surprise.
        assert_eq!(share(100, 100, 0), None);
        assert_eq!(share(200, 100, 1), Some(0.99));
    }
}
