//! The pairs that link a group, when only connectivity counts: a crowd needs few of its pairs.
//!
//! Clusters depend on which values are connected, not on the number of pairs. A group of 100,000 copies has five
//! billion pairs, and 100,000 of them give the same cluster.

use super::emit::Emitter;
use super::group::{Rule, STEP, least_distance};
use crate::fingerprint::Fingerprint;

/// Pushes enough pairs to link all values of a group that steps between near values connect. Changes the order of the
/// values.
///
/// Values that met in a group of an earlier mask were linked there: a step between them is taken but not pushed. Values
/// that do not agree on the mask share the group by chance, so no step between them is taken. Their pair may count at a
/// later mask, which then relies on the steps of this one.
#[inline(always)]
pub(super) fn span<F: Fingerprint>(group: &mut [F], rule: &Rule<F>, out: &mut Emitter<'_, F>) {
    // All values before `reached` have been reached.
    let mut reached = 0;
    for done in 0..group.len() {
        reached = reached.max(done + 1);
        if reached == group.len() || out.is_over() {
            return;
        }
        out.compared(group.len() - reached);
        reach_from(done, &mut reached, group, rule, out);
    }
}

/// Moves all values near the value at `from` to the reached ones.
#[inline(always)]
fn reach_from<F: Fingerprint>(
    from: usize,
    reached: &mut usize,
    group: &mut [F],
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    let value = group[from];
    let mut at = *reached;
    while let Some(step) = group[at..].first_chunk::<STEP>() {
        if least_distance(value, step) <= rule.distance {
            reach_each(value, at..at + STEP, reached, group, rule, out);
        }
        at += STEP;
    }
    reach_each(value, at..group.len(), reached, group, rule, out);
}

#[inline(always)]
fn reach_each<F: Fingerprint>(
    value: F,
    places: std::ops::Range<usize>,
    reached: &mut usize,
    group: &mut [F],
    rule: &Rule<F>,
    out: &mut Emitter<'_, F>,
) {
    for at in places {
        let difference = value ^ group[at];
        if difference.count_ones() <= rule.distance && rule.agrees(difference) {
            if rule.counts(difference) {
                out.push(value, group[at]);
            }
            // `group[*reached]` has already been compared with `value`.
            group.swap(at, *reached);
            *reached += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disjoint_sets::DisjointSets;
    use super::super::group::search;
    use super::*;
    use proptest::prelude::*;

    /// Returns for each number the least number of its connected component.
    fn parts(values: &[u32], pairs: &[(u32, u32)]) -> Vec<usize> {
        let mut sets = DisjointSets::new(values.len()).unwrap();
        let number = |value| values.iter().position(|&v| v == value).unwrap() as u32;
        for &(x, y) in pairs {
            sets.join(number(x), number(y));
        }
        let roots: Vec<u32> = (0..values.len()).map(|i| sets.root(i as u32)).collect();
        let least = |root| roots.iter().position(|r| r == root).unwrap();
        roots.iter().map(least).collect()
    }

    fn found(values: &[u32], rule: &Rule<u32>) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        let mut take = |found: &mut Vec<(u32, u32)>| {
            pairs.append(found);
            Ok(())
        };
        let mut out = Emitter::new(&mut take);
        search(&mut values.to_vec(), rule, &mut out);
        out.finish().unwrap();
        pairs
    }

    proptest! {
        #[test]
        fn a_forest_links_what_all_pairs_link(
            mut values in prop::collection::hash_set(any::<u32>(), 0..200),
            mask: u32, narrow: u32, distance in 0u32..6, few in 0usize..40,
        ) {
            let values: std::collections::BTreeSet<u32> =
                values.drain().map(|v| v & (mask & narrow)).collect();
            let values: Vec<u32> = values.into_iter().collect();
            let all = found(&values, &Rule::new(distance));
            let forest = found(&values, &Rule::spanning(distance).with_few(few));
            prop_assert!(forest.iter().all(|(x, y)| x != y && (x ^ y).count_ones() <= distance));
            prop_assert_eq!(parts(&values, &forest), parts(&values, &all));
        }
    }

    #[test]
    fn a_crowd_takes_as_many_pairs_as_it_has_values() {
        let values: Vec<u32> = (0..1000).collect();
        assert_eq!(found(&values, &Rule::spanning(10)).len(), 999);
        assert_eq!(found(&values, &Rule::new(10)).len(), 999 * 500);
    }
}
