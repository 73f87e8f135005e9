//! Searching segments: the query of each, and one answer.

use std::iter::FusedIterator;
use std::ops::Deref;

use super::{SegmentIds, Segments, SegmentsView};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::index::{Match, QueryStats, Scratch, Strategy};

/// A match in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found<F> {
    distance: u32,
    fingerprint: F,
    segment: usize,
    rank: Option<u64>,
}

/// The memory that queries of segments work in, with the answer to the last one, as [`Scratch`] is for one index.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::{IdKind, Index};
/// use simidx::segments::{SegmentScratch, Segments};
///
/// # let segment = |fingerprint, id| {
/// #     let mut options = BuildOptions::default();
/// #     options.ids = IdKind::Number;
/// #     let mut builder = IndexBuilder::<u64>::new(options)?;
/// #     builder.push_with_number(fingerprint, id)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64, _>::from_bytes(file)
/// # };
/// let segments = Segments::new(vec![segment(0xff, 1)?, segment(0xfe, 2)?])?;
/// let mut scratch = SegmentScratch::new();
/// let mut ids = Vec::new();
/// for found in segments.query_with(&mut scratch, 0xff, 3)? {
///     for id in segments.ids(&found)? {
///         ids.push((found.distance, id?.to_string()));
///     }
/// }
/// assert_eq!(ids, [(0, "1".to_owned()), (1, "2".to_owned())]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentScratch<F: 'static> {
    scratch: Scratch<F>,
    /// What each segment found, in order.
    found: Vec<Found<F>>,
    /// Where in `found` each match ends.
    ends: Vec<usize>,
    stats: QueryStats,
}

impl<F> Default for SegmentScratch<F> {
    fn default() -> Self {
        SegmentScratch {
            scratch: Scratch::new(),
            found: Vec::new(),
            ends: Vec::new(),
            stats: QueryStats::default(),
        }
    }
}

impl<F> SegmentScratch<F> {
    /// A scratch without memory; the first queries allocate it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.scratch.set_strategy(strategy);
    }

    /// Says whether the files are larger than the memory that they may take, as [`Scratch::expect_cold_blocks`] does.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.scratch.expect_cold_blocks(cold);
    }

    /// The answer to the last query; empty if it failed.
    pub fn matches(&self) -> SegmentMatches<'_, F> {
        SegmentMatches {
            found: &self.found,
            ends: &self.ends,
        }
    }

    /// What the last query cost in all segments together.
    pub fn stats(&self) -> QueryStats {
        self.stats
    }

    fn clear(&mut self) {
        self.found.clear();
        self.ends.clear();
    }

    /// Forgets the last query.
    fn start(&mut self) {
        self.clear();
        self.stats = QueryStats::default();
    }
}

impl<F: Fingerprint> SegmentScratch<F> {
    /// Adds the answer of a segment, without the matches that are left out. Returns how many these are.
    ///
    /// # Errors
    /// A damaged segment.
    fn add<D: AsRef<[u8]>>(
        &mut self,
        segments: &SegmentsView<'_, F, D>,
        segment: usize,
    ) -> Result<usize> {
        self.stats += self.scratch.stats();
        let hides_some = segments.hides_some(segment);
        let mut hidden = 0;
        for found in self.scratch.matches() {
            if hides_some {
                let hides = segments.hides(segment, found.fingerprint, found.rank);
                if hides.map_err(segments.blame(segment))? {
                    hidden += 1;
                    continue;
                }
            }
            self.found.push(Found {
                distance: found.distance,
                fingerprint: found.fingerprint,
                segment,
                rank: found.rank,
            });
        }
        Ok(hidden)
    }

    /// Finds out where each match ends, after the answers of several segments have been put in order.
    fn group(&mut self, several: bool) {
        if several {
            self.found.sort_unstable();
        }
        self.ends.clear();
        let mut end = 0;
        let groups = self.found.chunk_by(|a, b| a.fingerprint == b.fingerprint);
        self.ends.extend(groups.map(|group| {
            end += group.len();
            end
        }));
    }

