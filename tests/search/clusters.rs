//! Clusters against brute force: all widths, distances, shapes of data, threads and memory limits;
//! representatives, records and chains.

use std::collections::BTreeMap;

use proptest::prelude::*;
use simidx::batch::{
    Cluster, ClusterFinder, ClusterOptions, ClusterReport, Pair, PairFinder, PairOptions,
};
use simidx::design::TableDesign;
use simidx::{Error, Fingerprint, Set, Width};
use simidx_testkit::brute_force::components;
use simidx_testkit::{
    build, build_numbers, build_strings, flipped, open_set, options, rng, sorted_set,
};

/// A cluster as the tests compare them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found<F> {
    record_count: u64,
    fingerprints: Vec<F>,
    representative: F,
    radius: u32,
}

impl<F: Fingerprint> Found<F> {
    fn of(cluster: &Cluster<'_>) -> Self {
        Found {
            record_count: cluster.record_count,
            fingerprints: cluster
                .fingerprints
                .iter()
                .copied()
                .map(F::from_u128)
                .collect(),
            representative: F::from_u128(cluster.representative),
            radius: cluster.radius,
        }
    }
}

fn cluster_options(distance: u32) -> ClusterOptions {
    let mut options = ClusterOptions::default();
    options.distance = distance;
    options
}

/// Collects clusters and checks their numbers.
fn collector<F: Fingerprint>(
    found: &mut Vec<Found<F>>,
) -> impl FnMut(Cluster<'_>) -> simidx::Result<()> {
    |cluster| {
        assert_eq!(cluster.number, found.len() as u64);
        found.push(Found::of(&cluster));
        Ok(())
    }
}

fn run<F: Fingerprint>(values: &[F], options: &ClusterOptions) -> (Vec<Found<F>>, ClusterReport) {
    let mut finder = ClusterFinder::new(Width::of::<F>(), options).unwrap();
    finder.extend_from_slice(values).unwrap();
    let mut found = Vec::new();
    let report = finder.finish(collector(&mut found)).unwrap();
    (found, report)
}

/// Returns the clusters of fingerprints that have these numbers of records.
fn expected<F: Fingerprint>(
    records: &BTreeMap<F, u64>,
    options: &ClusterOptions,
    first: impl Fn(&[F]) -> F,
) -> Vec<Found<F>> {
    let values: Vec<F> = records.keys().copied().collect();
    let components = components(&values, options.distance).into_iter();
    let mut found: Vec<Found<F>> = components
        .map(|members| {
            let representative = first(&members);
            let distances = members.iter().map(|m| m.distance(representative));
            Found {
                record_count: members.iter().map(|member| records[member]).sum(),
                representative,
                radius: distances.max().unwrap(),
                fingerprints: members,
            }
        })
        .filter(|found| found.record_count >= options.min_size)
        .collect();
    found.sort_by_key(|c| (std::cmp::Reverse(c.record_count), c.fingerprints[0]));
    found
}

fn once<F: Fingerprint>(values: &[F]) -> BTreeMap<F, u64> {
    values.iter().map(|&value| (value, 1)).collect()
}

#[track_caller]
fn check<F: Fingerprint>(values: &[F], options: &ClusterOptions, what: &str) {
    let (found, report) = run(values, options);
    let expected = expected(&once(values), options, |members| members[0]);
    let what = format!("{what}, {options:?}");
    assert!(found == expected, "{what}: {} clusters", found.len());
    let chains = expected.iter();
    let chains = chains.filter(|c| c.radius > 2 * options.distance);
    assert_eq!(report.chain_count, chains.count() as u64, "{what}");
    assert_eq!(report.cluster_count, expected.len() as u64, "{what}");
    let records: u64 = expected.iter().map(|c| c.record_count).sum();
    assert_eq!(report.record_count, records, "{what}");
    assert_eq!(report.fingerprint_count, records, "{what}");
    let widest = expected.iter().map(|c| c.radius).max();
    assert_eq!(report.widest_radius, widest.unwrap_or_default(), "{what}");
    if let Some(cluster) = expected.get(report.widest_cluster as usize) {
        assert_eq!(cluster.radius, report.widest_radius, "{what}");
    }
}

fn check_shapes<F: Fingerprint>() {
    for data in simidx_testkit::data_sets::<F>(2000) {
        for distance in [0, 1, 2, 3, 5, 8] {
            let mut options = cluster_options(distance);
            options.min_size = u64::from(distance % 2) + 1;
            check(&data.fingerprints, &options, data.name);
        }
    }
}

#[test]
fn clusters_of_32_bits_are_those_of_brute_force() {
    check_shapes::<u32>();
}

