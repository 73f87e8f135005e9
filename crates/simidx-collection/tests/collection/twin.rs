//! Any sequence of operations, reopening among them, leaves what the naive twin has.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use simidx::{Watch, Width};
use simidx_collection::{Collection, Error, Options, Sync};

use crate::naive::{Naive, short};

#[derive(Debug, Clone)]
enum Operation {
    Add(u8, u128),
    AddMany(Vec<(u8, u128)>),
    Delete(u8),
    Query(u128, u32),
    Nearest(u128, usize, u32),
    Get(u8),
    Seal,
    Merge,
    Reopen,
}

/// Few values, which are near to each other.
fn value() -> impl proptest::strategy::Strategy<Value = u128> {
    let centre = prop::sample::select(vec![0, u128::MAX, 0x0123_4567_89ab_cdef << 40 | 0xbeef]);
    (centre, prop::collection::vec(0..128_u32, 0..4))
        .prop_map(|(centre, bits)| bits.into_iter().fold(centre, |value, bit| value ^ 1 << bit))
}

fn operation() -> impl proptest::strategy::Strategy<Value = Operation> {
    let id = 0..25_u8;
    prop_oneof![
        12 => (id.clone(), value()).prop_map(|(id, value)| Operation::Add(id, value)),
        2 => prop::collection::vec((id.clone(), value()), 0..9).prop_map(Operation::AddMany),
        4 => id.clone().prop_map(Operation::Delete),
        5 => (value(), 0..10_u32).prop_map(|(value, k)| Operation::Query(value, k)),
        3 => (value(), 0..6_usize, 0..129_u32).prop_map(|(v, n, k)| Operation::Nearest(v, n, k)),
        3 => id.prop_map(Operation::Get),
        2 => Just(Operation::Seal),
        1 => Just(Operation::Merge),
        1 => Just(Operation::Reopen),
    ]
}

fn id(number: u8) -> String {
    format!("é{}", u32::from(number) * 37 % 100)
}

fn run(width: Width, operations: &[Operation], options: &Options) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collection");
    let mut collection = Collection::create(&path, width, options.clone()).unwrap();
    let mut naive = Naive::default();
    let k = options.max_distance;
    let check_add = |naive: &mut Naive, number: u8, value, added: &simidx_collection::Added| {
        let (id, fingerprint) = (id(number), value & width.max());
        assert_eq!(short(&added.matches), naive.near(fingerprint, k, &id));
        assert_eq!(added.outcome, naive.add(&id, fingerprint));
    };
    for operation in operations {
        match operation {
            Operation::Add(number, value) => {
                let added = collection.add(&id(*number), value & width.max()).unwrap();
                check_add(&mut naive, *number, *value, &added);
            }
            Operation::AddMany(records) => {
                let records = records.iter();
                let given: Vec<_> = records
                    .clone()
                    .map(|(n, value)| (id(*n), value & width.max()))
                    .collect();
                let (all, outcome) = collection.add_many(&given);
                outcome.unwrap();
                assert_eq!(all.len(), given.len());
                for ((number, value), added) in records.zip(all) {
                    check_add(&mut naive, *number, *value, &added);
                }
            }
            Operation::Delete(number) => {
                assert_eq!(
                    collection.delete(&id(*number)).unwrap(),
                    naive.delete(&id(*number))
                );
            }
            Operation::Query(value, distance) => {
                let fingerprint = value & width.max();
                let found = collection.query(fingerprint, *distance).unwrap();
                assert_eq!(short(&found), naive.near(fingerprint, *distance, ""));
            }
            Operation::Nearest(value, count, distance) => {
                let fingerprint = value & width.max();
                let found = collection.nearest(fingerprint, *count, *distance).unwrap();
                let mut expected = naive.near(fingerprint, *distance, "");
                expected.truncate(*count);
                assert_eq!(short(&found), expected);
            }
            Operation::Get(number) => {
                assert_eq!(
                    collection.get(&id(*number)).unwrap(),
                    naive.get(&id(*number))
                );
            }
            Operation::Seal => collection.seal(&Watch::default()).unwrap(),
            Operation::Merge => collection.merge(&Watch::default()).unwrap(),
            Operation::Reopen => {
                collection.close().unwrap();
                collection = Collection::open(&path, options.clone()).unwrap();
            }
        }
        assert_eq!(
            collection.len(),
            naive.records.len() as u64,
            "{operation:?}"
        );
    }
    naive.check(&collection);
    collection.seal(&Watch::default()).unwrap();
    collection.merge(&Watch::default()).unwrap();
    naive.check(&collection);
    let stats = collection.stats();
    assert_eq!((stats.deleted_count, stats.recent_count), (0, 0));
    assert!(stats.segment_count <= 1 && stats.background_error.is_none());
    drop(collection);
    naive.check(&Collection::open(&path, options.clone()).unwrap());
}

