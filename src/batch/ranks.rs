//! Look-up of the rank of a fingerprint: a table over the leading bits of a sorted list.

use crate::fingerprint::Fingerprint;

/// The least average number of values for each entry of the table.
const VALUES_PER_ENTRY: usize = 2;

/// Fewer values than this are searched one by one.
const FEW: usize = 16;

/// Ascending distinct fingerprints with a table to look up their ranks.
#[derive(Debug)]
pub(super) struct Ranks<'a, F> {
    values: &'a [F],
    /// The start of each entry's values, and the end of the last.
    starts: Vec<u32>,
    /// Number of bits below those that select the entry.
    shift: u32,
}

impl<'a, F: Fingerprint> Ranks<'a, F> {
    /// Creates a table for fewer than 2^32 ascending distinct values. It takes at most four bytes for each.
    pub(super) fn new(values: &'a [F]) -> Self {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
            return Ranks {
                values,
                starts: vec![0; 2],
                shift: 0,
            };
        };
        let entries = (values.len() / VALUES_PER_ENTRY).max(1);
        // The leading bits that all values share do not distinguish them.
        let varying = F::WIDTH - (first ^ last).leading_zeros();
        let shift = varying.saturating_sub(entries.ilog2());
        let mut ranks = Ranks {
            values,
            starts: Vec::new(),
            shift,
        };
        let count = ranks.entry(last) + 1;
        ranks.starts = vec![0; count + 1];
        for &value in values {
            let entry = ranks.entry(value);
            ranks.starts[entry + 1] += 1;
        }
        for entry in 0..count {
            ranks.starts[entry + 1] += ranks.starts[entry];
        }
        ranks
    }

    /// Returns the rank of a value, from 0. The value must be in the list.
    #[inline]
    pub(super) fn rank(&self, value: F) -> u32 {
        let entry = self.entry(value);
        let (start, end) = (self.starts[entry], self.starts[entry + 1]);
        let near = &self.values[start as usize..end as usize];
        let before = match near.len() {
            0..FEW => near.iter().filter(|&&other| other < value).count(),
            _ => near.partition_point(|&other| other < value),
        };
        start + before as u32
    }

    /// Returns the rank of a value, if it is in the list.
    pub(super) fn find(&self, value: F) -> Option<u32> {
        let (&first, &last) = (self.values.first()?, self.values.last()?);
        let rank = (first..=last).contains(&value).then(|| self.rank(value))?;
        (self.values[rank as usize] == value).then_some(rank)
    }

    #[inline]
    fn entry(&self, value: F) -> usize {
        // A shift by the whole width would overflow.
        match self.shift < F::WIDTH {
            true => ((value >> self.shift).to_u128() - self.base()) as usize,
            false => 0,
        }
    }

    /// Returns the shifted first value, from which entries are counted.
    #[inline]
    fn base(&self) -> u128 {
        (self.values[0] >> self.shift).to_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<F: Fingerprint>(values: &[F]) {
        let ranks = Ranks::new(values);
        assert!(ranks.starts.len() <= values.len() + 2);
        for (number, &value) in values.iter().enumerate() {
            assert_eq!(ranks.rank(value) as usize, number);
        }
    }

    proptest! {
        #[test]
        fn every_value_has_its_place(
            values in prop::collection::btree_set(any::<u64>(), 0..500), kept in any::<u64>(), start: u32, len in 0u32..300,
        ) {
            let kept: std::collections::BTreeSet<u64> = values.iter().map(|v| v & kept).collect();
            check(&values.into_iter().collect::<Vec<_>>());
            check(&kept.into_iter().collect::<Vec<_>>());
            check(&(start..start.saturating_add(len)).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn the_ends_of_all_widths_have_their_places() {
        check(&[0u32, u32::MAX]);
        check(&[0u64, 1, 2, u64::MAX]);
        check(&[0u128, 1 << 64, u128::MAX]);
        check(&[7u128]);
    }
}
