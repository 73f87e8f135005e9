//! Threads share an index, and a searcher that has grown allocates nothing.

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{build, flipped, open, options, rng, scan, sorted_set};
use counting::allocations;
use rand::seq::IndexedRandom;
use simidx::{Codec, Fingerprint, Index, Match, Segments, Strategy, TableDesign};

/// A set, its file and queries near its members.
fn sample_in<F: Fingerprint>(codec: Codec) -> (Vec<F>, Vec<u8>, Vec<F>) {
    let fingerprints: Vec<F> = common::clustered(5000);
    let set = sorted_set(&fingerprints);
    let design = TableDesign::choose_bands(3, 5).unwrap();
    let mut options = options(design, 256);
    options.codec = Some(codec);
    let file = build(options, &fingerprints);
    let mut rng = rng(77);
    let mut queries = vec![F::ZERO, F::MAX];
    for i in 0..400 {
        let member = *set.choose(&mut rng).expect("the set is not empty");
        queries.push(flipped(member, i % 5, &mut rng));
    }
    (set, file, queries)
}

fn pairs<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    matches
        .iter()
        .map(|m| (m.distance, m.fingerprint))
        .collect()
}

fn check_threads<F: Fingerprint>(codec: Codec) {
    let (set, file, queries) = sample_in::<F>(codec);
    let expected: Vec<Vec<(u32, F)>> = queries.iter().map(|&q| scan(&set, q, 3)).collect();
    assert!(expected.iter().any(|found| found.len() > 1));
    let index = open::<F>(file);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (index, queries, expected) = (&index, &queries, &expected);
            scope.spawn(move || {
                let mut searcher = index.searcher();
                for i in 0..queries.len() {
                    let i = (i + thread * 50) % queries.len();
                    let found = pairs(searcher.query(queries[i], 3).unwrap());
                    assert_eq!(found, expected[i], "thread {thread}, query {i}");
                    let member = expected[i].first().is_some_and(|m| m.0 == 0);
                    assert_eq!(index.contains(queries[i]).unwrap(), member);
                }
            });
        }
    });
}

#[test]
fn eight_threads_with_searchers_of_their_own_give_the_same_answers() {
    for codec in Codec::ALL {
        check_threads::<u32>(codec);
        check_threads::<u64>(codec);
        check_threads::<u128>(codec);
    }
}

/// The set in three segments of different tables, neighbours with a fingerprint in common.
fn in_segments<F: Fingerprint>(set: &[F], codec: Codec) -> Segments<F, Vec<u8>> {
    let designs = [
        TableDesign::choose_bands(3, 5),
        TableDesign::partition(3, 2),
        TableDesign::partition(3, 1),
    ];
    let third = set.len() / 3;
    let parts = designs.into_iter().enumerate().map(|(i, design)| {
        let mut options = options(design.unwrap(), 256);
        options.codec = Some(codec);
        let end = if i == 2 {
            set.len()
        } else {
            (i + 1) * third + 1
        };
        open(build(options, &set[i * third..end]))
    });
    Segments::new(parts.collect()).unwrap()
}

