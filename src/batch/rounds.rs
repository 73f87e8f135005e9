//! Rounds of a search for pairs on many machines. Each round sends the values that agree on a mask to one place, where
//! they are compared.
//!
//! The masks of a cover divide the work as they do in memory. If too many values for one place agree on a mask, they
//! are divided again by a cover of the other bits. A sample shows which values these are before any value is sent.
//!
//! This module, with the functions that it re-exports, serves the package `simidx_spark` and may change in any version.

use std::collections::HashMap;

pub use super::components::{components, positions_in};
use super::cover::Bits;
use super::emit::Emitter;
use super::group::{Rule, search};
use super::pairs::FEW;
use super::partition::Buckets;
use super::spill::Take;
use crate::error::Result;
use crate::fingerprint::{Column, Fingerprint, Fingerprints, by_width};

/// Nanoseconds to send one value and look at its group.
const SEND_NS: f64 = 60.0;

/// The most times that values which are too many for one place are divided again.
const MOST_DEPTH: usize = 3;

/// The least number of values of a sample that must agree on a mask to count as a crowd.
const LEAST_SEEN: usize = 8;

/// The properties of the fingerprints that a choice of rounds depends on.
///
/// ```
/// use simidx::batch::rounds::{RoundsRequest, choose};
///
/// let values = [0xff00u64, 0xff01, 0x1234_5678_0000_0000];
/// let request = RoundsRequest {
///     distance: 3,
///     count: 3,
///     varying: u128::MAX,
///     sample: (&values).into(),
///     largest_share: 0.01,
/// };
/// assert_eq!(choose(&request).len(), 1); // so few are compared all with all
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RoundsRequest<'a> {
    /// The largest distance of a pair.
    pub distance: u32,
    /// The approximate number of distinct fingerprints.
    pub count: u64,
    /// Bits in which not all fingerprints agree. Additional bits are harmless.
    pub varying: u128,
    /// An evenly drawn sample of the fingerprints. It also determines their width.
    pub sample: Column<'a>,
    /// The largest share of all fingerprints that may meet in one place; larger groups are divided.
    pub largest_share: f64,
}

/// One round: the values that take part, the bits by which they meet, and the pairs that count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PairRound {
    /// Bits in which values that take part equal [`value`](Self::value).
    pub within: u128,
    /// The values of the bits in `within`.
    pub value: u128,
    /// Further bits in which values must agree to meet.
    pub mask: u128,
    /// Masks of earlier rounds. A pair that agrees on one of them has met before and does not count here.
    pub before: Vec<u128>,
    /// Values under the mask that have their own rounds, ascending.
    pub divided: Vec<u128>,
}

/// Chooses the rounds of a search. Equal requests give equal rounds. The time is negligible.
///
/// Each pair within the distance counts in exactly one round. The caller sends the values: in each round, all values
/// that take part and are equal under its mask must come to the same place, which [`PairRound::scatter`] ensures.
/// [`PairRound::find`] then finds the pairs of a place, whose values must be distinct.
///
/// ```
/// use simidx::batch::rounds::{RoundsRequest, choose};
///
/// let values: Vec<u64> = (0..5000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).chain([1]).collect();
/// let request = RoundsRequest {
///     distance: 3,
///     count: 5001,
///     varying: u128::MAX,
///     sample: (&values).into(),
///     largest_share: 0.1,
/// };
/// let mut pairs = Vec::new();
/// for round in choose(&request) {
///     let (values, ends) = round.scatter(&values, 4);
///     let values = values.as_slice::<u64>().unwrap();
///     let mut start = 0;
///     for end in ends {
///         round.find(3, &values[start..end], false, |x, y| pairs.push((x.min(y), x.max(y))))?;
///         start = end;
///     }
/// }
/// assert!(pairs.contains(&(0, 1)));
/// # Ok::<(), simidx::Error>(())
/// ```
pub fn choose(request: &RoundsRequest<'_>) -> Vec<PairRound> {
    by_width!(Column, request.sample, sample => chosen(request, sample))
}

