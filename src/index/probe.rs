//! Runs probes, many at a time. Each step is done for all of them before the next, so that their cache misses, page
//! reads and decoding overlap.

use super::blocks::BlockTable;
use super::probe_lines::LineLists;
use super::query::{Match, QueryStats};
use super::table::{Table, ValuePlace};
use crate::codec::block::{Block, NumberRange};
use crate::codec::delta::{self, DeltaRule, GapRule, LANES, LaneVisit, XorRule};
use crate::codec::span::Span;
use crate::codec::{TableCode, Visit};
use crate::cpu::{Cpu, Work, dispatch, prefetch};
use crate::design::Permuted;
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::memory::will_need;

/// The number of probes that run together: more than the memory reads that a processor has in flight.
pub(super) const BATCH_LEN: usize = 64;

/// The most blocks that are read together.
const MAX_TASKS: usize = 2 * BATCH_LEN;

// The number of a task has one byte in its order key.
const _: () = assert!(MAX_TASKS <= 1 << 8);

/// Bytes of a cache line.
const LINE_LEN: usize = 64;

/// The most lines of a block that are prefetched. The processor prefetches the others.
const MAX_LINES: usize = 8;

/// One look-up: the values of a table from `low` to `high`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe<'a, F> {
    pub(super) table: &'a BlockTable<F>,
    /// The query in the bit order of the table.
    pub(super) query: F,
    pub(super) low: F,
    pub(super) high: F,
    /// The number of the query among those processed together.
    pub(super) owner: u32,
}

/// A block that may hold values of a probe.
#[derive(Debug, Clone, Copy)]
struct Task<'a, F> {
    probe: Probe<'a, F>,
    block: usize,
    /// The part of the block that must be decoded, up to the end of the probe's range, in 256ths.
    depth: u32,
    /// The place of these values in an Elias-Fano block.
    range: Option<NumberRange<F>>,
}

impl<F> Task<'_, F> {
    /// Returns the place of a value in its block.
    #[inline(always)]
    fn place(&self, index: usize) -> Option<ValuePlace> {
        Some(ValuePlace {
            part: self.block,
            index,
        })
    }
}

/// Returns [`Task::depth`] for a range that ends with `high`, if the values of the block are evenly spread in `span`.
#[inline(always)]
fn depth<F: Fingerprint>(span: &Span<F>, high: F) -> u32 {
    if high >= span.key {
        return 255;
    }
    let base = span.base();
    let room = span.key.wrapping_sub(base);
    let part = if high > base {
        high.wrapping_sub(base)
    } else {
        F::ZERO
    };
    let shift = (F::WIDTH - room.leading_zeros()).saturating_sub(16);
    let (part, room) = (
        (part >> shift).to_u128() as u32,
        (room >> shift).to_u128() as u32,
    );
    part * 255 / room.max(1)
}

/// Returns the sort key of a task of a Huffman-coded table. Tasks with the same rule are adjacent, so that they can be
/// decoded in step, and so are tasks of similar depth, so that no lane waits long for another. The low byte is the
/// number of the task.
#[inline(always)]
fn order_key(rule: u32, depth: u32, task: usize) -> u32 {
    rule << 16 | depth << 8 | task as u32
}

/// A match of one of the queries that are processed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found<F> {
    pub(super) owner: u32,
    pub(super) found: Match<F>,
}

impl<F: Copy> Found<F> {
    fn key(&self) -> (u32, u32, F) {
        (self.owner, self.found.distance, self.found.fingerprint)
    }
}

/// The lists that refer to the tables of an index. They are empty between queries.
#[derive(Debug)]
pub(super) struct Lists<'a, F> {
    pub(super) probes: Vec<Probe<'a, F>>,
    tasks: Vec<Task<'a, F>>,
    pub(super) lines: LineLists<'a, F>,
}

impl<F> Default for Lists<'_, F> {
    fn default() -> Self {
        Lists {
            probes: Vec::new(),
            tasks: Vec::new(),
            lines: LineLists::default(),
        }
    }
}

impl<F> Lists<'_, F> {
    /// Returns empty lists for any index, in the same memory.
    #[inline]
    pub(super) fn emptied<'b>(self) -> Lists<'b, F> {
        Lists {
            probes: emptied(self.probes),
            tasks: emptied(self.tasks),
            lines: self.lines.emptied(),
        }
    }
}

