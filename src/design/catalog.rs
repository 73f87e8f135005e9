//! The designs that there are for a distance, and the choice among them.

use super::TableDesign;
use super::bands::check_distance;
use crate::error::BuildError;
use crate::fingerprint::Fingerprint;

/// log2 of the fingerprints that a block of 1 KiB holds: a prefix that leaves fewer candidates
/// than that saves nothing, because a probe decodes one block anyway.
const BLOCK_FINGERPRINT_BITS: f64 = 7.5;

impl<F: Fingerprint> TableDesign<F> {
    /// All designs that this version offers for a distance, by number of tables, one for each number.
    pub fn available(max_distance: u32) -> Vec<Self> {
        let choices = max_distance + 1..=max_distance + 4;
        let mut designs: Vec<Self> = choices
            .flat_map(|bands| Self::choose_bands(max_distance, bands))
            .collect();
        designs.extend(Self::coverings(max_distance));
        if max_distance > 0 {
            designs.extend(Self::two_level_bands(max_distance));
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

    /// The fewest tables with which a probe of an index of `fingerprint_count` fingerprints decodes about one
    /// block; the longest prefix where none is long enough.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_coverings_and_the_papers_designs_for_64_bits() {
        let counts: Vec<(usize, u32)> = TableDesign::<u64>::available(3)
            .iter()
            .map(|d| (d.table_count(), d.min_prefix_bits()))
            .collect();
        let expected = [
            (4, 16),
            (6, 21),
            (8, 24),
            (10, 25),
            (11, 28),
            (14, 32),
            (16, 28),
            (20, 31),
            (35, 36),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn covering_designs_have_longer_prefixes_than_as_many_tables_of_bands() {
        let prefix = |tables| {
            let design = TableDesign::<u64>::with_table_count(3, tables).unwrap();
            design.min_prefix_bits()
        };
        assert!(prefix(11) >= prefix(16) && prefix(14) > prefix(20));
        let fano = TableDesign::<u64>::with_table_count(2, 7).unwrap();
        assert_eq!(fano.min_prefix_bits(), 36);
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
        assert_eq!(tables(100_000_000), 6);
        assert_eq!(tables(1_000_000_000), 8);
        assert_eq!(tables(u64::MAX), 35);
    }

    #[test]
    fn names_the_designs_that_there_are() {
        let message = TableDesign::<u64>::with_table_count(3, 5)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("there are 4, 6, 8, 10, 11, 14, 16, 20, 35"),
            "{message}"
        );
    }
}
