//! Looking for records by their ids, and for fingerprints by their ranks, against a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Fingerprint, Id, IdBuf, IdKind, Index, Width};
use simidx_testkit::{
    build_numbers, build_strings, clustered, open, options, rng, sized, sorted_set,
};

/// Records by id: the ranks of those that have it, ascending.
type Ranks = BTreeMap<IdBuf, Vec<u64>>;

fn ranks<F: Fingerprint>(records: &[(F, IdBuf)], set: &[F]) -> Ranks {
    let mut ranks = Ranks::new();
    for (fingerprint, id) in records {
        let rank = set.binary_search(fingerprint).expect("it is of the set") as u64;
        ranks.entry(id.clone()).or_default().push(rank);
    }
    ranks.values_mut().for_each(|ranks| ranks.sort_unstable());
    ranks
}

/// Small blocks in any codec, with or without the order of the ids.
fn small<F: Fingerprint>(codec: Codec, id_lookup: bool) -> BuildOptions {
    let mut options = options(
        TableDesign::choose_bands(Width::of::<F>(), 1, 2).unwrap(),
        128,
    );
    options.codec = Some(codec);
    options.id_lookup = id_lookup;
    options
}

/// Holds that an index finds exactly these records, and others not at all.
fn check<F: Fingerprint>(index: &Index<F>, expected: &Ranks, strangers: &[IdBuf]) {
    for (id, ranks) in expected {
        assert_eq!(&index.ranks_of_id(id.as_id()).unwrap(), ranks, "{id:?}");
        assert_eq!(index.rank_of_id(id.as_id()).unwrap(), Some(ranks[0]));
    }
    for id in strangers.iter().filter(|id| !expected.contains_key(id)) {
        assert_eq!(index.ranks_of_id(id.as_id()).unwrap(), [], "{id:?}");
        assert_eq!(index.rank_of_id(id.as_id()).unwrap(), None);
    }
    // Ids of another kind are nobody's.
    let other = match index.id_kind() {
        IdKind::Number => Id::String("1"),
        _ => Id::Number(1),
    };
    assert_eq!(index.ranks_of_id(other).unwrap(), []);
}

/// Holds that ranks are the places in the set.
fn check_ranks<F: Fingerprint>(index: &Index<F>, set: &[F]) {
    for (rank, &fingerprint) in (0..).zip(set) {
        assert_eq!(index.fingerprint(rank).unwrap(), Some(fingerprint));
        assert_eq!(index.rank(fingerprint).unwrap(), Some(rank));
        let near = fingerprint ^ F::from_u128(1);
        let expected = set.binary_search(&near).ok().map(|rank| rank as u64);
        assert_eq!(index.rank(near).unwrap(), expected);
    }
    for beyond in [set.len() as u64, u64::MAX] {
        assert_eq!(index.fingerprint(beyond).unwrap(), None);
    }
}

fn check_numbers<F: Fingerprint>(records: &[(F, u64)], codec: Codec) {
    let set = sorted_set(&records.iter().map(|r| r.0).collect::<Vec<_>>());
    let owned: Vec<(F, IdBuf)> = records
        .iter()
        .map(|&(f, id)| (f, IdBuf::Number(id)))
        .collect();
    let expected = ranks(&owned, &set);
    let near = records
        .iter()
        .flat_map(|r| [r.1.wrapping_add(1), r.1.wrapping_sub(1)]);
    let strangers: Vec<IdBuf> = near.chain([0, u64::MAX]).map(IdBuf::Number).collect();
    for id_lookup in [false, true] {
        let index = open::<F>(build_numbers(small::<F>(codec, id_lookup), records));
        assert_eq!(index.has_id_lookup(), id_lookup);
        check(&index, &expected, &strangers);
        check_ranks(&index, &set);
    }
}

fn check_strings<F: Fingerprint>(records: &[(F, String)], codec: Codec) {
    let set = sorted_set(&records.iter().map(|r| r.0).collect::<Vec<_>>());
    let owned = records
        .iter()
        .map(|(f, id)| (*f, IdBuf::String(id.clone())));
    let expected = ranks(&owned.collect::<Vec<_>>(), &set);
    let near = records.iter().flat_map(|(_, id)| {
        let shorter: String = id
            .chars()
            .take(id.chars().count().saturating_sub(1))
            .collect();
        [format!("{id}\0"), format!("{id}a"), shorter]
    });
    let ends = [String::new(), "\u{10ffff}".into(), "\u{10ffff}".repeat(9)];
    let strangers: Vec<IdBuf> = near.chain(ends).map(IdBuf::String).collect();
    for id_lookup in [false, true] {
        let index = open::<F>(build_strings(small::<F>(codec, id_lookup), records));
        assert_eq!(index.has_id_lookup(), id_lookup);
        check(&index, &expected, &strangers);
        check_ranks(&index, &set);
        assert!(index.verify(&Default::default()).unwrap().is_sound());
    }
}

