//! Records that are left out of the answers of segments, though their files have them.

use std::collections::HashSet;

use super::{Exclusions, Segments};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Id, Index};

/// What is left out of segments.
#[derive(Debug, Clone)]
pub(super) struct Hidden<F> {
    of_all: Part<F>,
    /// What is left out of single segments. The keys of strings are here in any case: each segment has its own.
    of_each: Vec<Part<F>>,
}

/// What is left out of one segment or of all.
#[derive(Debug, Clone)]
struct Part<F> {
    fingerprints: HashSet<F>,
    /// The keys of ids, see [`Index::all_keys`].
    keys: HashSet<u64>,
}

impl<F> Default for Part<F> {
    fn default() -> Self {
        Part {
            fingerprints: HashSet::new(),
            keys: HashSet::new(),
        }
    }
}

/// The keys of ids that are left out of a segment: at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct HiddenKeys<'a> {
    of_all: &'a HashSet<u64>,
    own: &'a HashSet<u64>,
}

impl HiddenKeys<'_> {
    pub(super) fn contains(self, key: u64) -> bool {
        self.own.contains(&key) || self.of_all.contains(&key)
    }
}

impl<F: Fingerprint> Hidden<F> {
    /// Nothing of so many segments.
    pub(super) fn new(segment_count: usize) -> Self {
        Hidden {
            of_all: Part::default(),
            of_each: vec![Part::default(); segment_count],
        }
    }

    /// Adds what is to be left out of all segments, or of one.
    ///
    /// # Errors
    /// No segment of this number, ids of another kind than the segments have, a damaged segment, or what keeps ids from
    /// being read.
    #[inline(never)]
    pub(super) fn add(
        &mut self,
        segments: &Segments<F>,
        only: Option<usize>,
        exclusions: &Exclusions<F>,
    ) -> Result<()> {
        exclusions.check(segments.id_kind())?;
        let part = match only {
            None => &mut self.of_all,
            Some(number) => self.of_each.get_mut(number).ok_or_else(|| {
                let message = format!("there is no segment {number} to leave records out of");
                Error::option("segment", message)
            })?,
        };
        part.fingerprints.extend(exclusions.fingerprints());
        exclusions.for_each_id(|id| match id {
            Id::Number(number) => {
                let part = only.and_then(|number| self.of_each.get_mut(number));
                part.unwrap_or(&mut self.of_all).keys.insert(number);
                Ok(())
            }
            Id::String(_) => {
                for (number, segment) in segments.indexes().enumerate() {
                    if only.is_none_or(|only| only == number) {
                        let places = segment.places_of_id(id);
                        let places = places.map_err(segments.blame(number))?;
                        self.of_each[number].keys.extend(places);
                    }
                }
                Ok(())
            }
        })
    }

    fn parts(&self, segment: usize) -> impl Iterator<Item = &Part<F>> {
        std::iter::once(&self.of_all).chain(self.of_each.get(segment))
    }
}

impl<F: Fingerprint> Segments<F> {
    /// Whether all records that a segment has of a fingerprint are left out, whatever their ids.
    pub(crate) fn hides_fingerprint(&self, segment: usize, fingerprint: F) -> bool {
        self.hidden().is_some_and(|hidden| {
            let mut parts = hidden.parts(segment);
            parts.any(|part| part.fingerprints.contains(&fingerprint))
        })
    }

    /// The keys of ids that are left out of a segment; `None` if there are none.
    pub(super) fn hidden_keys(&self, segment: usize) -> Option<HiddenKeys<'_>> {
        let hidden = self.hidden()?;
        let keys = HiddenKeys {
            of_all: &hidden.of_all.keys,
            own: &hidden.of_each.get(segment)?.keys,
        };
        Some(keys).filter(|keys| !keys.of_all.is_empty() || !keys.own.is_empty())
    }

    /// Whether anything may be left out of a segment.
    pub(crate) fn hides_some(&self, segment: usize) -> bool {
        self.hidden().is_some_and(|hidden| {
            let mut parts = hidden.parts(segment);
            parts.any(|part| !part.fingerprints.is_empty() || !part.keys.is_empty())
        })
    }

    /// Whether all records that a segment has of a fingerprint of its are left out. The rank is looked up where it is not given.
    ///
    /// # Errors
    /// A damaged block or page.
    pub(crate) fn hides(&self, segment: usize, fingerprint: F, rank: Option<u64>) -> Result<bool> {
        if self.hides_fingerprint(segment, fingerprint) {
            return Ok(true);
        }
        let (Some(keys), Some(index)) = (self.hidden_keys(segment), self.get(segment)) else {
            return Ok(false);
        };
        index.all_keys(fingerprint, rank, |key| keys.contains(key))
    }

    /// Whether the records of a segment that have an id are left out for that.
    ///
    /// # Errors
    /// A damaged page, with the name of the segment.
    pub(super) fn hides_id(&self, segment: usize, id: Id<'_>) -> Result<bool> {
        let (Some(keys), Some(index)) = (self.hidden_keys(segment), self.get(segment)) else {
            return Ok(false);
        };
        match id {
            Id::Number(number) => Ok(keys.contains(number)),
            Id::String(_) => {
                let mut places = index.places_of_id(id).map_err(self.blame(segment))?;
                // Equal ones are left out together.
                Ok(places.any(|place| keys.contains(place)))
            }
        }
    }

    /// Hands the slots of the records of a segment that are left out by their ids to `visit`, see [`Index::visit_ids`].
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn visit_hidden_ids(
        &self,
        number: usize,
        segment: &Index<F>,
        mut visit: impl FnMut(u64),
    ) -> Result<()> {
        let Some(keys) = self.hidden_keys(number) else {
            return Ok(());
        };
        match segment.id_kind() {
            IdKind::Number => segment.visit_ids(|slot, id| match id {
                Id::Number(number) if keys.contains(number) => visit(slot),
                _ => {}
            }),
            _ => {
                keys.own.iter().copied().for_each(visit);
                Ok(())
            }
        }
    }
}
