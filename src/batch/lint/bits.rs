//! The balance of the bits of fingerprints, and the dependence of pairs of bits.

use rayon::prelude::*;

use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Fingerprints that are turned into columns together.
const BATCH: usize = 1 << 14;

/// Words of a column.
const WORDS: usize = BATCH / 64;

/// Fewer fingerprints are not enough for statements about bits.
const MIN_SAMPLE: u64 = 64;

/// Noise stays below this many standard deviations: only one in 60,000 sets has a pair above it among its 8128 pairs.
const DEVIATIONS: f64 = 6.0;

/// A correlation below this does no harm to any table.
const MIN_CORRELATION: f64 = 0.3;

/// The share of set bits may differ from a half by this much: such a bit still distinguishes fingerprints.
const MAX_IMBALANCE: f64 = 0.25;

/// The balance of the bits of a set of distinct fingerprints, and their dependence on each other.
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
/// assert_eq!(report.bits.sample_count, 3);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BitReport {
    /// Number of fingerprints in the sample: all, or a regular selection from a large set.
    pub sample_count: u64,
    /// In how many of these each bit is set. The least significant bit comes first.
    pub set_counts: Vec<u64>,
    /// Bits that are never set, or always. This list and those below are empty for fewer than 64 fingerprints.
    pub dead: Vec<u32>,
    /// Bits that are set or clear in more than three quarters of the fingerprints, beyond chance. Dead bits are left out.
    pub lopsided: Vec<u32>,
    /// Bits that are always equal to a lower one, or always its opposite.
    pub mirrored: Vec<BitPair>,
    /// Other pairs of bits whose correlation is at least 0.3 and beyond chance, the strongest first.
    pub correlated: Vec<BitPair>,
    /// An upper bound of the information in these bits, as a number of fair and independent bits: the sum of their
    /// entropies, less the information that the strongest dependences share (a spanning tree of pairs). 0 for fewer than
    /// 64 fingerprints.
    pub effective_bits: f64,
}

/// Two bits that depend on each other.
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
/// for pair in &report.bits.correlated {
///     println!("bits {} and {}: {:.2}", pair.a, pair.b, pair.phi);
/// }
/// assert!(report.bits.correlated.is_empty()); // of so few fingerprints none is beyond chance
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BitPair {
    /// The lower bit.
    pub a: u32,
    /// The higher bit.
    pub b: u32,
    /// Their correlation, the phi coefficient: 1 if they are always equal, -1 if they never are.
    pub phi: f64,
}

/// Counts set bits, and pairs of bits that are both set.
pub(super) struct BitCounter<F> {
    batch: Vec<F>,
    count: u64,
    set: Vec<u64>,
    /// Row `i` holds for each `j` how often bits `i` and `j` are both set. Used for `i < j`.
    both: Vec<u64>,
}

impl<F: Fingerprint> BitCounter<F> {
    pub(super) fn new() -> Self {
        let width = F::WIDTH as usize;
        BitCounter {
            batch: Vec::with_capacity(BATCH),
            count: 0,
            set: vec![0; width],
            both: vec![0; width * width],
        }
    }

    pub(super) fn push(&mut self, fingerprint: F) {
        self.batch.push(fingerprint);
        if self.batch.len() == BATCH {
            self.count_batch();
        }
    }

    /// Counts the bits of the batch by columns.
    fn count_batch(&mut self) {
        let columns = columns(&self.batch);
        let column = |bit: usize| &columns[bit * WORDS..][..WORDS];
        let width = F::WIDTH as usize;
        let rows = self.both.par_chunks_mut(width).zip(&mut self.set);
        rows.enumerate().for_each(|(i, (row, set))| {
            *set += dispatch(BothSet(column(i), column(i)));
            for (j, both) in row.iter_mut().enumerate().skip(i + 1) {
                *both += dispatch(BothSet(column(i), column(j)));
            }
        });
        self.count += self.batch.len() as u64;
        self.batch.clear();
    }

    pub(super) fn finish(mut self) -> BitReport {
        self.count_batch();
        let mut report = BitReport {
            sample_count: self.count,
            set_counts: std::mem::take(&mut self.set),
            ..BitReport::default()
        };
        if self.count >= MIN_SAMPLE {
            let counts = Counts {
                count: self.count as f64,
                width: F::WIDTH as usize,
                set: &report.set_counts.clone(),
                both: &self.both,
            };
            counts.fill_in(&mut report);
        }
        report
    }
}

/// The number of places where both columns have a bit set.
struct BothSet<'c>(&'c [u64], &'c [u64]);

impl Work for BothSet<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> u64 {
        let mut sum = 0;
        for i in 0..self.0.len().min(self.1.len()) {
            sum += u64::from((self.0[i] & self.1[i]).count_ones());
        }
        sum
    }
}

