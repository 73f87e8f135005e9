//! Searching segments: the query of each, and one answer.

use std::iter::FusedIterator;
use std::ops::{Deref, Range};

use super::{SegmentIds, Segments};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::index::{Match, QUERIES_UNDER_WAY, QueryStats, Scratch, Strategy};

/// What a query asks for.
///
/// ```
/// use simidx::segments::Question;
///
/// assert_eq!(Question::default(), Question::Within(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// All fingerprints within this distance of the query, in bits.
    Within(u32),
    /// The fingerprints nearest to the query: by distance, then by value.
    Nearest {
        /// How many of them.
        count: usize,
        /// The largest distance at which they are looked for, in bits.
        max_distance: u32,
    },
}

impl Default for Question {
    fn default() -> Self {
        Question::Within(3)
    }
}

/// A match in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found<F> {
    /// The number of the query among those that are answered together.
    owner: u32,
    distance: u32,
    fingerprint: F,
    segment: usize,
    rank: Option<u64>,
}

impl<F: Copy> Found<F> {
    fn new(owner: u32, segment: usize, found: &Match<F>) -> Self {
        Found {
            owner,
            distance: found.distance,
            fingerprint: found.fingerprint,
            segment,
            rank: found.rank,
        }
    }
}

/// Finds out where each match ends in what one or several segments have found, in order.
fn group<F: Eq>(found: &[Found<F>], ends: &mut Vec<usize>) {
    ends.clear();
    let mut end = 0;
    let groups = found.chunk_by(|a, b| a.fingerprint == b.fingerprint);
    ends.extend(groups.map(|group| {
        end += group.len();
        end
    }));
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
/// #     Index::<u64>::from_bytes(file)
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
    ranked: bool,
    stats: QueryStats,
}

impl<F> Default for SegmentScratch<F> {
    fn default() -> Self {
        SegmentScratch {
            scratch: Scratch::new(),
            found: Vec::new(),
            ends: Vec::new(),
            ranked: true,
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

    /// Whether matches of files with ids get their ranks, as [`Scratch::set_ranked`] does.
    pub fn set_ranked(&mut self, ranked: bool) {
        self.ranked = ranked;
    }

    /// The answer to the last query; empty if it failed.
    pub fn matches(&self) -> SegmentMatches<'_, F> {
        SegmentMatches {
            found: &self.found,
            ends: &self.ends,
        }
    }

    /// What the last query cost in all segments together, or the last list of queries.
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
    /// Adds the matches that a segment has for some queries, without those that are left out.
    ///
    /// # Errors
    /// A damaged segment.
    fn add_within(
        &mut self,
        segments: &Segments<F>,
        segment: usize,
        fingerprints: &[F],
        distance: u32,
    ) -> Result<()> {
        let index = &segments.segments()[segment];
        let hides_some = segments.hides_some(segment);
        self.scratch.set_ranked(self.ranked || hides_some);
        let found = index.find_together(&mut self.scratch, fingerprints, distance)?;
        for (owner, found) in found {
            if hides_some && segments.hides(segment, found.fingerprint, found.rank)? {
                continue;
            }
            self.found.push(Found::new(owner, segment, &found));
        }
        self.stats += self.scratch.stats();
        Ok(())
    }

    /// Adds the fingerprints of a segment that are nearest to a query, without those that are left out.
    ///
    /// # Errors
    /// A damaged segment.
    fn add_nearest(
        &mut self,
        segments: &Segments<F>,
        segment: usize,
        fingerprint: F,
        (count, max_distance): (usize, u32),
    ) -> Result<()> {
        let index = &segments.segments()[segment];
        let hides_some = segments.hides_some(segment);
        let (start, mut wanted) = (self.found.len(), count);
        self.scratch.set_ranked(self.ranked || hides_some);
        // As many more as are left out may take their places.
        loop {
            let found = index.nearest_with(&mut self.scratch, fingerprint, wanted, max_distance)?;
            for found in found {
                if hides_some && segments.hides(segment, found.fingerprint, found.rank)? {
                    continue;
                }
                self.found.push(Found::new(0, segment, found));
            }
            let found = self.scratch.matches().len();
            self.stats += self.scratch.stats();
            let hidden = found - (self.found.len() - start);
            if hidden == 0 || found < wanted || found - hidden >= count {
                return Ok(());
            }
            self.found.truncate(start);
            wanted = count.saturating_add(hidden).max(wanted.saturating_mul(2));
        }
    }

    /// The answer to a query whose matches are in this range of `found`.
    fn answer(&mut self, range: Range<usize>) -> SegmentMatches<'_, F> {
        let found = &self.found[range];
        group(found, &mut self.ends);
        SegmentMatches {
            found,
            ends: &self.ends,
        }
    }

