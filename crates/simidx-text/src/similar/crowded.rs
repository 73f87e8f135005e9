//! Copies of the kept texts of large groups with their digests, so that thousands can be checked at the speed of
//! memory.

use std::collections::HashMap;
use std::io;

use super::digest::{Digest, FoldedDigest, append_wanted};
use super::groups::{Groups, place_of};

/// Smallest number of kept texts in a large group.
pub(super) const LARGE: usize = 32;

/// A vector grows by its length divided by this number. Doubling would leave up to half of it empty.
const GROWTH: usize = 4;

/// Memory in bytes for a text.
const TEXT_LEN: u64 = (size_of::<FoldedDigest>() + size_of::<FoldedDigest>() / GROWTH) as u64;

/// Memory for a group in addition to its texts, as a number of texts.
const GROUP_TEXTS: u64 = 8;

/// The kept texts of all large groups, as far as memory permits.
#[derive(Debug)]
pub(super) struct Crowded {
    /// Number of further texts that memory permits.
    room: u64,
    /// All kept texts of a group, by band and group.
    kept: HashMap<(usize, u32), Vec<FoldedDigest>>,
}

impl Crowded {
    pub(super) fn new(budget: Option<u64>) -> Self {
        Crowded {
            room: budget.map_or(u64::MAX, |bytes| bytes / TEXT_LEN),
            kept: HashMap::new(),
        }
    }

    /// Appends to `out` the places, from a place on, of all kept texts of a group that may be similar to the text with
    /// this digest. Returns the number of kept texts in the group, or `None` if the group is not stored here.
    pub(super) fn candidates(
        &self,
        (band, group): (usize, u32),
        from: u32,
        (digest, least): (FoldedDigest, f64),
        out: &mut Vec<u32>,
    ) -> Option<usize> {
        let kept = self.kept.get(&(band, group))?;
        let later = match kept.last() {
            _ if from == 0 => kept,
            Some(last) if last.place >= from => {
                &kept[kept.partition_point(|text| text.place < from)..]
            }
            _ => &[],
        };
        let later = later.iter().map(|text| (text.place, *text));
        append_wanted(later, |other| digest.may_be_similar(other, least), out);
        Some(kept.len())
    }

    /// Adds a text that was kept, the last of `kept_count` kept texts in its group.
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
                let Some(room) = self.room.checked_sub(GROUP_TEXTS) else {
                    return Ok(());
                };
                self.room = room;
                (self.kept.entry((band, group)).or_default(), kept)
            }
            _ => match self.kept.get_mut(&(band, group)) {
                Some(known) => (known, std::slice::from_ref(&place)),
                None => return Ok(()),
            },
        };
        if known.capacity() < known.len() + new.len() {
            known.reserve_exact(new.len().max(known.len() / GROWTH));
        }
        for place in new.iter().map(place_of) {
            match digest(place).folded(place) {
                Some(digest) if self.room > 0 => {
                    self.room -= 1;
                    known.push(digest);
                }
                // An incomplete group is useless.
                _ => {
                    let freed = known.len() as u64 + GROUP_TEXTS;
                    self.room = self.room.saturating_add(freed);
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
        // By its digest, every second text may be similar to a text of 50 features.
        let digest = |place: u32| Digest {
            len: if place.is_multiple_of(2) { 50 } else { 500 },
            parities: [0; 2],
        };
        let wanted = (digest(0).folded(0).unwrap(), 0.8);
        for budget in [None, Some(0), Some(58 * TEXT_LEN), Some(10_000)] {
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
                let known = crowded.candidates(group, 10, wanted, &mut found);
                let has_room = budget
                    .is_none_or(|budget| u64::from(kept_count) + GROUP_TEXTS <= budget / TEXT_LEN);
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