    /// Keeps the first matches, and returns the distance of the last one if there are so many.
    fn keep_first(&mut self, count: usize) -> Option<u32> {
        let end = *self.ends.get(count.checked_sub(1)?)?;
        self.ends.truncate(count);
        self.found.truncate(end);
        self.found.last().map(|found| found.distance)
    }
}

/// The answer to a query of segments, in a [`SegmentScratch`]: each fingerprint once, by distance, then by value.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::{SegmentScratch, Segments};
///
/// # let segment = |fingerprint| {
/// #     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// #     builder.push(fingerprint)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64, _>::from_bytes(file)
/// # };
/// let segments = Segments::new(vec![segment(0xff)?, segment(0xfe)?, segment(0xff)?])?;
/// let mut scratch = SegmentScratch::new();
/// let matches = segments.query_with(&mut scratch, 0xff, 3)?;
/// assert_eq!(matches.len(), 2);
/// let nearest = matches.get(0).unwrap();
/// assert_eq!((nearest.fingerprint, nearest.distance), (0xff, 0));
/// assert_eq!(nearest.places().map(|(segment, _)| segment).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentMatches<'s, F> {
    found: &'s [Found<F>],
    ends: &'s [usize],
}

impl<F> Clone for SegmentMatches<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for SegmentMatches<'_, F> {}

impl<'s, F> SegmentMatches<'s, F> {
    /// Number of fingerprints found.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<'s, F: Fingerprint> SegmentMatches<'s, F> {
    /// A match by its number, if there are as many.
    pub fn get(&self, number: usize) -> Option<SegmentMatch<'s, F>> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let found = &self.found[start..end];
        let first = found.first()?;
        Some(SegmentMatch {
            distance: first.distance,
            fingerprint: first.fingerprint,
            found,
        })
    }

    /// The matches in order.
    pub fn iter(&self) -> SegmentMatchIter<'s, F> {
        SegmentMatchIter {
            matches: *self,
            next: 0,
        }
    }
}

impl<'s, F: Fingerprint> IntoIterator for SegmentMatches<'s, F> {
    type Item = SegmentMatch<'s, F>;
    type IntoIter = SegmentMatchIter<'s, F>;

    fn into_iter(self) -> SegmentMatchIter<'s, F> {
        self.iter()
    }
}

/// Goes through [`SegmentMatches`] in order.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::Segments;
///
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # for fingerprint in [0xff, 0xfe] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let segments = Segments::new(vec![Index::<u64, _>::from_bytes(file)?])?;
/// let mut searcher = segments.searcher();
/// let mut matches = searcher.query(0xff, 3)?.iter();
/// assert_eq!(matches.len(), 2);
/// assert_eq!(matches.next().unwrap().fingerprint, 0xff);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SegmentMatchIter<'s, F> {
    matches: SegmentMatches<'s, F>,
    next: usize,
}

impl<'s, F: Fingerprint> Iterator for SegmentMatchIter<'s, F> {
    type Item = SegmentMatch<'s, F>;

    fn next(&mut self) -> Option<SegmentMatch<'s, F>> {
        let found = self.matches.get(self.next)?;
        self.next += 1;
        Some(found)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.matches.len() - self.next;
        (left, Some(left))
    }
}

impl<F: Fingerprint> ExactSizeIterator for SegmentMatchIter<'_, F> {}

impl<F: Fingerprint> FusedIterator for SegmentMatchIter<'_, F> {}

/// A fingerprint within the distance of a query, and where it was found.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::Segments;
///
/// # let segment = || {
/// #     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// #     builder.push(0xff)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64, _>::from_bytes(file)
/// # };
/// let segments = Segments::new(vec![segment()?, segment()?])?; // both hold 0xff
/// let mut searcher = segments.searcher();
/// for found in searcher.query(0xfe, 3)? {
///     assert_eq!((found.fingerprint, found.distance), (0xff, 1));
///     assert_eq!(found.places().len(), 2);
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SegmentMatch<'s, F> {
    /// Number of bits in which it differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: F,
    found: &'s [Found<F>],
}

