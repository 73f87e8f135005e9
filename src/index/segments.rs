//! Several indexes that are searched as one: what one file with the records of all of them would answer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use super::{AnyIndex, Fingerprints, Id, Index, Match, QueryStats, Searcher, Storage, Strategy};
use crate::design::Permuted;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;

/// Several indexes that answer as one index of all their records would.
///
/// A fingerprint that lies in several segments is found once, with the ids of all of them. The segments may differ in
/// their tables, blocks, codecs and distances; what their records are, the kind of the ids and the text pipeline, must be
/// the same, except in a segment without records. A query costs the sum of its costs in each segment. The segments are
/// `Send + Sync` when `D` is; threads share them and each makes its own [`SegmentSearcher`].
///
/// An error of a segment is an [`Error::Segment`] and tells which one. Their names are the paths of files, and `segment 0`,
/// `segment 1` and so on where there are none.
///
/// ```
/// use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::Segments;
///
/// let segment = |fingerprints: &[u64]| {
///     let mut builder = IndexBuilder::new(BuildOptions::default())?;
///     for &fingerprint in fingerprints {
///         builder.push(fingerprint)?;
///     }
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64, _>::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(&[0xff, 0xf0])?, segment(&[0xff, 0xfe])?])?;
/// assert_eq!(segments.record_count(), 4);
/// let found = segments.query(0xff, 1)?;
/// assert_eq!(found.iter().map(|m| m.fingerprint).collect::<Vec<_>>(), [0xff, 0xfe]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments<F, D> {
    segments: Vec<Index<F, D>>,
    names: Vec<String>,
    /// The segment that tells what the records are: the first one that has any.
    typical: usize,
}

impl<F: Fingerprint, D: AsRef<[u8]>> Segments<F, D> {
    /// The segments, named by their numbers.
    ///
    /// # Errors
    /// As for [`Segments::with_names`].
    pub fn new(segments: Vec<Index<F, D>>) -> Result<Self> {
        let segments = segments.into_iter().enumerate();
        Self::with_names(segments.map(|(i, s)| (number_name(i), s)).collect())
    }

    /// The segments, each with the name that errors shall call it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no segment; [`Error::Mismatch`] if two that have records differ in the kind of their ids or
    /// in their text pipelines: it names both and says how they differ.
    pub fn with_names(segments: Vec<(String, Index<F, D>)>) -> Result<Self> {
        let (names, segments): (Vec<String>, Vec<Index<F, D>>) = segments.into_iter().unzip();
        if segments.is_empty() {
            return Err(no_segment());
        }
        let has_records = |segment: &Index<F, D>| !segment.is_empty();
        let segments = Segments {
            typical: segments.iter().position(has_records).unwrap_or(0),
            segments,
            names,
        };
        for segment in segments.typical..segments.segments.len() {
            segments.check_fit(segment)?;
        }
        Ok(segments)
    }

    /// Whether the records of a segment are like those of the typical one.
    fn check_fit(&self, segment: usize) -> Result<()> {
        let (first, other) = (self.typical(), &self.segments[segment]);
        if other.is_empty() {
            return Ok(());
        }
        if first.id_kind() != other.id_kind() {
            let kinds = [first.id_kind(), other.id_kind()].map(IdKind::name);
            return Err(self.differ(segment, "the kind of their ids", kinds));
        }
        if first.pipeline() != other.pipeline() {
            let pipelines = [first.pipeline(), other.pipeline()].map(described_pipeline);
            return Err(self.differ(segment, "their text pipelines", pipelines));
        }
        Ok(())
    }

    /// The error that the typical segment and another one differ.
    fn differ(&self, segment: usize, what: &str, values: [impl std::fmt::Display; 2]) -> Error {
        let names = [&self.names[self.typical][..], &self.names[segment]];
        differ(names, what, values)
    }

    /// The segment that tells what the records are.
    pub(crate) fn typical(&self) -> &Index<F, D> {
        &self.segments[self.typical]
    }

    /// The segments, in the order in which they were given.
    pub fn segments(&self) -> &[Index<F, D>] {
        &self.segments
    }

