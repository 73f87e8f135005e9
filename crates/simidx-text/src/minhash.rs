//! One-bit MinHash: fingerprints whose distance estimates the Jaccard similarity of sets of features.

use simidx::Width;

/// Number of hashes that are buffered before they are processed, enough to amortise the choice of instructions.
const GATHERED: usize = 64;

/// Number of hash functions that a vector of AVX2 holds.
const LANES: u32 = 8;

/// The one-bit MinHash of a set of features by their hashes. The order and repetitions of features do not matter.
///
/// Each of the f hash functions transforms a feature hash: function i mixes its bits 0 to 31 plus its bits 64 to 95
/// times the i-th of a sequence of odd constants. Bit i of the fingerprint is the lowest bit of the smallest value of
/// function i. Two sets with Jaccard similarity J therefore agree on it with probability (1 + J) / 2. (Broder 1997; Li
/// and König, "b-Bit Minwise Hashing", WWW 2010, for b = 1.) With vector instructions, it takes about a quarter of a
/// nanosecond for each feature and bit.
#[derive(Clone, Debug)]
pub(super) struct Minima {
    /// The minimum of each function, and of further ones that fill the last vector.
    minima: Vec<u32>,
    /// The odd constant of each of them.
    odds: Vec<u32>,
    is_empty: bool,
    gathered: Vec<u128>,
}

impl Minima {
    /// Creates `count` functions without features.
    pub(super) fn new(count: u32) -> Self {
        let filled = count.next_multiple_of(LANES);
        Minima {
            minima: vec![u32::MAX; filled as usize],
            odds: (0..filled).map(odd).collect(),
            is_empty: true,
            gathered: Vec::with_capacity(GATHERED),
        }
    }

    /// Adds a feature. A repetition changes nothing.
    #[inline]
    pub(super) fn add(&mut self, hash: u128) {
        self.gathered.push(hash);
        if self.gathered.len() == GATHERED {
            self.take_in();
        }
    }

    fn take_in(&mut self) {
        self.is_empty &= self.gathered.is_empty();
        take_in(&mut self.minima, &self.odds, &self.gathered);
        self.gathered.clear();
    }

    /// Returns the lowest bits of the minima, or `None` without features.
    pub(super) fn fingerprint(mut self) -> Option<u128> {
        self.take_in();
        let bits = self.minima.iter().enumerate();
        let bits = bits.fold(0, |bits, (i, minimum)| bits | u128::from(minimum & 1) << i);
        (!self.is_empty).then_some(bits)
    }
}

/// Returns the fingerprint of features by their hashes, or `None` without features.
pub(super) fn minhash(hashes: impl Iterator<Item = u128>, width: Width) -> Option<u128> {
    let mut minima = Minima::new(width.bits());
    hashes.for_each(|hash| minima.add(hash));
    minima.fingerprint()
}

/// Returns the minima of `count` hash functions over features by their hashes of 64 bits.
pub(super) fn minima_of(count: u32, features: &[u64]) -> Vec<u32> {
    let mut minima = Minima::new(count);
    for &feature in features {
        // The hash functions use 64 of 128 bits: the lower half of each half.
        minima.add(u128::from(feature as u32) | u128::from(feature >> 32) << 64);
    }
    minima.take_in();
    minima.minima.truncate(count as usize);
    minima.minima
}

/// Updates the minima with features, eight functions at once if the processor has AVX2. `SIMIDX_SIMD=off` in the
/// environment selects the portable code, with the same result.
fn take_in(minima: &mut [u32], odds: &[u32], hashes: &[u128]) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu::has_avx2_and_popcnt() {
        #[expect(unsafe_code, reason = "calls a function compiled for newer processors")]
        // SAFETY: this processor has AVX2, which the function is compiled for.
        return unsafe { take_in_avx2(minima, odds, hashes) };
    }
    take_in_each(minima, odds, hashes);
}

/// [`take_in_each`], vectorised by the compiler.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn take_in_avx2(minima: &mut [u32], odds: &[u32], hashes: &[u128]) {
    take_in_each(minima, odds, hashes);
}

