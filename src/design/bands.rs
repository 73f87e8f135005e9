//! Designs of contiguous bands: plain partitions, and the paper's choices of some of them.
//!
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.1.

use super::probes::pattern_count;
use super::{MAX_DISTANCE, MAX_TABLE_COUNT, TableDesign};
use crate::error::OptionsError;
use crate::fingerprint::{Fingerprints, Width};

impl TableDesign {
    /// Creates the design with the fewest tables: the width is cut into `bands` bands, each the prefix of a table.
    ///
    /// If there are no more bands than errors, some bands are probed with flips, by the general pigeonhole principle
    /// (Qin et al., "GPH: Similarity Search in Hamming Space", ICDE 2018): r_t + 1 over all bands sum to k + 1. The
    /// first bands take the remaining flips and are wider, so that all bands give about the same number of candidates.
    /// For 64 bits and k = 3: one band of 64 bits and 3 flips, two of 32 bits and one flip, or three of 24 bits and one
    /// flip, 20 and 20.
    ///
    /// # Errors
    /// No bands, more bands than bits, or a distance out of range.
    pub fn partition(width: Width, max_distance: u32, bands: u32) -> Result<Self, OptionsError> {
        check_distance(max_distance)?;
        if !(1..=width.bits()).contains(&bands) {
            return Err(OptionsError::new(
                "design",
                format!("{width} bits make no {bands} bands"),
            ));
        }
        let band_widths = band_widths(width.bits(), max_distance, bands);
        let mut left = width.bits();
        let masks = band_widths.iter().map(|&bits| {
            left -= bits;
            (u128::MAX >> (u128::BITS - bits)) << left
        });
        Self::checked(max_distance, Fingerprints::collect(width, masks))
    }

    /// Creates a table for each choice of `bands - max_distance` of the `bands` bands of the width: k errors touch at
    /// most k bands, so they leave some choice untouched.
    ///
    /// # Errors
    /// `bands` not above `max_distance`, above the width, or with more than 255 tables.
    pub fn choose_bands(width: Width, max_distance: u32, bands: u32) -> Result<Self, OptionsError> {
        check_distance(max_distance)?;
        let tables = binomial(bands, max_distance);
        if bands <= max_distance || bands > width.bits() || tables > MAX_TABLE_COUNT as u64 {
            return Err(OptionsError::new(
                "design",
                format!("{bands} bands make no design for distance {max_distance}"),
            ));
        }
        let masks = choices_of_bands(&all_positions(width), bands, max_distance);
        Self::checked(max_distance, Fingerprints::collect(width, masks))
    }

    /// Creates a table for each of k + 1 bands, combined with each of k + 1 bands of the remaining bits: (k + 1)²
    /// tables, the paper's sixteen for k = 3.
    ///
    /// # Errors
    /// A distance with too few bits in the width, or with more than 255 tables.
    pub fn two_level_bands(width: Width, max_distance: u32) -> Result<Self, OptionsError> {
        check_distance(max_distance)?;
        let parts = max_distance as usize + 1;
        let mut masks = Vec::with_capacity(parts * parts);
        let positions = all_positions(width);
        for outer in split(&positions, parts) {
            let rest = positions.iter().copied().filter(|bit| bit & outer == 0);
            let rest: Vec<u128> = rest.collect();
            if rest.len() < parts {
                return Err(OptionsError::new(
                    "design",
                    format!("distance {max_distance} leaves no bits for a second level of bands"),
                ));
            }
            masks.extend(split(&rest, parts).into_iter().map(|inner| outer | inner));
        }
        Self::checked(max_distance, Fingerprints::collect(width, masks))
    }
}

/// Cuts these bits into `bands` bands and returns a mask for each choice of `bands - distance` of them. There must be
/// more bands than `distance`, and at least as many bits as bands.
pub(crate) fn choices_of_bands(positions: &[u128], bands: u32, distance: u32) -> Vec<u128> {
    let bands = split(positions, bands as usize);
    let choices = combinations(bands.len(), bands.len() - distance as usize);
    let mask = |choice: &Vec<usize>| choice.iter().fold(0, |m, &b| m | bands[b]);
    choices.iter().map(mask).collect()
}

