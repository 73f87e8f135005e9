//! Several indexes searched as one: what one file with the records of all of them would answer.

mod any;
mod exclusions;
mod fingerprints;
mod hidden;
mod ids;
mod manifest;
mod query;
mod records;
mod sketches;
mod warm;

use std::sync::Arc;

pub use crate::error::ManifestError;
pub use any::AnySegments;
pub use exclusions::Exclusions;
pub use fingerprints::SegmentFingerprints;
pub use ids::SegmentIds;
pub use manifest::{Manifest, ManifestSegment};
pub use query::{
    Question, SegmentMatch, SegmentMatchIter, SegmentMatches, SegmentScratch, SegmentSearcher,
};
pub use records::SegmentRecords;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Id, Index, Match};
use hidden::Hidden;

/// An index with its number among segments.
pub(crate) type NumberedIndex<'a, F> = (usize, &'a Index<F>);

/// Several indexes that answer as one index of all their records would.
///
/// A fingerprint that several segments hold is found once, with the ids of all of them. The segments may differ in
/// their tables, blocks, codecs and distances. What their records are, the kind of the ids and the text pipeline, must be
/// the same, except in a segment without records. A query costs the sum of its costs in each segment. The segments are
/// `Send + Sync`; threads share them and each keeps a [`SegmentScratch`] of its own.
///
/// An error of a segment is an [`Error::Segment`] with its number and name. Names are the paths of files, or `segment 0`,
/// `segment 1` and so on where there are none. An [`Index`] alone, which `from` takes, has no name: its errors are its own.
///
/// All is shared: a clone costs nothing, and a new value with one other index leaves the others open.
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
///     Index::<u64>::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(&[0xff, 0xf0])?, segment(&[0xff, 0xfe])?])?;
/// assert_eq!(segments.record_count(), 4);
/// let found = segments.query(0xff, 1)?;
/// assert_eq!(found.iter().map(|m| m.fingerprint).collect::<Vec<_>>(), [0xff, 0xfe]);
///
/// // The second one is replaced, the first one stays open.
/// let base = segments.segments()[0].clone();
/// let segments = Segments::new(vec![base, segment(&[0xfd])?.into()])?;
/// assert!(segments.contains(0xfd)? && !segments.contains(0xfe)?);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments<F> {
    parts: Arc<Parts<F>>,
}

#[derive(Debug)]
struct Parts<F> {
    indexes: Vec<Arc<Index<F>>>,
    names: Vec<String>,
    /// Whether errors name the index: not that of an index alone.
    is_named: bool,
    /// What is left out.
    hidden: Option<Hidden<F>>,
}

/// What errors call the segments; nothing for an index alone.
#[derive(Debug, Clone, Copy)]
struct Names<'a>(Option<&'a [String]>);

impl Names<'_> {
    /// Makes an error of a segment one that names it.
    fn blame(self, segment: usize, error: Error) -> Error {
        match self.0 {
            None => error,
            Some(names) => Error::Segment {
                segment,
                name: names[segment].clone(),
                error: Box::new(error),
            },
        }
    }
}

impl<F> Clone for Segments<F> {
    fn clone(&self) -> Self {
        Segments {
            parts: Arc::clone(&self.parts),
        }
    }
}

impl<F: Fingerprint> Clone for Parts<F> {
    fn clone(&self) -> Self {
        Parts {
            indexes: self.indexes.clone(),
            names: self.names.clone(),
            is_named: self.is_named,
            hidden: self.hidden.clone(),
        }
    }
}

impl<F> From<Arc<Index<F>>> for Segments<F> {
    fn from(index: Arc<Index<F>>) -> Self {
        Segments {
            parts: Arc::new(Parts {
                indexes: vec![index],
                names: vec!["the index".to_owned()],
                is_named: false,
                hidden: None,
            }),
        }
    }
}

impl<F> From<Index<F>> for Segments<F> {
    fn from(index: Index<F>) -> Self {
        Arc::new(index).into()
    }
}

impl<F> Segments<F> {
    /// The indexes, in the order in which they were given.
    pub fn segments(&self) -> &[Arc<Index<F>>] {
        &self.parts.indexes
    }

    /// The indexes, in the order in which they were given.
    pub fn indexes(&self) -> impl DoubleEndedIterator<Item = &Index<F>> + Clone {
        self.parts.indexes.iter().map(|index| &**index)
    }

