//! The keys of a table in memory, and the search for the block that may hold a value.

use crate::cpu::prefetch;
use crate::fingerprint::Fingerprint;
use crate::memory::huge_vec;

/// The average number of keys for each entry of the table of leading bits. They lie in one or two cache lines.
const KEYS_PER_BUCKET: usize = 4;

/// The most keys of a bucket that are compared without a branch. Longer buckets are bisected.
const COMPARED_KEYS: usize = 8;

/// The last value of each block, ascending, with a table of their leading bits. A look-up takes two cache misses: one
/// in the table and one in the keys.
#[derive(Debug)]
pub(super) struct Keys<F> {
    /// The keys, followed by [`COMPARED_KEYS`] times the largest value.
    keys: Vec<F>,
    count: usize,
    first: F,
    /// The distance from the first key to the last.
    span: F,
    /// Number of low bits, of a distance from the first key, that the table ignores.
    shift: u32,
    /// Entry `j` is the number of keys whose shifted distance from the first key is below `j`.
    buckets: Vec<u64>,
}

impl<F: Fingerprint> Keys<F> {
    /// Allocates memory for `count` keys and those that [`Keys::new`] adds.
    pub(super) fn room_for(count: usize) -> Vec<F> {
        huge_vec(count + COMPARED_KEYS)
    }

    /// Takes keys, which must ascend.
    pub(super) fn new(mut keys: Vec<F>) -> Self {
        let count = keys.len();
        let first = keys.first().copied().unwrap_or(F::ZERO);
        let last = keys.last().copied().unwrap_or(F::ZERO);
        let span = last.wrapping_sub(first);
        let wanted_bits = usize::BITS - (keys.len() / KEYS_PER_BUCKET).leading_zeros();
        let span_bits = F::WIDTH - span.leading_zeros();
        let shift = span_bits.saturating_sub(wanted_bits).min(F::WIDTH - 1);
        let bucket_count = (span >> shift).to_u128() as usize + 1;
        let mut buckets = huge_vec(bucket_count + 1);
        buckets.resize(bucket_count + 1, 0);
        // The last key of a bucket sets its entry. Empty buckets repeat the previous entry.
        for (i, key) in keys.iter().enumerate() {
            let bucket = (key.wrapping_sub(first) >> shift).to_u128() as usize;
            buckets[bucket + 1] = i as u64 + 1;
        }
        let mut below = 0;
        for entry in &mut buckets {
            below = below.max(*entry);
            *entry = below;
        }
        keys.resize(count + COMPARED_KEYS, F::MAX);
        Keys {
            keys,
            count,
            first,
            span,
            shift,
            buckets,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(super) fn get(&self, block: usize) -> F {
        self.keys[block]
    }

    #[inline(always)]
    fn bucket(&self, low: F) -> usize {
        if low <= self.first {
            return 0;
        }
        let distance = low.wrapping_sub(self.first);
        if distance > self.span {
            return self.buckets.len() - 1;
        }
        (distance >> self.shift).to_u128() as usize
    }

    /// Prefetches the entry of the table: the first of two steps before [`Keys::first_at_least`].
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, low: F) {
        prefetch(&self.buckets, self.bucket(low));
    }

    /// Prefetches the keys of the entry: the second step.
    #[inline(always)]
    pub(super) fn prefetch_keys(&self, low: F) {
        let start = self.buckets[self.bucket(low)] as usize;
        // The previous key is the base of the block.
        prefetch(&self.keys, start.saturating_sub(1));
        prefetch(&self.keys, start + KEYS_PER_BUCKET);
    }

    /// Returns the first block whose key is at least `low`, or the number of blocks if there is none.
    #[inline(always)]
    pub(super) fn first_at_least(&self, low: F) -> usize {
        let bucket = self.bucket(low);
        let start = self.buckets[bucket] as usize;
        let end = self
            .buckets
            .get(bucket + 1)
            .map_or(start, |&end| end as usize);
        if end - start > COMPARED_KEYS {
            return start + self.keys[start..end].partition_point(|&key| key < low);
        }
        // Keys after the bucket are above `low` and are not counted.
        let mut below = start;
        for &key in &self.keys[start..start + COMPARED_KEYS] {
            below += usize::from(key < low);
        }
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees_with_bisection<F: Fingerprint>(keys: Vec<F>, lows: impl Iterator<Item = F>) {
        let table = Keys::new(keys.clone());
        for low in lows {
            let expected = keys.partition_point(|&key| key < low);
            assert_eq!(table.first_at_least(low), expected, "{low:x} in {keys:x?}");
            table.prefetch_bucket(low);
            table.prefetch_keys(low);
        }
    }

    #[test]
    fn no_key_and_one_key() {
        agrees_with_bisection::<u64>(vec![], [0, 1, u64::MAX].into_iter());
        agrees_with_bisection(vec![5u32], [0, 4, 5, 6, u32::MAX].into_iter());
        agrees_with_bisection(vec![0, u128::MAX], [0, 1, u128::MAX].into_iter());
    }

    #[test]
    fn values_far_above_the_keys_of_a_wide_table_have_no_block() {
        let lows = (0..127)
            .map(|bit| 1u128 << bit)
            .chain([u128::MAX, 999, 1000, 1001]);
        agrees_with_bisection((0..1000u128).collect(), lows);
    }

    proptest! {
        #[test]
        fn finds_what_bisection_finds(
            keys in prop::collection::btree_set(prop_oneof![any::<u64>(), 1000u64..2000], 1..400),
            lows in prop::collection::vec(prop_oneof![any::<u64>(), 900u64..2100], 100),
        ) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let lows: Vec<u64> = lows.into_iter().chain(keys.iter().copied()).collect();
            agrees_with_bisection(keys, lows.into_iter());
        }
    }
}
