//! Searches a set: queries each file and merges the matches.

use std::any::Any;
use std::ops::Range;

use super::matches::{Found, Hit, Matches, group};
use super::{Set, Typed, at_width};
use crate::error::Result;
use crate::fingerprint::{Column, Fingerprint, Width};
use crate::index::{Ids, QUERIES_UNDER_WAY, QueryStats, Scratch, Strategy};

/// A question to a set.
///
/// ```
/// use simidx::set::Question;
///
/// assert_eq!(Question::default(), Question::Within(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// All fingerprints within this distance of the query, in bits.
    Within(u32),
    /// The fingerprints nearest to the query, by distance, then by value.
    Nearest {
        /// The most fingerprints to return.
        count: usize,
        /// The largest distance to search, in bits.
        max_distance: u32,
    },
}

impl Question {
    /// Returns the largest distance of a match, in bits.
    pub fn max_distance(self) -> u32 {
        match self {
            Question::Within(distance) => distance,
            Question::Nearest { max_distance, .. } => max_distance,
        }
    }
}

impl Default for Question {
    fn default() -> Self {
        Question::Within(3)
    }
}

/// The working memory of queries to sets, which also holds the answer to the last one. Once its lists have grown to the
/// largest answer, queries allocate nothing. A scratch works with every set of any width.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// use simidx::{IdKind, Set};
/// use simidx::set::SetScratch;
///
/// # let file = |fingerprint: u64, id| {
/// #     let mut options = BuildOptions::default();
/// #     options.ids = IdKind::Number;
/// #     let mut builder = IndexBuilder::new(Width::W64, options)?;
/// #     builder.push_with_id(fingerprint, id)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let set = Set::new([file(0xff, 1)?, file(0xfe, 2)?])?;
/// let mut scratch = SetScratch::new();
/// let mut ids = Vec::new();
/// for hit in set.query_with(&mut scratch, 0xff_u64, 3)?.iter() {
///     for id in hit.ids()? {
///         ids.push((hit.distance, id?.to_string()));
///     }
/// }
/// assert_eq!(ids, [(0, "1".to_owned()), (1, "2".to_owned())]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SetScratch {
    /// The scratches for each width.
    of_widths: (Scratch<u32>, Scratch<u64>, Scratch<u128>),
    strategy: Strategy,
    cold: bool,
    ranked: bool,
    /// The matches of each file, in order.
    found: Vec<Found>,
    /// The end of each match in `found`.
    ends: Vec<usize>,
    stats: QueryStats,
}

impl Default for SetScratch {
    fn default() -> Self {
        SetScratch {
            of_widths: Default::default(),
            strategy: Strategy::default(),
            cold: false,
            ranked: true,
            found: Vec::new(),
            ends: Vec::new(),
            stats: QueryStats::default(),
        }
    }
}

impl SetScratch {
    /// Creates an empty scratch; the first queries allocate its memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how later queries are answered.
    #[doc(hidden)]
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Sets whether the files are larger than the memory available to them, see [`Scratch::expect_cold_blocks`].
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        self.cold = cold;
    }

    /// Sets whether later queries find the place of ids. Default `true`. If no ids are read, `false` saves a look-up in
    /// table 0 for each match, as with [`Scratch::set_ranked`].
    pub fn set_ranked(&mut self, ranked: bool) {
        self.ranked = ranked;
    }

    /// Returns the cost of the last query, or of the last list of queries, in all files.
    pub fn stats(&self) -> QueryStats {
        self.stats
    }

    fn clear(&mut self) {
        self.found.clear();
        self.ends.clear();
    }

    /// Discards the last answer.
    fn start(&mut self) {
        self.clear();
        self.stats = QueryStats::default();
    }

    /// Returns the scratch for queries to one file.
    fn of_width<F: Fingerprint>(&mut self, ranked: bool) -> &mut Scratch<F> {
        let (of_32, of_64, of_128) = &mut self.of_widths;
        let scratch: &mut dyn Any = match Width::of::<F>() {
            Width::W32 => of_32,
            Width::W64 => of_64,
            Width::W128 => of_128,
        };
        let scratch: &mut Scratch<F> = scratch.downcast_mut().expect("that of the width");
        scratch.set_strategy(self.strategy);
        scratch.expect_cold_blocks(self.cold);
        scratch.set_ranked(ranked);
        scratch
    }

    /// Returns the answer to the query whose matches are in this range of `found`.
    fn answer<'s, F: Fingerprint>(
        &'s mut self,
        set: &'s Set,
        range: Range<usize>,
    ) -> Matches<'s, F> {
        let found = &self.found[range];
        group(found, &mut self.ends);
        Matches::new(set, (found, &self.ends), self.stats)
    }

    /// Keeps the first `count` matches. Returns the distance of the last one if there are that many.
    fn keep_first(&mut self, count: usize) -> Option<u32> {
        group(&self.found, &mut self.ends);
        let end = *self.ends.get(count.checked_sub(1)?)?;
        self.found.truncate(end);
        self.found.last().map(|found| found.distance)
    }
}

