//! Damaged files: every flipped bit, every other length and random bytes under right checksums give an
//! error or the right answer, never a panic, and a full check finds each accident.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::editor::Editor;
use common::repair::repair;
use common::{build, build_numbers, build_strings, flipped, options, rng, scan, sorted_set};
use counting::most_held;
use rand::RngExt;
use simidx::{
    BuildOptions, ClusterOptions, Codec, Error, Fingerprint, FormatError, Id, Index, MergeOptions,
    PairOptions, ScanOptions, ScanStrategy, Segments, Strategy, TableDesign,
};

/// A query and its answer.
struct Question<F> {
    query: F,
    distance: u32,
    expected: Vec<(u32, F)>,
}

/// A good file and what it must answer.
struct Sample<F> {
    name: String,
    file: Vec<u8>,
    set: Vec<F>,
    /// The ids of each member, as text.
    ids: Vec<Vec<String>>,
    questions: Vec<Question<F>>,
}

impl<F: Fingerprint> Sample<F> {
    fn new(kind: &str, file: Vec<u8>, fingerprints: &[F]) -> Self {
        let set = sorted_set(fingerprints);
        let index = common::open::<F>(file.clone());
        assert!(index.verify().is_sound());
        let codec = index.summary().tables[0].codec.name();
        let tables = index.table_count();
        let name = format!("{} bits, {codec}, {tables} tables, {kind}", F::WIDTH);
        let mut rng = rng(3);
        let mut questions = Vec::new();
        for distance in 0..=2 {
            for query in [set[0], flipped(set[set.len() / 2], 1, &mut rng), F::MAX] {
                questions.push(Question {
                    query,
                    distance,
                    expected: scan(&set, query, distance),
                });
            }
        }
        let ids = set.iter().map(|&f| ids_of(&index, f).unwrap()).collect();
        Sample {
            name,
            file,
            set,
            ids,
            questions,
        }
    }

    /// Asks an index everything; an answer must be right, an error be one of the format.
    fn ask<D: AsRef<[u8]>>(&self, index: &Index<F, D>, what: &str) {
        let mut searcher = index.searcher();
        for strategy in [Strategy::Probe, Strategy::Scan] {
            searcher.set_strategy(strategy);
            for question in &self.questions {
                let result = searcher.query(question.query, question.distance);
                if let Some(found) = answer(result, what) {
                    let found: Vec<(u32, F)> =
                        found.iter().map(|m| (m.distance, m.fingerprint)).collect();
                    assert_eq!(found, question.expected, "{what}");
                } else {
                    assert_eq!(searcher.matches(), [], "{what}: half of an answer");
                }
            }
        }
        for (&member, expected) in self.set.iter().zip(&self.ids) {
            let contained = answer(index.contains(member), what);
            assert!(contained != Some(false), "{what}: {member:x} is gone");
            if let Some(ids) = answer(ids_of(index, member), what) {
                assert_eq!(&ids, expected, "{what}");
            }
        }
        for table in 0..index.table_count() {
            let (mut found, mut complete) = (Vec::new(), true);
            let mut all = index.fingerprints(table).unwrap();
            while let Some(fingerprint) = all.next() {
                let Some(fingerprint) = answer(fingerprint, what) else {
                    complete = false;
                    continue;
                };
                found.push(fingerprint);
                let mut ids = Vec::new();
                let read = all.for_each_id(|id| ids.push(id_text(id)));
                if answer(read, what).is_some() {
                    let place = self.set.binary_search(&fingerprint);
                    assert!(place.is_ok_and(|place| ids == self.ids[place]), "{what}");
                }
            }
            found.sort_unstable();
            if complete {
                assert_eq!(found, self.set, "{what}, table {table}");
            }
            assert!(
                found.iter().all(|f| self.set.contains(f)),
                "{what}, table {table}"
            );
        }
    }
}

/// An answer if there is one; an error must be of the format.
fn answer<T>(result: Result<T, Error>, what: &str) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Format(error)) => {
            assert!((1..=36).contains(&error.rule), "{what}: {error}");
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

fn ids_of<F: Fingerprint, D: AsRef<[u8]>>(
    index: &Index<F, D>,
    fingerprint: F,
) -> Result<Vec<String>, Error> {
    let mut ids = Vec::new();
    index.for_each_id(fingerprint, |id| ids.push(id_text(id)))?;
    Ok(ids)
}

/// An id as a text that tells its kind.
fn id_text(id: Id<'_>) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::String(string) => format!("\"{string}\""),
    }
}

