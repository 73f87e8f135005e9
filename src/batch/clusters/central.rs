//! The middle of a set of fingerprints. The sum of distances from one fingerprint to all others is the sum over all
//! bits of how many others differ there, so counting the set bits once gives every sum exactly.

use crate::fingerprint::Fingerprint;

/// The number of members that have each bit set.
#[derive(Debug)]
struct BitCounts {
    ones: Vec<i64>,
    total: i64,
}

impl BitCounts {
    /// Counts each member as often as its weight says.
    fn of<F: Fingerprint>(members: impl Iterator<Item = (F, u64)>) -> Self {
        let mut counts = BitCounts {
            ones: vec![0; F::WIDTH as usize],
            total: 0,
        };
        for (member, weight) in members {
            // There are fewer than 2^48 records.
            counts.total += weight as i64;
            for_each_bit(member, |bit| counts.ones[bit] += weight as i64);
        }
        counts
    }

    /// Returns the sum of the distances from a fingerprint to all members.
    fn sum<F: Fingerprint>(&self, fingerprint: F) -> i64 {
        let mut sum = self.ones.iter().sum();
        for_each_bit(fingerprint, |bit| sum += self.total - 2 * self.ones[bit]);
        sum
    }
}

fn for_each_bit<F: Fingerprint>(mut bits: F, mut visit: impl FnMut(usize)) {
    let one = F::from_u128(1);
    while bits != F::ZERO {
        visit(bits.trailing_zeros() as usize);
        bits = bits & bits.wrapping_sub(one);
    }
}

/// Returns the member with the least sum of distances to all, each counted by its weight; of equals the smallest. There
/// must be at least one member.
pub(super) fn central<F: Fingerprint>(members: impl Iterator<Item = (F, u64)> + Clone) -> F {
    let counts = BitCounts::of(members.clone());
    let sums = members.map(|(member, _)| (counts.sum(member), member));
    sums.min().map_or(F::ZERO, |(_, member)| member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_all_distances(members in prop::collection::btree_map(any::<u64>(), 1u64..9, 1..60)) {
            let sum = |x: u64| -> u64 {
                let distances = members.iter().map(|(y, weight)| u64::from(x.distance(*y)) * weight);
                distances.sum()
            };
            let list: Vec<u64> = members.keys().copied().collect();
            let counts = BitCounts::of(members.iter().map(|(m, w)| (*m, *w)));
            for &member in &list {
                prop_assert_eq!(counts.sum(member), sum(member) as i64);
            }
            let expected = list.iter().copied().min_by_key(|&x| (sum(x), x));
            prop_assert_eq!(Some(central(members.iter().map(|(m, w)| (*m, *w)))), expected);
        }
    }
}
