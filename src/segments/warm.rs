//! Warming segments: one pass over the files of all of them.

use std::ops::ControlFlow;

use super::{AnySegments, Segments};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{WarmOptions, WarmProgress, WarmReport, warm_all};

impl<F: Fingerprint> Segments<F> {
    /// Warms all segments in one pass, as [`Index::warm_with`](crate::Index::warm_with) does one.
    ///
    /// # Errors
    /// The first damaged block or page of the first segment that has any.
    pub fn warm_with(
        &self,
        options: &WarmOptions,
        mut progress: impl FnMut(WarmProgress) -> ControlFlow<()>,
    ) -> Result<WarmReport> {
        let indexes: Vec<_> = self.indexes().collect();
        let warmed = warm_all(&indexes, options, &mut progress);
        warmed.map_err(|(segment, error)| self.blame(segment)(error.into()))
    }
}

impl<F: Fingerprint> Segments<F> {
    /// Warms all segments on so many threads, as [`Index::warm`](crate::Index::warm) does one.
    ///
    /// # Errors
    /// As for [`Segments::warm_with`].
    pub fn warm(&self, threads: usize) -> Result<WarmReport> {
        self.warm_with(&WarmOptions::on(threads), |_| ControlFlow::Continue(()))
    }
}

impl AnySegments {
    /// [`Segments::warm`] of whatever width.
    ///
    /// # Errors
    /// As for [`Segments::warm_with`].
    pub fn warm(&self, threads: usize) -> Result<WarmReport> {
        self.warm_with(&WarmOptions::on(threads), |_| ControlFlow::Continue(()))
    }

    /// [`Segments::warm_with`] of whatever width.
    ///
    /// # Errors
    /// As for [`Segments::warm_with`].
    pub fn warm_with(
        &self,
        options: &WarmOptions,
        progress: impl FnMut(WarmProgress) -> ControlFlow<()>,
    ) -> Result<WarmReport> {
        match self {
            AnySegments::W32(segments) => segments.warm_with(options, progress),
            AnySegments::W64(segments) => segments.warm_with(options, progress),
            AnySegments::W128(segments) => segments.warm_with(options, progress),
        }
    }
}
