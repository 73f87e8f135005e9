//! What an open collection holds in memory: its segments, what is deleted of them, and the recent records.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use simidx::{Fingerprint, Id, Index, Scratch};

use crate::answer::Gathered;
use crate::deleted::DeletedIds;
use crate::error::Result;
use crate::recent::{Recent, Record};

/// A sealed segment.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    /// The path as it is shown.
    pub(crate) name: String,
    /// The last change that its records tell of: later deletions apply to it.
    pub(crate) last: u64,
    pub(crate) index: Arc<Index<F>>,
}

pub(crate) type SegmentList<F> = Arc<Vec<Arc<Segment<F>>>>;

/// What is deleted of each segment, by its number.
pub(crate) type Deleted = HashMap<u64, DeletedIds>;

/// A match in a segment, deleted or not.
#[derive(Debug)]
pub(crate) struct Hit<F> {
    distance: u32,
    fingerprint: F,
    id: String,
    segment: u64,
}

/// Where the record of an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Active,
    Frozen(usize),
    Segment(u64),
}

/// The contents.
#[derive(Debug)]
pub(crate) struct State<F> {
    pub(crate) segments: SegmentList<F>,
    /// By the numbers of the segments.
    pub(crate) deleted: Arc<Deleted>,
    /// Recent records that wait to be sealed, the oldest first.
    pub(crate) frozen: Vec<Recent<F>>,
    pub(crate) active: Recent<F>,
    /// The number of the last change.
    pub(crate) last: u64,
    pub(crate) next_generation: u64,
    /// When a lot was sealed last; before that, when the collection was opened.
    pub(crate) sealed_at: Instant,
}

impl<F: Fingerprint> State<F> {
    pub(crate) fn recents(&self) -> impl Iterator<Item = &Recent<F>> {
        self.frozen.iter().chain([&self.active])
    }

    /// The recent record of an id.
    pub(crate) fn find_recent(&self, id: &str) -> Option<(Place, F)> {
        if let Some(fingerprint) = self.active.get(id) {
            return Some((Place::Active, fingerprint));
        }
        for (number, frozen) in self.frozen.iter().enumerate().rev() {
            if let Some(fingerprint) = frozen.get(id) {
                return Some((Place::Frozen(number), fingerprint));
            }
        }
        None
    }

    /// The record of an id. `places` are those that the segments have.
    pub(crate) fn find(&self, id: &str, places: &[(u64, F)]) -> Option<(Place, F)> {
        let recent = self.find_recent(id);
        recent.or_else(|| find_sealed(&self.deleted, id, places))
    }

    /// The segments and what is deleted of them, to be searched while others change the collection.
    pub(crate) fn sealed(&self) -> (SegmentList<F>, Arc<Deleted>) {
        (Arc::clone(&self.segments), Arc::clone(&self.deleted))
    }

    /// Deletes the record of an id where it is.
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

    /// Sets the active records aside, unless there are no changes; whether it did.
    pub(crate) fn freeze(&mut self) -> bool {
        if self.active.last == 0 {
            return false;
        }
        let active = Recent::new(self.next_generation);
        self.next_generation += 1;
        let mut frozen = std::mem::replace(&mut self.active, active);
        frozen.freeze();
        self.frozen.push(frozen);
        true
    }

    /// The recent records within a distance, but that of one id.
    ///
    /// # Errors
    /// Their ids have too many bytes.
    pub(crate) fn gather_recent(
        &self,
        fingerprint: F,
        distance: u32,
        except: Option<&str>,
        gathered: &mut Gathered<F>,
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

    /// The nearest recent records: those of `count` fingerprints.
    ///
    /// # Errors
    /// Their ids have too many bytes.
    pub(crate) fn gather_nearest(
        &self,
        (fingerprint, count, max_distance): (F, usize, u32),
        gathered: &mut Gathered<F>,
    ) -> Result<()> {
        let records = || self.recents().flat_map(Recent::iter);
        let key =
            |record: &Record<F>| (record.fingerprint.distance(fingerprint), record.fingerprint);
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
        let sealed: u64 = self.segments.iter().map(|s| s.index.record_count()).sum();
        let recent: u64 = self
            .recents()
            .map(|recent| recent.live_count() as u64)
            .sum();
        sealed + recent - self.deleted_count()
    }

    pub(crate) fn deleted_count(&self) -> u64 {
        self.deleted
            .values()
            .map(|deleted| deleted.len() as u64)
            .sum()
    }
}

/// Whether a record of a segment is deleted.
fn is_deleted(deleted: &Deleted, segment: u64, id: &str) -> bool {
    let deleted = deleted.get(&segment);
    deleted.is_some_and(|deleted| deleted.contains(id))
}

/// The record of an id in segments that is not deleted.
pub(crate) fn find_sealed<F: Copy>(
    deleted: &Deleted,
    id: &str,
    places: &[(u64, F)],
) -> Option<(Place, F)> {
    let mut places = places.iter();
    let found = places.find(|(segment, _)| !is_deleted(deleted, *segment, id));
    found.map(|&(segment, fingerprint)| (Place::Segment(segment), fingerprint))
}

/// The matches of segments that are not deleted, but those of one id.
///
/// # Errors
/// Their ids have too many bytes.
pub(crate) fn gather_hits<F: Copy + Ord>(
    hits: impl IntoIterator<Item = Hit<F>>,
    deleted: &Deleted,
    except: Option<&str>,
    gathered: &mut Gathered<F>,
) -> Result<()> {
    for hit in hits {
        if except != Some(&*hit.id) && !is_deleted(deleted, hit.segment, &hit.id) {
            gathered.push(hit.distance, hit.fingerprint, hit.id.into())?;
        }
    }
    Ok(())
}

/// What the segments have within a distance without the deleted ones.
///
/// # Errors
/// A damaged segment, or ids of too many bytes.
pub(crate) fn gather_sealed<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    deleted: &Deleted,
    scratch: &mut Scratch<F>,
    (fingerprint, distance): (F, u32),
    gathered: &mut Gathered<F>,
) -> Result<()> {
    visit_hits(segments, scratch, (fingerprint, distance), |hit| {
        gather_hits([hit], deleted, None, gathered)
    })
}

