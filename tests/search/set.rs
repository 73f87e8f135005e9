//! Sets: several files of any width answer as one index of all their records, and as a linear scan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use simidx::batch::{DedupOptions, Deduplicator, JoinOptions, positions_of_all};
use simidx::design::TableDesign;
use simidx::format::FormatError;
use simidx::index::Strategy;
use simidx::set::{Exclusions, Matches, Question, SetFingerprints, SetIds, SetScratch};
use simidx::{
    BuildOptions, Codec, Error, Fingerprint, Fingerprints, Id, IdKind, Index, IndexBuilder, Set,
    Watch, Width,
};
use simidx_testkit::{
    each_id, flipped, hit, matched, open, open_set, options, rng, scan, sorted_set,
};

/// A fingerprint and what makes its id.
type Record<F> = (F, u64);

/// An id that owns itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum OwnedId {
    Number(u64),
    String(String),
}

fn owned(id: Id<'_>) -> OwnedId {
    match id {
        Id::Number(number) => OwnedId::Number(number),
        Id::String(string) => OwnedId::String(string.to_owned()),
    }
}

/// The string id of a record: by bytes in another order than by number.
fn string(number: u64) -> String {
    format!("{number}é")
}

fn ids_read(ids: Result<SetIds<'_>, Error>) -> Vec<OwnedId> {
    let mut read = Vec::new();
    each_id(ids, |id| read.push(owned(id))).unwrap();
    read
}

fn id_of(kind: IdKind, number: u64) -> Option<OwnedId> {
    match kind {
        IdKind::None => None,
        IdKind::Number => Some(OwnedId::Number(number)),
        IdKind::String => Some(OwnedId::String(string(number))),
    }
}

