//! Several indexes searched as one, and merged into one: what one file with the records of all of them would answer.

mod any;
mod exclusions;
mod fingerprints;
mod hidden;
mod ids;
mod manifest;
mod query;
mod records;
mod sketches;
mod view;
mod warm;

use std::sync::Arc;

pub use crate::error::ManifestError;
pub use crate::merge::{MergeCodec, MergeOptions, Merged, Unmatched, merge, merge_to_path};
pub use any::AnySegments;
pub use exclusions::Exclusions;
pub use fingerprints::SegmentFingerprints;
pub use ids::SegmentIds;
pub use manifest::{Manifest, ManifestSegment};
pub use query::{SegmentMatch, SegmentMatchIter, SegmentMatches, SegmentScratch, SegmentSearcher};
pub use records::SegmentRecords;
pub(crate) use view::NumberedIndex;
pub use view::{AsSegments, SegmentsView};

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Id, Index, Match, Storage};
use hidden::Hidden;
use view::Names;

/// Several indexes that answer as one index of all their records would.
///
/// A fingerprint that several segments hold is found once, with the ids of all of them. The segments may differ in
/// their tables, blocks, codecs and distances. What their records are, the kind of the ids and the text pipeline, must be
/// the same, except in a segment without records. A query costs the sum of its costs in each segment. The segments are
/// `Send + Sync` when `D` is; threads share them and each keeps a [`SegmentScratch`] of its own.
///
/// An error of a segment is an [`Error::Segment`] with its number and name. Names are the paths of files, or `segment 0`,
/// `segment 1` and so on where there are none.
///
/// The indexes are shared: a clone is cheap, and a new value with one other index leaves the others open.
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
///
/// // The second one is replaced, the first one stays open.
/// let base = segments.segments()[0].clone();
/// let segments = Segments::new(vec![base, segment(&[0xfd])?.into()])?;
/// assert!(segments.contains(0xfd)? && !segments.contains(0xfe)?);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments<F, D = Storage> {
    segments: Vec<Arc<Index<F, D>>>,
    names: Vec<String>,
    hidden: Option<Arc<Hidden<F>>>,
}

impl<F, D> Clone for Segments<F, D> {
    fn clone(&self) -> Self {
        Segments {
            segments: self.segments.clone(),
            names: self.names.clone(),
            hidden: self.hidden.clone(),
        }
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Segments<F, D> {
    /// The segments, named by their numbers: indexes, or `Arc`s of indexes.
    ///
    /// # Errors
    /// As for [`Segments::with_names`].
    pub fn new(segments: Vec<impl Into<Arc<Index<F, D>>>>) -> Result<Self> {
        let segments = segments.into_iter().enumerate();
        let named =
            segments.map(|(number, index)| (Names::Numbers.get(number).into_owned(), index));
        Self::with_names(named.collect())
    }

    /// The segments, each with the name that errors shall call it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no segment; [`Error::Mismatch`] if two that have records differ in the kind of their ids or
    /// in their text pipelines: it names both and says how they differ.
    pub fn with_names(segments: Vec<(String, impl Into<Arc<Index<F, D>>>)>) -> Result<Self> {
        let segments = segments
            .into_iter()
            .map(|(name, index)| (name, index.into()));
        let (names, segments) = segments.unzip();
        Self::named(names, segments)
    }

    #[inline(never)]
    fn named(names: Vec<String>, segments: Vec<Arc<Index<F, D>>>) -> Result<Self> {
        let segments = Segments {
            segments,
            names,
            hidden: None,
        };
        segments.view().check()?;
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
    /// let base = Segments::new(vec![Index::<u64, _>::from_bytes(file)?])?;
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
    /// #     Index::<u64, _>::from_bytes(file)
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
    fn hide(mut self, only: Option<usize>, exclusions: &Exclusions<F>) -> Result<Self> {
        let nothing = || Hidden::new(self.segments.len());
        let hidden = self.hidden.take();
        let mut hidden = hidden.map_or_else(nothing, Arc::unwrap_or_clone);
        hidden.add(self.view(), only, exclusions)?;
        self.hidden = Some(Arc::new(hidden));
        Ok(self)
    }

    /// The segments as what functions on segments work on.
    pub fn view(&self) -> SegmentsView<'_, F, D> {
        SegmentsView::of_shared(
            &self.segments,
            Names::Given(&self.names),
            self.hidden.as_deref(),
        )
    }

    /// The segments, in the order in which they were given.
    pub fn segments(&self) -> &[Arc<Index<F, D>>] {
        &self.segments
    }

    /// What errors call each segment, in the same order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The smallest of the distances that the tables of the segments were chosen for. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        self.view().max_distance()
    }

    /// Number of records of all segments.
    pub fn record_count(&self) -> u64 {
        self.view().record_count()
    }

    /// Whether no segment holds a fingerprint.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.view().id_kind()
    }

