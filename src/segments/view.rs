//! One or several open indexes, borrowed: what functions on segments work on.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::hidden::Hidden;
use super::{SegmentFingerprints, SegmentIds, SegmentRecords, Segments, differ, no_segment};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Id, Index, Storage};

/// What can be searched as segments: [`Segments`], an [`Index`] alone, or a slice of indexes.
///
/// An error of an index alone is its own; one of several is an [`Error::Segment`]. The trait cannot be implemented outside
/// this crate.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::batch::{PairOptions, pairs};
///
/// # let open = |fingerprints: &[u64]| {
/// #     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// #     for &fingerprint in fingerprints { builder.push(fingerprint)?; }
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64, _>::from_bytes(file)
/// # };
/// let indexes = [open(&[1, 2, 0xf0])?, open(&[3])?];
/// let mut count = 0;
/// pairs(&indexes[0], &PairOptions::default(), |_| Ok(count += 1))?;
/// assert_eq!(count, 1); // 1 and 2
/// pairs(&indexes[..], &PairOptions::default(), |_| Ok(count += 1))?;
/// assert_eq!(count, 4); // and each of them with 3
/// # Ok::<(), simidx::Error>(())
/// ```
pub trait AsSegments<F, D>: sealed::Sealed {
    /// The view of them.
    ///
    /// # Errors
    /// As for [`Segments::with_names`].
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>>;
}

mod sealed {
    use super::{Arc, Index, Segments};

    #[expect(unnameable_types, reason = "nothing outside this crate implements it")]
    pub trait Sealed {}

    impl<F, D> Sealed for Segments<F, D> {}
    impl<F, D> Sealed for Index<F, D> {}
    impl<F, D> Sealed for Arc<Index<F, D>> {}
    impl<F, D> Sealed for [Index<F, D>] {}
    impl<F, D> Sealed for [Arc<Index<F, D>>] {}
    impl<F, D> Sealed for super::SegmentsView<'_, F, D> {}
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for Segments<F, D> {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        Ok(self.view())
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for SegmentsView<'_, F, D> {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        Ok(*self)
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for Index<F, D> {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        Ok(SegmentsView {
            indexes: Indexes::One(self),
            names: Names::Alone,
            hidden: None,
        })
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for Arc<Index<F, D>> {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        (**self).as_segments()
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for [Index<F, D>] {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        let view = SegmentsView {
            indexes: Indexes::Owned(self),
            names: Names::Numbers,
            hidden: None,
        };
        view.check()?;
        Ok(view)
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> AsSegments<F, D> for [Arc<Index<F, D>>] {
    fn as_segments(&self) -> Result<SegmentsView<'_, F, D>> {
        let view = SegmentsView::of_shared(self, Names::Numbers, None);
        view.check()?;
        Ok(view)
    }
}

/// One or several open indexes as the functions on segments see them: a few words, made by [`AsSegments`].
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::AsSegments;
///
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # builder.push(7)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64, _>::from_bytes(file)?;
/// let view = index.as_segments()?;
/// assert_eq!((view.segment_count(), view.record_count()), (1, 1));
/// assert!(view.contains(7)?);
/// # Ok::<(), simidx::Error>(())
/// ```
pub struct SegmentsView<'a, F, D = Storage> {
    indexes: Indexes<'a, F, D>,
    names: Names<'a>,
    /// What is left out.
    hidden: Option<&'a Hidden<F>>,
}

enum Indexes<'a, F, D> {
    One(&'a Index<F, D>),
    Owned(&'a [Index<F, D>]),
    Shared(&'a [Arc<Index<F, D>>]),
}

/// An index with its number among segments.
pub(crate) type NumberedIndex<'a, F, D> = (usize, &'a Index<F, D>);

/// What errors call the segments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Names<'a> {
    /// Errors of an index alone need no name.
    Alone,
    Numbers,
    Given(&'a [String]),
}

impl<'a> Names<'a> {
    pub(super) fn get(self, segment: usize) -> Cow<'a, str> {
        match self {
            Names::Given(names) => Cow::Borrowed(&names[segment]),
            Names::Alone => Cow::Borrowed("the index"),
            Names::Numbers => Cow::Owned(format!("segment {segment}")),
        }
    }

    /// Makes an error of a segment one that names it.
    pub(super) fn blame(self, segment: usize, error: Error) -> Error {
        match self {
            Names::Alone => error,
            names => Error::Segment {
                segment,
                name: names.get(segment).into_owned(),
                error: Box::new(error),
            },
        }
    }
}

impl<F, D> Clone for SegmentsView<'_, F, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, D> Copy for SegmentsView<'_, F, D> {}

impl<F, D> Clone for Indexes<'_, F, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, D> Copy for Indexes<'_, F, D> {}

impl<F, D> fmt::Debug for SegmentsView<'_, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (0..self.segment_count()).map(|number| self.names.get(number));
        f.debug_list().entries(names).finish()
    }
}

impl<'a, F, D> SegmentsView<'a, F, D> {
    pub(super) fn of_shared(
        indexes: &'a [Arc<Index<F, D>>],
        names: Names<'a>,
        hidden: Option<&'a Hidden<F>>,
    ) -> Self {
        SegmentsView {
            indexes: Indexes::Shared(indexes),
            names,
            hidden,
        }
    }

