//! Records that are excluded from the answers of a set, though its files hold them.

use std::collections::HashSet;
use std::ops::Range;

use super::{Exclusions, Set, at_width};
use crate::error::{Error, Result};
use crate::id::Id;

/// The exclusions of a set.
#[derive(Debug, Clone)]
pub(super) struct Hidden {
    of_all: Part,
    /// The exclusions of single segments. The keys of strings are always here, since they differ between segments.
    of_each: Vec<Part>,
}

/// The exclusions of one segment, or those of all.
#[derive(Debug, Clone, Default)]
struct Part {
    fingerprints: HashSet<u128>,
    /// The keys of ids, see [`Index::all_keys`](crate::Index::all_keys).
    keys: HashSet<u64>,
}

/// The excluded keys of a segment: at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct HiddenKeys<'a> {
    of_all: &'a HashSet<u64>,
    own: &'a HashSet<u64>,
}

impl<'a> HiddenKeys<'a> {
    pub(super) fn contains(self, key: u64) -> bool {
        self.own.contains(&key) || self.of_all.contains(&key)
    }

    /// Returns the keys that are excluded from this segment only, such as the places of strings.
    pub(super) fn own(self) -> impl Iterator<Item = u64> + use<'a> {
        self.own.iter().copied()
    }
}

impl Hidden {
    /// Creates exclusions for `segment_count` segments, which exclude nothing yet.
    pub(super) fn new(segment_count: usize) -> Self {
        Hidden {
            of_all: Part::default(),
            of_each: vec![Part::default(); segment_count],
        }
    }

    /// Adds exclusions from all segments, or from one.
    ///
    /// # Errors
    /// A missing segment, ids of another kind than the segments have, a damaged segment, or a failure to read ids.
    pub(super) fn add(
        &mut self,
        set: &Set,
        only: Option<usize>,
        exclusions: &Exclusions,
    ) -> Result<()> {
        exclusions.check(set)?;
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
    /// Returns whether all records of a fingerprint in a segment are excluded, whatever their ids.
    pub(crate) fn hides_fingerprint(&self, segment: usize, fingerprint: u128) -> bool {
        self.hidden().is_some_and(|hidden| {
            let mut parts = hidden.parts(segment);
            parts.any(|part| part.fingerprints.contains(&fingerprint))
        })
    }

    /// Returns the excluded keys of a segment; `None` if there are none.
    pub(super) fn hidden_keys(&self, segment: usize) -> Option<HiddenKeys<'_>> {
        let hidden = self.hidden()?;
        let keys = HiddenKeys {
            of_all: &hidden.of_all.keys,
            own: &hidden.of_each.get(segment)?.keys,
        };
        Some(keys).filter(|keys| !keys.of_all.is_empty() || !keys.own.is_empty())
    }

    /// Returns whether records of a segment may be excluded.
    pub(crate) fn hides_some(&self, segment: usize) -> bool {
        self.hidden().is_some_and(|hidden| {
            let mut parts = hidden.parts(segment);
            parts.any(|part| !part.fingerprints.is_empty() || !part.keys.is_empty())
        })
    }

    /// Returns the keys of a string id in a segment, which must exist.
    fn places_of_id(&self, segment: usize, id: Id<'_>) -> Result<Range<u64>> {
        let places = at_width!(self, typed => typed.index(segment).places_of_id(id));
        places.map_err(self.blame(segment))
    }

    /// Returns whether the records of a segment with this id are excluded because of it.
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
                // Equal ids are excluded together.
                Ok(places.any(|place| keys.contains(place)))
            }
        }
    }
}
