//! Queries that are made up to measure with.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use simidx::segments::Segments;
use simidx::{Fingerprint, Index};

use crate::support::failure::Failure;

/// Most bits that are flipped in a member to make a query: some matches, some near misses.
const MAX_FLIPS: usize = 5;

/// Half members, each with 0 to 5 distinct bits flipped, half uniformly random, in turn. A fingerprint of several
/// segments is as likely as its number of segments.
pub(crate) fn sample<F: Fingerprint>(
    segments: &Segments<F>,
    count: usize,
    seed: u64,
) -> Result<Vec<F>, Failure> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let counts = segments.segments().iter().map(|index| index.len());
    let all: u64 = counts.sum();
    let wanted = if all == 0 { 0 } else { count / 2 };
    let mut ranks: Vec<u64> = (0..wanted).map(|_| rng.random_range(0..all)).collect();
    ranks.sort_unstable();
    let mut queries = Vec::with_capacity(count);
    let (mut ranks, mut first_rank) = (ranks.into_iter().peekable(), 0);
    for (index, name) in segments.segments().iter().zip(segments.names()) {
        let end = first_rank + index.len();
        let own = std::iter::from_fn(|| ranks.next_if(|&rank| rank < end));
        let own = own.map(|rank| rank - first_rank);
        members(index, own, |member| queries.push(flip(member, &mut rng)))
            .map_err(|failure| failure.about(name))?;
        first_rank = end;
    }
    queries.extend((wanted..count).map(|_| F::from_u128(rng.random())));
    queries.shuffle(&mut rng);
    Ok(queries)
}

/// Calls `visit` with the fingerprints at these ascending ranks.
fn members<F: Fingerprint>(
    index: &Index<F>,
    ranks: impl Iterator<Item = u64>,
    mut visit: impl FnMut(F),
) -> Result<(), Failure> {
    let mut fingerprints = index.fingerprints(0)?;
    let (mut next_rank, mut member) = (0, F::ZERO);
    for rank in ranks {
        while next_rank <= rank {
            let next = fingerprints.next().transpose()?;
            member = next.ok_or_else(|| Failure::new("table 0 ends early"))?;
            next_rank += 1;
        }
        visit(member);
    }
    Ok(())
}

/// The fingerprint with 0 to 5 distinct bits flipped.
fn flip<F: Fingerprint>(fingerprint: F, rng: &mut SmallRng) -> F {
    let flips = rng.random_range(0..=MAX_FLIPS);
    let positions = rand::seq::index::sample(rng, F::WIDTH as usize, flips);
    positions.iter().fold(fingerprint, |flipped, position| {
        flipped ^ F::from_u128(1) << position as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_up_to_five_bits_of_any_value_and_clears_as_well_as_sets() {
        let mut rng = SmallRng::seed_from_u64(7);
        for member in [0, u64::MAX, 0x5555_5555_5555_5555] {
            let queries: Vec<u64> = (0..500).map(|_| flip(member, &mut rng)).collect();
            let flips = |q: &u64| q.distance(member);
            assert_eq!(queries.iter().map(flips).max(), Some(5));
            assert_eq!(queries.iter().map(flips).min(), Some(0));
        }
        let changed = (0..500).fold(0, |all, _| {
            all | flip(0x5555_5555_5555_5555u64, &mut rng) ^ 0x5555_5555_5555_5555
        });
        assert_eq!(changed, u64::MAX);
    }
}
