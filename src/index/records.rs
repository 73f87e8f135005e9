//! All records of an index in order, with a few megabytes of ids at a time, however many records share a fingerprint.

use super::ids::IdSequence;
use super::{Fingerprints, Index};
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::id::Id;

/// Bytes of ids to read ahead by default.
pub(super) const READ_AHEAD_LEN: usize = 32 << 20;

/// The records of an index with ids, ordered by fingerprint, then by id. Created by [`Index::records`].
///
/// Strings are read ahead, up to 32 MiB at a time. Reading 100,000 of them in the order in which they are stored takes
/// a fraction of the time of reading them one by one.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::{Id, IdKind, Index};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::String;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// for (fingerprint, id) in [(42_u64, "b"), (7, "c"), (42, "a")] {
///     builder.push_with_id(fingerprint, id)?;
/// }
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
///
/// let index = Index::<u64>::from_bytes(file)?;
/// let mut records = index.records();
/// assert_eq!(records.read()?, Some((7, Id::String("c"))));
/// assert_eq!(records.read()?, Some((42, Id::String("a"))));
/// assert_eq!(records.read()?, Some((42, Id::String("b"))));
/// assert_eq!(records.read()?, None);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Records<'a, F> {
    index: &'a Index<F>,
    ids: Option<IdSequence<'a>>,
    fingerprints: Fingerprints<'a, F>,
    fingerprint: Option<F>,
}

impl<'a, F: Fingerprint> Records<'a, F> {
    /// Creates the iterator, with at most about `budget` bytes of ids at a time.
    pub(super) fn new(index: &'a Index<F>, budget: usize) -> Self {
        let ids = index.ids.as_ref();
        Records {
            index,
            ids: ids.map(|ids| IdSequence::new(ids, index.bytes(), budget)),
            fingerprints: index.iter(),
            fingerprint: None,
        }
    }

    /// Returns the next record; the id is valid until the following record is read. Returns `None` at the end, and at
    /// once if the index has no ids.
    ///
    /// # Errors
    /// A damaged block or page, or ids that do not fit the fingerprints. Do not read on after an error.
    pub fn read(&mut self) -> Result<Option<(F, Id<'_>)>> {
        if self.ids.is_none() {
            return Ok(None);
        }
        let record = self.read_with_slot()?;
        Ok(record.map(|(fingerprint, id, _)| (fingerprint, id)))
    }

    /// Returns the next record for which `holds` is true, given its fingerprint, its id and the slot of the id.
    ///
    /// # Errors
    /// The errors of [`Records::read`].
    pub(crate) fn read_where(
        &mut self,
        mut holds: impl FnMut(F, Id<'_>, u64) -> bool,
    ) -> Result<Option<(F, Id<'_>)>> {
        if self.ids.is_none() {
            return Ok(None);
        }
        while let Some((fingerprint, id, slot)) = self.read_with_slot()? {
            if holds(fingerprint, id, slot) {
                let ids = self.ids.as_ref();
                let id = ids.and_then(IdSequence::last);
                return Ok(id.map(|id| (fingerprint, id)));
            }
        }
        Ok(None)
    }

    /// Returns the next record with the slot of its id, see [`Index::visit_ids`]. Without ids, a record is a fingerprint,
    /// with the number 0.
    ///
    /// # Errors
    /// The errors of [`Records::read`].
    pub(crate) fn read_with_slot(&mut self) -> Result<Option<(F, Id<'_>, u64)>> {
        let (Some(sections), Some(ids)) = (&self.index.ids, &mut self.ids) else {
            let fingerprint = self.fingerprints.next().transpose()?;
            return Ok(fingerprint.map(|fingerprint| (fingerprint, Id::Number(0), 0)));
        };
        let (file, next) = (self.index.bytes(), ids.next_index());
        if next == sections.record_count() {
            // Fingerprints without an id must not be lost.
            return match self.fingerprints.next() {
                None => Ok(None),
                Some(fingerprint) => fingerprint.and(Err(too_many())),
            };
        }
        if sections.is_first(file, next)? {
            self.fingerprint = self.fingerprints.next().transpose()?;
        }
        let fingerprint = self.fingerprint.ok_or_else(too_few)?;
        let read = ids.read()?;
        Ok(read.map(|(id, slot)| (fingerprint, id, slot)))
    }
}

fn too_many() -> crate::Error {
    FormatError::damaged(29, "there are more fingerprints than groups of ids").into()
}

fn too_few() -> crate::Error {
    FormatError::damaged(29, "there are fewer fingerprints than groups of ids").into()
}
