//! Build time: whole builds beside sorting the same array as often as there are tables.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use simidx::Codec;

fn build(c: &mut Criterion) {
    let mut fingerprints = common::uniform(common::count());
    fingerprints.shuffle(&mut SmallRng::seed_from_u64(1));
    let mut group = c.benchmark_group(format!("build/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(fingerprints.len() as u64));
    for tables in [2, 6] {
        group.bench_function(format!("std-sort/t{tables}"), |b| {
            b.iter_batched(
                || vec![fingerprints.clone(); tables],
                |mut copies| {
                    copies.iter_mut().for_each(|copy| copy.sort_unstable());
                    copies
                },
                BatchSize::PerIteration,
            );
        });
        for codec in Codec::ALL {
            group.bench_function(format!("{}/t{tables}/B512", codec.name()), |b| {
                b.iter_with_large_drop(|| common::build(&fingerprints, tables, 512, codec));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = build
}
criterion_main!(benches);
