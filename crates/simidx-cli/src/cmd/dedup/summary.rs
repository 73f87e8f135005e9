//! The figures at the end, and what is to be thought of them.

use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use simidx::batch::DedupCounts;
use simidx_text::dedup::Similarity;
use simidx_text::similar::JaccardEstimate;

use super::judged::{Found, Judged};
use super::measure::Measure;
use super::similar::Similar;
use crate::support::failure::Failure;
use crate::support::labels::Label;
use crate::support::messages::{counted, is_quiet, say};
use crate::support::output::{stdout, write_report};
use crate::support::page::grouped;
use crate::support::similarity::features_of;

/// The share of documents that only a mistake drops, mostly.
const MANY_DROPPED: f64 = 0.95;

/// Templates in the figures for a person.
const SHOWN_TEMPLATES: usize = 3;

/// The figures of a run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// The distance of near-duplicates, if fingerprints were compared.
    max_distance: Option<u32>,
    /// Why fingerprints were compared, if that was not asked for.
    #[serde(skip)]
    reason: Option<&'static str>,
    /// The least similarity, if texts were.
    similarity: Option<f64>,
    /// What the texts have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<String>,
    documents: u64,
    kept: u64,
    dropped: u64,
    /// Of those, what the index has.
    in_index: u64,
    /// And what is no near-duplicate of the document that is kept for it.
    chained: u64,
    clusters: u64,
    largest_cluster: u64,
    /// Bits of the sketches by which texts were compared with the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    sketch_bits: Option<u32>,
    /// Standard error of these estimates at the least similarity.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate_standard_error: Option<f64>,
    /// Documents that only equal ones are near to.
    without_features: u64,
    /// Documents with a single feature: they have no more words than a run, or repeat one.
    #[serde(skip_serializing_if = "Option::is_none")]
    single_feature: Option<u64>,
    /// Kept documents that have much in common without being similar enough: how many, and one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<Vec<TemplateFigure>>,
    /// Documents with the id of an earlier one.
    repeated_ids: u64,
    /// Records that are no documents.
    skipped: u64,
    /// Of those, what is in the output.
    skipped_kept: u64,
    /// Records in which bytes became U+FFFD.
    replaced: u64,
    /// Documents that were compared with others, and pairs of texts that were compared feature by feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_pairs: Option<u64>,
    /// Times of the stages: reading, finding what may be near, and, if texts are compared by similarity, comparing them.
    reading_seconds: f64,
    finding_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparing_seconds: Option<f64>,
}

/// Kept documents that were made from one template.
#[derive(Debug, Clone, Serialize)]
struct TemplateFigure {
    count: u64,
    example: Value,
    #[serde(skip)]
    label: Label,
}

/// Takes the times of the stages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    last: Instant,
    reading: Duration,
    finding: Duration,
}

impl Clock {
    /// Reading starts.
    pub(super) fn start() -> Self {
        Clock {
            last: Instant::now(),
            reading: Duration::ZERO,
            finding: Duration::ZERO,
        }
    }

    /// Reading has ended, and finding starts.
    pub(super) fn has_read(&mut self) {
        self.reading = self.last.elapsed();
        self.last = Instant::now();
    }

    /// What was to be found has been found.
    pub(super) fn has_found(&mut self) {
        self.finding = self.last.elapsed();
    }
}

/// What became of records that are no documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unjudged {
    pub(super) count: u64,
    /// Of those, what is in the output.
    pub(super) kept: u64,
}

impl Summary {
    /// The figures of what was found.
    ///
    /// # Errors
    /// Ids that cannot be read.
    pub(super) fn new(judged: &Judged<'_>, measure: Measure) -> Result<Self, Failure> {
        let found = &judged.found;
        let counts = found.counts();
        let similar = match found {
            Found::Near(..) => None,
            Found::Similar(found) => Some(found),
        };
        let named = |(count, example)| {
            let label = judged.label(example)?;
            Ok::<_, Failure>(TemplateFigure {
                count,
                example: label.to_json(),
                label,
            })
        };
        let templates =
            similar.map(|similar| similar.templates().map(named).collect::<Result<_, _>>());
        let (chained, compared) = match found {
            Found::Near(found) => (found.chained_count(measure.limit()), None),
            Found::Similar(found) => {
                let least = measure.similarity().map_or(0.0, |s| s.least());
                (found.chained_count(least), Some(found.search_counts()))
            }
        };
        let similarity = measure.similarity();
        let sketch_bits = similar.map(|s| s.in_index.bits).filter(|&bits| bits > 0);
        let error_of = |(similarity, bits): (Similarity, u32)| {
            let distance = (1.0 - similarity.least()) / 2.0 * f64::from(bits);
            let error = JaccardEstimate::at(distance as u32, bits).standard_error;
            (error * 1000.0).round() / 1000.0
        };
        Ok(Summary {
            single_feature: similar.map(Similar::single_feature_count),
            sketch_bits,
            estimate_standard_error: similarity.zip(sketch_bits).map(error_of),
            templates: templates.transpose()?,
            max_distance: measure.distance(),
            reason: measure.reason(),
            similarity: similarity.map(|similarity| similarity.least()),
            features: similarity.map(features_of),
            chained,
            candidates: compared.map(|counts| counts.candidate_count),
            compared_pairs: compared.map(|counts| counts.compared_count),
            ..Summary::of(&counts)
        })
    }

