//! Sorts the matches of a batch into the order of the queries, in bounded memory.

use super::{JoinInput, Queries};
use crate::error::Result;
use crate::extsort::{FixedRecord, Sorter, TempSpace};
use crate::fingerprint::Fingerprint;
use crate::index::Match;

/// A match of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit<F> {
    /// The number of the query: among the distinct queries, or, once sorted, in the batch.
    pub(super) query: u32,
    pub(super) distance: u32,
    pub(super) fingerprint: F,
}

impl<F: Fingerprint> FixedRecord for Hit<F> {
    const LEN: usize = 5 + F::BYTES;

    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.query.to_le_bytes());
        // Distances are at most 128.
        out.push(self.distance as u8);
        self.fingerprint.extend_le(out);
    }

    fn decode(bytes: &[u8]) -> Self {
        let (query, rest) = bytes.split_at(4);
        Hit {
            query: u32::decode(query),
            distance: rest[0].into(),
            fingerprint: F::decode(&rest[1..]),
        }
    }
}

/// Removes the hits whose records are excluded from their segment.
///
/// # Errors
/// A damaged segment.
pub(super) fn hide<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    segment: usize,
    hits: &mut Vec<Hit<F>>,
) -> Result<()> {
    if !input.segments.hides_some(segment) {
        return Ok(());
    }
    let mut hidden = Ok(());
    hits.retain(|hit| {
        let hides = input.segments.hides(segment, hit.fingerprint, None);
        match hides {
            Ok(hides) => !hides,
            Err(error) => {
                hidden = Err(error);
                false
            }
        }
    });
    hidden
}

/// Takes the matches of distinct queries in any order, and sorts them.
pub(super) struct HitSorter<F: Fingerprint>(Sorter<Vec<Hit<F>>>);

impl<F: Fingerprint> HitSorter<F> {
    pub(super) fn new(temp: TempSpace, budget: usize) -> Self {
        HitSorter(Sorter::new(temp, budget))
    }

    /// Adds each match once for every query of the batch that is equal to its distinct query.
    ///
    /// # Errors
    /// A failure to write them.
    pub(super) fn add(&mut self, hits: &[Hit<F>], queries: &Queries<F>) -> Result<()> {
        for &hit in hits {
            for &query in queries.positions(hit.query) {
                self.0.add(|buffer| buffer.push(Hit { query, ..hit }))?;
            }
        }
        Ok(())
    }

    /// Calls `visit` once with every match, in order.
    ///
    /// # Errors
    /// A failure to read them, and any error of `visit`.
    pub(super) fn for_each(
        self,
        mut visit: impl FnMut(usize, Match<F>) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        self.0.finish()?.for_each_round(|hits| {
            hits.iter().try_for_each(|&hit| {
                if last.replace(hit) == Some(hit) {
                    return Ok(());
                }
                let found = Match::unranked(hit.distance, hit.fingerprint);
                visit(hit.query as usize, found)
            })
        })
    }
}
