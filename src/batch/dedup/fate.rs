//! What becomes of documents: kept, or dropped for what.

use super::NONE;
use crate::batch::disjoint_sets::DisjointSets;
use crate::fingerprint::Fingerprint;

/// What becomes of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate<F> {
    /// It is kept.
    Kept,
    /// It is dropped for another one of its cluster.
    Duplicate {
        /// The number of the document that is kept.
        of: usize,
        /// Number of bits in which the two fingerprints differ: more than the distance of near-duplicates where a chain
        /// of these leads from one to the other.
        distance: u32,
    },
    /// It is dropped for something in an index, see [`Deduplicator::drop_known`](super::Deduplicator::drop_known).
    Known {
        /// The fingerprint that the index has, of several the nearest, of these the smallest.
        fingerprint: F,
        /// Number of bits in which it differs.
        distance: u32,
    },
}

/// How many documents are kept and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DedupCounts {
    /// All documents.
    pub documents: u64,
    /// Documents that are kept.
    pub kept: u64,
    /// Documents that are dropped for something in an index.
    pub known: u64,
    /// Clusters of two and more documents.
    pub clusters: u64,
    /// Documents of the largest cluster.
    pub largest: u64,
}

/// Which documents to keep. 4 bytes a document and their fingerprints.
#[derive(Debug)]
pub struct Deduplicated<F> {
    fingerprints: Vec<F>,
    /// For each document the one of its cluster that is kept; [`NONE`] if an index has it.
    kept: Vec<u32>,
    known: Vec<(F, F)>,
    counts: DedupCounts,
}

impl<F: Fingerprint> Deduplicated<F> {
    pub(super) fn new(fingerprints: Vec<F>, known: Vec<(F, F)>, mut sets: DisjointSets) -> Self {
        let mut counts = DedupCounts {
            documents: fingerprints.len() as u64,
            ..DedupCounts::default()
        };
        let mut firsts = vec![NONE; fingerprints.len()];
        let mut kept = Vec::with_capacity(fingerprints.len());
        for (&fingerprint, document) in fingerprints.iter().zip(0u32..) {
            if near(&known, fingerprint).is_some() {
                counts.known += 1;
                kept.push(NONE);
                continue;
            }
            let first = &mut firsts[sets.root(document) as usize];
            if *first == NONE {
                *first = document;
                let size = u64::from(sets.size(document));
                counts.kept += 1;
                counts.clusters += u64::from(size > 1);
                counts.largest = counts.largest.max(size);
            }
            kept.push(*first);
        }
        Deduplicated {
            fingerprints,
            kept,
            known,
            counts,
        }
    }

    /// Keeps of each cluster the document of the greatest value, of several the first; before that, the first of all is
    /// kept.
    pub fn prefer(&mut self, value: impl Fn(usize) -> u64) {
        let mut best: Vec<u32> = (0..self.kept.len() as u32).collect();
        for (document, &first) in self.kept.iter().enumerate() {
            if first == NONE {
                continue;
            }
            let best = &mut best[first as usize];
            if value(document) > value(*best as usize) {
                *best = document as u32;
            }
        }
        for kept in self.kept.iter_mut().filter(|kept| **kept != NONE) {
            *kept = best[*kept as usize];
        }
    }

    /// What becomes of a document.
    ///
    /// # Panics
    /// If there is no document of that number.
    pub fn fate(&self, document: usize) -> Fate<F> {
        let own = self.fingerprints[document];
        let of = self.kept[document];
        if of == NONE {
            let fingerprint = near(&self.known, own).unwrap_or(own);
            let distance = own.distance(fingerprint);
            return Fate::Known {
                fingerprint,
                distance,
            };
        }
        let of = of as usize;
        match of == document {
            true => Fate::Kept,
            false => Fate::Duplicate {
                of,
                distance: own.distance(self.fingerprints[of]),
            },
        }
    }

    /// Number of documents dropped for one that is further from them than this distance: a chain of others links them.
    pub fn chained_count(&self, distance: u32) -> u64 {
        let fates = (0..self.fingerprints.len()).map(|document| self.fate(document));
        let is_chained =
            |fate: &Fate<F>| matches!(fate, Fate::Duplicate { distance: d, .. } if *d > distance);
        fates.filter(is_chained).count() as u64
    }

    /// Whether a document is kept; there need be none of that number.
    pub fn is_kept(&self, document: usize) -> bool {
        self.kept
            .get(document)
            .is_some_and(|&kept| kept as usize == document)
    }

    /// How many documents are kept and dropped.
    pub fn counts(&self) -> DedupCounts {
        self.counts
    }
}

/// What is known to be near a fingerprint.
pub(super) fn near<F: Fingerprint>(known: &[(F, F)], fingerprint: F) -> Option<F> {
    let place = known.binary_search_by_key(&fingerprint, |&(fingerprint, _)| fingerprint);
    place.ok().map(|place| known[place].1)
}
