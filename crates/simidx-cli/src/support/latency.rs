//! Statistics of query latencies, and synthetic queries to measure them.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use simidx::set::Segment;
use simidx::{Set, Width};

use crate::support::failure::Failure;

/// Quantiles of latencies, in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

impl Latency {
    /// Returns the quantiles of at least one latency.
    pub(crate) fn of(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        let us = |latency: &Duration| latency.as_secs_f64() * 1e6;
        let quantile = |q: f64| {
            let rank = (q * latencies.len() as f64).ceil() as usize;
            latencies.get(rank.saturating_sub(1)).map_or(0.0, us)
        };
        Latency {
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: quantile(1.0),
            mean: latencies.iter().map(us).sum::<f64>() / latencies.len() as f64,
        }
    }
}

/// Largest number of flipped bits in a query that is made from a member: some queries match, some narrowly miss.
const MAX_FLIPS: usize = 5;

/// Returns queries: alternately a member with 0 to 5 distinct bits flipped, and a uniformly random value. A fingerprint
/// in several files is proportionally more likely.
pub(crate) fn sample_queries(set: &Set, count: usize, seed: u64) -> Result<Vec<u128>, Failure> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let width = set.width();
    let all: u64 = set.segments().map(Segment::len).sum();
    let wanted = if all == 0 { 0 } else { count / 2 };
    let mut ranks: Vec<u64> = (0..wanted).map(|_| rng.random_range(0..all)).collect();
    ranks.sort_unstable();
    let mut queries = Vec::with_capacity(count);
    let (mut ranks, mut first_rank) = (ranks.into_iter().peekable(), 0);
    for segment in set.segments() {
        let end = first_rank + segment.len();
        let own = std::iter::from_fn(|| ranks.next_if(|&rank| rank < end));
        let own = own.map(|rank| rank - first_rank);
        let visit = |member| queries.push(flip(member, width, &mut rng));
        members(&set.only(segment.number())?, own, visit)?;
        first_rank = end;
    }
    queries.extend((wanted..count).map(|_| rng.random::<u128>() & width.max()));
    queries.shuffle(&mut rng);
    Ok(queries)
}

/// Calls `visit` with the fingerprints of one file at these ascending ranks.
fn members(
    file: &Set,
    ranks: impl Iterator<Item = u64>,
    mut visit: impl FnMut(u128),
) -> Result<(), Failure> {
    let mut fingerprints = file.fingerprints(0)?;
    let (mut next_rank, mut member) = (0, 0);
    for rank in ranks {
        while next_rank <= rank {
            let next = fingerprints.next().transpose()?;
            member =
                next.ok_or_else(|| Failure::new("table 0 ends early").about(&file.names()[0]))?;
            next_rank += 1;
        }
        visit(member);
    }
    Ok(())
}

/// Returns the fingerprint with 0 to 5 distinct bits flipped.
fn flip(fingerprint: u128, width: Width, rng: &mut SmallRng) -> u128 {
    let flips = rng.random_range(0..=MAX_FLIPS);
    let positions = rand::seq::index::sample(rng, width.bits() as usize, flips);
    positions
        .iter()
        .fold(fingerprint, |flipped, position| flipped ^ 1 << position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_up_to_five_bits_of_any_value_and_clears_as_well_as_sets() {
        let mut rng = SmallRng::seed_from_u64(7);
        for member in [0, u64::MAX.into(), 0x5555_5555_5555_5555] {
            let flipped = |_| flip(member, Width::W64, &mut rng);
            let queries: Vec<u128> = (0..500).map(flipped).collect();
            let flips = |q: &u128| (q ^ member).count_ones();
            assert_eq!(queries.iter().map(flips).max(), Some(5));
            assert_eq!(queries.iter().map(flips).min(), Some(0));
        }
        let changed = (0..500).fold(0, |all, _| {
            all | flip(0x5555_5555_5555_5555, Width::W64, &mut rng) ^ 0x5555_5555_5555_5555
        });
        assert_eq!(changed, u64::MAX.into());
    }
}