#[test]
fn clusters_of_64_bits_are_those_of_brute_force() {
    check_shapes::<u64>();
}

#[test]
fn clusters_of_128_bits_are_those_of_brute_force() {
    check_shapes::<u128>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn clusters_of_any_values_are_those_of_brute_force(
        values in prop::collection::vec(any::<u32>(), 0..300), kept: u32, narrow: u32, distance in 0u32..8,
        min_size in 1u64..5,
    ) {
        let values: Vec<u32> = values.into_iter().map(|v| v & kept & narrow).collect();
        let mut options = cluster_options(distance);
        options.min_size = min_size;
        check(&values, &options, "any");
    }
}

/// Enough for the way that large sets take.
fn many<F: Fingerprint>() -> Vec<F> {
    let mut values = simidx_testkit::uniform::<F>(40_000);
    values.extend(simidx_testkit::clustered::<F>(30_000));
    values.extend(simidx_testkit::dense_run::<F>(5_000));
    values
}

fn check_many<F: Fingerprint>() {
    let values = many::<F>();
    let mut finder = PairFinder::new(Width::of::<F>(), &PairOptions::default()).unwrap();
    finder.extend_from_slice(&values).unwrap();
    // Every value has the smallest that its pairs link it to.
    let mut smallest: BTreeMap<F, F> = values.iter().map(|&v| (v, v)).collect();
    fn root<F: Fingerprint>(smallest: &BTreeMap<F, F>, mut value: F) -> F {
        while smallest[&value] != value {
            value = smallest[&value];
        }
        value
    }
    let link = |pair: Pair| {
        let ends = [pair.smaller, pair.larger].map(F::from_u128);
        let [x, y] = ends.map(|v| root(&smallest, v));
        smallest.insert(x.max(y), x.min(y));
        Ok(())
    };
    finder.finish(link).unwrap();
    let mut expected: BTreeMap<F, Vec<F>> = BTreeMap::new();
    for &value in smallest.keys() {
        let members = expected.entry(root(&smallest, value)).or_default();
        members.push(value);
    }
    let expected: Vec<&Vec<F>> = expected.values().filter(|m| m.len() > 1).collect();
    let (mut found, _) = run(&values, &cluster_options(3));
    found.sort_by_key(|cluster| cluster.fingerprints[0]);
    assert!(found.iter().map(|c| &c.fingerprints).eq(expected));
}

#[test]
fn clusters_of_many_are_what_their_pairs_link() {
    check_many::<u32>();
    check_many::<u64>();
    check_many::<u128>();
}

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(run)
}

#[test]
fn clusters_are_the_same_on_any_number_of_threads_and_within_a_memory_limit() {
    let mut values = many::<u64>();
    let mut rng = rng(8);
    values.extend((0..20_000).map(|_| flipped(77, 4, &mut rng)));
    let mut options = cluster_options(3);
    let one = with_threads(1, || run(&values, &options));
    for threads in [2, 5] {
        assert!(with_threads(threads, || run(&values, &options)) == one);
    }
    options.memory = Some(simidx::builder::MIN_MEMORY);
    assert!(with_threads(2, || run(&values, &options)) == one);
}

#[test]
fn fingerprints_that_come_often_take_no_memory_and_too_many_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let values = simidx_testkit::clustered::<u64>(60_000);
    let mut options = cluster_options(3);
    let unlimited = run(&values, &options);
    options.memory = Some(simidx::builder::MIN_MEMORY);
    options.temp_dir = Some(folder.path().into());
    let mut finder = ClusterFinder::new(Width::W64, &options).unwrap();
    for _ in 0..30 {
        finder.extend_from_slice(&values).unwrap();
    }
    let mut found = Vec::new();
    let report = finder.finish(collector(&mut found)).unwrap();
    assert!((found, report) == unlimited);
    let mut finder = ClusterFinder::new(Width::W64, &options).unwrap();
    finder
        .extend_from_slice(&simidx_testkit::uniform::<u64>(2_000_000))
        .unwrap();
    let Err(Error::Budget {
        purpose, needed, ..
    }) = finder.finish(|_| Ok(()))
    else {
        panic!("they do not fit")
    };
    // All are counted, and the figure is what they need.
    assert_eq!(purpose, "clustering 2000000 distinct fingerprints");
    assert_eq!(needed, 2_000_000 * 36);
    options.memory = Some(1);
    assert!(ClusterFinder::new(Width::W64, &options).is_err());
}

