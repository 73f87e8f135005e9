//! Records that are left out of the answers of a set, though its files have them.

use std::collections::HashSet;
use std::ops::Range;

use super::{Exclusions, Set, at_width};
use crate::error::{Error, Result};
use crate::id::Id;

/// What is left out of a set.
#[derive(Debug, Clone)]
pub(super) struct Hidden {
    of_all: Part,
    /// What is left out of single segments. The keys of strings are here in any case: each segment has its own.
    of_each: Vec<Part>,
}

/// What is left out of one segment or of all.
#[derive(Debug, Clone, Default)]
struct Part {
    fingerprints: HashSet<u128>,
    /// The keys of ids, see [`Index::all_keys`](crate::Index::all_keys).
    keys: HashSet<u64>,
}

/// The keys of ids that are left out of a segment: at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct HiddenKeys<'a> {
    of_all: &'a HashSet<u64>,
    own: &'a HashSet<u64>,
}

impl<'a> HiddenKeys<'a> {
    pub(super) fn contains(self, key: u64) -> bool {
        self.own.contains(&key) || self.of_all.contains(&key)
    }

    /// Those that are left out of this segment alone, as the places of strings are.
    pub(super) fn own(self) -> impl Iterator<Item = u64> + use<'a> {
        self.own.iter().copied()
    }
}

impl Hidden {
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
    pub(super) fn add(
        &mut self,
        set: &Set,
        only: Option<usize>,
        exclusions: &Exclusions,
    ) -> Result<()> {
        exclusions.check(set.id_kind())?;
        for fingerprint in exclusions.fingerprints() {
            set.width().takes(fingerprint)?;
        }
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
                for (number, of_segment) in self.of_each.iter_mut().enumerate() {
                    if only.is_none_or(|only| only == number) {
                        of_segment.keys.extend(set.places_of_id(number, id)?);
                    }
                }
                Ok(())
            }
        })
    }

    fn parts(&self, segment: usize) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.of_all).chain(self.of_each.get(segment))
    }
}

impl Set {
    /// Whether all records that a segment has of a fingerprint are left out, whatever their ids.
    pub(crate) fn hides_fingerprint(&self, segment: usize, fingerprint: u128) -> bool {
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

    /// The keys of an id that is a string in a segment, which must be there.
    fn places_of_id(&self, segment: usize, id: Id<'_>) -> Result<Range<u64>> {
        let places = at_width!(self, typed => typed.index(segment).places_of_id(id));
        places.map_err(self.blame(segment))
    }

    /// Whether the records of a segment that have an id are left out for that.
    ///
    /// # Errors
    /// A damaged page, with the name of the segment.
    pub(super) fn hides_id(&self, segment: usize, id: Id<'_>) -> Result<bool> {
        let Some(keys) = self.hidden_keys(segment) else {
            return Ok(false);
        };
        match id {
            Id::Number(number) => Ok(keys.contains(number)),
            Id::String(_) => {
                let mut places = self.places_of_id(segment, id)?;
                // Equal ones are left out together.
                Ok(places.any(|place| keys.contains(place)))
            }
        }
    }
}
