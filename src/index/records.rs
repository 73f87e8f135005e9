//! All records of an index in rank order, one id at a time: however many share a fingerprint, none is held.

use super::{Fingerprints, Id, Index};
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The records of an index with ids; made by [`Index::records`].
#[derive(Debug)]
pub(crate) struct Records<'a, F, D> {
    index: &'a Index<F, D>,
    fingerprints: Fingerprints<'a, F, D>,
    fingerprint: Option<F>,
    next_id: u64,
    /// Where the strings go on.
    at: usize,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Records<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>) -> Result<Self> {
        Ok(Records {
            index,
            fingerprints: index.fingerprints(0)?,
            fingerprint: None,
            next_id: 0,
            at: 0,
        })
    }

    fn read(&mut self) -> Result<Option<(F, Id<'a>)>> {
        let Some(ids) = &self.index.ids else {
            return Ok(None);
        };
        let (file, id) = (self.index.bytes(), self.next_id);
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
        Ok(Some((fingerprint, ids.read_next(file, id, &mut self.at)?)))
    }
}

fn too_many() -> crate::Error {
    FormatError::damaged(29, "there are more fingerprints than groups of ids").into()
}

fn too_few() -> crate::Error {
    FormatError::damaged(29, "there are fewer fingerprints than groups of ids").into()
}

/// # Errors
/// A damaged block or page, or ids that do not belong to the fingerprints; nothing comes behind an error.
impl<'a, F: Fingerprint, D: AsRef<[u8]>> Iterator for Records<'a, F, D> {
    type Item = Result<(F, Id<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
