//! Simhash: combines the hashes of features into a fingerprint by a vote on each bit.

use crate::names::named;
use simidx::{Fingerprint, Width};

/// The value of a bit whose votes are tied.
///
/// ```
/// use simidx::Width;
/// use simidx_text::simhash;
/// use simidx_text::stages::TieRule;
///
/// let hashes = [(0b0110, 1), (0b0011, 1)];
/// assert_eq!(simhash(hashes, Width::W32, TieRule::Clear), 0b0010);
/// assert_eq!(simhash(hashes, Width::W32, TieRule::Set), 0b0111);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TieRule {
    /// `clear`: 0, as in most implementations. A document without features has the fingerprint 0.
    #[default]
    Clear,
    /// `set`: 1. A document without features has a fingerprint with all bits set.
    Set,
}

impl TieRule {
    /// The simhash of an empty set of features.
    pub(super) fn of_none(self, width: Width) -> u128 {
        match self {
            TieRule::Clear => 0,
            TieRule::Set => width.max(),
        }
    }
}

named!(TieRule, "ties", Clear = "clear", Set = "set");

/// Returns the simhash of weighted feature hashes (Charikar, STOC 2002): bit i is set if the hashes that have it set
/// weigh more than the others. Bits beyond the width are ignored. The sum of the weights must be below 2^63.
///
/// ```
/// use simidx::Width;
/// use simidx_text::simhash;
/// use simidx_text::stages::TieRule;
///
/// let hashes = [(0xabcd, 1), (0xbcde, 1), (0xcdef, 1)];
/// assert_eq!(simhash(hashes, Width::W64, TieRule::Clear), 0xadcf);
/// ```
pub fn simhash(hashes: impl IntoIterator<Item = (u128, u64)>, width: Width, ties: TieRule) -> u128 {
    simhash_if_any(hashes, width, ties).unwrap_or_else(|| ties.of_none(width))
}

/// Returns [`simhash`], or `None` if every weight is 0.
pub(super) fn simhash_if_any(
    hashes: impl IntoIterator<Item = (u128, u64)>,
    width: Width,
    ties: TieRule,
) -> Option<u128> {
    // For each bit, the total weight of the hashes that have it set.
    let mut weights = [0; 128];
    let weights = &mut weights[..width.bits() as usize];
    let mut total = 0;
    for (hash, weight) in hashes {
        let halves = [hash as u64, (hash >> 64) as u64];
        for (half, sums) in halves.into_iter().zip(weights.chunks_mut(64)) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += weight & (half >> i & 1).wrapping_neg();
            }
        }
        total += weight;
    }
    let bits = weights.iter().enumerate().fold(0, |bits, (i, &set)| {
        let clear = total - set;
        let bit = set > clear || (set == clear && ties == TieRule::Set);
        bits | u128::from(bit) << i
    });
    (total > 0).then_some(bits)
}

/// Number of counter levels: enough for any number of features that a `u64` can count.
const LEVELS: usize = 64;

/// The votes of the features seen so far.
///
/// The sum of +1 for each hash that has a bit set and -1 for each that has not is positive exactly if more than half of
/// the hashes have it set, so only set bits are counted. The counts of all bits are bit-sliced: `sums[k]` holds the
/// binary digit k of every count. A hash enters at level 0, where every second arrival is added together with the one
/// before it; the carries continue to level 1, again in pairs, and so on. On average, that is one addition for each
/// hash, at any width, and counts cannot overflow.
#[derive(Clone, Debug)]
pub(super) struct Votes<F> {
    sums: [F; LEVELS],
    /// At each level k whose digit k of `count` is 1, the first of a pair, waiting for the second.
    waiting: [F; LEVELS],
    count: u64,
}

impl<F: Fingerprint> Votes<F> {
    pub(super) fn new() -> Self {
        Votes {
            sums: [F::ZERO; LEVELS],
            waiting: [F::ZERO; LEVELS],
            count: 0,
        }
    }

    /// Adds the vote of one occurrence of a feature.
    #[inline]
    pub(super) fn add(&mut self, hash: F) {
        let mut carry = hash;
        // The levels with a waiting value are the low 1 digits of the count.
        let free = self.count.trailing_ones() as usize;
        for level in 0..free {
            let sum = self.sums[level];
            (self.sums[level], carry) = add3(sum, self.waiting[level], carry);
        }
        self.waiting[free] = carry;
        self.count += 1;
    }

    /// Whether there are no votes.
    pub(super) fn are_none(&self) -> bool {
        self.count == 0
    }

    /// Returns the bits that more than half of the hashes have set, or at least half of them if ties set a bit.
    pub(super) fn fingerprint(&self, ties: TieRule) -> F {
        let half = match ties {
            TieRule::Clear => self.count / 2,
            TieRule::Set if self.count == 0 => return F::MAX,
            TieRule::Set => (self.count - 1) / 2,
        };
        let digits = self.digits();
        // Compares all counts with `half` at once, from the highest digit down.
        let (mut above, mut equal) = (F::ZERO, F::MAX);
        for (level, &digit) in digits[..self.levels()].iter().enumerate().rev() {
            if (half >> level) & 1 == 1 {
                equal = equal & digit;
            } else {
                above = above | (equal & digit);
                equal = equal & !digit;
            }
        }
        above
    }

