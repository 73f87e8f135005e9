//! Table designs: the prefix masks that together miss nothing within a distance.

mod bands;
mod catalog;
mod coverage;
mod covering;
mod permutation;

pub use coverage::Coverage;
pub(crate) use coverage::check as coverage_of;
pub use permutation::{Permutation, Permuted};

use crate::error::BuildError;
use crate::fingerprint::Fingerprint;

/// Most tables that one index can hold (spec, section 13).
pub const MAX_TABLE_COUNT: usize = 255;

/// Largest `max_distance` for which this version has designs.
pub const MAX_DISTANCE: u32 = 7;

/// A list of prefix masks, one a table. Two fingerprints that differ in no bit of some mask meet
/// in that table, so the design finds every pair within distance k when no k bits touch all masks
/// (Manku, Jain and Das Sarma, WWW 2007, section 3).
///
/// ```
/// use simidx::TableDesign;
///
/// let design = TableDesign::<u64>::choose_bands(3, 5).unwrap(); // the paper's ten tables
/// assert_eq!(design.masks().len(), 10);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDesign<F> {
    max_distance: u32,
    masks: Vec<F>,
}

impl<F: Fingerprint> TableDesign<F> {
    /// A design given as a list of masks. The first must consist of leading bits (table 0 is the
    /// identity); the order of the others is free.
    ///
    /// # Errors
    /// No mask or more than 255, a distance above the width, a first mask that is not leading bits, or masks that miss a pair
    /// within `max_distance`: the error names the bits of one such pair.
    pub fn from_masks(max_distance: u32, masks: Vec<F>) -> Result<Self, BuildError> {
        if masks.is_empty() || masks.len() > MAX_TABLE_COUNT {
            return Err(BuildError::Parameter(format!(
                "a table design has 1 to {MAX_TABLE_COUNT} tables, not {}",
                masks.len()
            )));
        }
        if max_distance > F::WIDTH {
            return Err(BuildError::Parameter(format!(
                "max_distance {max_distance} is more than the {} bits of a fingerprint",
                F::WIDTH
            )));
        }
        if !Permutation::new(masks[0]).is_identity() {
            return Err(BuildError::Parameter(format!(
                "the mask of table 0 must be leading bits, not {:#x}",
                masks[0]
            )));
        }
        let design = TableDesign {
            max_distance,
            masks,
        };
        match design.coverage(max_distance) {
            Coverage::Complete => Ok(design),
            Coverage::Misses(missed) => Err(BuildError::Coverage {
                max_distance,
                missed: missed.to_u128(),
            }),
            Coverage::TooComplex => Err(BuildError::Parameter(
                "the table design is too irregular for its coverage to be checked".into(),
            )),
        }
    }

    /// The distance that the design was chosen for, k.
    pub fn max_distance(&self) -> u32 {
        self.max_distance
    }

    /// The prefix mask of each table.
    pub fn masks(&self) -> &[F] {
        &self.masks
    }

    /// Number of tables.
    pub fn table_count(&self) -> usize {
        self.masks.len()
    }

    /// Number of bits in the shortest prefix.
    pub fn min_prefix_bits(&self) -> u32 {
        self.masks.iter().map(|m| m.count_ones()).min().unwrap_or(0)
    }

    /// Whether no difference of at most `distance` bits escapes every table.
    pub fn coverage(&self, distance: u32) -> Coverage<F> {
        coverage_of(&self.masks, distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_masks_names_a_pair_that_is_missed() {
        let masks = vec![0xffff_0000u32, 0x0000_ffff];
        let error = TableDesign::from_masks(2, masks.clone()).unwrap_err();
        let BuildError::Coverage { missed, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(missed.count_ones(), 2);
        assert!(masks.iter().all(|m| u128::from(*m) & missed != 0));
        assert!(TableDesign::from_masks(1, masks).is_ok());
    }

    #[test]
    fn from_masks_wants_the_identity_first() {
        assert!(TableDesign::from_masks(1, vec![0x0000_ffffu32, 0xffff_0000]).is_err());
        assert!(TableDesign::<u32>::from_masks(1, vec![]).is_err());
    }
}
