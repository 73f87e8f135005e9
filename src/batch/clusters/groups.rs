//! Groups of linked values: each is a range of one list of ranks.

use rayon::prelude::*;

use super::{ClusterOptions, check_budget, linking_len};
use crate::batch::disjoint_sets::DisjointSets;
use crate::batch::pairs::link_values;
use crate::batch::ranks::Ranks;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// Marks a rank without a group.
pub(super) const NONE: u32 = u32::MAX;

/// A group of linked values, as ascending ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    start: u32,
    end: u32,
    /// The number of records of all its values.
    pub(super) record_count: u64,
    /// The rank of the value that represents the group, if the records determine it.
    pub(super) representative: u32,
}

/// Groups of ranks of ascending distinct values.
#[derive(Debug)]
pub(super) struct Groups {
    /// The ranks of each group.
    ranks: Vec<u32>,
    pub(super) groups: Vec<Group>,
}

impl Groups {
    /// Links values within a distance and collects the groups of two or more.
    ///
    /// # Errors
    /// More values than can be grouped, or than fit the budget.
    pub(super) fn of_linked<F: Fingerprint>(
        values: &[F],
        options: &ClusterOptions,
        budget: usize,
    ) -> Result<Self> {
        check_budget(budget, values.len(), linking_len::<F>(values.len()))?;
        let mut sets = DisjointSets::new(values.len())?;
        let ranks = Ranks::new(values);
        let mut numbers = Vec::new();
        let mut take = |pairs: &mut Vec<(F, F)>| {
            // All look-ups come first, so that they do not wait for one another.
            numbers.clear();
            let pairs = pairs.drain(..);
            numbers.extend(pairs.map(|(x, y)| (ranks.rank(x), ranks.rank(y))));
            for &(x, y) in &numbers {
                sets.join(x, y);
            }
            Ok(())
        };
        link_values(values, options.distance, &mut take, &options.watch)?;
        drop(ranks);
        Self::gather(values.len() as u32, sets)
    }

    fn gather(count: u32, mut sets: DisjointSets) -> Result<Self> {
        let mut of_root = vec![NONE; count as usize];
        let (mut groups, mut total) = (Vec::new(), 0);
        for rank in 0..count {
            let size = sets.size(rank);
            let group = &mut of_root[sets.root(rank) as usize];
            if size > 1 && *group == NONE {
                *group = groups.len() as u32;
                groups.push(Group::of_range(total, total));
                total += size;
            }
        }
        let mut ranks = vec![0; total as usize];
        for rank in 0..count {
            let group = of_root[sets.root(rank) as usize];
            if let Some(group) = groups.get_mut(group as usize) {
                ranks[group.end as usize] = rank;
                group.end += 1;
                group.record_count += 1;
            }
        }
        Ok(Groups { ranks, groups })
    }

    /// Returns the ranks of a group.
    pub(super) fn ranks(&self, group: &Group) -> &[u32] {
        &self.ranks[group.start as usize..group.end as usize]
    }

    /// Returns the values of a group, ascending.
    pub(super) fn members<F: Fingerprint>(&self, group: &Group, values: &[F]) -> Vec<F> {
        let ranks = self.ranks(group).iter();
        ranks.map(|&rank| values[rank as usize]).collect()
    }

    /// Returns the bytes of the groups themselves, without the values.
    pub(super) fn len(&self) -> usize {
        size_of_val(self.ranks.as_slice()) + size_of_val(self.groups.as_slice())
    }

    /// Returns the group of each of the ranks below `count`.
    pub(super) fn of_ranks(&self, count: usize) -> Vec<u32> {
        let mut of_ranks = vec![NONE; count];
        for (number, group) in (0..).zip(&self.groups) {
            let ranks = self.ranks(group).iter();
            ranks.for_each(|&rank| of_ranks[rank as usize] = number);
        }
        of_ranks
    }

    /// Adds a group of one value that has `record_count` records.
    pub(super) fn push_single(&mut self, rank: u32, record_count: u64) {
        let start = self.ranks.len() as u32;
        self.ranks.push(rank);
        let mut group = Group::of_range(start, start + 1);
        group.record_count = record_count;
        group.representative = rank;
        self.groups.push(group);
    }

    /// Removes groups with fewer than `min_size` records and sorts the others: most records first, then the smallest
    /// value.
    pub(super) fn select(&mut self, min_size: u64) {
        self.groups.retain(|group| group.record_count >= min_size);
        let ranks = &self.ranks;
        self.groups.par_sort_unstable_by_key(|group| {
            let smallest = ranks[group.start as usize];
            (std::cmp::Reverse(group.record_count), smallest)
        });
    }
}

impl Group {
    fn of_range(start: u32, end: u32) -> Self {
        Group {
            start,
            end,
            record_count: u64::from(end - start),
            representative: NONE,
        }
    }
}
