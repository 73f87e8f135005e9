//! Queries over ranges: a round for the keys that they need, and a round for the blocks.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::source::{Parts, ReadRanges};
use super::{GroupPlace, RangedIndex, RangedTable};
use crate::codec::block::Block;
use crate::codec::keys::{self, GROUP_KEYS};
use crate::codec::span::Span;
use crate::design::{Permuted, TableProbes};
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, place_checksum};
use crate::index::blocks::block_fault;
use crate::index::file_bytes::FileBytes;
use crate::index::flips::Ranges;
use crate::index::open::read_key_group;
use crate::index::query::Match;
use crate::index::table::ValuePlace;

/// Probes that are carried out in the same two rounds.
const PROBES_TOGETHER: usize = 1 << 16;

/// Probes of tables in lines that are carried out in the same rounds.
const PROBES_OF_LINES: usize = 1 << 12;

/// Lines by the leading bits that a scan reads in the same rounds.
const SCANNED_LINES: usize = 1 << 13;

/// Key groups of which a scan reads all blocks in a round.
const SCANNED_GROUPS: usize = 32;

/// One look-up: the values from `low` to `high` of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe<F> {
    /// Number of the query.
    pub(super) owner: usize,
    pub(super) table: usize,
    pub(super) low: F,
    pub(super) high: F,
}

/// A block to be decoded for a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    table: usize,
    block: usize,
    probe: usize,
}

/// What is done with each value that a probe finds, with its place if the table is in blocks.
type Visit<'v, F> = &'v mut dyn FnMut(&Probe<F>, Option<ValuePlace>, F);

impl<F: Fingerprint, R: ReadRanges> RangedIndex<F, R> {
    /// All fingerprints within `distance` of `fingerprint`, by distance, then by value: at most two rounds, unless a scan of
    /// the file is cheaper than the probes. The matches have no ranks.
    ///
    /// # Errors
    /// What the source reports, or a damaged block or key group among those that had to be read.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        let answers = self.query_many(&[fingerprint], distance)?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// The answers to several queries, in their order, in the rounds that one of them takes.
    ///
    /// # Errors
    /// As for [`RangedIndex::query`].
    pub fn query_many(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        let mut answers = vec![Vec::new(); fingerprints.len()];
        match self.plan(distance).best() {
            Some(plan) => self.probe_all(fingerprints, plan, distance, &mut answers)?,
            None => self.scan(fingerprints, distance, &mut answers)?,
        }
        for answer in &mut answers {
            answer.sort_unstable();
            answer.dedup();
        }
        Ok(answers)
    }

    fn probe_all(
        &self,
        fingerprints: &[F],
        plan: &[TableProbes],
        distance: u32,
        answers: &mut [Vec<Match<F>>],
    ) -> Result<()> {
        let mut visit = |probe: &Probe<F>, _, value| {
            let permutation = &self.tables[probe.table].permutation;
            let found = permutation.invert(Permuted(value));
            admit(
                found,
                fingerprints[probe.owner],
                distance,
                &mut answers[probe.owner],
            );
        };
        let mut probes = Vec::new();
        for (owner, &fingerprint) in fingerprints.iter().enumerate() {
            for of_table in plan {
                let query = self.tables[of_table.table].permutation.apply(fingerprint).0;
                let mut ranges = Ranges::new(query, of_table);
                while let Some((low, high)) = ranges.next_range() {
                    probes.push(Probe {
                        owner,
                        table: of_table.table,
                        low,
                        high,
                    });
                    if probes.len() == PROBES_TOGETHER {
                        self.run(&probes, &mut visit)?;
                        probes.clear();
                    }
                }
            }
        }
        self.run(&probes, &mut visit)
    }

