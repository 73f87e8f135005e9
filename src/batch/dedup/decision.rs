//! The decision for each document: kept, a duplicate of another, or excluded.

use super::NONE;
use super::apart::Apart;
use crate::batch::disjoint_sets::DisjointSets;
use crate::fingerprint::{Fingerprint, Fingerprints};

/// Whether a document is kept, and if not, why.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{Decision, DedupOptions, Deduplicator};
///
/// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
/// documents.extend_from_slice(&[0xff00_u64, 0xff01])?;
/// let found = documents.finish()?;
/// match found.decision(1) {
///     Decision::Duplicate { of, distance } => assert_eq!((of, distance), (0, 1)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The document is kept.
    Kept,
    /// The document is dropped because another one of its cluster is kept.
    Duplicate {
        /// The number of the kept document.
        of: usize,
        /// Number of bits in which the two fingerprints differ. A chain of near-duplicates may link documents that
        /// differ in more bits than the distance of near-duplicates.
        distance: u32,
    },
    /// The document is dropped because it is near a fingerprint of an index, see
    /// [`Deduplicator::exclude`](super::Deduplicator::exclude).
    Excluded {
        /// The nearest fingerprint in the index; of equally near ones the smallest.
        fingerprint: u128,
        /// Number of bits in which the document's fingerprint differs from it.
        distance: u32,
    },
}

/// The numbers of kept and dropped documents.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{DedupOptions, Deduplicator};
///
/// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
/// documents.extend_from_slice(&[7_u64, 7, 1 << 60 | 0xffff])?;
/// let counts = documents.finish()?.counts();
/// assert_eq!((counts.documents, counts.kept, counts.clusters), (3, 2, 1));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DedupCounts {
    /// Number of all documents.
    pub documents: u64,
    /// Number of kept documents.
    pub kept: u64,
    /// Number of documents that are dropped because they are near a fingerprint of an index.
    pub excluded: u64,
    /// Number of clusters of two or more documents.
    pub clusters: u64,
    /// Number of documents in the largest cluster.
    pub largest: u64,
    /// Number of documents without a fingerprint. They are not near any other document.
    pub without_fingerprint: u64,
}

/// The documents to keep, as [`Deduplicator::finish`](super::Deduplicator::finish) returns them. Memory: 4 bytes for
/// each document and each cluster, and the fingerprints.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{DedupOptions, Deduplicator};
///
/// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
/// documents.extend_from_slice(&[7_u64, 7, 1 << 60 | 0xffff])?;
/// let found = documents.finish()?;
/// let kept: Vec<usize> = (0..3).filter(|&document| found.is_kept(document)).collect();
/// assert_eq!(kept, [0, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Deduplicated {
    fingerprints: Fingerprints,
    /// The kept document of each document's cluster; [`NONE`] if an index excludes it.
    kept: Vec<u32>,
    excluded: Vec<(u128, u128)>,
    /// The kept documents of clusters of two or more, ascending.
    clusters: Vec<u32>,
    counts: DedupCounts,
}

impl Deduplicated {
    pub(super) fn new(
        (fingerprints, apart): (Fingerprints, Apart),
        excluded: Vec<(u128, u128)>,
        mut sets: DisjointSets,
    ) -> Self {
        let apart = apart.into_documents();
        let mut counts = DedupCounts {
            documents: fingerprints.len() as u64,
            without_fingerprint: apart.len() as u64,
            ..DedupCounts::default()
        };
        let mut firsts = vec![NONE; fingerprints.len()];
        let mut kept = Vec::with_capacity(fingerprints.len());
        let mut clusters = Vec::new();
        for (fingerprint, document) in fingerprints.iter().zip(0u32..) {
            let is_excluded = near(&excluded, fingerprint).is_some();
            if is_excluded && apart.binary_search(&document).is_err() {
                counts.excluded += 1;
                kept.push(NONE);
                continue;
            }
            let first = &mut firsts[sets.root(document) as usize];
            if *first == NONE {
                *first = document;
                let size = u64::from(sets.size(document));
                counts.kept += 1;
                if size > 1 {
                    clusters.push(document);
                }
                counts.largest = counts.largest.max(size);
            }
            kept.push(*first);
        }
        counts.clusters = clusters.len() as u64;
        Deduplicated {
            fingerprints,
            kept,
            excluded,
            clusters,
            counts,
        }
    }