    /// Number of levels in use, the number of digits in the count of all hashes.
    fn levels(&self) -> usize {
        (u64::BITS - self.count.leading_zeros()) as usize
    }

    /// Returns the binary digits of the counts, including the waiting values.
    fn digits(&self) -> [F; LEVELS] {
        let mut carry = F::ZERO;
        let mut digits = self.sums;
        for (level, digit) in digits[..self.levels()].iter_mut().enumerate() {
            let waiting = match (self.count >> level) & 1 {
                1 => self.waiting[level],
                _ => F::ZERO,
            };
            (*digit, carry) = add3(*digit, waiting, carry);
        }
        digits
    }
}

/// Adds three digits in every bit position. Returns their sum modulo 2, and the carry.
#[inline]
fn add3<F: Fingerprint>(a: F, b: F, c: F) -> (F, F) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

/// The definition of simhash, bit by bit, as a reference for tests of the counter.
#[cfg(test)]
pub(super) fn naive<F: Fingerprint>(hashes: &[F]) -> F {
    (0..F::WIDTH).fold(F::ZERO, |fingerprint, bit| {
        let vote = |&hash: &F| {
            if (hash >> bit).to_u128() & 1 == 1 {
                1
            } else {
                -1
            }
        };
        let sum: i64 = hashes.iter().map(vote).sum();
        if sum > 0 {
            fingerprint | F::from_u128(1u128 << bit)
        } else {
            fingerprint
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn simhash<F: Fingerprint>(hashes: &[F]) -> F {
        let mut votes = Votes::new();
        hashes.iter().for_each(|&hash| votes.add(hash));
        let weighted = |ties| {
            let ones = hashes.iter().map(|&hash| (hash.to_u128(), 1));
            F::from_u128(super::simhash(ones, Width::of::<F>(), ties))
        };
        let fingerprint = votes.fingerprint(TieRule::Clear);
        assert_eq!(weighted(TieRule::Clear), fingerprint);
        assert_eq!(weighted(TieRule::Set), votes.fingerprint(TieRule::Set));
        fingerprint
    }

    #[test]
    fn a_weight_counts_so_many_times() {
        let weighted = [(0b0110u32, 3), (0b0011, 2), (0b1000, 1)];
        let repeated = weighted
            .iter()
            .flat_map(|&(hash, weight)| vec![hash; weight]);
        let weighted = weighted.map(|(hash, weight)| (hash.into(), weight as u64));
        let simple = simhash(&repeated.collect::<Vec<_>>());
        let found = |ties| super::simhash(weighted, Width::W32, ties);
        assert_eq!(found(TieRule::Clear), simple.into());
        assert_eq!(found(TieRule::Set), 0b0110);
    }

    #[test]
    fn a_tie_may_set_the_bit() {
        let found = |hashes| super::simhash(hashes, Width::W32, TieRule::Set);
        assert_eq!(found(vec![(0b0110, 1), (0b0011, 1)]), 0b0111);
        assert_eq!(found(vec![]), u32::MAX.into());
    }

    #[test]
    fn no_feature_gives_zero() {
        assert_eq!(simhash::<u64>(&[]), 0);
    }

    #[test]
    fn one_feature_gives_its_hash() {
        assert_eq!(simhash(&[0xdead_beefu32]), 0xdead_beef);
    }

    #[test]
    fn a_tie_leaves_the_bit_clear() {
        assert_eq!(simhash(&[0b0110u32, 0b0011]), 0b0010);
        assert_eq!(simhash(&[0b1u32, 0b1, 0b10, 0b10]), 0);
    }

    #[test]
    fn the_majority_sets_the_bit() {
        assert_eq!(simhash(&[0b0111u32, 0b0011, 0b1001]), 0b0011);
    }

    #[test]
    fn a_million_equal_features_do_not_overflow() {
        let mut hashes = vec![u128::MAX; 1 << 20];
        hashes.extend(vec![0; (1 << 20) - 1]);
        assert_eq!(simhash(&hashes), u128::MAX);
        hashes.push(0);
        assert_eq!(simhash(&hashes), 0);
    }

    proptest! {
        #[test]
        fn counter_agrees_with_the_definition_u32(hashes in prop::collection::vec(any::<u32>(), 0..300)) {
            prop_assert_eq!(simhash(&hashes), naive(&hashes));
        }

        #[test]
        fn counter_agrees_with_the_definition_u64(hashes in prop::collection::vec(any::<u64>(), 0..70)) {
            prop_assert_eq!(simhash(&hashes), naive(&hashes));
        }

        #[test]
        fn counter_agrees_with_the_definition_u128(hashes in prop::collection::vec(any::<u128>(), 0..70)) {
            prop_assert_eq!(simhash(&hashes), naive(&hashes));
        }
    }
}
