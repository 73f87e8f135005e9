//! `simidx join`: the same lines as `simidx query`, for every strategy and any number of threads and memory.

use crate::support::{Sandbox, hex, sample};
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{put_stranger, small};

/// Returns an index of some fingerprints with numbers, some of which share one, and queries in `q`.
fn sandbox(count: usize) -> Sandbox {
    let values = sample(count);
    let line = |(i, value): (usize, &u64)| format!("{value:016x}\t{}\n", i % 90);
    let records: String = values.iter().enumerate().map(line).collect();
    let sandbox = Sandbox::with_index(("a.tsv", records.as_bytes()), &["--ids", "number"]);
    let mut queries: Vec<u64> = values.iter().step_by(3).map(|v| v ^ 5 << 40).collect();
    queries.extend([0, 1, u64::MAX, queries[2]]);
    sandbox.write("q", hex(&queries));
    sandbox
}

#[track_caller]
fn by_query(sandbox: &Sandbox, args: &[&str]) -> String {
    let queries = sandbox.read("q");
    let ran = sandbox.pipe(&[&["query", "x.simidx"], args].concat(), &queries);
    ran.done().text().to_owned()
}

#[test]
fn a_join_prints_what_a_query_prints() {
    let sandbox = sandbox(2500);
    for distance in ["0", "2", "3", "7"] {
        for json in [&[][..], &["--json"]] {
            let options = [&["-k", distance], json].concat();
            let expected = sandbox.pipe(
                &[&["query", "x.simidx"], &options[..]].concat(),
                &sandbox.read("q"),
            );
            for strategy in ["auto", "stream", "probe"] {
                let join = ["join", "x.simidx", "q", "--strategy", strategy];
                let ran = sandbox.run(&[&join, &options[..]].concat());
                assert!(ran.stdout == expected.stdout, "{strategy}, {options:?}");
                assert_eq!((ran.code, &*ran.stderr), (expected.code, ""));
            }
        }
    }
    let expected = by_query(&sandbox, &[]);
    let ran = sandbox.pipe(&["join", "x.simidx", "-"], &sandbox.read("q"));
    assert_eq!(ran.done().text(), expected);
    for more in [
        ["--threads", "1"],
        ["--threads", "5"],
        ["--memory", "64MiB"],
    ] {
        let ran = sandbox.run(&[&["join", "x.simidx", "q"], &more[..]].concat());
        assert_eq!(ran.done().text(), expected, "{more:?}");
    }
}

#[test]
fn several_indexes_are_joined_as_one() {
    let sandbox = sandbox(900);
    sandbox.write("b.tsv", "0\t7\n1\t3\n3\t3\n");
    sandbox
        .run(&["build", "b.tsv", "-o", "y.simidx", "--ids", "number"])
        .done();
    let expected = by_query(&sandbox, &["y.simidx", "-"]);
    assert!(expected.contains("0000000000000000\t0000000000000003\t2\t3\n"));
    for strategy in ["stream", "probe"] {
        let args = ["join", "x.simidx", "y.simidx", "q", "--strategy", strategy];
        assert_eq!(sandbox.run(&args).done().text(), expected, "{strategy}");
    }
}

#[test]
fn stats_tell_the_strategy_and_its_cost() {
    let sandbox = sandbox(600);
    let queries = sandbox
        .read("q")
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count();
    for strategy in ["stream", "probe"] {
        let ran = sandbox.run(&["join", "x.simidx", "q", "--stats", "--strategy", strategy]);
        let start = format!("simidx: {queries} queries by {strategy}: ");
        assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
        assert!(ran.stderr.ends_with(" candidates\n") && !ran.stderr.contains(" 0 blocks"));
    }
}

#[test]
fn no_match_is_exit_code_1() {
    let sandbox = Sandbox::with_index(("a.hex", b"1\n"), &[]);
    sandbox.write("q", "ffffffff\n");
    assert_eq!(sandbox.run(&["join", "x.simidx", "q"]).no().text(), "");
    let ran = sandbox.run(&["join", "x.simidx", "q", "--json"]).no();
    assert_eq!(
        ran.text(),
        "{\"matches\":[],\"query\":\"00000000ffffffff\"}\n"
    );
}

#[test]
fn what_cannot_be_joined_is_refused_in_one_line() {
    let sandbox = Sandbox::with_index(("a.hex", b"1\n2\n"), &[]);
    sandbox.write("bad", "1\nxyz\n");
    sandbox.write("q.jsonl", "{\"id\":\"x\",\"text\":\"a b c\"}\n");
    let refusal = |args: &[&str]| {
        sandbox
            .run(&[&["join"], args].concat())
            .refusal()
            .to_owned()
    };
    assert!(refusal(&["x.simidx", "bad"]).starts_with("bad:2: "));
    assert!(refusal(&["x.simidx", "none"]).contains("none"));
    assert!(refusal(&["a.hex", "a.hex"]).starts_with("a.hex: not a simidx file"));
    assert!(refusal(&["x.simidx"]).contains("--help"));
    let last = "x.simidx: is an index; the file of the queries comes last";
    assert_eq!(refusal(&["x.simidx", "x.simidx"]), last);
    assert!(refusal(&["x.simidx", "a.hex", "--memory", "1KiB"]).contains("memory"));
    let refused = refusal(&["x.simidx", "q.jsonl", "--input", "jsonl"]);
    let message = "x.simidx: the index records no text pipeline, as it was built from fingerprints";
    assert_eq!(refused, message);
}

/// Returns an index with numbers whose table 1 contains a fingerprint that its table 0 lacks.
fn forged_file() -> (Vec<u8>, u64) {
    let records: Vec<(u64, u64)> = simidx_testkit::uniform(3000).into_iter().zip(0..).collect();
    let mut editor = Editor::new(simidx_testkit::build_numbers(small(), &records));
    let forged = put_stranger(&mut editor);
    (editor.finish(), forged)
}

#[test]
fn v36_ids_of_another_file_are_no_answer_for_a_damaged_one() {
    let (file, forged) = forged_file();
    let records = format!("{forged:016x}\t7\n");
    let sandbox = Sandbox::with_index(("a.tsv", records.as_bytes()), &["--ids", "number"]);
    sandbox.write("y.simidx", file);
    sandbox.write("q", hex(&[forged]));
    for files in [&["y.simidx", "x.simidx"][..], &["x.simidx", "y.simidx"]] {
        for json in [&[][..], &["--json"]] {
            let args = [&["join"], files, &["q", "--strategy", "probe"], json].concat();
            let ran = sandbox.run(&args);
            assert!(ran.refusal().starts_with("y.simidx: "), "{ran:?}");
            assert!(ran.refusal().contains("V36"), "{ran:?}");
        }
    }
    let ran = sandbox.run(&["join", "y.simidx", "q", "--strategy", "probe"]);
    assert!(ran.refusal().starts_with("y.simidx: "), "{ran:?}");
    // Table 0 is sound, and a stream reads no other.
    let args = ["join", "y.simidx", "x.simidx", "q", "--strategy", "stream"];
    let first = format!("{forged:016x}\t{forged:016x}\t0\t7\n");
    assert!(sandbox.run(&args).done().text().starts_with(&first));
}