impl Set {
    /// Returns all fingerprints within `distance` of `fingerprint` in any file, each once, by distance, then by value.
    /// Allocates; [`Set::query_with`] does not.
    ///
    /// # Errors
    /// A damaged block of a file; a type that is narrower than the set, or a value that does not fit its width.
    pub fn query<F: Fingerprint>(&self, fingerprint: F, distance: u32) -> Result<Vec<Hit<'_, F>>> {
        let mut scratch = SetScratch::new();
        let found = self.query_with(&mut scratch, fingerprint, distance)?;
        Ok(found.owned_by(self))
    }

    /// Returns the `count` fingerprints nearest to `fingerprint` in all files, like
    /// [`Index::nearest`](crate::Index::nearest). Allocates; [`Set::nearest_with`] does not.
    ///
    /// # Errors
    /// The errors of [`Set::query`].
    pub fn nearest<F: Fingerprint>(
        &self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<Vec<Hit<'_, F>>> {
        let mut scratch = SetScratch::new();
        let found = self.nearest_with(&mut scratch, fingerprint, count, max_distance)?;
        Ok(found.owned_by(self))
    }

    /// Returns whether a file holds any fingerprint within `distance` of `fingerprint`, like
    /// [`Index::contains_near`](crate::Index::contains_near).
    ///
    /// # Errors
    /// The errors of [`Set::query`].
    pub fn contains_near(&self, fingerprint: impl Fingerprint, distance: u32) -> Result<bool> {
        self.contains_near_with(&mut SetScratch::new(), fingerprint, distance)
    }

    /// Answers [`Set::query`] in a scratch, which holds the answer until its next query.
    ///
    /// # Errors
    /// The errors of [`Set::query`]; the scratch then holds no answer.
    pub fn query_with<'s, F: Fingerprint>(
        &'s self,
        scratch: &'s mut SetScratch,
        fingerprint: F,
        distance: u32,
    ) -> Result<Matches<'s, F>> {
        self.answer_with(scratch, fingerprint, Question::Within(distance))
    }

    /// Answers [`Set::nearest`] in a scratch, which holds the answer until its next query.
    ///
    /// The matches of each file limit the search in the next one, so this is fastest if the first files hold the
    /// nearest fingerprints.
    ///
    /// # Errors
    /// The errors of [`Set::query`]; the scratch then holds no answer.
    pub fn nearest_with<'s, F: Fingerprint>(
        &'s self,
        scratch: &'s mut SetScratch,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<Matches<'s, F>> {
        let question = Question::Nearest {
            count,
            max_distance,
        };
        self.answer_with(scratch, fingerprint, question)
    }

    /// Answers a query in a scratch, which holds the answer until its next query.
    ///
    /// # Errors
    /// The errors of [`Set::query`]; the scratch then holds no answer.
    pub fn answer_with<'s, F: Fingerprint>(
        &'s self,
        scratch: &'s mut SetScratch,
        fingerprint: F,
        question: Question,
    ) -> Result<Matches<'s, F>> {
        scratch.start();
        self.gives::<F>()?;
        let fingerprint = self.width().takes(fingerprint)?;
        self.ask_one(scratch, fingerprint, question)?;
        let found = 0..scratch.found.len();
        Ok(scratch.answer(self, found))
    }

    /// Stores the matches of a query in the scratch.
    fn ask_one(
        &self,
        scratch: &mut SetScratch,
        fingerprint: u128,
        question: Question,
    ) -> Result<()> {
        let asked = at_width!(self, typed => {
            typed.ask(scratch, &[Fingerprint::from_u128(fingerprint)], question)
        });
        if asked.is_err() {
            scratch.clear();
        }
        asked
    }

    /// Answers many queries. Calls `visit` for each in order, with its number and its answer, like
    /// [`Set::answer_with`]. Several queries within a distance are searched together. The scratch then holds no answer.
    ///
    /// ```
    /// # use simidx::{BuildOptions, IndexBuilder, Width};
    /// use simidx::Set;
    /// use simidx::set::{Question, SetScratch};
    ///
    /// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// # builder.extend_from_slice(&[0xff_u64, 0xfe])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let set = Set::from_bytes(file)?;
    /// let (mut scratch, mut counts) = (SetScratch::new(), Vec::new());
    /// let queries = [0xff_u64, 7 << 50];
    /// set.answer_many_with(&mut scratch, &queries, Question::Within(3), |_, matches| {
    ///     counts.push(matches.len());
    ///     Ok(())
    /// })?;
    /// assert_eq!(counts, [2, 0]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged block that had to be read, queries of another width than the set, and any error of `visit`. `visit`
    /// may have been called for earlier queries, and is not called again.
    pub fn answer_many_with<'q>(
        &self,
        scratch: &mut SetScratch,
        queries: impl Into<Column<'q>>,
        question: Question,
        mut visit: impl FnMut(usize, Matches<'_, u128>) -> Result<()>,
    ) -> Result<()> {
        scratch.start();
        let answered = self.answer_column(scratch, queries.into(), question, &mut visit);
        scratch.clear();
        answered
    }

    fn answer_column(
        &self,
        scratch: &mut SetScratch,
        queries: Column<'_>,
        question: Question,
        visit: &mut dyn FnMut(usize, Matches<'_, u128>) -> Result<()>,
    ) -> Result<()> {
        at_width!(self, typed => {
            typed.answer_each(scratch, queries.values()?, question, visit)
        })
    }

    /// Returns whether any file holds a fingerprint within `distance` of `fingerprint`, like
    /// [`Index::contains_near_with`](crate::Index::contains_near_with). The scratch then holds no answer.
    ///
    /// # Errors
    /// The errors of [`Set::query`].
    pub fn contains_near_with(
        &self,
        scratch: &mut SetScratch,
        fingerprint: impl Fingerprint,
        distance: u32,
    ) -> Result<bool> {
        scratch.start();
        self.contains_near_value(scratch, self.width().takes(fingerprint)?, distance)
    }

    fn contains_near_value(
        &self,
        scratch: &mut SetScratch,
        fingerprint: u128,
        distance: u32,
    ) -> Result<bool> {
        at_width!(self, typed => {
            typed.contains_near(scratch, Fingerprint::from_u128(fingerprint), distance)
        })
    }

    /// Returns the ids of a match in its file.
    pub(super) fn ids_found(&self, found: &Found) -> Result<Ids<'_>> {
        at_width!(self, typed => typed.index(found.segment).ids(&found.in_its_file()))
    }
}

