//! Chooses the number of bands, and of bits in each, that find sketches within a distance with a required probability.

use super::sketcher::standard_error;

/// Required share of found sketches at exactly the largest distance.
const RECALL: f64 = 0.995;

/// Permitted number of bits in a band: a table of all their values has 2^8 to 2^18 entries.
const BITS: std::ops::RangeInclusive<u32> = 8..=18;

/// Largest number of bands. With more, comparing all sketches is faster.
const MOST_BANDS: u32 = 400;

/// Cost of a look-up in a band, relative to comparing two sketches of 64 bits.
const LOOK_UP: f64 = 8.0;

/// The method that finds sketches within a distance of any of many queries: it compares all sketches, or uses bands. A
/// band is a choice of bit positions; only queries that agree with a sketch in all bits of some band are compared with
/// it.
///
/// Let d of B bits differ. A band of s random positions contains none of them with probability q = C(B - d, s) / C(B,
/// s), and at least one of m bands with probability 1 - (1 - q)^m. The bands are chosen independently, so this holds
/// for each distance; [`SketchBanding::recall`] is the mean over the distances of texts with a similarity.
///
/// ```
/// use simidx_text::similar::SketchBanding;
///
/// let banding = SketchBanding::new(0.8, 0.0, 256, 10_000);
/// assert_eq!(banding.largest_distance(), 25); // an estimate of at least 0.8
/// assert!(banding.recall_at(25) > 0.99);
/// assert!(banding.recall(0.9) > 0.99); // most of these are nearer
/// assert!(banding.recall(0.8) < 0.6); // about half of these are estimated below 0.8
/// assert!(SketchBanding::new(0.8, 2.0, 256, 10_000).recall(0.8) > 0.97);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchBanding {
    sketch_bits: u32,
    largest_distance: u32,
    /// Number of bands; 0 if all sketches are compared.
    bands: u32,
    bits: u32,
}

impl SketchBanding {
    /// Returns the fastest method for `query_count` queries that finds 99.5 % of all sketches at the largest distance,
    /// and more of the nearer ones. The search is for estimates of at least `least` minus `margin` standard errors.
    pub fn new(least: f64, margin: f64, sketch_bits: u32, query_count: usize) -> Self {
        let least = least.clamp(0.0, 1.0);
        let lowered = (least - margin.max(0.0) * standard_error(least, sketch_bits)).max(0.0);
        // A distance whose estimate is exactly the least one counts, despite rounding.
        let most = f64::from(sketch_bits) * (1.0 - lowered) / 2.0 + 1e-9;
        let all = SketchBanding {
            sketch_bits,
            largest_distance: most as u32,
            bands: 0,
            bits: 0,
        };
        let words = f64::from(sketch_bits / 64);
        let queries = query_count as f64;
        let cost = |banding: &SketchBanding| {
            let candidates = queries / f64::from(1u32 << banding.bits);
            f64::from(banding.bands) * (LOOK_UP + candidates * (words + LOOK_UP))
        };
        let with_bits = BITS.filter_map(|bits| all.with_bits(bits));
        let best = with_bits.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.filter(|best| cost(best) < queries * words)
            .unwrap_or(all)
    }

    fn with_bits(self, bits: u32) -> Option<Self> {
        let banding = SketchBanding { bits, ..self };
        let found_by_one = banding.found_by_one(self.largest_distance);
        let bands = match found_by_one >= 1.0 {
            true => 1.0,
            false => ((1.0 - RECALL).ln() / (-found_by_one).ln_1p()).ceil(),
        };
        (bands <= f64::from(MOST_BANDS)).then_some(SketchBanding {
            bands: bands as u32,
            ..banding
        })
    }

    /// The probability that a band contains none of `distance` differing bits.
    fn found_by_one(&self, distance: u32) -> f64 {
        let (all, equal) = (self.sketch_bits, self.sketch_bits.saturating_sub(distance));
        let factor = |i: u32| f64::from(equal.saturating_sub(i)) / f64::from(all - i);
        (0..self.bits).map(factor).product()
    }

    /// The largest distance of the search.
    pub fn largest_distance(&self) -> u32 {
        self.largest_distance
    }

    /// Number of bands; 0 if all sketches are compared.
    pub fn band_count(&self) -> usize {
        self.bands as usize
    }