/// Bit b of fingerprint i is bit i % 64 of word i / 64 of column b. Zeros follow the last fingerprint.
fn columns<F: Fingerprint>(fingerprints: &[F]) -> Vec<u64> {
    let width = F::WIDTH as usize;
    let mut columns = vec![0u64; width * WORDS];
    for (word, group) in fingerprints.chunks(64).enumerate() {
        for first_bit in (0..width).step_by(64) {
            let mut square = [0u64; 64];
            for (row, fingerprint) in square.iter_mut().zip(group) {
                *row = (fingerprint.to_u128() >> first_bit) as u64;
            }
            transpose(&mut square);
            for (bit, &row) in (first_bit..width).zip(&square) {
                columns[bit * WORDS + word] = row;
            }
        }
    }
    columns
}

/// Swaps rows and columns, by halves, quarters and so on: bit j of word i becomes bit i of word j.
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

/// What was counted.
struct Counts<'c> {
    count: f64,
    width: usize,
    set: &'c [u64],
    both: &'c [u64],
}

impl Counts<'_> {
    fn fill_in(&self, report: &mut BitReport) {
        let all = 0..self.width;
        let deviation = 1.0 / self.count.sqrt();
        report.dead = all
            .clone()
            .filter(|&i| self.is_dead(i))
            .map(|i| i as u32)
            .collect();
        let most = MAX_IMBALANCE.max(DEVIATIONS * deviation / 2.0);
        let lopsided = all.filter(|&i| !self.is_dead(i) && (self.share(i) - 0.5).abs() > most);
        report.lopsided = lopsided.map(|i| i as u32).collect();
        self.find_mirrored(report);
        self.find_correlated(report, MIN_CORRELATION.max(DEVIATIONS * deviation));
        report.effective_bits = self.effective_bits(DEVIATIONS * deviation);
    }

    /// The share of fingerprints that have the bit set.
    fn share(&self, bit: usize) -> f64 {
        self.set[bit] as f64 / self.count
    }

    fn is_dead(&self, bit: usize) -> bool {
        self.set[bit] == 0 || self.set[bit] as f64 == self.count
    }

    fn both(&self, i: usize, j: usize) -> f64 {
        self.both[i.min(j) * self.width + i.max(j)] as f64
    }

    /// The correlation of two bits that are not dead.
    fn phi(&self, i: usize, j: usize) -> f64 {
        let (a, b, n) = (self.set[i] as f64, self.set[j] as f64, self.count);
        let spread = (a * (n - a)).sqrt() * (b * (n - b)).sqrt();
        ((n * self.both(i, j) - a * b) / spread).clamp(-1.0, 1.0)
    }

    /// Whether two bits are always equal (1) or never (-1).
    fn mirror(&self, i: usize, j: usize) -> Option<f64> {
        let (a, b, both) = (self.set[i] as f64, self.set[j] as f64, self.both(i, j));
        if a == b && both == a {
            Some(1.0)
        } else if both == 0.0 && a + b == self.count {
            Some(-1.0)
        } else {
            None
        }
    }

    fn live_bits(&self) -> Vec<usize> {
        (0..self.width).filter(|&bit| !self.is_dead(bit)).collect()
    }

    /// Each bit with the lowest one that it repeats.
    fn find_mirrored(&self, report: &mut BitReport) {
        let live = self.live_bits();
        for (number, &b) in live.iter().enumerate() {
            let mirrors = live[..number].iter().map(|&a| (a, self.mirror(a, b)));
            let first = mirrors.into_iter().find_map(|(a, phi)| Some((a, phi?)));
            report.mirrored.extend(first.map(|(a, phi)| BitPair {
                a: a as u32,
                b: b as u32,
                phi,
            }));
        }
    }

    fn find_correlated(&self, report: &mut BitReport, least: f64) {
        // A bit that repeats another one also has the correlations of that one.
        let repeats = |bit: usize| report.mirrored.iter().any(|pair| pair.b as usize == bit);
        let mut live = self.live_bits();
        live.retain(|&bit| !repeats(bit));
        let mut found = Vec::new();
        for (number, &b) in live.iter().enumerate() {
            for &a in &live[..number] {
                let phi = self.phi(a, b);
                if phi.abs() >= least {
                    let (a, b) = (a as u32, b as u32);
                    found.push(BitPair { a, b, phi });
                }
            }
        }
        found.sort_by(|x, y| {
            let by_strength = y.phi.abs().total_cmp(&x.phi.abs());
            by_strength.then((x.a, x.b).cmp(&(y.a, y.b)))
        });
        report.correlated = found;
    }

    /// The sum of the entropies, less the information that the pairs of the best spanning tree share (Chow and Liu 1968).
    /// Correlations up to `noise` count as none.
    fn effective_bits(&self, noise: f64) -> f64 {
        let live = self.live_bits();
        let entropies = live
            .iter()
            .map(|&bit| entropy(&[self.share(bit), 1.0 - self.share(bit)]));
        let mut rest = live.clone();
        let Some(first) = rest.pop() else {
            return 0.0;
        };
        let shared = |i: usize, j: usize| match self.phi(i, j).abs() > noise {
            true => self.shared_information(i, j),
            false => 0.0,
        };
        // Prim's algorithm: the most information that each bit outside the tree shares with one inside.
        let mut edges: Vec<f64> = rest.iter().map(|&bit| shared(first, bit)).collect();
        let mut taken_away = 0.0;
        while let Some(best) = (0..rest.len()).max_by(|&x, &y| edges[x].total_cmp(&edges[y])) {
            taken_away += edges.swap_remove(best);
            let bit = rest.swap_remove(best);
            for (edge, &other) in edges.iter_mut().zip(&rest) {
                *edge = edge.max(shared(bit, other));
            }
        }
        (entropies.sum::<f64>() - taken_away).max(0.0)
    }

    /// The mutual information of two bits, in bits.
    fn shared_information(&self, i: usize, j: usize) -> f64 {
        let (a, b, both) = (self.share(i), self.share(j), self.both(i, j) / self.count);
        let joint = [both, a - both, b - both, 1.0 - a - b + both];
        let apart = entropy(&[a, 1.0 - a]) + entropy(&[b, 1.0 - b]);
        (apart - entropy(&joint)).max(0.0)
    }
}

