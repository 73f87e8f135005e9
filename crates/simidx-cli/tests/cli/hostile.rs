//! Ids with characters that break lines or move the cursor: printed with escapes, and read back unchanged.

use std::collections::BTreeSet;

use simidx::{Index, Set, Width};

use crate::support::{Ran, Sandbox};

/// Ids of one record each; the last one forges a line of the output unless it is escaped.
const IDS: [&str; 14] = [
    "plain",
    " spaces ",
    "\\",
    "a\\tb",
    "tab\there",
    "cr\rover",
    "\0",
    "\u{7f}",
    "\u{85}\u{9b}31m",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{2028}\u{2029}",
    "\u{202e}turned",
    "汉字\n",
    "x\n0000000000000000\t0000000000000000\t0\tFORGED",
];

/// Returns an index of these ids, all with the fingerprint 7.
fn sandbox() -> Sandbox {
    let record = |id| serde_json::json!({ "fingerprint": "7", "id": id }).to_string() + "\n";
    let lines: String = IDS.iter().map(record).collect();
    Sandbox::with_index(("ids.jsonl", lines.as_bytes()), &[])
}

/// Returns the lines, after checking that they do not move a cursor.
#[track_caller]
fn tame(ran: &Ran) -> Vec<&str> {
    let moves =
        |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}'..='\u{202e}');
    assert!(!ran.text().contains(moves), "{ran:?}");
    ran.lines()
}

fn unescaped(column: &str) -> String {
    simidx_input::unescape(column).unwrap().into_owned()
}

/// Checks that a column of the lines contains the ids, and that all lines have `columns` columns.
#[track_caller]
fn check_column(lines: &[&str], column: usize, columns: usize) {
    let mut ids = BTreeSet::new();
    for line in lines {
        assert_eq!(line.split('\t').count(), columns, "{line}");
        ids.insert(unescaped(line.split('\t').nth(column).unwrap()));
    }
    assert_eq!(ids, BTreeSet::from(IDS.map(str::to_owned)));
}

#[test]
fn no_id_breaks_a_line() {
    let sandbox = sandbox();
    for (args, column, columns) in [
        (&["query", "x.simidx", "7"][..], 3, 4),
        (&["dump", "x.simidx"], 1, 2),
        (&["clusters", "x.simidx"], 2, 3),
        (&["clusters", "ids.jsonl", "--input", "jsonl"], 2, 3),
        (&["join", "x.simidx", "seven.hex"], 3, 4),
    ] {
        sandbox.write("seven.hex", "7\n");
        let ran = sandbox.run(args).done();
        let lines = tame(&ran);
        assert_eq!(lines.len(), IDS.len(), "{args:?}");
        check_column(&lines, column, columns);
    }
    for source in [&["x.simidx"][..], &["ids.jsonl", "--input", "jsonl"]] {
        let pairs = [&["pairs", "--by", "id"], source].concat();
        let ran = sandbox.run(&pairs).done();
        let lines = tame(&ran);
        assert_eq!(lines.len(), IDS.len() * (IDS.len() - 1) / 2);
        assert!(lines.iter().all(|line| line.split('\t').count() == 3));
    }
}

#[test]
fn what_dump_prints_is_built_again() {
    let sandbox = sandbox();
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    for format in ["tsv", "hex"] {
        let build = ["build", "--input", format, "-o", "y", "--force"];
        assert_eq!(sandbox.pipe(&build, &dumped.stdout).code, Some(0));
        assert!(sandbox.read("y") == sandbox.read("x.simidx"), "{format}");
    }
    let index = Index::<u64>::open(sandbox.path("y")).unwrap();
    let ids = index.ids(&index.query(7, 0).unwrap()[0]).unwrap();
    let ids: Vec<String> = ids.map(|id| id.unwrap().to_string()).collect();
    let mut expected = IDS;
    expected.sort_unstable();
    assert_eq!(ids, expected);
}