    /// What errors call each segment, in the same order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The smallest of the distances that the tables of the segments were chosen for. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        let distances = self.segments.iter().map(Index::max_distance);
        distances.min().unwrap_or_default()
    }

    /// Number of records of all segments.
    pub fn record_count(&self) -> u64 {
        self.segments.iter().map(Index::record_count).sum()
    }

    /// Whether no segment holds a fingerprint.
    pub fn is_empty(&self) -> bool {
        self.segments.iter().all(Index::is_empty)
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.typical().id_kind()
    }

    /// How the documents became fingerprints, if the segments record it.
    pub fn pipeline(&self) -> Option<&str> {
        self.typical().pipeline()
    }

    /// A searcher of all segments; make one for each thread.
    pub fn searcher(&self) -> SegmentSearcher<'_, F, D> {
        SegmentSearcher {
            segments: self,
            searchers: self.segments.iter().map(Index::searcher).collect(),
            found: Vec::new(),
            matches: Vec::new(),
            stats: QueryStats::default(),
        }
    }

    /// All fingerprints within `distance` of `fingerprint`, each once, by distance, then by value. Allocates; a
    /// [`SegmentSearcher`] does not.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        Ok(self.searcher().query(fingerprint, distance)?.to_vec())
    }

    /// Whether a segment holds this very fingerprint. Decodes a block of each segment up to the first that does.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        for (number, segment) in self.segments.iter().enumerate() {
            if segment.contains(fingerprint).map_err(self.blame(number))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `visit` with each id that a fingerprint has in any segment, in order: numbers by value, strings by their
    /// bytes, equal ones as often as there are records. Never for a fingerprint that no segment holds.
    ///
    /// One look-up in table 0 of each segment; [`SegmentSearcher::for_each_id`] knows where a match lies and needs fewer.
    /// With more than one segment, 32 bytes of memory for each id, of equal ones that follow each other in a segment for one.
    ///
    /// # Errors
    /// A damaged block or page of a segment; then `visit` may have seen some of the ids of a single segment.
    pub fn for_each_id<'a>(&'a self, fingerprint: F, visit: impl FnMut(Id<'a>)) -> Result<()> {
        self.merge_ids(
            0..self.segments.len(),
            |number, visit| self.segments[number].for_each_id(fingerprint, visit),
            visit,
        )
    }

    /// Calls `visit` with what `read` gives of some segments, in order.
    fn merge_ids<'a>(
        &self,
        mut numbers: impl ExactSizeIterator<Item = usize>,
        read: impl Fn(usize, &mut dyn FnMut(Id<'a>)) -> Result<()>,
        mut visit: impl FnMut(Id<'a>),
    ) -> Result<()> {
        if numbers.len() == 1 {
            return numbers.try_for_each(|n| read(n, &mut visit).map_err(self.blame(n)));
        }
        let mut ids = Vec::new();
        for number in numbers {
            read(number, &mut |id| count_in(&mut ids, id)).map_err(self.blame(number))?;
        }
        // A stable sort merges runs, and the ids of each segment are one.
        ids.sort();
        for (id, count) in ids {
            (0..count).for_each(|_| visit(id));
        }
        Ok(())
    }

    /// The fingerprints of table `table` of all segments in its order, each once. A few dozen nanoseconds a fingerprint;
    /// memory: a few decoded blocks of each segment.
    ///
    /// # Errors
    /// [`Error::Options`] if the table is missing in a segment; [`Error::Mismatch`] if it is in the bit order of another mask than in the
    /// first. All have the same table 0: it is in numeric order.
    pub fn fingerprints(&self, table: usize) -> Result<SegmentFingerprints<'_, F, D>> {
        let mut sources = Vec::with_capacity(self.segments.len());
        for (number, segment) in self.segments.iter().enumerate() {
            sources.push(segment.fingerprints(table).map_err(self.blame(number))?);
            let orders = [0, number].map(|n| &self.segments[n].tables[table].permutation);
            let identities = orders.iter().all(|order| order.is_identity());
            if !identities && orders[0].mask() != orders[1].mask() {
                let masks = orders.map(|order| format!("{:#x}", order.mask()));
                let what = format!("the prefix mask of table {table}");
                return Err(differ([&self.names[0], &self.names[number]], &what, masks));
            }
        }
        Ok(SegmentFingerprints {
            segments: self,
            due: (0..sources.len()).collect(),
            given: Vec::with_capacity(sources.len()),
            next: BinaryHeap::with_capacity(sources.len()),
            sources,
        })
    }

    /// What makes an error of a segment one that names it.
    pub(crate) fn blame(&self, segment: usize) -> impl Fn(Error) -> Error {
        move |error| segment_error(segment, &self.names[segment], error)
    }
}

/// Adds an id to those that are counted. Equal ones may take no bytes in a file, so that there may be any number of them.
fn count_in<'a>(ids: &mut Vec<(Id<'a>, u64)>, id: Id<'a>) {
    match ids.last_mut() {
        Some((last, count)) if *last == id => *count += 1,
        _ => ids.push((id, 1)),
    }
}

fn number_name(segment: usize) -> String {
    format!("segment {segment}")
}

fn segment_error(segment: usize, name: &str, error: Error) -> Error {
    Error::Segment {
        segment,
        name: name.to_owned(),
        error: Box::new(error),
    }
}

fn no_segment() -> Error {
    Error::option("segments", "there is no segment to search")
}

