//! Collects the fingerprints of a search.

use crate::error::Result;
use crate::extsort::{Sorted, Sorter, TempSpace, add_all};
use crate::fingerprint::Fingerprint;
use crate::set::Typed;

/// The most bytes that are reserved because of a count in a file.
const MOST_BELIEVED: usize = 1 << 26;

/// Fingerprints in any order, with repetitions. They are sorted in memory up to a budget, beyond it in temporary files.
#[derive(Debug)]
pub(super) struct Gathered<F> {
    sorter: Sorter<Vec<F>>,
}

impl<F: Fingerprint> Gathered<F> {
    pub(super) fn new(temp: TempSpace, budget: usize) -> Self {
        Gathered {
            sorter: Sorter::new(temp, budget),
        }
    }

    /// Reserves memory for `count` fingerprints, within the budget.
    pub(super) fn reserve(&mut self, count: u64) {
        let count = count.min((self.sorter.space() / F::BYTES) as u64) as usize;
        self.sorter.reserve(|values| values.reserve(count));
    }

    #[inline]
    pub(super) fn push(&mut self, fingerprint: F) -> Result<()> {
        self.sorter.add(|values| values.push(fingerprint))
    }

    pub(super) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        add_all(&mut self.sorter, fingerprints)
    }

    /// Adds all fingerprints of a set, except excluded ones. Reads table 0 of each segment once.
    pub(super) fn extend_from_set(&mut self, set: Typed<'_, F>) -> Result<()> {
        for (number, segment) in set.indexes().enumerate() {
            // Beyond this, memory grows with the fingerprints read, so that a wrong count in a file cannot exhaust it
            // before the first block is read.
            let believed = (MOST_BELIEVED / F::BYTES) as u64;
            self.reserve(segment.expected_count().min(believed));
            let blame = set.blame(number);
            let hides_some = set.hides_some(number);
            let (mut values, mut rank) = (segment.fingerprints(0)?, 0);
            while let Some(chunk) = values.next_chunk() {
                for value in chunk.map_err(&blame)? {
                    let hides = hides_some.then(|| set.hides(number, value.0, Some(rank)));
                    if !hides.unwrap_or(Ok(false)).map_err(&blame)? {
                        self.push(value.0)?;
                    }
                    rank += 1;
                }
            }
        }
        Ok(())
    }

    /// Returns the distinct fingerprints, ascending.
    pub(super) fn finish(self) -> Result<Sorted<Vec<F>>> {
        self.sorter.finish()
    }
}
