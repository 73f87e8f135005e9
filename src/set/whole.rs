//! Work on all files of a set: warming, the full check.

use super::{Set, at_width};
use crate::error::Result;
use crate::index::{WarmOptions, WarmReport, warm_all};
use crate::watch::Watch;

impl Set {
    /// Warms all files in one pass, as [`Index::warm`](crate::Index::warm) does for one.
    ///
    /// # Errors
    /// The first damaged block or page of the first damaged file; [`Error::Interrupted`](crate::Error::Interrupted) if
    /// the watch stops the work before its end.
    pub fn warm(&self, options: &WarmOptions) -> Result<WarmReport> {
        let warmed = at_width!(self, typed => {
            warm_all(&typed.indexes().collect::<Vec<_>>(), options)
        });
        warmed.map_err(|(segment, error)| self.blame(segment)(error))
    }

    /// Checks every byte of all files against every rule of the format, as [`Index::verify`](crate::Index::verify) does
    /// for one.
    ///
    /// # Errors
    /// The first problem, with the name of its file; [`Error::Interrupted`](crate::Error::Interrupted) if the watch
    /// stops the work.
    pub fn verify(&self, watch: &Watch) -> Result<()> {
        at_width!(self, typed => {
            let total = typed.indexes().map(|index| index.part_count()).sum();
            let mut done = 0;
            for (segment, index) in typed.indexes().enumerate() {
                let report = index.verify_parts(watch, done..total)?;
                if let Some(first) = report.problems.into_iter().next() {
                    return Err(self.blame(segment)(first.into()));
                }
                done += index.part_count();
            }
            Ok(())
        })
    }
}