    /// How the documents became fingerprints, if the segments record it.
    pub fn pipeline(&self) -> Option<&str> {
        self.view().pipeline()
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

    /// All fingerprints within `distance` of `fingerprint` in any segment, as from [`SegmentsView::query_with`].
    ///
    /// # Errors
    /// As for [`SegmentsView::query_with`].
    pub fn query_with<'s>(
        &self,
        scratch: &'s mut SegmentScratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<SegmentMatches<'s, F>> {
        self.view().query_with(scratch, fingerprint, distance)
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

    /// The nearest fingerprints in all segments, as from [`SegmentsView::nearest_with`].
    ///
    /// # Errors
    /// As for [`SegmentsView::nearest_with`].
    pub fn nearest_with<'s>(
        &self,
        scratch: &'s mut SegmentScratch<F>,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<SegmentMatches<'s, F>> {
        self.view()
            .nearest_with(scratch, fingerprint, count, max_distance)
    }

    /// Whether a segment holds any fingerprint within `distance` of `fingerprint`, as [`Index::contains_near`] does of one.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn contains_near(&self, fingerprint: F, distance: u32) -> Result<bool> {
        self.view()
            .contains_near_with(&mut SegmentScratch::new(), fingerprint, distance)
    }

    /// Whether a segment holds this very fingerprint. Decodes a block of each segment up to the first that does.
    ///
    /// # Errors
    /// A damaged block of a segment.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.view().contains(fingerprint)
    }

    /// The ids that a match of a query of these segments has in any of them, as from [`SegmentsView::ids`].
    ///
    /// # Errors
    /// As for [`SegmentsView::ids`].
    pub fn ids(&self, found: &SegmentMatch<'_, F>) -> Result<SegmentIds<'_>> {
        self.view().ids(found)
    }

    /// The ids that a fingerprint has in any segment, as from [`SegmentsView::ids_of`].
    ///
    /// # Errors
    /// As for [`SegmentsView::ids_of`].
    pub fn ids_of(&self, fingerprint: F) -> Result<SegmentIds<'_>> {
        self.view().ids_of(fingerprint)
    }

    /// The fingerprints of all records of any segment that have an id, as from [`SegmentsView::fingerprints_of_id`].
    ///
    /// # Errors
    /// As for [`SegmentsView::fingerprints_of_id`].
    pub fn fingerprints_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<F>> {
        self.view().fingerprints_of_id(id)
    }

    /// The fingerprints of table `table` of all segments in its order, each once. A few dozen nanoseconds a fingerprint;
    /// memory: a few decoded blocks of each segment.
    ///
    /// # Errors
    /// [`Error::Options`] if the table is missing in a segment; [`Error::Mismatch`] if it is in the bit order of another mask than in the
    /// first. All have the same table 0: it is in numeric order.
    pub fn fingerprints(&self, table: usize) -> Result<SegmentFingerprints<'_, F, D>> {
        self.view().fingerprints(table)
    }

    /// All records of all segments in order, with their ids; none if the segments have no ids. About 0.4 microseconds a
    /// record; memory: up to 32 MiB of ids a segment.
    ///
    /// # Errors
    /// A damaged block or page of a segment.
    pub fn records(&self) -> Result<SegmentRecords<'_, F, D>> {
        self.view().records()
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
