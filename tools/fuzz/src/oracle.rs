//! Queries, pairs, clusters and scans of small sets against brute force.

use arbitrary::Arbitrary;
use simidx::{
    ClusterOptions, Fingerprint, Index, Match, Pair, PairOptions, ScanOptions, ScanStrategy,
    Segments, Strategy, clusters, pairs, scan as scan_batch,
};

use crate::common::{build, scan, sorted_set};
use crate::sets::{Set, Tables, Width};

/// A set, or two that are searched as one, and what is asked.
#[derive(Debug, Arbitrary)]
pub struct Input {
    width: Width,
    tables: Tables,
    set: Set,
    queries: Set,
    distance: u8,
    /// How many of the set go into a second segment.
    second: Option<u8>,
    batch: Batch,
}

/// What is done with the set as a whole: one thing at a time, for speed.
#[derive(Debug, Arbitrary)]
enum Batch {
    Nothing,
    Pairs {
        sorted: bool,
    },
    Clusters {
        max_diameter: Option<u8>,
        min_size: bool,
    },
    Scan {
        stream: bool,
    },
}

/// Most queries.
const QUERY_COUNT: usize = 12;

pub fn check(input: &Input) {
    match input.width {
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
        Index::<F, _>::from_bytes(file).expect("what is built opens")
    };
    let mut segments = vec![open(fingerprints)];
    segments.extend(second.map(open));
    if let [index] = &segments[..] {
        check_index(index, &queries, &set, distance);
    }
    let segments = Segments::new(segments).expect("the segments are alike");
    let mut searcher = segments.searcher();
    for &query in &queries {
        let found = searcher.query(query, distance).expect("the file is good");
        assert_eq!(listed(found), scan(&set, query, distance), "{query:x}");
    }
    check_batch(&input.batch, &segments, &queries, &set, distance);
}

fn listed<F: Fingerprint>(found: &[Match<F>]) -> Vec<(u32, F)> {
    found.iter().map(|m| (m.distance, m.fingerprint)).collect()
}

/// Every strategy, query by query and many at once.
fn check_index<F: Fingerprint>(index: &Index<F, Vec<u8>>, queries: &[F], set: &[F], distance: u32) {
    let mut searcher = index.searcher();
    for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
        searcher.set_strategy(strategy);
        for &query in queries {
            let found = searcher.query(query, distance).expect("the file is good");
            assert_eq!(
                listed(found),
                scan(set, query, distance),
                "{query:x} by {strategy:?}"
            );
        }
        searcher.expect_cold_blocks(strategy == Strategy::Probe);
        let mut answered = 0;
        let visit = |number: usize, found: &[Match<F>]| {
            assert_eq!(number, answered);
            assert_eq!(listed(found), scan(set, queries[number], distance));
            answered += 1;
        };
        searcher
            .query_many(queries, distance, visit)
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
    segments: &Segments<F, Vec<u8>>,
    queries: &[F],
    set: &[F],
    distance: u32,
) {
    match *batch {
        Batch::Nothing => {}
        Batch::Pairs { sorted } => check_pairs(segments, set, distance, sorted),
        Batch::Clusters {
            max_diameter,
            min_size,
        } => {
            let mut options = ClusterOptions::default();
            options.distance = distance;
            options.max_diameter = max_diameter.map(|d| u32::from(d % 16));
            options.min_size = if min_size { 2 } else { 1 };
            check_clusters(segments, set, &options);
        }
        Batch::Scan { stream } => {
            let mut options = ScanOptions::default();
            options.distance = distance;
            options.strategy = match stream {
                true => ScanStrategy::Stream,
                false => ScanStrategy::Probe,
            };
            check_scan(segments, queries, set, &options);
        }
    }
}

fn check_pairs<F: Fingerprint>(
    segments: &Segments<F, Vec<u8>>,
    set: &[F],
    distance: u32,
    sorted: bool,
) {
    let near = |(i, &smaller): (usize, &F)| {
        let pairs = set[i + 1..].iter().map(move |&larger| Pair {
            smaller,
            larger,
            distance: smaller.distance(larger),
        });
        pairs
            .filter(|pair| pair.distance <= distance)
            .collect::<Vec<_>>()
    };
    let expected: Vec<Pair<F>> = set.iter().enumerate().flat_map(near).collect();
    let mut options = PairOptions::default();
    (options.distance, options.sorted) = (distance, sorted);
    let mut found = Vec::new();
    let visit = |pair| {
        found.push(pair);
        Ok(())
    };
    pairs(segments, &options, visit).expect("the files are good");
    if !sorted {
        found.sort_unstable();
    }
    assert_eq!(found, expected);
}

/// Without a limit of the diameter, clusters are the linked parts; with one, they are no wider and divide those.
fn check_clusters<F: Fingerprint>(
    segments: &Segments<F, Vec<u8>>,
    set: &[F],
    options: &ClusterOptions,
) {
    let mut expected = linked(set, options.distance);
    expected.retain(|part| part.len() as u64 >= options.min_size);
    expected.sort_by_key(|part| (std::cmp::Reverse(part.len()), part[0]));
    let mut found: Vec<Vec<F>> = Vec::new();
    let visit = |cluster: simidx::Cluster<'_, F>| {
        let members = cluster.fingerprints;
        let distances = members
            .iter()
            .flat_map(|x| members.iter().map(|y| x.distance(*y)));
        assert_eq!(cluster.diameter.distance, distances.max().unwrap_or(0));
        assert!(
            options
                .max_diameter
                .is_none_or(|most| cluster.diameter.distance <= most)
        );
        assert!(members.contains(&cluster.representative));
        assert_eq!(cluster.number, found.len() as u64);
        found.push(members.to_vec());
        Ok(())
    };
    clusters(segments, options, visit).expect("the files are good");
    if options.max_diameter.is_none() {
        assert_eq!(found, expected);
        return;
    }
    for members in &found {
        assert!(members.is_sorted_by(|a, b| a < b));
        let whole = expected.iter().find(|part| part.contains(&members[0]));
        let whole = whole.expect("every cluster lies in a linked part");
        assert!(members.iter().all(|member| whole.contains(member)));
    }
    if options.min_size == 1 {
        let mut all = found.concat();
        all.sort_unstable();
        assert_eq!(all, set);
    }
}

/// The parts of a set that steps of at most a distance lead through, each in order.
fn linked<F: Fingerprint>(set: &[F], distance: u32) -> Vec<Vec<F>> {
    let mut left = set.to_vec();
    let mut parts = Vec::new();
    while let Some(start) = left.pop() {
        let (mut part, mut next) = (vec![start], 0);
        while let Some(&value) = part.get(next) {
            let near = |other: &mut F| value.distance(*other) <= distance;
            part.extend(left.extract_if(.., near));
            next += 1;
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

fn check_scan<F: Fingerprint>(
    segments: &Segments<F, Vec<u8>>,
    queries: &[F],
    set: &[F],
    options: &ScanOptions,
) {
    let of_query = |(number, &query): (usize, &F)| {
        let found = scan(set, query, options.distance);
        found
            .into_iter()
            .map(move |(distance, f)| (number, distance, f))
    };
    let expected: Vec<_> = queries.iter().enumerate().flat_map(of_query).collect();
    let mut found = Vec::new();
    let visit = |number, m: Match<F>| {
        found.push((number, m.distance, m.fingerprint));
        Ok(())
    };
    scan_batch(segments, queries, options, visit).expect("the files are good");
    assert_eq!(found, expected);
}
