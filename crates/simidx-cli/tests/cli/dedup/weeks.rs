//! Week after week: `--against` with `--texts` and `--update` keeps what one run over everything would have kept.

use std::fs;

use serde_json::json;

use super::{done, jsonl, texts};
use crate::support::{Ran, Sandbox};

const WEEKS: usize = 4;

/// A sandbox with the folder `kept`.
fn with_folder() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("kept")).unwrap();
    sandbox
}

/// Documents of some weeks, dealt out in turn, some of them without words or empty.
fn with_weeks() -> Sandbox {
    let sandbox = with_folder();
    let mut texts = texts();
    texts.extend(["🙂", "", "?!", "🙂", "🙂🙂", "", "?!", "🙂🙂", "🙂"].map(String::from));
    let lines = jsonl(&texts);
    let weeks = (0..WEEKS).map(|week| lines.iter().skip(week).step_by(WEEKS));
    let weeks: Vec<String> = weeks.map(|week| week.cloned().collect()).collect();
    sandbox.write("all.jsonl", weeks.concat());
    for (week, lines) in weeks.iter().enumerate() {
        sandbox.write(&format!("week{week}.jsonl"), lines);
    }
    sandbox
}

/// Runs a week; its documents that are kept go to the folder `kept`.
fn week(sandbox: &Sandbox, week: usize, options: &[&str]) -> Ran {
    let (input, output) = (format!("week{week}.jsonl"), format!("kept/{week}.jsonl"));
    let run = [
        "dedup",
        &input,
        "--against",
        "seen",
        "--texts",
        "kept/*",
        "-o",
        &output,
    ];
    sandbox.run(&[&run, options].concat())
}

/// Runs a week without errors.
fn run_week(sandbox: &Sandbox, number: usize, options: &[&str]) {
    done(week(sandbox, number, options));
}

fn all_kept(sandbox: &Sandbox) -> Vec<u8> {
    let kept = (0..WEEKS).map(|week| sandbox.read(&format!("kept/{week}.jsonl")));
    kept.collect::<Vec<_>>().concat()
}

#[test]
fn weeks_are_kept_as_by_one_run_over_everything() {
    for options in [
        &[][..],
        &["--threads", "1", "--memory", "64MiB"],
        // Fewer than 512 bits of keys, and then more: sketches are remembered.
        &["--similarity", "0.95"],
        &["--similarity", "0.6"],
        &["--features", "words:1", "--similarity", "0.72"],
        &["--html", "auto"],
        &["--similarity", "0.8", "--pipeline", "code"],
    ] {
        let sandbox = with_weeks();
        let once = ["dedup", "all.jsonl", "-o", "once.jsonl"];
        done(sandbox.run(&[&once, options].concat()));
        for week in 0..WEEKS {
            run_week(&sandbox, week, &[&["--update"], options].concat());
        }
        let (once, kept) = (sandbox.read("once.jsonl"), all_kept(&sandbox));
        assert!(kept == once, "{options:?}");
        assert!(once.len() < sandbox.read("all.jsonl").len());
        // The folder is a sound set, which has all that is kept.
        sandbox.run(&["verify", "seen"]).done();
        let info = sandbox.run(&["info", "seen", "--json"]).done().json();
        let lines = once.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(info["record_count"], lines);
    }
}

#[test]
fn the_folder_is_the_same_whatever_the_memory() {
    let sandbox = Sandbox::new();
    // More than the texts that wait for their fingerprints in the smaller memory.
    let text = |i: u64| {
        let words = (0..10_000).map(|j| format!("w{}", (i * 7919 + j) * j % 99_991));
        words.collect::<Vec<_>>().join(" ")
    };
    let mut texts: Vec<String> = (0..50).map(text).collect();
    texts.extend(["🙂".into(), texts[0].clone(), text(50), texts[49].clone()]);
    sandbox.write("week.jsonl", jsonl(&texts).concat());
    let folders = [("small", "64MiB"), ("large", "1GiB")].map(|(folder, memory)| {
        let run = ["dedup", "week.jsonl", "--against", folder, "--update"];
        let options = ["--memory", memory, "-o", "kept.jsonl", "--force"];
        done(sandbox.run(&[&run[..], &options].concat()));
        sandbox.read(&format!("{folder}/000001.simidx"))
    });
    assert!(folders[0] == folders[1]);
}

