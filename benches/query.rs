//! Query latency: tables of several designs beside the linear scan and uncompressed sorted tables.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simidx::Index;

const DISTANCE: u32 = 3;

fn query(c: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let queries = common::queries(&fingerprints, 10_000.min(fingerprints.len()));
    let expected = matches_by_scan(&fingerprints, &queries[..20]);
    let mut group = c.benchmark_group(format!("query/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(1));

    let mut next = queries.iter().cycle();
    group.bench_function("popcount-scan", |b| {
        b.iter(|| common::popcount_scan(&fingerprints, black_box(*next.next().unwrap()), DISTANCE));
    });
    for tables in [4, 10] {
        let sorted = common::SortedTables::new(&fingerprints, tables);
        let mut matches = Vec::new();
        let found: usize = queries[..20]
            .iter()
            .map(|&q| sorted.query(q, DISTANCE, &mut matches))
            .sum();
        assert_eq!(found, expected);
        let mut next = queries.iter().cycle();
        group.bench_function(format!("sorted-tables/t{tables}"), |b| {
            b.iter(|| sorted.query(black_box(*next.next().unwrap()), DISTANCE, &mut matches));
        });
    }
    for (tables, block_size) in [
        (4, 1024),
        (10, 256),
        (10, 1024),
        (10, 4096),
        (16, 1024),
        (20, 1024),
    ] {
        let index =
            Index::<u64, _>::from_bytes(common::build(&fingerprints, tables, block_size)).unwrap();
        let mut searcher = index.searcher();
        let mut ask = |q| searcher.query(q, DISTANCE).unwrap().len();
        assert_eq!(
            queries[..20].iter().map(|&q| ask(q)).sum::<usize>(),
            expected
        );
        // Every block is checked on its first use: that is not what is measured.
        queries.iter().for_each(|&q| {
            ask(q);
        });
        let mut next = queries.iter().cycle();
        group.bench_function(format!("xor/t{tables}/B{block_size}"), |b| {
            b.iter(|| ask(black_box(*next.next().unwrap())));
        });
    }
    group.finish();
}

fn matches_by_scan(fingerprints: &[u64], queries: &[u64]) -> usize {
    let scan = |&q: &u64| common::popcount_scan(fingerprints, q, DISTANCE);
    queries.iter().map(scan).sum()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = query
}
criterion_main!(benches);