/// The error that two segments cannot be read together, for each has something else.
fn differ(names: [&str; 2], what: &str, values: [impl std::fmt::Display; 2]) -> Error {
    let [first, second] = names;
    Error::Mismatch {
        first: first.to_owned(),
        second: second.to_owned(),
        difference: format!("{what}: {} and {}", values[0], values[1]),
    }
}

fn described_pipeline(pipeline: Option<&str>) -> String {
    match pipeline {
        None => "none".to_owned(),
        Some(pipeline) => pipeline.to_owned(),
    }
}

/// A match and the number of the segment that holds it.
type Found<F> = (Match<F>, usize);

/// Answers queries of [`Segments`] and keeps its memory between them: once its lists have grown to the largest answer, a
/// query allocates nothing.
#[derive(Debug)]
pub struct SegmentSearcher<'a, F: 'static, D> {
    segments: &'a Segments<F, D>,
    searchers: Vec<Searcher<F, &'a Index<F, D>>>,
    /// What each segment found, in order.
    found: Vec<Found<F>>,
    matches: Vec<Match<F>>,
    stats: QueryStats,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> SegmentSearcher<'a, F, D> {
    /// Sets how the following queries are answered.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        for searcher in &mut self.searchers {
            searcher.set_strategy(strategy);
        }
    }

    /// Says whether the files are larger than the memory that they may take, as [`Searcher::expect_cold_blocks`] does.
    pub fn expect_cold_blocks(&mut self, cold: bool) {
        for searcher in &mut self.searchers {
            searcher.expect_cold_blocks(cold);
        }
    }

    /// All fingerprints within `distance` of `fingerprint` in any segment, each once, by distance, then by value.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn query(&mut self, fingerprint: F, distance: u32) -> Result<&[Match<F>]> {
        self.gather(|searcher| searcher.query(fingerprint, distance).map(drop))?;
        Ok(&self.matches)
    }

    /// The `count` fingerprints of all segments nearest to `fingerprint` among those within `max_distance`, each once, by
    /// distance, then by value, as [`Index::nearest`] finds them in one index. Asks each segment for as many.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
    pub fn nearest(
        &mut self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<&[Match<F>]> {
        self.gather(|searcher| searcher.nearest(fingerprint, count, max_distance).map(drop))?;
        self.matches.truncate(count);
        // Their ids are those of matches only.
        let end = match self.matches.last() {
            Some(&last) => self.found.partition_point(|found| found.0 <= last),
            None => 0,
        };
        self.found.truncate(end);
        Ok(&self.matches)
    }

    /// Lets each searcher answer and puts their answers together.
    fn gather(
        &mut self,
        mut answer: impl FnMut(&mut Searcher<F, &'a Index<F, D>>) -> Result<()>,
    ) -> Result<()> {
        self.found.clear();
        self.matches.clear();
        self.stats = QueryStats::default();
        for (number, searcher) in self.searchers.iter_mut().enumerate() {
            if let Err(error) = answer(searcher) {
                self.found.clear();
                return Err(self.segments.blame(number)(error));
            }
            let found = searcher.matches().iter();
            self.found.extend(found.map(|&found| (found, number)));
            self.stats += searcher.stats();
        }
        self.found.sort_unstable();
        self.matches.extend(self.found.iter().map(|found| found.0));
        self.matches.dedup();
        Ok(())
    }

    /// The answer to the last query; what an erroneous one had found is not an answer and is empty.
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// Calls `visit` with each id of a match of the last query, in order, as [`Segments::for_each_id`] does; never for
    /// what is no such match. One look-up in table 0 of each segment that holds the match.
    ///
    /// # Errors
    /// A damaged block or page of a segment, or a table of it that holds other fingerprints than its table 0.
    pub fn for_each_id(&self, found: Match<F>, visit: impl FnMut(Id<'a>)) -> Result<()> {
        let start = self.found.partition_point(|f| f.0 < found);
        let holders = &self.found[start..];
        let holders = &holders[..holders.partition_point(|f| f.0 == found)];
        let segments = self.segments;
        segments.merge_ids(
            holders.iter().map(|f| f.1),
            |number, visit| {
                segments.segments[number].for_each_id_of_member(found.fingerprint, visit)
            },
            visit,
        )
    }

    /// What the last query cost in all segments together.
    pub fn stats(&self) -> QueryStats {
        self.stats
    }
}

/// The fingerprints of a table of all segments in its order, each once; made by [`Segments::fingerprints`].
#[derive(Debug)]
pub struct SegmentFingerprints<'a, F, D> {
    segments: &'a Segments<F, D>,
    sources: Vec<Fingerprints<'a, F, D>>,
    /// What comes next of each segment that is not due, the smallest value on top.
    next: BinaryHeap<Reverse<(Permuted<F>, usize)>>,
    /// Segments that gave the last value.
    given: Vec<usize>,
    /// Segments that have to be read on.
    due: Vec<usize>,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> SegmentFingerprints<'a, F, D> {
    /// The next permuted value; see [`Iterator::next`] for the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration goes on with the block behind it.
    pub fn next_permuted(&mut self) -> Option<Result<Permuted<F>>> {
        self.due.append(&mut self.given);
        while let Some(&number) = self.due.last() {
            match self.sources[number].next_permuted() {
                Some(Ok(value)) => self.next.push(Reverse((value, number))),
                Some(Err(error)) => return Some(Err(self.segments.blame(number)(error))),
                None => {}
            }
            self.due.pop();
        }
        let Reverse((value, number)) = self.next.pop()?;
        self.given.push(number);
        while let Some(&Reverse((same, number))) = self.next.peek()
            && same == value
        {
            self.next.pop();
            self.given.push(number);
        }
        Some(Ok(value))
    }

    /// The fingerprint that a permuted value of this table stands for.
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.sources[0].invert(value)
    }

    /// Calls `visit` with each id of the fingerprint given last, in order, as [`Segments::for_each_id`] does. For table 0
    /// this needs no look-up.
    ///
    /// # Errors
    /// A damaged block or page of a segment, or a fingerprint that its table 0 lacks.
    pub fn for_each_id(&self, visit: impl FnMut(Id<'a>)) -> Result<()> {
        self.segments.merge_ids(
            self.given.iter().copied(),
            |number, visit| self.sources[number].for_each_id(visit),
            visit,
        )
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Iterator for SegmentFingerprints<'_, F, D> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}

/// [`Segments`] of one of the three widths.
#[derive(Debug)]
pub enum AnySegments<D = Storage> {
    /// 32-bit fingerprints.
    W32(Segments<u32, D>),
    /// 64-bit fingerprints.
    W64(Segments<u64, D>),
    /// 128-bit fingerprints.
    W128(Segments<u128, D>),
}

impl AnySegments<Storage> {
    /// Opens index files of one width, whatever it is, by mapping them, as [`Index::open`] does. Their paths are their
    /// names.
    ///
    /// # Errors
    /// As for [`Index::open`], as an [`Error::Segment`] but for what the operating system reports, which names the file
    /// already; and as for [`AnySegments::with_names`].
    #[cfg(feature = "mmap")]
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| AnyIndex::open(path))
    }

    /// Opens index files of one width, whatever it is, by reading them into memory.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`] and [`AnySegments::with_names`].
    pub fn open_in_memory<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| AnyIndex::open_in_memory(path))
    }

    fn open_each<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        open: impl Fn(&Path) -> Result<AnyIndex>,
    ) -> Result<Self> {
        let mut segments = Vec::new();
        for (number, path) in paths.into_iter().enumerate() {
            let name = path.as_ref().display().to_string();
            let index = open(path.as_ref()).map_err(|error| match error {
                Error::Io(_) => error,
                error => segment_error(number, &name, error),
            })?;
            segments.push((name, index));
        }
        Self::with_names(segments)
    }
}