/// Kinds of ids, as [`sample`] makes them.
const KINDS: [&str; 5] = [
    "no ids",
    "a pipeline",
    "numbers",
    "grouped numbers",
    "grouped strings",
];

/// Small files of one width: every codec with every kind of ids in two tables, and a third of these again in one table
/// and in the four of two levels of bands, so that over the widths every combination comes up.
fn samples<F: Fingerprint>() -> Vec<Sample<F>> {
    let mut samples = Vec::new();
    for (c, codec) in Codec::ALL.into_iter().enumerate() {
        for (k, kind) in KINDS.into_iter().enumerate() {
            let designs = [
                TableDesign::partition(1, 1),
                TableDesign::two_level_bands(1),
                TableDesign::choose_bands(1, 2),
            ];
            let more = (c + k + F::WIDTH.ilog2() as usize) % 3;
            for (d, design) in designs.into_iter().enumerate() {
                if d == 2 || d == more {
                    samples.push(sample(design.unwrap(), codec, kind));
                }
            }
        }
    }
    samples
}

/// A small file; some of its fingerprints have several records.
fn sample<F: Fingerprint>(design: TableDesign<F>, codec: Codec, kind: &str) -> Sample<F> {
    let mut options: BuildOptions<F> = options(design, 128);
    options.codec = Some(codec);
    let mut fingerprints: Vec<F> = common::clustered(30);
    fingerprints.extend_from_within(..8);
    fingerprints.extend_from_within(..4);
    let set = sorted_set(&fingerprints);
    let numbers: Vec<(F, u64)> = fingerprints.iter().copied().zip(1000..).collect();
    let file = match kind {
        "no ids" => build(options, &fingerprints),
        "a pipeline" => {
            options.pipeline = Some("{\"n\":3}".into());
            return Sample::new(kind, build(options, &set[..3]), &set[..3]);
        }
        "numbers" => {
            let ids = [3, 70_000, 9].into_iter().cycle();
            let single: Vec<(F, u64)> = set.iter().copied().zip(ids).collect();
            build_numbers(options, &single)
        }
        "grouped numbers" => build_numbers(options, &numbers),
        _ => {
            let string = |&(f, id): &(F, u64)| (f, format!("é{id}"));
            build_strings(options, &numbers.iter().map(string).collect::<Vec<_>>())
        }
    };
    Sample::new(kind, file, &set)
}

/// What came of the damages of one kind to a sample.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    tried: usize,
    found: usize,
    /// Those of the found that kept the file from being opened.
    at_open: usize,
    /// The most bytes that were held while a file was opened, read and checked.
    most_held: usize,
}

/// Bytes that may be held beside a multiple of the length of the file: the tables of codes and what is worked out for
/// queries.
const HELD_ANYWAY: usize = 1 << 18;

/// Most bytes held for each byte of the file.
const HELD_FOR_A_BYTE: usize = 16;

impl Tally {
    /// Opens a damaged file, asks it everything and checks it in full.
    fn note<F: Fingerprint>(&mut self, sample: &Sample<F>, file: &[u8], what: &str) {
        let (at_open, most) = most_held(|| {
            let Some(index) = answer(Index::<F, _>::from_bytes(file), what) else {
                return true;
            };
            sample.ask(&index, what);
            let report = index.verify();
            assert!(!report.is_sound(), "{what}: not found");
            assert_eq!(report.problems.len() as u64, report.problem_count.min(20));
            false
        });
        let limit = HELD_ANYWAY + HELD_FOR_A_BYTE * file.len();
        assert!(most <= limit, "{what}: {most} bytes held");
        self.tried += 1;
        self.found += 1;
        self.at_open += usize::from(at_open);
        self.most_held = self.most_held.max(most);
    }

