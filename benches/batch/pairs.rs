//! All pairs within a distance: this library compared with `all-pairs-hamming`.

use all_pairs_hamming::chunked_join::ChunkedJoiner;
use simidx::Width;
use simidx::batch::{PairFinder, PairOptions};

use crate::common::datasets::Dataset;
use crate::{Contender, Found, Settings, compare};

/// Compares the contenders on one set.
pub(crate) fn run(settings: &Settings, count: usize) {
    let data = settings.data.unwrap_or(Dataset::Clustered);
    let values = data.fingerprints(count);
    let distance = settings.distance;
    let mut contenders: Vec<Contender<'_>> = vec![
        (
            "pairs/all-pairs-hamming/c1".into(),
            Box::new(|| sum(&values, &similar_whole(&values, distance))),
        ),
        (
            "pairs/all-pairs-hamming/c2".into(),
            Box::new(|| sum(&values, &similar_halves(&values, distance))),
        ),
        (
            "pairs/simidx".into(),
            Box::new(|| simidx(&values, distance, false)),
        ),
        (
            "pairs/simidx/sorted".into(),
            Box::new(|| simidx(&values, distance, true)),
        ),
    ];
    contenders.retain(|(name, _)| settings.wants(name));
    if !contenders.is_empty() {
        println!(
            "pairs of {} {data} fingerprints within {distance}",
            values.len()
        );
        compare(settings, &contenders);
    }
}

fn simidx(values: &[u64], distance: u32, sorted: bool) -> Found {
    let mut options = PairOptions::default();
    options.distance = distance;
    options.sorted = sorted;
    let mut finder = PairFinder::new(Width::W64, &options).expect("the options are valid");
    finder.extend_from_slice(values).expect("they fit memory");
    let mut found = Found::default();
    let visit = |pair: simidx::batch::Pair| {
        found.add(pair.smaller as u64, pair.larger as u64);
        Ok(())
    };
    finder.finish(visit).expect("memory takes all");
    found
}

/// The radius that its rounding makes this distance of.
fn radius(distance: u32) -> f64 {
    f64::from(distance) / 64.0
}

fn sum(values: &[u64], pairs: &[(usize, usize, f64)]) -> Found {
    let mut found = Found::default();
    for &(i, j, _) in pairs {
        found.add(values[i].min(values[j]), values[i].max(values[j]));
    }
    found
}

/// The pairs of all-pairs-hamming by one chunk of 64 bits.
pub(crate) fn similar_whole(values: &[u64], distance: u32) -> Vec<(usize, usize, f64)> {
    let mut joiner = ChunkedJoiner::new(1);
    for &value in values {
        joiner.add([value]).expect("one chunk is given");
    }
    joiner.similar_pairs(radius(distance))
}

/// Finds them by two chunks of 32 bits.
pub(crate) fn similar_halves(values: &[u64], distance: u32) -> Vec<(usize, usize, f64)> {
    let mut joiner = ChunkedJoiner::new(2);
    for &value in values {
        let halves = [value as u32, (value >> 32) as u32];
        joiner.add(halves).expect("two chunks are given");
    }
    joiner.similar_pairs(radius(distance))
}
