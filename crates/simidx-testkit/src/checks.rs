//! Compares every answer of an index without ids with a linear scan.

use rand::seq::IndexedRandom;
use simidx::design::{Permutation, TableDesign, TableProbes};
use simidx::index::{QueryStats, Strategy};
use simidx::{Codec, Fingerprint, Index, Scratch};

use crate::{build, flipped, matched, open, options, random, rng, scan, sorted_set};

/// Returns members, members with 1 to k + 1 flips, and random values.
pub fn queries_near<F: Fingerprint>(set: &[F], distance: u32, count: usize, seed: u64) -> Vec<F> {
    let mut rng = rng(seed);
    let mut queries = vec![F::ZERO, F::MAX, random(&mut rng), random(&mut rng)];
    for flips in 0..count as u32 {
        if let Some(&member) = set.choose(&mut rng) {
            queries.push(flipped(member, flips % (distance + 2), &mut rng));
        }
    }
    queries
}

/// A set as an index holds it, and plain ways to search it.
struct Oracle<F> {
    set: Vec<F>,
    /// The set in the bit order of each table.
    tables: Vec<Vec<F>>,
    permutations: Vec<Permutation<F>>,
}

impl<F: Fingerprint> Oracle<F> {
    fn new(set: Vec<F>, masks: &[F]) -> Self {
        let permutations: Vec<Permutation<F>> =
            masks.iter().map(|&mask| Permutation::new(mask)).collect();
        let permuted = |p: &Permutation<F>| set.iter().map(|&f| p.apply(f).0).collect();
        Oracle {
            tables: permutations.iter().map(permuted).collect(),
            set,
            permutations,
        }
    }

    /// Computes the cost of an index's probes: each table yields all values whose address differs in few bits, and some
    /// more if bits are joined.
    fn probe_stats(&self, index: &Index<F>, query: F, distance: u32) -> (u64, u64) {
        let (mut probes, mut candidates) = (0, 0);
        for table in index.plan(distance).probes() {
            probes += table.probe_count();
            let permuted = self.permutations[table.table].apply(query).0;
            // The address, and those of its bits that are flipped one by one.
            let address = leading::<F>(table.address_bits);
            let flipped = leading::<F>(table.address_bits - table.range_bits);
            let is_candidate = |value: &&F| {
                let differing = (**value ^ permuted) & address;
                match (differing & flipped).count_ones() {
                    flips if flips == table.flips => differing & !flipped == F::ZERO,
                    flips => flips < table.flips,
                }
            };
            candidates += self.tables[table.table].iter().filter(is_candidate).count() as u64;
        }
        (probes, candidates)
    }

    /// Returns the least number of values that the probes of tables in lines compare: those that differ from the query
    /// in few enough bits of the prefix. Other values with the same address may be compared too.
    fn least_candidates_in_lines(&self, index: &Index<F>, query: F, distance: u32) -> u64 {
        let of_table = |table: &TableProbes| {
            let permuted = self.permutations[table.table].apply(query).0;
            let prefix = leading::<F>(table.prefix_bits);
            let values = self.tables[table.table].iter();
            let near =
                values.filter(|&&value| ((value ^ permuted) & prefix).count_ones() <= table.flips);
            near.count() as u64
        };
        index.plan(distance).probes().iter().map(of_table).sum()
    }
}

/// Returns a mask of `count` leading bits.
fn leading<F: Fingerprint>(count: u32) -> F {
    match count {
        0 => F::ZERO,
        count => F::MAX << (F::WIDTH - count),
    }
}

/// Returns whether an index has a table in lines.
fn is_in_lines<F: Fingerprint>(index: &Index<F>) -> bool {
    let summary = index.summary();
    summary
        .tables
        .iter()
        .any(|table| table.codec == Codec::Lines)
}

/// Computes the cost of comparing every fingerprint of tables in blocks.
fn scan_stats<F: Fingerprint>(index: &Index<F>) -> QueryStats {
    let mut stats = QueryStats::default();
    stats.probes = 1;
    stats.blocks = index.summary().tables[0].block_count;
    stats.candidates = index.len();
    stats
}

/// Checks the answer and the cost of one query at some distances, by every strategy.
fn check_query<F: Fingerprint>(
    index: &Index<F>,
    oracle: &Oracle<F>,
    query: F,
    distances: &[u32],
    what: &str,
) {
    let all = scan(&oracle.set, query, F::WIDTH);
    let mut scratch = Scratch::new();
    for &distance in distances {
        let expected = &all[..all.partition_point(|found| found.0 <= distance)];
        let mut ask = |strategy| {
            scratch.set_strategy(strategy);
            let found = index.query_with(&mut scratch, query, distance).unwrap();
            let what = format!("{what}, {query:x} within {distance}, {strategy:?}");
            assert!(found.iter().all(|m| m.rank.is_none()), "there are no ids");
            assert_eq!(matched(found), expected, "{what}");
            assert_eq!(matched(scratch.matches()), expected, "{what}");
            scratch.stats()
        };
        let (auto, probe, scan) = (
            ask(Strategy::Auto),
            ask(Strategy::Probe),
            ask(Strategy::Scan),
        );
        let plan = index.plan(distance);
        assert_eq!(auto, if plan.best().is_some() { probe } else { scan });
        assert_eq!(plan.best().is_none(), plan.scan_is_cheaper());
        let (probes, candidates) = oracle.probe_stats(index, query, distance);
        assert_eq!(probe.probes, probes, "{what}");
        if is_in_lines(index) {
            assert_eq!((scan.probes, scan.candidates), (1, index.len()), "{what}");
            let least = oracle.least_candidates_in_lines(index, query, distance);
            assert!(probe.candidates >= least, "{what}: {probe:?}, {least}");
        } else {
            assert_eq!(scan, scan_stats(index), "{what}");
            assert_eq!(probe.candidates, candidates, "{what}");
        }
        assert!(
            probe.blocks > 0 || probe.candidates == 0,
            "{what}: {probe:?}"
        );
    }
    let contained = oracle.set.binary_search(&query).is_ok();
    assert_eq!(index.contains(query).unwrap(), contained);
}

