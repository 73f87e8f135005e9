//! The output of a search for pairs: pairs are collected and then handed on in lists.

use super::ordered::Give;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::watch::{Stage, Watch};

/// The most pairs in a list: few enough to stay in the cache.
const GATHERED: usize = 4096;

/// Comparisons after which a watch is called: a few milliseconds.
pub(super) const WATCHED: usize = 1 << 22;

/// Takes near pairs in the order in which they are found.
pub(super) struct Emitter<'a, F> {
    pairs: Vec<(F, F)>,
    hand_on: Give<'a, (F, F)>,
    result: Result<()>,
    watch: Option<&'a Watch>,
    /// Comparisons since the watch was called.
    compared: usize,
}

impl<'a, F: Fingerprint> Emitter<'a, F> {
    /// Creates an emitter that passes lists of pairs to `hand_on`, which may take the list or drain it.
    pub(super) fn new(hand_on: Give<'a, (F, F)>) -> Self {
        Emitter {
            pairs: Vec::new(),
            hand_on,
            result: Ok(()),
            watch: None,
            compared: 0,
        }
    }

    /// Calls a watch during the search, which is the only part of the work.
    pub(super) fn watched(mut self, watch: &'a Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Counts comparisons.
    #[inline(always)]
    pub(super) fn compared(&mut self, count: usize) {
        self.compared += count;
        if self.compared >= WATCHED {
            self.report();
        }
    }

    #[cold]
    fn report(&mut self) {
        self.compared = 0;
        if let (Some(watch), Ok(())) = (self.watch, &self.result) {
            self.result = watch.report(Stage::Compare, 0, 1);
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, x: F, y: F) {
        self.pairs.push((x, y));
        if self.pairs.len() >= GATHERED {
            self.flush();
        }
    }

    /// Returns whether `hand_on` has failed or the watch stops the search, so that further pairs are ignored.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.result.is_err()
    }

    #[cold]
    fn flush(&mut self) {
        if self.result.is_ok() && !self.pairs.is_empty() {
            self.result = (self.hand_on)(&mut self.pairs);
        }
        self.pairs.clear();
    }

    /// Hands on the remaining pairs.
    ///
    /// # Errors
    /// The first error of `hand_on` or of the watch.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush();
        self.result
    }
}