fn build<F: Fingerprint>(
    mut options: BuildOptions,
    kind: IdKind,
    records: &[Record<F>],
) -> Vec<u8> {
    options.ids = kind;
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for &(fingerprint, number) in records {
        match kind {
            IdKind::None => builder.push(fingerprint),
            IdKind::Number => builder.push_with_id(fingerprint, number),
            IdKind::String => builder.push_with_id(fingerprint, &string(number)),
        }
        .unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

/// Options that differ from segment to segment.
fn varied<F: Fingerprint>(number: usize) -> BuildOptions {
    let design = match number % 5 {
        0 => TableDesign::choose_bands(Width::of::<F>(), 3, 5).unwrap(),
        1 => TableDesign::partition(Width::of::<F>(), 3, 1).unwrap(),
        2 => TableDesign::partition(Width::of::<F>(), 2, 2).unwrap(),
        3 => TableDesign::choose_bands(Width::of::<F>(), 1, 2).unwrap(),
        _ => TableDesign::partition(Width::of::<F>(), 8, 3).unwrap(),
    };
    let mut options = options(design, 128 << (number % 3));
    options.codec = Some(Codec::ALL[number % Codec::ALL.len()]);
    options
}

/// Records of groups of near-duplicates, many with the fingerprint of another, some equal in all.
fn records<F: Fingerprint>(count: usize, rng: &mut StdRng) -> Vec<Record<F>> {
    let centres: Vec<F> = (0..count / 6 + 1)
        .map(|_| simidx_testkit::random(rng))
        .collect();
    let record = |_| {
        let centre = *centres.choose(rng).expect("there is a centre");
        let fingerprint = match rng.random_range(0..3) {
            0 => flipped(centre, rng.random_range(1..6), rng),
            _ => centre,
        };
        (fingerprint, rng.random_range(0..count as u64 + 1))
    };
    (0..count).map(record).collect()
}

/// Records dealt out at random; some segments stay empty.
fn deal<F: Fingerprint>(
    records: &[Record<F>],
    segment_count: usize,
    rng: &mut StdRng,
) -> Vec<Vec<Record<F>>> {
    let mut hands = vec![Vec::new(); segment_count];
    for &record in records {
        // The last quarter of the segments gets nothing.
        let hand = rng.random_range(0..segment_count - segment_count / 4);
        hands[hand].push(record);
    }
    hands
}

/// A set, one index of the same records, and the records.
struct Case<F> {
    set: Set,
    whole: Index<F>,
    values: Vec<F>,
    ids: BTreeMap<F, Vec<OwnedId>>,
}

impl<F: Fingerprint> Case<F> {
    fn new(kind: IdKind, count: usize, segment_count: usize, rng: &mut StdRng) -> Self {
        let records = records::<F>(count, rng);
        let shift = rng.random_range(0..5);
        let hands = deal(&records, segment_count, rng).into_iter().enumerate();
        let files = hands.map(|(i, hand)| build(varied::<F>(i + shift), kind, &hand));
        let mut ids: BTreeMap<F, Vec<OwnedId>> = BTreeMap::new();
        for &(fingerprint, number) in &records {
            let of_fingerprint = ids.entry(fingerprint).or_default();
            of_fingerprint.extend(id_of(kind, number));
        }
        ids.values_mut().for_each(|ids| ids.sort());
        Case {
            set: open_set(files),
            whole: open(build(varied::<F>(0), kind, &records)),
            values: ids.keys().copied().collect(),
            ids,
        }
    }

    /// Members, members with flipped bits, and random values.
    fn queries(&self, rng: &mut StdRng) -> Vec<F> {
        let mut queries = vec![F::ZERO, F::MAX, simidx_testkit::random(rng)];
        for flips in 0..12 {
            if let Some(&member) = self.values.choose(rng) {
                queries.push(flipped(member, flips % 5, rng));
            }
        }
        queries
    }

    fn check(&self, kind: IdKind, rng: &mut StdRng) {
        let (set, whole) = (&self.set, &self.whole);
        assert_eq!(set.width(), Width::of::<F>());
        assert_eq!(set.record_count(), whole.record_count());
        assert_eq!(set.is_empty(), whole.is_empty());
        if !whole.is_empty() {
            assert_eq!(set.id_kind(), kind);
        }
        let distances = set.segments().map(|segment| segment.max_distance());
        assert_eq!(Some(set.max_distance()), distances.min());
        self.check_dump();
        let queries = self.queries(rng);
        for distance in [0, 1, 3, 6, F::WIDTH / 2] {
            self.check_queries(&queries, distance);
        }
    }

    fn check_queries(&self, queries: &[F], distance: u32) {
        let mut scratch = SetScratch::new();
        for &query in queries {
            let expected = scan(&self.values, query, distance);
            assert_eq!(
                matched(&self.whole.query(query, distance).unwrap()),
                expected
            );
            for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
                if strategy == Strategy::Probe && distance > 6 {
                    continue;
                }
                scratch.set_strategy(strategy);
                let found = self.set.query_with(&mut scratch, query, distance).unwrap();
                assert_eq!(
                    hit(found.iter()),
                    expected,
                    "{query:x} within {distance}, {strategy:?}"
                );
                for found in found.iter() {
                    assert_eq!(ids_read(found.ids()), self.ids[&found.fingerprint]);
                }
            }
            let one_off = self.set.query(query, distance).unwrap();
            for found in &one_off {
                assert_eq!(ids_read(found.ids()), self.ids[&found.fingerprint]);
            }
            assert_eq!(hit(one_off), expected);
            self.check_member(query);
            self.check_erased(query, distance, &expected);
        }
        self.check_columns(queries, distance);
    }

    fn check_member(&self, fingerprint: F) {
        let expected = self.ids.get(&fingerprint);
        let contained = self.set.contains(fingerprint).unwrap();
        assert_eq!(contained, expected.is_some());
        let ids = ids_read(self.set.ids_of(fingerprint));
        assert_eq!(Some(ids), expected.cloned().or(Some(Vec::new())));
    }

    /// A caller that does not know the width gets the same.
    fn check_erased(&self, query: F, distance: u32, expected: &[(u32, F)]) {
        let (set, value) = (&self.set, query.to_u128());
        let expected: Vec<(u32, u128)> = expected.iter().map(|m| (m.0, m.1.to_u128())).collect();
        let found = set.query(value, distance).unwrap();
        for found in &found {
            let typed = F::from_u128(found.fingerprint);
            assert_eq!(ids_read(found.ids()), self.ids[&typed]);
        }
        assert_eq!(hit(found), expected);
        let nearest = hit(set.nearest(value, 3, distance).unwrap());
        assert_eq!(nearest, expected[..expected.len().min(3)]);
        let typed = set.nearest(query, 3, distance).unwrap();
        let typed = typed.iter().map(|m| (m.distance, m.fingerprint.to_u128()));
        assert!(typed.eq(nearest));
        let near = set.contains_near(value, distance).unwrap();
        assert_eq!(near, !expected.is_empty());
        assert_eq!(set.contains_near(query, distance).unwrap(), near);
        assert_eq!(set.contains(value).unwrap(), set.contains(query).unwrap());
        assert_eq!(ids_read(set.ids_of(value)), ids_read(set.ids_of(query)));
    }

    /// A column whose width is known at run time is answered as the values one by one are.
    fn check_columns(&self, queries: &[F], distance: u32) {
        let mut column = Fingerprints::new(self.set.width());
        queries
            .iter()
            .for_each(|query| column.push(query.to_u128()));
        let mut scratch = SetScratch::new();
        let mut numbers = Vec::new();
        let question = Question::Within(distance);
        let visit = |number: usize, found: Matches<'_, u128>| {
            numbers.push(number);
            let expected = scan(&self.values, queries[number], distance);
            let expected: Vec<(u32, u128)> =
                expected.iter().map(|m| (m.0, m.1.to_u128())).collect();
            assert_eq!(hit(found.iter()), expected);
            Ok(())
        };
        let answered = self
            .set
            .answer_many_with(&mut scratch, &column, question, visit);
        answered.unwrap();
        assert!(numbers.into_iter().eq(0..queries.len()));
    }

    fn check_dump(&self) {
        let mut fingerprints = self.set.fingerprints(0).unwrap();
        assert_eq!(ids_given(&fingerprints), [], "of nothing");
        let mut dump = BTreeMap::new();
        let mut order = Vec::new();
        while let Some(fingerprint) = fingerprints.next() {
            let fingerprint = F::from_u128(fingerprint.unwrap());
            order.push(fingerprint);
            dump.insert(fingerprint, ids_given(&fingerprints));
        }
        assert_eq!(order, self.values);
        assert_eq!(dump, self.ids);
    }
}

