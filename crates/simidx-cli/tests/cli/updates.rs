//! Updates of an index: merges with a smaller one, new versions of records, and deletions, before the next merge and by
//! it.

use crate::support::Sandbox;

/// Returns a base of many records and a smaller delta with other tables, in which one record is new and one has
/// changed.
fn with_delta() -> Sandbox {
    let sandbox = Sandbox::new();
    let base: String = (0..2000u64)
        .map(|i| format!("{:016x}\tpage {i}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    sandbox.write("base.tsv", base);
    sandbox.write(
        "delta.tsv",
        "ffffffffffffff00\tpage 7\nffffffffffffff03\tpage new\n",
    );
    for (name, tables) in [("base", "4"), ("delta", "1")] {
        let (from, to) = (format!("{name}.tsv"), format!("{name}.simidx"));
        let build = ["build", &from, "-o", &to, "--tables", tables];
        sandbox.run(&build).done();
    }
    sandbox
}

const MERGE: [&str; 5] = ["merge", "base.simidx", "delta.simidx", "-o", "new.simidx"];

fn dump(sandbox: &Sandbox, args: &[&str]) -> String {
    let dump = sandbox.run(&[&["dump"], args].concat()).done();
    String::from_utf8(dump.stdout).unwrap()
}

fn lines_of<'d>(dump: &'d str, id: &str) -> Vec<&'d str> {
    let is_of = |line: &&str| line.split('\t').nth(1) == Some(id);
    dump.lines().filter(is_of).collect()
}

