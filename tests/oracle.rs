//! Every answer of an index against a linear scan: all widths, all designs, all shapes of data.

mod common;

use common::{bit, data_sets, flipped, open, options, random, rng, scan, sorted_set};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use rand::seq::IndexedRandom;
use simidx::{Fingerprint, Index, MAX_DISTANCE, QueryStats, TableDesign};

/// Members, members with 1 to k + 1 flips, and random values.
fn queries<F: Fingerprint>(set: &[F], distance: u32, count: usize, seed: u64) -> Vec<F> {
    let mut rng = rng(seed);
    let mut queries = vec![F::ZERO, F::MAX, random(&mut rng), random(&mut rng)];
    for flips in 0..count as u32 {
        if let Some(&member) = set.choose(&mut rng) {
            queries.push(flipped(member, flips % (distance + 2), &mut rng));
        }
    }
    queries
}

/// Answers and costs of one query at every distance up to k and beyond it.
fn check_query<F: Fingerprint>(index: &Index<F, Vec<u8>>, set: &[F], query: F, what: &str) {
    let k = index.max_distance();
    let mut searcher = index.searcher();
    for distance in (0..=k + 1).chain([k + 3]) {
        let found: Vec<(u32, F)> = searcher
            .query(query, distance)
            .unwrap()
            .iter()
            .map(|m| (m.distance, m.fingerprint))
            .collect();
        let expected = scan(set, query, distance);
        assert_eq!(found, expected, "{what}, {query:x} within {distance}");
        let stats = searcher.stats();
        if distance <= k {
            check_probes(stats, index, &expected);
        } else {
            check_whole_scan(stats, index);
        }
    }
    assert_eq!(index.contains(query).unwrap(), set.contains(&query));
}

/// What a query within the design may cost.
fn check_probes<F: Fingerprint>(
    stats: QueryStats,
    index: &Index<F, Vec<u8>>,
    expected: &[(u32, F)],
) {
    assert_eq!(stats.probes, index.table_count() as u64);
    assert!(stats.candidates >= expected.len() as u64, "{stats:?}");
    assert!(
        stats.candidates <= index.fingerprint_count() * stats.probes,
        "{stats:?}"
    );
    let blocks: u64 = index.summary().tables.iter().map(|t| t.block_count).sum();
    assert!(stats.blocks <= blocks, "{stats:?}");
    assert!(stats.blocks > 0 || stats.candidates == 0, "{stats:?}");
}

/// What a query beyond the design costs.
fn check_whole_scan<F: Fingerprint>(stats: QueryStats, index: &Index<F, Vec<u8>>) {
    let expected = QueryStats {
        probes: 1,
        blocks: index.summary().tables[0].block_count,
        candidates: index.fingerprint_count(),
    };
    assert_eq!(stats, expected);
}

/// Everything that an index without ids can be asked.
fn check_index<F: Fingerprint>(
    design: &TableDesign<F>,
    block_size: u32,
    fingerprints: &[F],
    query_count: usize,
    what: &str,
) {
    let set = sorted_set(fingerprints);
    let index = open(common::build(
        options(design.clone(), block_size),
        fingerprints,
    ));
    assert_eq!(index.fingerprint_count(), set.len() as u64, "{what}");
    assert_eq!(index.record_count(), fingerprints.len() as u64, "{what}");
    assert_eq!(index.is_empty(), set.is_empty(), "{what}");
    assert_eq!(index.table_count(), design.table_count(), "{what}");
    for table in 0..index.table_count() {
        let dump: Vec<F> = index
            .fingerprints(table)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(dump.len(), set.len(), "{what}, table {table}");
        assert_eq!(sorted_set(&dump), set, "{what}, table {table}");
        assert!(table > 0 || dump == set, "{what}, order of table 0");
    }
    for query in queries(&set, design.max_distance(), query_count, block_size.into()) {
        check_query(&index, &set, query, what);
    }
}

/// Every design for a distance with every shape of data, smaller ones for designs of many tables.
fn check_designs<F: Fingerprint>(distances: impl Iterator<Item = u32>) {
    for k in distances {
        let designs = TableDesign::<F>::available(k);
        assert!(!designs.is_empty(), "no design for distance {k}");
        for design in designs {
            let tables = design.table_count();
            let (size, query_count, block_sizes) = match tables {
                0..=10 => (2000, 12, &[128, 1024][..]),
                11..=40 => (600, 8, &[128, 1024][..]),
                _ => (250, 6, &[128][..]),
            };
            for data in data_sets::<F>(size) {
                for &block_size in block_sizes {
                    let name = data.name;
                    let what = format!("{} bits, k {k}, {tables} tables, {name}", F::WIDTH);
                    check_index(&design, block_size, &data.fingerprints, query_count, &what);
                }
            }
        }
    }
}

#[test]
fn every_design_of_32_bits_agrees_with_the_scan() {
    check_designs::<u32>(0..=MAX_DISTANCE);
}

#[test]
fn every_design_of_64_bits_agrees_with_the_scan() {
    check_designs::<u64>(0..=MAX_DISTANCE);
}

