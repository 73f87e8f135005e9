//! Random samples that depend on the items and a seed, not on the order of the items.

use std::collections::BTreeSet;

/// A random sample of the items that it is shown.
#[derive(Debug)]
pub struct Sample<T> {
    size: usize,
    seed: u64,
    seen: u64,
    /// The items with the smallest hash values, in order.
    kept: BTreeSet<(u64, T)>,
}

impl<T: Ord + Copy> Sample<T> {
    /// Creates an empty sample of at most `size` items.
    pub fn new(size: usize, seed: u64) -> Self {
        Sample {
            size,
            seed,
            seen: 0,
            kept: BTreeSet::new(),
        }
    }

    /// Adds an item to the population. `key` must be unique to the item.
    pub fn show(&mut self, key: u128, item: T) {
        self.seen += 1;
        let rank = mixed(mixed(self.seed, key as u64), (key >> 64) as u64);
        let is_full = self.kept.len() == self.size;
        if is_full && self.kept.last().is_none_or(|(last, _)| rank > *last) {
            return;
        }
        self.kept.insert((rank, item));
        if is_full {
            self.kept.pop_last();
        }
    }

    /// Number of items in the population.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sampled items in ascending order.
    pub fn items(&self) -> Vec<T> {
        let mut items: Vec<T> = self.kept.iter().map(|(_, item)| *item).collect();
        items.sort_unstable();
        items
    }
}

/// Inserts an item into a sorted list that keeps its first `count` items.
pub fn keep_first<T: Ord>(first: &mut Vec<T>, item: T, count: usize) {
    let place = first.partition_point(|other| *other <= item);
    first.insert(place, item);
    first.truncate(count);
}

/// Hashes a value with the finalizer of SplitMix64.
fn mixed(seed: u64, value: u64) -> u64 {
    let mut x = (value ^ seed.rotate_left(32))
        .wrapping_add(seed)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_every_part_is_hit() {
        let sample = |items: &mut dyn Iterator<Item = u64>| {
            let mut sample = Sample::new(100, 1);
            items.for_each(|item| sample.show(item.into(), item));
            assert_eq!(sample.seen(), 10_000);
            sample.items()
        };
        let kept = sample(&mut (0..10_000));
        assert_eq!(kept, sample(&mut (0..10_000).rev()));
        assert_eq!(kept.len(), 100);
        for part in 0..5 {
            let count = kept.iter().filter(|&&item| item / 2000 == part).count();
            assert!((8..=40).contains(&count), "{part}: {count}");
        }
    }

    #[test]
    fn nothing_is_lost_where_all_fit() {
        let mut sample = Sample::new(5, 1);
        (0..5).for_each(|item| sample.show(item, item));
        assert_eq!(sample.items(), [0, 1, 2, 3, 4]);
        let mut none = Sample::new(0, 1);
        none.show(1, 1);
        assert!(none.items().is_empty());
    }
}
