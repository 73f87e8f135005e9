//! Threads share an index, and a scratch that has grown allocates nothing.

use rand::seq::IndexedRandom;
use simidx::Set;
use simidx::design::TableDesign;
use simidx::index::Strategy;
use simidx::set::SetScratch;
use simidx::{Codec, Fingerprint, Index, Scratch, Width};
use simidx_testkit::counting::allocations;
use simidx_testkit::{
    build, flipped, hit, matched, open, open_set, options, rng, scan, sorted_set,
};

/// A set, its file and queries near its members.
fn sample_in<F: Fingerprint>(codec: Codec) -> (Vec<F>, Vec<u8>, Vec<F>) {
    let fingerprints: Vec<F> = simidx_testkit::clustered(5000);
    let set = sorted_set(&fingerprints);
    let design = TableDesign::choose_bands(Width::of::<F>(), 3, 5).unwrap();
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

fn check_threads<F: Fingerprint>(codec: Codec) {
    let (set, file, queries) = sample_in::<F>(codec);
    let expected: Vec<Vec<(u32, F)>> = queries.iter().map(|&q| scan(&set, q, 3)).collect();
    assert!(expected.iter().any(|found| found.len() > 1));
    let index = open::<F>(file);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (index, queries, expected) = (&index, &queries, &expected);
            scope.spawn(move || {
                let mut scratch = Scratch::new();
                for i in 0..queries.len() {
                    let i = (i + thread * 50) % queries.len();
                    let found = matched(index.query_with(&mut scratch, queries[i], 3).unwrap());
                    assert_eq!(found, expected[i], "thread {thread}, query {i}");
                    let member = expected[i].first().is_some_and(|m| m.0 == 0);
                    assert_eq!(index.contains(queries[i]).unwrap(), member);
                }
            });
        }
    });
}

#[test]
fn eight_threads_with_a_scratch_each_give_the_same_answers() {
    for codec in Codec::ALL {
        check_threads::<u32>(codec);
        check_threads::<u64>(codec);
        check_threads::<u128>(codec);
    }
}

/// The set in three segments of different tables, neighbours with a fingerprint in common.
fn in_segments<F: Fingerprint>(set: &[F], codec: Codec) -> Set {
    let designs = [
        TableDesign::choose_bands(Width::of::<F>(), 3, 5),
        TableDesign::partition(Width::of::<F>(), 3, 2),
        TableDesign::partition(Width::of::<F>(), 3, 1),
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
        build(options, &set[i * third..end])
    });
    open_set(parts)
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
                    let mut scratch = SetScratch::new();
                    for i in 0..queries.len() {
                        let i = (i + thread * 50) % queries.len();
                        let found = segments.query_with(&mut scratch, queries[i], 3).unwrap();
                        assert_eq!(hit(found.iter()), expected[i], "thread {thread}, query {i}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_scratch_of_segments_that_has_grown_allocates_nothing() {
    for codec in Codec::ALL {
        let (set, _, queries) = sample_in::<u128>(codec);
        let segments = in_segments(&set, codec);
        let mut scratch = SetScratch::new();
        let mut ask = || {
            let mut answers = 0;
            for &query in &queries {
                for (strategy, cold) in [(Strategy::Scan, false), (Strategy::Probe, true)] {
                    scratch.set_strategy(strategy);
                    scratch.expect_cold_blocks(cold);
                    answers += segments.query_with(&mut scratch, query, 3).unwrap().len();
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
    let index = Index::<u64>::from_bytes(file).unwrap();
    assert_eq!(assert_shared(&index).len(), set.len() as u64);
    let moved = std::thread::spawn(move || index.query(set[0], 0).unwrap().len());
    assert_eq!(moved.join().unwrap(), 1);
}

fn check_allocations<F: Fingerprint>(codec: Codec) {
    let (_, file, queries) = sample_in::<F>(codec);
    let index = open::<F>(file);
    let mut scratch = Scratch::new();
    let mut many = Scratch::new();
    let mut ask = || {
        let mut answers = 0;
        for &query in &queries {
            for strategy in [Strategy::Scan, Strategy::Probe, Strategy::Auto] {
                scratch.set_strategy(strategy);
                assert!(
                    !index.contains(query).unwrap()
                        || !index.query_with(&mut scratch, query, 0).unwrap().is_empty()
                );
                answers += index.query_with(&mut scratch, query, 3).unwrap().len();
            }
        }
        let all = index.query_many_with(&mut many, &queries, 3, |_, matches| {
            answers += matches.len()
        });
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
fn a_scratch_that_has_grown_allocates_nothing() {
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
    let design = TableDesign::choose_bands(Width::W64, 3, 4).unwrap();
    let index = open::<u64>(simidx_testkit::build_strings(
        options(design, 1024),
        &records,
    ));
    // The buffer has its memory when it has been used for a while.
    let mut buffer = simidx::index::IdBuffer::default();
    for (fingerprint, _) in &records[..100] {
        let mut ids = index.ids_of(*fingerprint).unwrap().with_buffer(buffer);
        while ids.read().unwrap().is_some() {}
        buffer = ids.into_buffer();
    }
    let before = allocations();
    let (mut count, mut bytes) = (0, 0);
    for (fingerprint, _) in records.iter().step_by(3) {
        let mut ids = index.ids_of(*fingerprint).unwrap().with_buffer(buffer);
        while let Some(id) = ids.read().unwrap() {
            if let simidx::Id::String(id) = id {
                count += 1;
                bytes += id.len();
            }
        }
        buffer = ids.into_buffer();
    }
    assert_eq!(allocations() - before, 0);
    assert_eq!(count, 2000);
    assert_eq!(bytes, records.iter().map(|r| r.1.len()).sum::<usize>());
}

#[test]
fn a_scratch_that_has_grown_allocates_nothing_for_any_index() {
    let sets = [1, 2, 3].map(|round| simidx_testkit::uniform::<u64>(1000 * round));
    let indexes = sets.each_ref().map(|set| {
        let records: Vec<(u64, u64)> = set.iter().copied().zip(0..).collect();
        let design = TableDesign::choose_bands(Width::W64, 3, 4).unwrap();
        open::<u64>(simidx_testkit::build_numbers(
            options(design, 256),
            &records,
        ))
    });
    let mut scratch = Scratch::new();
    let mut ask = || {
        let mut ids = 0;
        for (index, set) in indexes.iter().zip(&sets) {
            for strategy in [Strategy::Scan, Strategy::Probe] {
                scratch.set_strategy(strategy);
                let found = index.query_with(&mut scratch, set[7], 3).unwrap();
                ids += index.ids(&found[0]).unwrap().len();
            }
        }
        ids
    };
    assert_eq!(ask(), 6);
    let before = allocations();
    assert_eq!(ask(), 6);
    assert_eq!(allocations() - before, 0);
}
