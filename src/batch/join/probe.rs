//! Each query looked up in the tables of the index: queries near each other one after the other, so that blocks which
//! one of them has brought into the cache serve the next.

use std::sync::Mutex;

use super::JoinInput;
use super::hits::{Hit, HitSorter};
use crate::batch::ordered::{Give, in_order};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Index, QueryStats, Searcher};

/// Queries of one task.
const TASK_LEN: usize = 1 << 12;

/// Finds the matches of all queries.
///
/// # Errors
/// A damaged segment, or what keeps matches from being written.
pub(super) fn run<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    input: &JoinInput<'_, F, D>,
    hits: &mut HitSorter<F>,
) -> Result<QueryStats> {
    let stats = Mutex::new(QueryStats::default());
    let tasks: Vec<&[F]> = input.queries.distinct().chunks(TASK_LEN).collect();
    let searchers = || {
        let segments = input.segments.segments().iter();
        segments.map(|segment| segment.searcher()).collect()
    };
    let work =
        |searchers: &mut Vec<Searcher<F, &Index<F, D>>>, task: usize, give: Give<'_, Hit<F>>| {
            let (mut found, mut total) = (Vec::new(), QueryStats::default());
            for (number, searcher) in searchers.iter_mut().enumerate() {
                let before = found.len();
                let asked = ask(input, searcher, tasks[task], task * TASK_LEN, &mut found);
                asked
                    .and_then(|()| check_members(input, number, &found[before..]))
                    .map_err(input.segments.blame(number))?;
                total += searcher.stats();
            }
            if let Ok(mut stats) = stats.lock() {
                *stats += total;
            }
            give(&mut found)
        };
    in_order(tasks.len(), searchers, work, |found| {
        hits.add(found, input.queries)
    })?;
    Ok(stats.into_inner().unwrap_or_default())
}

/// Adds the matches of some queries in one segment, the first query being number `first`.
fn ask<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    input: &JoinInput<'_, F, D>,
    searcher: &mut Searcher<F, &Index<F, D>>,
    queries: &[F],
    first: usize,
    found: &mut Vec<Hit<F>>,
) -> Result<()> {
    let (low, high) = input.shard.bounds::<F>();
    searcher.query_many(queries, input.distance, |number, matches| {
        for m in matches {
            if (low..=high).contains(&m.fingerprint) {
                found.push(Hit {
                    query: (first + number) as u32,
                    distance: m.distance,
                    fingerprint: m.fingerprint,
                });
            }
        }
    })
}

/// Checks that table 0 of a segment holds what its other tables gave, where there are ids to be found by it. Afterwards
/// nobody knows which of several segments a match is of, so that one would answer with the ids of another. Of a single
/// segment a match without ids tells; and a scan of table 0 gives what it holds.
///
/// # Errors
/// A damaged block, or a match that table 0 lacks.
fn check_members<F: Fingerprint, D: AsRef<[u8]>>(
    input: &JoinInput<'_, F, D>,
    segment: usize,
    found: &[Hit<F>],
) -> Result<()> {
    let index = &input.segments.segments()[segment];
    let is_single = input.segments.segments().len() == 1;
    if is_single || index.id_kind() == IdKind::None || index.plan(input.distance).best().is_none() {
        return Ok(());
    }
    let mut members: Vec<F> = found.iter().map(|hit| hit.fingerprint).collect();
    // In the order of table 0, for the sake of the cache.
    members.sort_unstable();
    members.dedup();
    for member in members {
        if !index.contains(member)? {
            index.for_each_id_of_member(member, |_| ())?;
        }
    }
    Ok(())
}