    /// Keeps the document with the greatest value in each cluster; of equals the first. Without this call, the first
    /// document of each cluster is kept.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx::batch::{DedupOptions, Deduplicator};
    ///
    /// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
    /// documents.extend_from_slice(&[7_u64, 7, 7])?;
    /// let mut found = documents.finish()?;
    /// let lengths = [120, 480, 300];
    /// found.keep_by(|document| lengths[document]);
    /// assert!(found.is_kept(1));
    /// # Ok::<(), simidx::Error>(())
    /// ```
    pub fn keep_by(&mut self, value: impl Fn(usize) -> u64) {
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
        for kept in &mut self.clusters {
            *kept = best[*kept as usize];
        }
        self.clusters.sort_unstable();
    }

    /// Returns the number of a document's cluster, counted from 0 in the order of the kept documents. Only clusters of
    /// two or more documents count. Returns `None` if the document is not in one, or does not exist.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx::batch::{DedupOptions, Deduplicator};
    ///
    /// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
    /// documents.extend_from_slice(&[7_u64, 1 << 60 | 0xffff, 9 << 40, 1 << 60 | 0xffff, 7])?;
    /// let found = documents.finish()?;
    /// let numbers: Vec<_> = (0..5).map(|document| found.cluster_of(document)).collect();
    /// assert_eq!(numbers, [Some(0), Some(1), None, Some(1), Some(0)]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    pub fn cluster_of(&self, document: usize) -> Option<u64> {
        let kept = self.kept.get(document)?;
        let number = self.clusters.binary_search(kept).ok()?;
        Some(number as u64)
    }

    /// Returns the decision for a document.
    ///
    /// # Panics
    /// If the document does not exist.
    pub fn decision(&self, document: usize) -> Decision {
        let own = self.fingerprint(document);
        let of = self.kept[document];
        if of == NONE {
            let fingerprint = near(&self.excluded, own).unwrap_or(own);
            let distance = own.distance(fingerprint);
            return Decision::Excluded {
                fingerprint,
                distance,
            };
        }
        let of = of as usize;
        match of == document {
            true => Decision::Kept,
            false => Decision::Duplicate {
                of,
                distance: own.distance(self.fingerprint(of)),
            },
        }
    }

    fn fingerprint(&self, document: usize) -> u128 {
        let fingerprint = self.fingerprints.get(document);
        fingerprint.expect("a document of this number")
    }

    /// Returns the number of duplicates that differ from the kept document in more bits than `distance`: chains of
    /// others link them.
    pub fn chained_count(&self, distance: u32) -> u64 {
        let decisions = (0..self.fingerprints.len()).map(|document| self.decision(document));
        let is_chained = |decision: &Decision| matches!(decision, Decision::Duplicate { distance: d, .. } if *d > distance);
        decisions.filter(is_chained).count() as u64
    }

    /// Returns whether a document is kept; `false` if it does not exist.
    pub fn is_kept(&self, document: usize) -> bool {
        self.kept
            .get(document)
            .is_some_and(|&kept| kept as usize == document)
    }

    /// Returns how many documents are kept and dropped.
    pub fn counts(&self) -> DedupCounts {
        self.counts
    }
}

/// Returns the fingerprint of an index that excludes this one.
pub(super) fn near<F: Fingerprint>(excluded: &[(F, F)], fingerprint: F) -> Option<F> {
    let place = excluded.binary_search_by_key(&fingerprint, |&(fingerprint, _)| fingerprint);
    place.ok().map(|place| excluded[place].1)
}