impl PairRound {
    /// Returns the values that take part, grouped by place, and the end of each place's group.
    ///
    /// # Panics
    /// If `places` is 0.
    pub fn scatter<'c>(
        &self,
        values: impl Into<Column<'c>>,
        places: usize,
    ) -> (Fingerprints, Vec<usize>) {
        by_width!(Column, values.into(), values => self.scatter_typed(values, places))
    }

    fn scatter_typed<F: Fingerprint>(
        &self,
        values: &[F],
        places: usize,
    ) -> (Fingerprints, Vec<usize>) {
        let [within, expected, mask] = [self.within, self.value, self.mask].map(F::from_u128);
        let divided: Vec<F> = narrowed(&self.divided);
        let takes = |value: F| {
            value & within == expected
                && (divided.is_empty() || divided.binary_search(&(value & mask)).is_err())
        };
        let place = |value: F| match takes(value) {
            true => place_of(value & mask, places),
            false => places,
        };
        let (mut values, mut ends) = scatter_by(values, places + 1, place);
        ends.pop();
        values.truncate(ends.last().copied().unwrap_or_default());
        (values.into(), ends)
    }

    /// Calls `visit` with the pairs within the distance of the values that came to a place, except those that met in an
    /// earlier round. With `links`, these are only enough of the pairs to link all values that the pairs of all rounds
    /// link. Works on all threads of the current pool.
    ///
    /// # Errors
    /// None at present.
    pub fn find<'c>(
        &self,
        distance: u32,
        values: impl Into<Column<'c>>,
        links: bool,
        visit: impl FnMut(u128, u128),
    ) -> Result<()> {
        by_width!(Column, values.into(), values => {
            self.find_typed(distance, values, links, visit)
        })
    }

    fn find_typed<F: Fingerprint>(
        &self,
        distance: u32,
        values: &[F],
        links: bool,
        mut visit: impl FnMut(u128, u128),
    ) -> Result<()> {
        let rule = match links {
            true => Rule::spanning(distance),
            false => Rule::new(distance),
        };
        let agreed = F::from_u128(self.within | self.mask);
        let rule = rule.that_agree(agreed, &narrowed(&self.before));
        let take: Take<'_, F> = &mut |pairs| {
            for (x, y) in pairs.drain(..) {
                visit(x.to_u128(), y.to_u128());
            }
            Ok(())
        };
        if self.mask == 0 || values.len() < FEW || values.len() >= u32::MAX as usize {
            let mut out = Emitter::new(take);
            search(&mut values.to_vec(), &rule, &mut out);
            return out.finish();
        }
        let mut buckets = Buckets::new(values.len());
        buckets.fill(values, &Bits::of(values), F::from_u128(self.mask));
        buckets.search_all(&rule, take)
    }
}

/// Returns values in the type of their width.
fn narrowed<F: Fingerprint>(values: &[u128]) -> Vec<F> {
    values.iter().copied().map(F::from_u128).collect()
}

/// Chooses the rounds for values of one type.
fn chosen<F: Fingerprint>(request: &RoundsRequest<'_>, sample: &[F]) -> Vec<PairRound> {
    let mut rounds = Vec::new();
    if request.distance > 0 {
        let all = PairRound {
            within: 0,
            value: 0,
            mask: 0,
            before: Vec::new(),
            divided: Vec::new(),
        };
        divide(request, &all, sample, 0, &mut rounds);
    }
    rounds
}

/// Adds the rounds of the values that meet in one place. `sample` is their part of the sample.
fn divide<F: Fingerprint>(
    request: &RoundsRequest<'_>,
    of: &PairRound,
    sample: &[F],
    depth: usize,
    rounds: &mut Vec<PairRound>,
) {
    let agreed = of.within | of.mask;
    let share = sample.len() as f64 / request.sample.len().max(1) as f64;
    let count = match depth {
        0 => request.count,
        _ => (share * request.count as f64) as u64,
    };
    let bits = Bits::of_sample(F::from_u128(request.varying & !agreed), sample);
    let Some(masks) = bits.cover(request.distance, count, SEND_NS) else {
        rounds.push(of.clone());
        return;
    };
    let masks: Vec<u128> = masks.iter().map(|mask| mask.to_u128()).collect();
    let most = (request.largest_share * request.sample.len() as f64) as usize;
    for (number, &mask) in masks.iter().enumerate() {
        let mut round = PairRound {
            within: agreed,
            value: of.value,
            mask,
            before: [&of.before, &masks[..number]].concat(),
            divided: Vec::new(),
        };
        if depth < MOST_DEPTH {
            let crowds = crowds(sample, F::from_u128(mask), most.max(LEAST_SEEN));
            for (crowd, sample) in crowds {
                let crowd = crowd.to_u128();
                round.divided.push(crowd);
                let crowd = PairRound {
                    within: agreed | mask,
                    value: of.value | crowd,
                    mask: 0,
                    before: round.before.clone(),
                    divided: Vec::new(),
                };
                divide(request, &crowd, &sample, depth + 1, rounds);
            }
        }
        rounds.push(round);
    }
}

