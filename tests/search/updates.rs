//! Updates by a merge: of indexes with different tables, with new versions of records, without some. All against the build of
//! those records that a plain rule keeps.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use simidx::Set;
use simidx::design::TableDesign;
use simidx::merge::{MergeCodec, MergeOptions};
use simidx::set::Exclusions;
use simidx::{BuildOptions, Codec, Fingerprint, IdKind, Index, IndexBuilder, Width};
use simidx_testkit::open_set;

/// A fingerprint and a number that makes its id.
pub(crate) type Record<F> = (F, u64);

pub(crate) fn name(id: u64) -> String {
    "x".repeat(id as usize % 40) + &id.to_string()
}

pub(crate) fn build<F: Fingerprint>(
    records: &[Record<F>],
    mut options: BuildOptions,
    ids: IdKind,
) -> Vec<u8> {
    options.ids = ids;
    options.pipeline = Some("words".into());
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for &(fingerprint, id) in records {
        match ids {
            IdKind::None => builder.push(fingerprint),
            IdKind::Number => builder.push_with_id(fingerprint, id),
            IdKind::String => builder.push_with_id(fingerprint, &name(id)),
        }
        .unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

/// Exclusions by fingerprints and by numbers that make ids.
pub(crate) fn exclusions<F: Fingerprint>(left: &Left, ids: IdKind) -> Exclusions {
    let mut exclusions = Exclusions::default();
    for &value in &left.fingerprints {
        exclusions.add_fingerprint(fingerprint::<F>(value));
    }
    for &id in &left.ids {
        match ids {
            IdKind::None => {}
            IdKind::Number => exclusions.add_number(id).unwrap(),
            IdKind::String => exclusions.add_string(&name(id)).unwrap(),
        }
    }
    exclusions
}

/// Values that are small are near each other.
pub(crate) fn fingerprint<F: Fingerprint>(value: u64) -> F {
    F::from_u128(u128::from(value) << 61 | u128::from(value))
}

/// Parameters of a file.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) distance: u32,
    pub(crate) tables: usize,
    pub(crate) block_size: u32,
    pub(crate) codec: Option<Codec>,
}

impl Parameters {
    pub(crate) fn options<F: Fingerprint>(&self) -> BuildOptions {
        let mut options = BuildOptions::default();
        options.design = Some(self.design::<F>());
        options.max_distance = self.distance;
        options.block_size = self.block_size;
        options.codec = self.codec;
        options
    }

    fn design<F: Fingerprint>(&self) -> TableDesign {
        TableDesign::with_table_count(Width::of::<F>(), self.distance, self.tables).unwrap()
    }
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let tables =
        prop::sample::select(&[(3, 1), (3, 2), (3, 4), (3, 6), (2, 1), (2, 3), (5, 2)][..]);
    let codec = prop_oneof![
        Just(None),
        prop::sample::select(&Codec::ALL[..]).prop_map(Some)
    ];
    let block_size = prop::sample::select(&[128u32, 256, 512][..]);
    (tables, block_size, codec).prop_map(|((distance, tables), block_size, codec)| Parameters {
        distance,
        tables,
        block_size,
        codec,
    })
}

/// The exclusions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Left {
    fingerprints: HashSet<u64>,
    ids: HashSet<u64>,
}

impl Left {
    pub(crate) fn has(&self, (value, id): &(u64, u64), ids: IdKind) -> bool {
        self.fingerprints.contains(value) || ids != IdKind::None && self.ids.contains(id)
    }
}

pub(crate) fn left() -> impl Strategy<Value = Left> {
    let some = prop_oneof![Just(0), Just(8usize)];
    some.prop_flat_map(|most| {
        let fingerprints = prop::collection::hash_set(0u64..40, 0..=most);
        let ids = prop::collection::hash_set(0u64..40, 0..=most);
        (fingerprints, ids).prop_map(|(fingerprints, ids)| Left { fingerprints, ids })
    })
}

/// The records of an input as values and numbers.
pub(crate) type Part = Vec<(u64, u64)>;

pub(crate) fn parts() -> impl Strategy<Value = Vec<(Part, Parameters)>> {
    let record = (prop_oneof![0u64..30, any::<u64>()], 0u64..30);
    let part = (prop::collection::vec(record, 0..90), parameters());
    prop::collection::vec(part, 1..5)
}

pub(crate) fn id_kind() -> impl Strategy<Value = IdKind> {
    prop::sample::select(&[IdKind::None, IdKind::Number, IdKind::String][..])
}

pub(crate) fn records<F: Fingerprint>(part: &[(u64, u64)]) -> Vec<Record<F>> {
    part.iter()
        .map(|&(value, id)| (fingerprint(value), id))
        .collect()
}

