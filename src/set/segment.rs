//! One index file of a set.

use super::{Set, at_width};
use crate::design::ProbePlan;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Width};
use crate::format::{ContentId, IdKind, Metadata};
use crate::index::{Sketches, Storage, VerifyReport};
use crate::summary::Summary;
use crate::watch::Watch;

/// One index file of a [`Set`], of any width.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder, Set, Width};
///
/// # let mut file = Vec::new();
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.extend_from_slice(&[7_u64, 42])?;
/// builder.finish(&mut file)?;
/// let set = Set::from_bytes(file)?;
/// for segment in set.segments() {
///     println!("{}: {} fingerprints", segment.name(), segment.len());
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    set: &'a Set,
    number: usize,
}

/// Evaluates an expression with a name bound to the index of a segment.
macro_rules! of_index {
    ($segment:expr, $index:ident => $body:expr) => {{
        let segment = $segment;
        at_width!(segment.set, typed => {
            let $index = typed.index(segment.number);
            $body
        })
    }};
}

impl<'a> Segment<'a> {
    /// Creates the segment of this number, which must exist.
    pub(super) fn new(set: &'a Set, number: usize) -> Self {
        Segment { set, number }
    }

    /// Returns the number of the file in the set.
    pub fn number(self) -> usize {
        self.number
    }

    /// Returns the name that errors use for the file.
    pub fn name(self) -> &'a str {
        self.set.name(self.number)
    }

    /// The width of the fingerprints.
    pub fn width(self) -> Width {
        self.set.width()
    }

    /// The distance that the tables were chosen for, k.
    pub fn max_distance(self) -> u32 {
        of_index!(self, index => index.max_distance())
    }

    /// Number of records.
    pub fn record_count(self) -> u64 {
        of_index!(self, index => index.record_count())
    }

    /// Number of distinct fingerprints.
    pub fn len(self) -> u64 {
        of_index!(self, index => index.len())
    }

    /// Whether the file is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the smallest and the largest fingerprint; `None` if the file is empty. Decodes two blocks.
    ///
    /// # Errors
    /// A damaged block.
    pub(super) fn range(self) -> Result<Option<(u128, u128)>> {
        let Some(last) = self.len().checked_sub(1) else {
            return Ok(None);
        };
        of_index!(self, index => match (index.fingerprint(0)?, index.fingerprint(last)?) {
            (Some(first), Some(last)) => Ok(Some((first.to_u128(), last.to_u128()))),
            _ => Ok(None),
        })
    }

    /// The kind of the ids.
    pub fn id_kind(self) -> IdKind {
        of_index!(self, index => index.id_kind())
    }

    /// The text pipeline that produced the fingerprints, if the file records it.
    pub fn pipeline(self) -> Option<&'a str> {
        of_index!(self, index => index.pipeline())
    }

    /// The user-defined keys and values in the file.
    pub fn metadata(self) -> &'a Metadata {
        of_index!(self, index => index.metadata())
    }

    /// Returns the content id, see [`Index::content_id`](crate::Index::content_id).
    pub fn content_id(self) -> ContentId {
        of_index!(self, index => index.content_id())
    }

    /// The storage that holds the bytes of the file.
    pub fn storage(self) -> &'a Storage {
        of_index!(self, index => index.storage())
    }

    /// Returns the parameters and sizes of the file and of each table.
    pub fn summary(self) -> Summary {
        of_index!(self, index => index.summary())
    }

    /// Returns the plan for queries within a distance, see [`Index::plan`](crate::Index::plan).
    #[doc(hidden)]
    pub fn plan(self, distance: u32) -> &'a ProbePlan {
        of_index!(self, index => index.plan(distance))
    }

    /// Returns the sketches of the records; `None` if the file has none.
    ///
    /// # Errors
    /// A damaged section header of the sketches, with the name of the file.
    #[doc(hidden)]
    pub fn sketches(self) -> Result<Option<Sketches<'a>>> {
        let sketches = of_index!(self, index => index.sketches());
        sketches.map_err(self.set.blame(self.number))
    }

    /// Checks every byte of the file against every rule of the format, see [`Index::verify`](crate::Index::verify).
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the watch stops the work.
    pub fn verify(self, watch: &Watch) -> Result<VerifyReport> {
        of_index!(self, index => index.verify(watch))
    }
}
