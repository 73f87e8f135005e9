//! Decoding of whole tables: the plain loop compared with blocks in step, by codec and block size, and a scan of plain
//! numbers.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simidx::index::Fingerprints;
use simidx::{Codec, Index};

fn decode(c: &mut Criterion) {
    let fingerprints = common::uniform(common::count());
    let mut group = c.benchmark_group(format!("decode/uniform/{}", fingerprints.len()));
    group.throughput(Throughput::Elements(fingerprints.len() as u64));
    group.bench_function("raw/scan", |b| {
        b.iter(|| common::scan::popcount_scan(&fingerprints, 0, 4));
    });
    for codec in Codec::ALL {
        for block_size in [256, 512, 1024, 4096] {
            let file = common::build(&fingerprints, 4, block_size, codec);
            let index = Index::<u64>::from_bytes(file).unwrap();
            // Every block is checked on its first use: that is not what is measured.
            assert_eq!(sum(index.fingerprints(0).unwrap()), sum_of(&fingerprints));
            let name = codec.name();
            group.bench_function(format!("{name}/plain/B{block_size}"), |b| {
                b.iter(|| sum(index.fingerprints(0).unwrap().decode_plainly()));
            });
            group.bench_function(format!("{name}/in-step/B{block_size}"), |b| {
                b.iter(|| sum(index.fingerprints(0).unwrap()));
            });
        }
    }
    group.finish();
}

/// The sum of a table's values, chunk by chunk: cheap, and nothing of the decoding can be left out.
fn sum(mut values: Fingerprints<'_, u64>) -> u64 {
    let mut sum = 0u64;
    while let Some(chunk) = values.next_chunk() {
        let chunk = chunk.expect("the file is sound").iter();
        sum = chunk.fold(sum, |sum, value| sum.wrapping_add(value.0));
    }
    sum
}

fn sum_of(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = decode
}
criterion_main!(benches);
