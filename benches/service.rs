//! Operations of a server: the first queries after opening a file, with and without warming it, and the nearest
//! fingerprints compared with `mih-rs`.
//!
//! `SIMIDX_BENCH_COUNT` fingerprints of `SIMIDX_BENCH_DATA` (uniform, clustered), of which half of the queries are members
//! with at most five flipped bits, the others random; `SIMIDX_BENCH_PARTS` chooses among `warm` and `nearest`. All that is
//! compared runs in turn in every round; the figures are medians of the rounds.
#![allow(missing_docs, reason = "a bench has no interface")]

mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use common::datasets::Dataset;
use common::median;
use simidx::design::TableDesign;
use simidx::index::WarmOptions;
use simidx::{BuildOptions, Fingerprint, Index, IndexBuilder, Scratch, Width};

/// Distance of the queries after opening.
const DISTANCE: u32 = 3;

/// The number of first queries, and of later ones.
const FIRST_QUERIES: usize = 10_000;

/// Numbers of nearest.
const COUNTS: [usize; 3] = [1, 10, 100];

/// Largest distances of the nearest: near-duplicates in a wide sense, and all, which is what `mih-rs` searches.
const MAX_DISTANCES: [u32; 2] = [10, 64];

/// Table counts of the indexes that are asked for the nearest.
const TABLES: [usize; 3] = [2, 4, 6];

fn main() {
    let test = common::is_test();
    let data: Dataset = match std::env::var("SIMIDX_BENCH_DATA") {
        Ok(data) => data.parse().expect("SIMIDX_BENCH_DATA names data"),
        Err(_) => Dataset::Uniform,
    };
    let fingerprints = data.fingerprints(common::count());
    let parts = std::env::var("SIMIDX_BENCH_PARTS").unwrap_or_else(|_| "warm,nearest".into());
    println!("{} fingerprints, {data}", fingerprints.len());
    if parts.contains("warm") {
        warm(data, &fingerprints, if test { 1 } else { 7 });
    }
    if parts.contains("nearest") {
        nearest(data, &fingerprints, if test { 1 } else { 5 });
    }
}

/// Nanoseconds a query.
fn time(queries: &[u64], mut ask: impl FnMut(u64) -> usize) -> f64 {
    let started = Instant::now();
    for &query in queries {
        black_box(ask(query));
    }
    started.elapsed().as_secs_f64() * 1e9 / queries.len() as f64
}

/// The first queries and the later ones after opening a file that is in the page cache.
fn warm(data: Dataset, fingerprints: &[u64], rounds: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let path = folder.path().join("index.simidx");
    let mut builder =
        IndexBuilder::new(Width::W64, BuildOptions::default()).expect("the options are valid");
    builder
        .extend_from_slice(fingerprints)
        .expect("there is room");
    builder.finish_to_path(&path).expect("the disk has room");
    let count = FIRST_QUERIES.min(fingerprints.len() / 2);
    let queries = data.queries(fingerprints, 2 * count);
    let (first, later) = queries.split_at(count);
    let (mut cold, mut warm, mut passes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        cold.push(after_opening(&path, first, later, |_| ()));
        warm.push(after_opening(&path, first, later, |index| {
            let report = index
                .warm(&WarmOptions::default())
                .expect("the file is sound");
            let megabytes = report.byte_len as f64 / 1e6;
            passes.push((report.elapsed.as_secs_f64(), megabytes));
        }));
    }
    for (name, times) in [("opened", cold), ("opened and warmed", warm)] {
        let first = median(times.iter().map(|t| t.0));
        let later = median(times.iter().map(|t| t.1));
        let ratio = median(times.iter().map(|t| t.0 / t.1));
        println!(
            "warm: {name}: first {count} queries {first:.0} ns each, next {later:.0} ns, ratio {ratio:.2}"
        );
    }
    let seconds = median(passes.iter().map(|pass| pass.0));
    println!(
        "warm: the pass takes {:.0} ms, {:.0} MB/s",
        seconds * 1e3,
        passes[0].1 / seconds
    );
}

