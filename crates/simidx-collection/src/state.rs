//! The state of an open collection in memory: its segments, their deleted records, and the recent records.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use simidx::set::SetScratch;
use simidx::{Fingerprint, Set};

use crate::answer::Gathered;
use crate::deleted::DeletedIds;
use crate::error::Result;
use crate::recent::{Recent, Record};

/// A sealed segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    /// The last change that its records include; later deletions apply to it.
    pub(crate) last: u64,
    /// A set of only this file, named by its path.
    pub(crate) set: Set,
}

pub(crate) type SegmentList = Arc<Vec<Arc<Segment>>>;

/// The deleted ids of each segment, by its number.
pub(crate) type Deleted = HashMap<u64, DeletedIds>;

/// A match in a segment, deleted or not.
#[derive(Debug)]
pub(crate) struct Hit {
    distance: u32,
    fingerprint: u128,
    id: String,
    segment: u64,
}

/// The place of the record of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Active,
    Frozen(usize),
    Segment(u64),
}

/// The contents.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) segments: SegmentList,
    /// The deleted ids, by the numbers of the segments.
    pub(crate) deleted: Arc<Deleted>,
    /// Recent records that wait to be sealed, oldest first.
    pub(crate) frozen: Vec<Recent>,
    pub(crate) active: Recent,
    /// The number of the last change.
    pub(crate) last: u64,
    pub(crate) next_generation: u64,
    /// The time when a lot was last sealed, or else when the collection was opened.
    pub(crate) sealed_at: Instant,
}

impl State {
    pub(crate) fn recents(&self) -> impl Iterator<Item = &Recent> {
        self.frozen.iter().chain([&self.active])
    }

    /// Returns the recent record of an id.
    pub(crate) fn find_recent(&self, id: &str) -> Option<(Place, u128)> {
        let frozen = self.frozen.iter().enumerate().rev();
        let frozen = frozen.map(|(number, frozen)| (Place::Frozen(number), frozen));
        let mut recents = [(Place::Active, &self.active)].into_iter().chain(frozen);
        recents.find_map(|(place, recent)| Some((place, recent.get(id)?)))
    }

    /// Returns the record of an id. `places` are its records in segments.
    pub(crate) fn find(&self, id: &str, places: &[(u64, u128)]) -> Option<(Place, u128)> {
        let recent = self.find_recent(id);
        recent.or_else(|| find_sealed(&self.deleted, id, places))
    }

    /// Returns the segments and their deleted ids, to be searched while the collection is changed.
    pub(crate) fn sealed(&self) -> (SegmentList, Arc<Deleted>) {
        (Arc::clone(&self.segments), Arc::clone(&self.deleted))
    }

    /// Deletes the record of an id at its place.
    pub(crate) fn kill(&mut self, place: Place, id: &str) {
        match place {
            Place::Active => {
                self.active.kill(id);
            }
            Place::Frozen(number) => {
                self.frozen[number].kill(id);
            }
            Place::Segment(segment) => {
                let deleted = Arc::make_mut(&mut self.deleted);
                deleted.entry(segment).or_default().insert(id.into());
            }
        }
    }

    /// Freezes the active records, unless there are no changes. Returns whether it did.
    pub(crate) fn freeze(&mut self) -> bool {
        if self.active.last == 0 {
            return false;
        }
        let active = self.active.next(self.next_generation);
        self.next_generation += 1;
        let mut frozen = std::mem::replace(&mut self.active, active);
        frozen.freeze();
        self.frozen.push(frozen);
        true
    }

    /// Collects the recent records within a distance, except that of one id.
    ///
    /// # Errors
    /// The ids exceed the limit.
    pub(crate) fn gather_recent(
        &self,
        (fingerprint, distance): (u128, u32),
        except: Option<&str>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let mut outcome = Ok(());
        for recent in self.recents() {
            recent.visit_near(fingerprint, distance, |record, distance| {
                if outcome.is_ok() && except != Some(&*record.id) {
                    let id = Cow::Borrowed(&*record.id);
                    outcome = gathered.push(distance, record.fingerprint, id);
                }
            });
        }
        outcome
    }

    /// Collects the nearest recent records: those of `count` fingerprints.
    ///
    /// # Errors
    /// The ids exceed the limit.
    pub(crate) fn gather_nearest(
        &self,
        (fingerprint, count, max_distance): (u128, usize, u32),
        gathered: &mut Gathered,
    ) -> Result<()> {
        let records = || self.recents().flat_map(Recent::iter);
        let key = |record: &Record| (record.fingerprint.distance(fingerprint), record.fingerprint);
        let mut nearest = BTreeSet::new();
        for key in records().map(key).filter(|key| key.0 <= max_distance) {
            if nearest.len() < count || nearest.last().is_some_and(|last| key < *last) {
                nearest.insert(key);
                if nearest.len() > count {
                    nearest.pop_last();
                }
            }
        }
        let Some(&last) = nearest.last() else {
            return Ok(());
        };
        for record in records() {
            let key = key(record);
            if key <= last {
                gathered.push(key.0, key.1, Cow::Borrowed(&record.id))?;
            }
        }
        Ok(())
    }

