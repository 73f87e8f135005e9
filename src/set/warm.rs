//! Warming a set: one pass over all its files.

use std::ops::ControlFlow;

use super::{Set, at_width};
use crate::error::Result;
use crate::index::{WarmOptions, WarmProgress, WarmReport, warm_all};

impl Set {
    /// Warms all files in one pass, as [`Index::warm_with`](crate::Index::warm_with) does one.
    ///
    /// # Errors
    /// The first damaged block or page of the first file that has any.
    pub fn warm_with(
        &self,
        options: &WarmOptions,
        mut progress: impl FnMut(WarmProgress) -> ControlFlow<()>,
    ) -> Result<WarmReport> {
        let warmed = at_width!(self, typed => {
            warm_all(&typed.indexes().collect::<Vec<_>>(), options, &mut progress)
        });
        warmed.map_err(|(segment, error)| self.blame(segment)(error.into()))
    }

    /// Warms all files on so many threads, as [`Index::warm`](crate::Index::warm) does one.
    ///
    /// # Errors
    /// As for [`Set::warm_with`].
    pub fn warm(&self, threads: usize) -> Result<WarmReport> {
        self.warm_with(&WarmOptions::on(threads), |_| ControlFlow::Continue(()))
    }
}