#[test]
fn the_first_and_the_last_of_many_buckets_and_chunks_are_found() {
    let set: Vec<u64> = clustered(sized(900));
    for count in [1, 15, 16, 17, 447, 448, 449, 1300].map(sized) {
        let records: Vec<(u64, String)> = (0..count)
            .map(|i| {
                (
                    set[i / 2 % set.len()],
                    format!("https://example.org/{:04}", i * 7 % 911),
                )
            })
            .collect();
        check_strings(&records, Codec::Gap);
        let numbers: Vec<(u64, u64)> = records
            .iter()
            .zip(0..)
            .map(|((f, _), i)| (*f, i * 7 % 911))
            .collect();
        check_numbers(&numbers, Codec::EliasFano);
    }
}

#[test]
fn an_id_of_all_records_is_found_for_each() {
    let set: Vec<u64> = clustered(sized(300));
    let numbers: Vec<(u64, u64)> = set.iter().map(|&f| (f, u64::MAX)).collect();
    check_numbers(&numbers, Codec::Xor);
    let strings: Vec<(u64, String)> = set.iter().map(|&f| (f, "same".into())).collect();
    check_strings(&strings, Codec::Xor);
    let short: Vec<(u64, String)> = set.iter().map(|&f| (f, "\0".into())).collect();
    check_strings(&short, Codec::Gap);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_longest_strings_are_found() {
    let long = |last: char| "x".repeat(65_534) + &last.to_string();
    let ids = [
        long('a'),
        long('b'),
        "x".into(),
        "x".repeat(65_534),
        "\0".into(),
        long('b'),
    ];
    let records: Vec<(u64, String)> = ids.into_iter().zip(0..).map(|(id, f)| (f, id)).collect();
    let set: Vec<u64> = (0..6).collect();
    let owned = records
        .iter()
        .map(|(f, id)| (*f, IdBuf::String(id.clone())));
    let expected = ranks(&owned.collect::<Vec<_>>(), &set);
    for id_lookup in [false, true] {
        let index = open::<u64>(build_strings(small::<u64>(Codec::Gap, id_lookup), &records));
        check(&index, &expected, &[IdBuf::String(long('c'))]);
        // None can be so long.
        assert_eq!(index.rank_of_id("x".repeat(65_536).as_str()).unwrap(), None);
    }
}

#[test]
fn without_records_and_without_ids_nothing_is_found() {
    for id_lookup in [false, true] {
        let none: [(u64, String); 0] = [];
        let strings = open::<u64>(build_strings(small::<u64>(Codec::Xor, id_lookup), &none));
        check(&strings, &Ranks::new(), &[IdBuf::String(String::new())]);
        let none: [(u64, u64); 0] = [];
        let numbers = open::<u64>(build_numbers(small::<u64>(Codec::Xor, id_lookup), &none));
        check(&numbers, &Ranks::new(), &[IdBuf::Number(0)]);
        assert_eq!(numbers.fingerprint(0).unwrap(), None);
        assert_eq!(numbers.rank(0).unwrap(), None);
    }
    let plain = open::<u64>(simidx_testkit::build(
        small::<u64>(Codec::Xor, true),
        &[1u64, 2],
    ));
    assert_eq!(plain.ranks_of_id(1).unwrap(), []);
    assert!(!plain.has_id_lookup());
    check_ranks(&plain, &[1, 2]);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn ranks_of_many_blocks_are_those_of_the_set() {
    let mut rng = rng(3);
    for codec in Codec::ALL {
        let set = sorted_set(
            &(0..5000)
                .map(|_| simidx_testkit::random(&mut rng))
                .collect::<Vec<u128>>(),
        );
        let index = open::<u128>(simidx_testkit::build(small::<u128>(codec, false), &set));
        check_ranks(&index, &set);
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: sized(60) as u32,
        rng_seed: RngSeed::Fixed(0x1001),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Strings that share prefixes, some short, some long.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,4}",
        "https://example.org/[a-c]{1,2}/[0-9]{1,3}",
        ".{1,12}",
        (1usize..400, "[é日a]{0,2}").prop_map(|(len, end)| "x".repeat(len) + &end),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn all_records_with_a_number_are_found(
        few in prop::collection::vec((0u32..60, 0u64..20), 1..150),
        any in prop::collection::vec((any::<u128>(), prop_oneof![0u64..9, any::<u64>()]), 1..150),
        codec in prop::sample::select(&Codec::ALL[..]),
    ) {
        check_numbers(&few, codec);
        check_numbers(&any, codec);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn all_records_with_a_string_are_found(
        few in prop::collection::vec((0u64..40, string()), 1..150),
        any in prop::collection::vec((any::<u32>(), string()), 1..150),
        codec in prop::sample::select(&Codec::ALL[..]),
    ) {
        check_strings(&few, codec);
        check_strings(&any, codec);
    }
}
