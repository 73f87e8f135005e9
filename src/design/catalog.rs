//! The available designs for a distance, and the choice among them.

use super::bands::check_distance;
use super::covering::COVERINGS;
use super::{MAX_DISTANCE, TableDesign};
use crate::error::OptionsError;
use crate::fingerprint::Width;

/// The largest distance for which two levels of bands are offered. Beyond it their coverage takes long to prove, and
/// designs with flips need fewer tables.
const MOST_TWO_LEVEL_DISTANCE: u32 = 6;

impl TableDesign {
    /// Returns all designs that this version offers for a width and a distance, by number of tables, at most one for
    /// each number. Empty for a distance above [`MAX_DISTANCE`].
    pub fn available(width: Width, max_distance: u32) -> Vec<Self> {
        if max_distance > MAX_DISTANCE {
            return Vec::new();
        }
        let partitions =
            (1..=max_distance).map(|bands| Self::partition(width, max_distance, bands));
        let mut designs: Vec<Self> = partitions.flatten().collect();
        let choices = max_distance + 1..=max_distance + 4;
        designs.extend(choices.flat_map(|bands| Self::choose_bands(width, max_distance, bands)));
        let coverings = COVERINGS.iter().filter(|c| c.max_distance == max_distance);
        designs.extend(coverings.flat_map(|covering| Self::covering(width, covering)));
        if (1..=MOST_TWO_LEVEL_DISTANCE).contains(&max_distance) {
            designs.extend(Self::two_level_bands(width, max_distance));
        }
        designs.sort_by_key(Self::table_count);
        designs.dedup_by_key(|design| design.table_count());
        designs
    }

    /// Returns the design with this number of tables.
    ///
    /// # Errors
    /// There is no such design; the message lists the numbers of tables that exist.
    pub fn with_table_count(
        width: Width,
        max_distance: u32,
        tables: usize,
    ) -> Result<Self, OptionsError> {
        check_distance(max_distance)?;
        let designs = Self::available(width, max_distance);
        let counts = designs
            .iter()
            .map(|design| design.table_count().to_string());
        let counts: Vec<String> = counts.collect();
        let mut designs = designs.into_iter();
        let found = designs.find(|design| design.table_count() == tables);
        found.ok_or_else(|| {
            let counts = counts.join(", ");
            let message = format!(
                "no design of {tables} tables for {width} bits and distance {max_distance}; there are {counts}"
            );
            OptionsError::new("tables", message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::design::PlanRequest;

    #[test]
    fn offers_partitions_coverings_and_the_papers_designs_for_64_bits() {
        let counts: Vec<(usize, u32)> = TableDesign::available(Width::W64, 3)
            .iter()
            .map(|d| (d.table_count(), d.min_prefix_bits()))
            .collect();
        let expected = [
            (1, 64),
            (2, 32),
            (3, 20),
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
            let design = TableDesign::with_table_count(Width::W64, 3, tables).unwrap();
            design.min_prefix_bits()
        };
        assert!(prefix(11) >= prefix(16) && prefix(14) > prefix(20));
        let fano = TableDesign::with_table_count(Width::W64, 2, 7).unwrap();
        assert_eq!(fano.min_prefix_bits(), 36);
    }

    fn for_count(width: Width, distance: u32, count: u64) -> Result<TableDesign, OptionsError> {
        let request = PlanRequest {
            width,
            codec: Some(Codec::Lines),
            ..PlanRequest::new(count, distance)
        };
        request.design()
    }

    #[test]
    fn grows_the_design_with_the_number_of_fingerprints() {
        let tables = |count| for_count(Width::W64, 3, count).unwrap().table_count();
        assert_eq!(tables(0), 1);
        assert_eq!(tables(100), 1);
        assert_eq!(tables(1000), 2);
        assert_eq!(tables(100_000), 2);
        assert_eq!(tables(10_000_000), 2);
        assert_eq!(tables(8_600_000_000), 2);
    }

    #[test]
    fn every_distance_has_a_design_of_few_tables_for_every_width() {
        for distance in 0..=12 {
            let narrow = for_count(Width::W32, distance, 1 << 24).unwrap();
            let usual = for_count(Width::W64, distance, 1 << 27).unwrap();
            let wide = for_count(Width::W128, distance, 1 << 27).unwrap();
            assert!(narrow.table_count() <= 2);
            assert!(usual.table_count() <= 4);
            assert!(wide.table_count() <= 7);
            assert_eq!(usual.max_distance(), distance);
        }
        assert!(for_count(Width::W64, 13, 1).is_err());
    }

    #[test]
    fn names_the_designs_that_there_are() {
        let message = TableDesign::with_table_count(Width::W64, 3, 5)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("there are 1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35"),
            "{message}"
        );
    }
}
