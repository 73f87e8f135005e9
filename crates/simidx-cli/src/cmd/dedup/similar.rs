//! Documents that are dropped because their texts are similar to those of others.

use std::time::{Duration, Instant};

use simidx::batch::DedupCounts;
use simidx_text::similar::{Counts, Fate, SimilarDedup, SimilarTexts};

use super::Keep;
use super::documents::Known;
use super::in_index::{Against, InIndex};
use crate::support::failure::Failure;
use crate::support::progress::ProgressMode;
use crate::support::similarity::candidates;
use simidx_input::InputFile;

/// Stands for a document that is in no cluster.
const NONE: u32 = u32::MAX;

/// The decisions, and the clusters that they make: documents that are dropped, and the one that is kept for them.
/// Memory: 4 bytes a document beside those of the decisions.
pub(super) struct Similar {
    /// Of the documents that no index has.
    fates: SimilarDedup,
    pub(super) in_index: InIndex,
    /// How long the comparison of texts took.
    pub(super) comparing: Duration,
    /// The numbers of the clusters, by the text that is kept.
    numbers: Vec<u32>,
    clusters: u64,
    largest: u64,
}

impl Similar {
    /// Compares the texts and decides on each.
    ///
    /// # Errors
    /// Too little memory, and an input that cannot be read again or has changed.
    pub(super) fn find(
        mut texts: SimilarTexts,
        against: Option<Box<Against<'_>>>,
        (keep, by_chains): (Keep, bool),
        (originals, documents): (&[InputFile], &Known),
        mode: ProgressMode,
    ) -> Result<Self, Failure> {
        let in_index = match against {
            Some(against) => against.finish(&mut texts)?,
            None => InIndex::default(),
        };
        let lengths = documents.lengths.as_ref().filter(|_| keep == Keep::Longest);
        let lengths = lengths.map(|lengths| {
            let texts = 0..texts.text_count();
            texts
                .map(|text| lengths[in_index.document_of(text)])
                .collect()
        });
        let source = (originals, &documents.labels.positions);
        let text_of = |document| in_index.text_of(document);
        let candidates = candidates(texts, lengths, &text_of, source, mode)?;
        let (bar, watch) = mode.comparing();
        let start = Instant::now();
        let fates = match by_chains {
            false => candidates.dedup(&watch)?,
            true => candidates.dedup_by_chains(&watch)?,
        };
        bar.finish_and_clear();
        let mut found = Similar::of(fates, in_index);
        found.comparing = start.elapsed();
        Ok(found)
    }

    /// Numbers the clusters in the order of their first documents.
    fn of(fates: SimilarDedup, in_index: InIndex) -> Self {
        let mut sizes = vec![0u32; fates.text_count()];
        for document in 0..fates.text_count() {
            if let Fate::Dropped { kept, .. } = fates.fate(document) {
                sizes[kept] += 1;
            }
        }
        let largest = sizes.iter().max().map_or(0, |&most| u64::from(most) + 1);
        let mut numbers = sizes;
        for number in &mut numbers {
            // A cluster without a number yet, or none.
            *number = if *number > 0 { NONE - 1 } else { NONE };
        }
        let mut clusters = 0;
        for document in 0..fates.text_count() {
            let number = &mut numbers[kept_for(&fates, document)];
            if *number == NONE - 1 {
                *number = clusters;
                clusters += 1;
            }
        }
        Similar {
            fates,
            in_index,
            comparing: Duration::ZERO,
            numbers,
            clusters: clusters.into(),
            largest: if clusters > 0 { largest } else { 0 },
        }
    }

    /// The number of the cluster of a document.
    pub(super) fn cluster_of(&self, document: usize) -> Option<u64> {
        let text = self.in_index.text_of(document)?;
        let number = self.numbers[kept_for(&self.fates, text)];
        (number != NONE).then_some(number.into())
    }

    /// What becomes of a document that no index has; none if one has it.
    pub(super) fn fate(&self, document: usize) -> Option<Fate> {
        let text = self.in_index.text_of(document)?;
        Some(match self.fates.fate(text) {
            Fate::Kept => Fate::Kept,
            Fate::Dropped { kept, jaccard } => Fate::Dropped {
                kept: self.in_index.document_of(kept),
                jaccard,
            },
        })
    }

    /// What the search has done.
    pub(super) fn search_counts(&self) -> Counts {
        self.fates.counts()
    }

    /// Documents with a single feature, but for those of an index.
    pub(super) fn single_feature_count(&self) -> u64 {
        self.fates.single_feature_count() as u64
    }

    /// Templates of documents: how many there are of each, and one of them.
    pub(super) fn templates(&self) -> impl Iterator<Item = (u64, usize)> {
        let templates = self.fates.templates().iter();
        templates.map(|template| {
            let example = self.in_index.document_of(template.example);
            (template.count as u64, example)
        })
    }

    /// How many documents there are, and what becomes of them.
    pub(super) fn counts(&self) -> DedupCounts {
        let texts = self.fates.text_count() as u64;
        let mut counts = DedupCounts::default();
        counts.excluded = self.in_index.count() as u64;
        counts.documents = texts + counts.excluded;
        counts.kept = texts - self.fates.dropped_count() as u64;
        counts.clusters = self.clusters;
        counts.largest = self.largest;
        counts
    }

    /// Documents that are less similar than this to the one that is kept for them.
    pub(super) fn chained_count(&self, least: f64) -> u64 {
        let is_chained = |document: &usize| matches!(self.fates.fate(*document), Fate::Dropped { jaccard, .. } if jaccard < least);
        (0..self.fates.text_count()).filter(is_chained).count() as u64
    }
}

/// The document that is kept for one, which may be itself.
fn kept_for(fates: &SimilarDedup, document: usize) -> usize {
    match fates.fate(document) {
        Fate::Kept => document,
        Fate::Dropped { kept, .. } => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simidx::Watch;
    use simidx_text::Pipeline;
    use simidx_text::similar::SimilarOptions;

    #[test]
    fn clusters_are_numbered_by_their_first_documents() {
        let mut texts =
            SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default()).unwrap();
        let given = [
            "alone in the dark wood",
            "two of a kind it is",
            "three of them, if you count",
            "two of a kind it is",
            "three of them if you count!",
            "Three of them if you count",
        ];
        given.iter().for_each(|text| texts.push(*text).unwrap());
        // The longer ones are decided on first.
        let found = texts
            .candidates_by(|text| given[text].len() as u64)
            .unwrap();
        let found = Similar::of(found.dedup(&Watch::default()).unwrap(), InIndex::default());
        let clusters: Vec<_> = (0..given.len())
            .map(|text| found.cluster_of(text))
            .collect();
        assert_eq!(
            clusters,
            [None, Some(0), Some(1), Some(0), Some(1), Some(1)]
        );
        assert!(found.fates.is_kept(4) || found.fates.is_kept(2));
        let counts = found.counts();
        assert_eq!((counts.documents, counts.kept), (6, 3));
        assert_eq!((counts.clusters, counts.largest), (2, 3));
        assert_eq!(found.chained_count(0.8), 0);
    }
}