    /// Compares all fingerprints of table 0, whose order is that of the fingerprints.
    fn scan(&self, fingerprints: &[F], distance: u32, answers: &mut [Vec<Match<F>>]) -> Result<()> {
        let mut compare = |low, high| {
            let probe = Probe {
                owner: 0,
                table: 0,
                low,
                high,
            };
            self.run(&[probe], &mut |_, _, value| {
                for (&fingerprint, answer) in fingerprints.iter().zip(&mut *answers) {
                    admit(value, fingerprint, distance, answer);
                }
            })
        };
        let table = &self.tables[0];
        if let Some(lines) = &table.lines {
            return (0..lines.part_count())
                .step_by(SCANNED_LINES)
                .try_for_each(|part| {
                    let last = lines.part_count().min(part + SCANNED_LINES) - 1;
                    compare(lines.place(part as u64).base, lines.last_of_part(last))
                });
        }
        let mut low = F::ZERO;
        for some in table.entries.chunks(SCANNED_GROUPS) {
            let high = some[some.len() - 1].last;
            compare(low, high)?;
            // The last key of a table has none above it.
            low = high.wrapping_add(F::from_u128(1));
        }
        Ok(())
    }

    /// Carries out some probes in two rounds.
    pub(super) fn run(&self, probes: &[Probe<F>], visit: Visit<'_, F>) -> Result<()> {
        for some in probes.chunks(PROBES_OF_LINES) {
            for (number, value) in self.in_rounds(|file| self.values_in_lines(some, file))? {
                visit(&some[number], None, value);
            }
        }
        let groups = probes.iter().flat_map(|probe| {
            let groups = self.tables[probe.table].groups_between(probe.low, probe.high);
            groups.map(|group| (probe.table, group))
        });
        let groups: BTreeSet<GroupPlace> = groups.collect();
        let keys = self.read_keys(&groups)?;
        let mut tasks = Vec::new();
        for (number, probe) in probes.iter().enumerate() {
            let table = &self.tables[probe.table];
            for group in table.groups_between(probe.low, probe.high) {
                let keys = keys.of(probe.table, group);
                let first = keys.partition_point(|&key| key < probe.low);
                for (i, &key) in keys.iter().enumerate().skip(first) {
                    tasks.push(Task {
                        table: probe.table,
                        block: group * GROUP_KEYS + i,
                        probe: number,
                    });
                    if key >= probe.high {
                        break;
                    }
                }
            }
        }
        tasks.sort_unstable();
        let ranges = tasks.iter().map(|task| self.block_range(task));
        let parts = Parts::read(&self.source, ranges.collect())?;
        let mut values = Vec::new();
        for of_block in tasks.chunk_by(|a, b| (a.table, a.block) == (b.table, b.block)) {
            let task = of_block[0];
            let span = self.span(&keys, task);
            let bytes = parts.get(self.block_range(&task));
            self.decode(task, bytes, span, &mut values)?;
            for task in of_block {
                let probe = &probes[task.probe];
                let from = values.partition_point(|&value| value < probe.low);
                for (index, &value) in values.iter().enumerate().skip(from) {
                    if value > probe.high {
                        break;
                    }
                    let block = task.block;
                    let place = ValuePlace { part: block, index };
                    visit(probe, Some(place), value);
                }
            }
        }
        Ok(())
    }

    /// The values that some probes find in tables in lines, each with the number of its probe.
    fn values_in_lines(
        &self,
        probes: &[Probe<F>],
        file: FileBytes<'_>,
    ) -> Result<Vec<(usize, F)>, FormatError> {
        let (mut values, mut result) = (Vec::new(), Ok(()));
        for (number, probe) in probes.iter().enumerate() {
            if let Some(table) = &self.tables[probe.table].lines {
                let bounds = (probe.low, probe.high);
                let take = &mut |value| values.push((number, value));
                let read = table.for_each_between(file, bounds, take);
                result = result.and(read);
            }
        }
        result.map(|()| values)
    }