impl<D: AsRef<[u8]>> AnySegments<D> {
    /// The segments, each with the name that errors shall call it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no segment; [`Error::Mismatch`] if two differ in their width, or as for
    /// [`Segments::with_names`].
    pub fn with_names(segments: Vec<(String, AnyIndex<D>)>) -> Result<Self> {
        let (first_name, first) = segments.first().ok_or_else(no_segment)?;
        let widths = |index: &AnyIndex<D>| [first, index].map(AnyIndex::width);
        for (name, index) in &segments {
            if index.width() != first.width() {
                return Err(differ([first_name, name], "their width", widths(index)));
            }
        }
        Ok(match first {
            AnyIndex::W32(_) => AnySegments::W32(collect(segments, |any| match any {
                AnyIndex::W32(index) => Some(index),
                _ => None,
            })?),
            AnyIndex::W64(_) => AnySegments::W64(collect(segments, |any| match any {
                AnyIndex::W64(index) => Some(index),
                _ => None,
            })?),
            AnyIndex::W128(_) => AnySegments::W128(collect(segments, |any| match any {
                AnyIndex::W128(index) => Some(index),
                _ => None,
            })?),
        })
    }
}

/// The segments of the width that `select` knows.
fn collect<F: Fingerprint, D: AsRef<[u8]>>(
    segments: Vec<(String, AnyIndex<D>)>,
    select: impl Fn(AnyIndex<D>) -> Option<Index<F, D>>,
) -> Result<Segments<F, D>> {
    let segments = segments.into_iter();
    let selected = segments.filter_map(|(name, index)| Some((name, select(index)?)));
    Segments::with_names(selected.collect())
}