    /// Refuses a file when it is opened.
    fn note_refusal<F: Fingerprint>(&mut self, file: &[u8], what: &str) {
        self.tried += 1;
        let (opened, most) = most_held(|| answer(Index::<F, _>::from_bytes(file), what).is_some());
        assert!(!opened, "{what}: opened");
        assert!(most <= 1 << 12, "{what}: {most} bytes held");
        self.found += 1;
        self.at_open += 1;
    }
}

/// Every bit in turn.
fn flips<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    let mut file = sample.file.clone();
    for bit in 0..file.len() * 8 {
        file[bit / 8] ^= 0x80 >> (bit % 8);
        tally.note(sample, &file, &format!("{}, bit {bit}", sample.name));
        file[bit / 8] ^= 0x80 >> (bit % 8);
    }
    assert_eq!(file, sample.file);
    assert_eq!(tally.tried, file.len() * 8);
    tally
}

/// Every shorter length.
fn truncations<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    for len in 0..sample.file.len() {
        let what = format!("{}, cut to {len} bytes", sample.name);
        tally.note_refusal::<F>(&sample.file[..len], &what);
    }
    tally
}

/// 1 to 64 bytes more: zeros, ones, random ones and its own, behind the file, before it, and behind it with as many lost
/// before it.
fn extensions<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    let mut rng = rng(64);
    let file = &sample.file[..];
    for more in 1..=64 {
        let random: Vec<u8> = (0..more).map(|_| rng.random()).collect();
        let own_end = file[file.len() - more..].to_vec();
        for (kind, bytes) in [
            ("zeros", vec![0; more]),
            ("ones", vec![0xff; more]),
            ("random bytes", random),
            ("bytes of its start", file[..more].to_vec()),
            ("bytes of its end", own_end),
        ] {
            let what = format!("{}, {more} {kind} more", sample.name);
            let behind = [file, &bytes].concat();
            tally.note_refusal::<F>(&behind, &what);
            tally.note_refusal::<F>(&behind[more..], &what);
            tally.note_refusal::<F>(&[&bytes, file].concat(), &what);
        }
    }
    tally.note_refusal::<F>(&file.repeat(2), &sample.name);
    tally
}

/// Damages every sample of a width in every way, and counts what is found.
fn check_damages<F: Fingerprint>() {
    for sample in samples::<F>() {
        let [flips, cuts, longer] = [flips(&sample), truncations(&sample), extensions(&sample)];
        for tally in [flips, cuts, longer] {
            assert_eq!(tally.found, tally.tried, "{}", sample.name);
        }
        assert!(
            flips.at_open > 0 && flips.at_open < flips.found,
            "{}",
            sample.name
        );
        assert_eq!(cuts.tried, sample.file.len());
        assert!(longer.tried > 64 * 15);
        println!(
            "{}, {} bytes: {} of {} flipped bits found, {} when opened, {} bytes held; {} of {} cuts; {} of {} extensions",
            sample.name,
            sample.file.len(),
            flips.found,
            flips.tried,
            flips.at_open,
            flips.most_held,
            cuts.found,
            cuts.tried,
            longer.found,
            longer.tried
        );
    }
}

#[test]
fn every_damage_of_a_32_bit_index_is_found() {
    check_damages::<u32>();
}

#[test]
fn every_damage_of_a_64_bit_index_is_found() {
    check_damages::<u64>();
}

#[test]
fn every_damage_of_a_128_bit_index_is_found() {
    check_damages::<u128>();
}

/// What the operations on whole sets say about an index, each by itself.
#[derive(Debug, PartialEq)]
struct Batch<F> {
    pairs: Option<Vec<(F, F)>>,
    clusters: Option<Vec<Vec<F>>>,
    streamed: Option<Vec<(usize, F)>>,
    probed: Option<Vec<(usize, F)>>,
    merged: Option<Vec<u8>>,
}