#[test]
fn a_crowd_is_linked_without_going_through_its_pairs() {
    // Five billion pairs within six bits, which would take minutes.
    let mut rng = rng(5);
    let crowd: Vec<u64> = (0..120_000).map(|_| flipped(77, 4, &mut rng)).collect();
    let distinct = sorted_set(&crowd);
    assert!(distinct.len() > 100_000);
    let (found, report) = run(&crowd, &cluster_options(8));
    assert_eq!(found.len(), 1);
    assert!(found[0].fingerprints == distinct);
    assert!(report.widest_radius <= 8 && report.chain_count == 0);
}

#[test]
fn an_error_of_the_visitor_ends_the_run() {
    let values: Vec<u64> = (0..40).map(|i| i / 2 * 0x0101_0101 + i % 2).collect();
    let mut finder = ClusterFinder::new(Width::W64, &cluster_options(1)).unwrap();
    finder.extend_from_slice(&values).unwrap();
    let mut given = 0;
    let finished = finder.finish(|_| {
        given += 1;
        Err(std::io::Error::other("enough").into())
    });
    assert_eq!(finished.unwrap_err().to_string(), "enough");
    assert_eq!(given, 1);
}

/// Records of which some share a fingerprint, dealt out to three segments.
fn records(count: usize) -> Vec<(u64, u64)> {
    let values = simidx_testkit::clustered::<u64>(count);
    let value = |i: usize| values[if i.is_multiple_of(5) { i / 40 } else { i }];
    (0..count)
        .map(|i| (value(i), i as u64 * 37 % 997))
        .collect()
}

fn dealt<I: Clone>(
    records: &[(u64, I)],
    build: impl Fn(TableDesign, &[(u64, I)]) -> Vec<u8>,
) -> Set {
    let segment = |n: usize| {
        let share: Vec<(u64, I)> = records.iter().skip(n).step_by(3).cloned().collect();
        build(TableDesign::partition(Width::W64, 3, 2).unwrap(), &share)
    };
    open_set((0..3).map(segment))
}

fn of_segments(segments: &Set, options: &ClusterOptions) -> (Vec<Found<u64>>, ClusterReport) {
    let mut found = Vec::new();
    let report = segments.clusters(options, collector(&mut found)).unwrap();
    (found, report)
}

#[test]
fn records_of_segments_count_and_the_smallest_id_comes_first() {
    let numbers = records(1500);
    let strings: Vec<(u64, String)> = numbers.iter().map(|(f, i)| (*f, format!("n{i}"))).collect();
    let mut counts = BTreeMap::new();
    let mut first_number: BTreeMap<u64, u64> = BTreeMap::new();
    let mut first_string: BTreeMap<u64, String> = BTreeMap::new();
    for ((value, number), (_, string)) in numbers.iter().zip(&strings) {
        *counts.entry(*value).or_insert(0) += 1;
        let first = first_number.entry(*value).or_insert(*number);
        *first = (*first).min(*number);
        let first = first_string.entry(*value).or_insert(string.clone());
        *first = first.clone().min(string.clone());
    }
    let of_numbers = dealt(&numbers, |d, r| build_numbers(options(d, 128), r));
    let of_strings = dealt(&strings, |d, r| build_strings(options(d, 128), r));
    for (distance, min_size) in [(0, 2), (1, 1), (3, 2), (3, 5)] {
        let mut options = cluster_options(distance);
        options.min_size = min_size;
        let smallest_number = |members: &[u64]| {
            let members = members.iter().copied();
            members.min_by_key(|m| (first_number[m], *m)).unwrap()
        };
        let expected_numbers = expected(&counts, &options, smallest_number);
        let (found, report) = of_segments(&of_numbers, &options);
        assert_eq!(found, expected_numbers, "{options:?}");
        let records: u64 = expected_numbers.iter().map(|c| c.record_count).sum();
        assert_eq!(report.record_count, records);
        let smallest_string = |members: &[u64]| {
            let members = members.iter().copied();
            members.min_by_key(|m| (&first_string[m], *m)).unwrap()
        };
        let expected_strings = expected(&counts, &options, smallest_string);
        assert_eq!(of_segments(&of_strings, &options).0, expected_strings);
    }
}

#[test]
fn a_damaged_segment_is_named() {
    let values = simidx_testkit::uniform::<u64>(4000);
    let good = build(
        options(TableDesign::partition(Width::W64, 3, 2).unwrap(), 512),
        &values,
    );
    let mut bad = good.clone();
    bad[512 + 40] ^= 1;
    let segments = open_set([good, bad]);
    let error = segments
        .clusters(&cluster_options(3), |_| Ok(()))
        .unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("segment 1: damaged index"), "{message}");
}
