//! The Rust side of `benches/python/run.py query` and of `benches/c/run.py`: answers the same queries from the same file, a round for each line on standard input.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use rayon::prelude::*;
use simidx::{Index, Match, Scratch};

/// Queries that a thread takes at a time.
const PIECE: usize = 256;

fn answer(index: &Index<u64>, queries: &[u64], distance: u32) -> (Vec<usize>, Vec<Match<u64>>) {
    let (mut ends, mut all) = (Vec::new(), Vec::new());
    let mut scratch = Scratch::new();
    let visit = |_: usize, found: &[Match<u64>]| {
        all.extend_from_slice(found);
        ends.push(all.len());
    };
    index
        .query_many_with(&mut scratch, queries, distance, visit)
        .unwrap();
    (ends, all)
}

/// Answers the queries one by one.
fn answer_each(index: &Index<u64>, queries: &[u64], distance: u32) -> Vec<Match<u64>> {
    let (mut scratch, mut all) = (Scratch::new(), Vec::new());
    for &query in queries {
        all.extend_from_slice(index.query_with(&mut scratch, query, distance).unwrap());
    }
    all
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, index, queries, distance, threads] = &arguments[..] else {
        panic!(
            "usage: query_many INDEX QUERIES DISTANCE THREADS; 0 threads: one query after the other"
        )
    };
    let index = Index::<u64>::open(index).unwrap();
    let queries = std::fs::read(queries).unwrap();
    let words = queries.chunks_exact(8);
    let queries: Vec<u64> = words
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let distance: u32 = distance.parse().unwrap();
    let threads: usize = threads.parse().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().unwrap();
    for _ in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let count = match threads {
            0 => black_box(answer_each(&index, &queries, distance)).len(),
            1 => black_box(answer(&index, &queries, distance)).1.len(),
            _ => pool.install(|| {
                let pieces = queries.par_chunks(PIECE);
                let pieces: Vec<_> = pieces
                    .map(|piece| answer(&index, piece, distance))
                    .collect();
                black_box(pieces).iter().map(|piece| piece.1.len()).sum()
            }),
        };
        println!("{} {count}", start.elapsed().as_secs_f64());
        std::io::stdout().flush().unwrap();
    }
}