#[test]
fn an_argument_is_the_id_itself() {
    let sandbox = sandbox();
    for id in IDS.into_iter().filter(|id| !id.contains('\0')) {
        let query = ["query", "x.simidx", "--id", id, "-k", "0", "--query-ids"];
        let ran = sandbox.run(&query).done();
        for line in tame(&ran) {
            assert_eq!(unescaped(line.rsplit_once('\t').unwrap().1), id);
        }
    }
}

#[test]
fn documents_keep_their_ids() {
    let sandbox = Sandbox::new();
    let record =
        |id: &str| serde_json::json!({ "text": "one text for all", "id": id }).to_string() + "\n";
    sandbox.write(
        "docs.jsonl",
        IDS.iter().map(|id| record(id)).collect::<String>(),
    );
    let ran = sandbox.run(&["fingerprint", "docs.jsonl"]).done();
    check_column(&tame(&ran), 1, 2);
    // The printed form is read back correctly.
    sandbox.write("docs.tsv", &ran.stdout);
    let build = ["build", "docs.tsv", "-o", "x"];
    sandbox.run(&build).done();
    let set = Set::map_file(sandbox.path("x")).unwrap();
    assert_eq!((set.width(), set.record_count()), (Width::W64, 14));

    let dedup = [
        "dedup",
        "docs.jsonl",
        "-o",
        "kept",
        "--report",
        "report.tsv",
    ];
    assert_eq!(sandbox.run(&dedup).code, Some(0));
    let report = String::from_utf8(sandbox.read("report.tsv")).unwrap();
    let mut dropped: Vec<String> = report
        .lines()
        .map(|line| unescaped(line.split('\t').next().unwrap()))
        .collect();
    dropped.push("plain".into());
    dropped.sort_unstable();
    let mut expected = IDS;
    expected.sort_unstable();
    assert_eq!(dropped, expected);
}

#[test]
fn lists_of_ids_are_read_as_they_are_printed() {
    let sandbox = sandbox();
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    let ids: String = dumped
        .lines()
        .iter()
        .map(|line| line.split_once('\t').unwrap().1.to_owned() + "\n")
        .collect();
    sandbox.write("ids.txt", &ids);
    let merge = [
        "merge",
        "x.simidx",
        "--exclude",
        "ids.txt",
        "--exclude-by",
        "id",
        "-o",
        "y",
        "--json",
    ];
    let report = sandbox.run(&merge).done().json();
    assert_eq!(report["dropped_record_count"], IDS.len());
    assert_eq!(report["unmatched_id_count"], 0);

    sandbox.write("bad.txt", "a\\d\n");
    let merge = [
        "merge",
        "x.simidx",
        "--exclude",
        "bad.txt",
        "--exclude-by",
        "id",
        "-o",
        "z",
    ];
    let message = r#"bad.txt:1: the id "a\\d": \d is not an escape; a backslash is written \\"#;
    sandbox.run(&merge).refused(message);
}

#[cfg(unix)]
#[test]
fn paths_are_ids_too() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("docs")).unwrap();
    let name = "docs/a\nb\t\u{1b}[31m.txt";
    sandbox.write(name, "some text that is in no other file");
    let ran = sandbox.run(&["fingerprint", "docs"]).done();
    assert_eq!(unescaped(tame(&ran)[0].split_once('\t').unwrap().1), name);
    let dedup = ["dedup", "docs", "-o", "kept"];
    assert_eq!(sandbox.run(&dedup).code, Some(0));
    let kept = String::from_utf8(sandbox.read("kept")).unwrap();
    assert_eq!(unescaped(kept.trim_end()), name);
}

#[test]
fn backslashes_that_escape_nothing_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.tsv", "1\tC:\\dir\n");
    let message = r#"a.tsv:1: id "C:\\dir": \d is not an escape; a backslash is written \\"#;
    sandbox.run(&["build", "a.tsv", "-o", "x"]).refused(message);
}