#[test]
fn every_design_of_128_bits_agrees_with_the_scan() {
    check_designs::<u128>(0..=MAX_DISTANCE);
}

/// The largest blocks, with sets that fill some of them.
fn check_largest_blocks<F: Fingerprint>() {
    let design = TableDesign::<F>::choose_bands(3, 4).unwrap();
    for data in data_sets::<F>(30_000) {
        check_index(&design, 65_536, &data.fingerprints, 6, data.name);
    }
}

#[test]
fn the_largest_blocks_agree_with_the_scan() {
    check_largest_blocks::<u32>();
    check_largest_blocks::<u64>();
    check_largest_blocks::<u128>();
}

#[test]
fn a_block_ends_at_65536_values_however_small_they_are() {
    let design = TableDesign::<u64>::choose_bands(0, 1).unwrap();
    let run: Vec<u64> = common::dense_run(150_000);
    let index = open::<u64>(common::build(options(design.clone(), 65_536), &run));
    assert_eq!(index.summary().tables[0].block_count, 3);
    check_index(&design, 65_536, &run, 2, "dense run");
}

#[test]
fn there_is_no_table_behind_the_last_one() {
    let index = open::<u64>(common::build(
        options(TableDesign::<u64>::choose_bands(1, 2).unwrap(), 128),
        &[1],
    ));
    assert!(index.fingerprints(1).is_ok());
    assert!(index.fingerprints(2).is_err());
}

#[test]
fn a_searcher_forgets_the_answer_before() {
    let index = open::<u64>(common::build(
        simidx::BuildOptions::default(),
        &[0u64, 1, u64::MAX],
    ));
    let mut searcher = index.searcher();
    assert_eq!(searcher.query(0, 3).unwrap().len(), 2);
    assert_eq!(searcher.query(u64::MAX, 3).unwrap().len(), 1);
    assert_eq!(searcher.query(u64::MAX << 32, 3).unwrap().len(), 0);
    assert_eq!(searcher.query(5, 64).unwrap().len(), 3);
    assert_eq!(searcher.query(5, u32::MAX).unwrap().len(), 3);
}

/// Masks made of bits scattered at random: each choice of r - k of r groups, some bits left out, more
/// masks thrown in, and leading bits for table 0.
fn scattered_masks<F: Fingerprint>(seed: u64, distance: u32) -> Vec<F> {
    let mut rng = rng(seed);
    let group_count = distance + rng.random_range(1..=2);
    let groups: Vec<u32> = (0..F::WIDTH)
        .map(|_| rng.random_range(0..group_count))
        .collect();
    let leading = rng.random_range(0..=F::WIDTH);
    let mut masks = vec![match leading {
        0 => F::ZERO,
        p => F::MAX << (F::WIDTH - p),
    }];
    for choice in 0u32..1 << group_count {
        if choice.count_ones() == group_count - distance {
            let keeps = |position: &u32| choice >> groups[*position as usize] & 1 == 1;
            let mask = (0..F::WIDTH).filter(keeps).fold(F::ZERO, |m, p| m | bit(p));
            masks.push(mask & (random::<F>(&mut rng) | random(&mut rng)));
        }
    }
    for _ in 0..rng.random_range(0..3) {
        masks.push(random(&mut rng));
    }
    masks
}

/// A set with neighbours, and a design of scattered masks.
fn check_scattered<F: Fingerprint>(values: &[u128], seed: u64, distance: u32, block_size: u32) {
    let mut rng = rng(seed);
    let mut fingerprints: Vec<F> = values.iter().map(|&v| F::from_u128(v)).collect();
    for i in 0..fingerprints.len() {
        let flips = rng.random_range(0..=distance + 1);
        fingerprints.push(flipped(fingerprints[i], flips, &mut rng));
    }
    let masks = scattered_masks::<F>(seed, distance);
    let design = TableDesign::from_masks(distance, masks).expect("groups cover their distance");
    check_index(&design, block_size, &fingerprints, 8, "scattered masks");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(0x51d),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn arbitrary_sets_and_masks_agree_with_the_scan(
        values in prop::collection::vec(prop_oneof![any::<u128>(), 0u128..64], 0..200),
        seed in any::<u64>(),
        distance in 0u32..=3,
        block_size in prop::sample::select(vec![128u32, 256, 4096]),
    ) {
        check_scattered::<u32>(&values, seed, distance, block_size);
        check_scattered::<u64>(&values, seed, distance, block_size);
        check_scattered::<u128>(&values, seed, distance, block_size);
    }

    #[test]
    fn any_masks_that_the_design_accepts_agree_with_the_scan(
        values in prop::collection::vec(0u32..1 << 12, 1..100),
        leading in 0u32..=32,
        others in prop::collection::vec(any::<u32>(), 0..5),
        distance in 0u32..=2,
    ) {
        let mut masks = vec![u32::MAX.checked_shl(32 - leading).unwrap_or(0)];
        masks.extend(&others);
        if let Ok(design) = TableDesign::from_masks(distance, masks) {
            check_index(&design, 128, &values, 8, "arbitrary masks");
        } else {
            prop_assert!(leading > 0, "an empty mask covers everything");
        }
    }
}