    fn of(counts: &DedupCounts) -> Self {
        Summary {
            documents: counts.documents,
            kept: counts.kept,
            dropped: counts.documents - counts.kept,
            in_index: counts.excluded,
            clusters: counts.clusters,
            largest_cluster: counts.largest,
            ..Summary::default()
        }
    }

    pub(super) fn with_unjudged(mut self, unjudged: Unjudged) -> Self {
        self.skipped = unjudged.count;
        self.skipped_kept = unjudged.kept;
        self
    }

    pub(super) fn with_without_features(mut self, count: u64) -> Self {
        self.without_features = count;
        self
    }

    pub(super) fn with_times(mut self, clock: Clock, comparing: Option<Duration>) -> Self {
        let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        self.reading_seconds = seconds(clock.reading);
        self.finding_seconds = seconds(clock.finding.saturating_sub(comparing.unwrap_or_default()));
        self.comparing_seconds = comparing.map(seconds);
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
            (
                "documents with a single feature",
                self.single_feature.unwrap_or(0),
            ),
            ("documents with the id of an earlier one", self.repeated_ids),
            ("records not judged", self.skipped),
        ];
        let mut figures = figures.map(|(name, value)| (name, grouped(value))).to_vec();
        if let Some(estimates) = self.estimates() {
            figures.push(("how members of the index were found", estimates));
        }
        for TemplateFigure { count, label, .. } in self.templates.iter().flatten() {
            let template = format!("{}, such as {label}", grouped(*count));
            figures.push(("kept documents of one template", template));
        }
        figures
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

    /// How documents of an index were found, if that was by estimates.
    fn estimates(&self) -> Option<String> {
        let (bits, error) = (self.sketch_bits?, self.estimate_standard_error?);
        Some(format!(
            "estimates by sketches of {bits} bits, standard error {error:.3}"
        ))
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
        if let (Some(similarity), Some(features)) = (self.similarity, &self.features) {
            let measure = format_args!("{similarity} and more, by {features}");
            row("similarity", &measure)?;
        }
        if let Some(method) = self.estimates() {
            row("in the index", &method)?;
        }
        if let (Some(distance), Some(reason)) = (self.max_distance, self.reason) {
            let measure = format_args!("at most {}: {reason}", counted(distance.into(), "bit"));
            row("distance", &measure)?;
        }
        row("clusters", &self.clusters)?;
        row("largest cluster", &self.largest_cluster)?;
        if self.without_features > 0 {
            row("without features", &self.without_features)?;
        }
        match (self.skipped, self.skipped_kept) {
            (0, _) => {}
            (count, 0) => row("not judged", &format_args!("{count}, left out"))?,
            (count, kept) if kept == count => row("not judged", &format_args!("{count}, kept"))?,
            (count, kept) => row("not judged", &format_args!("{count}, {kept} of them kept"))?,
        }
        if let Some(count @ 1..) = self.single_feature {
            row("with a single feature", &count)?;
        }
        for template in self.templates.iter().flatten().take(SHOWN_TEMPLATES) {
            let TemplateFigure { count, label, .. } = template;
            row("of one template", &format_args!("{count}, such as {label}"))?;
        }
        if let Some(pairs) = self.compared_pairs {
            row("compared pairs of texts", &pairs)?;
            let (reading, finding) = (self.reading_seconds, self.finding_seconds);
            let comparing = self.comparing_seconds.unwrap_or_default();
            let times = format_args!(
                "reading {reading:.1} s, finding candidates {finding:.1} s, comparing {comparing:.1} s"
            );
            row("time", &times)?;
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
            Summary::of(&counts).share_dropped()
        };
        assert_eq!(share(100, 0, 1), Some(0.99));
        assert_eq!(share(100, 0, 5), None);
        assert_eq!(share(0, 0, 0), None);
        // An index that has everything is no surprise.
        assert_eq!(share(100, 100, 0), None);
        assert_eq!(share(200, 100, 1), Some(0.99));
    }
}