#[test]
fn a_delta_with_other_tables_is_merged() {
    let sandbox = with_delta();
    let both = [sandbox.read("base.tsv"), sandbox.read("delta.tsv")].concat();
    sandbox.write("both.tsv", both);
    for (build, merge) in [
        (&["--tables", "4"][..], &[][..]),
        (&["--tables", "2"], &["--tables", "2"]),
        (&["-k", "4"], &["-k", "4"]),
        (&["-k", "2", "--tables", "3"], &["-k", "2", "--tables", "3"]),
        (
            &["--tables", "4", "--block-size", "256"],
            &["--block-size", "256"],
        ),
        (&["--tables", "4", "--codec", "gap"], &["--codec", "gap"]),
    ] {
        let built = ["build", "both.tsv", "-o", "both.simidx", "--force"];
        sandbox.run(&[&built, build].concat()).done();
        sandbox
            .run(&[&MERGE[..], merge, &["--force"]].concat())
            .done();
        assert!(
            sandbox.read("new.simidx") == sandbox.read("both.simidx"),
            "{merge:?}"
        );
    }
    let refused = sandbox.run(&[&MERGE[..], &["--tables", "5", "--force"]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("no design of 5 tables"),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_update_is_one_merge() {
    let sandbox = with_delta();
    sandbox.write("gone.txt", "page 9\npage 2001\n");
    let update = [
        "--newest-wins",
        "--exclude",
        "gone.txt",
        "--exclude-by",
        "id",
    ];
    let ran = sandbox
        .run(&[&MERGE[..], &update, &["--json"]].concat())
        .done();
    let report = ran.json();
    assert_eq!(report["record_count"], 2000);
    assert_eq!(report["dropped_record_count"], 2);
    assert_eq!(report["replaced_record_count"], 1);
    assert_eq!(report["unmatched_id_count"], 1);
    let dump = dump(&sandbox, &["new.simidx"]);
    assert_eq!(lines_of(&dump, "page 7"), ["ffffffffffffff00\tpage 7"]);
    assert_eq!(lines_of(&dump, "page new").len(), 1);
    assert!(lines_of(&dump, "page 9").is_empty());
    assert_eq!(lines_of(&dump, "page 8").len(), 1);
    sandbox.run(&["verify", "new.simidx"]).done();
}

#[test]
fn a_list_may_be_for_one_input_alone() {
    let sandbox = with_delta();
    sandbox.write("old.txt", "page 7\npage new\n");
    let from = [
        "--exclude-from",
        "base.simidx",
        "old.txt",
        "--exclude-by",
        "id",
    ];
    let ran = sandbox.run(&[&MERGE[..], &from].concat()).done();
    let text = String::from_utf8(ran.stdout).unwrap();
    let missing = "ids not found           1 in base.simidx";
    assert!(text.lines().any(|line| line == missing), "{text}");
    let kept = dump(&sandbox, &["new.simidx"]);
    assert_eq!(lines_of(&kept, "page 7"), ["ffffffffffffff00\tpage 7"]);
    assert_eq!(lines_of(&kept, "page new").len(), 1);

    sandbox.write("old.hex", "0\n1\n");
    let from = [
        "--exclude-from",
        "base.simidx",
        "old.hex",
        "--json",
        "--force",
    ];
    let report = sandbox.run(&[&MERGE[..], &from].concat()).done().json();
    assert_eq!(report["dropped_record_count"], 1);
    let of_base = serde_json::json!({
        "index": "base.simidx", "unmatched_id_count": 0, "unmatched_fingerprint_count": 1,
    });
    assert_eq!(report["exclude_from"], serde_json::json!([of_base]));
    let all = ["--exclude", "old.hex", "--json", "--force"];
    let report = sandbox.run(&[&MERGE[..], &all].concat()).done().json();
    assert_eq!(report["unmatched_fingerprint_count"], 1);
    assert_eq!(report["exclude_from"], serde_json::json!([]));
}

#[test]
fn lists_that_cannot_be_meant_are_refused() {
    let sandbox = with_delta();
    sandbox.write("list", "page 7\n");
    sandbox.write("plain.hex", "00\n");
    sandbox
        .run(&["build", "plain.hex", "-o", "plain.simidx"])
        .done();
    let twice = "base.simidx: --exclude-from: is given twice; name it in two ways";
    for (args, message) in [
        (
            &[
                "merge",
                "base.simidx",
                "-o",
                "m",
                "--exclude-from",
                "x",
                "list",
            ][..],
            "x: --exclude-from: is none of the indexes; name one as it is named among them",
        ),
        (
            &[
                "merge",
                "base.simidx",
                "base.simidx",
                "-o",
                "m",
                "--exclude-from",
                "base.simidx",
                "list",
            ],
            twice,
        ),
        (
            &["merge", "plain.simidx", "-o", "m", "--newest-wins"],
            "which record is the newest is known by ids, and the segments have none",
        ),
        (
            &["merge", "base.simidx", "plain.simidx", "-o", "m"],
            "base.simidx and plain.simidx differ in the kind of their ids: string and none; \
             build one again with ids like those of the other",
        ),
        (
            &["query", "base.simidx", "00", "--exclude-by", "id"],
            "--exclude-by says what a list holds; give one with --exclude",
        ),
        (
            &["query", "base.simidx", "00", "--exclude", "list"],
            "list:1: \"page 7\" is not a hexadecimal number",
        ),
        (
            &[
                "query",
                "plain.simidx",
                "00",
                "--exclude",
                "list",
                "--exclude-by",
                "id",
            ],
            "list:1: is an id, but the index stores no ids",
        ),
        (
            &["pairs", "--input", "hex", "plain.hex", "--exclude", "list"],
            "--exclude leaves records out of indexes; it cannot be used with records",
        ),
        (
            &["dedup", "plain.hex", "-o", "m", "--exclude", "list"],
            "--exclude leaves records out of indexes; name them with --against",
        ),
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(ran.stderr, format!("simidx: {message}\n"), "{args:?}");
    }
}

/// Compares the output of each command for base, delta and a deletion list with that for the merge of all three.
#[test]
fn commands_answer_as_after_the_merge_that_leaves_the_list_out() {
    let sandbox = with_delta();
    let near = "9e3779b97f4a7c14\ndaa66d2c7ddf743f\nffffffffffffff01\n";
    sandbox.write("queries.hex", near);
    sandbox.write("ids.txt", "page 1\npage new\npage 3\n");
    sandbox.write("fingerprints.hex", "9e3779b97f4a7c15\nffffffffffffff03\n");
    for (list, by) in [("ids.txt", "id"), ("fingerprints.hex", "fingerprint")] {
        let out = ["--exclude", list, "--exclude-by", by];
        sandbox
            .run(&[&MERGE[..], &out, &["--force"]].concat())
            .done();
        for command in [
            &[
                "query",
                "INDEX",
                "9e3779b97f4a7c15",
                "ffffffffffffff01",
                "-k",
                "3",
            ][..],
            &[
                "query",
                "INDEX",
                "ffffffffffffff01",
                "--nearest",
                "4",
                "--json",
            ],
            &["query", "INDEX", "--id", "page 7", "-k", "3"],
            &["join", "INDEX", "queries.hex", "-k", "2"],
            &[
                "join",
                "INDEX",
                "queries.hex",
                "-k",
                "2",
                "--strategy",
                "probe",
                "--json",
            ],
            &["pairs", "INDEX", "-k", "12", "--sort"],
            &["pairs", "INDEX", "-k", "12", "--by", "id", "--sort"],
            &["clusters", "INDEX", "-k", "12"],
            &[
                "clusters",
                "INDEX",
                "-k",
                "12",
                "--summary",
                "--min-size",
                "1",
            ],
            &["dump", "INDEX"],
            &["dump", "INDEX", "--json"],
        ] {
            let with = |indexes: &[&'static str]| -> Vec<&str> {
                let words = command.iter().flat_map(|word| match *word {
                    "INDEX" => indexes.to_vec(),
                    word => vec![word],
                });
                words.collect()
            };
            let live = [&with(&["base.simidx", "delta.simidx"])[..], &out].concat();
            let live = sandbox.run(&live);
            let merged = sandbox.run(&with(&["new.simidx"]));
            assert_eq!(live.stderr, merged.stderr, "{command:?}");
            assert_eq!(live.code, merged.code);
            assert!(live.stdout == merged.stdout, "{command:?} {by}");
        }
        let from = [[
            "--exclude-from",
            "base.simidx",
            list,
            "--exclude-from",
            "delta.simidx",
            list,
        ]]
        .concat();
        let both = ["dump", "base.simidx", "delta.simidx", "--exclude-by", by];
        let live = sandbox.run(&[&both[..], &from].concat()).done();
        assert!(live.stdout == sandbox.run(&["dump", "new.simidx"]).done().stdout);
        let dedup = [
            "dedup",
            "queries.hex",
            "--input",
            "hex",
            "-o",
            "kept",
            "--force",
        ];
        let against = ["--against", "base.simidx", "delta.simidx"];
        sandbox.run(&[&dedup[..], &against, &out].concat());
        let kept = sandbox.read("kept");
        sandbox.run(&[&dedup[..], &["--against", "new.simidx"]].concat());
        assert!(kept == sandbox.read("kept") && !kept.is_empty());
    }
}

#[test]
fn an_id_that_is_left_out_cannot_be_asked_for() {
    let sandbox = with_delta();
    sandbox.write("ids.txt", "page 1\n");
    let out = ["--exclude", "ids.txt", "--exclude-by", "id"];
    let ran = sandbox.run(&[&["query", "base.simidx", "--id", "page 1"], &out[..]].concat());
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "simidx: no record has the id \"page 1\"\n");
    // No other record is at distance 0.
    let query = ["query", "base.simidx", "9e3779b97f4a7c15", "-k", "0"];
    sandbox.run(&query).done();
    sandbox.run(&[&query, &out[..]].concat()).no();
}
