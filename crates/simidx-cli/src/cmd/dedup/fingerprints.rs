//! Documents that are dropped because their fingerprints are near those of others, or of members of indexes.

use std::time::Instant;

use simidx::batch::{Decision, DedupCounts, DedupOptions, Deduplicated, Deduplicator};
use simidx::{Column, Error, IdKind, Set};
use simidx_text::Pipeline;

use super::judged::{Decisions, Judged, Member, Verdict};
use super::known::Known;
use super::summary::Summary;
use super::{Job, Keep};
use crate::support::failure::Failure;
use crate::support::pipeline::files_of;
use crate::support::records::{Fingerprinted, Refusal, Sink};

/// Reads the documents and decides on each by its fingerprint. Of a cluster the first is kept, or the longest.
///
/// # Errors
/// Documents that cannot be read or compared.
pub(super) fn judge<'a>(job: &Job<'a>, distance: u32) -> Result<(Judged<'a>, Summary), Failure> {
    let mut options = DedupOptions::default();
    options.distance = distance;
    options.memory = Some(job.memory.search);
    options.temp_dir.clone_from(&job.args.resources.temp_dir);
    let mut collector = Collector {
        deduplicator: Deduplicator::new(job.width, &options),
        known: job.known(job.args.report.is_some() || job.args.annotate),
        needs_texts: job.args.keep == Keep::Longest,
        foreign: job.set.and_then(|set| foreign_pipeline(set, &job.pipeline)),
    };
    let start = Instant::now();
    let read = job.read(&mut collector)?;
    let reading = start.elapsed();
    let Collector {
        mut deduplicator,
        mut known,
        ..
    } = collector;
    known.labels.end(&read)?;
    if let Some(set) = job.set {
        deduplicator.exclude(set)?;
    }
    let bar = job.mode.spinner(match job.set {
        None => "finding near-duplicates",
        Some(_) => "looking documents up in the index, and finding near-duplicates",
    });
    let mut found = deduplicator.finish()?;
    bar.finish_and_clear();
    if let Some(lengths) = &known.labels.lengths {
        found.keep_by(|document| lengths[document].into());
    }
    let finding = start.elapsed() - reading;
    let summary = Summary {
        max_distance: Some(distance),
        chained: found.chained_count(distance),
        ..Summary::new(&found.counts(), &read, [reading, finding])
    };
    let near = Near {
        found,
        set: job.set,
    };
    let judged = Judged {
        decisions: Box::new(near),
        documents: known,
    };
    Ok((judged, summary))
}

/// Takes documents in.
struct Collector {
    deduplicator: Deduplicator,
    known: Known,
    /// Whether records without texts are refused.
    needs_texts: bool,
    /// The reason why no document can be compared with the index.
    foreign: Option<String>,
}

impl Sink for Collector {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        if let (true, Some(reason)) = (record.is_document, &self.foreign) {
            return Err(Refusal::Input(reason.clone()));
        }
        if self.needs_texts && !record.is_document {
            return Err(Refusal::record("has no text, which --keep longest needs"));
        }
        match record.without_features {
            None => self.deduplicator.push(record.fingerprint)?,
            Some(identity) => self.deduplicator.push_without_fingerprint(identity)?,
        }
        Ok(self.known.push(&record)?)
    }

    fn takes_fingerprints(&self) -> bool {
        !self.needs_texts
    }

    fn fingerprints(&mut self, fingerprints: Column<'_>, first_position: u64) -> Result<(), Error> {
        self.deduplicator.extend_from_slice(fingerprints)?;
        let count = fingerprints.len() as u64;
        self.known.labels.push_unnamed(first_position, count);
        Ok(())
    }
}

/// Returns the warning that the index was made of documents by another pipeline.
fn foreign_pipeline(set: &Set, own: &Pipeline) -> Option<String> {
    let described = set.pipeline()?;
    let name = &set.names()[0];
    match Pipeline::parse(described, &files_of(own)) {
        Ok(pipeline) if pipeline == *own => None,
        Ok(_) => Some(format!(
            "{name} was built with another pipeline; `simidx info` shows it"
        )),
        Err(error) => Some(format!("{name}: {error}")),
    }
}

/// The decisions.
struct Near<'a> {
    found: Deduplicated,
    set: Option<&'a Set>,
}

impl Decisions for Near<'_> {
    fn counts(&self) -> DedupCounts {
        self.found.counts()
    }

    fn verdict(&self, document: usize) -> Verdict {
        match self.found.decision(document) {
            Decision::Kept => Verdict::Kept,
            Decision::Duplicate { of, distance } => Verdict::Duplicate {
                of,
                distance: Some(distance),
                similarity: None,
            },
            Decision::Excluded { distance, .. } => Verdict::Excluded {
                distance: Some(distance),
            },
        }
    }

    fn cluster_of(&self, document: usize) -> Option<u64> {
        self.found.cluster_of(document)
    }

    fn member(&self, document: usize) -> Result<Option<Member>, Error> {
        let (Decision::Excluded { fingerprint, .. }, Some(set)) =
            (self.found.decision(document), self.set)
        else {
            return Ok(None);
        };
        let id = match set.id_kind() {
            IdKind::None => None,
            _ => set.ids_of(fingerprint)?.next().transpose()?,
        };
        Ok(Some(Member {
            fingerprint: set.width().to_hex(fingerprint),
            id,
            similarity: None,
            estimate: None,
        }))
    }
}
