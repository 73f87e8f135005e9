//! A set of numbered parts that have been checked, shared by threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of one kind, one a part.
type Bits = Box<[AtomicU64]>;

/// Which parts are good, and which a full check has found damaged: those are checked at each use from then on.
#[derive(Debug)]
pub(super) struct CheckedSet {
    good: Bits,
    distrusted: Bits,
}

impl CheckedSet {
    /// The empty set of parts `0..count`.
    pub(super) fn new(count: usize) -> Self {
        let bits = || (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        CheckedSet {
            good: bits(),
            distrusted: bits(),
        }
    }

    /// Whether the part has been found to be good. `Relaxed` is enough: the bit guards no other memory, and a
    /// thread that does not see it yet checks the part again.
    #[inline]
    pub(super) fn contains(&self, part: usize) -> bool {
        let word = self.good.get(part / 64);
        word.is_some_and(|w| w.load(Ordering::Relaxed) & bit(part) != 0)
    }

    /// The part is good.
    pub(super) fn insert(&self, part: usize) {
        let (Some(good), Some(distrusted)) = self.words(part) else {
            return;
        };
        good.fetch_or(bit(part), Ordering::SeqCst);
        // The other way round than in `distrust`: whoever comes last takes the bit away.
        if distrusted.load(Ordering::SeqCst) & bit(part) != 0 {
            good.fetch_and(!bit(part), Ordering::SeqCst);
        }
    }

    /// The part is damaged, whatever a thread finds that has begun to check it before. One that uses it right now is not
    /// stopped.
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

/// The bit of a part in its word.
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
        // By a thread that had begun to check it before.
        set.insert(0);
        assert!(!set.contains(0) && set.contains(1));
    }
}
