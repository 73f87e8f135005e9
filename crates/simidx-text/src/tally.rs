//! The distinct features of a document, counted and weighed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::weights::{FeatureSelection, Weights};

/// Votes are whole numbers: weights in units of 2^-16, so that sums come out the same everywhere.
pub(super) const UNIT: f64 = 65536.0;

/// The votes beyond which factors add none.
const MAX_VOTE: f64 = (1u64 << 34) as f64;

/// Places in the table that are always kept from one document to the next.
const KEPT: usize = 1 << 14;

/// One distinct feature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) hash: u128,
    /// How often it occurs.
    pub(super) count: u32,
    /// What the inverse document frequency and the part of speech multiply its weight by.
    pub(super) factor: f64,
    /// Characters, where they matter.
    length: u32,
}

/// The features of one document, in the order of their first occurrences.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    entries: Vec<Entry>,
    numbers: HashMap<u128, u32, BuildHasherDefault<LowBits>>,
}

/// Takes the low bits of a hash for its hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LowBits(u64);

impl Hasher for LowBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a feature hash is written as a number");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_u128(&mut self, hash: u128) {
        // Hashes of 64 bits have nothing above; the multiplication spreads what the table looks at.
        self.0 = (hash as u64 ^ (hash >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Tally {
    pub(super) fn clear(&mut self) {
        // Emptying a table takes as long as it is large: after a long document the small ones get a small one.
        if self.numbers.capacity() > KEPT.max(8 * self.entries.len()) {
            *self = Tally::default();
        }
        self.entries.clear();
        self.numbers.clear();
    }

    /// Counts an occurrence of a feature; `describe` tells the factor and the characters of a new one. Returns
    /// whether it is new.
    pub(super) fn add(&mut self, hash: u128, describe: impl FnOnce() -> (f64, u32)) -> bool {
        let next = self.entries.len() as u32;
        let number = *self.numbers.entry(hash).or_insert(next);
        let is_new = number == next;
        if is_new {
            let (factor, length) = describe();
            self.entries.push(Entry {
                hash,
                count: 0,
                factor,
                length,
            });
        }
        self.entries[number as usize].count += 1;
        is_new
    }

    /// The features in order, with the numbers that they were given.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The weight of each feature in units of 2^-16: 0 for those that are not selected.
    pub(super) fn votes(&self, weights: Weights, select: FeatureSelection) -> Vec<u64> {
        let entries = self.entries.iter();
        let mut votes: Vec<u64> = entries.map(|entry| entry.vote(weights)).collect();
        match select {
            FeatureSelection::All => {}
            FeatureSelection::Top(count) => keep(&votes.clone(), &mut votes, count.get()),
            FeatureSelection::Longest(count) => {
                let entries = self.entries.iter();
                let lengths: Vec<u64> = entries.map(|entry| entry.length.into()).collect();
                keep(&lengths, &mut votes, count.get());
            }
        }
        votes
    }
}

impl Entry {
    fn vote(&self, weights: Weights) -> u64 {
        let counted = f64::from(weights.of(self.count));
        // Factors are limited such that the votes of as many features as fit a document, 2^28, still fit 64 bits; the
        // occurrences alone are not, since those of all features together are fewer than its bytes.
        let most = MAX_VOTE.max(counted * UNIT);
        (counted * self.factor * UNIT).round().min(most) as u64
    }
}

/// Sets the votes to 0 but those of so many with the greatest ranks, of equal ones the first.
fn keep(ranks: &[u64], votes: &mut [u64], count: u32) {
    let count = count as usize;
    if votes.len() <= count {
        return;
    }
    let mut order: Vec<usize> = (0..votes.len()).collect();
    order.select_nth_unstable_by_key(count, |&i| (std::cmp::Reverse(ranks[i]), i));
    for &number in &order[count..] {
        votes[number] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(features: &[(u128, f64, u32)]) -> Tally {
        let mut tally = Tally::default();
        for &(hash, factor, length) in features {
            tally.add(hash, || (factor, length));
        }
        tally
    }

    #[test]
    fn occurrences_are_counted_in_the_order_of_the_first() {
        let tally = tally(&[(7, 1.0, 2), (9, 0.5, 3), (7, 1.0, 2)]);
        let entries = tally.entries().iter();
        let counts: Vec<_> = entries.map(|entry| (entry.hash, entry.count)).collect();
        assert_eq!(counts, [(7, 2), (9, 1)]);
        let votes = tally.votes(Weights::Count, FeatureSelection::All);
        assert_eq!(votes, [2 << 16, 1 << 15]);
        let votes = tally.votes(Weights::Uniform, FeatureSelection::All);
        assert_eq!(votes, [1 << 16, 1 << 15]);
    }

    #[test]
    fn factors_are_limited_and_occurrences_are_not() {
        let vote = |count, factor| {
            let entry = Entry {
                hash: 1,
                count,
                factor,
                length: 1,
            };
            entry.vote(Weights::Count)
        };
        assert_eq!(vote(2, 1000.5), 2001 << 16);
        assert_eq!(vote(1 << 20, 1.0), 1 << 36);
        assert_eq!(vote(1 << 20, 2.0), 1 << 36);
        assert_eq!(vote(1 << 10, 1024.0), 1 << 34);
    }

    #[test]
    fn the_first_of_equal_ones_are_kept() {
        let tally = tally(&[
            (1, 1.0, 4),
            (2, 2.0, 1),
            (3, 1.0, 4),
            (4, 2.0, 9),
            (5, 0.0, 0),
        ]);
        let kept = |select: &str| {
            let votes = tally.votes(Weights::Count, select.parse().unwrap());
            let kept = votes.iter().zip(1u128..).filter(|(vote, _)| **vote > 0);
            kept.map(|(_, hash)| hash).collect::<Vec<_>>()
        };
        assert_eq!(kept("top:1"), [2]);
        assert_eq!(kept("top:3"), [1, 2, 4]);
        assert_eq!(kept("top:9"), [1, 2, 3, 4]);
        assert_eq!(kept("longest:2"), [1, 4]);
        assert_eq!(kept("longest:1"), [4]);
    }

    #[test]
    fn weights_do_not_overflow() {
        let mut tally = tally(&[(1, 1e13, 0), (2, 1e13, 0)]);
        tally.entries[1].count = u32::MAX;
        let most = u64::from(u32::MAX) << 16;
        assert_eq!(
            tally.votes(Weights::Count, FeatureSelection::All),
            [1 << 34, most]
        );
    }
}