impl<F: Fingerprint> Batch<F> {
    fn of(file: &[u8], queries: &[F], what: &str) -> Option<Self> {
        let index = answer(Index::<F, _>::from_bytes(file), what)?;
        let segments = Segments::new(vec![index]).expect("one segment goes with itself");
        let mut options = PairOptions::default();
        options.sorted = true;
        let mut pairs = Vec::new();
        let paired = simidx::pairs(&segments, &options, |pair| {
            pairs.push((pair.smaller, pair.larger));
            Ok(())
        });
        let mut clusters = Vec::new();
        let clustered = simidx::clusters(&segments, &ClusterOptions::default(), |cluster| {
            clusters.push(cluster.fingerprints.to_vec());
            Ok(())
        });
        let scan = |strategy| {
            let mut options = ScanOptions::default();
            options.strategy = strategy;
            let mut found = Vec::new();
            let scanned = simidx::scan(&segments, queries, &options, |number, found_match| {
                found.push((number, found_match.fingerprint));
                Ok(())
            });
            answer_of_segment(scanned, what).map(|_| found)
        };
        let mut bytes = Vec::new();
        let merged = simidx::merge(&segments, &MergeOptions::default(), &mut bytes, |_| ());
        Some(Batch {
            pairs: answer_of_segment(paired, what).map(|()| pairs),
            clusters: answer_of_segment(clustered, what).map(|_| clusters),
            streamed: scan(ScanStrategy::Stream),
            probed: scan(ScanStrategy::Probe),
            merged: answer_of_segment(merged, what).map(|_| bytes),
        })
    }

    /// Whether each operation gives an error or what it gives for the good file; the number of errors.
    fn errors_beside(&self, good: &Self, what: &str) -> usize {
        fn check<T: PartialEq + std::fmt::Debug>(
            found: &Option<T>,
            good: &Option<T>,
            what: &str,
        ) -> usize {
            assert!(found.is_none() || found == good, "{what}: {found:?}");
            usize::from(found.is_none())
        }
        check(&self.pairs, &good.pairs, what)
            + check(&self.clusters, &good.clusters, what)
            + check(&self.streamed, &good.streamed, what)
            + check(&self.probed, &good.probed, what)
            + check(&self.merged, &good.merged, what)
    }
}

/// As [`answer`], the error named after its segment or not.
fn answer_of_segment<T>(result: Result<T, Error>, what: &str) -> Option<T> {
    match result {
        Err(Error::Segment { error, .. }) => answer(Err(*error), what),
        other => answer(other, what),
    }
}

/// Bits from one that is flipped to the next: no multiple of 8, so that all bits of bytes come up.
const BATCH_STEP: usize = 131;

fn check_batches<F: Fingerprint>(codec: Codec) {
    for kind in ["no ids", "grouped numbers", "grouped strings"] {
        let sample = sample::<F>(TableDesign::choose_bands(1, 2).unwrap(), codec, kind);
        let queries = [sample.set[0], sample.set[7] ^ F::from_u128(4), F::ZERO];
        let good = Batch::of(&sample.file, &queries, "good").expect("the good file opens");
        assert!(good.pairs.as_ref().is_some_and(|pairs| !pairs.is_empty()));
        assert!(good.probed.is_some() && good.probed == good.streamed);
        assert!(good.merged.is_some() && good.clusters.is_some());
        let (mut opened, mut errors) = (0, 0);
        for bit in (0..sample.file.len() * 8).step_by(BATCH_STEP) {
            let what = format!("{}, bit {bit}", sample.name);
            let mut file = sample.file.clone();
            file[bit / 8] ^= 0x80 >> (bit % 8);
            if let Some(batch) = Batch::of(&file, &queries, &what) {
                opened += 1;
                errors += batch.errors_beside(&good, &what);
            }
        }
        assert!(opened > 10 && errors > opened / 2, "{}", sample.name);
        println!(
            "{}: {opened} damaged files opened, {errors} operations failed",
            sample.name
        );
    }
}

#[test]
fn operations_on_whole_sets_give_an_error_or_the_right_answer() {
    check_batches::<u32>(Codec::Gap);
    check_batches::<u64>(Codec::Xor);
    check_batches::<u128>(Codec::EliasFano);
}