fn options(background: bool) -> Options {
    let mut options = Options::default();
    options.sync = Sync::Never;
    options.background = background;
    options.seal_records = if background { 5 } else { 100 };
    options
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(21),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn answers_are_those_of_the_twin_32(operations in prop::collection::vec(operation(), 0..80)) {
        run(Width::W32, &operations, &options(false));
    }

    #[test]
    fn answers_are_those_of_the_twin_64(operations in prop::collection::vec(operation(), 0..120)) {
        run(Width::W64, &operations, &options(false));
    }

    #[test]
    fn answers_are_those_of_the_twin_128(operations in prop::collection::vec(operation(), 0..80)) {
        run(Width::W128, &operations, &options(false));
    }

    #[test]
    fn sealing_and_merging_in_the_background_change_no_answer(
        operations in prop::collection::vec(operation(), 0..150)
    ) {
        run(Width::W64, &operations, &options(true));
    }
}

#[test]
fn every_distance_of_a_collection_is_checked() {
    for k in [0, 1, 7, 12] {
        let mut options = options(false);
        options.max_distance = k;
        let operations: Vec<Operation> = (0..60_u32)
            .map(|i| match i % 20 {
                19 => Operation::Seal,
                _ => Operation::Add(i as u8, (1 << (i % 11)) - 1),
            })
            .collect();
        run(Width::W64, &operations, &options);
    }
}

#[test]
fn an_id_is_not_replaced_where_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(false);
    options.replace = false;
    let pages = Collection::create(folder.path().join("pages"), Width::W64, options).unwrap();
    pages.add("a", 1_u64).unwrap();
    for sealed in [false, true] {
        assert!(matches!(pages.add("a", 2_u64), Err(Error::IdExists(id)) if id == "a"));
        assert_eq!(pages.get("a").unwrap(), Some(1), "{sealed}");
        pages.add("a", 1_u64).unwrap();
        pages.seal(&Watch::default()).unwrap();
    }
    for id in [String::new(), "x".repeat(65_536)] {
        assert!(matches!(pages.add(&id, 2_u64), Err(Error::BadId(len)) if len == id.len()));
    }
    assert!(!pages.delete("").unwrap());
    assert!(pages.delete("a").unwrap() && !pages.delete("a").unwrap());
}

#[test]
fn settings_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut options = options(false);
    options.max_distance = 5;
    options.pipeline = Some("tokens: words".to_owned());
    drop(Collection::create(&path, Width::W128, options).unwrap());
    let pages = Collection::open(&path, Options::default()).unwrap();
    assert_eq!(pages.width(), Width::W128);
    assert_eq!(
        (pages.max_distance(), pages.pipeline()),
        (5, Some("tokens: words"))
    );
    pages.add("a", 7_u64).unwrap();
    pages.seal(&Watch::default()).unwrap();
    drop(pages);
    assert!(Collection::create(&path, Width::W128, Options::default()).is_err());
    for bad in [13, u32::MAX] {
        let mut options = Options::default();
        options.max_distance = bad;
        let made = Collection::create(folder.path().join("other"), Width::W64, options);
        assert!(matches!(made, Err(Error::Options(_))));
    }
}

#[test]
fn a_fingerprint_of_more_bits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W32, options(false)).unwrap();
    pages.add("a", u128::from(u32::MAX)).unwrap();
    let wide = 1_u64 << 32;
    let (added, outcome) = pages.add_many(&[("b", 7), ("c", wide), ("d", 8)]);
    assert_eq!(added.len(), 1);
    let refused = [
        outcome.err(),
        pages.add("c", wide).err(),
        pages.query(wide, 3).err(),
        pages.nearest(wide, 1, 3).err(),
    ];
    for error in refused {
        let error = error.unwrap().to_string();
        assert_eq!(
            error,
            "the index holds 32-bit fingerprints, not 33-bit ones"
        );
    }
    assert_eq!(pages.len(), 2);
}
