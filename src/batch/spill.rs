//! The pairs of values that exceed the memory: values are sorted in files for each mask of a cover, and searched group
//! by group.

use super::cover::Bits;
use super::emit::Emitter;
use super::group::{Rule, search};
use super::ordered::{Give, Worker, in_order};
use crate::design::{Permutation, Permuted};
use crate::error::{Error, Result};
use crate::extsort::{ValueCollector, ValueSpace, Values};
use crate::fingerprint::Fingerprint;

/// Nanoseconds to bring a value to the others of its group through a file.
const SPILL_NS: f64 = 60.0;

/// Values per task.
const TASK_LEN: usize = 1 << 16;

/// The size of the sample that shows how the bits vary.
const SAMPLE_LEN: u64 = 1024;

/// The callback that takes pairs, list after list.
pub(super) type Take<'a, F> = Give<'a, (F, F)>;

/// Finds the pairs of values in a file that count by a rule. A group that exceeds the memory goes to its own file and
/// is searched in the same way, since its values agree in more bits.
///
/// # Errors
/// Any error of temporary files or of `take`, and more values within the distance of each other than memory can hold.
pub(super) fn search_values<F: Fingerprint>(
    values: &mut Values<F>,
    rule: &Rule<F>,
    space: &ValueSpace,
    take: Take<'_, F>,
) -> Result<()> {
    let bits = look(values)?;
    if rule.is_met(bits.varying) {
        return Ok(());
    }
    let cover = bits.any_cover(rule.distance, values.len(), SPILL_NS);
    let masks = cover.ok_or_else(|| too_many::<F>(values.len(), rule.distance, space))?;
    for number in 0..masks.len() {
        let groups = GroupStream {
            permutation: Permutation::new(masks[number]),
            rule: rule.of_mask(&masks, number),
            space,
            pending: Vec::new(),
            spilled: None,
        };
        search_table(values, groups, take)?;
    }
    Ok(())
}

fn too_many<F: Fingerprint>(count: u64, distance: u32, space: &ValueSpace) -> Error {
    // Memory holds every value and its permuted copy.
    let each = 2 * F::BYTES as u64;
    Error::Budget {
        purpose: format!("comparing {count} fingerprints within distance {distance} of each other"),
        needed: count.saturating_mul(each),
        given: space.sort_budget as u64,
    }
}

/// Reads values to see which bits vary.
fn look<F: Fingerprint>(values: &mut Values<F>) -> Result<Bits<F>> {
    let step = values.len().div_ceil(SAMPLE_LEN).max(1) as usize;
    let (mut sample, mut varying, mut first) = (Vec::new(), F::ZERO, None);
    values.for_each_piece(&mut |piece| {
        sample.extend(piece.iter().step_by(step));
        for &value in piece {
            varying = varying | (value ^ *first.get_or_insert(value));
        }
        Ok(())
    })?;
    Ok(Bits::of_sample(varying, &sample))
}

/// Sorts values by a mask and searches the groups.
fn search_table<F: Fingerprint>(
    values: &mut Values<F>,
    mut groups: GroupStream<'_, F>,
    take: Take<'_, F>,
) -> Result<()> {
    let identity = Permutation::new(F::MAX);
    let sorter = values.sorter_for(
        &identity,
        &groups.permutation,
        groups.space,
        &mut |_| Ok(()),
    )?;
    let sorted = sorter.finish()?;
    sorted.for_each_round(|values| groups.push(values, take))?;
    groups.finish(take)
}

/// Cuts ascending permuted values into groups of equal prefixes.
struct GroupStream<'a, F> {
    permutation: Permutation<F>,
    /// The rule for pairs of a group.
    rule: Rule<F>,
    space: &'a ValueSpace,
    /// Permuted values whose groups are not yet searched.
    pending: Vec<F>,
    /// The start of the group that continues in `pending`.
    spilled: Option<ValueCollector<'a, F>>,
}

