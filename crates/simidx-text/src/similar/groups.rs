//! Groups of texts that agree in a band, of one column of keys each: in memory as far as they fit, the rest in a file.

use std::io;
use std::path::Path;

use simidx::Fingerprint;

use super::NONE;
use super::files::TempFile;

/// Flag of the last member of a group.
const LAST: u32 = 1 << 31;

/// Flag of a kept member. Kept members come first in their group.
const KEPT: u32 = 1 << 30;

/// The largest number of texts, limited by the flags.
pub(super) const MAX_TEXTS: usize = (1 << 30) - 1;

/// Bytes of a member.
pub(super) const MEMBER_LEN: u64 = 4;

/// Number of members that the first read from the file fetches, and the largest number of any read.
const FIRST_READ: usize = 16;
const LARGEST_READ: usize = 1 << 16;

/// The groups of all bands. A group is identified by its band and the number of members before it.
///
/// A member is four bytes: the place of a text in the order of decisions, and two flags. Nothing else is stored, so
/// that small groups, which are most, have no overhead.
#[derive(Debug)]
pub(super) struct Groups {
    /// Bytes of memory that are left.
    room: u64,
    bands: Vec<Band>,
    file: TempFile,
    /// Number of members in the file.
    written: u64,
}

#[derive(Debug)]
enum Band {
    InMemory(Vec<u32>),
    /// A bit for each member is set if a group begins with it and has a kept one. Most groups are small, and asking the
    /// file takes longer than all else.
    InFile {
        start: u64,
        len: u64,
        has_kept: Vec<u64>,
    },
}

/// Returns the place of a member.
pub(super) fn place_of(member: &u32) -> u32 {
    member & !(LAST | KEPT)
}

/// Whether a member was kept.
pub(super) fn is_kept(member: &u32) -> bool {
    member & KEPT != 0
}

impl Groups {
    pub(super) fn new(budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        Groups {
            room: budget.unwrap_or(u64::MAX),
            bands: Vec::new(),
            file: TempFile::new(temp_dir),
            written: 0,
        }
    }

    /// Adds a band by its keys, in the order of the texts. `place_of` returns the place of a text, if it takes part.
    /// Returns the group of each place; `NONE` for texts that share their key with no other, or take no part.
    pub(super) fn add_band(
        &mut self,
        keys: Vec<u32>,
        place_of: impl Fn(usize) -> Option<u32> + Sync,
    ) -> io::Result<Vec<u32>> {
        let mut sorted: Vec<u64> = Vec::with_capacity(keys.len());
        for (text, &key) in keys.iter().enumerate() {
            sorted.extend(place_of(text).map(|place| u64::from(key) << 32 | u64::from(place)));
        }
        let mut group_of = keys;
        Fingerprint::sort(&mut sorted);
        group_of.fill(NONE);
        let groups = || {
            let all = sorted.chunk_by(|a, b| a >> 32 == b >> 32);
            all.filter(|group| group.len() > 1)
        };
        let mut members = Vec::with_capacity(groups().map(<[u64]>::len).sum());
        for group in groups() {
            let start = members.len() as u32;
            for &member in group {
                group_of[member as u32 as usize] = start;
                members.push(member as u32);
            }
            members[start as usize + group.len() - 1] |= LAST;
        }
        drop(sorted);
        self.store(members)?;
        Ok(group_of)
    }

    fn store(&mut self, members: Vec<u32>) -> io::Result<()> {
        let len = members.len() as u64;
        if len * MEMBER_LEN <= self.room {
            self.room -= len * MEMBER_LEN;
            self.bands.push(Band::InMemory(members));
            return Ok(());
        }
        let start = self.written;
        self.file.write_numbers(start, &members)?;
        self.written += len;
        let has_kept = vec![0; members.len().div_ceil(64)];
        self.room = self.room.saturating_sub(len / 8);
        self.bands.push(Band::InFile {
            start,
            len,
            has_kept,
        });
        Ok(())
    }

    /// Whether any member may have been kept. `false` is certain.
    ///
    /// This is the first access to a group, which is anywhere in memory. It depends on no other access, so the accesses
    /// for all groups of a text overlap.
    #[inline]
    pub(super) fn may_have_kept(&self, band: usize, group: u32) -> bool {
        match &self.bands[band] {
            Band::InMemory(members) => is_kept(&members[group as usize]),
            Band::InFile { has_kept, .. } => has_kept[group as usize / 64] >> (group % 64) & 1 != 0,
        }
    }

    /// Whether the groups of a band are in the file.
    #[inline]
    pub(super) fn is_in_file(&self, band: usize) -> bool {
        matches!(self.bands[band], Band::InFile { .. })
    }

