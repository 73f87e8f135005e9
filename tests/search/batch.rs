//! Pairs and joins against brute force: all widths, distances, shapes of data, threads and memory limits.

use std::collections::BTreeMap;

use rand::RngExt;
use simidx::batch::{JoinOptions, JoinStrategy, Pair, PairFinder, PairOptions};
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Error, Fingerprint, Id, Match, Scratch, Set, Width};
use simidx_testkit::brute_force::all_pairs;
use simidx_testkit::{
    build, build_numbers, build_strings, flipped, hit, open, open_set, options, random, recording,
    rng, sorted_set, thorough,
};

fn pair_options(distance: u32, sorted: bool) -> PairOptions {
    let mut options = PairOptions::default();
    (options.distance, options.sorted) = (distance, sorted);
    options
}

/// The pairs in the order in which they come.
fn found_pairs<F: Fingerprint>(values: &[F], options: &PairOptions) -> Vec<Pair> {
    let mut finder = PairFinder::new(Width::of::<F>(), options).unwrap();
    finder.extend_from_slice(values).unwrap();
    let mut found = Vec::new();
    finder
        .finish(|pair| {
            found.push(pair);
            Ok(())
        })
        .unwrap();
    found
}

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(run)
}

#[track_caller]
fn check_pairs<F: Fingerprint>(values: &[F], distance: u32, what: &str) {
    let expected = all_pairs(values, distance);
    let found = found_pairs(values, &pair_options(distance, true));
    assert!(
        found == expected,
        "{what}, distance {distance}: {} pairs",
        found.len()
    );
    let mut unsorted = found_pairs(values, &pair_options(distance, false));
    unsorted.sort_unstable();
    assert!(
        unsorted == expected,
        "{what}, distance {distance}, unsorted"
    );
}

fn check_shapes<F: Fingerprint>() {
    for data in simidx_testkit::data_sets::<F>(2500) {
        for distance in 0..=7 {
            check_pairs(&data.fingerprints, distance, data.name);
        }
    }
}

#[test]
fn pairs_of_32_bits_are_those_of_brute_force() {
    check_shapes::<u32>();
}

#[test]
fn pairs_of_64_bits_are_those_of_brute_force() {
    check_shapes::<u64>();
}

#[test]
fn pairs_of_128_bits_are_those_of_brute_force() {
    check_shapes::<u128>();
}

#[test]
fn pairs_within_distances_without_designs_are_those_of_brute_force() {
    let values = simidx_testkit::clustered::<u32>(300);
    for distance in [13, 20, 31, 32, 100] {
        check_pairs(&values, distance, "clustered");
    }
}

/// Enough for the way that large sets take, and its groups small enough to compare.
fn many<F: Fingerprint>() -> Vec<F> {
    let mut values = simidx_testkit::uniform::<F>(40_000);
    values.extend(simidx_testkit::clustered::<F>(30_000));
    values
}

/// The pairs of what queries find.
fn pairs_by_queries<F: Fingerprint>(values: &[F], distance: u32) -> Vec<Pair> {
    let index = open(build(
        options(TableDesign::partition(Width::of::<F>(), 3, 2).unwrap(), 512),
        values,
    ));
    let mut scratch = Scratch::new();
    let mut found = Vec::new();
    for smaller in sorted_set(values) {
        let matches = index
            .query_with(&mut scratch, smaller, distance)
            .unwrap()
            .iter();
        let larger = matches.filter(|m| m.fingerprint > smaller);
        let mut larger: Vec<F> = larger.map(|m| m.fingerprint).collect();
        larger.sort_unstable();
        found.extend(larger.into_iter().map(|larger| Pair::new(smaller, larger)));
    }
    found
}

fn check_many<F: Fingerprint>() {
    let values = many::<F>();
    for distance in [1, 3] {
        let expected = pairs_by_queries(&values, distance);
        let found = found_pairs(&values, &pair_options(distance, true));
        assert!(found == expected, "{distance}: {} pairs", found.len());
    }
}