impl<F: Fingerprint> Typed<'_, F> {
    /// Answers each query, see [`Set::answer_many_with`].
    pub(crate) fn answer_each(
        self,
        scratch: &mut SetScratch,
        fingerprints: &[F],
        question: Question,
        visit: &mut dyn FnMut(usize, Matches<'_, u128>) -> Result<()>,
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
                visit(number, scratch.answer(self.set(), start..end))?;
                (start, number) = (end, number + 1);
            }
        }
        Ok(())
    }

    /// Stores the matches of some queries in the scratch; for the nearest, those of a single query.
    fn ask(self, scratch: &mut SetScratch, fingerprints: &[F], question: Question) -> Result<()> {
        let mut bound = u32::MAX;
        for segment in 0..self.segment_count() {
            match question {
                Question::Within(distance) => self
                    .add_within(scratch, segment, fingerprints, distance)
                    .map_err(self.blame(segment))?,
                Question::Nearest {
                    count,
                    max_distance,
                } => {
                    let wanted = (count, max_distance.min(bound));
                    self.add_nearest(scratch, segment, fingerprints[0], wanted)
                        .map_err(self.blame(segment))?;
                    scratch.found.sort_unstable();
                    bound = scratch.keep_first(count).unwrap_or(bound);
                }
            }
        }
        // The nearest are already in order.
        if self.segment_count() > 1 && matches!(question, Question::Within(_)) {
            scratch.found.sort_unstable();
        }
        Ok(())
    }

    /// Adds the matches in a file of some queries, without excluded records.
    ///
    /// # Errors
    /// A damaged file.
    fn add_within(
        self,
        scratch: &mut SetScratch,
        segment: usize,
        fingerprints: &[F],
        distance: u32,
    ) -> Result<()> {
        let hides_some = self.hides_some(segment);
        let mut all = std::mem::take(&mut scratch.found);
        let of_file = scratch.of_width::<F>(scratch.ranked || hides_some);
        let found = self
            .index(segment)
            .find_together(of_file, fingerprints, distance)?;
        for (owner, found) in found {
            if hides_some && self.hides(segment, found.fingerprint, found.rank)? {
                continue;
            }
            all.push(Found::new(owner, segment, &found));
        }
        let stats = of_file.stats();
        scratch.stats += stats;
        scratch.found = all;
        Ok(())
    }

    /// Adds the fingerprints of a file nearest to a query, without excluded records.
    ///
    /// # Errors
    /// A damaged file.
    fn add_nearest(
        self,
        scratch: &mut SetScratch,
        segment: usize,
        fingerprint: F,
        (count, max_distance): (usize, u32),
    ) -> Result<()> {
        let index = self.index(segment);
        let hides_some = self.hides_some(segment);
        let (mut all, ranked) = (std::mem::take(&mut scratch.found), scratch.ranked);
        let (start, mut wanted) = (all.len(), count);
        // Searches for more until enough matches are not excluded.
        loop {
            let of_file = scratch.of_width::<F>(ranked || hides_some);
            let found = index.nearest_with(of_file, fingerprint, wanted, max_distance)?;
            for found in found {
                if hides_some && self.hides(segment, found.fingerprint, found.rank)? {
                    continue;
                }
                all.push(Found::new(0, segment, found));
            }
            let (found, stats) = (found.len(), of_file.stats());
            scratch.stats += stats;
            let hidden = found - (all.len() - start);
            if hidden == 0 || found < wanted || found - hidden >= count {
                scratch.found = all;
                return Ok(());
            }
            all.truncate(start);
            wanted = count.saturating_add(hidden).max(wanted.saturating_mul(2));
        }
    }

    /// See [`Set::contains_near_with`].
    pub(crate) fn contains_near(
        self,
        scratch: &mut SetScratch,
        fingerprint: F,
        distance: u32,
    ) -> Result<bool> {
        for (segment, index) in self.indexes().enumerate() {
            let of_file = scratch.of_width::<F>(false);
            let is_near = index.contains_near_with(of_file, fingerprint, distance);
            let stats = of_file.stats();
            scratch.stats += stats;
            if !is_near.map_err(self.blame(segment))? {
                continue;
            }
            if !self.hides_some(segment) {
                return Ok(true);
            }
            // If the nearest match is excluded, another fingerprint may be as near.
            let nearest = self.add_nearest(scratch, segment, fingerprint, (1, distance));
            let is_shown = !scratch.found.is_empty();
            scratch.clear();
            nearest.map_err(self.blame(segment))?;
            if is_shown {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
