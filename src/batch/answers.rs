//! The answers to many queries in columns, found on all threads.

use rayon::prelude::*;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::segments::{Question, SegmentScratch, Segments};

/// Queries that a thread takes at a time, and of those as many as are under way between two reports of progress.
const PIECE: usize = 128;
const PIECES: usize = 128;

/// The matches of many queries, each in columns: those of query `i` are at `offsets[i]..offsets[i + 1]`, by distance, then
/// by value.
///
/// ```
/// use simidx::batch::answer_all;
/// use simidx::segments::Question;
/// # use simidx::segments::Segments;
/// # use simidx::{Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(Default::default())?;
/// # builder.extend([0xff00, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let set = Segments::from(Index::<u64>::from_bytes(file)?);
/// let answers = answer_all(&set, &[0xff00, 7 << 50], Question::Within(3), |_| Ok(()))?;
/// assert_eq!(answers.query_count(), 2);
/// assert_eq!(answers.of(0), (&[0xff00, 0xff01][..], &[0, 1][..]));
/// assert_eq!(answers.offsets, [0, 2, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answers<F> {
    /// Where the matches of each query start, and where all end: one more than there are queries.
    pub offsets: Vec<u64>,
    /// The fingerprints that were found.
    pub fingerprints: Vec<F>,
    /// Number of bits in which each differs from its query.
    pub distances: Vec<u8>,
}

impl<F> Default for Answers<F> {
    fn default() -> Self {
        Answers {
            offsets: vec![0],
            fingerprints: Vec::new(),
            distances: Vec::new(),
        }
    }
}

impl<F: Fingerprint> Answers<F> {
    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The fingerprints that were found for a query, and their distances.
    ///
    /// # Panics
    /// If there are not so many queries.
    pub fn of(&self, query: usize) -> (&[F], &[u8]) {
        let matches = self.offsets[query] as usize..self.offsets[query + 1] as usize;
        (
            &self.fingerprints[matches.clone()],
            &self.distances[matches],
        )
    }

    /// Adds a match of the query whose answer is not yet [ended](Answers::end_query).
    pub fn push(&mut self, fingerprint: F, distance: u32) {
        self.fingerprints.push(fingerprint);
        self.distances.push(distance as u8);
    }

    /// Ends the answer of a query; the next match is one of the next query.
    pub fn end_query(&mut self) {
        self.offsets.push(self.fingerprints.len() as u64);
    }

    /// Adds the answers to further queries.
    fn append(&mut self, more: Self) {
        let start = self.fingerprints.len() as u64;
        let ends = more.offsets[1..].iter();
        self.offsets.extend(ends.map(|end| start + end));
        self.fingerprints.extend(more.fingerprints);
        self.distances.extend(more.distances);
    }
}

/// The answers to many queries, on all threads of the current pool. Each costs what a query of
/// [`Segments::query`](crate::segments::Segments::query) or `nearest` does; for very many on few fingerprints,
/// [`join`](crate::batch::join()) is quicker.
///
/// `progress` is called on this thread with the number of queries that have been answered, every 16,384 of them. It may
/// break off by an error.
///
/// # Errors
/// A damaged segment, and what `progress` gives.
pub fn answer_all<F: Fingerprint>(
    segments: &Segments<F>,
    queries: &[F],
    question: Question,
    mut progress: impl FnMut(usize) -> Result<()>,
) -> Result<Answers<F>> {
    answer_view(segments, queries, question, &mut progress)
}

#[inline(never)]
fn answer_view<F: Fingerprint>(
    view: &Segments<F>,
    queries: &[F],
    question: Question,
    progress: ItemsDone<'_>,
) -> Result<Answers<F>> {
    let mut all = Answers::default();
    in_rounds(queries, progress, |round| {
        let pieces = round.par_chunks(PIECE);
        let pieces: Result<Vec<Answers<F>>> = pieces
            .map_init(unranked, |scratch, piece| {
                answer(view, scratch, piece, question)
            })
            .collect();
        pieces?.into_iter().for_each(|piece| all.append(piece));
        Ok(())
    })?;
    Ok(all)
}

/// Whether the segments hold a fingerprint within a distance of each query, on all threads of the current pool, as
/// [`Segments::contains_near`](crate::segments::Segments::contains_near) tells of one. `progress` as for [`answer_all`].
///
/// ```
/// use simidx::batch::contains_all;
/// # use simidx::segments::Segments;
/// # use simidx::{Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(Default::default())?;
/// # builder.extend([0xff00, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let set = Segments::from(Index::<u64>::from_bytes(file)?);
/// assert_eq!(contains_all(&set, &[0xff07, 7 << 50], 2, |_| Ok(()))?, [true, false]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// As for [`answer_all`].
pub fn contains_all<F: Fingerprint>(
    segments: &Segments<F>,
    queries: &[F],
    distance: u32,
    mut progress: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<bool>> {
    contains_view(segments, queries, distance, &mut progress)
}

#[inline(never)]
fn contains_view<F: Fingerprint>(
    view: &Segments<F>,
    queries: &[F],
    distance: u32,
    progress: ItemsDone<'_>,
) -> Result<Vec<bool>> {
    let mut all = Vec::with_capacity(queries.len());
    in_rounds(queries, progress, |round| {
        let queries = round.par_iter().with_min_len(PIECE);
        let found: Result<Vec<bool>> = queries
            .map_init(SegmentScratch::new, |scratch, &query| {
                view.contains_near_with(scratch, query, distance)
            })
            .collect();
        all.extend(found?);
        Ok(())
    })?;
    Ok(all)
}

/// Is told how many items are done, and may break off.
pub(super) type ItemsDone<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// Lets `work` work on so many items at a time that progress is seen.
pub(super) fn in_rounds<T>(
    items: &[T],
    progress: ItemsDone<'_>,
    mut work: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    for round in items.chunks(PIECE * PIECES) {
        work(round)?;
        done += round.len();
        progress(done)?;
    }
    Ok(())
}

/// The answers to queries, on this thread.
fn answer<F: Fingerprint>(
    segments: &Segments<F>,
    scratch: &mut SegmentScratch<F>,
    queries: &[F],
    question: Question,
) -> Result<Answers<F>> {
    let mut answers = Answers::default();
    segments.answer_many_with(scratch, queries, question, |_, matches| {
        for found in matches {
            answers.push(found.fingerprint, found.distance);
        }
        answers.end_query();
        Ok(())
    })?;
    Ok(answers)
}

/// A scratch for answers without ids.
fn unranked<F>() -> SegmentScratch<F> {
    let mut scratch = SegmentScratch::new();
    scratch.set_ranked(false);
    scratch
}