pub(crate) fn files<F: Fingerprint>(parts: &[(Part, Parameters)], ids: IdKind) -> Vec<Vec<u8>> {
    let file = |(part, parameters): &(Part, Parameters)| {
        build::<F>(&records(part), parameters.options::<F>(), ids)
    };
    parts.iter().map(file).collect()
}

/// Which of the options of a merge are given.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Nothing,
    Tables,
    Distance,
    BlockSize,
}

fn check_tables<F: Fingerprint>(
    parts: &[(Part, Parameters)],
    wanted: Wanted,
    given: &Parameters,
    ids: IdKind,
) {
    let mut options = MergeOptions::default();
    options.codec = given.codec.map_or(MergeCodec::Chosen, MergeCodec::Given);
    let distinct = |part: &Part| {
        let values: HashSet<F> = records(part).iter().map(|r| r.0).collect();
        values.len()
    };
    // Of several the first one.
    let largest = parts.iter().rev().max_by_key(|(part, _)| distinct(part));
    let mut expected: BuildOptions = largest.unwrap().1.options::<F>();
    match wanted {
        Wanted::Nothing => {}
        Wanted::Tables => {
            expected.design = Some(given.design::<F>());
            options.design = expected.design.clone();
            expected.max_distance = given.distance;
        }
        Wanted::Distance => {
            options.max_distance = Some(given.distance);
            expected.design = None;
            expected.max_distance = given.distance;
        }
        Wanted::BlockSize => {
            options.block_size = Some(given.block_size);
            expected.block_size = given.block_size;
        }
    }
    expected.codec = given.codec;
    let all: Vec<Record<F>> = parts.iter().flat_map(|(part, _)| records(part)).collect();
    let mut file = Vec::new();
    let segments = open_set(files::<F>(parts, ids));
    segments.merge(&options, &mut file).unwrap();
    assert!(file == build(&all, expected, ids));
}

/// The records that stay, by the rule read literally.
fn kept(
    parts: &[(Part, Parameters)],
    newest_wins: bool,
    left: &Left,
    left_of: &BTreeMap<usize, Left>,
    ids: IdKind,
) -> Part {
    let mut kept = Part::new();
    for (number, (part, _)) in parts.iter().enumerate() {
        let later = parts[number + 1..].iter().flat_map(|(part, _)| part);
        for record in part {
            let is_replaced = newest_wins && later.clone().any(|other| other.1 == record.1);
            let of_own = left_of
                .get(&number)
                .is_some_and(|left| left.has(record, ids));
            if !is_replaced && !of_own && !left.has(record, ids) {
                kept.push(*record);
            }
        }
    }
    kept
}

fn check_update<F: Fingerprint>(
    parts: &[(Part, Parameters)],
    newest_wins: bool,
    left: &Left,
    left_of: &BTreeMap<usize, Left>,
    ids: IdKind,
) {
    let mut options = MergeOptions::default();
    options.newest_wins = newest_wins;
    options.exclusions = exclusions::<F>(left, ids);
    for (&number, left) in left_of {
        options
            .segment_exclusions
            .insert(number, exclusions::<F>(left, ids));
    }
    let given = &parts[0].1;
    options.design = Some(given.design::<F>());
    options.block_size = Some(128);
    let mut file = Vec::new();
    let segments = open_set(files::<F>(parts, ids));
    let report = segments.merge(&options, &mut file).unwrap();

    let kept = kept(parts, newest_wins, left, left_of, ids);
    let mut expected = given.options::<F>();
    (expected.block_size, expected.codec) = (128, None);
    assert!(file == build(&records::<F>(&kept), expected, ids));
    let all: Part = parts.iter().flat_map(|(part, _)| part.clone()).collect();
    assert_eq!(report.dropped_record_count, (all.len() - kept.len()) as u64);
    let distinct = |part: &Part| -> HashSet<F> { records(part).iter().map(|r| r.0).collect() };
    let dropped = distinct(&all).len() - distinct(&kept).len();
    assert_eq!(report.dropped_fingerprint_count, dropped as u64);
    let unmatched = |left: &Left, part: &Part| {
        let ids = left
            .ids
            .iter()
            .filter(|id| part.iter().all(|r| r.1 != **id));
        let fingerprints = left.fingerprints.iter();
        let fingerprints = fingerprints.filter(|f| part.iter().all(|r| r.0 != **f));
        (ids.count() as u64, fingerprints.count() as u64)
    };
    let counts =
        |unmatched: &simidx::merge::Unmatched| (unmatched.id_count, unmatched.fingerprint_count);
    assert_eq!(counts(&report.unmatched), unmatched(left, &all));
    for (number, left) in left_of {
        let found = &report.unmatched_of_segments[number];
        assert_eq!(
            counts(found),
            unmatched(left, &parts[*number].0),
            "{number}"
        );
    }
    let mut replaced = 0;
    for (number, (part, _)) in parts.iter().enumerate() {
        let is_later = |id: u64| {
            let mut later = parts[number + 1..].iter().flat_map(|(part, _)| part);
            later.any(|other| other.1 == id)
        };
        replaced += part
            .iter()
            .filter(|(_, id)| newest_wins && is_later(*id))
            .count();
    }
    assert_eq!(report.replaced_record_count, replaced as u64);
}

