//! Ids: every id of a record comes back, in order, whatever its kind, size and number.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use rand::seq::SliceRandom;
use simidx::builder::BuildError;
use simidx::design::TableDesign;
use simidx::index::Strategy;
use simidx::{
    BuildOptions, Error, Fingerprint, Id, IdBuf, IdKind, Index, IndexBuilder, Match, Scratch, Width,
};
use simidx_testkit::{build_numbers, build_strings, each_id, open, options, rng};

/// The ids of each fingerprint as the index must give them.
type Expected<F, I> = BTreeMap<F, Vec<I>>;

fn expected<F: Fingerprint, I: Ord + Clone>(records: &[(F, I)]) -> Expected<F, I> {
    let mut expected: Expected<F, I> = BTreeMap::new();
    for (fingerprint, id) in records {
        expected.entry(*fingerprint).or_default().push(id.clone());
    }
    expected.values_mut().for_each(|ids| ids.sort());
    expected
}

/// An id that owns itself.
fn owned(id: Id<'_>) -> (Option<u64>, String) {
    match id {
        Id::Number(number) => (Some(number), String::new()),
        Id::String(string) => (None, string.to_owned()),
    }
}

type OwnedId = (Option<u64>, String);

fn ids_of<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Vec<OwnedId> {
    let mut ids = Vec::new();
    each_id(index.ids_of(fingerprint), |id| ids.push(owned(id))).unwrap();
    ids
}

/// Compares the ranks of matches, and the ids that are found by them, for one query and for many.
fn check_matches<F: Fingerprint>(index: &Index<F>, expected: &Expected<F, OwnedId>) {
    let members: Vec<F> = expected.keys().copied().collect();
    let check = |found: &Match<F>| {
        let rank = found.rank.expect("the index has ids") as usize;
        assert_eq!(members.get(rank), Some(&found.fingerprint));
        let mut ids = Vec::new();
        each_id(index.ids(found), |id| ids.push(owned(id))).unwrap();
        assert_eq!(ids, expected[&found.fingerprint], "{:x}", found.fingerprint);
    };
    let step = members.len().div_ceil(50).max(1);
    let queries: Vec<F> = members.iter().copied().step_by(step).collect();
    let mut scratch = Scratch::new();
    for strategy in [Strategy::Probe, Strategy::Scan] {
        scratch.set_strategy(strategy);
        for &query in &queries {
            let found = index.query_with(&mut scratch, query, 3).unwrap();
            assert_eq!(found[0].fingerprint, query);
            found.iter().for_each(check);
        }
        let visit = |number, found: &[Match<F>]| {
            assert_eq!(found[0].fingerprint, queries[number]);
            found.iter().for_each(check);
        };
        index
            .query_many_with(&mut scratch, &queries, 3, visit)
            .unwrap();
    }
}

#[test]
fn a_rank_beyond_the_end_is_an_error() {
    let index = open::<u64>(build_numbers(small_blocks::<u64>(), &[(1u64, 10), (2, 20)]));
    let mut found = index.query(2, 0).unwrap()[0];
    assert_eq!(found.rank, Some(1));
    found.rank = Some(2);
    assert!(matches!(index.ids(&found), Err(Error::Options(_))));
    found.rank = None;
    let ids: Vec<IdBuf> = index.ids(&found).unwrap().map(Result::unwrap).collect();
    assert_eq!(ids, [IdBuf::Number(20)], "it is looked up");
}

