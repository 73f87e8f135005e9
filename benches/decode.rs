//! Decoding whole tables: nanoseconds a fingerprint by block size.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simidx::Index;

fn decode(c: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let mut group = c.benchmark_group(format!("decode/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(fingerprints.len() as u64));
    group.bench_function("raw/scan", |b| {
        b.iter(|| common::popcount_scan(&fingerprints, 0, 4));
    });
    for block_size in [128, 256, 1024, 4096, 65536] {
        let file = common::build(&fingerprints, 4, block_size);
        let index = Index::<u64, _>::from_bytes(file).unwrap();
        assert!(index.verify().is_sound());
        group.bench_function(format!("xor/iterate/B{block_size}"), |b| {
            b.iter(|| {
                index
                    .fingerprints(0)
                    .unwrap()
                    .map(Result::unwrap)
                    .fold(0, |a, f| a ^ f)
            });
        });
        // A query beyond the design compares every value of table 0.
        let mut searcher = index.searcher();
        group.bench_function(format!("xor/scan/B{block_size}"), |b| {
            b.iter(|| searcher.query(0, 4).unwrap().len());
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = decode
}
criterion_main!(benches);