#[test]
fn pairs_of_many_are_those_that_queries_find() {
    check_many::<u32>();
    check_many::<u64>();
    check_many::<u128>();
}

#[test]
fn pairs_come_in_the_same_order_on_any_number_of_threads() {
    let values = many::<u64>();
    let run = |threads| with_threads(threads, || found_pairs(&values, &pair_options(3, false)));
    let one = run(1);
    assert!(!one.is_sorted(), "the order is not that of --sorted");
    for threads in [2, 5] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn pairs_of_skewed_sets_are_found_in_time() {
    // A dense run: every value has all its low bits' neighbours.
    let count = 1 << 16;
    let run: Vec<u64> = (0..count).map(|i| 0xabcd << 48 | i).collect();
    let finder = |values: &[u64], distance| {
        let mut finder = PairFinder::new(Width::W64, &pair_options(distance, false)).unwrap();
        finder.extend_from_slice(values).unwrap();
        finder.count().unwrap()
    };
    assert_eq!(finder(&run, 1), count * 16 / 2);
    assert_eq!(finder(&run, 3), count * (16 + 120 + 560) / 2);
    // All within six bits of each other.
    let mut rng = rng(5);
    let near: Vec<u64> = (0..30_000).map(|_| flipped(77, 3, &mut rng)).collect();
    let distinct = sorted_set(&near);
    let expected = all_pairs(&distinct, 2).len() as u64;
    assert_eq!(finder(&near, 2), expected);
    // One prefix, and the rest random.
    let prefix: Vec<u64> = (0..30_000)
        .map(|_| 0x1234_5678 << 32 | u64::from(rng.random::<u32>()))
        .collect();
    let expected = all_pairs(&prefix, 3).len() as u64;
    assert_eq!(finder(&prefix, 3), expected);
}

#[test]
fn pairs_are_the_same_within_a_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = simidx_testkit::uniform::<u128>(1_300_000);
    let near: Vec<u128> = values
        .iter()
        .step_by(50)
        .map(|v| v ^ 1 << 100 ^ 3)
        .collect();
    values.extend(near);
    let unlimited = pair_options(3, true);
    let mut limited = unlimited.clone();
    limited.memory = Some(simidx::builder::MIN_MEMORY);
    limited.temp_dir = Some(folder.path().into());
    let one_way = found_pairs(&values, &limited);
    assert!(one_way == found_pairs(&values, &unlimited));
    assert!(one_way.is_sorted() && one_way.len() >= 26_000);
    let wrong = folder.path().join("none");
    limited.temp_dir = Some(wrong.clone());
    let mut finder = PairFinder::new(Width::W128, &limited).unwrap();
    let error = finder
        .extend_from_slice(&values)
        .and_then(|()| finder.finish(|_| Ok(())));
    let message = error.unwrap_err().to_string();
    assert!(message.contains(wrong.to_str().unwrap()), "{message}");
    limited.memory = Some(1);
    assert!(PairFinder::new(Width::W64, &limited).is_err());
}

#[test]
fn pairs_stop_at_a_limit_and_at_an_error() {
    let values: Vec<u64> = (0..1 << 10).collect();
    let all = all_pairs(&values, 2).len() as u64;
    for (sorted, limit) in [(false, 5000), (true, 5000), (false, all), (true, all)] {
        let mut options = pair_options(2, sorted);
        options.max_pairs = Some(limit);
        let mut finder = PairFinder::new(Width::W64, &options).unwrap();
        finder.extend_from_slice(&values).unwrap();
        let mut given = 0;
        let finished = finder.finish(|_| {
            given += 1;
            Ok(())
        });
        if limit == all {
            finished.unwrap();
            assert_eq!(given, all);
        } else {
            let message = finished.unwrap_err().to_string();
            assert_eq!(message, "there are more than 5000 pairs");
            assert_eq!(given, if sorted { 0 } else { 5000 });
        }
    }
    let mut finder = PairFinder::new(Width::W64, &pair_options(2, false)).unwrap();
    finder.extend_from_slice(&values).unwrap();
    let mut given = 0;
    let finished = finder.finish(|_| {
        given += 1;
        match given {
            10 => Err(std::io::Error::other("enough").into()),
            _ => Ok(()),
        }
    });
    assert_eq!(finished.unwrap_err().to_string(), "enough");
    assert_eq!(given, 10);
}

