//! Simhash: one fingerprint out of many feature hashes, by a vote on each bit.

use crate::Fingerprint;

/// Levels of the counter: enough for any number of features that a `u64` can count.
const LEVELS: usize = 64;

/// The votes of the features seen so far.
///
/// The sum of +1 for each hash that has a bit set and -1 for each that has not is positive exactly
/// if more than half of the hashes have it set, so only set bits are counted. The counts of all
/// bits stand side by side: `sums[k]` holds the binary digit k of every count. A hash goes in at
/// level 0, where each second arrival is added together with the one before it; their carries go
/// on to level 1, again two by two, and so forth. That makes one addition per hash on average,
/// whatever the width, and no count can overflow.
#[derive(Clone, Debug)]
pub(super) struct Votes<F> {
    sums: [F; LEVELS],
    /// At level k, the first of a pair that waits for its second, where digit k of `count` is 1.
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

    /// Counts the vote of one occurrence of a feature.
    #[inline]
    pub(super) fn add(&mut self, hash: F) {
        let mut carry = hash;
        // The levels on which a first one waits are the low 1 digits of the count.
        let free = self.count.trailing_ones() as usize;
        for level in 0..free {
            let sum = self.sums[level];
            (self.sums[level], carry) = add3(sum, self.waiting[level], carry);
        }
        self.waiting[free] = carry;
        self.count += 1;
    }

    /// The bits that more than half of the hashes have set.
    pub(super) fn fingerprint(&self) -> F {
        let digits = self.digits();
        let half = self.count / 2;
        // Compares all counts with `half` at once, from the highest digit down.
        let (mut above, mut equal) = (F::ZERO, F::MAX);
        for (level, &digit) in digits.iter().enumerate().rev() {
            if (half >> level) & 1 == 1 {
                equal = equal & digit;
            } else {
                above = above | (equal & digit);
                equal = equal & !digit;
            }
        }
        above
    }

    /// The binary digits of the counts, what still waits included.
    fn digits(&self) -> [F; LEVELS] {
        let mut carry = F::ZERO;
        let mut digits = self.sums;
        for (level, digit) in digits.iter_mut().enumerate() {
            let waiting = match (self.count >> level) & 1 {
                1 => self.waiting[level],
                _ => F::ZERO,
            };
            (*digit, carry) = add3(*digit, waiting, carry);
        }
        digits
    }
}

/// Adds three digits in every bit position: their sum modulo 2, and the carry.
#[inline]
fn add3<F: Fingerprint>(a: F, b: F, c: F) -> (F, F) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

/// The definition of simhash, bit by bit, against which the counter is tested.
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
        votes.fingerprint()
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