/// Returns the values under a mask that more than `most` of a sample share, ascending, each with its members.
fn crowds<F: Fingerprint>(sample: &[F], mask: F, most: usize) -> Vec<(F, Vec<F>)> {
    let mut counts: HashMap<F, usize> = HashMap::new();
    for &value in sample {
        *counts.entry(value & mask).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|&(_, count)| count > most);
    let mut crowded: Vec<F> = crowded.map(|(value, _)| value).collect();
    crowded.sort_unstable();
    let members = |crowd: F| sample.iter().copied().filter(move |&v| v & mask == crowd);
    let with_members = crowded
        .into_iter()
        .map(|crowd| (crowd, members(crowd).collect()));
    with_members.collect()
}

/// Returns the place of a value: a hash distributes values evenly over `places`.
#[inline]
fn place_of<F: Fingerprint>(value: F, places: usize) -> usize {
    let wide = value.to_u128();
    let mut hash = wide as u64 ^ ((wide >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
    // The finalizer of MurmurHash3, which is in the public domain.
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    ((u128::from(hash) * places as u128) >> 64) as usize
}

/// Groups values by place, with equal values next to each other. Returns the values and the end of each place's group.
/// For work that depends on whole values, such as removing repeated ones.
///
/// ```
/// let (values, ends) = simidx::batch::rounds::scatter_values(&[7u64, 9, 7], 2);
/// assert_eq!((values.len(), ends.len(), ends[1]), (3, 2, 3));
/// ```
///
/// # Panics
/// If `places` is 0.
pub fn scatter_values<'c>(
    values: impl Into<Column<'c>>,
    places: usize,
) -> (Fingerprints, Vec<usize>) {
    by_width!(Column, values.into(), values => {
        let (values, ends) = scatter_by(values, places, |value| place_of(value, places));
        (values.into(), ends)
    })
}

/// Returns the place of each value in [`scatter_values`].
///
/// ```
/// let places = simidx::batch::rounds::places_of(&[7u64, 9, 7], 100);
/// assert_eq!(places[0], places[2]);
/// ```
///
/// # Panics
/// If `places` is 0, or 2^32 or more.
pub fn places_of<'c>(values: impl Into<Column<'c>>, places: usize) -> Vec<u32> {
    assert!(
        places > 0 && u32::try_from(places).is_ok(),
        "{places} places"
    );
    let values = values.into().iter();
    values.map(|value| place_of(value, places) as u32).collect()
}

