//! Connected components of values that pairs link.

use super::disjoint_sets::DisjointSets;
use super::ranks::Ranks;
use crate::error::Result;
use crate::fingerprint::{Column, Fingerprint, Fingerprints, by_width};

/// Finds for each value in a pair the least value of its connected component. Returns the values in order and the least
/// of each. The two columns hold the two ends of each pair.
///
/// Sorts the values once and links their numbers: about 100 ns and 40 bytes for each pair of 64-bit values.
///
/// ```
/// use simidx::Fingerprints;
///
/// let (values, least) = simidx::batch::rounds::components(&[9u64, 3, 4], &[7u64, 9, 5])?;
/// assert_eq!(values, Fingerprints::W64(vec![3, 4, 5, 7, 9]));
/// assert_eq!(least, Fingerprints::W64(vec![3, 4, 4, 3, 3]));
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// 2^32 or more values, and columns of two widths.
///
/// # Panics
/// If one column is longer than the other.
pub fn components<'c>(
    left: impl Into<Column<'c>>,
    right: impl Into<Column<'c>>,
) -> Result<(Fingerprints, Fingerprints)> {
    let (left, right) = (left.into(), right.into());
    by_width!(Column, left, left => {
        let (values, least) = linked(left, right.values()?)?;
        Ok((values.into(), least.into()))
    })
}

fn linked<F: Fingerprint>(left: &[F], right: &[F]) -> Result<(Vec<F>, Vec<F>)> {
    assert_eq!(left.len(), right.len(), "pairs with one end");
    let mut values = [left, right].concat();
    F::sort(&mut values);
    values.dedup();
    let mut sets = DisjointSets::new(values.len())?;
    let ranks = Ranks::new(&values);
    for (&x, &y) in left.iter().zip(right) {
        sets.join(ranks.rank(x), ranks.rank(y));
    }
    // Values ascend, so the first of a component is its least.
    let mut least_of: Vec<u32> = vec![u32::MAX; values.len()];
    let mut least = Vec::with_capacity(values.len());
    for number in 0..values.len() as u32 {
        let of = &mut least_of[sets.root(number) as usize];
        *of = (*of).min(number);
        least.push(values[*of as usize]);
    }
    Ok((values, least))
}

/// Returns the place of each value in an ascending list of distinct values; `None` if it is not there.
///
/// ```
/// let places = simidx::batch::rounds::positions_in(&[3u64, 5, 9], &[9u64, 4])?;
/// assert_eq!(places, [Some(2), None]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// Columns of two widths.
pub fn positions_in<'c>(
    ordered: impl Into<Column<'c>>,
    values: impl Into<Column<'c>>,
) -> Result<Vec<Option<usize>>> {
    let (ordered, values) = (ordered.into(), values.into());
    by_width!(Column, ordered, ordered => Ok(positions(ordered, values.values()?)))
}

fn positions<F: Fingerprint>(ordered: &[F], values: &[F]) -> Vec<Option<usize>> {
    let ranks = Ranks::new(ordered);
    let position = |&value: &F| ranks.find(value).map(|rank| rank as usize);
    values.iter().map(position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn components_are_what_steps_reach(pairs in prop::collection::vec((0u32..60, 0u32..60), 0..50)) {
            let (left, right): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            let (values, least) = linked(&left, &right).unwrap();
            let mut expected = values.clone();
            for _ in 0..values.len() {
                for &(x, y) in &pairs {
                    let at = |value| values.binary_search(&value).unwrap();
                    let label = expected[at(x)].min(expected[at(y)]);
                    expected[at(x)] = label;
                    expected[at(y)] = label;
                }
            }
            prop_assert!(values.is_sorted());
            prop_assert_eq!(least, expected);
        }

        #[test]
        fn positions_are_those_of_a_scan(
            ordered in prop::collection::btree_set(any::<u32>(), 0..300), shift in 0u32..32,
            values in prop::collection::vec(any::<u32>(), 0..50),
        ) {
            let ordered: std::collections::BTreeSet<u32> = ordered.into_iter().map(|v| v >> shift).collect();
            let ordered: Vec<u32> = ordered.into_iter().collect();
            let values: Vec<u32> = values.into_iter().map(|v| v >> shift).chain(ordered.iter().copied()).collect();
            let expected: Vec<_> = values.iter().map(|v| ordered.iter().position(|o| o == v)).collect();
            prop_assert_eq!(positions_in(&ordered, &values).unwrap(), expected);
        }
    }
}
