//! What is searched: one index file or several as one, of any width, less the records that are left out.

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

/// An index with its number in a set.
pub(crate) type NumberedIndex<'a, F> = (usize, &'a Index<F>);

/// One index file or several, searched as one: they answer as one file with the records of all of them would.
///
/// A fingerprint that several files hold is found once, with the ids of all of them. The files may differ in their tables,
/// codecs and distances. Their width must be the same, and what their records are, the kind of the ids and the text pipeline,
/// except in a file without records. A query costs the sum of its costs in each file.
///
/// A set has no type for its width. A fingerprint that is asked for may have any type; its value must fit the width. Answers have
/// the type of the question, which must be at least as wide as the set: `u128` goes with every set. Columns of fingerprints must
/// have the width of the set.
///
/// A set is `Send + Sync`, and a clone costs nothing: threads share it, and each keeps a [`SetScratch`] of its own. An error of
/// a file is an [`Error::Segment`] with its number and name. Names are the paths of files, or `segment 0`, `segment 1` and so on
/// where there are none. An [`Index`] alone, which `from` takes, has no name: its errors are its own.
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
    indexes: Indexes,
    names: Vec<String>,
    /// Whether errors name the index: not that of an index alone.
    is_named: bool,
    /// What is left out.
    hidden: Option<Hidden>,
}

/// Index files of one width.
#[derive(Debug, Clone)]
enum Indexes {
    W32(Vec<Arc<Index<u32>>>),
    W64(Vec<Arc<Index<u64>>>),
    W128(Vec<Arc<Index<u128>>>),
}

impl<F: Fingerprint> From<Arc<Index<F>>> for Set {
    fn from(index: Arc<Index<F>>) -> Self {
        Set {
            parts: Arc::new(Parts {
                indexes: Indexes::from(vec![index]),
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
    /// Bits of a fingerprint.
    pub fn width(&self) -> Width {
        match self.parts.indexes {
            Indexes::W32(_) => Width::W32,
            Indexes::W64(_) => Width::W64,
            Indexes::W128(_) => Width::W128,
        }
    }

    /// Number of files.
    pub fn segment_count(&self) -> usize {
        self.parts.names.len()
    }

    /// The files, in the order in which they were given.
    pub fn segments(
        &self,
    ) -> impl DoubleEndedIterator<Item = Segment<'_>> + ExactSizeIterator + Clone {
        (0..self.segment_count()).map(|number| Segment::new(self, number))
    }

    /// The first file, which every set has.
    pub fn first(&self) -> Segment<'_> {
        Segment::new(self, 0)
    }

    /// The file of a number, if there is one.
    pub fn segment(&self, number: usize) -> Option<Segment<'_>> {
        (number < self.segment_count()).then(|| Segment::new(self, number))
    }

    /// The index that a file is, if there is one of this number and `F` is the width of the set.
    pub fn index<F: Fingerprint>(&self, number: usize) -> Option<&Arc<Index<F>>> {
        match Width::of::<F>() == self.width() {
            true => self.typed().shared().get(number),
            false => None,
        }
    }

    /// The set of one of the files alone, under its name; nothing is left out of it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no file of this number.
    pub fn only(&self, number: usize) -> Result<Self> {
        let segment = self.segment(number).ok_or_else(|| no_segment(number))?;
        let set = at_width!(self, typed => Set::from(Arc::clone(&typed.shared()[number])));
        Ok(match self.parts.is_named {
            true => set.named(segment.name()),
            false => set,
        })
    }

    /// What errors call each file, in the same order; `the index` for an index alone, whose errors have no name.
    pub fn names(&self) -> &[String] {
        &self.parts.names
    }

    /// What errors call a file.
    pub(crate) fn name(&self, segment: usize) -> &str {
        &self.parts.names[segment]
    }

    /// What makes an error of a file one that names it.
    pub(crate) fn blame(&self, segment: usize) -> impl Fn(Error) -> Error + '_ {
        move |error| match error {
            // The caller stopped the work; no file is at fault.
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

    /// Whether values of a type can be given: those of the set fit it.
    ///
    /// # Errors
    /// [`Error::WidthMismatch`] if they do not.
    pub(crate) fn gives<F: Fingerprint>(&self) -> Result<()> {
        let (index, requested) = (self.width().bits(), F::WIDTH);
        match requested >= index {
            true => Ok(()),
            false => Err(Error::WidthMismatch { index, requested }),
        }
    }

    /// The same set without some records, whatever was left out before: what a merge with these exclusions would answer. For
    /// deletions between two merges: the files stay as they are and open, and what is left out is in no answer, in no operation
    /// on whole sets, and in no merge of this set. Numbers of records and other figures of files still count it.
    ///
    /// Memory: 20 to 40 bytes for each fingerprint, each number, and each record with a string. Time: a look-up in each file for
    /// each string, a few microseconds. Queries then look at the ids of each match, most often at one, some hundred nanoseconds;
    /// those of fingerprints alone cost nothing.
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
    /// Ids of another kind than the set has, a damaged file, or what keeps ids in temporary files from being read.
    pub fn without(self, exclusions: &Exclusions) -> Result<Self> {
        self.hide(None, exclusions)
    }

    /// The same set without some records of one of its files, as [`Set::without`]: for new versions in a further file, whose old
    /// ones are still in the base.
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
    /// As for [`Set::without`]; there is no file of this number.
    pub fn without_from(self, segment: usize, exclusions: &Exclusions) -> Result<Self> {
        self.hide(Some(segment), exclusions)
    }

    /// Leaves records out of all files or of one.
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

    /// Whether the records of the files are like those of the typical one.
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

    /// The file that says what the records are: the first one that has any, or the first one.
    fn typical(&self) -> Segment<'_> {
        let with_records = self.segments().find(|segment| !segment.is_empty());
        with_records.unwrap_or_else(|| self.first())
    }

    /// The smallest of the distances that the tables of the files were chosen for. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        let distances = self.segments().map(Segment::max_distance);
        distances.min().unwrap_or_default()
    }