/// Returns the widths of bands that share `distance` flips. Each bit goes to the band with the most candidates, a share
/// of probes / 2^bits of all fingerprints.
fn band_widths(width: u32, distance: u32, bands: u32) -> Vec<u32> {
    let flips = (distance + 1).saturating_sub(bands);
    let flips: Vec<u32> = (0..bands)
        .map(|band| flips / bands + u32::from(band < flips % bands))
        .collect();
    let mut widths = vec![1; bands as usize];
    let share = |bits: u32, flips| pattern_count(bits, flips) as f64 / 2f64.powi(bits as i32);
    for _ in bands..width {
        let (mut largest, mut most) = (0, 0.0);
        for band in 0..widths.len() {
            let candidates = share(widths[band], flips[band]);
            if candidates > most {
                (largest, most) = (band, candidates);
            }
        }
        widths[largest] += 1;
    }
    widths
}

pub(crate) fn check_distance(max_distance: u32) -> Result<(), OptionsError> {
    if max_distance <= MAX_DISTANCE {
        return Ok(());
    }
    Err(OptionsError::new(
        "max_distance",
        format!("max_distance is at most {MAX_DISTANCE}, not {max_distance}"),
    ))
}

/// Returns a mask for each bit of the width, highest first.
pub(crate) fn all_positions(width: Width) -> Vec<u128> {
    let positions = (0..width.bits()).rev();
    positions.map(|position| 1 << position).collect()
}

/// Cuts bits into `parts` runs whose lengths differ by at most one, longer ones first.
pub(super) fn split(bits: &[u128], parts: usize) -> Vec<u128> {
    let (short, longer) = (bits.len() / parts, bits.len() % parts);
    let mut rest = bits;
    (0..parts)
        .map(|part| {
            let (run, tail) = rest.split_at(short + usize::from(part < longer));
            rest = tail;
            run.iter().fold(0, |mask, &bit| mask | bit)
        })
        .collect()
}

/// Returns all choices of `chosen` out of `0..from`, in lexicographic order.
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

pub(crate) fn binomial(n: u32, k: u32) -> u64 {
    (0..u64::from(k)).fold(1, |product, i| {
        product.saturating_mul(u64::from(n).saturating_sub(i)) / (i + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_bands_of_64_bits_are_11_and_10_bits_wide() {
        let widths: Vec<u32> = split(&all_positions(Width::W64), 6)
            .iter()
            .map(|band| band.count_ones())
            .collect();
        assert_eq!(widths, [11, 11, 11, 11, 10, 10]);
    }

    #[test]
    fn bands_with_more_flips_are_wider() {
        assert_eq!(band_widths(64, 3, 1), [64]);
        assert_eq!(band_widths(64, 3, 2), [32, 32]);
        assert_eq!(band_widths(64, 3, 3), [24, 20, 20]);
        assert_eq!(band_widths(64, 3, 4), [16; 4]);
        assert_eq!(band_widths(128, 7, 4), [32; 4]);
        for (width, distance, bands) in [(32, 12, 12), (32, 12, 5), (64, 7, 3), (128, 2, 100)] {
            let widths = band_widths(width, distance, bands);
            assert_eq!(widths.iter().sum::<u32>(), width);
            assert!(widths.is_sorted_by(|a, b| a >= b), "{widths:?}");
        }
    }

    #[test]
    fn partitions_are_bands_from_the_top_down() {
        let design = TableDesign::partition(Width::W64, 3, 3).unwrap();
        let masks: Vec<u64> = vec![
            0xffff_ff00_0000_0000,
            0x0000_00ff_fff0_0000,
            0x0000_0000_000f_ffff,
        ];
        assert_eq!(design.masks(), &masks.into());
        let whole = TableDesign::partition(Width::W128, 5, 1).unwrap();
        assert_eq!(whole.masks(), &vec![u128::MAX].into());
    }

    #[test]
    fn refuses_distances_and_bands_without_a_design() {
        assert!(TableDesign::choose_bands(Width::W64, 13, 14).is_err());
        assert!(TableDesign::choose_bands(Width::W64, 3, 3).is_err());
        assert!(TableDesign::choose_bands(Width::W32, 3, 33).is_err());
        assert!(TableDesign::partition(Width::W32, 3, 0).is_err());
        assert!(TableDesign::partition(Width::W32, 3, 33).is_err());
    }
}