    /// Keeps the first matches, and returns the distance of the last one if there are so many.
    fn keep_first(&mut self, count: usize) -> Option<u32> {
        group(&self.found, &mut self.ends);
        let end = *self.ends.get(count.checked_sub(1)?)?;
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
/// #     Index::<u64>::from_bytes(file)
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
/// let segments = Segments::new(vec![Index::<u64>::from_bytes(file)?])?;
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
/// #     Index::<u64>::from_bytes(file)
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

impl<F: Fingerprint> Segments<F> {
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
        self.answer_with(scratch, fingerprint, Question::Within(distance))
    }

    /// The `count` fingerprints nearest to `fingerprint` among those within `max_distance` in any segment, as
    /// [`Index::nearest_with`](crate::Index::nearest_with) finds them in one: each once, by distance, then by value. They stay
    /// in the scratch until its next query.
    ///
    /// The matches of one segment bound the search in the next one. It is quickest if the segments that are likely to hold
    /// the nearest come first.
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
        let question = Question::Nearest {
            count,
            max_distance,
        };
        self.answer_with(scratch, fingerprint, question)
    }

    /// The answer to a query, which stays in the scratch until its next one.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn answer_with<'s>(
        &self,
        scratch: &'s mut SegmentScratch<F>,
        fingerprint: F,
        question: Question,
    ) -> Result<SegmentMatches<'s, F>> {
        scratch.start();
        let asked = self.ask(scratch, &[fingerprint], question);
        if asked.is_err() {
            scratch.clear();
        }
        asked?;
        Ok(scratch.answer(0..scratch.found.len()))
    }

    /// Answers many queries, several at a time where all within a distance is asked for. Calls `visit` for each in order,
    /// with its number in `fingerprints` and its answer as from [`Segments::answer_with`]. The scratch then holds no answer.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Index, IndexBuilder};
    /// use simidx::segments::{Question, SegmentScratch, Segments};
    ///
    /// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
    /// # builder.extend([0xff, 0xfe])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let segments = Segments::from(Index::<u64>::from_bytes(file)?);
    /// let (mut scratch, mut counts) = (SegmentScratch::new(), Vec::new());
    /// segments.answer_many_with(&mut scratch, &[0xff, 7 << 50], Question::Within(3), |_, matches| {
    ///     counts.push(matches.len());
    ///     Ok(())
    /// })?;
    /// assert_eq!(counts, [2, 0]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged block among those that had to be read, and what `visit` returns. `visit` has then been called for some of the
    /// queries before it, and is not called again.
    pub fn answer_many_with(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprints: &[F],
        question: Question,
        mut visit: impl FnMut(usize, SegmentMatches<'_, F>) -> Result<()>,
    ) -> Result<()> {
        scratch.start();
        let answered = self.answer_each(scratch, fingerprints, question, &mut visit);
        scratch.clear();
        answered
    }

    fn answer_each(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprints: &[F],
        question: Question,
        visit: &mut dyn FnMut(usize, SegmentMatches<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let together = match question {
            Question::Within(_) => QUERIES_UNDER_WAY,
            Question::Nearest { .. } => 1,
        };
        let mut number = 0;
        for queries in fingerprints.chunks(together) {
            scratch.clear();
            self.ask(scratch, queries, question)?;
            let mut start = 0;
            for owner in 0..queries.len() {
                let rest = &scratch.found[start..];
                let end = start + rest.partition_point(|found| found.owner as usize <= owner);
                visit(number, scratch.answer(start..end))?;
                (start, number) = (end, number + 1);
            }
        }
        Ok(())
    }

    /// Leaves the matches of some queries in the scratch; those of one if the nearest are asked for.
    #[inline(never)]
    fn ask(
        &self,
        scratch: &mut SegmentScratch<F>,
        fingerprints: &[F],
        question: Question,
    ) -> Result<()> {
        let mut bound = u32::MAX;
        for segment in 0..self.segment_count() {
            match question {
                Question::Within(distance) => scratch
                    .add_within(self, segment, fingerprints, distance)
                    .map_err(self.blame(segment))?,
                Question::Nearest {
                    count,
                    max_distance,
                } => {
                    let wanted = (count, max_distance.min(bound));
                    scratch
                        .add_nearest(self, segment, fingerprints[0], wanted)
                        .map_err(self.blame(segment))?;
                    scratch.found.sort_unstable();
                    bound = scratch.keep_first(count).unwrap_or(bound);
                }
            }
        }
        // The nearest are in order already.
        if self.segment_count() > 1 && matches!(question, Question::Within(_)) {
            scratch.found.sort_unstable();
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
        let nearest = Question::Nearest {
            count: 1,
            max_distance: distance,
        };
        let nearest = self.ask(scratch, &[fingerprint], nearest);
        let is_near = !scratch.found.is_empty();
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
    pub fn ids(&self, found: &SegmentMatch<'_, F>) -> Result<SegmentIds<'_>> {
        let is_own = |place: &Found<F>| place.segment < self.segment_count();
        if !found.found.iter().all(is_own) {
            return Err(Error::option("match", "it is of other segments"));
        }
        let places = found.places().map(|(segment, found)| {
            let ids = self.segments()[segment].ids(&found);
            (segment, ids)
        });
        SegmentIds::merge(self, places)
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
/// #     Index::<u64>::from_bytes(file)
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

impl<F: Fingerprint, H: Deref<Target = Segments<F>>> SegmentSearcher<F, H> {
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
    pub fn ids<'a>(&'a self, found: &SegmentMatch<'_, F>) -> Result<SegmentIds<'a>> {
        self.segments.ids(found)
    }

    /// What the last query cost in all segments together.
    pub fn stats(&self) -> QueryStats {
        self.scratch.stats()
    }
}
