//! The tables, the distance and the block size of a merged file.

use super::MergeOptions;
use super::Merger;
use crate::codec::check_block_size;
use crate::design::{PlanRequest, check_distance};
use crate::error::{Error, Result};
use crate::fingerprint::{Column, Fingerprint, Width};

/// The parameters of the merged file, except its records.
pub(super) struct FileDesign<F> {
    pub(super) masks: Vec<F>,
    pub(super) max_distance: u32,
    pub(super) block_size: u32,
}

impl MergeOptions {
    /// Checks the table options before anything is read.
    ///
    /// # Errors
    /// An invalid block size, a distance without designs, or a design for another distance or width.
    pub(super) fn check_design(&self, width: Width) -> Result<()> {
        if let Some(design) = &self.design {
            width.check(design.width())?;
        }
        if let Some(size) = self.block_size {
            check_block_size(size)?;
        }
        match (&self.design, self.max_distance) {
            (Some(design), Some(distance)) if design.max_distance() != distance => {
                let of_design = design.max_distance();
                let message =
                    format!("the table design is for distance {of_design}, not {distance}");
                Err(Error::option("design", message))
            }
            (None, Some(distance)) => Ok(check_distance(distance)?),
            _ => Ok(()),
        }
    }
}

impl<F: Fingerprint> Merger<'_, F> {
    /// Returns the tables of the options, by default those of the largest segment. If only a distance is given, the
    /// number of fingerprints of the result decides.
    ///
    /// # Errors
    /// There are no segments.
    pub(super) fn design(&self, count: u64) -> Result<FileDesign<F>> {
        let largest = self.largest();
        let options = self.options;
        let block_size = options.block_size.unwrap_or(largest.block_size());
        let (masks, max_distance) = match (&options.design, options.max_distance) {
            (Some(design), _) => {
                let masks = Column::from(design.masks()).values()?;
                (masks.to_vec(), design.max_distance())
            }
            (None, Some(distance)) => {
                let mut request = PlanRequest::new(count, distance);
                request.width = Width::of::<F>();
                request.block_size = block_size;
                request.codec = options.codec.given();
                let design = request.design()?;
                (Column::from(design.masks()).values()?.to_vec(), distance)
            }
            (None, None) => (largest.prefix_masks().collect(), largest.max_distance()),
        };
        Ok(FileDesign {
            masks,
            max_distance,
            block_size,
        })
    }
}