    /// Returns the kept members, ascending, each with its flags.
    pub(super) fn kept<'b>(
        &'b self,
        band: usize,
        group: u32,
        buffer: &'b mut Vec<u32>,
    ) -> io::Result<&'b [u32]> {
        self.first_kept(band, group, usize::MAX, buffer)
    }

    /// Returns the first of the kept members, at most `most`.
    pub(super) fn first_kept<'b>(
        &'b self,
        band: usize,
        group: u32,
        most: usize,
        buffer: &'b mut Vec<u32>,
    ) -> io::Result<&'b [u32]> {
        // The members of the next group may also be kept.
        let end = |members: &[u32]| {
            let ends = |member: &u32| member & (LAST | KEPT) != KEPT;
            match members.iter().take(most).position(ends) {
                Some(end) => Some(end + usize::from(is_kept(&members[end]))),
                None => (members.len() >= most).then_some(most),
            }
        };
        self.prefix(band, group, end, buffer)
    }

    /// Returns all members, each with its flags. They are ascending if none was kept.
    pub(super) fn members<'b>(
        &'b self,
        band: usize,
        group: u32,
        buffer: &'b mut Vec<u32>,
    ) -> io::Result<&'b [u32]> {
        let end = |members: &[u32]| Some(1 + members.iter().position(|m| m & LAST != 0)?);
        self.prefix(band, group, end, buffer)
    }

    /// Returns the members of a group up to the position that `end` returns; it returns `None` if it needs more
    /// members.
    fn prefix<'b>(
        &'b self,
        band: usize,
        group: u32,
        end: impl Fn(&[u32]) -> Option<usize>,
        buffer: &'b mut Vec<u32>,
    ) -> io::Result<&'b [u32]> {
        let (start, len) = match &self.bands[band] {
            Band::InMemory(members) => {
                let members = &members[group as usize..];
                return Ok(&members[..end(members).unwrap_or(members.len())]);
            }
            Band::InFile { start, len, .. } => (start + u64::from(group), len - u64::from(group)),
        };
        buffer.clear();
        let mut wanted = FIRST_READ;
        loop {
            let count = wanted.min(len as usize - buffer.len());
            self.file
                .read_numbers(start + buffer.len() as u64, count, buffer)?;
            let found = end(buffer);
            if found.is_some() || buffer.len() as u64 == len {
                buffer.truncate(found.unwrap_or(buffer.len()));
                return Ok(buffer);
            }
            wanted = (4 * wanted).min(LARGEST_READ);
        }
    }

    /// Keeps a member of a group with `kept_count` kept members. It must come after all of them.
    pub(super) fn keep(
        &mut self,
        band: usize,
        group: u32,
        kept_count: usize,
        place: u32,
    ) -> io::Result<()> {
        // The overwritten member comes before this one, and was dropped; or it is this member itself.
        let at = group as usize + kept_count;
        match &mut self.bands[band] {
            Band::InMemory(members) => {
                let member = &mut members[at];
                *member = place | KEPT | *member & LAST;
                Ok(())
            }
            Band::InFile {
                start, has_kept, ..
            } => {
                let at = *start + at as u64;
                let mut old = Vec::new();
                match kept_count {
                    // The first of at least two members is not the last.
                    0 => has_kept[group as usize / 64] |= 1 << (group % 64),
                    _ => self.file.read_numbers(at, 1, &mut old)?,
                }
                let last = old.first().map_or(0, |old| old & LAST);
                self.file.write_numbers(at, &[place | KEPT | last])
            }
        }
    }

    /// Bytes of memory that are left.
    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// Number of bands.
    pub(super) fn band_count(&self) -> usize {
        self.bands.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(members: &[u32]) -> Vec<u32> {
        members.iter().map(place_of).collect()
    }

    #[test]
    fn groups_are_texts_with_equal_keys() {
        for budget in [None, Some(0), Some(20)] {
            let mut groups = Groups::new(budget, None);
            let keys = vec![5, 7, 5, 9, 7, 5, 5];
            let group_of = groups
                .add_band(keys.clone(), |text| Some(text as u32))
                .unwrap();
            // In reverse order, and without one of the texts.
            let backwards = |text: usize| (text != 2).then_some(6 - text as u32);
            let other_of = groups.add_band(keys, backwards).unwrap();
            let of = |band, group| places(groups.members(band, group, &mut Vec::new()).unwrap());
            assert_eq!(of(0, group_of[0]), [0, 2, 5, 6], "{budget:?}");
            assert_eq!(of(0, group_of[4]), [1, 4]);
            assert_eq!(of(1, other_of[0]), [0, 1, 6]);
            assert_eq!(of(1, other_of[5]), [2, 5]);
            assert_eq!([group_of[3], other_of[3], other_of[4]], [NONE; 3]);
            assert_eq!(groups.band_count(), 2);
        }
        let mut groups = Groups::new(None, None);
        assert!(groups.add_band(Vec::new(), |_| None).unwrap().is_empty());
    }

    #[test]
    fn kept_members_stand_first() {
        // Groups of hundreds, for several reads of the file.
        const COUNT: u32 = 1000;
        for budget in [None, Some(0)] {
            let mut groups = Groups::new(budget, None);
            let keys = (0..COUNT).map(|i| i % 3).collect();
            let group_of = groups.add_band(keys, |text| Some(text as u32)).unwrap();
            let mut expected = [const { Vec::new() }; 3];
            for place in (0..COUNT).filter(|place| place % 10 != 4) {
                let group = group_of[place as usize];
                let list = &mut expected[place as usize % 3];
                let kept = places(groups.kept(0, group, &mut Vec::new()).unwrap());
                assert_eq!(kept, *list);
                groups.keep(0, group, kept.len(), place).unwrap();
                list.push(place);
            }
            for (class, list) in expected.iter().enumerate() {
                let kept = places(groups.kept(0, group_of[class], &mut Vec::new()).unwrap());
                assert_eq!(kept, *list);
            }
        }
        // All members of a group, and of the next one.
        let mut groups = Groups::new(None, None);
        groups
            .add_band(vec![1, 1, 2, 2], |text| Some(text as u32))
            .unwrap();
        for (group, count, place) in [(0, 0, 0), (0, 1, 1), (2, 0, 2)] {
            groups.keep(0, group, count, place).unwrap();
        }
        let kept =
            |group, most| places(groups.first_kept(0, group, most, &mut Vec::new()).unwrap());
        assert_eq!(kept(0, usize::MAX), [0, 1]);
        assert_eq!(kept(0, 2), [0, 1]);
        assert_eq!(kept(0, 1), [0]);
        assert_eq!(kept(2, usize::MAX), [2]);
    }
}
