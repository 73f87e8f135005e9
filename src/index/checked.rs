//! A set of numbered parts that have been checked, shared by threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bit a part.
#[derive(Debug)]
pub(super) struct CheckedSet {
    words: Box<[AtomicU64]>,
}

impl CheckedSet {
    /// The empty set of parts `0..count`.
    pub(super) fn new(count: usize) -> Self {
        CheckedSet {
            words: (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether the part has been checked. `Relaxed` is enough: the bit guards no other memory, and a
    /// thread that does not see it yet checks the part again.
    #[inline]
    pub(super) fn contains(&self, part: usize) -> bool {
        let word = self.words.get(part / 64);
        word.is_some_and(|w| w.load(Ordering::Relaxed) >> (part % 64) & 1 == 1)
    }

    pub(super) fn insert(&self, part: usize) {
        if let Some(word) = self.words.get(part / 64) {
            word.fetch_or(1 << (part % 64), Ordering::Relaxed);
        }
    }

    /// The part is checked anew before its next use. A thread that uses it right now is not stopped.
    pub(super) fn remove(&self, part: usize) {
        if let Some(word) = self.words.get(part / 64) {
            word.fetch_and(!(1 << (part % 64)), Ordering::Relaxed);
        }
    }
}