    pub(super) fn hidden(&self) -> Option<&'a Hidden<F>> {
        self.hidden
    }

    /// Number of indexes.
    pub fn segment_count(&self) -> usize {
        match self.indexes {
            Indexes::One(_) => 1,
            Indexes::Owned(indexes) => indexes.len(),
            Indexes::Shared(indexes) => indexes.len(),
        }
    }

    /// The index of a number, if there is one.
    pub fn get(&self, segment: usize) -> Option<&'a Index<F, D>> {
        match self.indexes {
            Indexes::One(index) => Some(index).filter(|_| segment == 0),
            Indexes::Owned(indexes) => indexes.get(segment),
            Indexes::Shared(indexes) => indexes.get(segment).map(|index| &**index),
        }
    }

    /// The indexes, in the order in which they were given.
    pub fn indexes(
        &self,
    ) -> impl DoubleEndedIterator<Item = &'a Index<F, D>> + Clone + use<'a, F, D> {
        let view = *self;
        (0..view.segment_count()).filter_map(move |segment| view.get(segment))
    }

    /// What errors call a segment.
    pub(crate) fn name(&self, segment: usize) -> Cow<'a, str> {
        self.names.get(segment)
    }

    /// What makes an error of a segment one that names it.
    pub(crate) fn blame(&self, segment: usize) -> impl Fn(Error) -> Error + use<'a, F, D> {
        let names = self.names;
        move |error| names.blame(segment, error)
    }
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> SegmentsView<'a, F, D> {
    /// Whether there are segments, and their records are like those of the typical one.
    #[inline(never)]
    pub(super) fn check(&self) -> Result<()> {
        let mut with_records = self
            .indexes()
            .enumerate()
            .filter(|(_, index)| !index.is_empty());
        let Some((typical, first)) = with_records.next() else {
            return self.get(0).map(|_| ()).ok_or_else(no_segment);
        };
        for (segment, other) in with_records {
            let names = [typical, segment].map(|number| self.name(number));
            let names = [&*names[0], &*names[1]];
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
    fn typical(&self) -> Option<&'a Index<F, D>> {
        let with_records = self.indexes().find(|index| !index.is_empty());
        with_records.or_else(|| self.get(0))
    }

    /// The segment whose parameters a merge takes over.
    ///
    /// # Errors
    /// There is no segment.
    pub(crate) fn model(&self) -> Result<&'a Index<F, D>> {
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
    pub fn pipeline(&self) -> Option<&'a str> {
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
    /// One look-up in table 0 of each segment; [`SegmentsView::ids`] of a match needs none. With more than one segment, 32
    /// bytes of memory for each id, or for each run of equal ids in a segment.
    ///
    /// # Errors
    /// A damaged block or page of a segment.
    #[inline(never)]
    pub fn ids_of(&self, fingerprint: F) -> Result<SegmentIds<'a>> {
        let segments = self.indexes().enumerate();
        let shown = segments.filter(|&(number, _)| !self.hides_fingerprint(number, fingerprint));
        let ids = shown.map(|(number, segment)| (number, segment.ids_of(fingerprint)));
        SegmentIds::merge(*self, ids)
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

    /// The fingerprints of a table of all segments, as from [`Segments::fingerprints`].
    ///
    /// # Errors
    /// As for [`Segments::fingerprints`].
    pub fn fingerprints(&self, table: usize) -> Result<SegmentFingerprints<'a, F, D>> {
        SegmentFingerprints::new(*self, table)
    }

    /// All records of all segments, as from [`Segments::records`].
    ///
    /// # Errors
    /// As for [`Segments::records`].
    pub fn records(&self) -> Result<SegmentRecords<'a, F, D>> {
        SegmentRecords::new(*self)
    }

    pub(super) fn names(&self) -> Names<'a> {
        self.names
    }
}
