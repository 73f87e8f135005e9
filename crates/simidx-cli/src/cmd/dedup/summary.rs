//! The figures at the end, and a warning about doubtful ones.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use simidx::IdBuf;
use simidx::batch::DedupCounts;

use super::measure::Measure;
use crate::support::failure::Failure;
use crate::support::messages::{counted, is_quiet, say};
use crate::support::output::{Column, row, stdout, write_object};
use crate::support::records::ReadCounts;

/// The share of documents that only a mistake drops, mostly.
const MANY_DROPPED: f64 = 0.95;

/// Templates in the figures for a person.
const SHOWN_TEMPLATES: usize = 3;

/// The figures of a run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// The distance of near-duplicates, if fingerprints were compared.
    pub(super) max_distance: Option<u32>,
    /// The least similarity, if texts were.
    pub(super) similarity: Option<f64>,
    /// The features that texts are compared by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) features: Option<String>,
    pub(super) documents: u64,
    pub(super) kept: u64,
    pub(super) dropped: u64,
    /// Of the dropped documents, those that the index has.
    pub(super) in_index: u64,
    /// Of the dropped documents, those that are not near-duplicates of the document kept for them.
    pub(super) chained: u64,
    pub(super) clusters: u64,
    pub(super) largest_cluster: u64,
    /// Bits of the sketches by which texts were compared with the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sketch_bits: Option<u32>,
    /// Standard error of these estimates at the least similarity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) estimate_standard_error: Option<f64>,
    /// Texts of the index that were compared with new ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) earlier_texts: Option<u64>,
    /// Documents that only equal ones are near to.
    pub(super) without_features: u64,
    /// Documents with a single feature: they have no more words than a run, or repeat one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) single_feature: Option<u64>,
    /// Kept documents that have much in common without being similar enough: how many, and one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) templates: Option<Vec<TemplateFigure>>,
    /// Documents with the id of an earlier one.
    pub(super) repeated_ids: u64,
    /// Number of records that are not documents.
    pub(super) skipped: u64,
    /// Of these, the number of records in the output.
    pub(super) skipped_kept: u64,
    /// Records in which bytes became U+FFFD.
    pub(super) replaced: u64,
    /// Documents that were compared with others, and pairs of texts that were compared feature by feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) candidates: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compared_pairs: Option<u64>,
    /// Times of the stages: reading, finding what may be near, and, if texts are compared by similarity, comparing them.
    pub(super) reading_seconds: f64,
    pub(super) finding_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) comparing_seconds: Option<f64>,
}

/// Kept documents that were made from one template.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TemplateFigure {
    pub(super) count: u64,
    pub(super) example: Value,
    #[serde(skip)]
    pub(super) label: IdBuf,
}

impl Summary {
    /// Creates the figures of any run. The times are those of reading and of finding.
    pub(super) fn new(
        counts: &DedupCounts,
        read: &ReadCounts,
        [reading, finding]: [Duration; 2],
    ) -> Self {
        Summary {
            documents: counts.documents,
            kept: counts.kept,
            dropped: counts.documents - counts.kept,
            in_index: counts.excluded,
            clusters: counts.clusters,
            largest_cluster: counts.largest,
            without_features: read.without_features,
            replaced: read.replaced,
            reading_seconds: Self::seconds(reading),
            finding_seconds: Self::seconds(finding),
            ..Summary::default()
        }
    }

    /// Returns a time in seconds, in full milliseconds.
    pub(super) fn seconds(time: Duration) -> f64 {
        (time.as_secs_f64() * 1000.0).round() / 1000.0
    }

