//! Queries, pairs, clusters and scans of small sets against brute force.

use arbitrary::Arbitrary;
use simidx::batch::{ClusterOptions, JoinOptions, JoinStrategy, Pair, PairOptions};
use simidx::index::Strategy;
use simidx::set::SetScratch;
use simidx::{Fingerprint, Index, Match, Scratch, Set, Width};

use crate::sets::{self, Tables, Values};
use simidx_testkit::{build, hit, matched, scan, sorted_set};

/// A set, or two that are searched as one, and what is asked.
#[derive(Debug, Arbitrary)]
pub struct Input {
    width: u32,
    tables: Tables,
    set: Values,
    queries: Values,
    distance: u8,
    /// How many of the set go into a second segment.
    second: Option<u8>,
    batch: Batch,
}

/// The operation on the set as a whole: one at a time, for speed.
#[derive(Debug, Arbitrary)]
enum Batch {
    Nothing,
    Pairs { sorted: bool },
    Clusters { min_size: bool },
    Scan { stream: bool },
}

/// Most queries.
const QUERY_COUNT: usize = 12;

pub fn check(input: &Input) {
    match sets::width(input.width) {
        Width::W32 => check_in::<u32>(input),
        Width::W64 => check_in::<u64>(input),
        Width::W128 => check_in::<u128>(input),
    }
}

fn check_in<F: Fingerprint>(input: &Input) {
    let mut fingerprints: Vec<F> = input.set.fingerprints();
    let set = sorted_set(&fingerprints);
    let mut queries: Vec<F> = input.queries.fingerprints();
    queries.extend(set.iter().step_by(set.len() / 4 + 1));
    queries.truncate(QUERY_COUNT);
    let distance = u32::from(input.distance % 7);
    let second = input
        .second
        .map(|count| fingerprints.len().min(count.into()));
    let second = second.map(|count| fingerprints.split_off(fingerprints.len() - count));
    let open = |values: Vec<F>| {
        let file = build(input.tables.options::<F>(), &values);
        Index::<F>::from_bytes(file).expect("what is built opens")
    };
    let mut segments = vec![open(fingerprints)];
    segments.extend(second.map(open));
    if let [index] = &segments[..] {
        check_index(index, &queries, &set, distance);
    }
    let segments = Set::new(segments).expect("the segments are alike");
    let mut scratch = SetScratch::new();
    for &query in &queries {
        let found = segments.query_with(&mut scratch, query, distance);
        let found = hit(found.expect("the file is good").iter());
        assert_eq!(found, scan(&set, query, distance), "{query:x}");
    }
    let set: Vec<u128> = set.into_iter().map(F::to_u128).collect();
    check_batch(&input.batch, &segments, &queries, &set, distance);
}

/// Every strategy, query by query and many at once.
fn check_index<F: Fingerprint>(index: &Index<F>, queries: &[F], set: &[F], distance: u32) {
    let mut scratch = Scratch::new();
    for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
        scratch.set_strategy(strategy);
        for &query in queries {
            let found = index
                .query_with(&mut scratch, query, distance)
                .expect("the file is good");
            assert_eq!(
                matched(found),
                scan(set, query, distance),
                "{query:x} by {strategy:?}"
            );
        }
        scratch.expect_cold_blocks(strategy == Strategy::Probe);
        let mut answered = 0;
        let visit = |number: usize, found: &[Match<F>]| {
            assert_eq!(number, answered);
            assert_eq!(matched(found), scan(set, queries[number], distance));
            answered += 1;
        };
        index
            .query_many_with(&mut scratch, queries, distance, visit)
            .expect("the file is good");
        assert_eq!(answered, queries.len());
    }
    for &query in queries {
        let contained = index.contains(query).expect("the file is good");
        assert_eq!(contained, set.binary_search(&query).is_ok(), "{query:x}");
    }
}

fn check_batch<F: Fingerprint>(
    batch: &Batch,
    segments: &Set,
    queries: &[F],
    set: &[u128],
    distance: u32,
) {
    match *batch {
        Batch::Nothing => {}
        Batch::Pairs { sorted } => check_pairs(segments, set, distance, sorted),
        Batch::Clusters { min_size } => {
            let mut options = ClusterOptions::default();
            options.distance = distance;
            options.min_size = if min_size { 2 } else { 1 };
            check_clusters(segments, set, &options);
        }
        Batch::Scan { stream } => {
            let mut options = JoinOptions::default();
            options.distance = distance;
            options.strategy = match stream {
                true => JoinStrategy::Stream,
                false => JoinStrategy::Probe,
            };
            check_scan(segments, queries, set, &options);
        }
    }
}

fn check_pairs(segments: &Set, set: &[u128], distance: u32, sorted: bool) {
    let near = |(i, &smaller): (usize, &u128)| {
        let pairs = set[i + 1..]
            .iter()
            .map(move |&larger| Pair::new(smaller, larger));
        pairs
            .filter(|pair| pair.distance <= distance)
            .collect::<Vec<_>>()
    };
    let expected: Vec<Pair> = set.iter().enumerate().flat_map(near).collect();
    let mut options = PairOptions::default();
    (options.distance, options.sorted) = (distance, sorted);
    let mut found = Vec::new();
    let visit = |pair| {
        found.push(pair);
        Ok(())
    };
    segments.pairs(&options, visit).expect("the files are good");
    if !sorted {
        found.sort_unstable();
    }
    assert_eq!(found, expected);
}

/// Clusters are the linked parts of a set.
fn check_clusters(segments: &Set, set: &[u128], options: &ClusterOptions) {
    let mut expected = linked(set, options.distance);
    expected.retain(|part| part.len() as u64 >= options.min_size);
    expected.sort_by_key(|part| (std::cmp::Reverse(part.len()), part[0]));
    let mut found: Vec<Vec<u128>> = Vec::new();
    let visit = |cluster: simidx::batch::Cluster<'_>| {
        let members = cluster.fingerprints;
        assert_eq!(cluster.representative, members[0]);
        let distances = members.iter().map(|member| member.distance(members[0]));
        assert_eq!(Some(cluster.radius), distances.max());
        assert_eq!(cluster.number, found.len() as u64);
        found.push(members.to_vec());
        Ok(())
    };
    segments
        .clusters(options, visit)
        .expect("the files are good");
    assert_eq!(found, expected);
}

/// The parts of a set that steps of at most a distance lead through, each in order.
fn linked(set: &[u128], distance: u32) -> Vec<Vec<u128>> {
    let mut left = set.to_vec();
    let mut parts = Vec::new();
    while let Some(start) = left.pop() {
        let (mut part, mut next) = (vec![start], 0);
        while let Some(&value) = part.get(next) {
            let near = |other: &mut u128| value.distance(*other) <= distance;
            part.extend(left.extract_if(.., near));
            next += 1;
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

fn check_scan<F: Fingerprint>(segments: &Set, queries: &[F], set: &[u128], options: &JoinOptions) {
    let of_query = |(number, query): (usize, &F)| {
        let found = scan(set, query.to_u128(), options.distance);
        found
            .into_iter()
            .map(move |(distance, f)| (number, distance, f))
    };
    let expected: Vec<_> = queries.iter().enumerate().flat_map(of_query).collect();
    let mut found = Vec::new();
    let visit = |number, m: Match<u128>| {
        found.push((number, m.distance, m.fingerprint));
        Ok(())
    };
    segments
        .join(queries, options, visit)
        .expect("the files are good");
    assert_eq!(found, expected);
}