    /// Number of indexes.
    pub fn segment_count(&self) -> usize {
        self.parts.indexes.len()
    }

    /// The index of a number, if there is one.
    pub fn get(&self, segment: usize) -> Option<&Index<F>> {
        self.parts.indexes.get(segment).map(|index| &**index)
    }

    /// What errors call each index, in the same order; `the index` for an index alone, whose errors have no name.
    pub fn names(&self) -> &[String] {
        &self.parts.names
    }

    /// What errors call an index.
    pub(crate) fn name(&self, segment: usize) -> &str {
        &self.parts.names[segment]
    }

    fn names_in_errors(&self) -> Names<'_> {
        Names(self.parts.is_named.then_some(&self.parts.names))
    }

    /// What makes an error of a segment one that names it.
    pub(crate) fn blame(&self, segment: usize) -> impl Fn(Error) -> Error {
        let names = self.names_in_errors();
        move |error| names.blame(segment, error)
    }

    fn hidden(&self) -> Option<&Hidden<F>> {
        self.parts.hidden.as_ref()
    }
}

impl<F: Fingerprint> Segments<F> {
    /// The segments, named by their numbers: indexes, or `Arc`s of indexes.
    ///
    /// # Errors
    /// As for [`Segments::with_names`].
    pub fn new(segments: Vec<impl Into<Arc<Index<F>>>>) -> Result<Self> {
        let segments = segments.into_iter().enumerate();
        let named = segments.map(|(number, index)| (format!("segment {number}"), index));
        Self::with_names(named.collect())
    }

    /// The segments, each with the name that errors shall call it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no segment; [`Error::Mismatch`] if two that have records differ in the kind of their ids or
    /// in their text pipelines: it names both and says how they differ.
    pub fn with_names(segments: Vec<(String, impl Into<Arc<Index<F>>>)>) -> Result<Self> {
        let segments = segments
            .into_iter()
            .map(|(name, index)| (name, index.into()));
        let (names, segments) = segments.unzip();
        Self::named(names, segments)
    }

    #[inline(never)]
    fn named(names: Vec<String>, indexes: Vec<Arc<Index<F>>>) -> Result<Self> {
        let segments = Segments {
            parts: Arc::new(Parts {
                indexes,
                names,
                is_named: true,
                hidden: None,
            }),
        };
        segments.check()?;
        Ok(segments)
    }

    /// The same segments without some records, whatever was left out before: what a merge with these exclusions would
    /// answer. For deletions between two merges: the files stay as they are and open, and what is left out is in no answer, in
    /// no operation on whole sets, and in no merge of these segments. Numbers of records and other figures of files
    /// still count it.
    ///
    /// Memory: 20 to 40 bytes for each fingerprint, each number, and each record with a string. Time: a look-up in each
    /// segment for each string, a few microseconds. Queries then look at the ids of each match, most often at one,
    /// some hundred nanoseconds; those of fingerprints alone cost nothing.
    ///
    /// ```
    /// use simidx::{BuildOptions, IdKind, Index, IndexBuilder};
    /// use simidx::segments::{Exclusions, Segments};
    ///
    /// let mut options = BuildOptions::default();
    /// options.ids = IdKind::String;
    /// let mut builder = IndexBuilder::<u64>::new(options)?;
    /// for (fingerprint, id) in [(0xff, "a"), (0xfe, "b"), (0xfe, "c")] {
    ///     builder.push_with_string(fingerprint, id)?;
    /// }
    /// let mut file = Vec::new();
    /// builder.finish(&mut file)?;
    /// let base = Segments::new(vec![Index::<u64>::from_bytes(file)?])?;
    ///
    /// let mut deleted = Exclusions::default();
    /// deleted.add_string("a")?;
    /// deleted.add_string("b")?;
    /// let live = base.clone().without(&deleted)?;
    /// let found = live.query(0xff, 1)?;
    /// assert_eq!((found.len(), found[0].fingerprint), (1, 0xfe)); // 0xff has no record any more
    /// assert_eq!(live.ids_of(0xfe)?.next().unwrap()?.to_string(), "c");
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// Ids of another kind than the segments have, a damaged segment, or what keeps ids in temporary files from being
    /// read.
    pub fn without(self, exclusions: &Exclusions<F>) -> Result<Self> {
        self.hide(None, exclusions)
    }

