//! The nearest fingerprints, and whether any is near, against a linear scan: all widths, designs and codecs, any number
//! and any distance.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::seq::IndexedRandom;
use simidx::design::TableDesign;
use simidx::index::Strategy;
use simidx::set::SetScratch;
use simidx::{Codec, Fingerprint, IdBuf, Scratch, Width};
use simidx_testkit::checks::check_nearest;
use simidx_testkit::encoding::Layout;
use simidx_testkit::{
    build, build_numbers, clustered, data_sets, flipped, hit, matched, open, open_set, options,
    random, rng, scan, sized, sorted_set, thorough, uniform,
};

/// Members as they are and with a few flips, and random values.
fn queries<F: Fingerprint>(set: &[F], count: u32, seed: u64) -> Vec<F> {
    let mut rng = rng(seed);
    let mut queries = vec![F::ZERO, F::MAX, random(&mut rng)];
    for flips in 0..count {
        if let Some(&member) = set.choose(&mut rng) {
            queries.push(flipped(member, flips, &mut rng));
        }
    }
    queries
}

/// Every design and shape of data, codec after codec.
fn check_all<F: Fingerprint>() {
    let mut scratch = Scratch::new();
    for (i, design) in TableDesign::available(Width::of::<F>(), 3)
        .into_iter()
        .enumerate()
    {
        for data in data_sets::<F>(sized(2000)) {
            let mut options = options(design.clone(), 128);
            options.codec = Some(Codec::ALL[i % Codec::ALL.len()]);
            let set = sorted_set(&data.fingerprints);
            let index = open::<F>(build(options, &data.fingerprints));
            let distances = [2, 0, 3, 5, F::WIDTH / 2, F::WIDTH, u32::MAX];
            for query in queries(&set, 5, i as u64) {
                check_nearest(&index, &mut scratch, &set, query, &distances, data.name);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_nearest_of_32_bits_agree_with_the_scan() {
    check_all::<u32>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_nearest_of_64_bits_agree_with_the_scan() {
    check_all::<u64>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_nearest_of_128_bits_agree_with_the_scan() {
    check_all::<u128>();
}

/// Sets that are large enough that probes pay, so that distances grow.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn distances_grow_until_enough_are_found() {
    let size = thorough(200_000, 50_000);
    let sets = [uniform::<u64>(size), clustered(size)];
    for (i, fingerprints) in sets.into_iter().enumerate() {
        let set = sorted_set(&fingerprints);
        for tables in [2, 4, 6] {
            let design = TableDesign::with_table_count(Width::W64, 3, tables).unwrap();
            let index = open::<u64>(build(options(design, 512), &fingerprints));
            let mut scratch = Scratch::new();
            let mut grown = 0;
            for query in queries(&set, 8, i as u64) {
                check_nearest(&index, &mut scratch, &set, query, &[8, 64], "large");
                scratch.set_strategy(Strategy::Auto);
                index.nearest_with(&mut scratch, query, 10, 64).unwrap();
                let stats = scratch.stats();
                index.query_with(&mut scratch, query, 3).unwrap();
                grown += usize::from(stats.probes > scratch.stats().probes);
            }
            assert!(grown > 0, "{tables} tables");
        }
    }
}

/// A search that grows from distance to distance carries out hardly more probes than the last of these distances has.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn probes_are_not_repeated_when_the_distance_grows() {
    let fingerprints = uniform::<u64>(200_000);
    let set = sorted_set(&fingerprints);
    let design = TableDesign::with_table_count(Width::W64, 3, 2).unwrap();
    let index = open::<u64>(build(options(design, 512), &fingerprints));
    let mut scratch = Scratch::new();
    let mut rng = rng(3);
    for distance in 1..=3 {
        let query = flipped(set[70_000], distance, &mut rng);
        let found = index.nearest_with(&mut scratch, query, 1, 10).unwrap();
        assert_eq!(found[0].distance, distance);
        let probes = scratch.stats().probes;
        index.query_with(&mut scratch, query, 3).unwrap();
        // Whether by steps or not: one for the query itself, and one for each table without flips.
        assert!(probes <= scratch.stats().probes + 3, "{distance}: {probes}");
    }
}

/// Sets that are spread over segments, some fingerprints in several of them.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_nearest_of_segments_are_those_of_one_index() {
    for data in data_sets::<u64>(sized(3000)) {
        let set = sorted_set(&data.fingerprints);
        let mut parts = vec![Vec::new(); 3];
        for (i, &fingerprint) in set.iter().enumerate() {
            parts[i % 3].push(fingerprint);
            parts[i % 2].push(fingerprint);
        }
        let files = parts.iter().enumerate().map(|(i, part)| {
            let design = TableDesign::with_table_count(Width::W64, 3, [2, 4, 6][i]).unwrap();
            build(options(design, 256), part)
        });
        let segments = open_set(files);
        let mut scratch = SetScratch::new();
        for query in queries(&set, 6, 5) {
            let all = scan(&set, query, 64);
            for (count, distance) in [(0, 9), (1, 64), (2, 3), (10, 30), (500, 64), (5000, 64)] {
                let within = all.partition_point(|found| found.0 <= distance);
                let expected = &all[..within.min(count)];
                let found = segments
                    .nearest_with(&mut scratch, query, count, distance)
                    .unwrap();
                for found in found.iter() {
                    // All files that hold it are known, from which its ids are read.
                    let holders = (0..3).filter(|&i| parts[i].contains(&found.fingerprint));
                    assert!(found.segments().eq(holders));
                }
                assert_eq!(hit(found.iter()), expected, "{}", data.name);
                let found = segments.nearest(query, count, distance).unwrap();
                assert_eq!(hit(found), expected, "{}", data.name);
                let near = segments.contains_near(query, distance).unwrap();
                assert_eq!(near, within > 0, "{}", data.name);
            }
        }
    }
}

/// Ranks lead to the ids, as those of a query.
#[test]
fn the_nearest_have_their_ids() {
    let fingerprints = clustered::<u64>(sized(2000));
    let set = sorted_set(&fingerprints);
    let records: Vec<(u64, u64)> = set.iter().map(|&f| (f, !f)).collect();
    let design = TableDesign::with_table_count(Width::W64, 3, 4).unwrap();
    let index = open::<u64>(build_numbers(options(design, 128), &records));
    for query in queries(&set, 4, 2) {
        for found in index.nearest(query, 20, 64).unwrap() {
            let rank = set.binary_search(&found.fingerprint).unwrap();
            assert_eq!(found.rank, Some(rank as u64));
            let ids: Vec<IdBuf> = index.ids(&found).unwrap().map(|id| id.unwrap()).collect();
            assert_eq!(ids, [IdBuf::Number(!found.fingerprint)]);
        }
    }
}

#[test]
fn finding_any_stops_at_the_first() {
    let fingerprints = uniform::<u64>(sized(100_000));
    let index = open::<u64>(build(
        options(
            TableDesign::with_table_count(Width::W64, 3, 4).unwrap(),
            512,
        ),
        &fingerprints,
    ));
    let mut scratch = Scratch::new();
    let member = fingerprints[7];
    assert!(index.contains_near_with(&mut scratch, member, 9).unwrap());
    assert_eq!(scratch.stats().probes, 1);
    scratch.set_strategy(Strategy::Probe);
    let near = member ^ 7;
    assert!(!index.query_with(&mut scratch, near, 9).unwrap().is_empty());
    let of_all = scratch.stats().candidates;
    assert!(index.contains_near_with(&mut scratch, near, 9).unwrap());
    let read = scratch.stats().candidates;
    assert!(read < of_all / 4, "{read} of {of_all} compared");
    scratch.set_strategy(Strategy::Scan);
    let near = sorted_set(&fingerprints)[0] ^ 1 << 40;
    assert!(index.contains_near_with(&mut scratch, near, 1).unwrap());
    let read = scratch.stats().candidates;
    assert!(read < fingerprints.len() as u64 / 2, "{read} compared");
}

#[test]
fn a_damaged_block_is_an_error_and_no_answer() {
    let fingerprints = uniform::<u64>(1000);
    let mut options = options(
        TableDesign::with_table_count(Width::W64, 3, 2).unwrap(),
        128,
    );
    options.codec = Some(Codec::EliasFano);
    let mut file = build(options, &fingerprints);
    let layout = Layout::parse(&file);
    for block in 0..layout.tables[0].block_count {
        file[layout.block_at(0, block) + 100] ^= 1;
    }
    let index = open::<u64>(file);
    let mut scratch = Scratch::new();
    scratch.set_strategy(Strategy::Scan);
    let query = fingerprints[0];
    assert!(index.nearest_with(&mut scratch, query, 5, 64).is_err());
    assert!(scratch.matches().is_empty());
    assert!(index.contains_near_with(&mut scratch, !query, 64).is_err());
    assert!(index.nearest(query, 5, 64).is_err());
    assert!(index.nearest(query, 0, 64).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: sized(200) as u32,
        rng_seed: RngSeed::Fixed(0x9e4),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sets_and_masks_agree_with_the_scan(
        values in prop::collection::vec(0u32..1 << 12, 0..200),
        leading in 0u32..=32,
        others in prop::collection::vec(any::<u32>(), 0..5),
        made_for in 0u32..=9,
        codec in prop::sample::select(&Codec::ALL[..]),
        query in 0u32..1 << 13,
        count in 0usize..300,
        distance in 0u32..=40,
        probes in any::<bool>(),
    ) {
        let mut masks = vec![u32::MAX.checked_shl(32 - leading).unwrap_or(0)];
        masks.extend(&others);
        let design = TableDesign::from_masks(made_for, masks).unwrap();
        let mut options = options(design, 128);
        options.codec = Some(codec);
        let index = open::<u32>(build(options, &values));
        let mut expected = scan(&sorted_set(&values), query, distance);
        let mut scratch = Scratch::new();
        if probes && distance < 9 {
            scratch.set_strategy(Strategy::Probe);
        }
        let near = index.contains_near_with(&mut scratch, query, distance).unwrap();
        prop_assert_eq!(near, !expected.is_empty());
        expected.truncate(count);
        let found = index.nearest_with(&mut scratch, query, count, distance).unwrap();
        prop_assert_eq!(matched(found), expected);
    }
}

#[test]
fn values_below_a_crowded_line_are_compared_once() {
    // All are candidates of table 0, and nearly none of table 1.
    let set: Vec<u64> = uniform::<u64>(sized(3000))
        .iter()
        .map(|value| value >> 32)
        .collect();
    let mut options = options(
        TableDesign::with_table_count(Width::W64, 3, 2).unwrap(),
        512,
    );
    options.codec = Some(Codec::Lines);
    let index = open::<u64>(build(options, &set));
    let mut scratch = Scratch::new();
    scratch.set_strategy(Strategy::Probe);
    for &query in &set[..20] {
        let found = index.query_with(&mut scratch, query, 3).unwrap();
        assert_eq!(matched(found), scan(&set, query, 3));
        let compared = scratch.stats().candidates;
        assert!(compared < 2 * set.len() as u64, "{compared} compared");
    }
}
