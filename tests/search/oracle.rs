//! Every answer of an index against a linear scan: all widths, all codecs, all designs, all shapes of data, all ways
//! to ask.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use simidx::design::{MAX_DISTANCE, TableDesign};
use simidx::index::Strategy;
use simidx::{Codec, Fingerprint, Index, Scratch, Storage, Width};
use simidx_testkit::checks::{Check, check_many_queries, queries_near};
use simidx_testkit::{bit, data_sets, flipped, open, options, random, rng, sorted_set, thorough};

/// Every design for a distance with every shape of data, smaller ones for designs of many tables. Before a release every
/// design has all shapes; otherwise it has a third of them at each width. Codecs and block sizes take turns.
fn check_designs<F: Fingerprint>() {
    let turns = [128, 512].map(|block_size| Codec::ALL.map(|codec| (codec, block_size)));
    let mut turns = turns.into_iter().flatten().cycle();
    let share = thorough(1, 3);
    let mut skipped = (0..share).cycle().skip(F::WIDTH.ilog2() as usize);
    let mut met = HashSet::new();
    for k in 0..=MAX_DISTANCE {
        let designs = TableDesign::available(Width::of::<F>(), k);
        assert!(!designs.is_empty(), "no design for distance {k}");
        for design in designs {
            let (size, queries) = match design.table_count() {
                0..=10 => (500, 6),
                11..=40 => (300, 4),
                _ => (120, 3),
            };
            let shapes = data_sets::<F>(size).into_iter();
            for data in shapes.skip(skipped.next().unwrap()).step_by(share) {
                let (codec, block_size) = turns.next().unwrap();
                met.insert((data.name, codec.name(), block_size));
                let check = Check {
                    design: &design,
                    codec: Some(codec),
                    block_size,
                    queries,
                    distances: &[0, k / 2, k, k + 1, k + 3],
                };
                check.run(&data.fingerprints, data.name);
            }
        }
    }
    let shapes = data_sets::<F>(1).len();
    assert_eq!(met.len(), shapes * Codec::ALL.len() * 2);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_design_of_32_bits_agrees_with_the_scan() {
    check_designs::<u32>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_design_of_64_bits_agrees_with_the_scan() {
    check_designs::<u64>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_design_of_128_bits_agrees_with_the_scan() {
    check_designs::<u128>();
}

/// The designs with the fewest tables, probed with flips, and two of the paper's.
fn few_tables<F: Fingerprint>() -> Vec<TableDesign> {
    vec![
        TableDesign::partition(Width::of::<F>(), 3, 1).unwrap(),
        TableDesign::partition(Width::of::<F>(), 3, 2).unwrap(),
        TableDesign::partition(Width::of::<F>(), 3, 3).unwrap(),
        TableDesign::partition(Width::of::<F>(), 8, 3).unwrap(),
        TableDesign::choose_bands(Width::of::<F>(), 3, 4).unwrap(),
        TableDesign::choose_bands(Width::of::<F>(), 2, 4).unwrap(),
    ]
}

/// Every codec with every design and every shape of data at every distance that this version knows and beyond: sets so
/// large that probes with flips are worth their while. Before a release each design and shape has all codecs; otherwise
/// these take turns.
fn check_codecs<F: Fingerprint>(size: usize) {
    let distances: Vec<u32> = (0..=MAX_DISTANCE + 1)
        .chain([F::WIDTH / 2, F::WIDTH])
        .collect();
    for (i, design) in few_tables::<F>().iter().enumerate() {
        for (j, data) in data_sets::<F>(size).into_iter().enumerate() {
            let codecs = Codec::ALL.into_iter().cycle().skip(i + j);
            for codec in codecs.take(thorough(Codec::ALL.len(), 1)) {
                let check = Check {
                    design,
                    codec: Some(codec),
                    block_size: 512,
                    queries: 4,
                    distances: &distances,
                };
                check.run(&data.fingerprints, data.name);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_codec_of_32_bits_agrees_with_the_scan_at_every_distance() {
    check_codecs::<u32>(8000);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_codec_of_64_bits_agrees_with_the_scan_at_every_distance() {
    check_codecs::<u64>(8000);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_codec_of_128_bits_agrees_with_the_scan_at_every_distance() {
    check_codecs::<u128>(8000);
}

/// Files are read as bytes, wherever in memory they begin.
#[test]
fn an_index_may_begin_at_any_address() {
    let set = sorted_set(&simidx_testkit::clustered::<u64>(1000));
    let design = TableDesign::with_table_count(Width::W64, 3, 4).unwrap();
    let records: Vec<(u64, u64)> = set.iter().map(|&f| (f, !f)).collect();
    let file = simidx_testkit::build_numbers(options(design, 128), &records);
    let index = open::<u64>(file.clone());
    for offset in 1..8 {
        let moved = [&vec![0; offset][..], &file].concat();
        let moved = Storage::lent(&moved.leak()[offset..]);
        let moved = Index::<u64>::from_bytes(moved).unwrap();
        assert!(moved.verify(&Default::default()).unwrap().is_sound());
        for &query in set.iter().step_by(100) {
            let found = moved.query(query ^ 1, 3).unwrap();
            assert_eq!(found, index.query(query ^ 1, 3).unwrap());
            let ids = moved
                .ids_of(query)
                .unwrap()
                .map(|id| id.unwrap().to_string());
            assert_eq!(ids.collect::<Vec<_>>(), [(!query).to_string()]);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_sets_of_these_tests_are_large_enough_for_probes_with_flips() {
    let set: Vec<u64> = simidx_testkit::uniform(8000);
    for (bands, codec) in (1..=3).flat_map(|bands| Codec::ALL.map(|c| (bands, c))) {
        let mut options = options(TableDesign::partition(Width::W64, 3, bands).unwrap(), 512);
        options.codec = Some(codec);
        let index = open::<u64>(simidx_testkit::build(options, &set));
        let flips = |distance| {
            let best = index.plan(distance).best();
            best.map(|probes| probes.iter().map(|p| p.flips).max().unwrap())
        };
        let most = (0..=MAX_DISTANCE).filter_map(flips).max().unwrap();
        assert!(most >= 1, "{bands} bands, {codec:?}: at most {most} flips");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn probes_find_what_several_tables_hold_once() {
    let design = TableDesign::choose_bands(Width::W64, 3, 4).unwrap();
    let set = sorted_set(&simidx_testkit::clustered::<u64>(20_000));
    for codec in Codec::ALL {
        let mut options = options(design.clone(), 512);
        options.codec = Some(codec);
        let index = open(simidx_testkit::build(options, &set));
        let mut scratch = Scratch::new();
        scratch.set_strategy(Strategy::Probe);
        let plan = index.plan(3);
        assert_eq!(plan.probes().len(), 4, "every table is probed");
        let mut several = 0;
        for &member in set.iter().step_by(97) {
            let found = index.query_with(&mut scratch, member, 3).unwrap();
            assert!(found.is_sorted_by(|a, b| a < b), "each once, in order");
            assert_eq!((found[0].distance, found[0].fingerprint), (0, member));
            several += usize::from(found.len() > 1);
            let found = found.len() as u64;
            assert!(
                scratch.stats().candidates >= found + 3,
                "all tables have it"
            );
        }
        assert!(several > 10);
    }
}

#[test]
fn many_queries_are_answered_as_one_by_one() {
    let set = sorted_set(&simidx_testkit::clustered::<u64>(simidx_testkit::sized(
        5000,
    )));
    let queries = queries_near(&set, 4, 300, 9);
    for design in few_tables::<u64>() {
        for codec in Codec::ALL {
            let mut options = options(design.clone(), 256);
            options.codec = Some(codec);
            let index = open(simidx_testkit::build(options, &set));
            let mut scratch = Scratch::new();
            for count in [0, 1, 2, 63, 64, 65, 128, 200, 304] {
                check_many_queries((&index, &mut scratch), &queries[..count], 4, Strategy::Auto);
            }
            for strategy in [Strategy::Probe, Strategy::Scan] {
                check_many_queries((&index, &mut scratch), &queries[..70], 3, strategy);
            }
            // Equal queries, each with the same answer.
            check_many_queries((&index, &mut scratch), &[set[7]; 130], 2, Strategy::Probe);
        }
    }
}

/// The largest blocks, with sets that fill some of them.
fn check_largest_blocks<F: Fingerprint>() {
    let design = TableDesign::choose_bands(Width::of::<F>(), 3, 4).unwrap();
    for (data, codec) in data_sets::<F>(30_000)
        .iter()
        .zip(Codec::ALL.into_iter().cycle())
    {
        for codec in [codec, Codec::EliasFano] {
            let check = Check {
                design: &design,
                codec: Some(codec),
                block_size: 8192,
                queries: 3,
                distances: &[0, 3, 5],
            };
            check.run(&data.fingerprints, data.name);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_largest_blocks_agree_with_the_scan() {
    check_largest_blocks::<u32>();
    check_largest_blocks::<u64>();
    check_largest_blocks::<u128>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_dense_run_fills_the_largest_blocks() {
    let design = TableDesign::choose_bands(Width::W64, 0, 1).unwrap();
    let run: Vec<u64> = (0..150_000).collect();
    for codec in Codec::ALL {
        let mut options = options(design.clone(), 8192);
        options.codec = Some(codec);
        let check = Check {
            design: &design,
            codec: Some(codec),
            block_size: 8192,
            queries: 2,
            distances: &[0, 1, 3],
        };
        check.run(&run, "dense run");
    }
}

#[test]
fn there_is_no_table_behind_the_last_one() {
    let index = open::<u64>(simidx_testkit::build(
        options(TableDesign::choose_bands(Width::W64, 1, 2).unwrap(), 128),
        &[1_u64],
    ));
    assert!(index.fingerprints(1).is_ok());
    assert!(index.fingerprints(2).is_err());
}

#[test]
fn a_scratch_forgets_the_answer_before() {
    let index = open::<u64>(simidx_testkit::build(
        simidx::BuildOptions::default(),
        &[0u64, 1, u64::MAX],
    ));
    let mut scratch = Scratch::new();
    assert_eq!(index.query_with(&mut scratch, 0, 3).unwrap().len(), 2);
    assert_eq!(
        index.query_with(&mut scratch, u64::MAX, 3).unwrap().len(),
        1
    );
    assert_eq!(
        index
            .query_with(&mut scratch, u64::MAX << 32, 3)
            .unwrap()
            .len(),
        0
    );
    assert_eq!(index.query_with(&mut scratch, 5, 64).unwrap().len(), 3);
    assert_eq!(
        index.query_with(&mut scratch, 5, u32::MAX).unwrap().len(),
        3
    );
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
    let design = TableDesign::from_masks(distance, masks).expect("table 0 has leading bits");
    let check = Check {
        design: &design,
        codec: [
            None,
            Some(Codec::Xor),
            Some(Codec::Gap),
            Some(Codec::EliasFano),
        ][seed as usize % 4],
        block_size,
        queries: 5,
        distances: &[0, distance, distance + 1, distance + 3],
    };
    check.run(&fingerprints, "scattered masks");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: simidx_testkit::sized(cases as usize) as u32,
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
    fn any_masks_agree_with_the_scan_at_any_distance(
        values in prop::collection::vec(0u32..1 << 12, 1..100),
        leading in 0u32..=32,
        others in prop::collection::vec(any::<u32>(), 0..5),
        distance in 0u32..=9,
        codec in prop::sample::select(&Codec::ALL[..]),
    ) {
        let mut masks = vec![u32::MAX.checked_shl(32 - leading).unwrap_or(0)];
        masks.extend(&others);
        let design = TableDesign::from_masks(distance, masks).unwrap();
        let check = Check {
            design: &design,
            codec: Some(codec),
            block_size: 128,
            queries: 5,
            distances: &[distance / 2, distance, distance + 2],
        };
        check.run(&values, "arbitrary masks");
    }
}
