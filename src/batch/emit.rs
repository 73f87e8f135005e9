//! Where the pairs of a search go: gathered, then handed on together.

use super::ordered::Give;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// Pairs that are gathered: few enough to stay in the cache.
const GATHERED: usize = 4096;

/// Takes pairs of values that are near each other, in the order in which they are found.
pub(super) struct Emitter<'a, F> {
    pairs: Vec<(F, F)>,
    hand_on: Give<'a, (F, F)>,
    result: Result<()>,
}

impl<'a, F: Fingerprint> Emitter<'a, F> {
    /// Pairs go to `hand_on`, which may take the list or what is in it.
    pub(super) fn new(hand_on: Give<'a, (F, F)>) -> Self {
        Emitter {
            pairs: Vec::new(),
            hand_on,
            result: Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, x: F, y: F) {
        self.pairs.push((x, y));
        if self.pairs.len() >= GATHERED {
            self.flush();
        }
    }

    /// Whether nobody wants further pairs.
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

    /// Hands on what is left.
    ///
    /// # Errors
    /// What the taker of the pairs reported first.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush();
        self.result
    }
}