/// Records of which some share a fingerprint, dealt out to segments of several designs.
fn dealt<F: Fingerprint, I: Clone>(
    records: &[(F, I)],
    build: impl Fn(TableDesign, &[(F, I)]) -> Vec<u8>,
) -> Set {
    let designs = [(3, 1), (3, 2), (4, 3)];
    let segment = |(n, &(k, bands)): (usize, &(u32, u32))| {
        let share: Vec<(F, I)> = records.iter().skip(n).step_by(3).cloned().collect();
        let design = TableDesign::partition(Width::of::<F>(), k, bands).unwrap();
        build(design, &share)
    };
    open_set(designs.iter().enumerate().map(segment))
}

fn records(count: usize) -> Vec<(u64, u64)> {
    let values = simidx_testkit::clustered::<u64>(count);
    let value = |i: usize| values[if i.is_multiple_of(5) { i / 40 } else { i }];
    (0..count)
        .map(|i| (value(i), i as u64 * 37 % 997))
        .collect()
}

#[test]
fn pairs_of_segments_are_those_of_the_whole() {
    let values: Vec<(u64, u64)> = records(1500);
    let plain: Vec<u128> = values.iter().map(|r| r.0.into()).collect();
    let segments = dealt(&values, |design, records| {
        let values: Vec<u64> = records.iter().map(|r| r.0).collect();
        build(options(design, 128), &values)
    });
    let mut found = Vec::new();
    segments
        .pairs(&pair_options(4, true), |pair| {
            found.push(pair);
            Ok(())
        })
        .unwrap();
    assert_eq!(found, all_pairs(&plain, 4));
    let refused = segments
        .id_pairs(&pair_options(3, false), |_| Ok(()))
        .unwrap_err();
    assert!(refused.to_string().contains("has no ids"), "{refused}");
}

