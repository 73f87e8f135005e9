//! A set of numbered parts that have been checked, shared by threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bit for each part.
type Bits = Box<[AtomicU64]>;

/// The parts that have passed their check, and those that a full check has found damaged, which are checked on each
/// use.
#[derive(Debug)]
pub(super) struct CheckedSet {
    good: Bits,
    distrusted: Bits,
}

impl CheckedSet {
    /// Creates the empty set for parts `0..count`.
    pub(super) fn new(count: usize) -> Self {
        let bits = || (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        CheckedSet {
            good: bits(),
            distrusted: bits(),
        }
    }

    /// Returns whether the part has passed its check. `Relaxed` is enough: the bit does not guard other memory, and a
    /// thread that does not see it yet checks the part again.
    #[inline]
    pub(super) fn contains(&self, part: usize) -> bool {
        let word = self.good.get(part / 64);
        word.is_some_and(|w| w.load(Ordering::Relaxed) & bit(part) != 0)
    }

    /// Records that the part has passed its check.
    pub(super) fn insert(&self, part: usize) {
        let (Some(good), Some(distrusted)) = self.words(part) else {
            return;
        };
        good.fetch_or(bit(part), Ordering::SeqCst);
        // The order is the reverse of that in `distrust`, so whichever comes last clears the bit.
        if distrusted.load(Ordering::SeqCst) & bit(part) != 0 {
            good.fetch_and(!bit(part), Ordering::SeqCst);
        }
    }

    /// Records that the part is damaged, whatever a thread finds that began to check it earlier. A thread that is using
    /// it right now is not stopped.
    pub(super) fn distrust(&self, part: usize) {
        if let (Some(good), Some(distrusted)) = self.words(part) {
            distrusted.fetch_or(bit(part), Ordering::SeqCst);
            good.fetch_and(!bit(part), Ordering::SeqCst);
        }
    }

    fn words(&self, part: usize) -> (Option<&AtomicU64>, Option<&AtomicU64>) {
        (self.good.get(part / 64), self.distrusted.get(part / 64))
    }
}

/// Returns the bit of a part in its word.
fn bit(part: usize) -> u64 {
    1 << (part % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart_and_those_outside_are_never_good() {
        let set = CheckedSet::new(130);
        for part in [0, 63, 64, 129, 1000] {
            set.insert(part);
        }
        let good: Vec<usize> = (0..2000).filter(|&part| set.contains(part)).collect();
        assert_eq!(good, [0, 63, 64, 129]);
    }

    #[test]
    fn a_distrusted_part_is_good_no_more_whoever_says_so() {
        let set = CheckedSet::new(2);
        set.insert(0);
        set.insert(1);
        set.distrust(0);
        assert!(!set.contains(0) && set.contains(1));
        // As a thread does that began to check it earlier.
        set.insert(0);
        assert!(!set.contains(0) && set.contains(1));
    }
}
