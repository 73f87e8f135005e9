//! Damaged files: every flipped bit, every other length and random bytes under right checksums give an
//! error or the right answer, never a panic, and a full check finds each accident.

mod common;

use common::editor::Editor;
use common::{build, build_numbers, build_strings, flipped, options, rng, scan, sorted_set};
use rand::RngExt;
use simidx::{BuildOptions, Codec, Error, Fingerprint, Id, Index, Strategy, TableDesign};

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
        let name = format!("{} bits, {codec}, {kind}", F::WIDTH);
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
            let all: Vec<_> = index.fingerprints(table).unwrap().collect();
            let complete = all.iter().all(Result::is_ok);
            let mut found: Vec<F> = all.into_iter().filter_map(|f| answer(f, what)).collect();
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
    index.for_each_id(fingerprint, |id| {
        ids.push(match id {
            Id::Number(number) => number.to_string(),
            Id::String(string) => format!("\"{string}\""),
        });
    })?;
    Ok(ids)
}

/// Small files of one width in every codec.
fn samples<F: Fingerprint>() -> Vec<Sample<F>> {
    Codec::ALL.into_iter().flat_map(samples_in).collect()
}

/// Small files of one codec: without ids, with numbers, with strings; some fingerprints have several records, one file
/// has a pipeline.
fn samples_in<F: Fingerprint>(codec: Codec) -> Vec<Sample<F>> {
    let options = || -> BuildOptions<F> {
        let mut options = options(TableDesign::choose_bands(1, 2).unwrap(), 128);
        options.codec = Some(codec);
        options
    };
    let mut with_pipeline = options();
    with_pipeline.pipeline = Some("{\"n\":3}".into());
    let mut fingerprints: Vec<F> = common::clustered(30);
    fingerprints.extend_from_within(..8);
    fingerprints.extend_from_within(..4);
    let numbers: Vec<(F, u64)> = fingerprints.iter().copied().zip(1000..).collect();
    let strings: Vec<(F, String)> = numbers
        .iter()
        .map(|&(f, id)| (f, format!("é{id}")))
        .collect();
    let set = sorted_set(&fingerprints);
    let single: Vec<(F, u64)> = set
        .iter()
        .copied()
        .zip([3, 70_000, 9].into_iter().cycle())
        .collect();
    vec![
        Sample::new("no ids", build(options(), &fingerprints), &fingerprints),
        Sample::new("pipeline", build(with_pipeline, &set[..3]), &set[..3]),
        Sample::new("numbers", build_numbers(options(), &single), &set),
        Sample::new(
            "grouped numbers",
            build_numbers(options(), &numbers),
            &fingerprints,
        ),
        Sample::new(
            "grouped strings",
            build_strings(options(), &strings),
            &fingerprints,
        ),
    ]
}

/// Flips every bit in turn and counts how many flips are found.
fn check_flips<F: Fingerprint>() {
    for sample in samples::<F>() {
        let mut file = sample.file.clone();
        let (mut found, mut at_open) = (0, 0);
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 0x80 >> (bit % 8);
            let what = format!("{}, bit {bit}", sample.name);
            match answer(Index::<F, _>::from_bytes(&file), &what) {
                None => {
                    at_open += 1;
                    found += 1;
                }
                Some(index) => {
                    sample.ask(&index, &what);
                    let report = index.verify();
                    assert!(!report.is_sound(), "{what}: not found");
                    assert_eq!(report.problems.len() as u64, report.problem_count.min(20));
                    found += 1;
                }
            }
            file[bit / 8] ^= 0x80 >> (bit % 8);
        }
        assert_eq!(file, sample.file);
        assert_eq!(found, file.len() * 8, "{}", sample.name);
        assert!(at_open > 0 && at_open < found, "{}", sample.name);
    }
}

#[test]
fn every_flipped_bit_of_a_32_bit_index_is_found() {
    check_flips::<u32>();
}

#[test]
fn every_flipped_bit_of_a_64_bit_index_is_found() {
    check_flips::<u64>();
}

#[test]
fn every_flipped_bit_of_a_128_bit_index_is_found() {
    check_flips::<u128>();
}

fn check_lengths<F: Fingerprint>() {
    for sample in samples::<F>() {
        let refused = |file: &[u8]| {
            let what = format!("{}, {} bytes", sample.name, file.len());
            assert!(
                answer(Index::<F, _>::from_bytes(file), &what).is_none(),
                "{what}"
            );
        };
        for len in 0..sample.file.len() {
            refused(&sample.file[..len]);
        }
        for more in [1, 100] {
            let from = sample.file.len() - more;
            for tail in [
                vec![0; more],
                vec![0xff; more],
                sample.file[from..].to_vec(),
            ] {
                let mut longer = sample.file.clone();
                longer.extend_from_slice(&tail);
                refused(&longer);
                longer.drain(..more);
                refused(&longer);
            }
        }
        refused(&sample.file.repeat(2));
    }
}

#[test]
fn files_of_every_other_length_are_refused_when_opened() {
    check_lengths::<u32>();
    check_lengths::<u64>();
    check_lengths::<u128>();
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
            match Index::<F, _>::from_bytes(&file[..]) {
                Err(_) => refused += 1,
                Ok(index) => failed += u32::from(use_up(&index, &sample)),
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
