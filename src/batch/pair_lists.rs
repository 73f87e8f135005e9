//! Sorts pairs of fingerprints and of number ids in bounded memory.

use super::pairs::PairOf;
use crate::error::Result;
use crate::extsort::{FixedRecord, Sorter};
use crate::fingerprint::Fingerprint;

impl<F: Fingerprint> FixedRecord for PairOf<F> {
    const LEN: usize = 2 * F::BYTES + 1;

    fn encode(self, out: &mut Vec<u8>) {
        self.smaller.extend_le(out);
        self.larger.extend_le(out);
        // Distances are at most 128.
        out.push(self.distance as u8);
    }

    fn decode(bytes: &[u8]) -> Self {
        let (smaller, rest) = bytes.split_at(F::BYTES);
        let (larger, distance) = rest.split_at(F::BYTES);
        PairOf {
            smaller: F::decode(smaller),
            larger: F::decode(larger),
            distance: distance[0].into(),
        }
    }
}

/// Sorts pairs of fingerprints or numbers.
pub(super) type PairSorter<F> = Sorter<Vec<PairOf<F>>>;

/// Calls `visit` with each pair, in order.
///
/// # Errors
/// A failure to read pairs, and any error of `visit`.
pub(super) fn for_each_sorted<F: Fingerprint>(
    sorter: PairSorter<F>,
    mut visit: impl FnMut(PairOf<F>) -> Result<()>,
) -> Result<()> {
    sorter
        .finish()?
        .for_each_round(|pairs| pairs.iter().try_for_each(|&pair| visit(pair)))
}