/// Returns an empty list in the memory of another, whose items differ only in a lifetime. `collect` reuses the
/// allocation of a vector that it consumes.
#[inline]
pub(super) fn emptied<T, U>(mut list: Vec<T>) -> Vec<U> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

/// The matches of queries, and their cost.
#[derive(Debug)]
pub(super) struct Findings<F> {
    /// The tasks of Huffman-coded tables in decoding order, see [`order_key`].
    order: Vec<u32>,
    pub(super) found: Vec<Found<F>>,
    pub(super) stats: QueryStats,
}

impl<F> Default for Findings<F> {
    fn default() -> Self {
        Findings {
            order: Vec::new(),
            found: Vec::new(),
            stats: QueryStats::default(),
        }
    }
}

impl<F: Fingerprint> Findings<F> {
    /// Discards earlier queries.
    pub(super) fn start(&mut self) {
        self.found.clear();
        self.stats = QueryStats::default();
    }

    /// Sorts the matches and removes duplicates. A match has a rank if one of its copies has one.
    pub(super) fn merge(&mut self) {
        self.found.sort_unstable();
        self.found.dedup_by(|again, kept| {
            let same = again.key() == kept.key();
            if same {
                kept.found.rank = kept.found.rank.or(again.found.rank);
            }
            same
        });
    }
}

/// The tables in which probes are looked up, and how values are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a, F> {
    pub(super) tables: &'a [Table<F>],
    pub(super) file: &'a [u8],
    /// Whether matches get ranks.
    pub(super) is_ranked: bool,
    /// The rank of the first value of each block of table 0, if it is in blocks and matches get ranks.
    pub(super) block_ranks: &'a [u64],
    pub(super) distance: u32,
    /// Whether blocks may have left memory since their last use.
    pub(super) cold: bool,
}

impl<'a, F: Fingerprint> Target<'a, F> {
    /// Runs the probes of the lists and removes them.
    ///
    /// # Errors
    /// A damaged block that had to be read.
    pub(super) fn run(
        &self,
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        if lists.probes.is_empty() {
            return Ok(());
        }
        let looked_up = dispatch(LookUp {
            target: self,
            probes: &lists.probes,
            tasks: &mut lists.tasks,
            findings,
        });
        lists.probes.clear();
        looked_up
    }