    /// Number of records of all files.
    pub fn record_count(&self) -> u64 {
        self.segments().map(Segment::record_count).sum()
    }

    /// Whether no file holds a fingerprint.
    pub fn is_empty(&self) -> bool {
        self.segments().all(Segment::is_empty)
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.typical().id_kind()
    }

    /// How the documents became fingerprints, if the files record it.
    pub fn pipeline(&self) -> Option<&str> {
        self.typical().pipeline()
    }

    /// Whether a file holds this very fingerprint. Decodes a block of each file up to the first that does.
    ///
    /// # Errors
    /// A damaged block of a file; a fingerprint of more bits.
    pub fn contains(&self, fingerprint: impl Fingerprint) -> Result<bool> {
        self.contains_value(self.width().takes(fingerprint)?)
    }

    fn contains_value(&self, fingerprint: u128) -> Result<bool> {
        at_width!(self, typed => typed.contains(Fingerprint::from_u128(fingerprint)))
    }

    /// The ids that a fingerprint has in any file, in order: numbers by value, strings by their bytes, equal ones as often as
    /// there are records. None for a fingerprint that no file holds.
    ///
    /// One look-up in table 0 of each file; [`Hit::ids`] needs none. With more than one file, 32 bytes of memory for each id, or
    /// for each run of equal ids in a file.
    ///
    /// # Errors
    /// A damaged block or page of a file; a fingerprint of more bits.
    pub fn ids_of(&self, fingerprint: impl Fingerprint) -> Result<SetIds<'_>> {
        self.ids_of_value(self.width().takes(fingerprint)?)
    }

    fn ids_of_value(&self, fingerprint: u128) -> Result<SetIds<'_>> {
        at_width!(self, typed => typed.ids_of(Fingerprint::from_u128(fingerprint)))
    }

    /// The fingerprints of all records that have an id, ascending, each once. A look-up in each file, see
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

    /// The fingerprints of table `table` of all files in its order, each once. A few dozen nanoseconds a fingerprint; memory: a
    /// few decoded blocks of each file.
    ///
    /// # Errors
    /// [`Error::Options`] if the table is missing in a file; [`Error::Mismatch`] if it is in the bit order of another mask than
    /// in the first. All have the same table 0: it is in numeric order.
    pub fn fingerprints(&self, table: usize) -> Result<SetFingerprints<'_>> {
        SetFingerprints::new(self, table)
    }

    /// All records of all files in order, with their ids; none if the files have no ids. About 0.4 microseconds a record; memory:
    /// up to 32 MiB of ids a file.
    ///
    /// # Errors
    /// A damaged block or page of a file.
    pub fn records(&self) -> Result<SetRecords<'_>> {
        SetRecords::new(self)
    }
}

/// The error that a file is asked for that a set does not have.
fn no_segment(number: usize) -> Error {
    Error::option("segment", format!("there is no segment {number}"))
}

/// The error that two files cannot be read together because they differ, and what to do then.
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