fn scatter_by<F: Fingerprint>(
    values: &[F],
    places: usize,
    place: impl Fn(F) -> usize,
) -> (Vec<F>, Vec<usize>) {
    assert!(places > 0, "there must be a place to send values to");
    let of_values: Vec<u32> = values.iter().map(|&value| place(value) as u32).collect();
    let mut next = vec![0; places + 1];
    for &place in &of_values {
        next[place as usize + 1] += 1;
    }
    for place in 0..places {
        next[place + 1] += next[place];
    }
    let mut scattered = vec![F::ZERO; values.len()];
    for (&value, &place) in values.iter().zip(&of_values) {
        let next = &mut next[place as usize];
        scattered[*next] = value;
        *next += 1;
    }
    next.pop();
    (scattered, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn near(values: &[u64], distance: u32) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        for (i, &x) in values.iter().enumerate() {
            let others = values[i + 1..].iter().copied();
            pairs.extend(
                others
                    .filter(|&y| x.distance(y) <= distance)
                    .map(|y| (x.min(y), x.max(y))),
            );
        }
        pairs.sort_unstable();
        pairs
    }

    fn run(
        (rounds, distance): (&[PairRound], u32),
        values: &[u64],
        places: usize,
        links: bool,
    ) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        for round in rounds {
            let (values, ends) = round.scatter(values, places);
            let values = values.as_slice::<u64>().unwrap();
            let mut start = 0;
            for end in ends {
                let values = &values[start..end];
                let visit = |x, y| pairs.push((x as u64, y as u64));
                round.find(distance, values, links, visit).unwrap();
                start = end;
            }
            assert_eq!(start, values.len());
        }
        let in_order = pairs.into_iter().map(|(x, y)| (x.min(y), x.max(y)));
        let mut pairs: Vec<(u64, u64)> = in_order.collect();
        pairs.sort_unstable();
        pairs
    }

    /// Returns for each value the least value of its connected component.
    fn least(values: &[u64], pairs: &[(u64, u64)]) -> Vec<u64> {
        let of = |least: &[u64], value| least[values.binary_search(&value).unwrap()];
        let mut labels = values.to_vec();
        loop {
            let before = labels.clone();
            for &(x, y) in pairs {
                let label = of(&labels, x).min(of(&labels, y));
                for value in [x, y] {
                    labels[values.binary_search(&value).unwrap()] = label;
                }
            }
            if labels == before {
                return labels;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn rounds_find_each_pair_once_wherever_it_is_sent(
            values in prop::collection::vec(any::<u64>(), 0..400), kept in any::<u64>(), narrow in any::<u64>(),
            distance in 0u32..7, places in 1usize..9, claimed in 1u64..100_000_000, share in 0.0f64..0.2,
        ) {
            // Some bits are the same in all values, so that there are crowds under many masks.
            let values: BTreeSet<u64> = values.into_iter().map(|v| v & (kept & narrow)).collect();
            let values: Vec<u64> = values.into_iter().collect();
            let request = RoundsRequest {
                distance, count: claimed, varying: u128::MAX, sample: (&values).into(), largest_share: share,
            };
            let rounds = choose(&request);
            let rounds = (&rounds[..], distance);
            let expected = near(&values, distance);
            let expected = if distance == 0 { Vec::new() } else { expected };
            prop_assert_eq!(run(rounds, &values, places, false), expected.clone());
            let links = run(rounds, &values, places, true);
            prop_assert_eq!(least(&values, &links), least(&values, &expected));
        }
    }

    #[test]
    fn crowds_are_divided() {
        let spread = (0..4000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values: BTreeSet<u64> = spread.chain((0..2000).map(|i| 0xabcd << 48 | i)).collect();
        let values: Vec<u64> = values.into_iter().collect();
        let request = |largest_share| RoundsRequest {
            distance: 3,
            count: 6_000_000,
            varying: u128::MAX,
            sample: (&values).into(),
            largest_share,
        };
        let [whole, divided] = [1.0, 0.01].map(|share| choose(&request(share)));
        assert!(divided.len() > whole.len());
        assert!(divided.iter().any(|round| !round.divided.is_empty()));
        let expected = near(&values, 3);
        for rounds in [whole, divided] {
            assert!(run((&rounds, 3), &values, 7, false) == expected);
        }
    }

    #[test]
    fn many_values_are_found_as_few_are() {
        let values: BTreeSet<u64> = (0..40_000u64)
            .flat_map(|i| {
                let value = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                [value, value ^ 1 << (i % 64)]
            })
            .collect();
        let values: Vec<u64> = values.into_iter().collect();
        let request = RoundsRequest {
            distance: 3,
            count: values.len() as u64,
            varying: u128::MAX,
            sample: (&values[..1000]).into(),
            largest_share: 0.1,
        };
        let rounds = choose(&request);
        assert!(rounds.len() > 1);
        let rounds = (&rounds[..], 3);
        assert!(run(rounds, &values, 1, false) == run(rounds, &values, 40, false));
    }
}