#[test]
fn an_index_with_sketches_and_its_texts_decide_alike() {
    let sandbox = with_weeks();
    done(sandbox.run(&["dedup", "all.jsonl", "-o", "once.jsonl"]));
    run_first(&sandbox);
    let build = ["build", "kept/0.jsonl", "--sketch", "128", "-o", "seen"];
    sandbox.run(&build).done();
    run_week(&sandbox, 1, &["--report", "r.jsonl"]);
    let once = String::from_utf8(sandbox.read("once.jsonl")).unwrap();
    let kept = String::from_utf8(sandbox.read("kept/1.jsonl")).unwrap();
    let week = String::from_utf8(sandbox.read("week1.jsonl")).unwrap();
    let is_kept = |line: &&str| once.lines().any(|kept| kept == *line);
    // Documents without words are not in an index that was built like this.
    let has_words = |line: &&str| line.contains("word");
    let expected: Vec<_> = week.lines().filter(is_kept).filter(has_words).collect();
    let kept: Vec<_> = kept.lines().filter(has_words).collect();
    assert_eq!(kept, expected);
    let report = String::from_utf8(sandbox.read("r.jsonl")).unwrap();
    assert!(!report.contains("estimate"));
}

/// The first week by itself.
fn run_first(sandbox: &Sandbox) {
    let first = ["dedup", "week0.jsonl", "-o", "kept/0.jsonl"];
    done(sandbox.run(&first));
}

#[test]
fn reports_name_the_earlier_document_and_its_similarity() {
    let sandbox = Sandbox::new();
    let text = |last: &str| format!("one two three four five six seven eight nine ten {last}");
    let line = |id: &str, text: &str| format!("{}\n", json!({ "id": id, "text": text }));
    sandbox.write("old.jsonl", line("old", &text("eleven")));
    let new = [
        line("new", &text("twelve")),
        line("other", "something else"),
    ];
    sandbox.write("new.jsonl", new.concat());
    let update = ["--against", "seen", "--update", "-o"];
    let first = [&["dedup", "old.jsonl"], &update[..], &["kept.jsonl"]];
    done(sandbox.run(&first.concat()));
    let run = [
        "dedup",
        "new.jsonl",
        "--against",
        "seen",
        "--texts",
        "kept.jsonl",
    ];
    let report = ["--dry-run", "--report", "r.jsonl"];
    done(sandbox.run(&[&run[..], &report].concat()));
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("r.jsonl")).unwrap();
    assert_eq!(
        (&report["dropped"], &report["index_id"]),
        (&json!("new"), &json!("old"))
    );
    assert_eq!(report["similarity"], json!(8.0 / 10.0));
    let annotate = ["--annotate", "-o", "-"];
    let noted = done(sandbox.run(&[&run[..], &annotate].concat()));
    let noted = noted.json_lines();
    assert_eq!(noted[0]["duplicate_of"], "old");
    assert_eq!(noted[0]["duplicate_in"], "index");
    assert_eq!(noted[0]["similarity"], json!(8.0 / 10.0));
    assert_eq!(noted[1]["duplicate_of"], json!(null));
    let figures = sandbox
        .run(&[&run[..], &["--dry-run", "--json"]].concat())
        .done()
        .json();
    assert_eq!(
        (&figures["in_index"], &figures["earlier_texts"]),
        (&json!(1), &json!(1))
    );
}

/// Asserts an error that says this among other things.
#[track_caller]
fn assert_refused(ran: Ran, message: &str) {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(message), "{ran:?}");
}

