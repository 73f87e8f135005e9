//! Segments: several indexes answer as one index of all their records, and as a linear scan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use simidx::design::TableDesign;
use simidx::format::FormatError;
use simidx::index::Strategy;
use simidx::segments::{
    AnySegments, Question, SegmentFingerprints, SegmentMatches, SegmentScratch, Segments,
};
use simidx::{
    AnyIndex, BuildOptions, Codec, Error, Fingerprint, Id, IdKind, Index, IndexBuilder, Match,
    Storage,
};
use simidx_testkit::{each_id, flipped, open, options, rng, scan, sorted_set};

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

fn id_of(kind: IdKind, number: u64) -> Option<OwnedId> {
    match kind {
        IdKind::None => None,
        IdKind::Number => Some(OwnedId::Number(number)),
        IdKind::String => Some(OwnedId::String(string(number))),
    }
}

fn build<F: Fingerprint>(
    mut options: BuildOptions<F>,
    kind: IdKind,
    records: &[Record<F>],
) -> Vec<u8> {
    options.ids = kind;
    let mut builder = IndexBuilder::new(options).unwrap();
    for &(fingerprint, number) in records {
        match kind {
            IdKind::None => builder.push(fingerprint),
            IdKind::Number => builder.push_with_number(fingerprint, number),
            IdKind::String => builder.push_with_string(fingerprint, &string(number)),
        }
        .unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

/// Options that differ from segment to segment.
fn varied<F: Fingerprint>(number: usize) -> BuildOptions<F> {
    let design = match number % 5 {
        0 => TableDesign::choose_bands(3, 5).unwrap(),
        1 => TableDesign::partition(3, 1).unwrap(),
        2 => TableDesign::partition(2, 2).unwrap(),
        3 => TableDesign::choose_bands(1, 2).unwrap(),
        _ => TableDesign::partition(8, 3).unwrap(),
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

/// Segments, one index of the same records, and the records.
struct Case<F> {
    segments: Segments<F>,
    whole: Index<F>,
    set: Vec<F>,
    ids: BTreeMap<F, Vec<OwnedId>>,
}

impl<F: Fingerprint> Case<F> {
    fn new(kind: IdKind, count: usize, segment_count: usize, rng: &mut StdRng) -> Self {
        let records = records::<F>(count, rng);
        let shift = rng.random_range(0..5);
        let hands = deal(&records, segment_count, rng).into_iter().enumerate();
        let segments = hands.map(|(i, hand)| open(build(varied(i + shift), kind, &hand)));
        let mut ids: BTreeMap<F, Vec<OwnedId>> = BTreeMap::new();
        for &(fingerprint, number) in &records {
            let of_fingerprint = ids.entry(fingerprint).or_default();
            of_fingerprint.extend(id_of(kind, number));
        }
        ids.values_mut().for_each(|ids| ids.sort());
        Case {
            segments: Segments::new(segments.collect()).unwrap(),
            whole: open(build(varied(0), kind, &records)),
            set: ids.keys().copied().collect(),
            ids,
        }
    }

    /// Members, members with flipped bits, and random values.
    fn queries(&self, rng: &mut StdRng) -> Vec<F> {
        let mut queries = vec![F::ZERO, F::MAX, simidx_testkit::random(rng)];
        for flips in 0..12 {
            if let Some(&member) = self.set.choose(rng) {
                queries.push(flipped(member, flips % 5, rng));
            }
        }
        queries
    }

    fn check(&self, kind: IdKind, rng: &mut StdRng) {
        let (segments, whole) = (&self.segments, &self.whole);
        assert_eq!(segments.record_count(), whole.record_count());
        assert_eq!(segments.is_empty(), whole.is_empty());
        if !whole.is_empty() {
            assert_eq!(segments.id_kind(), kind);
        }
        let distances = segments.segments().iter().map(|index| index.max_distance());
        assert_eq!(Some(segments.max_distance()), distances.min());
        self.check_dump();
        let queries = self.queries(rng);
        for distance in [0, 1, 3, 6, F::WIDTH / 2] {
            self.check_queries(&queries, distance);
        }
    }

    fn check_queries(&self, queries: &[F], distance: u32) {
        let mut searcher = self.segments.searcher();
        for &query in queries {
            let expected = scan(&self.set, query, distance);
            assert_eq!(pairs(&self.whole.query(query, distance).unwrap()), expected);
            for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
                if strategy == Strategy::Probe && distance > 6 {
                    continue;
                }
                searcher.set_strategy(strategy);
                let found = places(searcher.query(query, distance).unwrap());
                assert_eq!(found, expected, "{query:x} within {distance}, {strategy:?}");
                assert_eq!(places(searcher.matches()), expected);
                for found in searcher.matches() {
                    let mut ids = Vec::new();
                    each_id(searcher.ids(&found), |id| ids.push(owned(id))).unwrap();
                    assert_eq!(ids, self.ids[&found.fingerprint]);
                }
            }
            let one_off = pairs(&self.segments.query(query, distance).unwrap());
            assert_eq!(one_off, expected);
            self.check_member(query);
        }
    }

    fn check_member(&self, fingerprint: F) {
        let expected = self.ids.get(&fingerprint);
        let contained = self.segments.contains(fingerprint).unwrap();
        assert_eq!(contained, expected.is_some());
        let mut ids = Vec::new();
        let visit = |id: Id<'_>| ids.push(owned(id));
        each_id(self.segments.ids_of(fingerprint), visit).unwrap();
        assert_eq!(Some(ids), expected.cloned().or(Some(Vec::new())));
    }

    fn check_dump(&self) {
        let mut fingerprints = self.segments.fingerprints(0).unwrap();
        let unread = each_id(fingerprints.ids(), |id| panic!("{id} of nothing"));
        unread.unwrap();
        let mut dump = BTreeMap::new();
        let mut order = Vec::new();
        while let Some(fingerprint) = fingerprints.next() {
            let fingerprint = fingerprint.unwrap();
            order.push(fingerprint);
            dump.insert(fingerprint, ids_given(&fingerprints));
        }
        assert_eq!(order, self.set);
        assert_eq!(dump, self.ids);
    }
}

fn ids_given<F: Fingerprint>(fingerprints: &SegmentFingerprints<'_, F>) -> Vec<OwnedId> {
    let mut ids = Vec::new();
    let visit = |id: Id<'_>| ids.push(owned(id));
    each_id(fingerprints.ids(), visit).unwrap();
    ids
}

fn places<F: Fingerprint>(matches: SegmentMatches<'_, F>) -> Vec<(u32, F)> {
    matches
        .iter()
        .map(|m| (m.distance, m.fingerprint))
        .collect()
}

fn pairs<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    let pairs = matches.iter().map(|m| (m.distance, m.fingerprint));
    pairs.collect()
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
    fn segments_answer_as_one_index_of_all_records(
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
    let design = TableDesign::choose_bands(3, 4).unwrap();
    let file = |hand: &&[Record<u64>]| build(options(design.clone(), 128), IdKind::Number, hand);
    hands.iter().map(|hand| open(file(hand))).collect()
}

#[test]
fn every_table_is_merged_where_all_have_the_same_masks() {
    let records = records::<u64>(3000, &mut rng(3));
    let hands = [&records[..1000], &records[500..2500], &[], &records[2500..]];
    let segments = Segments::new(alike(&hands)).unwrap();
    let all: Vec<Record<u64>> = hands.concat();
    let whole = &alike(&[&all])[0];
    for table in 0..4 {
        let mut merged = segments.fingerprints(table).unwrap();
        let mut expected = whole.fingerprints(table).unwrap();
        while let Some(value) = expected.next_permuted() {
            let value = value.unwrap();
            assert_eq!(merged.next_permuted().unwrap().unwrap(), value);
            assert_eq!(merged.invert(value), expected.invert(value));
            let mut ids = Vec::new();
            each_id(expected.ids(), |id| ids.push(owned(id))).unwrap();
            assert_eq!(ids_given(&merged), ids);
        }
        assert!(merged.next_permuted().is_none());
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
        let design = TableDesign::choose_bands(3, bands).unwrap();
        open::<u64>(build(options(design, 128), IdKind::None, &records))
    };
    let segments = Segments::new(vec![segment(4), segment(4), segment(5)]).unwrap();
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
            let missing = "there is no table 4, the index has 4";
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
    let refused = |segments| message(Segments::<u64>::new(segments));
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
    let segments = Segments::new(vec![empty(), number(), empty()]).unwrap();
    assert_eq!(
        (segments.id_kind(), segments.pipeline()),
        (IdKind::Number, None)
    );
    assert_eq!(segments.query(1, 0).unwrap().len(), 1);
}

/// Segments of which the second has a damaged first block of table 0, and the records of the others.
fn damaged() -> (Segments<u64>, Vec<u64>, Vec<u64>) {
    let hands: [Vec<Record<u64>>; 3] = [1, 2, 3].map(|start| {
        let fingerprints = (0..200u64).map(|i| (i * 3 + start) << 40);
        fingerprints.map(|f| (f, f)).collect()
    });
    let design = || TableDesign::partition(3, 1).unwrap();
    let files = hands
        .each_ref()
        .map(|hand| build(options(design(), 128), IdKind::Number, hand));
    let files = files.into_iter().enumerate().map(|(i, mut file)| {
        file[128 + 50] ^= u8::from(i == 1);
        (format!("part {i}"), open(file))
    });
    let fingerprints = hands.map(|hand| hand.into_iter().map(|r| r.0).collect::<Vec<u64>>());
    let [first, second, third] = fingerprints;
    let segments = Segments::with_names(files.collect()).unwrap();
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
    let mut searcher = segments.searcher();
    assert_eq!(searcher.query(others[150], 0).unwrap().len(), 1);
    assert_blamed(searcher.query(second[0], 3).map(|found| found.len()));
    assert!(searcher.matches().is_empty());
    assert_blamed(segments.query(second[0], 3));
    assert_blamed(segments.contains(second[0]));
    let mut ids = 0;
    assert_blamed(each_id(segments.ids_of(second[0]), |_| ids += 1));
    assert_eq!(ids, 0);
    assert_eq!(searcher.query(others[150], 0).unwrap().len(), 1);
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
            Ok(fingerprint) => given.push(fingerprint),
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
    let last = editor.layout.tables[1].block_count - 1;
    let mut values = simidx_testkit::forged::values_of(&editor, 1, last);
    let end = values.len() - 1;
    values[end] ^= 1;
    editor.put_values(1, last, &values);
    // The halves are swapped in table 1.
    let forged = u64::try_from(values[end]).unwrap().rotate_right(32);
    // That another segment holds it with an id does not make up for the fault.
    let good = build(
        simidx_testkit::forged::small(),
        IdKind::Number,
        &[(forged, 7)],
    );
    let segments = Segments::new(vec![open(good), open(editor.finish())]).unwrap();
    let mut searcher = segments.searcher();
    let mut ids = Vec::new();
    for (strategy, sound) in [(Strategy::Scan, true), (Strategy::Probe, false)] {
        searcher.set_strategy(strategy);
        ids.clear();
        let found = searcher.query(forged, 1).unwrap().get(0).unwrap();
        assert_eq!((found.fingerprint, found.distance), (forged, 0));
        let read = each_id(segments.ids(&found), |id| ids.push(owned(id)));
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
fn segments_of_any_width_are_told_by_their_files() {
    let index = |width| {
        let file = match width {
            32 => simidx_testkit::build(BuildOptions::<u32>::default(), &[1]),
            64 => simidx_testkit::build(BuildOptions::<u64>::default(), &[1]),
            _ => simidx_testkit::build(BuildOptions::<u128>::default(), &[1]),
        };
        AnyIndex::from_bytes(Storage::from(file)).unwrap()
    };
    let names = |widths: &[u32]| {
        let named = widths.iter().map(|&w| (format!("{w}.simidx"), index(w)));
        AnySegments::with_names(named.collect())
    };
    assert!(matches!(names(&[32, 32]), Ok(AnySegments::W32(s)) if s.record_count() == 2));
    assert!(matches!(names(&[64]), Ok(AnySegments::W64(s)) if s.record_count() == 1));
    assert!(matches!(names(&[128, 128]), Ok(AnySegments::W128(s)) if s.record_count() == 2));
    assert_eq!(message(names(&[])), "there is no segment to search");
    assert_eq!(
        message(names(&[64, 64, 128])),
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
        &simidx_testkit::build(BuildOptions::<u64>::default(), &[1, 2]),
    );
    let b = write(
        "b",
        &simidx_testkit::build(BuildOptions::<u64>::default(), &[2, 3]),
    );
    let wide = write(
        "wide",
        &simidx_testkit::build(BuildOptions::<u128>::default(), &[1]),
    );
    let text = write("text", b"no index at all, but as long as one\n");
    type Open = fn([&Path; 2]) -> simidx::Result<AnySegments>;
    let ways: &[Open] = &[
        |paths| AnySegments::open_in_memory(paths),
        #[cfg(feature = "mmap")]
        |paths| AnySegments::open(paths),
    ];
    for open in ways {
        let AnySegments::W64(segments) = open([&a, &b]).unwrap() else {
            panic!("the files have 64 bits");
        };
        assert_eq!(segments.fingerprints(0).unwrap().count(), 3);
        assert_eq!(segments.names()[1], b.display().to_string());
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
fn after_many_queries_the_scratch_has_no_answer() {
    let segment = |value| open::<u64>(build(varied(0), IdKind::None, &[(value, 0), (!0, 0)]));
    let segments = Segments::new(vec![segment(7u64), segment(6)]).unwrap();
    let mut scratch = SegmentScratch::new();
    let mut counts = Vec::new();
    let queries = [7, !0, 1 << 40];
    let visit = |_, matches: SegmentMatches<'_, u64>| {
        counts.push((
            matches.len(),
            matches.iter().map(|m| m.places().len()).sum(),
        ));
        Ok(())
    };
    let question = Question::Within(1);
    segments
        .answer_many_with(&mut scratch, &queries, question, visit)
        .unwrap();
    assert_eq!(counts, [(2, 2), (1, 2), (0, 0)]);
    assert!(scratch.matches().is_empty());
    let broken_off = |_, _: SegmentMatches<'_, u64>| Err(std::io::Error::other("enough").into());
    assert!(
        segments
            .answer_many_with(&mut scratch, &queries, question, broken_off)
            .is_err()
    );
    assert!(scratch.matches().is_empty());
}

#[test]
fn a_match_of_other_segments_has_no_ids_here() {
    let segment = |value| open::<u64>(build(varied(0), IdKind::Number, &[(value, 1)]));
    let both = Segments::new(vec![segment(1u64), segment(7)]).unwrap();
    let one = Segments::new(vec![segment(1u64)]).unwrap();
    let mut scratch = SegmentScratch::new();
    let found = both.query_with(&mut scratch, 7, 0).unwrap();
    let found = found.get(0).unwrap();
    assert!(matches!(one.ids(&found), Err(Error::Options(_))));
}

#[test]
fn an_index_alone_is_a_segment() {
    let index = open::<u64>(build(varied(0), IdKind::Number, &[(7u64, 2), (6, 3)]));
    let index = Arc::new(index);
    let segments = Segments::from(Arc::clone(&index));
    let mut ids = Vec::new();
    each_id(segments.ids_of(7), |id| ids.push(owned(id))).unwrap();
    assert_eq!(ids, [OwnedId::Number(2)]);
    assert_eq!(segments.query(7, 3).unwrap().len(), 2);
    assert!(Arc::ptr_eq(&index, &segments.segments()[0]));
}

#[test]
fn an_error_of_an_index_alone_is_its_own() {
    let (segments, second, _) = damaged();
    let alone = Segments::from(Arc::clone(&segments.segments()[1]));
    assert!(matches!(alone.contains(second[0]), Err(Error::Format(_))));
}