    #[inline(always)]
    fn block(&self, task: &Task<'a, F>) -> Block<'a, F> {
        task.probe.table.checked_block(self.file, task.block)
    }

    /// Creates the task of reading a block for a probe. Prefetches the bytes that are read first.
    #[inline(always)]
    fn task(&self, probe: &Probe<'a, F>, block: usize) -> Task<'a, F> {
        let depth = match probe.table.code {
            TableCode::EliasFano => 0,
            _ => depth(&probe.table.span(block), probe.high),
        };
        self.prefetch_block(probe, block, depth);
        Task {
            probe: *probe,
            block,
            depth,
            range: None,
        }
    }

    #[inline(always)]
    fn prefetch_block(&self, probe: &Probe<'a, F>, block: usize, depth: u32) {
        let table = probe.table;
        let start = table.block_offset(block);
        let lines = match table.code {
            // The header and the high bits.
            TableCode::EliasFano => 1,
            _ => {
                let lines = table.block_size / LINE_LEN;
                // More lines than need a prefetch precede the deep part of a block.
                (lines * (depth as usize + 1) / 256 + 1)
                    .min(lines)
                    .min(MAX_LINES)
            }
        };
        for line in 0..lines {
            prefetch(self.file, start + line * LINE_LEN);
        }
    }

    #[inline(always)]
    fn run_tasks<C: Cpu>(
        &self,
        cpu: C,
        tasks: &mut Vec<Task<'a, F>>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        let mut all_checked = !self.cold;
        for task in tasks.iter() {
            all_checked &= task.probe.table.is_checked(task.block);
        }
        if !all_checked {
            let checked = self.fetch_and_check(tasks);
            if checked.is_err() {
                tasks.clear();
            }
            checked?;
        }
        findings.stats.blocks += tasks.len() as u64;
        for task in tasks.iter_mut() {
            if let TableCode::EliasFano = task.probe.table.code {
                self.seek(cpu, task);
            }
        }
        self.read_tasks(cpu, tasks, findings);
        tasks.clear();
        Ok(())
    }

    /// Finds the values of a task in its Elias-Fano block, and prefetches their low bits.
    #[inline(always)]
    fn seek<C: Cpu>(&self, cpu: C, task: &mut Task<'a, F>) {
        let (low, high) = (task.probe.low, task.probe.high);
        task.range = self.block(task).seek(cpu, low, high);
        if let Some(range) = &task.range {
            let start = task.probe.table.block_offset(task.block);
            let bytes = range.low_bytes();
            let lines = (bytes.end() - bytes.start()) / LINE_LEN;
            for line in 0..=lines.min(MAX_LINES) {
                prefetch(self.file, start + bytes.start() + line * LINE_LEN);
            }
        }
    }

    #[inline(always)]
    fn read_tasks<C: Cpu>(&self, cpu: C, tasks: &[Task<'a, F>], findings: &mut Findings<F>) {
        let mut comparison = Comparison {
            target: self,
            cpu,
            found: &mut findings.found,
            candidates: 0,
        };
        let order = &mut findings.order;
        for (i, task) in tasks.iter().enumerate() {
            match task.probe.table.code {
                TableCode::EliasFano => self.read_numbers(task, &mut comparison),
                TableCode::Xor(_) => order.push(order_key(0, task.depth, i)),
                TableCode::Gap(_) => order.push(order_key(1, task.depth, i)),
            }
        }
        order.sort_unstable();
        let mut rest = &order[..];
        while let Some(&first) = rest.first() {
            let taken = match first >> 16 {
                0 => self.read_in_step(tasks, rest, &XorRule, &mut comparison),
                _ => self.read_in_step(tasks, rest, &GapRule, &mut comparison),
            };
            rest = &rest[taken..];
        }
        order.clear();
        findings.stats.candidates += comparison.candidates;
    }

    #[inline(always)]
    fn read_numbers<C: Cpu>(&self, task: &Task<'a, F>, comparison: &mut Comparison<'a, '_, F, C>) {
        let block = self.block(task);
        let mut visitor = OfTask { task, comparison };
        if let Some(range) = &task.range {
            range.for_each(block.stream(), &mut visitor);
        }
        let place = || task.place(block.count() - 1);
        comparison.compare(&task.probe, block.span.key, place);
    }

    /// Reads the blocks of the first tasks of an order in step: those with the same rule, at most [`LANES`]. Returns
    /// their number.
    #[inline(always)]
    fn read_in_step<R: DeltaRule, C: Cpu>(
        &self,
        tasks: &[Task<'a, F>],
        order: &[u32],
        rule: &R,
        comparison: &mut Comparison<'a, '_, F, C>,
    ) -> usize {
        let first = &tasks[(order[0] & 0xff) as usize];
        let Some(first_code) = rule.code(&first.probe.table.code) else {
            return 1;
        };
        let mut blocks = [self.block(first).deltas(); LANES];
        let mut codes = [first_code; LANES];
        let mut probes = [first.probe; LANES];
        let mut used = 1;
        for key in order.iter().take(LANES).skip(1) {
            let task = &tasks[(key & 0xff) as usize];
            let Some(code) = rule.code(&task.probe.table.code) else {
                break;
            };
            blocks[used] = self.block(task).deltas();
            codes[used] = code;
            probes[used] = task.probe;
            used += 1;
        }
        let mut visitor = OfLanes {
            probes,
            used,
            comparison,
        };
        delta::for_each_in_step(blocks, rule, codes, &mut visitor);
        used
    }

    /// Checks the blocks that have not been used yet. Like any block of a cold file, they may not be in memory, so all
    /// of them are requested before the first is read.
    #[cold]
    #[inline(never)]
    fn fetch_and_check(&self, tasks: &[Task<'a, F>]) -> Result<(), FormatError> {
        for task in tasks {
            let table = task.probe.table;
            if self.cold || !table.is_checked(task.block) {
                let start = table.block_offset(task.block);
                will_need(&self.file[start..start + table.block_size]);
            }
        }
        for task in tasks {
            task.probe.table.block(self.file, task.block)?;
        }
        Ok(())
    }
}

/// Probes that run together.
struct LookUp<'a, 'b, F> {
    target: &'b Target<'a, F>,
    probes: &'b [Probe<'a, F>],
    tasks: &'b mut Vec<Task<'a, F>>,
    findings: &'b mut Findings<F>,
}

impl<F: Fingerprint> Work for LookUp<'_, '_, F> {
    type Output = Result<(), FormatError>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let LookUp {
            target,
            probes,
            tasks,
            findings,
        } = self;
        findings.stats.probes += probes.len() as u64;
        for probe in probes {
            probe.table.keys.prefetch_bucket(probe.low);
        }
        for probe in probes {
            probe.table.keys.prefetch_keys(probe.low);
        }
        let mut probes = probes.iter();
        // A probe and the first of its remaining blocks.
        let mut rest = None;
        loop {
            while tasks.len() < MAX_TASKS {
                let next = rest.take().or_else(|| {
                    let probe = probes.next()?;
                    Some((probe, probe.table.keys.first_at_least(probe.low)))
                });
                let Some((probe, block)) = next else {
                    break;
                };
                let keys = &probe.table.keys;
                if block == keys.len() {
                    continue;
                }
                tasks.push(target.task(probe, block));
                if keys.get(block) < probe.high {
                    rest = Some((probe, block + 1));
                }
            }
            if tasks.is_empty() {
                return Ok(());
            }
            target.run_tasks(cpu, tasks, findings)?;
        }
    }
}

/// Compares values with the query of a probe, and collects the results.
struct Comparison<'a, 'b, F, C> {
    target: &'b Target<'a, F>,
    cpu: C,
    found: &'b mut Vec<Found<F>>,
    candidates: u64,
}

impl<'a, F: Fingerprint, C: Cpu> Comparison<'a, '_, F, C> {
    #[inline(always)]
    fn compare(
        &mut self,
        probe: &Probe<'a, F>,
        value: F,
        place: impl FnOnce() -> Option<ValuePlace>,
    ) {
        // Checks both ends of the range in one comparison.
        if value.wrapping_sub(probe.low) > probe.high.wrapping_sub(probe.low) {
            return;
        }
        self.candidates += 1;
        let distance = value.distance(probe.query);
        if distance <= self.target.distance {
            self.keep(probe, value, distance, place());
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, probe: &Probe<'a, F>, value: F, distance: u32, place: Option<ValuePlace>) {
        let permutation = &probe.table.permutation;
        let place = place.filter(|_| probe.table.number == 0);
        self.found.push(Found {
            owner: probe.owner,
            found: Match {
                distance,
                fingerprint: permutation.invert_with(self.cpu, Permuted(value)),
                rank: place.and_then(|place| self.target.rank(place)),
            },
        });
    }
}

/// The visitor of the values of one task.
struct OfTask<'p, 'a, 'b, F, C> {
    task: &'p Task<'a, F>,
    comparison: &'p mut Comparison<'a, 'b, F, C>,
}

impl<F: Fingerprint, C: Cpu> Visit<F> for OfTask<'_, '_, '_, F, C> {
    #[inline(always)]
    fn visit(&mut self, index: usize, value: F) {
        let place = || self.task.place(index);
        self.comparison.compare(&self.task.probe, value, place);
    }
}

/// The visitor of the values of several lanes, one for each probe. Lanes from `used` on repeat the first and are
/// ignored.
struct OfLanes<'p, 'a, 'b, F, C> {
    probes: [Probe<'a, F>; LANES],
    used: usize,
    comparison: &'p mut Comparison<'a, 'b, F, C>,
}

impl<F: Fingerprint, C: Cpu> LaneVisit<F> for OfLanes<'_, '_, '_, F, C> {
    #[inline(always)]
    fn visit(&mut self, lane: usize, values: &[F]) {
        let probe = &self.probes[lane];
        let span = probe.high.wrapping_sub(probe.low);
        // Most chunks hold no candidate, which this finds for all values together, without a branch for each.
        let mut any = false;
        for &value in values {
            any |= value.wrapping_sub(probe.low) <= span;
        }
        if any && lane < self.used {
            for &value in values {
                self.comparison.compare(probe, value, || None);
            }
        }
    }

    #[inline(always)]
    fn is_done(&self, lane: usize, value: F) -> bool {
        value > self.probes[lane].high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_each_match_of_each_query_once() {
        let found = |owner, distance, fingerprint: u32| Found {
            owner,
            found: Match::unranked(distance, fingerprint),
        };
        let mut findings = Findings::default();
        findings.found.extend([
            found(1, 2, 9),
            found(0, 2, 9),
            found(0, 1, 8),
            found(0, 2, 9),
        ]);
        findings.merge();
        assert_eq!(
            findings.found,
            [found(0, 1, 8), found(0, 2, 9), found(1, 2, 9)]
        );
    }
}