    /// Returns the names and values of the figures for people, without the times. `number` formats the counts.
    pub(super) fn rows(
        &self,
        measure: Measure,
        number: fn(u64) -> String,
    ) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let mut row = |name, value: &dyn fmt::Display| rows.push((name, value.to_string()));
        row("documents", &number(self.documents));
        row("kept", &number(self.kept));
        let dropped = number(self.dropped);
        match self.in_index {
            0 => row("dropped", &dropped),
            known => row(
                "dropped",
                &format_args!("{dropped}, {} of them in the index", number(known)),
            ),
        }
        if self.chained > 0 {
            row("dropped by chains only", &number(self.chained));
        }
        if let (Some(similarity), Some(features)) = (self.similarity, &self.features) {
            let measure = format_args!("{similarity} and more, by {features}");
            row("similarity", &measure);
        }
        if let (Some(bits), Some(error)) = (self.sketch_bits, self.estimate_standard_error) {
            let method =
                format_args!("estimates by sketches of {bits} bits, standard error {error:.3}");
            row("in the index", &method);
        }
        if let Measure::Distance(distance, Some(reason)) = measure {
            let bits = counted(distance.into(), "bit");
            row("distance", &format_args!("at most {bits}: {reason}"));
        }
        row("clusters", &number(self.clusters));
        row("largest cluster", &number(self.largest_cluster));
        if self.without_features > 0 {
            row("without features", &number(self.without_features));
        }
        let skipped = number(self.skipped);
        match (self.skipped, self.skipped_kept) {
            (0, _) => {}
            (_, 0) => row("not judged", &format_args!("{skipped}, left out")),
            (count, kept) if kept == count => row("not judged", &format_args!("{skipped}, kept")),
            (_, kept) => row(
                "not judged",
                &format_args!("{skipped}, {} of them kept", number(kept)),
            ),
        }
        if let Some(count @ 1..) = self.single_feature {
            row("with a single feature", &number(count));
        }
        for template in self.templates.iter().flatten().take(SHOWN_TEMPLATES) {
            let TemplateFigure { count, label, .. } = template;
            let label = Column::of(label);
            let count = number(*count);
            row("of one template", &format_args!("{count}, such as {label}"));
        }
        if let Some(pairs) = self.compared_pairs {
            row("compared pairs of texts", &number(pairs));
        }
        rows
    }

    /// Prints the figures: for a person on stderr, as JSON on standard output.
    ///
    /// # Errors
    /// Any error of the output.
    pub(super) fn tell(&self, json: bool, measure: Measure) -> Result<(), Failure> {
        if json {
            let mut out = stdout();
            write_object(&mut out, &json!(self))?;
            out.flush()?;
        } else if !is_quiet() {
            // A command does not fail because stderr cannot be written.
            let _ = self.print(measure, &mut io::stderr());
        }
        if let Some(share) = self.share_dropped() {
            say(format_args!(
                "{:.1} % of the documents are dropped as near-duplicates of others; check a --report before you use the result",
                share * 100.0
            ));
        }
        Ok(())
    }

    /// Returns the share of documents that others are kept for, if it is very large. Documents of an index do not count.
    fn share_dropped(&self) -> Option<f64> {
        let judged = self.documents - self.in_index;
        let dropped = judged.saturating_sub(self.kept);
        let share = dropped as f64 / judged.max(1) as f64;
        (share > MANY_DROPPED).then_some(share)
    }

    fn print(&self, measure: Measure, out: &mut dyn Write) -> io::Result<()> {
        for (name, value) in self.rows(measure, |count| count.to_string()) {
            row(out, name, value)?;
        }
        if let Some(comparing) = self.comparing_seconds {
            let (reading, finding) = (self.reading_seconds, self.finding_seconds);
            let times = format_args!(
                "reading {reading:.1} s, finding candidates {finding:.1} s, comparing {comparing:.1} s"
            );
            row(out, "time", times)?;
        }
        Ok(())
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
            Summary::new(&counts, &ReadCounts::default(), [Duration::ZERO; 2]).share_dropped()
        };
        assert_eq!(share(100, 0, 1), Some(0.99));
        assert_eq!(share(100, 0, 5), None);
        assert_eq!(share(0, 0, 0), None);
        // An index may well have everything.
        assert_eq!(share(100, 100, 0), None);
        assert_eq!(share(200, 100, 1), Some(0.99));
    }
}