impl<F: Fingerprint> GroupStream<'_, F> {
    fn push(&mut self, values: &[F], take: Take<'_, F>) -> Result<()> {
        for part in values.chunks(TASK_LEN) {
            self.pending.extend_from_slice(part);
            if size_of_val(self.pending.as_slice()) > self.space.value_budget {
                self.search_complete(take)?;
            }
        }
        Ok(())
    }

    /// Searches all groups but the last, which may go on. A large last group goes to a file.
    fn search_complete(&mut self, take: Take<'_, F>) -> Result<()> {
        self.end_spilled(false, take)?;
        let last = self.pending.last().copied().unwrap_or_default();
        let start = self.permutation.prefix_range(Permuted(last)).0.0;
        let complete = self.pending.partition_point(|&value| value < start);
        self.search_pending(complete, take)?;
        if size_of_val(self.pending.as_slice()) > self.space.value_budget / 2 {
            let space = self.space;
            self.spilled
                .get_or_insert_with(|| ValueCollector::new(space));
            self.spill(self.pending.len())?;
        }
        Ok(())
    }

    /// Moves the first `count` pending values to the group in the file, as fingerprints.
    fn spill(&mut self, count: usize) -> Result<()> {
        let mut values: Vec<F> = self.pending.drain(..count).collect();
        let identity = Permutation::new(F::MAX);
        self.permutation.rearrange_all(&identity, &mut values);
        match &mut self.spilled {
            Some(spilled) => spilled.push(&values),
            None => Ok(()),
        }
    }

    /// Completes the group in the file, if there is one, and searches it once it is complete.
    fn end_spilled(&mut self, is_end: bool, take: Take<'_, F>) -> Result<()> {
        let Some(spilled) = &self.spilled else {
            return Ok(());
        };
        let Some(&first) = self.pending.first() else {
            return if is_end {
                self.search_spilled(take)
            } else {
                Ok(())
            };
        };
        let first = Permuted(first);
        let difference = spilled.last().unwrap_or_default() ^ self.permutation.invert(first);
        if difference & self.permutation.mask() != F::ZERO {
            return self.search_spilled(take);
        }
        let end = self.permutation.prefix_range(first).1.0;
        let count = self.pending.partition_point(|&value| value <= end);
        self.spill(count)?;
        match is_end || !self.pending.is_empty() {
            true => self.search_spilled(take),
            false => Ok(()),
        }
    }

    fn search_spilled(&mut self, take: Take<'_, F>) -> Result<()> {
        match self.spilled.take() {
            Some(spilled) => search_values(&mut spilled.finish()?, &self.rule, self.space, take),
            None => Ok(()),
        }
    }

    /// Searches the groups of the first `count` pending values on all threads.
    fn search_pending(&mut self, count: usize, take: Take<'_, F>) -> Result<()> {
        let identity = Permutation::new(F::MAX);
        let values = &mut self.pending[..count];
        self.permutation.rearrange_all(&identity, values);
        let tasks = cut(values, self.permutation.mask());
        let rule = &self.rule;
        let worker = || -> Worker<'_, (F, F)> {
            let tasks = &tasks;
            let mut group = Vec::new();
            Box::new(move |task, give| {
                let mut out = Emitter::new(give);
                for part in tasks[task].chunk_by(|&a, &b| (a ^ b) & rule.agreed == F::ZERO) {
                    group.clear();
                    group.extend_from_slice(part);
                    search(&mut group, rule, &mut out);
                }
                out.finish()
            })
        };
        in_order(tasks.len(), &worker, take)?;
        self.pending.drain(..count);
        Ok(())
    }

    /// Searches the remaining groups.
    fn finish(mut self, take: Take<'_, F>) -> Result<()> {
        self.end_spilled(true, take)?;
        self.search_pending(self.pending.len(), take)
    }
}

/// Divides values into parts such that adjacent values that agree on a mask stay together.
fn cut<F: Fingerprint>(values: &[F], mask: F) -> Vec<&[F]> {
    let mut parts = Vec::new();
    let mut rest = values;
    while !rest.is_empty() {
        let mut end = rest.len().min(TASK_LEN);
        while end < rest.len() && (rest[end - 1] ^ rest[end]) & mask == F::ZERO {
            end += 1;
        }
        let (part, behind) = rest.split_at(end);
        parts.push(part);
        rest = behind;
    }
    parts
}