#[test]
fn what_would_not_be_exact_is_refused() {
    let sandbox = with_weeks();
    run_week(&sandbox, 0, &["--update"]);
    let before = sandbox.read("seen/manifest.simidx-set");
    let next = [
        "dedup",
        "week1.jsonl",
        "--against",
        "seen",
        "-o",
        "new.jsonl",
    ];
    let refused = |options: &[&str], message: &str| {
        assert_refused(sandbox.run(&[&next[..], options].concat()), message);
    };
    sandbox.write("none.jsonl", "");
    sandbox.write("noid.jsonl", "{\"text\": \"one\"}\n");
    refused(&[], "name their files with --texts");
    refused(&["--texts", "none.jsonl"], "--texts has no document");
    refused(
        &["--texts", "kept/*", "--similarity", "0.9"],
        "for another --similarity",
    );
    refused(
        &["--texts", "kept/*", "--features", "words:2"],
        "for another --similarity",
    );
    refused(&["--texts", "kept/*", "-k", "3"], "cannot be used with");
    refused(&["--texts", "kept/*", "--chains"], "cannot be used with");
    refused(
        &["--texts", "kept/*", "--update", "--dry-run"],
        "cannot be used with",
    );
    let other = ["--texts", "kept/*", "--update", "--pipeline", "short"];
    refused(&other, "was made by another pipeline");
    let update = |input: &str, folder: &str, message: &str| {
        let run = ["dedup", input, "--against", folder, "--texts", "kept/*"];
        let ran = sandbox.run(&[&run[..], &["--update", "-o", "new.jsonl"]].concat());
        assert_refused(ran, message);
    };
    update("noid.jsonl", "seen", "has no id");
    // Before any document is read.
    let little =
        "dedup noid.jsonl --against seen --texts kept/* --update -o new.jsonl --memory 32MiB";
    let little: Vec<&str> = little.split(' ').collect();
    assert_refused(sandbox.run(&little), "but the limit leaves 32 MiB");
    update(
        "kept/0.jsonl",
        "seen",
        "is an input, and cannot be an earlier text",
    );
    update("week1.jsonl", "kept", "has other files");
    for output in ["new/kept.jsonl", "new", "./new/../new/1.jsonl"] {
        let run = ["dedup", "week1.jsonl", "--against", "new", "--update", "-o"];
        assert_refused(
            sandbox.run(&[&run[..], &[output]].concat()),
            "is in the folder of --update",
        );
    }
    let run = ["dedup", "week1.jsonl", "--against", "new/seen", "--update"];
    let output = ["--output-dir", "new"];
    assert_refused(
        sandbox.run(&[&run[..], &output].concat()),
        "new: would hold the folder of --update",
    );
    update(
        "week1.jsonl",
        "week0.jsonl",
        "is a file; --update needs a folder",
    );
    let build = ["build", "week0.jsonl", "-o", "plain.simidx"];
    sandbox.run(&build).done();
    let plain = ["dedup", "week1.jsonl", "--against", "plain.simidx"];
    let texts = ["--texts", "kept/*", "-o", "new.jsonl"];
    assert_refused(sandbox.run(&[plain, texts].concat()), "has no sketches");
    assert!(!sandbox.path("new.jsonl").exists());
    assert_eq!(sandbox.read("seen/manifest.simidx-set"), before);
}