fn ids_given(fingerprints: &SetFingerprints<'_>) -> Vec<OwnedId> {
    ids_read(fingerprints.ids())
}

fn check<F: Fingerprint>(kind: IdKind, count: usize, segment_count: usize, seed: u64) {
    let mut rng = rng(seed);
    let case = Case::<F>::new(kind, count, segment_count, &mut rng);
    case.check(kind, &mut rng);
}

const KINDS: [IdKind; 3] = [IdKind::None, IdKind::Number, IdKind::String];

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 60,
        rng_seed: RngSeed::Fixed(0x5e9),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_set_answers_as_one_index_of_all_records(
        kind in prop::sample::select(&KINDS[..]),
        count in prop_oneof![0usize..4, 20usize..400],
        segment_count in 1usize..7,
        seed in any::<u64>(),
    ) {
        check::<u32>(kind, count, segment_count, seed);
        check::<u64>(kind, count, segment_count, seed);
        check::<u128>(kind, count, segment_count, seed);
    }
}

#[test]
fn many_large_segments_answer_as_one_index() {
    check::<u64>(IdKind::String, 20_000, 2, 1);
    check::<u32>(IdKind::Number, 20_000, 30, 2);
}

/// Segments of the same design, each with some of the records.
fn alike(hands: &[&[Record<u64>]]) -> Vec<Index<u64>> {
    let design = TableDesign::choose_bands(Width::W64, 3, 4).unwrap();
    let file = |hand: &&[Record<u64>]| build(options(design.clone(), 128), IdKind::Number, hand);
    hands.iter().map(|hand| open(file(hand))).collect()
}

#[test]
fn every_table_is_merged_where_all_have_the_same_masks() {
    let records = records::<u64>(3000, &mut rng(3));
    let hands = [&records[..1000], &records[500..2500], &[], &records[2500..]];
    let set = Set::new(alike(&hands)).unwrap();
    let all: Vec<Record<u64>> = hands.concat();
    let whole = &alike(&[&all])[0];
    for table in 0..4 {
        let mut merged = set.fingerprints(table).unwrap();
        let mut expected = whole.fingerprints(table).unwrap();
        while let Some(value) = expected.next() {
            let value = value.unwrap();
            assert_eq!(merged.next().unwrap().unwrap(), value.into());
            let mut ids = Vec::new();
            each_id(expected.ids(), |id| ids.push(owned(id))).unwrap();
            assert_eq!(ids_given(&merged), ids);
        }
        assert!(merged.next().is_none());
    }
}

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result.unwrap_err() {
        error @ (Error::Options(_) | Error::Mismatch { .. }) => error.to_string(),
        error => panic!("{error:?}"),
    }
}