#[test]
fn a_count_that_the_file_cannot_hold_makes_no_room() {
    let sample = sample::<u64>(
        TableDesign::choose_bands(1, 2).unwrap(),
        Codec::EliasFano,
        "no ids",
    );
    let mut editor = Editor::new(sample.file.clone());
    let blocks = editor.layout.tables.iter().map(|table| table.block_count);
    let most = 65_536 * blocks.min().unwrap() as u128;
    editor.put_directory(0, most, 8);
    editor.put_directory(8, most, 8);
    let file = editor.finish();
    let index = Index::<u64, _>::from_bytes(&file[..]).unwrap();
    assert_eq!(u128::from(index.fingerprint_count()), most);
    let segments = Segments::new(vec![index]).unwrap();
    let limit = HELD_ANYWAY + HELD_FOR_A_BYTE * file.len();
    let (_, held) = most_held(|| simidx::pairs(&segments, &PairOptions::default(), |_| Ok(())));
    assert!(held < limit, "{held} bytes for pairs");
    let options = ClusterOptions::default();
    let (_, held) = most_held(|| simidx::clusters(&segments, &options, |_| Ok(())));
    assert!(held < limit, "{held} bytes for clusters");
    let (report, held) = most_held(|| segments.segments()[0].verify());
    assert!(held < limit, "{held} bytes for a full check");
    assert_eq!(
        report.problems.first().map(|p: &FormatError| p.rule),
        Some(35)
    );
}

/// Asks an index everything without knowing what is right: only that it ends.
fn use_up<F: Fingerprint>(index: &Index<F, &[u8]>, sample: &Sample<F>) -> bool {
    let mut errors = 0u32;
    let mut note = |failed: bool| errors += u32::from(failed);
    for question in &sample.questions {
        note(index.query(question.query, question.distance).is_err());
    }
    for &member in &sample.set {
        note(index.contains(member).is_err());
        note(ids_of(index, member).is_err());
    }
    for table in 0..index.table_count() {
        let mut fingerprints = index.fingerprints(table).unwrap();
        while let Some(fingerprint) = fingerprints.next() {
            note(fingerprint.is_err());
            note(fingerprints.for_each_id(|_| ()).is_err());
        }
    }
    note(!index.verify().is_sound());
    errors > 0
}

/// Forgeries of each sample: `SIMIDX_FUZZ_ROUNDS`, or few enough for every run.
fn fuzz_rounds() -> u32 {
    let rounds = std::env::var("SIMIDX_FUZZ_ROUNDS");
    rounds.map_or(500, |rounds| {
        rounds.parse().expect("SIMIDX_FUZZ_ROUNDS is a number")
    })
}

/// Random bytes at random places, then all checksums made right, so that every rule behind them has
/// to hold.
fn check_forgeries<F: Fingerprint>(rounds: u32) {
    // More rounds shall not begin with those of every run.
    let mut rng = rng(0xf02e ^ u64::from(rounds));
    let (mut refused, mut failed) = (0, 0);
    for sample in samples::<F>() {
        let good = Editor::new(sample.file.clone());
        let contents_end = good.layout.directory_at;
        for round in 0..rounds {
            let mut editor = good.clone();
            for _ in 0..rng.random_range(1..=3) {
                // Half of the places are in the directory, which is the smaller part.
                let at = if rng.random() {
                    rng.random_range(contents_end..contents_end + good.layout.directory_len)
                } else {
                    rng.random_range(16..contents_end)
                };
                let len = rng.random_range(1..=8).min(editor.file.len() - 32 - at);
                let byte = [0, 0xff, 0x80, 1, rng.random()][rng.random_range(0..5)];
                for place in at..at + len {
                    editor.file[place] = match round % 3 {
                        0 => byte,
                        1 => editor.file[place] ^ 1 << rng.random_range(0..8),
                        _ => rng.random(),
                    };
                }
            }
            editor.seal_all_sections();
            let file = editor.finish();
            let (ended, most) = most_held(|| {
                let index = Index::<F, _>::from_bytes(&file[..]).ok()?;
                Some(use_up(&index, &sample))
            });
            assert!(
                most <= HELD_ANYWAY + HELD_FOR_A_BYTE * file.len(),
                "{most} bytes held"
            );
            match ended {
                None => refused += 1,
                Some(errors) => failed += u32::from(errors),
            }
        }
    }
    assert!(
        refused > rounds / 10 && failed > rounds / 10,
        "{refused} refused, {failed} failed"
    );
}

#[test]
fn random_bytes_under_right_checksums_never_panic() {
    check_forgeries::<u32>(fuzz_rounds());
    check_forgeries::<u64>(fuzz_rounds());
    check_forgeries::<u128>(fuzz_rounds());
}