    /// Number of bits in a band.
    pub fn band_bits(&self) -> u32 {
        self.bits
    }

    /// Number of bits in a sketch.
    pub fn sketch_bits(&self) -> u32 {
        self.sketch_bits
    }

    /// The probability that a sketch at a distance is found.
    pub fn recall_at(&self, distance: u32) -> f64 {
        match (distance <= self.largest_distance, self.bands) {
            (false, _) => 0.0,
            (true, 0) => 1.0,
            (true, bands) => 1.0 - (1.0 - self.found_by_one(distance)).powi(bands as i32),
        }
    }

    /// The probability that a text with a similarity is found: that its sketch is within the largest distance and
    /// agrees in a band.
    pub fn recall(&self, similarity: f64) -> f64 {
        let different = (1.0 - similarity.clamp(0.0, 1.0)) / 2.0;
        let count = self.sketch_bits;
        // Each binomial probability follows from the one before it.
        let mut probability = (1.0 - different).powi(count as i32);
        let mut found = 0.0;
        for distance in 0..=self.largest_distance.min(count) {
            found += probability * self.recall_at(distance);
            let next = f64::from(count - distance) / f64::from(distance + 1);
            probability *= next * different / (1.0 - different);
        }
        found
    }

    /// Returns the bit positions of all bands, which never change.
    pub(super) fn positions(&self) -> Vec<u16> {
        let mut state = 0x5eed_0f5e_1ec7_ed01_u64;
        let mut random = |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = xxhash_rust::xxh3::xxh3_64(&state.to_le_bytes());
            ((u128::from(mixed) * u128::from(below)) >> 64) as usize
        };
        let mut all: Vec<u16> = (0..self.sketch_bits as u16).collect();
        let mut positions = Vec::new();
        for _ in 0..self.bands {
            let bits = self.bits as usize;
            for i in 0..bits {
                let other = i + random((all.len() - i) as u64);
                all.swap(i, other);
            }
            positions.extend_from_slice(&all[..bits]);
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_find_what_the_model_says() {
        for (least, bits) in [(0.8, 256), (0.8, 128), (0.6, 256), (0.9, 64)] {
            let banding = SketchBanding::new(least, 0.0, bits, 1 << 16);
            assert!(banding.band_count() > 0, "{banding:?}");
            let positions = banding.positions();
            let bands: Vec<&[u16]> = positions.chunks_exact(banding.bits as usize).collect();
            let mut state = 1u64;
            let mut random = |below: u64| {
                state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                ((u128::from(state) * u128::from(below)) >> 64) as usize
            };
            for distance in [banding.largest_distance(), banding.largest_distance() / 2] {
                let tries = 20_000;
                let mut missed = 0;
                for _ in 0..tries {
                    let mut differs = vec![false; bits as usize];
                    let mut left = distance;
                    while left > 0 {
                        let bit = random(bits.into());
                        left -= u32::from(!std::mem::replace(&mut differs[bit], true));
                    }
                    let is_clean =
                        |band: &&[u16]| band.iter().all(|&bit| !differs[usize::from(bit)]);
                    missed += u32::from(!bands.iter().any(is_clean));
                }
                let expected = 1.0 - banding.recall_at(distance);
                let measured = f64::from(missed) / f64::from(tries);
                assert!(
                    (measured - expected).abs() < 0.003 && measured < 0.01,
                    "{banding:?} at {distance}: {measured}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn few_queries_are_compared_with_all() {
        assert_eq!(SketchBanding::new(0.8, 0.0, 256, 3).band_count(), 0);
        assert_eq!(SketchBanding::new(0.8, 0.0, 256, 3).recall_at(25), 1.0);
        // At such a low similarity, most sketches match, so bands are useless.
        let far = SketchBanding::new(0.0, 0.0, 64, 10);
        assert_eq!((far.band_count(), far.largest_distance()), (0, 32));
        assert!((far.recall(1.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_position_comes_once_in_a_band() {
        let banding = SketchBanding::new(0.7, 1.0, 512, 100_000);
        for band in banding.positions().chunks_exact(banding.bits as usize) {
            let distinct: std::collections::BTreeSet<_> = band.iter().collect();
            assert_eq!(distinct.len(), band.len());
        }
    }
}