    /// The same segments without some records of one of them, as [`Segments::without`]: for new versions in a further
    /// segment, whose old ones are still in the base.
    ///
    /// ```
    /// # use simidx::{BuildOptions, IdKind, Index, IndexBuilder};
    /// use simidx::segments::{Exclusions, Segments};
    ///
    /// # let segment = |fingerprint, id| {
    /// #     let mut options = BuildOptions::default();
    /// #     options.ids = IdKind::String;
    /// #     let mut builder = IndexBuilder::<u64>::new(options)?;
    /// #     builder.push_with_string(fingerprint, id)?;
    /// #     let mut file = Vec::new();
    /// #     builder.finish(&mut file)?;
    /// #     Index::<u64>::from_bytes(file)
    /// # };
    /// let (base, delta) = (segment(0xff00, "a")?, segment(0x00ff, "a")?);
    /// let mut replaced = Exclusions::default();
    /// replaced.add_string("a")?;
    /// let live = Segments::new(vec![base, delta])?.without_from(0, &replaced)?;
    /// assert_eq!(live.fingerprints_of_id("a")?, [0x00ff]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Segments::without`]; there is no segment of this number.
    pub fn without_from(self, segment: usize, exclusions: &Exclusions<F>) -> Result<Self> {
        self.hide(Some(segment), exclusions)
    }

    /// Leaves records out of all segments or of one.
    #[inline(never)]
    fn hide(self, only: Option<usize>, exclusions: &Exclusions<F>) -> Result<Self> {
        let mut hidden = match self.hidden() {
            Some(hidden) => hidden.clone(),
            None => Hidden::new(self.segment_count()),
        };
        hidden.add(&self, only, exclusions)?;
        let mut parts = Arc::unwrap_or_clone(self.parts);
        parts.hidden = Some(hidden);
        Ok(Segments {
            parts: Arc::new(parts),
        })
    }

    /// Whether there are segments, and their records are like those of the typical one.
    #[inline(never)]
    fn check(&self) -> Result<()> {
        let mut with_records = self
            .indexes()
            .enumerate()
            .filter(|(_, index)| !index.is_empty());
        let Some((typical, first)) = with_records.next() else {
            return self.get(0).map(|_| ()).ok_or_else(no_segment);
        };
        for (segment, other) in with_records {
            let names = [typical, segment].map(|number| self.name(number));
            if first.id_kind() != other.id_kind() {
                let kinds = [first.id_kind(), other.id_kind()].map(IdKind::name);
                let way_out = "build one again with ids like those of the other";
                return Err(differ(names, "the kind of their ids", kinds, way_out));
            }
            if first.pipeline() != other.pipeline() {
                let pipelines = [first, other].map(|index| index.pipeline().unwrap_or("none"));
                let way_out = "build one again from its documents with the pipeline of the other";
                return Err(differ(names, "their text pipelines", pipelines, way_out));
            }
        }
        Ok(())
    }

    /// The segment that says what the records are: the first one that has any, or the first one. There is none where
    /// there is no segment.
    fn typical(&self) -> Option<&Index<F>> {
        let with_records = self.indexes().find(|index| !index.is_empty());
        with_records.or_else(|| self.get(0))
    }

    /// The segment whose parameters a merge takes over.
    ///
    /// # Errors
    /// There is no segment.
    pub(crate) fn model(&self) -> Result<&Index<F>> {
        self.typical().ok_or_else(no_segment)
    }

