//! The paper's designs: choose r - k of r bands, once or in two levels.
//!
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.1.

use super::{MAX_DISTANCE, MAX_TABLE_COUNT, TableDesign};
use crate::error::BuildError;
use crate::fingerprint::Fingerprint;

/// log2 of the fingerprints that a block of 1 KiB holds: a prefix that leaves fewer candidates
/// than that saves nothing, because a probe decodes one block anyway.
const BLOCK_FINGERPRINT_BITS: f64 = 7.5;

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

    /// All designs that this version offers for a distance, by number of tables.
    pub fn available(max_distance: u32) -> Vec<Self> {
        let mut designs: Vec<Self> = (max_distance + 1..=max_distance + 4)
            .filter_map(|bands| Self::choose_bands(max_distance, bands).ok())
            .collect();
        if max_distance > 0 {
            designs.extend(Self::two_level_bands(max_distance).ok());
        }
        designs.sort_by_key(Self::table_count);
        designs.dedup_by_key(|design| design.table_count());
        designs
    }

    /// The design with that many tables.
    ///
    /// # Errors
    /// No such design; the message lists those that there are.
    pub fn with_table_count(max_distance: u32, tables: usize) -> Result<Self, BuildError> {
        check_distance(max_distance)?;
        let designs = Self::available(max_distance);
        let counts: Vec<String> = designs
            .iter()
            .map(|d| d.table_count().to_string())
            .collect();
        designs
            .into_iter()
            .find(|d| d.table_count() == tables)
            .ok_or_else(|| {
                BuildError::Parameter(format!(
                    "no design of {tables} tables for {} bits and distance {max_distance}; there are {}",
                    F::WIDTH,
                    counts.join(", ")
                ))
            })
    }

    /// The fewest tables with which a probe of an index of `fingerprint_count` fingerprints
    /// decodes about one block; the longest prefix where none is long enough.
    ///
    /// # Errors
    /// A distance above 7.
    pub fn for_count(max_distance: u32, fingerprint_count: u64) -> Result<Self, BuildError> {
        check_distance(max_distance)?;
        let wanted = (fingerprint_count.max(1) as f64).log2() - BLOCK_FINGERPRINT_BITS;
        let mut designs = Self::available(max_distance);
        let enough = designs
            .iter()
            .position(|d| f64::from(d.min_prefix_bits()) >= wanted);
        let longest = (0..designs.len()).max_by_key(|&i| designs[i].min_prefix_bits());
        enough
            .or(longest)
            .map(|i| designs.swap_remove(i))
            .ok_or_else(|| BuildError::Parameter("no design for these parameters".into()))
    }
}

fn check_distance(max_distance: u32) -> Result<(), BuildError> {
    if max_distance <= MAX_DISTANCE {
        return Ok(());
    }
    Err(BuildError::Parameter(format!(
        "max_distance is at most {MAX_DISTANCE}, not {max_distance}"
    )))
}

/// Every bit of the width by itself, from the top down.
fn all_positions<F: Fingerprint>() -> Vec<F> {
    (0..F::WIDTH)
        .rev()
        .map(|position| F::from_u128(1) << position)
        .collect()
}

/// Cuts bits into `parts` runs whose lengths differ by at most one, the longer ones first.
fn split<F: Fingerprint>(bits: &[F], parts: usize) -> Vec<F> {
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
    fn offers_the_papers_designs_for_64_bits() {
        let counts: Vec<(usize, u32)> = TableDesign::<u64>::available(3)
            .iter()
            .map(|d| (d.table_count(), d.min_prefix_bits()))
            .collect();
        assert_eq!(counts, [(4, 16), (10, 25), (16, 28), (20, 31), (35, 36)]);
    }

    #[test]
    fn six_bands_of_64_bits_are_11_and_10_bits_wide() {
        let widths: Vec<u32> = split(&all_positions::<u64>(), 6)
            .iter()
            .map(|band| band.count_ones())
            .collect();
        assert_eq!(widths, [11, 11, 11, 11, 10, 10]);
    }

    #[test]
    fn grows_the_design_with_the_number_of_fingerprints() {
        let tables = |count| {
            TableDesign::<u64>::for_count(3, count)
                .unwrap()
                .table_count()
        };
        assert_eq!(tables(0), 4);
        assert_eq!(tables(10_000_000), 4);
        assert_eq!(tables(1_000_000_000), 10);
        assert_eq!(tables(u64::MAX), 35);
    }

    #[test]
    fn refuses_distances_and_bands_without_a_design() {
        assert!(TableDesign::<u64>::choose_bands(8, 9).is_err());
        assert!(TableDesign::<u64>::choose_bands(3, 3).is_err());
        assert!(TableDesign::<u32>::choose_bands(3, 33).is_err());
        let message = TableDesign::<u64>::with_table_count(3, 5)
            .unwrap_err()
            .to_string();
        assert!(message.contains("there are 4, 10, 16, 20, 35"), "{message}");
    }
}