#[test]
fn tables_in_different_orders_are_not_merged() {
    let records = records::<u64>(50, &mut rng(4));
    let segment = |bands| {
        let design = TableDesign::choose_bands(Width::W64, 3, bands).unwrap();
        build::<u64>(options(design, 128), IdKind::None, &records)
    };
    let segments = open_set([segment(4), segment(4), segment(5)]);
    assert_eq!(
        segments.fingerprints(0).unwrap().count(),
        sorted_set(&records.iter().map(|r| r.0).collect::<Vec<_>>()).len()
    );
    assert_eq!(
        message(segments.fingerprints(1)),
        "segment 0 and segment 2 differ in the prefix mask of table 1: \
         0xffff00000000 and 0xfff8003ffe000000; merge them to read such a table"
    );
    match segments.fingerprints(4).unwrap_err() {
        Error::Segment { segment, error, .. } => {
            assert_eq!(segment, 0);
            let missing = "there is no table 4, the index has 4, numbered from 0";
            assert_eq!(error.to_string(), missing);
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn segments_of_different_records_are_refused() {
    let segment = |kind, pipeline: Option<&str>, records: &[Record<u64>]| {
        let mut options = BuildOptions::default();
        options.pipeline = pipeline.map(str::to_owned);
        open::<u64>(build(options, kind, records))
    };
    let some = [(1, 2)];
    let refused = |segments: Vec<Index<u64>>| message(Set::new(segments));
    assert_eq!(refused(vec![]), "there is no segment to search");
    let number = || segment(IdKind::Number, None, &some);
    let kinds = "differ in the kind of their ids";
    let ids_again = "build one again with ids like those of the other";
    assert_eq!(
        refused(vec![
            number(),
            number(),
            segment(IdKind::String, None, &some)
        ]),
        format!("segment 0 and segment 2 {kinds}: number and string; {ids_again}")
    );
    // A segment without records goes with any.
    let empty = || segment(IdKind::None, Some("{}"), &[]);
    assert_eq!(
        refused(vec![empty(), number(), segment(IdKind::None, None, &some)]),
        format!("segment 1 and segment 2 {kinds}: number and none; {ids_again}")
    );
    let piped = || segment(IdKind::Number, Some("{}"), &some);
    assert_eq!(
        refused(vec![piped(), number()]),
        "segment 0 and segment 1 differ in their text pipelines: {} and none; \
         build one again from its documents with the pipeline of the other"
    );
    let segments = Set::new(vec![empty(), number(), empty()]).unwrap();
    assert_eq!(
        (segments.id_kind(), segments.pipeline()),
        (IdKind::Number, None)
    );
    assert_eq!(segments.query(1u64, 0).unwrap().len(), 1);
}

/// Segments of which the second has a damaged first block of table 0, and the records of the others.
fn damaged() -> (Set, Vec<u64>, Vec<u64>) {
    let hands: [Vec<Record<u64>>; 3] = [1, 2, 3].map(|start| {
        let fingerprints = (0..200u64).map(|i| (i * 3 + start) << 40);
        fingerprints.map(|f| (f, f)).collect()
    });
    let design = || TableDesign::partition(Width::W64, 3, 1).unwrap();
    let files = hands
        .each_ref()
        .map(|hand| build(options(design(), 128), IdKind::Number, hand));
    let files = files.into_iter().enumerate().map(|(i, mut file)| {
        file[128 + 50] ^= u8::from(i == 1);
        open_set([file]).named(format!("part {i}"))
    });
    let fingerprints = hands.map(|hand| hand.into_iter().map(|r| r.0).collect::<Vec<u64>>());
    let [first, second, third] = fingerprints;
    let segments = Set::new(files).unwrap();
    (segments, second, [first, third].concat())
}

#[track_caller]
fn assert_blamed<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result.unwrap_err() {
        Error::Segment {
            segment,
            name,
            error,
        } => {
            assert_eq!((segment, &*name), (1, "part 1"));
            let damage = |error: &FormatError| (error.rule(), error.block());
            assert!(
                matches!(&*error, Error::Format(error) if damage(error) == (21, Some(0))),
                "{error:?}"
            );
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn an_error_names_the_segment_and_leaves_no_answer() {
    let (segments, second, others) = damaged();
    assert_eq!(segments.names(), ["part 0", "part 1", "part 2"]);
    let mut scratch = SetScratch::new();
    let mut count = |query, distance| {
        let found = segments.query_with(&mut scratch, query, distance)?;
        Ok(found.len())
    };
    assert_eq!(count(others[150], 0).unwrap(), 1);
    assert_blamed(count(second[0], 3));
    assert_blamed(segments.query(second[0], 3));
    assert_blamed(segments.contains(second[0]));
    let mut ids = 0;
    assert_blamed(each_id(segments.ids_of(second[0]), |_| ids += 1));
    assert_eq!(ids, 0);
    assert_eq!(count(others[150], 0).unwrap(), 1);
    let text = segments.query(second[0], 3).unwrap_err().to_string();
    assert!(text.starts_with("part 1: damaged index: "), "{text}");
}

#[test]
fn reading_goes_on_behind_a_damaged_block() {
    let (segments, second, others) = damaged();
    let mut fingerprints = segments.fingerprints(0).unwrap();
    let (mut given, mut errors) = (Vec::new(), 0);
    while let Some(fingerprint) = fingerprints.next() {
        match fingerprint {
            Ok(fingerprint) => given.push(u64::try_from(fingerprint).unwrap()),
            Err(error) => {
                assert_blamed::<()>(Err(error));
                assert_eq!(ids_given(&fingerprints), []);
                errors += 1;
            }
        }
    }
    assert_eq!(errors, 1);
    assert!(given.is_sorted());
    let lost = second.iter().filter(|f| given.binary_search(f).is_err());
    let lost = lost.count();
    assert!(0 < lost && lost < second.len() / 2, "{lost}");
    assert!(others.iter().all(|f| given.binary_search(f).is_ok()));
    assert_eq!(given.len() + lost, second.len() + others.len());
}

#[test]
fn a_fingerprint_that_table_0_of_its_segment_lacks_is_a_fault() {
    // So many that a query probes both tables.
    let records: Vec<Record<u64>> = simidx_testkit::uniform(3000).into_iter().zip(0..).collect();
    let file = build(simidx_testkit::forged::small(), IdKind::Number, &records);
    let mut editor = simidx_testkit::editor::Editor::new(file);
    let forged = simidx_testkit::forged::put_stranger(&mut editor);
    // Another segment that holds it with an id does not hide the fault.
    let good = build(
        simidx_testkit::forged::small(),
        IdKind::Number,
        &[(forged, 7)],
    );
    let segments = open_set([good, editor.finish()]);
    let mut scratch = SetScratch::new();
    let mut ids = Vec::new();
    for (strategy, sound) in [(Strategy::Scan, true), (Strategy::Probe, false)] {
        scratch.set_strategy(strategy);
        ids.clear();
        let found = segments.query_with(&mut scratch, forged, 1).unwrap();
        let found = found.get(0).unwrap();
        assert_eq!((found.fingerprint, found.distance), (forged, 0));
        let read = each_id(found.ids(), |id| ids.push(owned(id)));
        assert_eq!(read.is_ok(), sound);
        let good = [OwnedId::Number(7)];
        assert_eq!(ids, if sound { &good[..] } else { &[] }, "{strategy:?}");
        if let Err(error) = read {
            assert!(
                matches!(&error, Error::Segment { segment: 1, .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains("rule V36"), "{error}");
        }
    }
}

#[test]
fn the_width_of_a_set_is_told_by_its_files() {
    let named = |widths: &[Width]| {
        let sets = widths.iter();
        Set::new(sets.map(|&width| of_width(width).named(format!("{width}.simidx"))))
    };
    for width in Width::ALL {
        for count in 1..3 {
            let set = named(&vec![width; count]).unwrap();
            let figures = (set.width(), set.segment_count(), set.record_count());
            assert_eq!(figures, (width, count, count as u64));
            let typed = [
                set.index::<u32>(0).is_some(),
                set.index::<u64>(0).is_some(),
                set.index::<u128>(0).is_some(),
            ];
            assert_eq!(typed, Width::ALL.map(|other| other == width));
        }
    }
    assert_eq!(message(named(&[])), "there is no segment to search");
    assert_eq!(
        message(named(&[Width::W64, Width::W64, Width::W128])),
        "64.simidx and 128.simidx differ in their width: 64 and 128; \
         fingerprints of different widths cannot be compared"
    );
}

#[test]
fn files_are_opened_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let a = write(
        "a",
        &simidx_testkit::build(BuildOptions::default(), &[1_u64, 2]),
    );
    let b = write(
        "b",
        &simidx_testkit::build(BuildOptions::default(), &[2_u64, 3]),
    );
    let wide = write(
        "wide",
        &simidx_testkit::build(BuildOptions::default(), &[1_u128]),
    );
    let text = write("text", b"no index at all, but as long as one\n");
    type Open = fn([&Path; 2]) -> simidx::Result<Set>;
    let ways: &[Open] = &[
        |paths| Set::open_in_memory(paths),
        #[cfg(feature = "mmap")]
        |paths| Set::open(paths),
    ];
    for open in ways {
        let set = open([&a, &b]).unwrap();
        assert_eq!(set.width(), Width::W64);
        assert_eq!(set.fingerprints(0).unwrap().count(), 3);
        assert_eq!(set.names()[1], b.display().to_string());
        let message = message(open([&a, &wide]));
        for path in [&a, &wide] {
            assert!(message.contains(path.to_str().unwrap()), "{message}");
        }
        let error = open([&a, &text]).unwrap_err();
        assert!(
            matches!(error, Error::Segment { segment: 1, .. }),
            "{error:?}"
        );
        let text = text.display();
        assert!(
            error
                .to_string()
                .starts_with(&format!("{text}: not a simidx file"))
        );
        let missing = folder.path().join("missing");
        let error = open([&a, &missing]).unwrap_err();
        let named = error.to_string().matches("missing").count();
        assert!(matches!(error, Error::Io(_)) && named == 1, "{error}");
    }
}

#[test]
fn many_queries_are_answered_in_order_until_one_fails() {
    let segment = |value| build(varied::<u64>(0), IdKind::None, &[(value, 0), (!0, 0)]);
    let set = open_set([segment(7u64), segment(6)]);
    let mut scratch = SetScratch::new();
    let mut counts = Vec::new();
    let queries = [7u64, !0, 1 << 40];
    let visit = |_, matches: Matches<'_, u128>| {
        let files = matches.iter().map(|hit| hit.segments().len());
        counts.push((matches.len(), files.sum::<usize>()));
        Ok(())
    };
    let question = Question::Within(1);
    let answered = set.answer_many_with(&mut scratch, &queries, question, visit);
    answered.unwrap();
    assert_eq!(counts, [(2, 2), (1, 2), (0, 0)]);
    let mut calls = 0;
    let broken_off = |_, _: Matches<'_, u128>| {
        calls += 1;
        Err(std::io::Error::other("enough").into())
    };
    let answered = set.answer_many_with(&mut scratch, &queries, question, broken_off);
    assert!(answered.is_err());
    assert_eq!(calls, 1);
    // Nothing of it is left.
    assert_eq!(set.query_with(&mut scratch, 7u64, 1).unwrap().len(), 2);
}

#[test]
fn an_index_alone_is_a_set() {
    let index = open::<u64>(build(
        varied::<u64>(0),
        IdKind::Number,
        &[(7u64, 2), (6, 3)],
    ));
    let index = Arc::new(index);
    let set = Set::from(Arc::clone(&index));
    assert_eq!(ids_read(set.ids_of(7u64)), [OwnedId::Number(2)]);
    assert_eq!(set.query(7u64, 3).unwrap().len(), 2);
    assert!(Arc::ptr_eq(&index, set.index(0).unwrap()));
    assert!(set.index::<u64>(1).is_none() && set.segment(1).is_none());
}

#[test]
fn an_error_of_an_index_alone_is_its_own() {
    let (segments, second, _) = damaged();
    let index = Arc::clone(segments.index::<u64>(1).unwrap());
    let alone = Set::from(index);
    assert!(matches!(alone.contains(second[0]), Err(Error::Format(_))));
    // One of several alone keeps its name.
    let only = segments.only(1).unwrap();
    match only.contains(second[0]).unwrap_err() {
        Error::Segment { segment, name, .. } => assert_eq!((segment, &*name), (0, "part 1")),
        error => panic!("{error:?}"),
    }
}

#[test]
fn files_have_the_names_of_their_sets() {
    let index = |value: u64| open::<u64>(build(varied::<u64>(0), IdKind::Number, &[(value, 1)]));
    assert_eq!(Set::from(index(1)).names(), ["the index"]);
    assert_eq!(Set::from(index(1)).named("x").names(), ["x"]);
    let two = Set::new([index(1), index(2)]).unwrap();
    assert_eq!(two.names(), ["segment 0", "segment 1"]);
    let two = two.named("pages");
    assert_eq!(two.names(), ["pages 0", "pages 1"]);
    // Named files keep their names, and the others have their numbers in the new set.
    let four = Set::new([two.clone(), index(3).into(), Set::from(index(4)).named("y")]).unwrap();
    assert_eq!(four.names(), ["pages 0", "pages 1", "segment 2", "y"]);
    let names = four.segments().map(|segment| segment.name());
    assert!(names.eq(four.names()));
    assert_eq!(four.only(1).unwrap().names(), ["pages 1"]);
    assert_eq!(four.only(1).unwrap().record_count(), 1);
    assert!(four.only(1).unwrap().contains(2u64).unwrap());
    let alone = Set::from(index(1));
    assert_eq!(alone.only(0).unwrap().names(), ["the index"]);
    assert_eq!(message(four.only(4)), "there is no segment 4");
}

/// The records with these ids.
fn of_numbers(ids: &[u64]) -> Exclusions {
    let mut exclusions = Exclusions::default();
    ids.iter()
        .for_each(|&id| exclusions.add_number(id).unwrap());
    exclusions
}

#[test]
fn the_set_of_one_file_has_what_was_left_out() {
    let file = |value| build(varied::<u64>(0), IdKind::Number, &[(value, 1)]);
    let left_out = of_numbers(&[1]);
    let live = open_set([file(1u64), file(2)]).without(&left_out).unwrap();
    assert!(!live.contains(2u64).unwrap());
    assert!(live.only(1).unwrap().contains(2u64).unwrap());
}

#[test]
fn sets_are_put_together_before_records_are_left_out() {
    let set = || open_set([build(varied::<u64>(0), IdKind::Number, &[(1u64, 1)])]);
    let left_out = of_numbers(&[1]);
    let live = set().without(&left_out).unwrap();
    assert_eq!(
        message(Set::new([set(), live.clone()])),
        "sets are put together before records are left out of them"
    );
    assert!(Set::new([live]).is_err());
    let both = Set::new([set(), set()]).unwrap();
    let live = both.without(&left_out).unwrap();
    assert!(!live.contains(1u64).unwrap());
}

/// A set of one file of a width, with the fingerprint 1.
fn of_width(width: Width) -> Set {
    let file = match width {
        Width::W32 => simidx_testkit::build(BuildOptions::default(), &[1_u32]),
        Width::W64 => simidx_testkit::build(BuildOptions::default(), &[1_u64]),
        Width::W128 => simidx_testkit::build(BuildOptions::default(), &[1_u128]),
    };
    Set::from_bytes(file).unwrap()
}

/// The width of the set and that of what it was asked with.
#[track_caller]
fn mismatch<T>(result: Result<T, Error>) -> (u32, u32) {
    match result {
        Err(Error::WidthMismatch { index, requested }) => (index, requested),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it is answered"),
    }
}

#[test]
fn values_of_more_bits_are_refused() {
    for (width, bits) in [(Width::W32, 32), (Width::W64, 64)] {
        let set = of_width(width);
        let mut scratch = SetScratch::new();
        let wide = width.max() + 1;
        let expected = (bits, bits + 1);
        assert_eq!(mismatch(set.query(wide, 3)), expected);
        assert_eq!(
            mismatch(set.query_with(&mut scratch, wide, 3).map(|m| m.len())),
            expected
        );
        assert_eq!(mismatch(set.nearest(wide, 1, 3)), expected);
        assert_eq!(mismatch(set.contains(wide)), expected);
        assert_eq!(mismatch(set.contains_near(wide, 3)), expected);
        assert_eq!(mismatch(set.ids_of(wide)), expected);
        assert_eq!(mismatch(set.contains(u128::MAX)), (bits, 128));
        // The largest one is a fingerprint, and the scratch answers on.
        assert!(set.query(width.max(), 3).unwrap().is_empty());
        let found = set.query_with(&mut scratch, 1u128, 3).unwrap();
        assert_eq!(hit(found.iter()), [(0, 1)]);
    }
    let set = of_width(Width::W32);
    assert_eq!(mismatch(set.query(1u64 << 40, 3)), (32, 41));
    assert_eq!(hit(set.query(1u64, 3).unwrap()), [(0, 1u64)]);
}

#[test]
fn errors_of_files_name_them_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    std::fs::write(&path, "no index").unwrap();
    let name = path.display().to_string();
    for opened in [
        #[cfg(feature = "mmap")]
        Set::map_file(&path),
        Set::read_file(&path),
        #[cfg(feature = "mmap")]
        Set::open([&path]),
        Set::open_in_memory([&path]),
    ] {
        let error = opened.unwrap_err().to_string();
        assert_eq!(error.matches(&name).count(), 1, "{error}");
    }
}

#[test]
fn a_type_that_is_too_narrow_for_the_answers_is_refused() {
    let set = of_width(Width::W64);
    let mut scratch = SetScratch::new();
    assert_eq!(mismatch(set.query(1u32, 3)), (64, 32));
    assert_eq!(mismatch(set.nearest(1u32, 1, 3)), (64, 32));
    let narrow = set.answer_with(&mut scratch, 1u32, Question::Within(3));
    assert_eq!(mismatch(narrow.map(|m| m.len())), (64, 32));
    assert_eq!(mismatch(of_width(Width::W128).query(1u64, 3)), (128, 64));
    // Where no fingerprints are given back any value will do.
    assert!(set.contains(1u32).unwrap() && set.contains_near(3u32, 1).unwrap());
    let mut dedup = Deduplicator::new(Width::W32, &DedupOptions::default());
    assert_eq!(mismatch(dedup.exclude(&set)), (64, 32));
}

#[test]
fn columns_of_another_width_are_refused() {
    let columns = [
        Fingerprints::W32(vec![1]),
        Fingerprints::W64(vec![1]),
        Fingerprints::W128(vec![1]),
    ];
    for width in Width::ALL {
        let set = of_width(width);
        for column in columns.iter().filter(|column| column.width() != width) {
            let expected = (width.bits(), column.width().bits());
            let question = Question::Within(3);
            let answered =
                set.answer_many_with(&mut SetScratch::new(), column, question, |_, _| {
                    panic!("a query of another width")
                });
            assert_eq!(mismatch(answered), expected);
            let all = set.answer_all(column, question, &Watch::default());
            assert_eq!(mismatch(all), expected);
            let near = set.contains_all(column, 3, &Watch::default());
            assert_eq!(mismatch(near), expected);
            let ids = set.ids_of_all(column, &Watch::default());
            assert_eq!(mismatch(ids), expected);
            let positions = positions_of_all(&set, column, &Watch::default());
            assert_eq!(mismatch(positions), expected);
            let joined = set.join(column, &JoinOptions::default(), |_, _| Ok(()));
            assert_eq!(mismatch(joined), expected);
        }
    }
}

#[test]
fn one_scratch_serves_sets_of_all_widths() {
    fn check<F: Fingerprint>(scratch: &mut SetScratch) {
        let values = simidx_testkit::uniform::<F>(2000);
        let set = open_set([simidx_testkit::build(varied::<F>(0), &values)]);
        let query = values[7] ^ F::from_u128(1);
        let found = set.query_with(scratch, query, 1).unwrap();
        assert_eq!(hit(found.iter()), [(1, values[7])]);
        // How queries are answered stays as it was said.
        assert!(scratch.stats().candidates >= 2000);
    }
    let mut scratch = SetScratch::new();
    scratch.set_strategy(Strategy::Scan);
    for _ in 0..2 {
        check::<u32>(&mut scratch);
        check::<u64>(&mut scratch);
        check::<u128>(&mut scratch);
    }
}

#[test]
fn hits_keep_the_ids_of_all_files() {
    let file = |records: &[Record<u64>]| build(varied::<u64>(0), IdKind::Number, records);
    let set = open_set([
        file(&[(7, 5), (7, 1), (6, 9)]),
        file(&[(1 << 40, 3)]),
        file(&[(7, 5), (7, 4), (6, 8)]),
    ]);
    let numbers = |ids: &[u64]| ids.iter().copied().map(OwnedId::Number).collect::<Vec<_>>();
    let mut found = set.query(7u64, 1).unwrap();
    found.extend(set.query(1u64 << 40, 0).unwrap());
    let ids: Vec<_> = found.iter().map(|hit| ids_read(hit.ids())).collect();
    assert_eq!(ids, [&[1, 4, 5, 5][..], &[8, 9], &[3]].map(numbers));
    let files: Vec<Vec<usize>> = found.iter().map(|hit| hit.segments().collect()).collect();
    assert_eq!(files, [&[0, 2][..], &[0, 2], &[1]]);

    // Excluded records are not among them, and a file without other records does not hold the fingerprint.
    let live = set.without_from(0, &of_numbers(&[5])).unwrap();
    let live = live.without_from(2, &of_numbers(&[8])).unwrap();
    let found = live.nearest(7u64, 2, 64).unwrap();
    let ids: Vec<_> = found.iter().map(|hit| ids_read(hit.ids())).collect();
    assert_eq!(ids, [&[1, 4, 5][..], &[9]].map(numbers));
    let files: Vec<Vec<usize>> = found.iter().map(|hit| hit.segments().collect()).collect();
    assert_eq!(files, [&[0, 2][..], &[0]]);
}

#[test]
fn what_is_left_out_of_one_file_is_near_to_nothing() {
    let file = |records: &[Record<u64>]| build(varied::<u64>(0), IdKind::Number, records);
    let set = open_set([file(&[(7, 1), (6, 2), (0xff00, 3)]), file(&[(7, 1)])]);
    let without = |segment, ids| set.clone().without_from(segment, &of_numbers(ids)).unwrap();
    let near = |set: &Set, query: u64| {
        [0, 1, 2].map(|distance| {
            let near = set.contains_near(query, distance).unwrap();
            let all = set
                .contains_all(&[query], distance, &Watch::default())
                .unwrap();
            assert_eq!(all, [near]);
            near
        })
    };
    assert_eq!(near(&set, 7), [true; 3]);
    // The other file holds it too.
    assert_eq!(near(&without(0, &[1, 2]), 7), [true; 3]);
    assert_eq!(near(&without(1, &[1]), 7), [true; 3]);
    // The next one is as near as is asked for.
    let live = without(0, &[1]).without_from(1, &of_numbers(&[1])).unwrap();
    assert_eq!(near(&live, 7), [false, true, true]);
    let live = without(0, &[1, 2])
        .without_from(1, &of_numbers(&[1]))
        .unwrap();
    assert_eq!(near(&live, 7), [false; 3]);
    assert_eq!(near(&live, 0xff00), [true; 3]);
    assert_eq!(near(&live, 0xff03), [false, false, true]);
    let mut scratch = SetScratch::new();
    assert!(!live.contains_near_with(&mut scratch, 7u64, 2).unwrap());
    // The first file is searched again for what takes the place of the hidden ones, and holds 0xff00 only.
    assert!(live.contains_near_with(&mut scratch, 7u64, 64).unwrap());
}