/// Checks that many queries at a time have the same answers and cost as one by one.
pub fn check_many_queries<F: Fingerprint>(
    (index, scratch): (&Index<F>, &mut Scratch<F>),
    queries: &[F],
    distance: u32,
    strategy: Strategy,
) {
    scratch.set_strategy(strategy);
    let mut stats = QueryStats::default();
    let mut expected = Vec::new();
    for &query in queries {
        expected.push(index.query_with(scratch, query, distance).unwrap().to_vec());
        stats += scratch.stats();
    }
    let mut answered = 0;
    let all = index.query_many_with(scratch, queries, distance, |number, matches| {
        assert_eq!(number, answered, "queries are answered in order");
        assert_eq!(matches, expected[number], "query {number} of many");
        answered += 1;
    });
    all.unwrap();
    assert_eq!(answered, queries.len());
    assert_eq!(scratch.stats(), stats);
}

/// Checks every operation on an index without ids, at some distances.
pub struct Check<'a> {
    pub design: &'a TableDesign,
    pub codec: Option<Codec>,
    pub block_size: u32,
    pub queries: usize,
    pub distances: &'a [u32],
}

impl Check<'_> {
    pub fn run<F: Fingerprint>(&self, fingerprints: &[F], what: &str) {
        let set = sorted_set(fingerprints);
        let (design, block_size) = (self.design, self.block_size);
        let what = format!(
            "{} bits, k {}, {} tables, {:?} in {block_size}, {what}",
            F::WIDTH,
            design.max_distance(),
            design.table_count(),
            self.codec
        );
        let mut options = options(design.clone(), block_size);
        options.codec = self.codec;
        let index = open(build(options, fingerprints));
        assert_eq!(index.len(), set.len() as u64, "{what}");
        assert_eq!(index.record_count(), fingerprints.len() as u64, "{what}");
        assert_eq!(index.is_empty(), set.is_empty(), "{what}");
        assert_eq!(index.table_count(), design.table_count(), "{what}");
        for table in 0..index.table_count() {
            check_table(&index, table, &set, &what);
        }
        let queries = queries_near(&set, design.max_distance(), self.queries, block_size.into());
        let oracle = Oracle::new(set, design.masks().as_slice().unwrap());
        for &query in &queries {
            check_query(&index, &oracle, query, self.distances, &what);
        }
        let distance = design.max_distance();
        let mut scratch = Scratch::new();
        for strategy in [Strategy::Probe, Strategy::Scan] {
            check_many_queries((&index, &mut scratch), &queries, distance, strategy);
        }
    }
}

/// Reads a table in every possible way.
fn check_table<F: Fingerprint>(index: &Index<F>, table: usize, set: &[F], what: &str) {
    let read = || index.fingerprints(table).unwrap();
    let dump: Vec<F> = read().map(Result::unwrap).collect();
    assert_eq!(dump.len(), set.len(), "{what}, table {table}");
    assert_eq!(sorted_set(&dump), set, "{what}, table {table}");
    assert!(table > 0 || dump == set, "{what}, order of table 0");
    let plain: Vec<F> = read().decode_plainly().map(Result::unwrap).collect();
    assert!(plain == dump, "{what}, table {table} decoded plainly");
    let mut chunks = Vec::new();
    let mut chunked = read();
    while let Some(chunk) = chunked.next_chunk() {
        chunks.extend_from_slice(chunk.unwrap());
    }
    let inverted: Vec<F> = chunks.into_iter().map(|v| read().invert(v)).collect();
    assert!(inverted == dump, "{what}, table {table} in chunks");
}

/// The numbers of nearest fingerprints to query.
const COUNTS: [usize; 5] = [0, 1, 2, 10, 1000];

/// Compares the nearest of a query, for every number and by every strategy, with a scan.
pub fn check_nearest<F: Fingerprint>(
    index: &Index<F>,
    scratch: &mut Scratch<F>,
    set: &[F],
    query: F,
    distances: &[u32],
    what: &str,
) {
    let all = scan(set, query, F::WIDTH);
    for &distance in distances {
        let within = all.partition_point(|found| found.0 <= distance);
        for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
            // This would probe every pattern of the flips of a far distance.
            if strategy == Strategy::Probe && distance > 12 {
                continue;
            }
            scratch.set_strategy(strategy);
            let what = format!("{what}, {query:x} within {distance}, {strategy:?}");
            for count in COUNTS {
                let found = index
                    .nearest_with(scratch, query, count, distance)
                    .unwrap_or_else(|e| panic!("{count} {what}: {e}"));
                assert_eq!(matched(found), all[..within.min(count)], "{count} {what}");
                assert_eq!(matched(scratch.matches()), all[..within.min(count)]);
            }
            let near = index.contains_near_with(scratch, query, distance).unwrap();
            assert_eq!(near, within > 0, "{what}");
            assert!(scratch.matches().is_empty());
        }
    }
    let within = all.partition_point(|found| found.0 <= distances[0]);
    let found = index.nearest(query, 2, distances[0]).unwrap();
    assert_eq!(matched(&found), all[..within.min(2)], "{what}");
    assert_eq!(
        index.contains_near(query, distances[0]).unwrap(),
        within > 0
    );
}