#[inline(always)]
fn take_in_each(minima: &mut [u32], odds: &[u32], hashes: &[u128]) {
    // Two hashes at once, so that a minimum is loaded and stored half as often.
    for pair in hashes.chunks(2) {
        let halves = |hash: u128| (hash as u32, (hash >> 64) as u32);
        let [a, b] = [pair[0], pair[pair.len() - 1]].map(halves);
        for (minimum, odd) in minima.iter_mut().zip(odds) {
            *minimum = (*minimum).min(mixed(a, *odd)).min(mixed(b, *odd));
        }
    }
}

/// Returns the odd constant of hash function `i`.
fn odd(i: u32) -> u32 {
    (2 * i + 1).wrapping_mul(0x9e37_79b9)
}

/// Returns the hash function with this odd constant of a feature.
#[inline(always)]
fn mixed((low, high): (u32, u32), odd: u32) -> u32 {
    let mut x = low.wrapping_add(high.wrapping_mul(odd));
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Estimates the Jaccard similarity of two sets of features, 0 to 1, from the distance of their MinHash fingerprints of
/// f bits.
///
/// The standard deviation is at most 1 / sqrt(f), 0.125 for 64 bits.
///
/// ```
/// use simidx::Width;
/// use simidx_text::jaccard_estimate;
///
/// assert_eq!(jaccard_estimate(0, Width::W64), 1.0);
/// assert_eq!(jaccard_estimate(8, Width::W64), 0.75);
/// ```
pub fn jaccard_estimate(distance: u32, width: Width) -> f64 {
    (1.0 - 2.0 * f64::from(distance) / f64::from(width.bits())).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simidx::Fingerprint;

    fn hash(feature: u32) -> u128 {
        xxhash_rust::xxh3::xxh3_128(&feature.to_le_bytes())
    }

    fn fingerprint(features: impl Iterator<Item = u32>, width: Width) -> u128 {
        minhash(features.map(hash), width).unwrap()
    }

    #[test]
    fn a_set_has_one_fingerprint_in_any_order() {
        let forth = fingerprint(0..100, Width::W64);
        let back = fingerprint((0..100).rev().chain(20..60), Width::W64);
        assert_eq!(forth, back);
        assert_eq!(minhash(std::iter::empty(), Width::W32), None);
    }

    #[test]
    fn distances_tell_the_jaccard_similarity() {
        // 300 pairs of sets of 200 features, of which `common` are common.
        for common in [0, 50, 100, 150, 190] {
            let jaccard = f64::from(common) / f64::from(400 - common);
            let estimates = (0..300).map(|pair| {
                let start = pair * 1000;
                let end = start + 200;
                let a = fingerprint(start..end, Width::W128);
                let b = fingerprint(end - common..end + 200 - common, Width::W128);
                1.0 - 2.0 * f64::from(a.distance(b)) / 128.0
            });
            let mean = estimates.sum::<f64>() / 300.0;
            // Five standard deviations of the mean.
            let error = 5.0 * 2.0 * (1.0 / 4.0f64 / 128.0 / 300.0).sqrt();
            assert!((mean - jaccard).abs() < error, "{common}: {mean} {jaccard}");
        }
    }

    #[test]
    fn vector_instructions_change_nothing() {
        let hashes: Vec<u128> = (0..100).map(hash).collect();
        let minima = (0..64).map(|i| {
            let values = hashes
                .iter()
                .map(|&h| mixed((h as u32, (h >> 64) as u32), odd(i)));
            values.min().unwrap()
        });
        let bits = minima
            .enumerate()
            .map(|(i, minimum)| u128::from(minimum & 1) << i);
        assert_eq!(fingerprint(0..100, Width::W64), bits.sum::<u128>());
    }

    #[test]
    fn estimates_are_never_negative() {
        assert_eq!(jaccard_estimate(0, Width::W64), 1.0);
        assert_eq!(jaccard_estimate(16, Width::W64), 0.5);
        assert_eq!(jaccard_estimate(40, Width::W64), 0.0);
    }
}