/// What fuzzing relies on: repairs put right what they are there for, and nothing else.
fn check_repairs<F: Fingerprint>() {
    for sample in samples::<F>() {
        assert!(repair(&sample.file) == sample.file, "{}", sample.name);
        let mut file = sample.file.clone();
        let footer = file.len() - 32;
        for at in [0, 13, footer + 13, footer + 17, footer + 25, footer + 30] {
            file[at] ^= 0x55;
        }
        // The checksum of the first block.
        file[128] ^= 1;
        assert!(repair(&file) == sample.file, "{}", sample.name);
        // A directory that is not where the footer says, but that far from the end.
        let directory_at = Editor::new(sample.file.clone()).layout.directory_at;
        file.insert(directory_at, 7);
        assert!(repair(&file) == sample.file, "{}", sample.name);
    }
}

#[test]
fn repairs_make_a_good_file_of_one_with_wrong_checksums() {
    check_repairs::<u32>();
    check_repairs::<u64>();
    check_repairs::<u128>();
}

/// Two hundred fingerprints and their file, one block of which is damaged.
fn with_a_damaged_block(codec: Codec, table: usize, block: usize) -> (Vec<u64>, Editor) {
    let set = sorted_set(&common::uniform::<u64>(200));
    let mut options = options(TableDesign::choose_bands(1, 2).unwrap(), 128);
    options.codec = Some(codec);
    let mut editor = Editor::new(build(options, &set));
    let at = editor.layout.block_at(table, block);
    editor.flip(at + 50, 8);
    (set, editor)
}

#[test]
fn a_damaged_block_leaves_the_others_readable() {
    for codec in Codec::ALL {
        let (set, editor) = with_a_damaged_block(codec, 0, 2);
        let at = editor.layout.block_at(0, 2);
        let index = Index::<u64, _>::from_bytes(editor.finish()).unwrap();
        let all: Vec<_> = index.fingerprints(0).unwrap().collect();
        assert_eq!(all.iter().filter(|f| f.is_err()).count(), 1);
        let readable: Vec<u64> = all.into_iter().filter_map(Result::ok).collect();
        assert!(readable.len() > 150 && readable.len() < 200);
        let lost: Vec<u64> = set
            .iter()
            .copied()
            .filter(|f| !readable.contains(f))
            .collect();
        for fingerprint in set {
            match index.contains(fingerprint) {
                Ok(found) => assert!(found && !lost.contains(&fingerprint)),
                Err(_) => assert!(lost.contains(&fingerprint)),
            }
        }
        let report = index.verify();
        assert_eq!(report.problem_count, 1);
        assert_eq!(
            (report.problems[0].table, report.problems[0].block),
            (Some(0), Some(2))
        );
        assert_eq!(report.problems[0].offset, Some(at as u64));
    }
}

#[test]
fn a_damaged_block_ends_many_queries_without_a_wrong_answer() {
    for codec in Codec::ALL {
        let (set, editor) = with_a_damaged_block(codec, 1, 3);
        let index = Index::<u64, _>::from_bytes(editor.finish()).unwrap();
        let mut searcher = index.searcher();
        searcher.set_strategy(Strategy::Probe);
        // First those that do not come across the bad block, more than are under way together.
        let (good, bad): (Vec<u64>, Vec<u64>) =
            set.iter().partition(|f| searcher.query(**f, 1).is_ok());
        assert!(good.len() > 150 && !bad.is_empty(), "{codec:?}");
        let mut answered = 0;
        let queries = [good, bad].concat();
        let result = searcher.query_many(&queries, 1, |number, matches| {
            assert_eq!(number, answered);
            let found: Vec<(u32, u64)> = matches
                .iter()
                .map(|m| (m.distance, m.fingerprint))
                .collect();
            assert_eq!(found, scan(&set, queries[number], 1));
            answered += 1;
        });
        assert!(answer(result, "many queries").is_none());
        assert!(answered > 0 && answered < queries.len(), "{answered}");
        assert_eq!(searcher.matches(), [], "not the answer to an older query");
        // The searcher is as good as new.
        searcher.set_strategy(Strategy::Scan);
        assert_eq!(searcher.query(set[0], 0).unwrap().len(), 1);
    }
}