    /// Some key groups: those that are not known yet are read in one round.
    fn read_keys(&self, groups: &BTreeSet<GroupPlace>) -> Result<SomeKeys<F>> {
        let mut known = SomeKeys(Vec::with_capacity(groups.len()));
        let mut unknown = Vec::new();
        {
            let keys = self.lock_keys();
            for &place in groups {
                match keys.get(&place) {
                    Some(keys) => known.0.push((place, keys.clone())),
                    None => unknown.push(place),
                }
            }
        }
        let ranges = unknown
            .iter()
            .map(|&(t, group)| self.tables[t].group_range(group));
        let parts = Parts::read(&self.source, ranges.collect())?;
        for &(number, group) in &unknown {
            let table = &self.tables[number];
            let bytes = parts.get(table.group_range(group));
            let record = (number, &self.directory.tables[number]);
            let mut keys = Vec::with_capacity(GROUP_KEYS);
            read_key_group(bytes, &table.entries, group, record, &mut keys)?;
            let keys: Arc<[F]> = keys.into();
            known.0.push(((number, group), keys.clone()));
            self.lock_keys().insert((number, group), keys);
        }
        known.0.sort_unstable_by_key(|(place, _)| *place);
        Ok(known)
    }

    fn block_range(&self, task: &Task) -> Range<u64> {
        let len = u64::from(self.directory.block_size);
        let start = self.tables[task.table].blocks.start + task.block as u64 * len;
        start..start + len
    }

    /// What the keys say about a block.
    fn span(&self, keys: &SomeKeys<F>, task: Task) -> Span<F> {
        let (group, index) = (task.block / GROUP_KEYS, task.block % GROUP_KEYS);
        let of_group = keys.of(task.table, group);
        let before = || {
            let entries = &self.tables[task.table].entries;
            group.checked_sub(1).map(|group| entries[group].last)
        };
        Span {
            previous: index.checked_sub(1).map(|i| of_group[i]).or_else(before),
            key: of_group[index],
        }
    }

    /// The values of a block, all rules checked but V27.
    fn decode(
        &self,
        task: Task,
        bytes: &[u8],
        span: Span<F>,
        values: &mut Vec<F>,
    ) -> Result<(), FormatError> {
        values.clear();
        let fault = |rule, message: &str| {
            FormatError::damaged(rule, message)
                .in_table(task.table)
                .in_block(task.block)
                .at(self.block_range(&task).start)
        };
        if bytes.len() != self.directory.block_size as usize {
            return Err(fault(15, "the block is not in the file"));
        }
        let Some(code) = &self.tables[task.table].code else {
            return Err(fault(15, "the table is not in blocks"));
        };
        let block = Block::new(bytes, code, span);
        let place = place_checksum(Kind::Blocks, task.table, task.block);
        let decoded = block.validate(place).and_then(|()| {
            block.for_each(|value| {
                values.push(value);
                true
            })
        });
        match decoded {
            Ok(_) => Ok(()),
            Err(error) => {
                let (rule, message) = block_fault(error);
                Err(fault(rule, &message))
            }
        }
    }
}

/// Key groups in the order of their places.
struct SomeKeys<F>(Vec<(GroupPlace, Arc<[F]>)>);

impl<F> SomeKeys<F> {
    /// The keys of a group; none if it was not asked for.
    fn of(&self, table: usize, group: usize) -> &[F] {
        let found = self
            .0
            .binary_search_by_key(&(table, group), |(place, _)| *place);
        found.map_or(&[], |at| &self.0[at].1)
    }
}

impl<F: Fingerprint> RangedTable<F> {
    /// The key groups of the blocks that can hold values of a range.
    fn groups_between(&self, low: F, high: F) -> Range<usize> {
        let first = self.entries.partition_point(|entry| entry.last < low);
        let last = self.entries.partition_point(|entry| entry.last < high);
        first..self.entries.len().min(last + 1)
    }

    /// Where a key group is in the file.
    fn group_range(&self, group: usize) -> Range<u64> {
        let start = group
            .checked_sub(1)
            .map_or(0, |before| self.entries[before].end);
        self.groups.start + start..self.groups.start + self.entries[group].end
    }
}

/// Adds a fingerprint to an answer if it is near enough.
fn admit<F: Fingerprint>(found: F, query: F, distance: u32, answer: &mut Vec<Match<F>>) {
    let between = (found ^ query).count_ones();
    if between <= distance {
        answer.push(Match::unranked(between, found));
    }
}

const _: () = assert!(keys::GROUP_KEYS <= PROBES_TOGETHER);