proptest! {
    #[test]
    fn a_merge_of_any_tables_is_the_build_with_the_design(
        parts in parts(),
        wanted in prop::sample::select(
            &[Wanted::Nothing, Wanted::Tables, Wanted::Distance, Wanted::BlockSize][..]
        ),
        given in parameters(),
        ids in id_kind(),
    ) {
        check_tables::<u64>(&parts, wanted, &given, ids);
        check_tables::<u32>(&parts, wanted, &given, ids);
        check_tables::<u128>(&parts, wanted, &given, ids);
    }

    #[test]
    fn an_update_is_the_build_of_what_stays(
        parts in parts(),
        newest_wins in any::<bool>(),
        left in left(),
        left_of in prop::collection::btree_map(0usize..4, left(), 0..3),
        ids in prop::sample::select(&[IdKind::Number, IdKind::String][..]),
    ) {
        let left_of = left_of.into_iter().filter(|(number, _)| *number < parts.len()).collect();
        check_update::<u64>(&parts, newest_wins, &left, &left_of, ids);
        check_update::<u32>(&parts, newest_wins, &left, &left_of, ids);
        check_update::<u128>(&parts, newest_wins, &left, &left_of, ids);
    }

    #[test]
    fn fingerprints_of_single_segments_are_left_out_without_ids(
        parts in parts(),
        left in left(),
        left_of in prop::collection::btree_map(0usize..4, left(), 0..3),
    ) {
        let left_of: BTreeMap<usize, Left> =
            left_of.into_iter().filter(|(number, _)| *number < parts.len()).collect();
        let mut options = MergeOptions::default();
        options.exclusions = exclusions::<u64>(&left, IdKind::None);
        for (&number, left) in &left_of {
            options.segment_exclusions.insert(number, exclusions::<u64>(left, IdKind::None));
        }
        let segments = open_set(files::<u64>(&parts, IdKind::None));
        let mut file = Vec::new();
        let report = segments.merge(&options, &mut file).unwrap();
        let kept = kept(&parts, false, &left, &left_of, IdKind::None);
        let expected: BTreeSet<u64> = records(&kept).iter().map(|r| r.0).collect();
        let merged = simidx_testkit::open::<u64>(file);
        let found = merged.iter().collect::<simidx::Result<Vec<u64>>>().unwrap();
        prop_assert!(found.into_iter().eq(expected));
        let of_part = |part: &Part, f: u64| part.iter().any(|r| r.0 == f);
        for (number, left) in &left_of {
            let missing = left.fingerprints.iter().filter(|f| !of_part(&parts[*number].0, **f));
            let found = &report.unmatched_of_segments[number];
            prop_assert_eq!(found.fingerprint_count, missing.count() as u64);
        }
        let in_any = |f: u64| parts.iter().any(|(part, _)| of_part(part, f));
        let missing = left.fingerprints.iter().filter(|f| !in_any(**f)).count();
        prop_assert_eq!(report.unmatched.fingerprint_count, missing as u64);
    }
}

/// More values than fit the memory, in an order of their own.
pub(crate) fn many(count: u64, seed: u64) -> Vec<Record<u64>> {
    let value = |i: u64| (i ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..count).map(|i| (value(i), i)).collect()
}

#[test]
fn tables_that_large_segments_lack_are_sorted_in_little_memory() {
    let parameters = |tables| Parameters {
        distance: 3,
        tables,
        block_size: 512,
        codec: Some(Codec::EliasFano),
    };
    let parts = [many(1_500_000, 1), many(200_000, 2)];
    let files = [
        build(&parts[0], parameters(1).options::<u64>(), IdKind::None),
        build(&parts[1], parameters(4).options::<u64>(), IdKind::None),
    ];
    let mut options = MergeOptions::default();
    options.memory = simidx::builder::MIN_MEMORY;
    options.design = Some(parameters(4).design::<u64>());
    options.codec = MergeCodec::Given(Codec::EliasFano);
    // Every other one goes, which does not fit either.
    let gone = parts[0].iter().step_by(2);
    gone.for_each(|r| options.exclusions.add_fingerprint(r.0));
    let mut file = Vec::new();
    open_set(files).merge(&options, &mut file).unwrap();
    let kept = parts[0].iter().skip(1).step_by(2).chain(&parts[1]);
    let kept: Vec<Record<u64>> = kept.copied().collect();
    assert!(file == build(&kept, parameters(4).options::<u64>(), IdKind::None));
}