    /// The smallest of the distances that the tables of the segments were chosen for. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        let distances = self.indexes().map(Index::max_distance);
        distances.min().unwrap_or_default()
    }

    /// Number of records of all segments.
    pub fn record_count(&self) -> u64 {
        self.indexes().map(Index::record_count).sum()
    }

    /// Whether no segment holds a fingerprint.
    pub fn is_empty(&self) -> bool {
        self.indexes().all(Index::is_empty)
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.typical().map_or(IdKind::None, Index::id_kind)
    }

    /// How the documents became fingerprints, if the segments record it.
    pub fn pipeline(&self) -> Option<&str> {
        self.typical().and_then(Index::pipeline)
    }

    /// Whether a segment holds this very fingerprint. Decodes a block of each segment up to the first that does.
    ///
    /// # Errors
    /// A damaged block of a segment.
    #[inline(never)]
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        for (number, segment) in self.indexes().enumerate() {
            let shows = || {
                let contains = segment.contains(fingerprint)?;
                Ok(contains && !self.hides(number, fingerprint, None)?)
            };
            if shows().map_err(self.blame(number))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ids that a fingerprint has in any segment, in order: numbers by value, strings by their
    /// bytes, equal ones as often as there are records. None for a fingerprint that no segment holds.
    ///
    /// One look-up in table 0 of each segment; [`Segments::ids`] of a match needs none. With more than one segment, 32
    /// bytes of memory for each id, or for each run of equal ids in a segment.
    ///
    /// # Errors
    /// A damaged block or page of a segment.
    #[inline(never)]
    pub fn ids_of(&self, fingerprint: F) -> Result<SegmentIds<'_>> {
        let segments = self.indexes().enumerate();
        let shown = segments.filter(|&(number, _)| !self.hides_fingerprint(number, fingerprint));
        let ids = shown.map(|(number, segment)| (number, segment.ids_of(fingerprint)));
        SegmentIds::merge(self, ids)
    }

    /// The fingerprints of all records of any segment that have an id, ascending, each once. A look-up in each segment, see
    /// [`Index::rank_of_id`].
    ///
    /// # Errors
    /// A damaged block or page of a segment.
    pub fn fingerprints_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<F>> {
        let (id, mut all) = (id.into(), Vec::new());
        for (number, segment) in self.indexes().enumerate() {
            if self.hides_id(number, id)? {
                continue;
            }
            let found = segment.fingerprints_of_id(id).map_err(self.blame(number))?;
            let found = found.into_iter();
            all.extend(found.filter(|&found| !self.hides_fingerprint(number, found)));
        }
        F::sort(&mut all);
        all.dedup();
        Ok(all)
    }

    /// A searcher of all segments, which has a scratch of its own; make one for each thread.
    pub fn searcher(&self) -> SegmentSearcher<F, &Self> {
        SegmentSearcher::new(self)
    }

    /// All fingerprints within `distance` of `fingerprint`, each once, by distance, then by value; without their places.
    /// Allocates; [`Segments::query_with`] does not.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        let mut scratch = SegmentScratch::new();
        let found = self.query_with(&mut scratch, fingerprint, distance)?;
        let matches = found.iter();
        Ok(matches
            .map(|m| Match::unranked(m.distance, m.fingerprint))
            .collect())
    }

    /// The `count` fingerprints nearest to `fingerprint` in all segments, as from [`Index::nearest`]; without their places.
    /// Allocates; [`Segments::nearest_with`] does not.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn nearest(
        &self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<Vec<Match<F>>> {
        let mut scratch = SegmentScratch::new();
        let found = self.nearest_with(&mut scratch, fingerprint, count, max_distance)?;
        let matches = found.iter();
        Ok(matches
            .map(|m| Match::unranked(m.distance, m.fingerprint))
            .collect())
    }

    /// Whether a segment holds any fingerprint within `distance` of `fingerprint`, as [`Index::contains_near`] does of one.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn contains_near(&self, fingerprint: F, distance: u32) -> Result<bool> {
        self.contains_near_with(&mut SegmentScratch::new(), fingerprint, distance)
    }

    /// The fingerprints of table `table` of all segments in its order, each once. A few dozen nanoseconds a fingerprint;
    /// memory: a few decoded blocks of each segment.
    ///
    /// # Errors
    /// [`Error::Options`] if the table is missing in a segment; [`Error::Mismatch`] if it is in the bit order of another mask than in the
    /// first. All have the same table 0: it is in numeric order.
    pub fn fingerprints(&self, table: usize) -> Result<SegmentFingerprints<'_, F>> {
        SegmentFingerprints::new(self, table)
    }

    /// All records of all segments in order, with their ids; none if the segments have no ids. About 0.4 microseconds a
    /// record; memory: up to 32 MiB of ids a segment.
    ///
    /// # Errors
    /// A damaged block or page of a segment.
    pub fn records(&self) -> Result<SegmentRecords<'_, F>> {
        SegmentRecords::new(self)
    }
}

fn no_segment() -> Error {
    Error::option("segments", "there is no segment to search")
}

/// The error that two segments cannot be read together because they differ, and what to do then.
fn differ(
    names: [&str; 2],
    what: &str,
    values: [impl std::fmt::Display; 2],
    way_out: &str,
) -> Error {
    let [first, second] = names;
    Error::Mismatch {
        first: first.to_owned(),
        second: second.to_owned(),
        difference: format!("{what}: {} and {}; {way_out}", values[0], values[1]),
    }
}
