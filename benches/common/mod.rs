//! Seeded data and the baselines that every benchmark is measured against.
#![allow(dead_code, reason = "each benchmark uses its part")]
#![allow(unsafe_code, reason = "instructions are chosen when the program runs")]

pub(crate) mod allocator;
pub(crate) mod datasets;
pub(crate) mod environment;
pub(crate) mod scan;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, IndexBuilder, Width};

/// Number of fingerprints: `SIMIDX_BENCH_COUNT`, or 10^7, or few where the benchmarks run as tests.
pub(crate) fn count() -> usize {
    match std::env::var("SIMIDX_BENCH_COUNT") {
        Ok(count) => count.parse().expect("SIMIDX_BENCH_COUNT is a number"),
        Err(_) if is_test() => 20_000,
        Err(_) => 10_000_000,
    }
}

/// Whether this is `cargo bench -- --test` or `cargo test --benches`.
pub(crate) fn is_test() -> bool {
    std::env::args().any(|a| a == "--test") || !std::env::args().any(|a| a == "--bench")
}

/// `count` uniformly random fingerprints, ascending and distinct.
pub(crate) fn uniform(count: usize) -> Vec<u64> {
    let mut values = drawn(count);
    values.sort_unstable();
    values.dedup();
    values
}

/// `count` uniformly random fingerprints as they are drawn, in no order: hardly ever is one drawn twice.
pub(crate) fn drawn(count: usize) -> Vec<u64> {
    let mut rng = SmallRng::seed_from_u64(20_07);
    (0..count).map(|_| rng.random()).collect()
}

/// Half members with 0 to 5 flipped bits, half random, in turn.
pub(crate) fn queries(fingerprints: &[u64], count: usize) -> Vec<u64> {
    let mut rng = SmallRng::seed_from_u64(3);
    let mut one = |i| {
        if i % 2 == 1 {
            return rng.random();
        }
        let mut query = fingerprints[rng.random_range(0..fingerprints.len())];
        for _ in 0..rng.random_range(0..=5) {
            query ^= 1 << rng.random_range(0..64);
        }
        query
    };
    (0..count).map(&mut one).collect()
}

/// An index of sorted fingerprints with the design of that many tables.
pub(crate) fn build(fingerprints: &[u64], tables: usize, block_size: u32, codec: Codec) -> Vec<u8> {
    let mut options = BuildOptions::default();
    options.design =
        Some(TableDesign::with_table_count(Width::W64, 3, tables).expect("there is such a design"));
    options.block_size = block_size;
    options.codec = Some(codec);
    let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
    for &fingerprint in fingerprints {
        builder.push(fingerprint).expect("there is room");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes every write");
    file
}

/// Uncompressed sorted tables of a design, searched by bisection: what the blocks are measured against.
pub(crate) struct SortedTables {
    tables: Vec<(simidx::design::Permutation<u64>, Vec<u64>)>,
}

impl SortedTables {
    pub(crate) fn new(fingerprints: &[u64], tables: usize) -> Self {
        let design =
            TableDesign::with_table_count(Width::W64, 3, tables).expect("there is such a design");
        Self::of_design(fingerprints, &design)
    }

    pub(crate) fn of_design(fingerprints: &[u64], design: &TableDesign) -> Self {
        let table = |&mask: &u64| {
            let permutation = simidx::design::Permutation::new(mask);
            let mut values: Vec<u64> = fingerprints
                .iter()
                .map(|&f| permutation.apply(f).0)
                .collect();
            values.sort_unstable();
            (permutation, values)
        };
        let masks = design.masks().as_slice().expect("masks of 64 bits");
        SortedTables {
            tables: masks.iter().map(table).collect(),
        }
    }

    /// The matches, each once.
    pub(crate) fn query(&self, query: u64, distance: u32, matches: &mut Vec<u64>) -> usize {
        matches.clear();
        for (permutation, values) in &self.tables {
            let value = permutation.apply(query);
            let (low, high) = permutation.prefix_range(value);
            let first = values.partition_point(|&v| v < low.0);
            for &candidate in values[first..].iter().take_while(|&&v| v <= high.0) {
                if (candidate ^ value.0).count_ones() <= distance {
                    matches.push(permutation.invert(simidx::design::Permuted(candidate)));
                }
            }
        }
        matches.sort_unstable();
        matches.dedup();
        matches.len()
    }
}

/// The value in the middle.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median time of one query in microseconds, each timed by itself.
pub(crate) fn median_us(queries: &[u64], mut ask: impl FnMut(u64) -> usize) -> f64 {
    let mut times: Vec<f64> = queries
        .iter()
        .map(|&query| {
            let started = std::time::Instant::now();
            std::hint::black_box(ask(query));
            started.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
