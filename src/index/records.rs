//! All records of an index in rank order, one id at a time: however many share a fingerprint, none is held.

use super::{Fingerprints, Id, IdBuffer, Index};
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The records of an index with ids; made by [`Index::records`].
#[derive(Debug)]
pub(crate) struct Records<'a, F, D> {
    index: &'a Index<F, D>,
    fingerprints: Fingerprints<'a, F, D>,
    fingerprint: Option<F>,
    next_id: u64,
    buffer: IdBuffer,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Records<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>) -> Result<Self> {
        Ok(Records {
            index,
            fingerprints: index.fingerprints(0)?,
            fingerprint: None,
            next_id: 0,
            buffer: IdBuffer::default(),
        })
    }

    /// The next record, and the slot of its id (see [`Index::visit_ids`]). The id is lent until the next one is read.
    ///
    /// # Errors
    /// A damaged block or page, or ids that do not belong to the fingerprints; nothing may be read after an error.
    pub(crate) fn read(&mut self) -> Result<Option<(F, Id<'_>, u64)>> {
        let Some(ids) = &self.index.ids else {
            return Ok(None);
        };
        let (file, id) = (self.index.file(), self.next_id);
        if id == ids.record_count() {
            // Fingerprints without an id would be lost.
            return match self.fingerprints.next() {
                None => Ok(None),
                Some(fingerprint) => fingerprint.and(Err(too_many())),
            };
        }
        if ids.is_first(file, id)? {
            self.fingerprint = self.fingerprints.next().transpose()?;
        }
        let fingerprint = self.fingerprint.ok_or_else(too_few)?;
        self.next_id += 1;
        let slot = ids.slot(file, id)?;
        let id = ids.read_at_slot(file, slot, &mut self.buffer)?;
        Ok(Some((fingerprint, id, slot)))
    }
}

fn too_many() -> crate::Error {
    FormatError::damaged(29, "there are more fingerprints than groups of ids").into()
}

fn too_few() -> crate::Error {
    FormatError::damaged(29, "there are fewer fingerprints than groups of ids").into()
}