#[test]
fn eight_threads_share_segments() {
    for codec in Codec::ALL {
        let (set, _, queries) = sample_in::<u64>(codec);
        let segments = in_segments(&set, codec);
        assert_eq!(segments.record_count(), set.len() as u64 + 2);
        let expected: Vec<Vec<(u32, u64)>> = queries.iter().map(|&q| scan(&set, q, 3)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (segments, queries, expected) = (&segments, &queries, &expected);
                scope.spawn(move || {
                    let mut searcher = segments.searcher();
                    for i in 0..queries.len() {
                        let i = (i + thread * 50) % queries.len();
                        let found = pairs(searcher.query(queries[i], 3).unwrap());
                        assert_eq!(found, expected[i], "thread {thread}, query {i}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_searcher_of_segments_that_has_grown_allocates_nothing() {
    for codec in Codec::ALL {
        let (set, _, queries) = sample_in::<u128>(codec);
        let segments = in_segments(&set, codec);
        let mut searcher = segments.searcher();
        let mut ask = || {
            let mut answers = 0;
            for &query in &queries {
                for (strategy, cold) in [(Strategy::Scan, false), (Strategy::Probe, true)] {
                    searcher.set_strategy(strategy);
                    searcher.expect_cold_blocks(cold);
                    answers += searcher.query(query, 3).unwrap().len();
                }
            }
            answers
        };
        let answers = ask();
        assert!(answers > 100);
        let before = allocations();
        let again = ask();
        assert_eq!(allocations() - before, 0);
        assert_eq!(again, answers);
    }
}

fn assert_shared<T: Send + Sync>(value: &T) -> &T {
    value
}

#[test]
fn an_index_can_be_sent_and_shared() {
    let (set, file, _) = sample_in::<u64>(Codec::EliasFano);
    let shared: std::sync::Arc<[u8]> = file.into();
    let index = Index::<u64, _>::from_bytes(shared).unwrap();
    assert_eq!(assert_shared(&index).fingerprint_count(), set.len() as u64);
    let moved = std::thread::spawn(move || index.query(set[0], 0).unwrap().len());
    assert_eq!(moved.join().unwrap(), 1);
}

fn check_allocations<F: Fingerprint>(codec: Codec) {
    let (_, file, queries) = sample_in::<F>(codec);
    let index = open::<F>(file);
    let mut searcher = index.searcher();
    let mut many = index.searcher();
    let mut ask = || {
        let mut answers = 0;
        for &query in &queries {
            for strategy in [Strategy::Scan, Strategy::Probe, Strategy::Auto] {
                searcher.set_strategy(strategy);
                assert!(
                    !index.contains(query).unwrap()
                        || !searcher.query(query, 0).unwrap().is_empty()
                );
                answers += searcher.query(query, 3).unwrap().len();
            }
        }
        let all = many.query_many(&queries, 3, |_, matches| answers += matches.len());
        all.unwrap();
        answers
    };
    // The first time, plans are made and lists grow.
    let answers = ask();
    assert!(answers > 100);
    let before = allocations();
    let again = ask();
    assert_eq!(allocations() - before, 0);
    assert_eq!(again, answers);
}

#[test]
fn a_searcher_that_has_grown_allocates_nothing() {
    let before = allocations();
    let list: Vec<u64> = (0..100).collect();
    assert_eq!(
        (list.len(), allocations() - before),
        (100, 1),
        "the counter counts"
    );
    for codec in Codec::ALL {
        check_allocations::<u32>(codec);
        check_allocations::<u64>(codec);
        check_allocations::<u128>(codec);
    }
}

#[test]
fn reading_ids_allocates_nothing() {
    let records: Vec<(u64, String)> = (0..2000u64)
        .map(|i| (i / 3 * 0x1_0001, format!("record {i}")))
        .collect();
    let design = TableDesign::choose_bands(3, 4).unwrap();
    let index = open::<u64>(common::build_strings(options(design, 1024), &records));
    let before = allocations();
    let (mut count, mut bytes) = (0, 0);
    for (fingerprint, _) in records.iter().step_by(3) {
        index
            .for_each_id(*fingerprint, |id| {
                if let simidx::Id::String(id) = id {
                    count += 1;
                    bytes += id.len();
                }
            })
            .unwrap();
    }
    assert_eq!(allocations() - before, 0);
    assert_eq!(count, 2000);
    assert_eq!(bytes, records.iter().map(|r| r.1.len()).sum::<usize>());
}

/// Versions of an index that follow one another under one name.
const GENERATIONS: usize = 8;

/// Threads that query while the file is replaced.
const READERS: usize = 16;

/// Queries of each of them.
const QUERIES: usize = 1000;

/// Queries after which a reader opens the file again.
const QUERIES_OF_AN_OPENING: usize = 20;

/// Replacements, spread over the queries.
const REPLACEMENTS: usize = 400;

/// Replacements by which the readers may be ahead.
const AHEAD: usize = GENERATIONS;

/// The members of a generation, their index with as many records as tell it from the others, and the answers to the
/// queries.
struct Generation {
    file: Vec<u8>,
    record_count: u64,
    answers: Vec<Vec<(u32, u64)>>,
}

/// Every query is near a member of each generation, but each time near another one.
fn generations(queries: &[u64]) -> Vec<Generation> {
    let generation = |number: usize| {
        // One to three bits of a byte of its own.
        let flips = |i: usize| (0..1 + i % 3).fold(0, |bits, flip| bits | 1 << (8 * number + flip));
        let near = |(i, query): (usize, &u64)| query ^ flips(i + number);
        let mut members: Vec<u64> = queries.iter().enumerate().map(near).collect();
        members.extend((0..number as u64).map(|i| i << 40));
        let mut options = options(TableDesign::choose_bands(3, 4).unwrap(), 256);
        options.codec = Some(Codec::ALL[number % 3]);
        let set = sorted_set(&members);
        Generation {
            file: build(options, &members),
            record_count: members.len() as u64,
            answers: queries.iter().map(|&q| scan(&set, q, 3)).collect(),
        }
    };
    (0..GENERATIONS).map(generation).collect()
}

#[test]
fn readers_of_a_file_that_is_replaced_again_and_again_see_whole_generations() {
    let queries: Vec<u64> = common::uniform(300);
    let generations = generations(&queries);
    for (query, _) in queries.iter().enumerate() {
        let answers: Vec<_> = generations.iter().map(|g| &g.answers[query]).collect();
        let distinct: HashSet<_> = answers.iter().collect();
        assert_eq!(
            distinct.len(),
            GENERATIONS,
            "an answer tells its generation"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    std::fs::write(&path, &generations[0].file).unwrap();
    let (asked, openings) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let replaced = AtomicUsize::new(0);
    // How many replacements so many queries call for.
    let due = || asked.load(Ordering::Relaxed) * REPLACEMENTS / (READERS * QUERIES);
    let seen: Vec<AtomicUsize> = (0..GENERATIONS).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        for reader in 0..READERS {
            let (path, queries, generations) = (&path, &queries, &generations);
            let (asked, openings, seen) = (&asked, &openings, &seen);
            let (replaced, due) = (&replaced, &due);
            readers.push(scope.spawn(move || {
                for opening in 0..QUERIES / QUERIES_OF_AN_OPENING {
                    while due() > replaced.load(Ordering::Relaxed) + AHEAD {
                        std::thread::yield_now();
                    }
                    let index = match (reader + opening) % 4 {
                        #[cfg(feature = "mmap")]
                        1.. => Index::<u64, _>::open(path).unwrap(),
                        _ => Index::<u64, _>::open_in_memory(path).unwrap(),
                    };
                    openings.fetch_add(1, Ordering::Relaxed);
                    let is_it = |g: &Generation| g.record_count == index.record_count();
                    let number = generations.iter().position(is_it).expect("a generation");
                    seen[number].fetch_add(1, Ordering::Relaxed);
                    let mut searcher = index.searcher();
                    for i in 0..QUERIES_OF_AN_OPENING {
                        let i = (reader * 31 + opening * QUERIES_OF_AN_OPENING + i) % queries.len();
                        let found = pairs(searcher.query(queries[i], 3).unwrap());
                        assert_eq!(found, generations[number].answers[i], "generation {number}");
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }));
        }
        for number in 1..=REPLACEMENTS {
            // Nobody waits for readers that have failed.
            while due() + 1 < number && readers.iter().any(|reader| !reader.is_finished()) {
                std::thread::yield_now();
            }
            let next = folder.path().join("next");
            std::fs::write(&next, &generations[number % GENERATIONS].file).unwrap();
            std::fs::rename(&next, &path).unwrap();
            replaced.store(number, Ordering::Relaxed);
        }
    });
    let replaced = replaced.into_inner();
    let (asked, openings) = (asked.into_inner(), openings.into_inner());
    let seen: Vec<usize> = seen.into_iter().map(AtomicUsize::into_inner).collect();
    println!(
        "{asked} queries of {openings} openings, {replaced} replacements; openings by generation: {seen:?}"
    );
    assert!(asked >= 10_000 && replaced >= 300);
    assert_eq!((asked, openings), (READERS * QUERIES, seen.iter().sum()));
    assert!(
        seen.iter().filter(|&&count| count > 0).count() > GENERATIONS / 2,
        "{seen:?}"
    );
}
