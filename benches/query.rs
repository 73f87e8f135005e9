//! Query latency: tables of several designs beside the linear scan and uncompressed sorted tables.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simidx::Index;

const DISTANCE: u32 = 3;

/// Tables and block size of the indexes.
const INDEXES: [(usize, u32); 6] = [
    (4, 1024),
    (10, 256),
    (10, 1024),
    (10, 4096),
    (16, 1024),
    (20, 1024),
];

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
    for (tables, block_size) in INDEXES {
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

/// Prints the median latency of single queries, one line for each way, with the ratio to the scan: what
/// criterion's means of many iterations do not tell.
fn percentiles(_: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let queries = common::queries(&fingerprints, 10_000.min(fingerprints.len()));
    let scan = common::median_us(&queries[..queries.len().min(300)], |q| {
        common::popcount_scan(&fingerprints, q, DISTANCE)
    });
    println!("p50 popcount-scan: {scan:.1} us");
    for (tables, block_size) in INDEXES {
        let file = common::build(&fingerprints, tables, block_size);
        let index = Index::<u64, _>::from_bytes(file).unwrap();
        let mut searcher = index.searcher();
        let mut ask = |q| searcher.query(q, DISTANCE).unwrap().len();
        for &query in &queries {
            black_box(ask(query));
        }
        let p50 = common::median_us(&queries, ask);
        println!(
            "p50 xor/t{tables}/B{block_size}: {p50:.1} us, {:.0} times as fast",
            scan / p50
        );
    }
}

fn matches_by_scan(fingerprints: &[u64], queries: &[u64]) -> usize {
    let scan = |&q: &u64| common::popcount_scan(fingerprints, q, DISTANCE);
    queries.iter().map(scan).sum()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = query, percentiles
}
criterion_main!(benches);
