//! Files with right checksums over wrong contents: nothing is known of the answers but that they end, in bounded work
//! and in memory that the length of the file justifies.

use rand::RngExt;
use rand::rngs::StdRng;
use simidx::Set;
use simidx::batch::{ClusterOptions, PairOptions};
use simidx::format::FormatError;
use simidx::index::VerifyReport;
use simidx::{Codec, Fingerprint, Index, Scratch, Storage};

use super::cost::{Meter, held_limit};
use super::sample::Sample;
use super::samples::{Kind, halves, sample, samples};
use simidx_testkit::counting::most_held;
use simidx_testkit::each_id;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{Layout, directory};
use simidx_testkit::parts::Parts;
use simidx_testkit::rng;

/// Most steps for each byte of a forgery. A byte holds at most eight values or ids. Each of some ten questions comes by
/// a value once, as the probes of a table look at ranges apart, and has few probes, as a scan costs less than many;
/// reading a table comes by it once more.
const STEPS_FOR_A_BYTE: u64 = 128;

/// Asks an index everything without knowing what is right: only that it ends. Whether there were errors, and the steps.
fn use_up<F: Fingerprint>(index: &Index<F>, sample: &Sample<F>) -> (bool, u64) {
    let mut meter = Meter::new(STEPS_FOR_A_BYTE * sample.file.len() as u64, &sample.name);
    let mut errors = 0u32;
    let mut note = |failed: bool| errors += u32::from(failed);
    let mut scratch = Scratch::new();
    for question in &sample.questions {
        note(
            index
                .query_with(&mut scratch, question.query, question.distance)
                .is_err(),
        );
        meter.add_query(scratch.stats());
    }
    for &member in &sample.set {
        note(index.contains(member).is_err());
        note(each_id(index.ids_of(member), |_| meter.add(1)).is_err());
    }
    for table in 0..index.table_count() {
        let mut fingerprints = index.fingerprints(table).expect("there is such a table");
        while let Some(fingerprint) = fingerprints.next() {
            meter.add(1);
            note(fingerprint.is_err());
            note(each_id(fingerprints.ids(), |_| meter.add(1)).is_err());
        }
    }
    note(!index.verify(&Default::default()).unwrap().is_sound());
    (errors > 0, meter.steps)
}

/// Forgeries of each sample: `SIMIDX_FUZZ_ROUNDS`, or few enough for every run.
fn fuzz_rounds() -> u32 {
    let rounds = std::env::var("SIMIDX_FUZZ_ROUNDS");
    rounds.map_or(300, |rounds| {
        rounds.parse().expect("SIMIDX_FUZZ_ROUNDS is a number")
    })
}

/// Overwrites up to three places with zeros, ones, or random bits or bytes, and makes all checksums right.
fn forge(good: &Editor, round: u32, rng: &mut StdRng) -> Vec<u8> {
    let contents_end = good.layout.directory_at;
    let mut editor = good.clone();
    for _ in 0..rng.random_range(1..=3) {
        // Half of the places are in the directory, which is the smaller part.
        let at = if rng.random() {
            rng.random_range(contents_end..contents_end + good.layout.directory_len)
        } else {
            rng.random_range(16..contents_end)
        };
        let len = rng.random_range(1..=8).min(editor.file.len() - 40 - at);
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
    editor.finish()
}

/// Forgeries of every sample, so that every rule after the checksums has to hold.
fn check_forgeries<F: Fingerprint>(rounds: u32) {
    // More rounds shall not begin with those of every run.
    let mut rng = rng(0xf02e ^ u64::from(rounds));
    let (mut tried, mut refused, mut failed) = (0, 0, 0);
    let (mut most_held_by_any, mut most_steps) = (0, 0);
    for sample in samples::<F>() {
        let good = Editor::new(sample.file.clone());
        for round in 0..rounds {
            let file = forge(&good, round, &mut rng);
            let storage = Storage::copy(&file);
            let (ended, most) = most_held(|| {
                let index = Index::<F>::from_bytes(storage).ok()?;
                Some(use_up(&index, &sample))
            });
            assert!(most <= held_limit(file.len()), "{most} bytes held");
            tried += 1;
            most_held_by_any = most_held_by_any.max(most);
            let Some((errors, steps)) = ended else {
                refused += 1;
                continue;
            };
            failed += u32::from(errors);
            most_steps = most_steps.max(steps);
        }
    }
    simidx_testkit::report(&format!(
        "{} bits, {tried} forgeries: {refused} refused, {failed} failed; at most {most_held_by_any} bytes held and \
         {most_steps} steps",
        F::WIDTH
    ));
    assert!(refused > tried / 10 && failed > tried / 10);
}

#[test]
fn random_bytes_under_right_checksums_never_panic() {
    check_forgeries::<u32>(fuzz_rounds());
    check_forgeries::<u64>(fuzz_rounds());
    check_forgeries::<u128>(fuzz_rounds());
}

#[test]
fn a_count_that_the_file_cannot_hold_makes_no_room() {
    let sample = sample::<u64>(halves::<u64>(), Codec::EliasFano, Kind::NoIds, 30);
    let mut parts = Parts::of(&sample.file);
    let blocks = Layout::parse(&sample.file).tables[0].block_count;
    let most = 65_536 * blocks as u128;
    // The blocks of the tables are as many, and those of table 0 say that they are full.
    assert_eq!(blocks, Layout::parse(&sample.file).tables[1].block_count);
    parts.put(directory::FINGERPRINT_COUNT, most);
    parts.put(directory::RECORD_COUNT, most);
    parts.put_block_counts(&vec![65_536; blocks]);
    let file = parts.file();
    let index = Index::<u64>::from_bytes(Storage::copy(&file)).expect("the count could be right");
    assert_eq!(u128::from(index.len()), most);
    let segments = Set::new([index]).expect("one segment goes with itself");
    let limit = held_limit(file.len());
    let (_, held) = most_held(|| segments.pairs(&PairOptions::default(), |_| Ok(())));
    assert!(held < limit, "{held} bytes for pairs");
    let options = ClusterOptions::default();
    let (_, held) = most_held(|| segments.clusters(&options, |_| Ok(())));
    assert!(held < limit, "{held} bytes for clusters");
    let file = segments.segment(0).expect("it is the one segment");
    let (report, held): (VerifyReport, _) = most_held(|| file.verify(&Default::default()).unwrap());
    assert!(held < limit, "{held} bytes for a full check");
    let first = report.problems.first().map(|p: &FormatError| p.rule());
    assert_eq!(first, Some(27));
}
