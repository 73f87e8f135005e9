//! Which records a merge leaves out, and what that leaves of each fingerprint.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::excluded_ids::{ExcludedIds, ExcludedSlots};
use super::passes::MergedRecords;
use crate::build::IdSpool;
use crate::error::{Error, Result};
use crate::extsort::{MemoryLimit, TempSpace};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_ID_LEN};
use crate::index::Index;

/// The part of the memory of a build that ids to be left out take.
const IDS_SHARE: usize = 4;

/// Records that a merge leaves out: those of some fingerprints, and those with some ids.
///
/// Fingerprints are in memory beside the limit of the merge, 20 to 40 bytes each, and so is each fingerprint that keeps no
/// record. Ids are in memory too by default; [`Exclusions::with_memory`] sets a limit, past which they are in temporary
/// files.
///
/// ```
/// use simidx::segments::{Exclusions, MergeOptions};
///
/// let mut exclusions = Exclusions::<u64>::default();
/// exclusions.add_fingerprint(0xdead_beef);
/// exclusions.add_string("https://example.org/withdrawn")?;
/// let mut options = MergeOptions::default();
/// options.exclusions = exclusions;
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Exclusions<F> {
    fingerprints: HashSet<F>,
    ids: Mutex<ExcludedIds>,
    temp: TempSpace,
    budget: usize,
}

impl<F> Default for Exclusions<F> {
    fn default() -> Self {
        Exclusions::of_limit(MemoryLimit::unlimited(), None)
    }
}

impl<F> Exclusions<F> {
    /// None yet, with a limit of memory for ids of about a quarter of this, which may be that of the merge. What does not
    /// fit goes to a folder for temporary files, by default that of the system.
    ///
    /// # Errors
    /// The limit is below [`MIN_MEMORY`](crate::build::MIN_MEMORY).
    pub fn with_memory(memory: u64, temp_dir: Option<PathBuf>) -> Result<Self> {
        Ok(Exclusions::of_limit(
            MemoryLimit::new(Some(memory))?,
            temp_dir,
        ))
    }

    fn of_limit(limit: MemoryLimit, temp_dir: Option<PathBuf>) -> Self {
        Exclusions {
            fingerprints: HashSet::new(),
            ids: Mutex::new(ExcludedIds::None),
            temp: limit.temp(temp_dir),
            budget: limit.budget() / IDS_SHARE,
        }
    }
}

impl<F: Fingerprint> Exclusions<F> {
    /// Leaves all records of a fingerprint out.
    pub fn add_fingerprint(&mut self, fingerprint: F) {
        self.fingerprints.insert(fingerprint);
    }

    /// Leaves the records with this number as their id out.
    ///
    /// # Errors
    /// There are strings to be left out already, or a temporary file cannot be written.
    pub fn add_number(&mut self, id: u64) -> Result<()> {
        let ids = self.ids.get_mut().unwrap_or_else(PoisonError::into_inner);
        ids.add_number(id, &self.temp, self.budget)
    }

    /// Leaves the records with this string as their id out. One that is too long for an id is none.
    ///
    /// # Errors
    /// There are numbers to be left out already, or a temporary file cannot be written.
    pub fn add_string(&mut self, id: &str) -> Result<()> {
        if id.len() > MAX_ID_LEN {
            return Ok(());
        }
        let ids = self.ids.get_mut().unwrap_or_else(PoisonError::into_inner);
        ids.add_string(id.as_bytes(), &self.temp, self.budget)
    }

    /// Whether records can be left out by such ids where the ids of all segments are of this kind.
    ///
    /// # Errors
    /// They cannot.
    pub(super) fn check(&self, kind: IdKind) -> Result<()> {
        let by = self.lock_ids().kind();
        if by == IdKind::None || by == kind {
            return Ok(());
        }
        let message = format!(
            "records cannot be left out by such ids: the ids are {}",
            kind.name()
        );
        Err(Error::option("exclusions", message))
    }

    /// The records of each segment that are left out by their ids, and how many of these ids no segment has.
    ///
    /// # Errors
    /// A damaged segment, whose number `blame` gets, and what keeps temporary files from being read or written.
    pub(super) fn marked<D: AsRef<[u8]>>(
        &self,
        segments: &[&Index<F, D>],
        blame: impl Fn(usize, Error) -> Error,
    ) -> Result<(Vec<ExcludedSlots>, u64)> {
        let mut ids = self.lock_ids();
        if ids.kind() == IdKind::None {
            return Ok((vec![ExcludedSlots::default(); segments.len()], 0));
        }
        let sorted = ids.sorted(&self.temp)?;
        sorted.mark(segments, self.budget, blame)
    }

    fn lock_ids(&self) -> MutexGuard<'_, ExcludedIds> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fingerprints whose records are left out, in no order.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = F> {
        self.fingerprints.iter().copied()
    }

    pub(super) fn has_fingerprint(&self, fingerprint: F) -> bool {
        !self.fingerprints.is_empty() && self.fingerprints.contains(&fingerprint)
    }
}

/// Decides record by record which ones stay of those that their ids leave in, and notes the fingerprints that keep none.
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
    pub(super) fn keep(&mut self, fingerprint: F) -> Option<bool> {
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
        if open.is_excluded {
            return None;
        }
        Some(!std::mem::replace(&mut open.has_records, true))
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take().filter(|open| !open.has_records) {
            self.dropped.push(open.fingerprint);
        }
    }

    /// Ends the pass. `dropped` are further fingerprints that keep no record, and `unmatched_id_count` ids that no record has.
    pub(super) fn finish(mut self, dropped: Vec<F>, unmatched_id_count: u64) -> MergedRecords<F> {
        self.close();
        self.dropped.extend(dropped);
        F::sort(&mut self.dropped);
        self.dropped.dedup();
        MergedRecords {
            record_count: self.ids.record_count(),
            fingerprint_count: Some(self.ids.fingerprint_count()),
            ids: Some(self.ids),
            dropped: self.dropped,
            unmatched_id_count,
        }
    }
}
