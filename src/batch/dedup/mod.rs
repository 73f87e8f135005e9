//! Near-duplicates left out of documents in order: one document of each cluster is kept.

mod fate;
mod heads;

use std::path::PathBuf;

use super::disjoint_sets::DisjointSets;
use super::pairs::{Pair, PairFinder, PairOptions, link_values};
use super::scan::{ScanOptions, scan};
use crate::error::{Error, Result};
use crate::extsort::MIN_MEMORY;
use crate::fingerprint::Fingerprint;
use crate::index::Segments;
use fate::near;
pub use fate::{DedupCounts, Deduplicated, Fate};
use heads::{Heads, Lists};

/// Stands for no document.
const NONE: u32 = u32::MAX;

/// Bytes that a document takes beside its fingerprint: eight in the disjoint sets, up to twelve in the table of
/// fingerprints, four in a list of those that share one.
const DOCUMENT_LEN: u64 = 24;

/// Bytes that a query of a batch takes.
const QUERY_LEN: u64 = 80;

/// Queries that an index is asked at a time: the least, and as many as pay.
const QUERIES: std::ops::Range<u64> = 1 << 12..1 << 22;

/// How near-duplicates are found. Start from [`DedupOptions::default`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DedupOptions {
    /// The largest distance of near-duplicates, in bits; any is exact. Default 3.
    pub distance: u32,
    /// Bytes of memory for the documents and the search, see [`Deduplicator`]. By default there is no limit.
    pub memory: Option<u64>,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
}

impl Default for DedupOptions {
    fn default() -> Self {
        DedupOptions {
            distance: 3,
            memory: None,
            temp_dir: None,
        }
    }
}

/// Judges candidates: documents, by their numbers, whose fingerprints are near each other.
pub trait Confirm {
    /// A number that two documents of one fingerprint have in common only if they are duplicates without question.
    ///
    /// # Errors
    /// What keeps the document from being looked at; it ends the search.
    fn identity(&mut self, document: usize) -> Result<u64>;

    /// Whether two documents are near-duplicates.
    ///
    /// # Errors
    /// As for [`Confirm::identity`].
    fn is_duplicate(&mut self, a: usize, b: usize) -> Result<bool>;
}

/// Takes the fingerprints of documents in order and finds out which of them to keep.
///
/// Two documents are in one cluster if a chain of near-duplicates leads from one to the other: clusters are the
/// connected components of the near pairs. One document of each is kept. Results depend on nothing but the
/// fingerprints and what a [`Confirm`] says.
///
/// Memory: the fingerprints and up to 24 bytes a document, and beside that what a [`PairFinder`] takes, to which the
/// rest of the limit goes.
///
/// ```
/// use simidx::batch::{DedupOptions, Deduplicator, Fate};
///
/// let mut documents = Deduplicator::<u64>::new(&DedupOptions::default());
/// for fingerprint in [0xff00, 0x1234_5678_0000_0000, 0xff01, 0xff00] {
///     documents.push(fingerprint)?;
/// }
/// let found = documents.finish(None)?;
/// assert_eq!(found.fate(0), Fate::Kept);
/// assert_eq!(found.fate(1), Fate::Kept);
/// assert_eq!(found.fate(2), Fate::Duplicate { of: 0, distance: 1 });
/// assert_eq!(found.fate(3), Fate::Duplicate { of: 0, distance: 0 });
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Deduplicator<F> {
    options: DedupOptions,
    fingerprints: Vec<F>,
    /// Documents that the memory has room for.
    most: usize,
    heads: Option<Heads>,
    /// Fingerprints that an index has something near to, with what that is, ascending.
    known: Vec<(F, F)>,
}

impl<F: Fingerprint> Deduplicator<F> {
    /// A search without documents.
    pub fn new(options: &DedupOptions) -> Self {
        let room = options
            .memory
            .map(|memory| memory.saturating_sub(MIN_MEMORY));
        let most = room.map_or(u64::MAX, |room| room / Self::document_len());
        Deduplicator {
            options: options.clone(),
            fingerprints: Vec::new(),
            most: usize::try_from(most.min(u64::from(NONE))).unwrap_or(usize::MAX),
            heads: None,
            known: Vec::new(),
        }
    }

    fn document_len() -> u64 {
        F::BYTES as u64 + DOCUMENT_LEN
    }

    /// Number of documents so far.
    pub fn document_count(&self) -> usize {
        self.fingerprints.len()
    }