/// What the segments have within a distance, deleted or not.
///
/// # Errors
/// A damaged segment.
pub(crate) fn hits<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    scratch: &mut Scratch<F>,
    fingerprint: F,
    distance: u32,
) -> Result<Vec<Hit<F>>> {
    let mut hits = Vec::new();
    visit_hits(segments, scratch, (fingerprint, distance), |hit| {
        hits.push(hit);
        Ok(())
    })?;
    Ok(hits)
}

fn visit_hits<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    scratch: &mut Scratch<F>,
    (fingerprint, distance): (F, u32),
    mut visit: impl FnMut(Hit<F>) -> Result<()>,
) -> Result<()> {
    for segment in segments {
        let blame = |error| blame(segment, error);
        let found = segment.index.query_with(scratch, fingerprint, distance);
        for found in found.map_err(blame)? {
            for id in segment.index.ids(found).map_err(blame)? {
                visit(Hit {
                    distance: found.distance,
                    fingerprint: found.fingerprint,
                    id: id.map_err(blame)?.to_string(),
                    segment: segment.number,
                })?;
            }
        }
    }
    Ok(())
}

/// The records that the segments have of an id, deleted or not, the newest segment first.
///
/// # Errors
/// A damaged segment.
pub(crate) fn places<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    id: &str,
) -> Result<Vec<(u64, F)>> {
    let mut places = Vec::new();
    for segment in segments.iter().rev() {
        let blame = |error| blame(segment, error);
        let found = segment
            .index
            .fingerprints_of_id(Id::String(id))
            .map_err(blame)?;
        places.extend(
            found
                .into_iter()
                .map(|fingerprint| (segment.number, fingerprint)),
        );
    }
    Ok(places)
}

/// The nearest records that the segments have without the deleted ones.
///
/// # Errors
/// A damaged segment, or ids of too many bytes.
pub(crate) fn nearest<F: Fingerprint>(
    segments: &[Arc<Segment<F>>],
    deleted: &Deleted,
    scratch: &mut Scratch<F>,
    (fingerprint, count, max_distance): (F, usize, u32),
    gathered: &mut Gathered<F>,
) -> Result<()> {
    for segment in segments {
        let blame = |error| blame(segment, error);
        let deleted = deleted.get(&segment.number);
        let is_live = |id: &str| !deleted.is_some_and(|deleted| deleted.contains(id));
        let mut wanted = count;
        // As many more as are deleted may take their places.
        loop {
            let found = segment
                .index
                .nearest_with(scratch, fingerprint, wanted, max_distance);
            let (found, mut live, mut own) = (found.map_err(blame)?, 0, gathered.without_any());
            for found in found {
                if live == count {
                    break;
                }
                let mut is_found = false;
                for id in segment.index.ids(found).map_err(blame)? {
                    let id = id.map_err(blame)?.to_string();
                    if is_live(&id) {
                        own.push(found.distance, found.fingerprint, id.into())?;
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

/// Names the segment in an error.
pub(crate) fn blame<F>(segment: &Segment<F>, error: simidx::Error) -> simidx::Error {
    match error {
        simidx::Error::Io(_) => error,
        error => simidx::Error::Segment {
            segment: segment.number as usize,
            name: segment.name.clone(),
            error: Box::new(error),
        },
    }
}
