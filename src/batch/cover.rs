//! Covers: sets of masks such that any two values within a distance agree on one of them, and the choice of a cover.

use crate::design::{COVERINGS, all_positions, binomial, choices_of_bands};
use crate::fingerprint::{Fingerprint, Width};

/// Nanoseconds to compare two values.
const COMPARE_NS: f64 = 0.5;

/// The most masks of a cover.
const MOST_MASKS: u64 = 60;

/// Size of the sample of values that shows how the bits vary.
const SAMPLE_LEN: usize = 256;

/// The variation of the bits of some values.
#[derive(Debug, Clone)]
pub(super) struct Bits<F> {
    /// Bits in which not all values agree.
    pub(super) varying: F,
    /// The probability that two values agree in each bit, bit 0 first.
    agreement: Vec<f64>,
}

impl<F: Fingerprint> Bits<F> {
    /// Finds the bits that vary in all values, and estimates from a sample how much they vary.
    pub(super) fn of(values: &[F]) -> Self {
        let step = values.len().div_ceil(SAMPLE_LEN).max(1);
        let sample: Vec<F> = values.iter().step_by(step).copied().collect();
        Self::of_sample(varying(values), &sample)
    }

    /// Estimates from a sample how much the bits `varying` of the values vary.
    pub(super) fn of_sample(varying: F, sample: &[F]) -> Self {
        let agreement = |position: u32| {
            let bit = F::from_u128(1) << position;
            let ones = sample.iter().filter(|&&value| value & bit != F::ZERO);
            let share = ones.count() as f64 / sample.len().max(1) as f64;
            share * share + (1.0 - share) * (1.0 - share)
        };
        Bits {
            varying,
            agreement: (0..F::WIDTH).map(agreement).collect(),
        }
    }

    /// Returns the probability that two values agree on a mask, as if the bits were independent.
    fn likelihood(&self, mask: F) -> f64 {
        let positions = (0..F::WIDTH).zip(&self.agreement);
        let named = positions.filter(|(p, _)| mask >> *p & F::from_u128(1) != F::ZERO);
        named.map(|(_, agreement)| agreement).product()
    }

    /// Returns the `count` bits of a mask that distinguish values best, or the whole mask if it has fewer.
    pub(super) fn sharpest(&self, mask: F, count: u32) -> F {
        let mut positions: Vec<u32> = (0..F::WIDTH)
            .filter(|p| mask >> *p & F::from_u128(1) != F::ZERO)
            .collect();
        let agreement = |p: &u32| self.agreement[*p as usize];
        positions.sort_by(|a, b| agreement(a).total_cmp(&agreement(b)));
        let positions = positions.into_iter().take(count as usize);
        positions.fold(F::ZERO, |bits, p| bits | F::from_u128(1) << p)
    }

    /// Returns the cheapest known cover for the near pairs of `count` values. For each mask, grouping costs `group_ns`
    /// a value. Returns `None` if it is cheaper to compare all pairs.
    pub(super) fn cover(&self, distance: u32, count: u64, group_ns: f64) -> Option<Vec<F>> {
        let all_ns = pair_count(count) * COMPARE_NS;
        let (ns, masks) = self.cheapest(distance, count as f64 * group_ns, all_ns)?;
        (ns < all_ns).then_some(masks)
    }

    /// [`Bits::cover`], even if comparing all pairs is cheaper. Returns `None` if at most `distance` bits vary.
    pub(super) fn any_cover(&self, distance: u32, count: u64, group_ns: f64) -> Option<Vec<F>> {
        let all_ns = pair_count(count) * COMPARE_NS;
        let cheapest = self.cheapest(distance, count as f64 * group_ns, all_ns);
        cheapest.map(|(_, masks)| masks)
    }

    /// Returns the cheapest cover and its cost. Each mask costs `mask_ns`; comparing all values costs `all_ns`.
    pub(super) fn cheapest(
        &self,
        distance: u32,
        mask_ns: f64,
        all_ns: f64,
    ) -> Option<(f64, Vec<F>)> {
        let cost = |masks: &Vec<F>| -> f64 {
            let compared: f64 = masks.iter().map(|&mask| self.likelihood(mask)).sum();
            masks.len() as f64 * mask_ns + compared * all_ns
        };
        let covers = covers(self.varying, distance).into_iter();
        let costs = covers.map(|masks| (cost(&masks), masks));
        costs.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

fn pair_count(count: u64) -> f64 {
    count as f64 * (count as f64 - 1.0) / 2.0
}

/// Returns the bits in which not all values agree.
pub(super) fn varying<F: Fingerprint>(values: &[F]) -> F {
    let Some(&first) = values.first() else {
        return F::ZERO;
    };
    let differences = values.iter().map(|&value| value ^ first);
    differences.fold(F::ZERO, |all, bits| all | bits)
}

/// Returns covers of these bits: for any difference in at most `distance` of the bits, each has a mask that does not
/// include any of them.
fn covers<F: Fingerprint>(bits: F, distance: u32) -> Vec<Vec<F>> {
    let positions = all_positions(Width::of::<F>()).into_iter();
    let positions: Vec<u128> = positions.filter(|bit| bits.to_u128() & bit != 0).collect();
    let width = positions.len() as u32;
    if distance >= width {
        return Vec::new();
    }
    let bands = (distance + 1..=distance + 4)
        .filter(|&bands| bands <= width && binomial(bands, distance) <= MOST_MASKS);
    let choices = bands.map(|bands| choices_of_bands(&positions, bands, distance));
    let coverings = COVERINGS
        .iter()
        .filter(|c| c.max_distance == distance && c.group_count <= width);
    let covers = choices.chain(coverings.map(|c| c.masks_over(&positions)));
    let typed = |masks: Vec<u128>| masks.into_iter().map(F::from_u128).collect();
    covers.map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Coverage, coverage_of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn covers_are_complete_over_their_bits(bits: u32, distance in 0u32..5) {
            for masks in covers(bits, distance) {
                prop_assert!(masks.iter().all(|&mask| mask != 0 && mask & !bits == 0));
                let masks: Vec<u128> = masks.into_iter().map(u128::from).collect();
                prop_assert_eq!(coverage_of(&masks, distance), Coverage::Complete);
            }
        }
    }

    #[test]
    fn there_is_a_cover_whenever_more_bits_vary_than_the_distance() {
        for distance in 0..=40 {
            let bits = u64::MAX >> (63 - distance);
            assert!(!covers(bits, distance).is_empty(), "{distance}");
            assert!(covers(bits >> 1, distance).is_empty(), "{distance}");
        }
    }

    #[test]
    fn many_uniform_values_take_a_cover_of_few_long_masks() {
        let values: Vec<u64> = (1..5000u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(21))
            .collect();
        let bits = Bits::of(&values);
        assert_eq!(bits.varying, u64::MAX);
        let masks = bits.cover(3, 10_000_000, 12.0).unwrap();
        assert_eq!(masks.len(), 6);
        assert_eq!(bits.cover(3, 20, 12.0), None);
        assert_eq!(bits.sharpest(0xff, 3).count_ones(), 3);
    }

    #[test]
    fn bits_that_never_vary_are_in_no_mask() {
        let values: Vec<u64> = (0..70_000).collect();
        let bits = Bits::of(&values);
        assert_eq!(bits.varying, (1 << 17) - 1);
        let masks = bits.cover(3, 70_000, 12.0).unwrap();
        assert!(masks.iter().all(|mask| mask & !bits.varying == 0));
    }
}