/// Compares the ids by look-up, and by reading each table through.
fn check<F: Fingerprint>(file: Vec<u8>, expected: &Expected<F, OwnedId>) {
    let index = open::<F>(file);
    check_matches(&index, expected);
    let record_count: usize = expected.values().map(Vec::len).sum();
    assert_eq!(index.record_count(), record_count as u64);
    assert_eq!(index.len(), expected.len() as u64);
    for (&fingerprint, ids) in expected {
        assert_eq!(&ids_of(&index, fingerprint), ids, "{fingerprint:x}");
        let near = fingerprint ^ F::from_u128(1 << 17);
        let missing = !expected.contains_key(&near);
        assert!(!missing || ids_of(&index, near).is_empty(), "{near:x}");
    }
    for table in 0..index.table_count() {
        let mut fingerprints = index.fingerprints(table).unwrap();
        assert!(fingerprints.ids().unwrap().is_empty(), "none was given yet");
        let mut seen = 0;
        while let Some(fingerprint) = fingerprints.next() {
            let mut ids = Vec::new();
            each_id(fingerprints.ids(), |id| ids.push(owned(id))).unwrap();
            assert_eq!(&ids, &expected[&fingerprint.unwrap()], "table {table}");
            seen += 1;
        }
        assert_eq!(seen, expected.len(), "table {table}");
    }
    let report = index.verify(&Default::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

fn small_blocks<F: Fingerprint>() -> BuildOptions {
    options(
        TableDesign::choose_bands(Width::of::<F>(), 1, 2).unwrap(),
        128,
    )
}

fn check_numbers<F: Fingerprint>(records: &[(F, u64)]) {
    let owned: Vec<(F, OwnedId)> = records
        .iter()
        .map(|&(f, id)| (f, (Some(id), String::new())))
        .collect();
    check(
        build_numbers(small_blocks::<F>(), records),
        &expected(&owned),
    );
}

fn check_strings<F: Fingerprint>(records: &[(F, String)]) {
    let owned: Vec<(F, OwnedId)> = records
        .iter()
        .map(|(f, id)| (*f, (None, id.clone())))
        .collect();
    check(
        build_strings(small_blocks::<F>(), records),
        &expected(&owned),
    );
}

/// `count` fingerprints, most with one record, some with several.
fn repeated<F: Fingerprint>(count: usize, seed: u64) -> Vec<F> {
    let mut rng = rng(seed);
    let mut fingerprints = Vec::new();
    for fingerprint in simidx_testkit::clustered::<F>(count) {
        let draw: f64 = rng.random_range(0.02..1.0);
        fingerprints.extend(std::iter::repeat_n(fingerprint, (1.0 / draw) as usize));
    }
    fingerprints.shuffle(&mut rng);
    fingerprints
}

fn check_many<F: Fingerprint>() {
    let mut rng = rng(5);
    let single: Vec<(F, u64)> = simidx_testkit::uniform(simidx_testkit::sized(4000))
        .into_iter()
        .zip(1000..)
        .collect();
    check_numbers(&single);
    let several: Vec<(F, u64)> = repeated(simidx_testkit::sized(3000), 1)
        .into_iter()
        .map(|f| (f, rng.random_range(0..1 << 40)))
        .collect();
    check_numbers(&several);
    let strings: Vec<(F, String)> = repeated(simidx_testkit::sized(3000), 2)
        .into_iter()
        .map(|f| {
            (
                f,
                format!("https://example.org/{}", rng.random_range(0..1 << 20)),
            )
        })
        .collect();
    check_strings(&strings);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn thousands_of_fingerprints_keep_their_ids_across_pages() {
    check_many::<u32>();
    check_many::<u64>();
    check_many::<u128>();
}

#[test]
fn ids_of_one_fingerprint_ascend_and_duplicates_stay() {
    check_numbers(&[(7u64, 3), (7, 1), (7, 3), (7, 2), (8, 0), (7, 1)]);
    let index = open::<u64>(build_numbers(
        small_blocks::<u64>(),
        &[(7u64, 10), (7, 9), (7, 10), (6, 11)],
    ));
    let numbers: Vec<Option<u64>> = ids_of(&index, 7).into_iter().map(|id| id.0).collect();
    assert_eq!(numbers, [Some(9), Some(10), Some(10)]);
}

#[test]
fn strings_of_one_fingerprint_ascend_by_their_bytes() {
    let ids = [
        "b",
        "\0",
        "a",
        "ab",
        "Z",
        "é",
        "a",
        "\u{1f600}",
        "\0",
        "10",
        "9",
    ];
    let records: Vec<(u32, &str)> = ids.iter().map(|&id| (1, id)).collect();
    let index = open::<u32>(build_strings(small_blocks::<u32>(), &records));
    let found: Vec<String> = ids_of(&index, 1).into_iter().map(|id| id.1).collect();
    assert_eq!(
        found,
        [
            "\0",
            "\0",
            "10",
            "9",
            "Z",
            "a",
            "a",
            "ab",
            "b",
            "é",
            "\u{1f600}"
        ]
    );
}

#[test]
fn extreme_numbers_come_back() {
    check_numbers(&[(1u64, 0), (2, u64::MAX)]);
    check_numbers(&[(1u64, u64::MAX), (1, u64::MAX), (2, u64::MAX - 1)]);
    check_numbers(&[(1u32, u64::MAX)]);
    check_numbers(&[(1u128, 0), (1, 1 << 63), (9, u64::MAX)]);
}

#[test]
fn equal_numbers_take_no_bits() {
    let records: Vec<(u64, u64)> = (0..simidx_testkit::sized(5000) as u64)
        .map(|f| (f * 3, 42))
        .collect();
    check_numbers(&records);
    let file = build_numbers(small_blocks::<u64>(), &records);
    let layout = simidx_testkit::encoding::Layout::parse(&file);
    assert_eq!(layout.section(simidx_testkit::encoding::NUMBERS, 0).len, 0);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn numbers_of_every_width_in_bits_come_back() {
    for bits in 1..=64 {
        let most = u64::MAX >> (64 - bits);
        let records: Vec<(u64, u64)> = (0..40)
            .map(|i| (i, if i == 0 { 0 } else { most - i.min(most) }))
            .collect();
        check_numbers(&records);
        check_numbers(&[(1u32, 0), (2, most), (3, most / 3)]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn strings_of_extreme_lengths_come_back() {
    let longest = "x".repeat(65_535);
    let mut records: Vec<(u64, String)> = [1, 2, 127, 128, 129, 16_383, 16_384, 65_534]
        .iter()
        .zip(1..)
        .map(|(&len, fingerprint)| (fingerprint, "y".repeat(len)))
        .collect();
    records.extend([(1, longest.clone()), (1, longest), (20, "\0".into())]);
    check_strings(&records);
    check_strings(&[(1u32, "\0".to_owned())]);
    check_strings(&[(1u128, "é".repeat(32_767) + "z")]);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn strings_of_several_bytes_a_character_come_back() {
    let text = [
        "ß",
        "naïve",
        "日本語",
        "\u{1f469}\u{200d}\u{1f52c}",
        "\u{10ffff}",
        "a\nb\tc",
        "\u{feff}",
    ];
    let records: Vec<(u128, String)> = (0..300u128)
        .map(|i| {
            (
                i % 90,
                format!("{}{}", text[i as usize % text.len()], i / 7),
            )
        })
        .collect();
    check_strings(&records);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn more_records_than_a_chunk_holds_share_a_fingerprint() {
    for count in [447, 448, 449, 896, 897, 3000] {
        let mut records: Vec<(u64, u64)> = (0..count).map(|id| (500, id * 7 % 1013)).collect();
        records.extend([(1, 5), (600, 6), (600, 7), (u64::MAX, 8)]);
        check_numbers(&records);
        let strings: Vec<(u64, String)> = records
            .iter()
            .map(|&(f, id)| (f, format!("id {id}")))
            .collect();
        check_strings(&strings);
    }
    let only: Vec<(u32, u64)> = (0..2000).map(|id| (9, id)).collect();
    check_numbers(&only);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn an_empty_index_has_no_ids() {
    for kind in [IdKind::Number, IdKind::String] {
        let mut options = BuildOptions::default();
        options.ids = kind;
        let mut file = Vec::new();
        IndexBuilder::new(Width::W64, options)
            .unwrap()
            .finish(&mut file)
            .unwrap();
        let index = open::<u64>(file);
        assert_eq!(index.id_kind(), kind);
        assert_eq!(ids_of(&index, 0), []);
        assert!(index.verify(&Default::default()).unwrap().is_sound());
    }
}

#[test]
fn an_index_without_ids_gives_none() {
    let index = open::<u64>(simidx_testkit::build(small_blocks::<u64>(), &[1u64, 2, 2]));
    assert_eq!(index.id_kind(), IdKind::None);
    assert_eq!(ids_of(&index, 2), []);
    let mut fingerprints = index.fingerprints(1).unwrap();
    assert!(fingerprints.next().is_some());
    assert_eq!(fingerprints.ids().unwrap().len(), 0);
}

#[test]
fn records_of_another_kind_are_errors_and_leave_nothing() {
    for kind in [IdKind::None, IdKind::Number, IdKind::String] {
        let mut options = BuildOptions::default();
        options.ids = kind;
        let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
        let results = [
            (IdKind::None, builder.push(1_u64)),
            (IdKind::Number, builder.push_with_id(1_u64, 1)),
            (IdKind::String, builder.push_with_id(1_u64, "1")),
        ];
        for (pushed, result) in results {
            match result {
                Ok(()) => assert_eq!(pushed, kind),
                Err(Error::Build(BuildError::MissingId)) => assert_eq!(pushed, IdKind::None),
                Err(Error::Build(BuildError::WrongIdKind(wrong))) => {
                    assert_eq!(wrong, pushed);
                    assert_ne!(pushed, kind);
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(builder.record_count(), 1);
    }
}

#[test]
fn a_summary_counts_records_and_fingerprints() {
    let mut options = small_blocks::<u64>();
    options.ids = IdKind::Number;
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    for id in 0..10 {
        builder.push_with_id(id / 4, id).unwrap();
    }
    let mut file = Vec::new();
    let summary = builder.finish(&mut file).unwrap();
    assert_eq!((summary.record_count, summary.fingerprint_count), (10, 3));
    assert_eq!(
        (summary.tables.len(), summary.file_len),
        (2, file.len() as u64)
    );
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: simidx_testkit::sized(150) as u32,
        rng_seed: RngSeed::Fixed(0x1d5),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn the_order_of_records_does_not_show_in_the_bytes(
        records in prop::collection::vec((0u64..40, prop_oneof![0u64..5, any::<u64>()]), 0..300),
        seed in any::<u64>(),
    ) {
        let mut shuffled = records.clone();
        shuffled.shuffle(&mut rng(seed));
        let plain = |r: &[(u64, u64)]| r.iter().map(|r| r.0).collect::<Vec<_>>();
        let text = |r: &[(u64, u64)]| r.iter().map(|r| (r.0, r.1.to_string())).collect::<Vec<_>>();
        prop_assert_eq!(
            simidx_testkit::build(small_blocks::<u64>(), &plain(&records)),
            simidx_testkit::build(small_blocks::<u64>(), &plain(&shuffled))
        );
        prop_assert_eq!(
            build_numbers(small_blocks::<u64>(), &records),
            build_numbers(small_blocks::<u64>(), &shuffled)
        );
        prop_assert_eq!(
            build_strings(small_blocks::<u64>(), &text(&records)),
            build_strings(small_blocks::<u64>(), &text(&shuffled))
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn arbitrary_ids_come_back(
        numbers in prop::collection::vec((0u32..50, any::<u64>()), 0..200),
        strings in prop::collection::vec((0u128..50, ".{1,40}"), 0..200),
    ) {
        check_numbers(&numbers);
        check_strings(&strings);
    }
}
