//! Collects the fingerprints of a search.

use crate::error::Result;
use crate::extsort::Sorter;
use crate::fingerprint::Fingerprint;
use crate::set::Typed;

/// The most bytes that are reserved because of a count in a file.
const MOST_BELIEVED: usize = 1 << 26;

/// Reserves memory for `count` fingerprints, within the budget.
pub(super) fn reserve<F: Fingerprint>(gathered: &mut Sorter<Vec<F>>, count: u64) {
    let count = count.min((gathered.space() / F::BYTES) as u64) as usize;
    gathered.reserve(|values| values.reserve(count));
}

/// Adds all fingerprints of a set, except excluded ones. Reads table 0 of each segment once.
pub(super) fn extend_from_set<F: Fingerprint>(
    gathered: &mut Sorter<Vec<F>>,
    set: Typed<'_, F>,
) -> Result<()> {
    for (number, segment) in set.indexes().enumerate() {
        // Beyond this, memory grows with the fingerprints read, so that a wrong count in a file cannot exhaust it
        // before the first block is read.
        let believed = (MOST_BELIEVED / F::BYTES) as u64;
        reserve(gathered, segment.expected_count().min(believed));
        let blame = set.blame(number);
        let hides_some = set.hides_some(number);
        let (mut values, mut rank) = (segment.fingerprints(0)?, 0);
        while let Some(chunk) = values.next_chunk() {
            for value in chunk.map_err(&blame)? {
                let hides = hides_some.then(|| set.hides(number, value.0, Some(rank)));
                if !hides.unwrap_or(Ok(false)).map_err(&blame)? {
                    gathered.add(|values| values.push(value.0))?;
                }
                rank += 1;
            }
        }
    }
    Ok(())
}