impl<'s, F: Fingerprint> SegmentMatch<'s, F> {
    /// The numbers of the segments that hold it, ascending, each with the match in that segment.
    pub fn places(&self) -> impl ExactSizeIterator<Item = (usize, Match<F>)> + use<'s, F> {
        self.found.iter().map(|found| {
            let mut place = Match::unranked(found.distance, found.fingerprint);
            place.rank = found.rank;
            (found.segment, place)
        })
    }
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> SegmentsView<'a, F, D> {
    /// All fingerprints within `distance` of `fingerprint` in any segment, each once, by distance, then by value. They stay
    /// in the scratch until its next query.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn query_with<'s>(
        &self,
        scratch: &'s mut SegmentScratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<SegmentMatches<'s, F>> {
        scratch.start();
        let asked = self.ask_all(scratch, fingerprint, distance);
        if asked.is_err() {
            scratch.clear();
        }
        asked?;
        scratch.group(self.segment_count() > 1);
        Ok(scratch.matches())
    }

    /// Adds the matches of all segments.
    #[inline(never)]
    fn ask_all(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<()> {
        for (segment, index) in self.indexes().enumerate() {
            let found = index.query_with(&mut scratch.scratch, fingerprint, distance);
            found.map_err(self.blame(segment))?;
            scratch.add(self, segment)?;
        }
        Ok(())
    }

    /// The `count` fingerprints nearest to `fingerprint` among those within `max_distance` in any segment, as
    /// [`Index::nearest_with`](crate::Index::nearest_with) finds them in one: each once, by distance, then by value. They stay
    /// in the scratch until its next query.
    ///
    /// What one segment has found bounds the search in the next: those that are likely to hold the nearest come first at
    /// best.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn nearest_with<'s>(
        &self,
        scratch: &'s mut SegmentScratch<F>,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<SegmentMatches<'s, F>> {
        scratch.start();
        let asked = self.ask_nearest(scratch, fingerprint, count, max_distance);
        if asked.is_err() {
            scratch.clear();
        }
        asked?;
        Ok(scratch.matches())
    }

    /// Leaves the nearest of all segments in the scratch.
    #[inline(never)]
    fn ask_nearest(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<()> {
        let mut bound = max_distance;
        for (segment, index) in self.indexes().enumerate() {
            let (start, mut wanted) = (scratch.found.len(), count);
            // As many more as are left out may take their places.
            loop {
                let found = index.nearest_with(&mut scratch.scratch, fingerprint, wanted, bound);
                let found = found.map_err(self.blame(segment))?.len();
                let hidden = scratch.add(self, segment)?;
                if hidden == 0 || found < wanted || found - hidden >= count {
                    break;
                }
                scratch.found.truncate(start);
                wanted = count.saturating_add(hidden).max(wanted.saturating_mul(2));
            }
            scratch.group(segment > 0);
            if let Some(farthest) = scratch.keep_first(count) {
                bound = farthest;
            }
        }
        Ok(())
    }

    /// Whether any segment holds a fingerprint within `distance` of `fingerprint`, as
    /// [`Index::contains_near_with`](crate::Index::contains_near_with) tells of one. The scratch then holds no answer.
    ///
    /// # Errors
    /// A damaged block among those that had to be read.
    #[inline(never)]
    pub fn contains_near_with(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<bool> {
        scratch.start();
        let mut may_be_hidden = false;
        for (segment, index) in self.indexes().enumerate() {
            let near = index.contains_near_with(&mut scratch.scratch, fingerprint, distance);
            scratch.stats += scratch.scratch.stats();
            if near.map_err(self.blame(segment))? {
                if !self.hides_some(segment) {
                    return Ok(true);
                }
                may_be_hidden = true;
            }
        }
        if !may_be_hidden {
            return Ok(false);
        }
        // What is near may be left out: then something else may be as near.
        let stats = scratch.stats;
        let nearest = self.ask_nearest(scratch, fingerprint, 1, distance);
        let is_near = !scratch.ends.is_empty();
        scratch.clear();
        scratch.stats += stats;
        nearest.map(|()| is_near)
    }

    /// The ids that a match of a query of these segments has in any of them, in order: numbers by value, strings by their
    /// bytes, equal ones as often as there are records. The match knows its places, so that only the pages of its ids are read.
    ///
    /// If several segments hold the match, 32 bytes of memory for each id, or for each run of equal ids in a segment.
    ///
    /// # Errors
    /// As for [`Index::ids`](crate::Index::ids).
    pub fn ids(&self, found: &SegmentMatch<'_, F>) -> Result<SegmentIds<'a>> {
        let view = *self;
        let places = found.places().map(|(segment, found)| {
            let ids = match view.get(segment) {
                Some(index) => index.ids(&found),
                None => Err(Error::option("match", "it is of other segments")),
            };
            (segment, ids)
        });
        SegmentIds::merge(*self, places)
    }
}

/// A [`SegmentScratch`] together with the segments that it queries, as [`Searcher`](crate::index::Searcher) is for one index.
///
/// `H` is a handle of the segments: `&Segments` in a searcher from [`Segments::searcher`], or an `Arc<Segments>`.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::Segments;
///
/// # let segment = |fingerprint| {
/// #     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// #     builder.push(fingerprint)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64, _>::from_bytes(file)
/// # };
/// let segments = Segments::new(vec![segment(0xff)?, segment(0xfe)?])?;
/// let mut searcher = segments.searcher();
/// assert_eq!(searcher.query(0xff, 0)?.len(), 1);
/// assert_eq!(searcher.query(0xff, 1)?.len(), 2);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentSearcher<F: 'static, H> {
    segments: H,
    scratch: SegmentScratch<F>,
}

impl<F: Fingerprint, D: AsRef<[u8]>, H: Deref<Target = Segments<F, D>>> SegmentSearcher<F, H> {
    /// A searcher of the segments, with an empty scratch.
    pub fn new(segments: H) -> Self {
        SegmentSearcher {
            segments,
            scratch: SegmentScratch::new(),
        }
    }

    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.scratch.set_strategy(strategy);
    }

    /// Says whether the files are larger than the memory that they may take, as [`Scratch::expect_cold_blocks`] does.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.scratch.expect_cold_blocks(cold);
    }

    /// All fingerprints within a distance, as from [`Segments::query_with`].
    ///
    /// # Errors
    /// As for [`Segments::query_with`].
    pub fn query(&mut self, fingerprint: F, distance: u32) -> Result<SegmentMatches<'_, F>> {
        self.segments
            .query_with(&mut self.scratch, fingerprint, distance)
    }

    /// The nearest fingerprints, as from [`Segments::nearest_with`].
    ///
    /// # Errors
    /// As for [`Segments::nearest_with`].
    pub fn nearest(
        &mut self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<SegmentMatches<'_, F>> {
        self.segments
            .nearest_with(&mut self.scratch, fingerprint, count, max_distance)
    }

    /// The answer to the last query; empty if it failed.
    pub fn matches(&self) -> SegmentMatches<'_, F> {
        self.scratch.matches()
    }

    /// The ids of a match, as from [`Segments::ids`].
    ///
    /// # Errors
    /// As for [`Segments::ids`].
    pub fn ids<'a>(&'a self, found: &SegmentMatch<'_, F>) -> Result<SegmentIds<'a>>
    where
        D: 'a,
    {
        self.segments.ids(found)
    }

    /// What the last query cost in all segments together.
    pub fn stats(&self) -> QueryStats {
        self.scratch.stats()
    }
}