    pub(crate) fn record_count(&self) -> u64 {
        let sealed: u64 = self.segments.iter().map(|s| s.set.record_count()).sum();
        sealed + self.recent_count() - self.deleted_count()
    }

    pub(crate) fn recent_count(&self) -> u64 {
        self.recents()
            .map(|recent| recent.live_count() as u64)
            .sum()
    }

    pub(crate) fn deleted_count(&self) -> u64 {
        self.deleted
            .values()
            .map(|deleted| deleted.len() as u64)
            .sum()
    }
}

/// Returns whether a record of a segment is deleted.
pub(crate) fn is_deleted(deleted: &Deleted, segment: u64, id: &str) -> bool {
    let deleted = deleted.get(&segment);
    deleted.is_some_and(|deleted| deleted.contains(id))
}

/// Returns the live record of an id in segments.
pub(crate) fn find_sealed(
    deleted: &Deleted,
    id: &str,
    places: &[(u64, u128)],
) -> Option<(Place, u128)> {
    let mut places = places.iter();
    let found = places.find(|(segment, _)| !is_deleted(deleted, *segment, id));
    found.map(|&(segment, fingerprint)| (Place::Segment(segment), fingerprint))
}

/// Adds a match of a segment, unless it is deleted or has the excluded id.
///
/// # Errors
/// The ids exceed the limit.
pub(crate) fn gather_hit(
    hit: Hit,
    deleted: &Deleted,
    except: Option<&str>,
    gathered: &mut Gathered,
) -> Result<()> {
    match except == Some(&*hit.id) || is_deleted(deleted, hit.segment, &hit.id) {
        true => Ok(()),
        false => gathered.push(hit.distance, hit.fingerprint, hit.id.into()),
    }
}

/// Calls `visit` with the matches of the segments within a distance, deleted or not.
///
/// # Errors
/// A damaged segment, and any error of `visit`.
pub(crate) fn visit_hits(
    segments: &[Arc<Segment>],
    scratch: &mut SetScratch,
    (fingerprint, distance): (u128, u32),
    mut visit: impl FnMut(Hit) -> Result<()>,
) -> Result<()> {
    for segment in segments {
        let found = segment.set.query_with(scratch, fingerprint, distance)?;
        for hit in found.iter() {
            for id in hit.ids()? {
                visit(Hit {
                    distance: hit.distance,
                    fingerprint: hit.fingerprint,
                    id: id?.to_string(),
                    segment: segment.number,
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the records of an id in the segments, deleted or not, newest segment first.
///
/// # Errors
/// A damaged segment.
pub(crate) fn places(segments: &[Arc<Segment>], id: &str) -> Result<Vec<(u64, u128)>> {
    let mut places = Vec::new();
    for segment in segments.iter().rev() {
        let found = segment.set.fingerprints_of_id(id)?;
        places.extend(found.into_iter().map(|found| (segment.number, found)));
    }
    Ok(places)
}

/// Returns the nearest live records of the segments.
///
/// # Errors
/// A damaged segment, or ids that exceed the limit.
pub(crate) fn nearest(
    segments: &[Arc<Segment>],
    deleted: &Deleted,
    scratch: &mut SetScratch,
    (fingerprint, count, max_distance): (u128, usize, u32),
    gathered: &mut Gathered,
) -> Result<()> {
    for segment in segments {
        let mut wanted = count;
        // Searches for more until enough matches are live.
        loop {
            let set = &segment.set;
            let found = set.nearest_with(scratch, fingerprint, wanted, max_distance)?;
            let (mut live, mut own) = (0, gathered.without_any());
            for hit in found.iter() {
                if live == count {
                    break;
                }
                let mut is_found = false;
                for id in hit.ids()? {
                    let id = id?.to_string();
                    if !is_deleted(deleted, segment.number, &id) {
                        own.push(hit.distance, hit.fingerprint, id.into())?;
                        is_found = true;
                    }
                }
                live += usize::from(is_found);
            }
            if live == count || found.len() < wanted {
                gathered.merge_nearest(own, count)?;
                break;
            }
            wanted = wanted.saturating_mul(2);
        }
    }
    Ok(())
}