/// All pairs of records by comparing all.
fn all_id_pairs<I: Ord + Clone>(records: &[(u64, I)], distance: u32) -> Vec<(I, I, u32)> {
    let mut found = Vec::new();
    for (i, (x, a)) in records.iter().enumerate() {
        for (y, b) in &records[i + 1..] {
            if x.distance(*y) <= distance {
                let (a, b) = (a.clone(), b.clone());
                found.push((a.clone().min(b.clone()), a.max(b), x.distance(*y)));
            }
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn pairs_by_id_are_those_of_all_records() {
    let numbers = records(1200);
    let strings: Vec<(u64, String)> = numbers.iter().map(|(f, i)| (*f, format!("n{i}"))).collect();
    for distance in [0, 1, 3] {
        for sorted in [false, true] {
            let options_of_pairs = pair_options(distance, sorted);
            let segments = dealt(&numbers, |d, r| build_numbers(options(d, 128), r));
            let mut found = Vec::new();
            segments
                .id_pairs(&options_of_pairs, |pair| {
                    let (Id::Number(a), Id::Number(b)) = (pair.smaller, pair.larger) else {
                        panic!("not numbers")
                    };
                    found.push((a, b, pair.distance));
                    Ok(())
                })
                .unwrap();
            assert_eq!(found.is_sorted(), sorted);
            found.sort_unstable();
            assert_eq!(found, all_id_pairs(&numbers, distance));

            let segments = dealt(&strings, |d, r| build_strings(options(d, 128), r));
            let mut found = Vec::new();
            segments
                .id_pairs(&options_of_pairs, |pair| {
                    let text = |id: Id<'_>| id.to_string();
                    found.push((text(pair.smaller), text(pair.larger), pair.distance));
                    Ok(())
                })
                .unwrap();
            assert_eq!(found.is_sorted(), sorted);
            found.sort_unstable();
            assert_eq!(found, all_id_pairs(&strings, distance));
        }
    }
}

/// Matches by number of the query: distances and fingerprints.
type Matches<F> = Vec<(usize, (u32, F))>;

fn by_queries<F: Fingerprint>(segments: &Set, queries: &[F], distance: u32) -> Matches<F> {
    let mut found = Vec::new();
    for (number, &query) in queries.iter().enumerate() {
        let matches = hit(segments.query(query, distance).unwrap());
        found.extend(matches.into_iter().map(|m| (number, m)));
    }
    found
}

fn joined<F: Fingerprint>(segments: &Set, queries: &[F], options: &JoinOptions) -> Matches<F> {
    let mut found = Vec::new();
    segments
        .join(queries, options, |n, m| {
            found.push((n, (m.distance, F::from_u128(m.fingerprint))));
            Ok(())
        })
        .unwrap();
    found
}

/// Members, members with flipped bits, random values, and some of them twice, in no order.
fn batch<F: Fingerprint>(values: &[F], count: usize) -> Vec<F> {
    let mut rng = rng(11);
    let mut queries: Vec<F> = (0..count)
        .map(|i| match i % 4 {
            0 => random(&mut rng),
            flips => flipped(values[i * 7 % values.len()], flips as u32 - 1, &mut rng),
        })
        .collect();
    queries.extend_from_within(..count / 10);
    queries
}

fn check_join<F: Fingerprint>(values: &[F], query_count: usize, distances: &[u32]) {
    for (bands, codec) in [(1, Codec::EliasFano), (2, Codec::Gap), (3, Codec::Xor)] {
        let file = |part: usize| {
            let share: Vec<F> = values.iter().skip(part).step_by(2).copied().collect();
            // Some fingerprints lie in both segments.
            let share = [&share, &values[..values.len().min(50)]].concat();
            let mut options = options(
                TableDesign::partition(Width::of::<F>(), 3, bands).unwrap(),
                128,
            );
            options.codec = Some(codec);
            build(options, &share)
        };
        let segments = open_set([file(0), file(1)]);
        let queries = batch(values, query_count);
        for &distance in distances {
            let expected = by_queries(&segments, &queries, distance);
            for strategy in [
                JoinStrategy::Auto,
                JoinStrategy::Stream,
                JoinStrategy::Probe,
            ] {
                let mut options = JoinOptions::default();
                (options.distance, options.strategy) = (distance, strategy);
                let what = format!("{} bits, {distance}, {strategy:?}", F::WIDTH);
                assert!(joined(&segments, &queries, &options) == expected, "{what}");
            }
        }
    }
}

#[test]
fn joins_are_what_queries_find() {
    let all = &[0, 1, 3, 6, 14][..];
    let some = thorough(all, &[0, 3, 6]);
    check_join(&simidx_testkit::clustered::<u32>(3000), 400, some);
    check_join(&simidx_testkit::clustered::<u64>(3000), 400, all);
    check_join(&simidx_testkit::clustered::<u128>(3000), 400, some);
    check_join(&simidx_testkit::dense_run::<u64>(3000), 300, &[2, 7]);
    check_join(&simidx_testkit::equal_prefixes::<u64>(3000), 300, &[3]);
    let query_count = thorough(20_000, 5000);
    check_join(&simidx_testkit::uniform::<u64>(60_000), query_count, &[3]);
    check_join(&[7u64], 3, &[0, 64]);
}

#[test]
fn joins_say_how_far_they_are_and_break_off() {
    let mut rng = rng(31);
    let values: Vec<u64> = (0..20_000).map(|_| random(&mut rng)).collect();
    let segments = open_set([build(BuildOptions::default(), &values)]);
    for strategy in [JoinStrategy::Stream, JoinStrategy::Probe] {
        let options = JoinOptions::default().strategy(strategy);
        let (watch, calls) = recording(usize::MAX);
        let (mut plain, mut watched) = (Vec::new(), Vec::new());
        let mut take = |query, found: Match<u128>| {
            watched.push((query, found.fingerprint));
            Ok(())
        };
        let with_watch = options.clone().watch(watch);
        segments.join(&values, &with_watch, &mut take).unwrap();
        segments
            .join(&values, &options, |query, found| {
                plain.push((query, found.fingerprint));
                Ok(())
            })
            .unwrap();
        assert!(watched == plain && plain.len() >= values.len());
        let seen = calls.lock().unwrap();
        let total = seen[0].total;
        assert!(total > 1 && seen.is_sorted_by_key(|p| p.done));
        assert!(seen.iter().all(|p| p.total == total));
        assert_eq!((seen[0].done, seen.last().unwrap().done), (0, total));
        for last in [1, seen.len() / 2] {
            let options = options.clone().watch(recording(last).0);
            let stopped = segments.join(&values, &options, |_, _| {
                panic!("a match of a search that was stopped")
            });
            assert!(matches!(stopped, Err(Error::Interrupted)));
        }
    }
}

#[test]
fn joins_without_queries_or_fingerprints_find_nothing() {
    let empty = || {
        build::<u64>(
            options(TableDesign::partition(Width::W64, 3, 2).unwrap(), 128),
            &[],
        )
    };
    let segments = open_set([empty(), empty()]);
    for strategy in [
        JoinStrategy::Auto,
        JoinStrategy::Stream,
        JoinStrategy::Probe,
    ] {
        let mut options = JoinOptions::default();
        options.strategy = strategy;
        assert_eq!(joined(&segments, &[1u64, 2, 2], &options), []);
        assert_eq!(joined::<u64>(&segments, &[], &options), []);
    }
}

#[test]
fn joins_are_the_same_on_any_number_of_threads_and_in_little_memory() {
    // Each of many queries has many matches: more than the memory holds.
    let mut rng = rng(3);
    let values: Vec<u64> = (0..2000).map(|_| flipped(99, 2, &mut rng)).collect();
    let design = TableDesign::partition(Width::W64, 3, 2).unwrap();
    let segments = open_set([build(options(design, 512), &values)]);
    let queries = batch(&values, 2500);
    let folder = tempfile::tempdir().unwrap();
    for strategy in [JoinStrategy::Stream, JoinStrategy::Probe] {
        let mut options = JoinOptions::default();
        (options.distance, options.strategy) = (5, strategy);
        let one = with_threads(1, || joined(&segments, &queries, &options));
        assert!(one.len() > 1_500_000, "{}", one.len());
        assert!(with_threads(4, || joined(&segments, &queries, &options)) == one);
        options.memory = Some(simidx::builder::MIN_MEMORY);
        options.temp_dir = Some(folder.path().into());
        assert!(joined(&segments, &queries, &options) == one);
        options.temp_dir = Some(folder.path().join("none"));
        segments
            .join(&queries, &options, |_, _| Ok(()))
            .unwrap_err();
    }
}

#[test]
fn a_damaged_block_is_named_with_its_segment() {
    let values = simidx_testkit::uniform::<u64>(4000);
    let good = build(
        options(TableDesign::partition(Width::W64, 3, 2).unwrap(), 512),
        &values,
    );
    let mut bad = good.clone();
    bad[512 + 40] ^= 1;
    let segments = open_set([good, bad]);
    let mut messages = BTreeMap::new();
    for strategy in [JoinStrategy::Stream, JoinStrategy::Probe] {
        let mut options = JoinOptions::default();
        options.strategy = strategy;
        let error = segments.join(&values, &options, |_, _| Ok(())).unwrap_err();
        messages.insert(format!("{strategy:?}"), error.to_string());
    }
    let error = segments
        .pairs(&pair_options(3, false), |_| Ok(()))
        .unwrap_err();
    messages.insert("pairs".into(), error.to_string());
    for (what, message) in messages {
        assert!(
            message.starts_with("segment 1: damaged index"),
            "{what}: {message}"
        );
    }
}
