//! The paper's designs: choose r - k of r bands, once or in two levels.
//!
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.1.

use super::{MAX_DISTANCE, MAX_TABLE_COUNT, TableDesign};
use crate::error::BuildError;
use crate::fingerprint::Fingerprint;

impl<F: Fingerprint> TableDesign<F> {
    /// The width cut into `bands` bands, each choice of `bands - max_distance` of them the prefix
    /// of a table: k errors touch at most k bands, so some choice has none.
    ///
    /// # Errors
    /// `bands` not above `max_distance`, above the width, or giving more than 255 tables.
    pub fn choose_bands(max_distance: u32, bands: u32) -> Result<Self, BuildError> {
        check_distance(max_distance)?;
        let tables = binomial(bands, max_distance);
        if bands <= max_distance || bands > F::WIDTH || tables > MAX_TABLE_COUNT as u64 {
            return Err(BuildError::Parameter(format!(
                "{bands} bands make no design for distance {max_distance}"
            )));
        }
        let bands = split(&all_positions::<F>(), bands as usize);
        let chosen = bands.len() - max_distance as usize;
        let masks = combinations(bands.len(), chosen)
            .into_iter()
            .map(|choice| choice.iter().fold(F::ZERO, |m, &b| m | bands[b]))
            .collect();
        Self::from_masks(max_distance, masks)
    }

    /// One of k + 1 bands, then one of k + 1 bands of the bits that are left: (k + 1)² tables,
    /// the paper's sixteen for k = 3.
    ///
    /// # Errors
    /// A distance for which the width has too few bits or the tables are more than 255.
    pub fn two_level_bands(max_distance: u32) -> Result<Self, BuildError> {
        check_distance(max_distance)?;
        let parts = max_distance as usize + 1;
        let mut masks = Vec::with_capacity(parts * parts);
        for outer in split(&all_positions::<F>(), parts) {
            let rest: Vec<F> = all_positions::<F>()
                .into_iter()
                .filter(|&bit| bit & outer == F::ZERO)
                .collect();
            if rest.len() < parts {
                return Err(BuildError::Parameter(format!(
                    "distance {max_distance} leaves no bits for a second level of bands"
                )));
            }
            masks.extend(split(&rest, parts).into_iter().map(|inner| outer | inner));
        }
        Self::from_masks(max_distance, masks)
    }
}

pub(super) fn check_distance(max_distance: u32) -> Result<(), BuildError> {
    if max_distance <= MAX_DISTANCE {
        return Ok(());
    }
    Err(BuildError::Parameter(format!(
        "max_distance is at most {MAX_DISTANCE}, not {max_distance}"
    )))
}

/// Every bit of the width by itself, from the top down.
pub(super) fn all_positions<F: Fingerprint>() -> Vec<F> {
    (0..F::WIDTH)
        .rev()
        .map(|position| F::from_u128(1) << position)
        .collect()
}

/// Cuts bits into `parts` runs whose lengths differ by at most one, the longer ones first.
pub(super) fn split<F: Fingerprint>(bits: &[F], parts: usize) -> Vec<F> {
    let (short, longer) = (bits.len() / parts, bits.len() % parts);
    let mut rest = bits;
    (0..parts)
        .map(|part| {
            let (run, tail) = rest.split_at(short + usize::from(part < longer));
            rest = tail;
            run.iter().fold(F::ZERO, |mask, &bit| mask | bit)
        })
        .collect()
}

/// All choices of `chosen` out of `0..from`, in lexicographic order.
fn combinations(from: usize, chosen: usize) -> Vec<Vec<usize>> {
    if chosen == 0 {
        return vec![Vec::new()];
    }
    (chosen - 1..from)
        .flat_map(|last| {
            combinations(last, chosen - 1)
                .into_iter()
                .map(move |mut head| {
                    head.push(last);
                    head
                })
        })
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn binomial(n: u32, k: u32) -> u64 {
    (0..u64::from(k)).fold(1, |product, i| {
        product.saturating_mul(u64::from(n).saturating_sub(i)) / (i + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_bands_of_64_bits_are_11_and_10_bits_wide() {
        let widths: Vec<u32> = split(&all_positions::<u64>(), 6)
            .iter()
            .map(|band| band.count_ones())
            .collect();
        assert_eq!(widths, [11, 11, 11, 11, 10, 10]);
    }

    #[test]
    fn refuses_distances_and_bands_without_a_design() {
        assert!(TableDesign::<u64>::choose_bands(8, 9).is_err());
        assert!(TableDesign::<u64>::choose_bands(3, 3).is_err());
        assert!(TableDesign::<u32>::choose_bands(3, 33).is_err());
    }
}
