//! Deduplicates documents: keeps one document of each cluster of near-duplicates.

mod apart;
mod decision;
mod options;
mod representatives;

use super::disjoint_sets::DisjointSets;
use super::join::{JoinOptions, join_of};
use super::pairs::{Finder, PairOf, PairOptions, link_values};
use crate::error::{Error, Result};
use crate::extsort::MIN_MEMORY;
use crate::fingerprint::{ByWidth, Column, Fingerprint, Width, by_width, for_width, taken};
use crate::set::Set;
use apart::Apart;
use decision::near;
pub use decision::{Decision, DedupCounts, Deduplicated};
pub use options::DedupOptions;
use representatives::Representatives;

/// Marks a document that has no kept one.
const NONE: u32 = u32::MAX;

/// Bytes for each document, in addition to its fingerprint: eight in the disjoint sets, and up to twelve in the table
/// of fingerprints.
const DOCUMENT_LEN: u64 = 20;

/// Bytes for each query of a batch.
const QUERY_LEN: u64 = 80;

/// The least number of queries of a batch, and the number beyond which larger batches gain nothing.
const QUERIES: std::ops::Range<u64> = 1 << 12..1 << 22;

/// Takes the fingerprints of documents in order and decides which documents to keep.
///
/// Two documents are in one cluster if a chain of near-duplicates links them: clusters are the connected components of
/// the near pairs. One document of each is kept. Results depend only on the fingerprints.
///
/// Memory: the fingerprints, up to 20 bytes for each document, and the memory of a [`PairFinder`](super::PairFinder),
/// which gets the rest of the limit.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{DedupOptions, Deduplicator, Decision};
///
/// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
/// for fingerprint in [0xff00_u64, 0x1234_5678_0000_0000, 0xff01, 0xff00] {
///     documents.push(fingerprint)?;
/// }
/// let found = documents.finish()?;
/// assert_eq!(found.decision(0), Decision::Kept);
/// assert_eq!(found.decision(1), Decision::Kept);
/// assert_eq!(found.decision(2), Decision::Duplicate { of: 0, distance: 1 });
/// assert_eq!(found.decision(3), Decision::Duplicate { of: 0, distance: 0 });
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Deduplicator {
    documents: OfWidth,
}

/// The documents, by width.
type OfWidth = ByWidth<Documents<u32>, Documents<u64>, Documents<u128>>;

impl Deduplicator {
    /// Creates a deduplicator for fingerprints of a width.
    pub fn new(width: Width, options: &DedupOptions) -> Self {
        let documents = for_width!(width, Documents::new(options));
        Deduplicator { documents }
    }

    /// Adds a document. Documents are numbered from 0.
    ///
    /// # Errors
    /// A fingerprint that does not fit the width, and more documents than fit the memory limit, or than 2^32 - 1.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_value(fingerprint.to_u128())
    }

    fn push_value(&mut self, value: u128) -> Result<()> {
        by_width!(ByWidth, &mut self.documents, documents => documents.extend(&[taken(value)?]))
    }

    /// Adds a document for each fingerprint of a column.
    ///
    /// # Errors
    /// A column of another width, and the errors of [`Deduplicator::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend(fingerprints.into())
    }

    fn extend(&mut self, fingerprints: Column<'_>) -> Result<()> {
        by_width!(ByWidth, &mut self.documents, documents => {
            documents.extend(fingerprints.values()?)
        })
    }

    /// Adds a document without a fingerprint, because it has no features. It is not near any document with a
    /// fingerprint, and no index excludes it. Only documents that are added in this way with the same identity are its
    /// duplicates.
    ///
    /// For example, a text in which no feature counts has no fingerprint, and a hash of its bytes is its identity:
    /// `content_identity` of `simidx-text`.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx::batch::{DedupOptions, Deduplicator};
    ///
    /// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
    /// documents.push(0_u64)?;
    /// for identity in [12, 13, 12] {
    ///     documents.push_without_fingerprint(identity)?;
    /// }
    /// let found = documents.finish()?;
    /// let kept: Vec<bool> = (0..4).map(|document| found.is_kept(document)).collect();
    /// assert_eq!(kept, [true, true, true, false]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Deduplicator::push`]; the document takes the memory of two.
    pub fn push_without_fingerprint(&mut self, identity: u128) -> Result<()> {
        by_width!(ByWidth, &mut self.documents, documents => {
            documents.push_without_fingerprint(identity)
        })
    }

    /// Excludes all documents whose fingerprints are within the distance of a fingerprint of the set, whenever they are
    /// added. They are in no cluster. Exclusion goes by fingerprint, since an index holds no texts.
    /// [`Deduplicator::finish`] searches the set.
    ///
    /// # Errors
    /// A set of another width.
    pub fn exclude(&mut self, set: &Set) -> Result<()> {
        by_width!(ByWidth, &mut self.documents, documents => documents.exclude(set))
    }

    /// Excludes documents and forms the clusters, on all threads of the current pool.
    ///
    /// # Errors
    /// The errors of [`Set::join`](crate::Set::join) with the sets that exclude documents, and of
    /// [`PairFinder::finish`](super::PairFinder::finish), a memory limit that is too small, and [`Error::Interrupted`]
    /// if the watch of the options stops the search.
    pub fn finish(self) -> Result<Deduplicated> {
        by_width!(ByWidth, self.documents, documents => documents.cluster())
    }
}