    /// Adds a document, which has the next number, from 0.
    ///
    /// # Errors
    /// More documents than the memory limit has room for, or 2^32 - 1.
    #[inline]
    pub fn push(&mut self, fingerprint: F) -> Result<()> {
        self.extend(&[fingerprint])
    }

    /// Adds documents.
    ///
    /// # Errors
    /// As for [`Deduplicator::push`].
    pub fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        if fingerprints.len() > self.most - self.fingerprints.len() {
            return Err(self.too_many(fingerprints.len()));
        }
        self.heads = None;
        self.fingerprints.extend_from_slice(fingerprints);
        Ok(())
    }

    fn too_many(&self, more: usize) -> Error {
        match self.options.memory {
            Some(memory) if self.most < NONE as usize => {
                let count = self.fingerprints.len() as u64 + more as u64;
                Error::Budget {
                    purpose: format!("deduplicating {count} documents"),
                    needed: count * Self::document_len() + MIN_MEMORY,
                    given: memory,
                }
            }
            _ => Error::LimitReached {
                what: "documents",
                limit: NONE.into(),
            },
        }
    }

    /// Drops all documents so far that are within the distance of a fingerprint of the segments: by their fingerprints
    /// alone, as an index holds no texts, so that further documents of the same fingerprints go too. They are in no
    /// cluster.
    ///
    /// # Errors
    /// As for [`scan`].
    pub fn drop_known<D: AsRef<[u8]> + Sync>(&mut self, segments: &Segments<F, D>) -> Result<()> {
        let mut options = ScanOptions::default();
        options.distance = self.options.distance;
        options.temp_dir = self.options.temp_dir.clone();
        let mut batch_len = QUERIES.end;
        if let Some(rest) = self.rest()? {
            batch_len = (rest / 2 / QUERY_LEN).clamp(QUERIES.start, QUERIES.end);
            options.memory = Some((rest / 2).max(MIN_MEMORY));
        }
        let heads = self.take_heads();
        // Kept apart until all has gone well.
        let mut found = Vec::new();
        let mut distinct = heads
            .iter(&self.fingerprints)
            .map(|(_, fingerprint)| fingerprint);
        loop {
            let queries: Vec<F> = distinct.by_ref().take(batch_len as usize).collect();
            if queries.is_empty() {
                break;
            }
            let mut last = None;
            scan(segments, &queries, &options, |number, near| {
                // The first match of a query is the nearest.
                if last.replace(number) != Some(number) {
                    found.push((queries[number], near.fingerprint));
                }
                Ok(())
            })?;
        }
        drop(distinct);
        self.known.append(&mut found);
        let by_distance =
            |&(fingerprint, near): &(F, F)| (fingerprint, fingerprint.distance(near), near);
        self.known.sort_unstable_by_key(by_distance);
        self.known.dedup_by_key(|&mut (fingerprint, _)| fingerprint);
        self.heads = Some(heads);
        Ok(())
    }

    /// For each document, whether it is a candidate: its fingerprint is that of another document or near to it.
    /// That takes as long as [`Deduplicator::finish`] without a `confirm`, and a byte a document.
    ///
    /// # Errors
    /// As for [`Deduplicator::finish`].
    pub fn candidates(&mut self) -> Result<Vec<bool>> {
        let heads = self.take_heads();
        let mut marks = vec![false; self.fingerprints.len()];
        for (_, head) in heads.others(&self.fingerprints) {
            marks[head] = true;
        }
        // What is near anything is linked to something.
        self.link(&heads, |x, y| (marks[x], marks[y]) = (true, true))?;
        for (document, head) in heads.all(&self.fingerprints) {
            let is_known = near(&self.known, self.fingerprints[head]).is_some();
            marks[document] = marks[head] && !is_known;
        }
        self.heads = Some(heads);
        Ok(marks)
    }

    /// Forms the clusters. With a `confirm` only those candidates are near-duplicates that it confirms: it is asked
    /// about documents of one fingerprint and of two within the distance, not about those that are in one cluster
    /// already. It may be asked about each pair of documents, no two of them identical, whose fingerprints are near.
    ///
    /// Works on all threads of the current pool, calls `confirm` on this one.
    ///
    /// # Errors
    /// What [`PairFinder::finish`] or `confirm` report, a memory limit that is too small.
    pub fn finish(mut self, confirm: Option<&mut dyn Confirm>) -> Result<Deduplicated<F>> {
        let heads = self.take_heads();
        let mut sets = DisjointSets::new(self.fingerprints.len())?;
        match confirm {
            Some(confirm) => self.join_confirmed(&heads, &mut sets, confirm)?,
            None => {
                for (document, head) in heads.others(&self.fingerprints) {
                    sets.join(head as u32, document as u32);
                }
                self.link(&heads, |x, y| {
                    sets.join(x as u32, y as u32);
                })?;
            }
        }
        drop(heads);
        Ok(Deduplicated::new(self.fingerprints, self.known, sets))
    }

    fn join_confirmed(
        &self,
        heads: &Heads,
        sets: &mut DisjointSets,
        confirm: &mut dyn Confirm,
    ) -> Result<()> {
        let mut lists = Lists::new(self.fingerprints.len());
        for (document, head) in heads.others(&self.fingerprints) {
            if near(&self.known, self.fingerprints[head]).is_none() {
                lists.add(head as u32, document as u32);
            }
        }
        for (head, _) in heads.iter(&self.fingerprints) {
            let distinct = lists.join_identical(head as u32, sets, confirm)?;
            for (i, &x) in distinct.iter().enumerate() {
                join_if_confirmed(&[x], &distinct[i + 1..], sets, confirm)?;
            }
        }
        let [mut xs, mut ys] = [Vec::new(), Vec::new()];
        self.find(heads, |x, y| {
            lists.get(x as u32, &mut xs);
            lists.get(y as u32, &mut ys);
            join_if_confirmed(&xs, &ys, sets, confirm)
        })
    }

    /// Calls `visit` with the first documents of fingerprints that are near each other and not known: of so many that
    /// all clusters come together, which in a crowd are far fewer than there are pairs.
    fn link(&self, heads: &Heads, mut visit: impl FnMut(usize, usize)) -> Result<()> {
        // The values, their copy in buckets, at worst one bucket with all of them, and what is known of their links.
        let needed = heads.len() as u64 * (3 * F::BYTES as u64 + 12) + MIN_MEMORY / 2;
        if self.rest()?.is_some_and(|rest| rest < needed) {
            return self.find(heads, |x, y| {
                visit(x, y);
                Ok(())
            });
        }
        let values = heads.iter(&self.fingerprints).map(|(_, value)| value);
        let mut values: Vec<F> = values
            .filter(|&value| near(&self.known, value).is_none())
            .collect();
        F::sort(&mut values);
        link_values(&values, self.options.distance, &mut |pairs| {
            let of = |fingerprint| heads.find(&self.fingerprints, fingerprint);
            for (x, y) in pairs.drain(..) {
                if let (Some(x), Some(y)) = (of(x), of(y)) {
                    visit(x, y);
                }
            }
            Ok(())
        })
    }

    /// Calls `visit` with the first documents of each two fingerprints that are near each other, and not known.
    fn find(&self, heads: &Heads, mut visit: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut options = PairOptions::default();
        options.distance = self.options.distance;
        options.memory = self.rest()?;
        options.temp_dir = self.options.temp_dir.clone();
        let mut finder = PairFinder::new(&options)?;
        finder.reserve(heads.len() as u64);
        for (_, fingerprint) in heads.iter(&self.fingerprints) {
            if near(&self.known, fingerprint).is_none() {
                finder.push(fingerprint)?;
            }
        }
        finder.finish(
            |Pair {
                 smaller, larger, ..
             }| {
                let of = |fingerprint| heads.find(&self.fingerprints, fingerprint);
                match (of(smaller), of(larger)) {
                    (Some(x), Some(y)) => visit(x, y),
                    _ => Ok(()),
                }
            },
        )
    }

    /// The part of the memory limit that the documents leave over.
    fn rest(&self) -> Result<Option<u64>> {
        let Some(memory) = self.options.memory else {
            return Ok(None);
        };
        let taken = self.fingerprints.len() as u64 * Self::document_len();
        match memory.checked_sub(taken) {
            Some(rest) => Ok(Some(rest)),
            None => Err(self.too_many(0)),
        }
    }

    fn take_heads(&mut self) -> Heads {
        match self.heads.take() {
            Some(heads) => heads,
            None => Heads::new(&self.fingerprints),
        }
    }
}

/// Joins what is confirmed of all pairs of one of these and one of those.
fn join_if_confirmed(
    xs: &[u32],
    ys: &[u32],
    sets: &mut DisjointSets,
    confirm: &mut dyn Confirm,
) -> Result<()> {
    for &x in xs {
        for &y in ys {
            if sets.root(x) != sets.root(y) && confirm.is_duplicate(x as usize, y as usize)? {
                sets.join(x, y);
            }
        }
    }
    Ok(())
}
