//! The answers to many queries in columns, found on all threads.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::fingerprint::{Column, Fingerprint, Fingerprints, Width};
use crate::set::{Question, Set, SetScratch, Typed, at_width};
use crate::threads::try_map_parts_with;
use crate::watch::{Stage, Watch};

/// Tasks of the threads in a round.
const PIECES: usize = 128;

/// The most items between two reports of progress.
const MOST_OF_ROUND: usize = 16_384;

/// The time that a round should take.
const ROUND_TIME: Duration = Duration::from_millis(100);

/// The matches of many queries, in columns. Those of query `i` are at `offsets[i]..offsets[i + 1]`, ordered by
/// distance, then by value.
///
/// ```
/// use simidx::{Fingerprints, Watch};
/// use simidx::set::Question;
/// # use simidx::Set;
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let set = Set::from_bytes(file)?;
/// let queries = [0xff00_u64, 7 << 50];
/// let answers = set.answer_all(&queries, Question::Within(3), &Watch::default())?;
/// assert_eq!(answers.query_count(), 2);
/// assert_eq!(answers.fingerprints, Fingerprints::W64(vec![0xff00, 0xff01]));
/// assert_eq!(answers.distances, [0, 1]);
/// assert_eq!(answers.offsets, [0, 2, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answers {
    /// The start of each query's matches, and the end of the last: one more entry than queries.
    pub offsets: Vec<u64>,
    /// The matching fingerprints.
    pub fingerprints: Fingerprints,
    /// Number of bits in which each match differs from its query.
    pub distances: Vec<u8>,
}

impl Answers {
    /// Creates answers for zero queries.
    pub fn new(width: Width) -> Self {
        Answers {
            offsets: vec![0],
            fingerprints: Fingerprints::new(width),
            distances: Vec::new(),
        }
    }

    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Adds a match to the query whose answer has not yet [ended](Answers::end_query).
    pub fn push(&mut self, fingerprint: u128, distance: u32) {
        self.fingerprints.push(fingerprint);
        self.distances.push(distance as u8);
    }

    /// Ends the answer of a query; the next match belongs to the next query.
    pub fn end_query(&mut self) {
        self.offsets.push(self.fingerprints.len() as u64);
    }

    /// Removes all answers and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.fingerprints.clear();
        self.distances.clear();
    }
}

/// The answers to some of the queries, in the type of their width.
struct Piece<F> {
    ends: Vec<u64>,
    fingerprints: Vec<F>,
    distances: Vec<u8>,
}

impl Set {
    /// Answers many queries on all threads of the current pool. Each costs the same as [`Set::query`](crate::Set::query) or
    /// `nearest`; for very many queries on few fingerprints, [`Set::join`](crate::Set::join) is faster.
    ///
    /// `watch` is called on this thread with the number of answered queries: after 16,384 at most, and as a rule ten times
    /// a second or more.
    ///
    /// # Errors
    /// A damaged file, queries of another width than the set, and [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn answer_all<'q>(
        &self,
        queries: impl Into<Column<'q>>,
        question: Question,
        watch: &Watch,
    ) -> Result<Answers> {
        answers_to(self, queries.into(), question, watch)
    }
}

fn answers_to(
    set: &Set,
    queries: Column<'_>,
    question: Question,
    watch: &Watch,
) -> Result<Answers> {
    at_width!(set, set => answers(set, queries.values()?, question, watch))
}

fn answers<F: Fingerprint>(
    set: Typed<'_, F>,
    queries: &[F],
    question: Question,
    watch: &Watch,
) -> Result<Answers> {
    let (mut offsets, mut fingerprints, mut distances) = (vec![0], Vec::new(), Vec::new());
    in_rounds(queries, watch, |round, piece_len| {
        let pieces = try_map_parts_with(round, piece_len, unranked, |scratch, piece| {
            answer(set, scratch, piece, question)
        });
        for piece in pieces? {
            let start = fingerprints.len() as u64;
            offsets.extend(piece.ends.iter().map(|end| start + end));
            fingerprints.extend(piece.fingerprints);
            distances.extend(piece.distances);
        }
        Ok(())
    })?;
    Ok(Answers {
        offsets,
        fingerprints: fingerprints.into(),
        distances,
    })
}

impl Set {
    /// Returns for each query whether the set holds a fingerprint within the distance, as
    /// [`Set::contains_near`](crate::Set::contains_near) does for one. Works on all threads of the current pool; `watch` as
    /// for [`Set::answer_all`].
    ///
    /// ```
    /// use simidx::Watch;
    /// # use simidx::Set;
    /// # use simidx::{Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
    /// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let set = Set::from_bytes(file)?;
    /// assert_eq!(set.contains_all(&[0xff07_u64, 7 << 50], 2, &Watch::default())?, [true, false]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Set::answer_all`].
    pub fn contains_all<'q>(
        &self,
        queries: impl Into<Column<'q>>,
        distance: u32,
        watch: &Watch,
    ) -> Result<Vec<bool>> {
        contained_of(self, queries.into(), distance, watch)
    }
}

fn contained_of(set: &Set, queries: Column<'_>, distance: u32, watch: &Watch) -> Result<Vec<bool>> {
    at_width!(set, set => contained(set, queries.values()?, distance, watch))
}

fn contained<F: Fingerprint>(
    set: Typed<'_, F>,
    queries: &[F],
    distance: u32,
    watch: &Watch,
) -> Result<Vec<bool>> {
    let mut all = Vec::with_capacity(queries.len());
    in_rounds(queries, watch, |round, piece_len| {
        let pieces = try_map_parts_with(round, piece_len, SetScratch::new, |scratch, piece| {
            let found = piece.iter();
            let found = found.map(|&query| set.contains_near(scratch, query, distance));
            found.collect::<Result<Vec<bool>>>()
        });
        pieces?.into_iter().for_each(|piece| all.extend(piece));
        Ok(())
    })?;
    Ok(all)
}

/// Calls `work` with the items in rounds, and with the number of items for each task of a thread. Rounds are short, so
/// that the watch is called often however long an item takes.
pub(super) fn in_rounds<T>(
    items: &[T],
    watch: &Watch,
    mut work: impl FnMut(&[T], usize) -> Result<()>,
) -> Result<()> {
    let (mut done, mut len) = (0, PIECES);
    while done < items.len() {
        let start = Instant::now();
        let round = &items[done..][..len.min(items.len() - done)];
        work(round, round.len().div_ceil(PIECES))?;
        done += round.len();
        watch.report(Stage::Query, done as u64, items.len() as u64)?;
        len = match start.elapsed() < ROUND_TIME {
            true => (2 * len).min(MOST_OF_ROUND),
            false => (len / 2).max(PIECES),
        };
    }
    Ok(())
}

/// Answers queries on this thread.
fn answer<F: Fingerprint>(
    set: Typed<'_, F>,
    scratch: &mut SetScratch,
    queries: &[F],
    question: Question,
) -> Result<Piece<F>> {
    let mut piece = Piece {
        ends: Vec::with_capacity(queries.len()),
        fingerprints: Vec::new(),
        distances: Vec::new(),
    };
    set.answer_each(scratch, queries, question, &mut |_, matches| {
        for hit in matches.iter() {
            piece.fingerprints.push(F::from_u128(hit.fingerprint));
            piece.distances.push(hit.distance as u8);
        }
        piece.ends.push(piece.fingerprints.len() as u64);
        Ok(())
    })?;
    Ok(piece)
}

/// Creates a scratch for answers without ids.
fn unranked() -> SetScratch {
    let mut scratch = SetScratch::new();
    scratch.set_ranked(false);
    scratch
}