#[test]
fn many_records_are_replaced_in_little_memory() {
    let base = many(700_000, 1);
    let delta: Vec<Record<u64>> = base.iter().step_by(2).map(|r| (!r.0, r.1)).collect();
    let parameters = Parameters {
        distance: 3,
        tables: 2,
        block_size: 512,
        codec: None,
    };
    for ids in [IdKind::Number, IdKind::String] {
        let files = [&base, &delta].map(|records| build(records, parameters.options::<u64>(), ids));
        let mut options = MergeOptions::default();
        options.memory = simidx::builder::MIN_MEMORY;
        options.newest_wins = true;
        let mut file = Vec::new();
        let report = open_set(files).merge(&options, &mut file).unwrap();
        assert_eq!(report.replaced_record_count, delta.len() as u64);
        let old = base.iter().skip(1).step_by(2);
        let kept: Vec<Record<u64>> = old.chain(&delta).copied().collect();
        assert!(
            file == build(&kept, parameters.options::<u64>(), ids),
            "{ids:?}"
        );
    }
}

fn refusal(segments: &Set, options: &MergeOptions) -> String {
    let merged = segments.merge(options, Vec::new());
    merged.unwrap_err().to_string()
}

#[test]
fn options_that_cannot_be_kept_are_refused() {
    let parameters = Parameters {
        distance: 3,
        tables: 2,
        block_size: 512,
        codec: None,
    };
    let file = build(&many(50, 1), parameters.options::<u64>(), IdKind::None);
    let segments = open_set([file]);
    let with = |change: fn(&mut MergeOptions)| {
        let mut options = MergeOptions::default();
        change(&mut options);
        refusal(&segments, &options)
    };
    assert!(with(|o| o.block_size = Some(500)).contains("power of two"));
    assert!(with(|o| o.max_distance = Some(13)).contains("at most 12"));
    assert_eq!(
        with(|o| {
            o.design = Some(TableDesign::with_table_count(Width::W64, 3, 2).unwrap());
            o.max_distance = Some(4);
        }),
        "the table design is for distance 3, not 4"
    );
    assert_eq!(
        with(|o| o.newest_wins = true),
        "which record is the newest is known by ids, and the segments have none"
    );
    assert_eq!(
        with(|o| drop(o.segment_exclusions.insert(1, Exclusions::default()))),
        "there is no segment 1 to leave records out of"
    );
    assert_eq!(
        with(|o| o
            .segment_exclusions
            .entry(0)
            .or_default()
            .add_number(1)
            .unwrap()),
        "records cannot be left out by such ids: the ids are none"
    );
}

#[test]
fn a_delta_is_replaced_while_the_base_stays_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.simidx");
    let parameters = Parameters {
        distance: 3,
        tables: 2,
        block_size: 512,
        codec: None,
    };
    let file =
        |records: &[Record<u64>]| build(records, parameters.options::<u64>(), IdKind::Number);
    std::fs::write(&path, file(&many(2000, 1))).unwrap();
    let base = Arc::new(Index::<u64>::open_in_memory(&path).unwrap());
    let delta = |fingerprint| {
        let path = folder.path().join("delta.simidx");
        std::fs::write(&path, file(&[(fingerprint, 1)])).unwrap();
        Arc::new(Index::<u64>::open_in_memory(&path).unwrap())
    };
    let with = |delta| Set::new([Arc::clone(&base), delta]).unwrap();
    let first = with(delta(1));
    std::fs::remove_file(&path).unwrap();
    let second = with(delta(2));
    for set in [&first, &second] {
        assert!(Arc::ptr_eq(&base, set.index(0).unwrap()));
    }
    // Who still has the first ones goes on with them.
    assert!(first.contains(1u64).unwrap() && !first.contains(2u64).unwrap());
    assert!(second.contains(2u64).unwrap() && !second.contains(1u64).unwrap());
    let of_base = many(2000, 1)[7].0;
    assert!(first.contains(of_base).unwrap() && second.contains(of_base).unwrap());
    drop((first, second));
    assert_eq!(Arc::strong_count(&base), 1);
}