#[test]
fn a_run_that_cannot_change_the_folder_can_be_repeated() {
    let sandbox = with_weeks();
    run_week(&sandbox, 0, &["--update"]);
    let lock = sandbox.path("seen/update.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let week = ["dedup", "week1.jsonl", "--against", "seen", "--update"];
    let outputs = ["--texts", "kept/*", "-o", "kept/1.jsonl"];
    assert_refused(sandbox.run(&[&week[..], &outputs].concat()), "update.lock");
    assert!(!sandbox.path("kept/1.jsonl").exists());
    fs::remove_dir(&lock).unwrap();
    run_week(&sandbox, 1, &["--update"]);
}

/// Weeks of which the second ended after its outputs had appeared and before the folder changed, as by a full disk.
fn with_unfinished_week() -> Sandbox {
    let sandbox = with_weeks();
    run_week(&sandbox, 0, &["--update"]);
    let manifest = sandbox.read("seen/manifest.simidx-set");
    run_week(&sandbox, 1, &["--update"]);
    sandbox.write("seen/manifest.simidx-set", manifest);
    sandbox
}

#[test]
fn a_run_that_ended_before_the_folder_changed_is_repeated_first() {
    let sandbox = with_unfinished_week();
    done(sandbox.run(&["dedup", "all.jsonl", "-o", "once.jsonl"]));
    let refusal = "000002.simidx: was left by a run that did not finish";
    for number in [1, 2] {
        assert_refused(week(&sandbox, number, &["--update"]), refusal);
    }
    // It is not the run that is to be repeated.
    let other = week(&sandbox, 2, &["--update", "--force"]);
    assert_refused(other, "kept/1.jsonl");
    run_week(&sandbox, 1, &["--update", "--force"]);
    assert!(!sandbox.path("seen/000002.simidx").exists());
    for week in 2..WEEKS {
        run_week(&sandbox, week, &["--update"]);
    }
    assert!(all_kept(&sandbox) == sandbox.read("once.jsonl"));
    // The outputs of a run that did end are still no outputs of another.
    let forced = "dedup week3.jsonl --against seen --texts kept/* --update --force -o kept/2.jsonl";
    let forced: Vec<&str> = forced.split(' ').collect();
    assert_refused(sandbox.run(&forced), "kept/2.jsonl: is an input");
}

#[test]
fn a_week_without_anything_new_leaves_the_folder_as_it_is() {
    let sandbox = with_weeks();
    run_week(&sandbox, 0, &["--update"]);
    let before = sandbox.read("seen/manifest.simidx-set");
    sandbox.write("week1.jsonl", sandbox.read("week0.jsonl"));
    run_week(&sandbox, 1, &["--update"]);
    assert_eq!(sandbox.read("kept/1.jsonl"), b"");
    assert_eq!(sandbox.read("seen/manifest.simidx-set"), before);
}

/// The documents of the run that is repeated were corrected, and nothing of them is new.
#[test]
fn a_repeated_run_may_keep_nothing() {
    let sandbox = with_unfinished_week();
    sandbox.write("week1.jsonl", sandbox.read("week0.jsonl"));
    run_week(&sandbox, 1, &["--update", "--force"]);
    assert_eq!(sandbox.read("kept/1.jsonl"), b"");
    run_week(&sandbox, 2, &["--update"]);
}

/// Runs two weeks of such lines with these options, and returns what is kept of the second.
fn kept_of_second(sandbox: &Sandbox, weeks: [&str; 2], options: &[&str]) -> String {
    let mut kept = String::new();
    for (week, lines) in weeks.iter().enumerate() {
        let (input, output) = (format!("week{week}.jsonl"), format!("kept/{week}.jsonl"));
        sandbox.write(&input, lines);
        let run = ["dedup", &input, "--against", "seen", "--texts", "kept/*"];
        let update = ["--update", "-o", &output];
        done(sandbox.run(&[&run[..], &update, options].concat()));
        kept = String::from_utf8(sandbox.read(&output)).unwrap();
    }
    kept
}

/// Lines of documents with these ids: sentences that begin with such a word.
fn lines_of(documents: &[(serde_json::Value, &str)]) -> String {
    let line = |(id, word): &(serde_json::Value, &str)| {
        let text = format!("{word} one two three four five six seven eight nine ten");
        format!("{}\n", json!({ "id": id, "text": text }))
    };
    documents.iter().map(line).collect()
}

#[test]
fn a_repeated_id_leads_to_the_text_that_is_remembered() {
    let sandbox = with_folder();
    let old = [
        (json!("a"), "zero"),
        (json!("a"), "other words here are"),
        (json!("b"), "b"),
    ];
    // The whole first week stands next to what is kept of it, with another text of the same id before it.
    sandbox.write(
        "kept/00.jsonl",
        lines_of(&[(json!("a"), "not this one and not that")]),
    );
    let new = [
        (json!("c"), "zero"),
        (json!("a"), "new words of week two are"),
    ];
    let kept = kept_of_second(&sandbox, [&lines_of(&old), &lines_of(&new)], &[]);
    assert_eq!(kept, lines_of(&new[1..]));
}

#[test]
fn numbers_are_ids_and_records_can_be_left_out() {
    let sandbox = with_folder();
    let old = [(json!(7), "zero"), (json!(8), "other words here are")];
    let new = [(json!(9), "zero"), (json!(10), "other words here are")];
    sandbox.write("gone.txt", "8\n");
    let weeks = [&*lines_of(&old), &*lines_of(&new)];
    assert_eq!(kept_of_second(&sandbox, weeks, &[]), "");
    std::fs::remove_file(sandbox.path("kept/1.jsonl")).unwrap();
    let run = [
        "dedup",
        "week1.jsonl",
        "--against",
        "seen",
        "--texts",
        "kept/*",
    ];
    let leave_out = [
        "--exclude-from",
        "seen/000001.simidx",
        "gone.txt",
        "--exclude-by",
        "id",
        "-o",
        "kept/1.jsonl",
    ];
    done(sandbox.run(&[&run[..], &leave_out].concat()));
    let kept = String::from_utf8(sandbox.read("kept/1.jsonl")).unwrap();
    assert_eq!(kept, lines_of(&new[1..]));
}

#[test]
fn an_earlier_document_is_kept_although_a_longer_one_comes() {
    let sandbox = with_folder();
    let old = lines_of(&[(json!("old"), "zero")]);
    let new = lines_of(&[(json!("long"), "zero and")]);
    let longest = ["--keep", "longest", "--similarity", "0.72"];
    assert_eq!(kept_of_second(&sandbox, [&old, &new], &longest), "");
}

#[test]
fn features_of_a_pipeline_are_those_of_one_pipeline() {
    let sandbox = with_weeks();
    run_week(&sandbox, 0, &["--update", "--pipeline", "code"]);
    let run = [
        "dedup",
        "week1.jsonl",
        "--against",
        "seen",
        "--texts",
        "kept/*",
        "--dry-run",
    ];
    done(sandbox.run(&[&run[..], &["--pipeline", "code"]].concat()));
    let other = sandbox.run(&[&run[..], &["--pipeline", "short"]].concat());
    assert_refused(other, "was made by another pipeline");
    let words = sandbox.run(&run);
    assert_refused(
        words,
        "remembers documents for another --similarity, --features, --pipeline or --html: it has keys:15x4 pipeline",
    );
}
