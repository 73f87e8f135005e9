//! The balance of the bits of fingerprints.

use crate::fingerprint::Fingerprint;

/// Chance deviations stay below this many standard deviations: fewer than one bit in 500 million exceeds it.
const DEVIATIONS: f64 = 6.0;

/// The largest deviation of the share of set bits from a half at which a bit still distinguishes fingerprints.
const MAX_IMBALANCE: f64 = 0.25;

/// The balance of the bits of a set of distinct fingerprints.
///
/// ```
/// use simidx::batch::{LintOptions, lint};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let report = lint(&segments, &LintOptions::default())?;
/// assert_eq!(report.bits.set_counts[8..10], [2, 3]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BitReport {
    /// The number of fingerprints that have each bit set, least significant bit first.
    pub set_counts: Vec<u64>,
    /// Bits that are always or never set. This list and `lopsided` are empty for fewer than [`BitReport::MIN_COUNT`]
    /// fingerprints.
    pub dead: Vec<u32>,
    /// Bits that are set, or clear, in more than three quarters of the fingerprints, beyond chance. Excludes dead bits.
    pub lopsided: Vec<u32>,
}

impl BitReport {
    /// The least number of fingerprints for statements about bits.
    pub const MIN_COUNT: u64 = 64;
}

/// Counts how often each bit is set.
pub(super) struct BitCounter<F> {
    /// At most 64 fingerprints, which are counted in one step.
    batch: Vec<F>,
    count: u64,
    set: Vec<u64>,
}

impl<F: Fingerprint> BitCounter<F> {
    pub(super) fn new() -> Self {
        BitCounter {
            batch: Vec::with_capacity(64),
            count: 0,
            set: vec![0; F::WIDTH as usize],
        }
    }

    pub(super) fn push(&mut self, fingerprint: F) {
        self.batch.push(fingerprint);
        if self.batch.len() == 64 {
            self.count_batch();
        }
    }

    fn count_batch(&mut self) {
        for (word, set) in self.set.chunks_mut(64).enumerate() {
            let mut square = [0u64; 64];
            for (row, fingerprint) in square.iter_mut().zip(&self.batch) {
                *row = (fingerprint.to_u128() >> (64 * word)) as u64;
            }
            transpose(&mut square);
            for (set, column) in set.iter_mut().zip(square) {
                *set += u64::from(column.count_ones());
            }
        }
        self.count += self.batch.len() as u64;
        self.batch.clear();
    }

    pub(super) fn finish(mut self) -> BitReport {
        self.count_batch();
        let mut report = BitReport {
            set_counts: self.set,
            ..BitReport::default()
        };
        if self.count < BitReport::MIN_COUNT {
            return report;
        }
        let most = MAX_IMBALANCE.max(DEVIATIONS / (self.count as f64).sqrt() / 2.0);
        for (bit, &set) in (0..).zip(&report.set_counts) {
            let imbalance = (set as f64 / self.count as f64 - 0.5).abs();
            if set == 0 || set == self.count {
                report.dead.push(bit);
            } else if imbalance > most {
                report.lopsided.push(bit);
            }
        }
        report
    }
}

/// Transposes a square of bits, by halves, quarters and so on: bit j of word i becomes bit i of word j.
fn transpose(square: &mut [u64; 64]) {
    let mut mask = u64::MAX >> 32;
    let mut half = 32;
    while half > 0 {
        for i in (0..64).filter(|i| i & half == 0) {
            let swapped = ((square[i] >> half) ^ square[i + half]) & mask;
            square[i] ^= swapped << half;
            square[i + half] ^= swapped;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    fn random(count: usize, seed: u64) -> Vec<u64> {
        let mut rng = SmallRng::seed_from_u64(seed);
        (0..count).map(|_| rng.random()).collect()
    }

    fn report<F: Fingerprint>(fingerprints: &[F]) -> BitReport {
        let mut counter = BitCounter::new();
        fingerprints.iter().for_each(|&f| counter.push(f));
        counter.finish()
    }

    /// Compares the counts with a count bit by bit.
    fn check_counts<F: Fingerprint>(fingerprints: &[F]) {
        let is_set = |f: &&F, bit: u32| f.to_u128() >> bit & 1 == 1;
        let count = |bit| fingerprints.iter().filter(|f| is_set(f, bit)).count() as u64;
        let expected: Vec<u64> = (0..F::WIDTH).map(count).collect();
        assert_eq!(report(fingerprints).set_counts, expected);
    }

    #[test]
    fn counts_are_those_of_single_bits() {
        for count in [0, 1, 63, 64, 65, 700] {
            let narrow: Vec<u32> = random(count, 1).iter().map(|&f| f as u32).collect();
            check_counts(&narrow);
            check_counts(&random(count, 2));
        }
        let (high, low) = (random(130, 3), random(130, 4));
        let pairs = high.iter().zip(&low);
        let wide = pairs.map(|(&h, &l)| u128::from(h) << 64 | u128::from(l));
        check_counts(&wide.collect::<Vec<u128>>());
    }

    #[test]
    fn random_bits_are_neither_dead_nor_lopsided() {
        for (seed, count) in [(1, 64), (2, 300), (3, 5000), (4, 100_000)] {
            let found = report(&random(count, seed));
            assert!(found.dead.is_empty() && found.lopsided.is_empty());
        }
        assert!(report(&[0u64; 63]).dead.is_empty());
    }

    #[test]
    fn planted_defects_are_found() {
        let mut rng = SmallRng::seed_from_u64(6);
        let planted = random(20_000, 7).into_iter().map(|f| {
            let f = f & !(1 << 5) | 1 << 6;
            match rng.random_bool(0.8) {
                true => f & !(1 << 60),
                false => f,
            }
        });
        let found = report(&planted.collect::<Vec<u64>>());
        assert_eq!(found.dead, [5, 6]);
        assert_eq!(found.lopsided, [60]);
    }
}