/// The documents of a search, with fingerprints of one type.
#[derive(Debug)]
struct Documents<F> {
    options: DedupOptions,
    fingerprints: Vec<F>,
    /// Documents without a fingerprint, each with a 0 in `fingerprints`.
    apart: Apart,
    /// The most documents that fit the memory limit.
    most: usize,
    /// The sets that exclude documents.
    sets: Vec<Set>,
    /// Fingerprints that a set excludes, ascending, each with the nearest fingerprint of the sets.
    excluded: Vec<(F, F)>,
}

impl<F: Fingerprint> Documents<F> {
    fn new(options: &DedupOptions) -> Self {
        let room = options
            .memory
            .map(|memory| memory.saturating_sub(MIN_MEMORY));
        let most = room.map_or(u64::MAX, |room| room / Self::document_len());
        Documents {
            options: options.clone(),
            fingerprints: Vec::new(),
            apart: Apart::default(),
            most: usize::try_from(most.min(u64::from(NONE))).unwrap_or(usize::MAX),
            sets: Vec::new(),
            excluded: Vec::new(),
        }
    }

    fn document_len() -> u64 {
        F::BYTES as u64 + DOCUMENT_LEN
    }

    fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        if fingerprints.len() > self.most.saturating_sub(self.slots()) {
            return Err(self.too_many(fingerprints.len(), fingerprints.len()));
        }
        self.fingerprints.extend_from_slice(fingerprints);
        Ok(())
    }

    /// See [`Deduplicator::push_without_fingerprint`].
    fn push_without_fingerprint(&mut self, identity: u128) -> Result<()> {
        if self.most.saturating_sub(self.slots()) < 2 {
            return Err(self.too_many(1, 2));
        }
        let document = self.fingerprints.len() as u32;
        self.extend(&[F::ZERO])?;
        self.apart.push(document, identity);
        Ok(())
    }

    /// Returns the number of documents, where each without a fingerprint counts as two.
    fn slots(&self) -> usize {
        self.fingerprints.len() + self.apart.len()
    }

    /// Returns the error that further documents, which take `slots` slots, do not fit.
    fn too_many(&self, documents: usize, slots: usize) -> Error {
        match self.options.memory {
            Some(memory) if self.most < NONE as usize => {
                let count = self.fingerprints.len() + documents;
                Error::Budget {
                    // While documents are added, there may be more, which nobody has counted yet.
                    purpose: match documents {
                        0 => format!("deduplicating {count} documents"),
                        _ => format!("deduplicating the first {count} documents"),
                    },
                    needed: (self.slots() + slots) as u64 * Self::document_len() + MIN_MEMORY,
                    given: memory,
                }
            }
            _ => Error::LimitReached {
                what: "documents",
                limit: NONE.into(),
            },
        }
    }

    /// See [`Deduplicator::exclude`].
    fn exclude(&mut self, set: &Set) -> Result<()> {
        set.width().check(Width::of::<F>())?;
        self.sets.push(set.clone());
        Ok(())
    }

    /// Finds the fingerprints that the sets exclude.
    fn search_sets(&mut self, representatives: &Representatives) -> Result<()> {
        for set in &self.sets {
            let mut options = JoinOptions::default();
            options.distance = self.options.distance;
            options.temp_dir = self.options.temp_dir.clone();
            options.watch = self.options.watch.clone();
            let mut batch_len = QUERIES.end;
            if let Some(rest) = self.rest()? {
                batch_len = (rest / 2 / QUERY_LEN).clamp(QUERIES.start, QUERIES.end);
                options.memory = Some((rest / 2).max(MIN_MEMORY));
            }
            let mut distinct = representatives
                .iter(&self.fingerprints)
                .map(|(_, fingerprint)| fingerprint);
            loop {
                let queries: Vec<F> = distinct.by_ref().take(batch_len as usize).collect();
                if queries.is_empty() {
                    break;
                }
                let mut last = None;
                join_of(set.typed::<F>(), &queries, &options, &mut |number, near| {
                    // The first match of a query is the nearest.
                    if last.replace(number) != Some(number) {
                        self.excluded.push((queries[number], near.fingerprint));
                    }
                    Ok(())
                })?;
            }
        }
        let by_distance =
            |&(fingerprint, near): &(F, F)| (fingerprint, fingerprint.distance(near), near);
        self.excluded.sort_unstable_by_key(by_distance);
        self.excluded
            .dedup_by_key(|&mut (fingerprint, _)| fingerprint);
        Ok(())
    }

    /// See [`Deduplicator::finish`].
    fn cluster(mut self) -> Result<Deduplicated> {
        let representatives = Representatives::new(&self.fingerprints, self.apart.documents());
        self.search_sets(&representatives)?;
        let mut sets = DisjointSets::new(self.fingerprints.len())?;
        self.apart.for_each_repeated(|x, y| {
            sets.join(x, y);
        });
        for (document, representative) in representatives.others(&self.fingerprints) {
            sets.join(representative as u32, document as u32);
        }
        self.link(&representatives, |x, y| {
            sets.join(x as u32, y as u32);
        })?;
        drop(representatives);
        let excluded = self.excluded.into_iter();
        let excluded = excluded.map(|(fingerprint, near)| (fingerprint.to_u128(), near.to_u128()));
        Ok(Deduplicated::new(
            (self.fingerprints.into(), self.apart),
            excluded.collect(),
            sets,
        ))
    }

    /// Calls `visit` with the first documents of enough near pairs to link all clusters, excluded documents left out.
    /// In a crowd these are far fewer than all pairs.
    fn link(
        &self,
        representatives: &Representatives,
        mut visit: impl FnMut(usize, usize),
    ) -> Result<()> {
        // The values, their copy in buckets, at worst one bucket with all of them, and what is known of their links.
        let needed = representatives.len() as u64 * (3 * F::BYTES as u64 + 12) + MIN_MEMORY / 2;
        let rest = self.rest()?;
        if rest.is_some_and(|rest| rest < needed) {
            return self.find(representatives, rest, visit);
        }
        let values = representatives
            .iter(&self.fingerprints)
            .map(|(_, value)| value);
        let mut values: Vec<F> = values
            .filter(|&value| near(&self.excluded, value).is_none())
            .collect();
        F::sort(&mut values);
        let mut take = |pairs: &mut Vec<(F, F)>| {
            let of = |fingerprint| representatives.find(&self.fingerprints, fingerprint);
            for (x, y) in pairs.drain(..) {
                if let (Some(x), Some(y)) = (of(x), of(y)) {
                    visit(x, y);
                }
            }
            Ok(())
        };
        link_values(
            &values,
            self.options.distance,
            &mut take,
            &self.options.watch,
        )
    }

    /// Calls `visit` with the first documents of each near pair of fingerprints, excluded documents left out.
    fn find(
        &self,
        representatives: &Representatives,
        memory: Option<u64>,
        mut visit: impl FnMut(usize, usize),
    ) -> Result<()> {
        let mut options = PairOptions::default();
        options.distance = self.options.distance;
        options.memory = memory;
        options.temp_dir = self.options.temp_dir.clone();
        options.watch = self.options.watch.clone();
        let mut finder = Finder::new(&options)?;
        finder.reserve(representatives.len() as u64);
        for (_, fingerprint) in representatives.iter(&self.fingerprints) {
            if near(&self.excluded, fingerprint).is_none() {
                finder.push(fingerprint)?;
            }
        }
        let mut visit = |pair: PairOf<F>| {
            let of = |fingerprint| representatives.find(&self.fingerprints, fingerprint);
            if let (Some(x), Some(y)) = (of(pair.smaller), of(pair.larger)) {
                visit(x, y);
            }
            Ok(())
        };
        finder.give(&mut visit)
    }

    /// Returns the part of the memory limit that the documents leave.
    fn rest(&self) -> Result<Option<u64>> {
        let Some(memory) = self.options.memory else {
            return Ok(None);
        };
        let taken = self.slots() as u64 * Self::document_len();
        match memory.checked_sub(taken) {
            Some(rest) => Ok(Some(rest)),
            None => Err(self.too_many(0, 0)),
        }
    }
}
