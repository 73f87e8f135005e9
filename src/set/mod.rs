//! Sets: one or several index files of any width, searched as one, without excluded records.

mod build;
mod exclusions;
mod fingerprints;
mod hidden;
mod ids;
mod manifest;
mod matches;
mod open;
mod records;
mod search;
mod segment;
mod sketches;
mod typed;
mod whole;

use std::any::Any;
use std::sync::Arc;

pub use crate::error::ManifestError;
pub use exclusions::Exclusions;
pub use fingerprints::SetFingerprints;
pub use ids::SetIds;
pub use manifest::{Manifest, ManifestSegment};
pub use matches::{Hit, Matches};
pub use records::SetRecords;
pub use search::{Question, SetScratch};
pub use segment::Segment;
pub(crate) use typed::{Typed, at_width};

use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Width};
use crate::format::IdKind;
use crate::id::Id;
use crate::index::Index;
use hidden::Hidden;

/// An index and its number in a set.
pub(crate) type NumberedIndex<'a, F> = (usize, &'a Index<F>);

/// One or several index files, searched as one. They answer as one file with all their records would.
///
/// A fingerprint that several files hold is found once, with the ids of all of them. The files may differ in their
/// tables, codecs and distances. They must agree in their width, the kind of their ids and their text pipeline; a file
/// without records must only have the same width. The cost of a query is the sum of its costs in all files.
///
/// A set has no type parameter for its width. A fingerprint in a question may have any type; its value must fit the
/// width. Answers have the type of the question, which must be at least as wide as the set: `u128` works with every
/// set. Columns of fingerprints must have the width of the set.
///
/// A set is `Send + Sync` and cheap to clone: threads share it, and each keeps its own [`SetScratch`]. An error in a
/// file is an [`Error::Segment`] with the number and name of the file. The name is the path of the file, or else
/// `segment 0`, `segment 1` and so on. A set created from a single [`Index`] has no names: it returns the errors of the
/// index unchanged.
///
/// ```
/// use simidx::{BuildOptions, Index, IndexBuilder, Set, Width};
///
/// let file = |fingerprints: &[u64]| {
///     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
///     builder.extend_from_slice(fingerprints)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let set = Set::new([file(&[0xff, 0xf0])?, file(&[0xff, 0xfe])?])?;
/// assert_eq!(set.record_count(), 4);
/// let found = set.query(0xff_u64, 1)?;
/// assert_eq!(found.iter().map(|hit| hit.fingerprint).collect::<Vec<_>>(), [0xff, 0xfe]);
///
/// // The second file is replaced, the first one stays open.
/// let set = Set::new([set.only(0)?, file(&[0xfd])?.into()])?;
/// assert!(set.contains(0xfd_u64)? && !set.contains(0xfe_u64)?);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Set {
    parts: Arc<Parts>,
}

#[derive(Debug, Clone)]
struct Parts {
    width: Width,
    /// A `Vec<Arc<Index<F>>>` of the fingerprints of this width.
    indexes: Arc<dyn Any + Send + Sync>,
    names: Vec<String>,
    /// Whether errors name the index. They do not for a single index without a name.
    is_named: bool,
    /// The excluded records.
    hidden: Option<Hidden>,
}

impl<F: Fingerprint> From<Arc<Index<F>>> for Set {
    fn from(index: Arc<Index<F>>) -> Self {
        Set {
            parts: Arc::new(Parts {
                width: Width::of::<F>(),
                indexes: Arc::new(vec![index]),
                names: vec!["the index".to_owned()],
                is_named: false,
                hidden: None,
            }),
        }
    }
}

impl<F: Fingerprint> From<Index<F>> for Set {
    fn from(index: Index<F>) -> Self {
        Arc::new(index).into()
    }
}

impl Set {
    /// The width of the fingerprints.
    pub fn width(&self) -> Width {
        self.parts.width
    }

    /// Number of files.
    pub fn segment_count(&self) -> usize {
        self.parts.names.len()
    }

