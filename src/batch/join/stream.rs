//! The stream strategy: decodes each block of table 0 once, and looks up its fingerprints in the tables of the queries.

use std::ops::Range;
use std::sync::Mutex;

use super::JoinInput;
use super::hits::{Hit, HitSorter, hide};
use super::query_tables::{Cover, LookUps, QueryTables};
use crate::batch::ordered::{Give, Worker, in_order};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{Index, QueryStats};
use crate::threads::lock;
use crate::watch::{Stage, Watch};

/// The most blocks of one task.
const MOST_TASK_BLOCKS: usize = 1 << 14;

/// Tasks for each thread, so that no thread waits long for another.
const TASKS_PER_THREAD: usize = 4;

/// Fingerprints that are looked up together, in one table after the other.
const GATHERED: usize = 1 << 20;

/// A range of blocks of a segment.
struct Task<'a, F> {
    segment: usize,
    index: &'a Index<F>,
    blocks: Range<usize>,
}

/// Finds the matches of all queries.
///
/// # Errors
/// A damaged segment, and a failure to write matches.
pub(super) fn run<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    cover: Cover<F>,
    hits: &mut HitSorter<F>,
    watch: &Watch,
) -> Result<QueryStats> {
    let tables = QueryTables::new(input.queries.distinct(), input.distance, cover);
    let stats = Mutex::new(QueryStats::default());
    let tasks = tasks(input);
    let worker = || -> Worker<'_, Hit<F>> {
        let (tables, tasks, stats) = (&tables, &tasks, &stats);
        let mut look_ups = LookUps::default();
        Box::new(move |task, give| {
            look_ups.stats = QueryStats::default();
            look_ups.stats.blocks = tasks[task].blocks.len() as u64;
            let searched = search_task(input, tables, &tasks[task], &mut look_ups, give);
            *lock(stats) += look_ups.stats;
            searched.map_err(input.segments.blame(tasks[task].segment))
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

/// Divides the blocks of all segments into tasks.
fn tasks<'a, F: Fingerprint>(input: &JoinInput<'a, F>) -> Vec<Task<'a, F>> {
    let mut tasks = Vec::new();
    for (segment, index) in input.segments.indexes().enumerate() {
        let count = index.block_count();
        let share = count / (TASKS_PER_THREAD * rayon::current_num_threads());
        let task_len = share.clamp(1, MOST_TASK_BLOCKS);
        for start in (0..count).step_by(task_len) {
            let blocks = start..count.min(start + task_len);
            tasks.push(Task {
                segment,
                index,
                blocks,
            });
        }
    }
    tasks
}

fn search_task<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    tables: &QueryTables<F>,
    task: &Task<'_, F>,
    look_ups: &mut LookUps<F>,
    give: Give<'_, Hit<F>>,
) -> Result<()> {
    let mut values = task.index.fingerprints_of_blocks(task.blocks.clone());
    let mut gathered = Vec::new();
    while let Some(chunk) = values.next_chunk() {
        gathered.extend(chunk?.iter().map(|value| value.0));
        if gathered.len() >= GATHERED {
            search(input, tables, task, &gathered, look_ups, give)?;
            gathered.clear();
        }
    }
    search(input, tables, task, &gathered, look_ups, give)
}

/// Passes on the hits among some fingerprints of a task.
fn search<F: Fingerprint>(
    input: &JoinInput<'_, F>,
    tables: &QueryTables<F>,
    task: &Task<'_, F>,
    fingerprints: &[F],
    look_ups: &mut LookUps<F>,
    give: Give<'_, Hit<F>>,
) -> Result<()> {
    tables.search(fingerprints, look_ups);
    hide(input, task.segment, &mut look_ups.hits)?;
    give(&mut look_ups.hits)?;
    look_ups.hits.clear();
    Ok(())
}