/// The entropy of a distribution, in bits.
fn entropy(shares: &[f64]) -> f64 {
    let terms = shares.iter().filter(|&&p| p > 0.0).map(|p| -p * p.log2());
    terms.sum()
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

    /// Counts bit by bit.
    fn check_counts<F: Fingerprint>(fingerprints: &[F]) {
        let mut counter = BitCounter::new();
        fingerprints.iter().for_each(|&f| counter.push(f));
        counter.count_batch();
        let bit = |f: F, i: usize| f.to_u128() >> i & 1 == 1;
        let width = F::WIDTH as usize;
        for i in 0..width {
            let set = fingerprints.iter().filter(|&&f| bit(f, i)).count();
            assert_eq!(counter.set[i], set as u64);
            for j in i + 1..width {
                let both = fingerprints
                    .iter()
                    .filter(|&&f| bit(f, i) && bit(f, j))
                    .count();
                assert_eq!(counter.both[i * width + j], both as u64, "{i} {j}");
            }
        }
    }

    #[test]
    fn counts_are_those_of_single_bits() {
        for count in [0, 1, 63, 64, 65, 700, BATCH + 3] {
            let narrow: Vec<u32> = random(count, 1).iter().map(|&f| f as u32).collect();
            check_counts(&narrow);
        }
        check_counts(&random(BATCH + 70, 2));
        let (high, low) = (random(130, 3), random(130, 4));
        let pairs = high.iter().zip(&low);
        let wide = pairs.map(|(&h, &l)| u128::from(h) << 64 | u128::from(l));
        check_counts(&wide.collect::<Vec<u128>>());
    }

    #[test]
    fn random_bits_are_all_worth_a_bit() {
        for (seed, count) in [(1, 64), (2, 300), (3, 5000), (4, 100_000)] {
            let found = report(&random(count, seed));
            assert!(found.dead.is_empty() && found.lopsided.is_empty());
            assert!(found.mirrored.is_empty() && found.correlated.is_empty());
            assert!(found.effective_bits > 62.0, "{}", found.effective_bits);
        }
        assert_eq!(report(&random(63, 5)).effective_bits, 0.0);
    }

    #[test]
    fn planted_dependences_are_found() {
        let mut rng = SmallRng::seed_from_u64(6);
        let planted = random(20_000, 7).into_iter().map(|f| {
            let bit = |i: u32| f >> i & 1;
            let mut f = f & !(1 << 5) | 1 << 6;
            // Bit 40 repeats bit 3, bit 41 is the opposite of bit 4, bit 50 equals bit 10 in four of five.
            f = f & !(1 << 40) | bit(3) << 40;
            f = f & !(1 << 41) | (1 - bit(4)) << 41;
            if rng.random_bool(0.6) {
                f = f & !(1 << 50) | bit(10) << 50;
            }
            // Bit 60 is rarely set.
            if rng.random_bool(0.8) {
                f &= !(1 << 60);
            }
            f
        });
        let found = report(&planted.collect::<Vec<u64>>());
        assert_eq!(found.dead, [5, 6]);
        assert_eq!(found.lopsided, [60]);
        let mirrored: Vec<_> = found.mirrored.iter().map(|p| (p.a, p.b, p.phi)).collect();
        assert_eq!(mirrored, [(3, 40, 1.0), (4, 41, -1.0)]);
        let [pair] = found.correlated[..] else {
            panic!("{:?}", found.correlated);
        };
        assert_eq!((pair.a, pair.b), (10, 50));
        assert!((pair.phi - 0.6).abs() < 0.05);
        // There are 60 live bits. Bits 50 and 60 lack 1 - H(0.2) and 1 - H(0.1).
        let expected = 60.0 - (1.0 - 0.7219) - (1.0 - 0.469);
        assert!(
            (found.effective_bits - expected).abs() < 0.1,
            "{}",
            found.effective_bits
        );
    }

    #[test]
    fn a_repeated_half_is_worth_half() {
        let halves = random(3000, 8)
            .into_iter()
            .map(|f| f << 32 | f & 0xffff_ffff);
        let found = report(&halves.collect::<Vec<u64>>());
        assert_eq!(found.mirrored.len(), 32);
        assert!(found.mirrored.iter().all(|pair| pair.b == pair.a + 32));
        assert!((found.effective_bits - 32.0).abs() < 0.5);
    }
}
