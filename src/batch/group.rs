//! Finds the near pairs of a group of values in memory. Small groups are compared all with all, large ones are divided.
//!
//! A pair may meet in several groups but counts only in the first. The difference of its values alone determines which
//! one that is, so no pair is remembered. Joins count the first common signature in the same way (Arasu, Ganti and
//! Kaushik, "Efficient exact set-similarity joins", VLDB 2006).

use super::cover::{Bits, varying};
use super::emit::Emitter;
use super::forest::span;
use super::ordered::{Give, Worker, in_order};
use crate::cpu::{Cpu, Work, dispatch};
use crate::design::{Permutation, Permuted};
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// Groups of at most this many values are always compared all with all.
const FEW: usize = 1024;

/// Number of values that one vector step compares with another value.
pub(super) const STEP: usize = 16;

/// Nanoseconds to sort one value of a group.
const SORT_NS: f64 = 45.0;

/// Groups with more values than this are sorted on all threads.
const MANY: usize = 1 << 16;

/// The pairs that count in a group.
#[derive(Debug, Clone)]
pub(super) struct Rule<F> {
    pub(super) distance: u32,
    /// Bits in which the values of a pair must agree. The search brings such values together.
    pub(super) agreed: F,
    /// The masks before this one. Pairs that agree on one of them have already met.
    pub(super) before: Vec<F>,
    /// Whether only enough pairs are needed to link the values.
    pub(super) spans: bool,
    /// Groups up to this size are compared all with all.
    few: usize,
    /// Estimated nanoseconds to sort a value.
    sort_ns: f64,
}

impl<F: Fingerprint> Rule<F> {
    /// Creates a rule by which every pair within a distance counts.
    pub(super) fn new(distance: u32) -> Self {
        Rule {
            distance,
            agreed: F::ZERO,
            before: Vec::new(),
            spans: false,
            few: FEW,
            sort_ns: SORT_NS,
        }
    }

    /// Creates a rule by which enough pairs within a distance count to link all values that such pairs link.
    pub(super) fn spanning(distance: u32) -> Self {
        Rule {
            spans: true,
            ..Self::new(distance)
        }
    }

    /// Divides groups of more than `few` values whenever that leaves fewer comparisons.
    #[cfg(test)]
    pub(super) fn with_few(mut self, few: usize) -> Self {
        self.few = few;
        self.sort_ns = 0.0;
        self
    }

    /// Returns the rule of values that agree on `mask`, if pairs that agree on a mask of `before` have already met.
    pub(super) fn that_agree(mut self, mask: F, before: &[F]) -> Self {
        self.agreed = mask;
        self.before = before.to_vec();
        self
    }

    /// The rule of the groups that agree on mask `number` of a cover.
    pub(super) fn of_mask(&self, masks: &[F], number: usize) -> Self {
        Rule {
            distance: self.distance,
            agreed: self.agreed | masks[number],
            before: [&self.before, &masks[..number]].concat(),
            spans: self.spans,
            few: self.few,
            sort_ns: self.sort_ns,
        }
    }

    /// Returns whether the values of a pair with this difference agree in all required bits.
    #[inline(always)]
    pub(super) fn agrees(&self, difference: F) -> bool {
        difference & self.agreed == F::ZERO
    }

    /// Returns whether a pair with this difference counts here. The difference must be within the distance.
    #[inline(always)]
    pub(super) fn counts(&self, difference: F) -> bool {
        let mut counts = self.agrees(difference);
        for &mask in &self.before {
            counts &= difference & mask != F::ZERO;
        }
        counts
    }

    /// Returns whether no pair can count if the values differ only in these bits.
    pub(super) fn is_met(&self, varying: F) -> bool {
        self.before.iter().any(|&mask| mask & varying == F::ZERO)
    }
}

/// Finds the pairs of a group, and changes the order of its values. Memory does not depend on the number of pairs. For
/// many values this takes much less time than comparing all pairs, unless most values are near each other.
pub(super) fn search<F: Fingerprint>(group: &mut [F], rule: &Rule<F>, out: &mut Emitter<'_, F>) {
    if group.len() <= rule.few {
        return compare_all(group, rule, out);
    }
    let varying = varying(group);
    if rule.is_met(varying) {
        return;
    }
    if varying & rule.agreed != F::ZERO {
        return search_parts(group, rule.agreed, rule, out);
    }
    match Bits::of(group).cover(rule.distance, group.len() as u64, rule.sort_ns) {
        None => compare_all(group, rule, out),
        Some(masks) => {
            for number in 0..masks.len() {
                let rule = rule.of_mask(&masks, number);
                search_parts(group, masks[number], &rule, out);
            }
        }
    }
}

/// Finds the pairs within each part of a group whose values agree on a mask.
fn search_parts<F: Fingerprint>(
    group: &mut [F],
    mask: F,
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    sort_by_mask(group, mask);
    for part in group.chunk_by_mut(|&a, &b| (a ^ b) & mask == F::ZERO) {
        if out.is_over() {
            return;
        }
        search(part, rule, out);
    }
}

/// Sorts values so that those that agree on a mask are adjacent.
fn sort_by_mask<F: Fingerprint>(values: &mut [F], mask: F) {
    let permutation = Permutation::new(mask);
    let permute = |values: &mut [F], forward| {
        let permutation = &permutation;
        dispatch(Permute {
            values,
            permutation,
            forward,
        });
    };
    permute(values, true);
    match values.len() {
        0..MANY => values.sort_unstable(),
        _ => F::sort(values),
    }
    permute(values, false);
}

