//! Which records a merge leaves out, and what that leaves of each fingerprint.

use std::collections::HashSet;

use super::passes::MergedRecords;
use crate::build::IdSpool;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;

/// Records that a merge leaves out: those of some fingerprints, and those with some ids.
///
/// They are in memory beside the limit of the merge, 20 to 100 bytes each, and so is each fingerprint that keeps no record.
///
/// ```
/// use simidx::segments::{Exclusions, MergeOptions};
///
/// let mut exclusions = Exclusions::<u64>::default();
/// exclusions.add_fingerprint(0xdead_beef);
/// exclusions.add_string("https://example.org/withdrawn");
/// let mut options = MergeOptions::default();
/// options.exclusions = exclusions;
/// ```
#[derive(Debug, Clone)]
pub struct Exclusions<F> {
    fingerprints: HashSet<F>,
    numbers: HashSet<u64>,
    strings: HashSet<Vec<u8>>,
}

impl<F> Default for Exclusions<F> {
    fn default() -> Self {
        Exclusions {
            fingerprints: HashSet::new(),
            numbers: HashSet::new(),
            strings: HashSet::new(),
        }
    }
}

impl<F: Fingerprint> Exclusions<F> {
    /// Leaves all records of a fingerprint out.
    pub fn add_fingerprint(&mut self, fingerprint: F) {
        self.fingerprints.insert(fingerprint);
    }

    /// Leaves the records with this number as their id out.
    pub fn add_number(&mut self, id: u64) {
        self.numbers.insert(id);
    }

    /// Leaves the records with this string as their id out.
    pub fn add_string(&mut self, id: &str) {
        self.strings.insert(id.as_bytes().to_vec());
    }

    /// Whether records can be left out by such ids where the ids of all segments are of this kind.
    ///
    /// # Errors
    /// They cannot.
    pub(super) fn check(&self, kind: IdKind) -> Result<()> {
        let by_number = !self.numbers.is_empty() && kind != IdKind::Number;
        let by_string = !self.strings.is_empty() && kind != IdKind::String;
        if !by_number && !by_string {
            return Ok(());
        }
        let message = format!(
            "records cannot be left out by such ids: the ids are {}",
            kind.name()
        );
        Err(Error::option("exclusions", message))
    }

    /// The fingerprints whose records are left out, in no order.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = F> {
        self.fingerprints.iter().copied()
    }

    fn has_fingerprint(&self, fingerprint: F) -> bool {
        !self.fingerprints.is_empty() && self.fingerprints.contains(&fingerprint)
    }

    pub(super) fn has_number(&self, id: u64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&id)
    }

    pub(super) fn has_string(&self, id: &[u8]) -> bool {
        !self.strings.is_empty() && self.strings.contains(id)
    }
}

/// Decides record by record which ones stay, and notes the fingerprints that keep none.
pub(super) struct IdPass<'e, F> {
    exclusions: &'e Exclusions<F>,
    pub(super) ids: IdSpool,
    open: Option<OpenGroup<F>>,
    dropped: Vec<F>,
}

/// The records of one fingerprint.
struct OpenGroup<F> {
    fingerprint: F,
    is_excluded: bool,
    has_records: bool,
}

impl<'e, F: Fingerprint> IdPass<'e, F> {
    pub(super) fn new(exclusions: &'e Exclusions<F>, ids: IdSpool) -> Self {
        IdPass {
            exclusions,
            ids,
            open: None,
            dropped: Vec::new(),
        }
    }

    /// Takes the next record: `None` if it is left out, otherwise whether it is the first one of its fingerprint.
    pub(super) fn keep(&mut self, fingerprint: F, id_is_excluded: bool) -> Option<bool> {
        if self
            .open
            .as_ref()
            .is_none_or(|open| open.fingerprint != fingerprint)
        {
            self.close();
            self.open = Some(OpenGroup {
                fingerprint,
                is_excluded: self.exclusions.has_fingerprint(fingerprint),
                has_records: false,
            });
        }
        let open = self.open.as_mut()?;
        if open.is_excluded || id_is_excluded {
            return None;
        }
        Some(!std::mem::replace(&mut open.has_records, true))
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take().filter(|open| !open.has_records) {
            self.dropped.push(open.fingerprint);
        }
    }

    pub(super) fn finish(mut self) -> MergedRecords<F> {
        self.close();
        MergedRecords {
            record_count: self.ids.record_count(),
            fingerprint_count: Some(self.ids.fingerprint_count()),
            ids: Some(self.ids),
            dropped: self.dropped,
        }
    }
}