/// Time of the first and of later queries of a file that is opened anew.
fn after_opening(
    path: &Path,
    first: &[u64],
    later: &[u64],
    prepare: impl FnOnce(&Index<u64>),
) -> (f64, f64) {
    let index = Index::<u64>::open(path).expect("the file is an index");
    prepare(&index);
    let mut scratch = Scratch::new();
    let mut ask = |query| {
        let found = index.query_with(&mut scratch, query, DISTANCE);
        found.expect("the file is sound").len()
    };
    (time(first, &mut ask), time(later, &mut ask))
}

/// The nearest by indexes of this library and by `mih-rs`, which knows no largest distance.
fn nearest(data: Dataset, fingerprints: &[u64], rounds: usize) {
    let indexes = TABLES.map(|tables| {
        let mut options = BuildOptions::default();
        let design = TableDesign::with_table_count(Width::W64, 3, tables);
        options.design = Some(design.expect("there is such a design"));
        let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
        builder
            .extend_from_slice(fingerprints)
            .expect("there is room");
        let mut file = Vec::new();
        builder.finish(&mut file).expect("memory takes every write");
        let index = Index::<u64>::from_bytes(file).expect("the file is sound");
        index
            .warm(&WarmOptions::default())
            .expect("the file is sound");
        index
    });
    let mih = mih_rs::Index::new(fingerprints.to_vec()).expect("there are fingerprints");
    let mut searcher = mih.topk_searcher();
    let mut scratch = Scratch::new();
    let members = (fingerprints.len() >> 10).clamp(50, 1000);
    let all = data.queries(fingerprints, 2 * members.min(200));
    let near: Vec<u64> = all.iter().copied().step_by(2).collect();
    let random: Vec<u64> = all.iter().copied().skip(1).step_by(2).collect();
    for (kind, queries) in [("near members", near), ("random", random)] {
        for count in COUNTS {
            check(&indexes, &mih, &queries[..10], count);
            let ways = indexes.len() * MAX_DISTANCES.len();
            let mut times = vec![Vec::new(); ways];
            let mut peer = Vec::new();
            for _ in 0..rounds {
                peer.push(time(&queries, |query| searcher.run(query, count).len()));
                for (way, times) in times.iter_mut().enumerate() {
                    let index = &indexes[way / MAX_DISTANCES.len()];
                    let distance = MAX_DISTANCES[way % MAX_DISTANCES.len()];
                    times.push(time(&queries, |query| {
                        let found = index.nearest_with(&mut scratch, query, count, distance);
                        found.expect("the file is sound").len()
                    }));
                }
            }
            let peer_us = median(peer.iter().copied()) / 1e3;
            println!("nearest: {kind}, {count} nearest: mih-rs {peer_us:.1} us");
            for (way, times) in times.iter().enumerate() {
                let tables = TABLES[way / MAX_DISTANCES.len()];
                let distance = MAX_DISTANCES[way % MAX_DISTANCES.len()];
                let us = median(times.iter().copied()) / 1e3;
                let ratio = median(times.iter().zip(&peer).map(|(own, peer)| own / peer));
                println!(
                    "nearest: {kind}, {count} nearest within {distance}: {tables} tables {us:.1} us, ratio {ratio:.2}"
                );
            }
        }
    }
}

/// Both find the same distances.
fn check(indexes: &[Index<u64>], mih: &mih_rs::Index<u64>, queries: &[u64], count: usize) {
    let mut searcher = mih.topk_searcher();
    for &query in queries {
        let found = searcher.run(query, count);
        let codes = found.iter().map(|&id| mih.codes()[id as usize]);
        let expected: Vec<u32> = codes.map(|code| code.distance(query)).collect();
        for index in indexes {
            let found = index.nearest(query, count, 64).expect("the file is sound");
            let distances: Vec<u32> = found.iter().map(|found| found.distance).collect();
            assert_eq!(distances, expected, "{query:x}");
        }
    }
}
