//! Exclusions: records that a merge drops, or that answers omit.

mod ids;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{NumberedIndex, Set};
use crate::bit_set::BitSet;
use crate::error::{Error, Result};
use crate::extsort::{MemoryLimit, TempSpace};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_ID_LEN};
use crate::id::Id;
use crate::threads::lock;
use ids::ExcludedIds;

/// Excluded ids get one part in this many of a build's memory.
const IDS_SHARE: usize = 4;

/// Records to exclude, by fingerprint or by id. A merge drops them; the answers of a [`Set`](super::Set::without) omit
/// them.
///
/// Fingerprints take 20 to 40 bytes of memory each, in addition to the limit of a merge. Ids are in memory by default;
/// [`Exclusions::with_memory`] sets a limit, beyond which they go to temporary files. The first use sorts the ids; none can
/// be added after it.
///
/// ```
/// use simidx::merge::MergeOptions;
/// use simidx::set::Exclusions;
///
/// let mut exclusions = Exclusions::default();
/// exclusions.add_fingerprint(0xdead_beef_u64);
/// exclusions.add_string("https://example.org/withdrawn")?;
/// let mut options = MergeOptions::default();
/// options.exclusions = exclusions;
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Exclusions {
    fingerprints: HashSet<u128>,
    ids: Mutex<ExcludedIds>,
    temp: TempSpace,
    budget: usize,
}

impl Default for Exclusions {
    fn default() -> Self {
        Exclusions::of_limit(MemoryLimit::unlimited(), None)
    }
}

impl Exclusions {
    /// Creates an empty list whose ids may take about a quarter of `memory`, which may be the limit of the merge. More
    /// ids go to a folder for temporary files, by default that of the system.
    ///
    /// # Errors
    /// The limit is below 64 MiB.
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

impl Exclusions {
    /// Excludes all records of a fingerprint.
    pub fn add_fingerprint(&mut self, fingerprint: impl Fingerprint) {
        self.fingerprints.insert(fingerprint.to_u128());
    }

    /// Creates exclusions from ids, all numbers or all strings.
    ///
    /// ```
    /// use simidx::set::Exclusions;
    ///
    /// let gone = Exclusions::of_ids(["https://example.org/gone"])?;
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// Ids of two kinds.
    pub fn of_ids<'i, I: Into<Id<'i>>>(ids: impl IntoIterator<Item = I>) -> Result<Self> {
        let mut exclusions = Exclusions::default();
        for id in ids {
            match id.into() {
                Id::Number(number) => exclusions.add_number(number)?,
                Id::String(string) => exclusions.add_string(string)?,
            }
        }
        Ok(exclusions)
    }

    /// Excludes all records with this number as their id.
    ///
    /// # Errors
    /// String ids were added before, the ids have been used, or a temporary file cannot be written.
    pub fn add_number(&mut self, id: u64) -> Result<()> {
        let ids = self.ids.get_mut().unwrap_or_else(PoisonError::into_inner);
        ids.add_number(id, &self.temp, self.budget)
    }

    /// Excludes all records with this string as their id. A string that is too long for an id is ignored.
    ///
    /// # Errors
    /// Number ids were added before, the ids have been used, or a temporary file cannot be written.
    pub fn add_string(&mut self, id: &str) -> Result<()> {
        if id.len() > MAX_ID_LEN {
            return Ok(());
        }
        let ids = self.ids.get_mut().unwrap_or_else(PoisonError::into_inner);
        ids.add_string(id.as_bytes(), &self.temp, self.budget)
    }

    /// Checks that the ids are of the kind that the records of a set have.
    ///
    /// # Errors
    /// They are of another kind, or lost.
    pub(crate) fn check(&self, set: &Set) -> Result<()> {
        let (by, kind) = (self.lock_ids().kind()?, set.id_kind());
        if by == IdKind::None || by == kind || set.is_empty() {
            return Ok(());
        }
        let message = format!(
            "records cannot be left out by such ids: the ids are {}",
            kind.name()
        );
        Err(Error::option("exclusions", message))
    }

    /// Marks the slots of each segment that are excluded by id. Returns how many of the ids no segment has.
    ///
    /// # Errors
    /// A damaged segment, whose number is passed to `blame`, and a failure to read or write temporary files.
    pub(crate) fn mark<F: Fingerprint>(
        &self,
        segments: &[NumberedIndex<'_, F>],
        slots: &mut [BitSet],
        blame: impl Fn(usize, Error) -> Error,
    ) -> Result<u64> {
        let mut ids = self.lock_ids();
        if ids.kind()? == IdKind::None {
            return Ok(0);
        }
        ids.sorted(&self.temp)?
            .mark(segments, slots, self.budget, blame)
    }

    /// Calls `take` with each excluded id, in order.
    ///
    /// # Errors
    /// A failure to read or write temporary files, and any error of `take`.
    pub(super) fn for_each_id(&self, take: impl FnMut(Id<'_>) -> Result<()>) -> Result<()> {
        let mut ids = self.lock_ids();
        if ids.kind()? == IdKind::None {
            return Ok(());
        }
        ids.sorted(&self.temp)?.for_each(take)
    }

    fn lock_ids(&self) -> MutexGuard<'_, ExcludedIds> {
        lock(&self.ids)
    }

    /// Returns the excluded fingerprints, in any order.
    pub(crate) fn fingerprints(&self) -> impl ExactSizeIterator<Item = u128> {
        self.fingerprints.iter().copied()
    }

    pub(crate) fn has_fingerprint(&self, fingerprint: u128) -> bool {
        !self.fingerprints.is_empty() && self.fingerprints.contains(&fingerprint)
    }
}
