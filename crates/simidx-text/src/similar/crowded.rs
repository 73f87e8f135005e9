//! The kept texts of large groups once more, each with its digest, so that thousands are looked through at the speed of memory.

use std::collections::HashMap;
use std::io;

use super::digest::{Digest, may_be_similar};
use super::groups::{Groups, place_of};

/// Kept texts from which on a group is large.
pub(super) const LARGE: usize = 32;

/// Bytes of a text in a vector that may be twice as large as what it holds.
const TEXT_LEN: u64 = 2 * size_of::<PlacedDigest>() as u64;

/// The digest of the text at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedDigest {
    pub(super) place: u32,
    len: u32,
    parities: u64,
}

impl PlacedDigest {
    /// `None` for more features than most texts have bytes.
    pub(super) fn new(place: u32, digest: Digest) -> Option<Self> {
        Some(PlacedDigest {
            place,
            len: u32::try_from(digest.len).ok()?,
            parities: digest.parities,
        })
    }

    pub(super) fn digest(&self) -> Digest {
        Digest {
            len: u64::from(self.len),
            parities: self.parities,
        }
    }
}

/// The kept texts of all large groups, as far as there is memory for them.
#[derive(Debug)]
pub(super) struct Crowded {
    /// Texts for which there is memory left.
    room: u64,
    /// All kept texts of a group, by band and group.
    kept: HashMap<(usize, u32), Vec<PlacedDigest>>,
}

impl Crowded {
    pub(super) fn new(budget: Option<u64>) -> Self {
        Crowded {
            room: budget.map_or(u64::MAX, |bytes| bytes / TEXT_LEN),
            kept: HashMap::new(),
        }
    }

    /// Appends to `out` the places of all kept texts of a group from a place on that may be similar to the text with this
    /// digest. Returns how many are kept in the group, or `None` if nothing is known of it here.
    pub(super) fn candidates(
        &self,
        groups: &Groups,
        (band, group): (usize, u32),
        from: u32,
        (digest, least): (Digest, f64),
        out: &mut Vec<u32>,
    ) -> Option<usize> {
        // Most groups are small, and are passed by without a look-up.
        if !groups.may_have_kept(band, group, LARGE) {
            return None;
        }
        let kept = self.kept.get(&(band, group))?;
        let later = &kept[kept.partition_point(|text| text.place < from)..];
        let may_be = later
            .iter()
            .filter(|text| may_be_similar(digest, text.digest(), least));
        out.extend(may_be.map(|text| text.place));
        Some(kept.len())
    }

    /// Takes notice of a text that was kept, which is the last of so many in its group.
    pub(super) fn note(
        &mut self,
        groups: &Groups,
        (band, group): (usize, u32),
        kept_count: usize,
        place: u32,
        digest: impl Fn(u32) -> Digest,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        let (known, new) = match kept_count {
            ..LARGE => return Ok(()),
            LARGE => {
                let kept = groups.kept(band, group, &mut buffer)?;
                (self.kept.entry((band, group)).or_default(), kept)
            }
            _ => match self.kept.get_mut(&(band, group)) {
                Some(known) => (known, std::slice::from_ref(&place)),
                None => return Ok(()),
            },
        };
        for place in new.iter().map(place_of) {
            match PlacedDigest::new(place, digest(place)) {
                Some(placed) if self.room > 0 => {
                    self.room -= 1;
                    known.push(placed);
                }
                // If one is missing, none is of use.
                _ => {
                    self.room = self.room.saturating_add(known.len() as u64);
                    self.kept.remove(&(band, group));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_groups_are_known_as_far_as_there_is_memory() {
        const COUNT: u32 = 100;
        // Every second text may be similar to one of 50 features, as far as its digest says.
        let digest = |place: u32| Digest {
            len: if place.is_multiple_of(2) { 50 } else { 500 },
            parities: 0,
        };
        let wanted = (digest(0), 0.8);
        for budget in [None, Some(0), Some(50 * TEXT_LEN), Some(10_000)] {
            let mut groups = Groups::new(None, None);
            // A group of 100, and one of 20.
            let keys = (0..COUNT + 20).map(|i| i / COUNT).collect();
            let group_of = groups.add_band(keys, |text| Some(text as u32)).unwrap();
            let mut crowded = Crowded::new(budget);
            for place in 0..COUNT + 20 {
                let group = (0, group_of[place as usize]);
                let kept_count = place % COUNT + 1;
                groups
                    .keep(0, group.1, kept_count as usize - 1, place)
                    .unwrap();
                crowded
                    .note(&groups, group, kept_count as usize, place, digest)
                    .unwrap();
                let mut found = Vec::new();
                let known = crowded.candidates(&groups, group, 10, wanted, &mut found);
                let has_room =
                    budget.is_none_or(|budget| u64::from(kept_count) <= budget / TEXT_LEN);
                match place < COUNT && kept_count as usize >= LARGE && has_room {
                    true => {
                        assert_eq!(known, Some(kept_count as usize));
                        assert!(
                            found
                                .into_iter()
                                .eq((10..=place).filter(|place| place.is_multiple_of(2)))
                        );
                    }
                    false => assert_eq!((known, found.len()), (None, 0), "{budget:?} {place}"),
                }
            }
        }
    }
}
