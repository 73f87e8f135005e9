//! The probe strategy: looks up each query in the tables of the index. Similar queries follow each other, so that they
//! find the blocks they share in the cache.

use std::sync::Mutex;

use super::JoinInput;
use super::hits::{Hit, HitSorter, hide};
use crate::batch::ordered::{Worker, in_order};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::index::{Index, QueryStats, Scratch};
use crate::threads::lock;
use crate::watch::{Stage, Watch};

/// Queries per task.
const TASK_LEN: usize = 1 << 12;

/// Finds the matches of all queries.
///
/// # Errors
/// A damaged segment, and a failure to write matches.
pub(super) fn run<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    hits: &mut HitSorter<F>,
    watch: &Watch,
) -> Result<QueryStats> {
    let stats = Mutex::new(QueryStats::default());
    let tasks: Vec<&[F]> = input.queries.distinct().chunks(TASK_LEN).collect();
    let worker = || -> Worker<'_, Hit<F>> {
        let (tasks, stats) = (&tasks, &stats);
        let mut scratch = Scratch::new();
        Box::new(move |task, give| {
            let (queries, first) = (tasks[task], task * TASK_LEN);
            let mut found = Vec::new();
            for (number, index) in input.segments.indexes().enumerate() {
                let mut of_segment = Vec::new();
                ask(input, index, &mut scratch, queries, first, &mut of_segment)
                    .and_then(|()| hide(input, number, &mut of_segment))
                    .map_err(input.segments.blame(number))?;
                found.append(&mut of_segment);
                *lock(stats) += scratch.stats();
            }
            give(&mut found)
        })
    };
    let (mut done, total) = (0, tasks.len() as u64);
    watch.report(Stage::Search, done, total)?;
    in_order(tasks.len(), &worker, &mut |found| {
        // An empty list ends a task.
        done += u64::from(found.is_empty());
        watch.report(Stage::Search, done.min(total), total)?;
        hits.add(found, input.queries)
    })?;
    Ok(stats.into_inner().unwrap_or_default())
}

/// Adds the matches of `queries` in one segment. The first query has the number `first`.
///
/// Checks that table 0 of the segment holds every match of the other tables, which is so if all matches have ranks.
/// Later it is not known which of several segments a match came from, so ids could be read from the wrong one. A single
/// segment reports a match without ids by itself, and a scan of table 0 finds only its own fingerprints.
///
/// # Errors
/// A damaged block, or a match that table 0 lacks.
fn ask<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    index: &Index<F>,
    scratch: &mut Scratch<F>,
    queries: &[F],
    first: usize,
    found: &mut Vec<Hit<F>>,
) -> Result<()> {
    let is_checked = input.segments.segment_count() > 1
        && index.id_kind() != IdKind::None
        && index.plan(input.distance).best().is_some();
    scratch.set_ranked(is_checked);
    let mut stranger = None;
    index.query_many_with(scratch, queries, input.distance, |number, matches| {
        for m in matches {
            found.push(Hit {
                query: (first + number) as u32,
                distance: m.distance,
                fingerprint: m.fingerprint,
            });
            if is_checked && m.rank.is_none() {
                stranger = Some(*m);
            }
        }
    })?;
    match stranger {
        Some(stranger) => index.ids(&stranger).map(|_| ()),
        None => Ok(()),
    }
}
