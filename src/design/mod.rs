//! Table designs: the prefix masks that together miss nothing within a distance.

mod bands;
mod catalog;
mod costs;
mod coverage;
mod covering;
mod escape;
mod permutation;
mod pigeonhole;
mod plan;
mod planner;
mod probes;

pub(crate) use bands::{all_positions, binomial, check_distance, choices_of_bands};
pub(crate) use coverage::check as coverage_of;
pub(crate) use covering::COVERINGS;
pub(crate) use plan::plan as plan_probes;
pub(crate) use planner::costs_in_memory;
pub use planner::{PlanRequest, PlannedIndex};

// How queries are planned, for the program and the tests: no interface to rely on.
#[doc(hidden)]
pub use costs::Costs;
#[doc(hidden)]
pub use coverage::Coverage;
#[doc(hidden)]
pub use covering::{COVERING_6, COVERING_7, COVERING_8, COVERING_11, COVERING_14, Covering};
#[doc(hidden)]
pub use permutation::{Permutation, Permuted};
#[doc(hidden)]
pub use plan::ProbePlan;
#[doc(hidden)]
pub use probes::TableProbes;

use crate::error::OptionsError;
use crate::fingerprint::{Fingerprints, Width, by_width};

/// The most tables of an index (spec, section 13).
#[doc(hidden)]
pub const MAX_TABLE_COUNT: usize = 255;

/// The largest `max_distance` for which this version has designs.
#[doc(hidden)]
pub const MAX_DISTANCE: u32 = 12;

/// A list of prefix masks, one for each table. Two fingerprints that do not differ in any bit of some mask meet in that
/// table (Manku, Jain and Das Sarma, WWW 2007, section 3). Those that differ in a few of its bits meet if the query is
/// probed with that many prefix bits flipped. Any masks answer any distance exactly; a good design
/// answers it quickly.
///
/// ```
/// use simidx::Width;
/// use simidx::design::TableDesign;
///
/// let design = TableDesign::choose_bands(Width::W64, 3, 5)?; // the paper's ten tables
/// assert_eq!((design.width(), design.masks().len()), (Width::W64, 10));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDesign {
    max_distance: u32,
    masks: Fingerprints,
}

impl TableDesign {
    /// Creates a design from a list of masks, which have the width of its fingerprints. The first mask must consist of
    /// leading bits (table 0 is the identity); the others may be in any order.
    ///
    /// # Errors
    /// No masks or more than 255, a distance above the width, or a first mask that does not consist of leading bits.
    pub fn from_masks(
        max_distance: u32,
        masks: impl Into<Fingerprints>,
    ) -> Result<Self, OptionsError> {
        Self::checked(max_distance, masks.into())
    }

    fn checked(max_distance: u32, masks: Fingerprints) -> Result<Self, OptionsError> {
        let width = masks.width().bits();
        let first = match masks.get(0) {
            Some(first) if masks.len() <= MAX_TABLE_COUNT => first,
            _ => {
                let count = masks.len();
                let message =
                    format!("a table design has 1 to {MAX_TABLE_COUNT} tables, not {count}");
                return Err(OptionsError::new("design", message));
            }
        };
        if max_distance > width {
            let message = format!(
                "max_distance {max_distance} is more than the {width} bits of a fingerprint"
            );
            return Err(OptionsError::new("max_distance", message));
        }
        let from_the_top = first << (u128::BITS - width);
        if from_the_top.leading_ones() != from_the_top.count_ones() {
            let message = format!("the mask of table 0 must be leading bits, not {first:#x}");
            return Err(OptionsError::new("design", message));
        }
        Ok(TableDesign {
            max_distance,
            masks,
        })
    }

    /// The width of the fingerprints.
    pub fn width(&self) -> Width {
        self.masks.width()
    }

    /// The distance that the design was chosen for, k.
    pub fn max_distance(&self) -> u32 {
        self.max_distance
    }

    /// The prefix mask of each table.
    pub fn masks(&self) -> &Fingerprints {
        &self.masks
    }

    /// Number of tables.
    pub fn table_count(&self) -> usize {
        self.masks.len()
    }

    /// Returns the number of bits in the shortest prefix.
    pub fn min_prefix_bits(&self) -> u32 {
        self.masks.iter().map(u128::count_ones).min().unwrap_or(0)
    }

    /// Returns the number of bits in the longest prefix.
    pub fn max_prefix_bits(&self) -> u32 {
        self.masks.iter().map(u128::count_ones).max().unwrap_or(0)
    }

    /// Returns the cheapest known plan for queries within a distance on an index of `fingerprint_count` fingerprints.
    /// It is exact for any masks and any distance. Takes up to ten milliseconds for distances with available designs, a
    /// tenth of a second for others.
    #[doc(hidden)]
    pub fn plan(&self, distance: u32, fingerprint_count: u64, costs: &Costs) -> ProbePlan {
        by_width!(Fingerprints, &self.masks, masks => {
            plan_probes(masks, distance, fingerprint_count, costs)
        })
    }

    /// Checks whether every difference of at most `distance` bits leaves some prefix untouched, so that probes need no
    /// flips.
    #[doc(hidden)]
    pub fn coverage(&self, distance: u32) -> Coverage {
        let masks: Vec<u128> = self.masks.iter().collect();
        coverage_of(&masks, distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_names_a_pair_that_is_missed_without_flips() {
        let masks = vec![0xffff_0000u32, 0x0000_ffff];
        let design = TableDesign::from_masks(2, masks).unwrap();
        let Coverage::Misses(missed) = design.coverage(2) else {
            panic!("two errors touch two halves")
        };
        assert_eq!(missed.count_ones(), 2);
        assert!(design.masks().iter().all(|mask| mask & missed != 0));
        assert_eq!(design.coverage(1), Coverage::Complete);
    }

    #[test]
    fn from_masks_wants_the_identity_first() {
        assert!(TableDesign::from_masks(1, vec![0x0000_ffffu32, 0xffff_0000]).is_err());
        assert!(TableDesign::from_masks(1, Vec::<u32>::new()).is_err());
    }
}
