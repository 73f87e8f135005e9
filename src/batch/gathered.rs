//! The fingerprints of a search, while they come in.

use crate::error::Result;
use crate::extsort::{Sorted, Sorter, TempSpace, add_all};
use crate::fingerprint::Fingerprint;
use crate::set::Typed;

/// Most bytes that are reserved because a file claims to need them.
const MOST_BELIEVED: usize = 1 << 26;

/// Fingerprints in any order, repeated or not, which are sorted in so much memory, beyond that in temporary files.
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

    /// Reserves memory for this many, as far as the budget permits.
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

    /// Adds all fingerprints of segments but those that are left out: table 0 of each, read once.
    pub(super) fn extend_from_set(&mut self, set: Typed<'_, F>) -> Result<()> {
        for (number, segment) in set.indexes().enumerate() {
            // Beyond that the memory grows with what is read: a file that claims more than it holds must not use up the memory
            // before its first block is read.
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

    /// The distinct ones, ascending.
    pub(super) fn finish(self) -> Result<Sorted<Vec<F>>> {
        self.sorter.finish()
    }
}
