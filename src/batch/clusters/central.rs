//! The middle of a set of fingerprints. The sum of the distances of one to all others is a sum over bits, of how many
//! differ there: counting set bits once gives the sum of each exactly.

use crate::fingerprint::Fingerprint;

/// How many of some members have each bit set.
#[derive(Debug)]
struct BitCounts {
    ones: Vec<i64>,
    total: i64,
}

impl BitCounts {
    /// Counts each member so many times.
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

    /// The sum of the distances of a fingerprint from all.
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

/// The fingerprint that has in each bit what most members have; it need not be one of them.
pub(super) fn majority<F: Fingerprint>(members: &[F]) -> F {
    let counts = BitCounts::of(members.iter().map(|&member| (member, 1)));
    let bits = counts.ones.iter().enumerate();
    let set = bits.filter(|(_, ones)| 2 * **ones > counts.total);
    set.fold(F::ZERO, |all, (bit, _)| all | F::from_u128(1) << bit as u32)
}

/// The member with the least sum of distances to all, where each counts as many times as its weight says; the smallest
/// of several. There is at least one.
pub(super) fn central<F: Fingerprint>(members: impl Iterator<Item = (F, u64)> + Clone) -> F {
    let counts = BitCounts::of(members.clone());
    let sums = members.map(|(member, _)| (counts.sum(member), member));
    sums.min().map_or(F::ZERO, |(_, member)| member)
}

/// Each member with its number, by the sum of its distances to all, then by value.
pub(super) fn from_the_middle<F: Fingerprint>(members: &[F]) -> Vec<(i64, F, u32)> {
    let counts = BitCounts::of(members.iter().map(|&member| (member, 1)));
    let numbered = members.iter().zip(0..);
    let mut sums: Vec<_> = numbered
        .map(|(&member, number)| (counts.sum(member), member, number))
        .collect();
    sums.sort_unstable();
    sums
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

    #[test]
    fn the_majority_decides_each_bit() {
        assert_eq!(majority(&[0b0110u32, 0b0011, 0b0010]), 0b0010);
        assert_eq!(majority(&[0b01u32, 0b10]), 0);
        let expected = [(2, 0b001, 1), (3, 0b000, 0), (3, 0b011, 2)];
        assert_eq!(from_the_middle(&[0b000u32, 0b001, 0b011]), expected);
    }
}
