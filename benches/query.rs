//! Mean query time: designs, codecs and block sizes compared with the linear scan, one query at a time and several
//! under way; and the cost of checking blocks on first use, including checksums alone. Percentiles, and the comparison
//! with other systems, are in the bench `peers`.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use simidx::{Codec, Index, Scratch, Storage};

const DISTANCE: u32 = 3;

/// Queries that are asked for together.
const TOGETHER: usize = 100;

/// Codec, tables and block size of the indexes.
const INDEXES: [(Codec, usize, u32); 9] = [
    (Codec::EliasFano, 1, 512),
    (Codec::EliasFano, 2, 256),
    (Codec::EliasFano, 2, 512),
    (Codec::EliasFano, 2, 1024),
    (Codec::EliasFano, 6, 512),
    (Codec::Gap, 2, 512),
    (Codec::Gap, 6, 512),
    (Codec::Gap, 6, 1024),
    (Codec::Xor, 10, 1024),
];

/// The indexes whose checksums are measured.
const CHECKED_INDEXES: [(Codec, usize, u32); 3] = [
    (Codec::EliasFano, 2, 512),
    (Codec::EliasFano, 6, 512),
    (Codec::Gap, 6, 1024),
];

/// Queries on which that is measured: few enough that hardly a block is met twice.
const CHECKED_QUERIES: usize = 200;

fn query(c: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let queries = common::queries(&fingerprints, 10_000.min(fingerprints.len()));
    let expected = matches_by_scan(&fingerprints, &queries[..20]);
    let mut group = c.benchmark_group(format!("query/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(1));
    let mut next = queries.iter().cycle();
    group.bench_function("popcount-scan", |b| {
        b.iter(|| {
            common::scan::popcount_scan(&fingerprints, black_box(*next.next().unwrap()), DISTANCE)
        });
    });
    for (codec, tables, block_size) in INDEXES {
        let file = common::build(&fingerprints, tables, block_size, codec);
        let index = Index::<u64>::from_bytes(file).unwrap();
        let mut scratch = Scratch::new();
        let mut ask = |q| index.query_with(&mut scratch, q, DISTANCE).unwrap().len();
        let found: usize = queries[..20].iter().map(|&q| ask(q)).sum();
        assert_eq!(found, expected);
        // Every block is checked on its first use: that is not what is measured.
        queries.iter().for_each(|&q| {
            ask(q);
        });
        let name = format!("{}/t{tables}/B{block_size}", codec.name());
        let mut next = queries.iter().cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(&name, |b| {
            b.iter(|| ask(black_box(*next.next().unwrap())));
        });
        let mut next = queries.chunks_exact(TOGETHER).cycle();
        group.throughput(Throughput::Elements(TOGETHER as u64));
        group.bench_function(format!("{name}/many"), |b| {
            b.iter(|| {
                let mut found = 0;
                let visit = |_: usize, matches: &[_]| found += matches.len();
                let queries = black_box(next.next().unwrap());
                index
                    .query_many_with(&mut scratch, queries, DISTANCE, visit)
                    .unwrap();
                found
            });
        });
    }
    group.finish();
}

/// The cost of checking blocks: queries that meet each block for the first time, so that its checksum and all other
/// rules are checked, compared with the same queries when all have been checked, and with the checksums of the same
/// number of blocks alone. All find the blocks in the processor's caches, where checks are the largest share.
fn checksums(c: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let queries = common::queries(&fingerprints, CHECKED_QUERIES.min(fingerprints.len()));
    let mut group = c.benchmark_group(format!("checksums/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(queries.len() as u64));
    for (codec, tables, block_size) in CHECKED_INDEXES {
        let file = common::build(&fingerprints, tables, block_size, codec);
        let ask = |index: &Index<u64>| {
            let mut scratch = Scratch::new();
            let found = |&q| {
                index
                    .query_with(&mut scratch, black_box(q), DISTANCE)
                    .unwrap()
                    .len()
            };
            queries.iter().map(found).sum::<usize>()
        };
        let open = || Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
        let checked = open();
        let expected = ask(&checked);
        let name = format!("{}/t{tables}/B{block_size}", codec.name());
        group.bench_function(format!("{name}/first-use"), |b| {
            let anew = || {
                assert_eq!(ask(&checked), expected);
                open()
            };
            b.iter_batched_ref(anew, |index| ask(index), BatchSize::PerIteration);
        });
        group.bench_function(format!("{name}/checked"), |b| {
            let again = || assert_eq!(ask(&checked), expected);
            b.iter_batched_ref(again, |()| ask(&checked), BatchSize::PerIteration);
        });
        let blocks = blocks_read(&checked, &queries);
        group.bench_function(format!("{name}/crc-alone"), |b| {
            let blocks = file.chunks_exact(block_size as usize).take(blocks);
            b.iter(|| {
                blocks
                    .clone()
                    .map(crc32fast::hash)
                    .fold(0, u32::wrapping_add)
            });
        });
    }
    group.finish();
}

/// Blocks that the queries read.
fn blocks_read(index: &Index<u64>, queries: &[u64]) -> usize {
    let mut scratch = Scratch::new();
    let mut blocks = |&q| {
        index.query_with(&mut scratch, q, DISTANCE).unwrap();
        scratch.stats().blocks as usize
    };
    queries.iter().map(&mut blocks).sum()
}

fn matches_by_scan(fingerprints: &[u64], queries: &[u64]) -> usize {
    let scan = |&q: &u64| common::scan::popcount_scan(fingerprints, q, DISTANCE);
    queries.iter().map(scan).sum()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = query, checksums
}
criterion_main!(benches);
