//! Texts that agree in a band: the groups of one column of keys.

use rayon::prelude::*;

use super::NONE;

/// Which texts have equal keys in a band. Texts are named by their places in the order of decisions.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Where the members of each group start, and in the end their number.
    starts: Vec<u32>,
    /// The members of all groups, ascending in each.
    members: Vec<u32>,
}

impl Groups {
    /// The groups of keys, which stand in the order of the documents; `place_of` gives the place of a document.
    ///
    /// Beside the groups it returns the number of the group of each text, `NONE` for those that have their key alone.
    pub(super) fn new(keys: &[u32], place_of: impl Fn(usize) -> u32 + Sync) -> (Self, Vec<u32>) {
        let numbered = keys.par_iter().enumerate();
        let mut sorted: Vec<u64> = numbered
            .map(|(document, &key)| u64::from(key) << 32 | u64::from(place_of(document)))
            .collect();
        sorted.par_sort_unstable();
        let mut groups = Groups::default();
        let mut group_of = vec![NONE; keys.len()];
        for group in sorted.chunk_by(|a, b| a >> 32 == b >> 32) {
            if group.len() == 1 {
                continue;
            }
            let number = groups.starts.len() as u32;
            groups.starts.push(groups.members.len() as u32);
            for &member in group {
                group_of[member as u32 as usize] = number;
                groups.members.push(member as u32);
            }
        }
        groups.starts.push(groups.members.len() as u32);
        (groups, group_of)
    }

    /// The members of a group, ascending.
    pub(super) fn members(&self, group: u32) -> &[u32] {
        let group = group as usize;
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// The members of a group, to be put in another order.
    pub(super) fn members_mut(&mut self, group: u32) -> &mut [u32] {
        let group = group as usize;
        &mut self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Number of groups.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Bytes of memory.
    pub(super) fn byte_count(&self) -> u64 {
        (self.starts.len() + self.members.len()) as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_texts_with_equal_keys() {
        let keys = [5, 7, 5, 9, 7, 5];
        let (groups, group_of) = Groups::new(&keys, |document| document as u32);
        assert_eq!(groups.count(), 2);
        assert_eq!(group_of[3], NONE);
        assert_eq!(groups.members(group_of[0]), [0, 2, 5]);
        assert_eq!(groups.members(group_of[4]), [1, 4]);
        // In another order: the last first.
        let (backwards, group_of) = Groups::new(&keys, |document| 5 - document as u32);
        assert_eq!(backwards.members(group_of[0]), [0, 3, 5]);
        assert_eq!(group_of[2], NONE);
        assert_eq!(Groups::new(&[], |_| 0).0.count(), 0);
    }
}