struct Permute<'a, F> {
    values: &'a mut [F],
    permutation: &'a Permutation<F>,
    forward: bool,
}

impl<F: Fingerprint> Work for Permute<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        for value in self.values {
            *value = match self.forward {
                true => self.permutation.apply_with(cpu, *value).0,
                false => self.permutation.invert_with(cpu, Permuted(*value)),
            };
        }
    }
}

fn compare_all<F: Fingerprint>(group: &mut [F], rule: &Rule<F>, out: &mut Emitter<'_, F>) {
    dispatch(CompareAll { group, rule, out });
}

struct CompareAll<'a, 'b, F> {
    group: &'a mut [F],
    rule: &'a Rule<F>,
    out: &'a mut Emitter<'b, F>,
}

impl<F: Fingerprint> Work for CompareAll<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        compare_pairs(self.group, self.rule, self.out);
    }
}

/// Compares all values of a group with each other, or only enough of them to link it.
#[inline(always)]
pub(super) fn compare_pairs<F: Fingerprint>(
    group: &mut [F],
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    if rule.spans {
        return span(group, rule, out);
    }
    compare_rows(group, group.len(), rule, out);
}

/// Compares each of the first `count` values with all after it, if all pairs count.
#[inline(always)]
fn compare_rows<F: Fingerprint>(
    values: &[F],
    count: usize,
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    let mut rest = values;
    for _ in 0..count {
        let [value, others @ ..] = rest else { return };
        if others.len() >= STEP {
            out.compared(others.len());
            if out.is_over() {
                return;
            }
        }
        compare(*value, others, rule, out);
        rest = others;
    }
}

struct CompareRows<'a, 'b, F> {
    values: &'a [F],
    count: usize,
    rule: &'a Rule<F>,
    out: &'a mut Emitter<'b, F>,
}

impl<F: Fingerprint> Work for CompareRows<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        compare_rows(self.values, self.count, self.rule, self.out);
    }
}

/// Compares all values with each other, on all threads of the current pool. A part compares `part_len` values with all
/// after them; an empty list ends it.
///
/// # Errors
/// Any error of `take`.
pub(super) fn compare_in_parts<F: Fingerprint>(
    values: &[F],
    part_len: usize,
    rule: &Rule<F>,
    take: Give<'_, (F, F)>,
) -> Result<()> {
    let worker = || -> Worker<'_, (F, F)> {
        Box::new(move |part, give| {
            let mut out = Emitter::new(give);
            dispatch(CompareRows {
                values: &values[part * part_len..],
                count: part_len,
                rule,
                out: &mut out,
            });
            out.finish()
        })
    };
    in_order(values.len().div_ceil(part_len), &worker, take)
}

/// Compares a value with others, in vector steps as long as none of them is near.
#[inline(always)]
fn compare<F: Fingerprint>(value: F, others: &[F], rule: &Rule<F>, out: &mut Emitter<'_, F>) {
    let (steps, rest) = others.as_chunks::<STEP>();
    for step in steps {
        if least_distance(value, step) <= rule.distance {
            compare_one_by_one(value, step, rule, out);
        }
    }
    compare_one_by_one(value, rest, rule, out);
}

#[inline(always)]
fn compare_one_by_one<F: Fingerprint>(
    value: F,
    others: &[F],
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    for &other in others {
        let difference = value ^ other;
        if difference.count_ones() <= rule.distance && rule.counts(difference) {
            out.push(value, other);
        }
    }
}

#[inline(always)]
pub(super) fn least_distance<F: Fingerprint>(value: F, others: &[F; STEP]) -> u32 {
    let mut least = F::WIDTH;
    for &other in others {
        least = least.min((value ^ other).count_ones());
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the pairs found when groups above `few` are divided. The smaller value comes first in each.
    fn found(values: &[u32], distance: u32, few: usize) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        let mut take = |found: &mut Vec<(u32, u32)>| {
            pairs.extend(found.iter().map(|&(x, y)| (x.min(y), x.max(y))));
            Ok(())
        };
        let mut out = Emitter::new(&mut take);
        let rule = Rule::new(distance).with_few(few);
        search(&mut values.to_vec(), &rule, &mut out);
        out.finish().unwrap();
        pairs.sort_unstable();
        pairs
    }

    fn expected(values: &[u32], distance: u32) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (i, &x) in values.iter().enumerate() {
            let near = values[i + 1..].iter().copied();
            let near = near.filter(|y| (x ^ y).count_ones() <= distance);
            pairs.extend(near.map(|y| (x.min(y), x.max(y))));
        }
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #[test]
        fn refined_groups_have_the_pairs_of_the_whole(
            mut values in prop::collection::hash_set(any::<u32>(), 0..200),
            mask: u32, narrow: u32, distance in 0u32..6, few in 0usize..40,
        ) {
            // Groups are large, because some bits are the same in all values.
            let values: Vec<u32> = values.drain().map(|v| v & (mask & narrow)).collect();
            let values: std::collections::BTreeSet<u32> = values.into_iter().collect();
            let values: Vec<u32> = values.into_iter().collect();
            prop_assert_eq!(found(&values, distance, few), expected(&values, distance));
        }
    }

    #[test]
    fn a_dense_run_is_refined_to_the_end() {
        let values: Vec<u32> = (0..3000).collect();
        for (distance, few) in [(0, 2), (1, 2), (2, 8), (3, 4), (5, 64), (20, 8)] {
            let found = found(&values, distance, few);
            assert!(found == expected(&values, distance), "{distance}, {few}");
        }
    }
}