    /// Returns the files, in the order in which they were given.
    pub fn segments(
        &self,
    ) -> impl DoubleEndedIterator<Item = Segment<'_>> + ExactSizeIterator + Clone {
        (0..self.segment_count()).map(|number| Segment::new(self, number))
    }

    /// Returns the first file; every set has one.
    pub fn first(&self) -> Segment<'_> {
        Segment::new(self, 0)
    }

    /// Returns the file of a number, or `None` beyond the end.
    pub fn segment(&self, number: usize) -> Option<Segment<'_>> {
        (number < self.segment_count()).then(|| Segment::new(self, number))
    }

    /// Returns the index of a file, or `None` if there is no such file or `F` does not have the width of the set.
    pub fn index<F: Fingerprint>(&self, number: usize) -> Option<&Arc<Index<F>>> {
        match Width::of::<F>() == self.width() {
            true => self.typed().shared().get(number),
            false => None,
        }
    }

    /// Returns a set of one of the files, under its name and without exclusions.
    ///
    /// # Errors
    /// [`Error::Options`] if the file does not exist.
    pub fn only(&self, number: usize) -> Result<Self> {
        let segment = self.segment(number).ok_or_else(|| no_segment(number))?;
        let set = at_width!(self, typed => Set::from(Arc::clone(&typed.shared()[number])));
        Ok(match self.parts.is_named {
            true => set.named(segment.name()),
            false => set,
        })
    }

    /// Returns the names that errors use for the files, in order; `the index` for a single index, whose errors have no
    /// name.
    pub fn names(&self) -> &[String] {
        &self.parts.names
    }

    /// Returns the name that errors use for a file.
    pub(crate) fn name(&self, segment: usize) -> &str {
        &self.parts.names[segment]
    }

    /// Returns a function that adds the name of a file to an error.
    pub(crate) fn blame(&self, segment: usize) -> impl Fn(Error) -> Error + '_ {
        move |error| match error {
            // The caller stopped the work; it is not an error of the file.
            Error::Interrupted => error,
            error if self.parts.is_named => Error::Segment {
                segment,
                name: self.name(segment).to_owned(),
                error: Box::new(error),
            },
            error => error,
        }
    }

    fn hidden(&self) -> Option<&Hidden> {
        self.parts.hidden.as_ref()
    }

    /// Checks that values of type `F` can hold the fingerprints of the set.
    ///
    /// # Errors
    /// [`Error::WidthMismatch`] if they cannot.
    pub(crate) fn gives<F: Fingerprint>(&self) -> Result<()> {
        let (index, requested) = (self.width().bits(), F::WIDTH);
        match requested >= index {
            true => Ok(()),
            false => Err(Error::WidthMismatch { index, requested }),
        }
    }

    /// Returns the set without some records, in addition to those already excluded. It answers like a merge with these
    /// exclusions, and serves deletions between two merges: the files stay unchanged and open, but excluded records are
    /// not in any answer, any operation on whole sets, or any merge of this set. Record counts and other figures of
    /// files still include them.
    ///
    /// Memory: 20 to 40 bytes for each fingerprint, each number id, and each record with a string id. Time: a few
    /// microseconds for each string, to look it up in each file. Queries then check the ids of each match, usually one
    /// of them, in some hundred nanoseconds. Exclusion by fingerprint alone costs queries nothing.
    ///
    /// ```
    /// use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Set, Width};
    /// use simidx::set::Exclusions;
    ///
    /// let mut options = BuildOptions::default();
    /// options.ids = IdKind::String;
    /// let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// for (fingerprint, id) in [(0xff_u64, "a"), (0xfe, "b"), (0xfe, "c")] {
    ///     builder.push_with_id(fingerprint, id)?;
    /// }
    /// let mut file = Vec::new();
    /// builder.finish(&mut file)?;
    /// let base = Set::from_bytes(file)?;
    ///
    /// let mut deleted = Exclusions::default();
    /// deleted.add_string("a")?;
    /// deleted.add_string("b")?;
    /// let live = base.clone().without(&deleted)?;
    /// let found = live.query(0xff_u64, 1)?;
    /// assert_eq!((found.len(), found[0].fingerprint), (1, 0xfe)); // 0xff has no record any more
    /// assert_eq!(live.ids_of(0xfe_u64)?.next().unwrap()?.to_string(), "c");
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// Ids of another kind than the set has, a damaged file, or a failure to read ids in temporary files.
    pub fn without(self, exclusions: &Exclusions) -> Result<Self> {
        self.hide(None, exclusions)
    }

    /// Returns the set without some records of one of its files, as [`Set::without`] does for all. Use it if a later
    /// file holds new versions of records whose old versions are still in the base.
    ///
    /// ```
    /// # use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Set, Width};
    /// use simidx::set::Exclusions;
    ///
    /// # let file = |fingerprint: u64, id| {
    /// #     let mut options = BuildOptions::default();
    /// #     options.ids = IdKind::String;
    /// #     let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// #     builder.push_with_id(fingerprint, id)?;
    /// #     let mut file = Vec::new();
    /// #     builder.finish(&mut file)?;
    /// #     Index::<u64>::from_bytes(file)
    /// # };
    /// let (base, delta) = (file(0xff00, "a")?, file(0x00ff, "a")?);
    /// let mut replaced = Exclusions::default();
    /// replaced.add_string("a")?;
    /// let live = Set::new([base, delta])?.without_from(0, &replaced)?;
    /// assert_eq!(live.fingerprints_of_id("a")?, [0x00ff]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Set::without`], and a file that does not exist.
    pub fn without_from(self, segment: usize, exclusions: &Exclusions) -> Result<Self> {
        self.hide(Some(segment), exclusions)
    }

    /// Excludes records from all files, or from one.
    fn hide(self, only: Option<usize>, exclusions: &Exclusions) -> Result<Self> {
        let mut hidden = match self.hidden() {
            Some(hidden) => hidden.clone(),
            None => Hidden::new(self.segment_count()),
        };
        hidden.add(&self, only, exclusions)?;
        let mut parts = Arc::unwrap_or_clone(self.parts);
        parts.hidden = Some(hidden);
        Ok(Set {
            parts: Arc::new(parts),
        })
    }

    /// Checks that the records of all files are like those of the typical one.
    fn check(&self) -> Result<()> {
        let mut with_records = self.segments().filter(|segment| !segment.is_empty());
        let Some(first) = with_records.next() else {
            return Ok(());
        };
        for other in with_records {
            let names = [first.name(), other.name()];
            if first.id_kind() != other.id_kind() {
                let kinds = [first.id_kind(), other.id_kind()].map(IdKind::name);
                let way_out = "build one again with ids like those of the other";
                return Err(differ(names, "the kind of their ids", kinds, way_out));
            }
            if first.pipeline() != other.pipeline() {
                let pipelines = [first, other].map(|segment| segment.pipeline().unwrap_or("none"));
                let way_out = "build one again from its documents with the pipeline of the other";
                return Err(differ(names, "their text pipelines", pipelines, way_out));
            }
        }
        Ok(())
    }

    /// Returns the file that defines the kind of the records: the first with records, or else the first.
    fn typical(&self) -> Segment<'_> {
        let with_records = self.segments().find(|segment| !segment.is_empty());
        with_records.unwrap_or_else(|| self.first())
    }

    /// Returns the smallest distance that the tables of a file were chosen for. Queries may use any distance.
    pub fn max_distance(&self) -> u32 {
        let distances = self.segments().map(Segment::max_distance);
        distances.min().unwrap_or_default()
    }

    /// Returns the number of records of all files.
    pub fn record_count(&self) -> u64 {
        self.segments().map(Segment::record_count).sum()
    }

    /// Whether all files are empty.
    pub fn is_empty(&self) -> bool {
        self.segments().all(Segment::is_empty)
    }

    /// The kind of the ids.
    pub fn id_kind(&self) -> IdKind {
        self.typical().id_kind()
    }

    /// The text pipeline that produced the fingerprints, if the files record it.
    pub fn pipeline(&self) -> Option<&str> {
        self.typical().pipeline()
    }

    /// Returns whether a file holds exactly this fingerprint. Decodes a block of each file up to the first that holds
    /// it.
    ///
    /// # Errors
    /// A damaged block of a file; a fingerprint that does not fit the width.
    pub fn contains(&self, fingerprint: impl Fingerprint) -> Result<bool> {
        self.contains_value(self.width().takes(fingerprint)?)
    }

    fn contains_value(&self, fingerprint: u128) -> Result<bool> {
        at_width!(self, typed => typed.contains(Fingerprint::from_u128(fingerprint)))
    }

    /// Returns the ids of a fingerprint in all files, in order: numbers by value, strings by their bytes, repeated for
    /// each record. Empty if no file holds the fingerprint.
    ///
    /// Takes one look-up in table 0 of each file; [`Hit::ids`] needs none. With several files, this takes 32 bytes of
    /// memory for each id, or for each run of equal ids in a file.
    ///
    /// # Errors
    /// A damaged block or page of a file; a fingerprint that does not fit the width.
    pub fn ids_of(&self, fingerprint: impl Fingerprint) -> Result<SetIds<'_>> {
        self.ids_of_value(self.width().takes(fingerprint)?)
    }

    fn ids_of_value(&self, fingerprint: u128) -> Result<SetIds<'_>> {
        at_width!(self, typed => typed.ids_of(Fingerprint::from_u128(fingerprint)))
    }

    /// Returns the distinct fingerprints of all records with an id, ascending. Takes one look-up in each file, see
    /// [`Index::rank_of_id`].
    ///
    /// # Errors
    /// A damaged block or page of a file.
    pub fn fingerprints_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<u128>> {
        self.with_id(id.into())
    }

    fn with_id(&self, id: Id<'_>) -> Result<Vec<u128>> {
        at_width!(self, typed => typed.fingerprints_of_id(id))
    }

    /// Returns the distinct fingerprints of table `table` of all files, in the order of that table. Takes a few dozen
    /// nanoseconds a fingerprint. Memory: a few decoded blocks of each file.
    ///
    /// # Errors
    /// [`Error::Options`] if a file does not have the table; [`Error::Mismatch`] if its mask differs from that in the
    /// first file. Table 0 is the same in all files: it is in numeric order.
    pub fn fingerprints(&self, table: usize) -> Result<SetFingerprints<'_>> {
        SetFingerprints::new(self, table)
    }

    /// Returns all records of all files in order, with their ids; none if the files have no ids. Takes about 0.4
    /// microseconds a record. Memory: up to 32 MiB of ids for each file.
    ///
    /// # Errors
    /// A damaged block or page of a file.
    pub fn records(&self) -> Result<SetRecords<'_>> {
        SetRecords::new(self)
    }
}

/// Returns the error for a file number that the set does not have.
fn no_segment(number: usize) -> Error {
    Error::option("segment", format!("there is no segment {number}"))
}

/// Returns the error for two files that cannot be read together because they differ, with a remedy.
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
