//! The queries of a batch: each distinct one once, and where it stands in the batch.

use rayon::prelude::*;

use crate::fingerprint::Fingerprint;

/// Distinct queries, ascending, with the numbers of those that are equal to each.
#[derive(Debug)]
pub(super) struct Queries<F> {
    distinct: Vec<F>,
    /// Where in `positions` those of each distinct query start, and their end.
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl<F: Fingerprint> Queries<F> {
    /// At most 2^32 - 1 queries.
    pub(super) fn new(queries: &[F]) -> Self {
        let mut sorted: Vec<(F, u32)> = queries.iter().copied().zip(0..).collect();
        sorted.par_sort_unstable();
        let mut distinct = Vec::new();
        let mut starts = Vec::new();
        for (&(query, _), i) in sorted.iter().zip(0..) {
            if distinct.last() != Some(&query) {
                distinct.push(query);
                starts.push(i);
            }
        }
        let positions: Vec<u32> = sorted.into_iter().map(|(_, position)| position).collect();
        starts.push(positions.len() as u32);
        Queries {
            distinct,
            starts,
            positions,
        }
    }

    /// The distinct queries, ascending.
    pub(super) fn distinct(&self) -> &[F] {
        &self.distinct
    }

    /// The numbers in the batch of distinct query `number`, ascending.
    pub(super) fn positions(&self, number: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|i| self.starts[number as usize + i] as usize);
        &self.positions[start..end]
    }
}
