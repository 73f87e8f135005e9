//! `simidx merge`: merges the files of several builds into the file of a single build.

use crate::support::Sandbox;

/// Returns the documents of a day. Consecutive days overlap.
fn day(number: u64) -> String {
    (number * 50..number * 50 + 80).fold(String::new(), |mut text, i| {
        use std::fmt::Write;
        let fingerprint = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(text, "{fingerprint:016x}\tpage {i}").unwrap();
        text
    })
}

fn with_days() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..3 {
        let name = format!("day{number}.tsv");
        sandbox.write(&name, day(number));
        let out = format!("day{number}.simidx");
        sandbox
            .run(&["build", &name, "-o", &out, "--tables", "2"])
            .done();
    }
    let all = [
        "build",
        "day0.tsv",
        "day1.tsv",
        "day2.tsv",
        "-o",
        "all.simidx",
        "--tables",
        "2",
    ];
    sandbox.run(&all).done();
    sandbox
}

const DAYS: [&str; 4] = ["merge", "day0.simidx", "day1.simidx", "day2.simidx"];

#[test]
fn a_merge_is_the_build_of_all_inputs() {
    let sandbox = with_days();
    let ran = sandbox
        .run(&[&DAYS[..], &["-o", "merged.simidx", "--json"]].concat())
        .done();
    assert!(sandbox.read("merged.simidx") == sandbox.read("all.simidx"));
    let report = ran.json();
    assert_eq!(report["segment_count"], 3);
    assert_eq!(
        (&report["record_count"], &report["dropped_record_count"]),
        (&240.into(), &0.into())
    );
    sandbox.run(&["verify", "merged.simidx"]).done();
    // To standard output, with the report on stderr.
    let ran = sandbox.run(&[&DAYS[..], &["-o", "-"]].concat());
    assert!(ran.code == Some(0) && ran.stdout == sandbox.read("all.simidx"));
    assert!(ran.stderr.contains("left out"), "{}", ran.stderr);
}

#[test]
fn records_are_left_out_by_fingerprint() {
    let sandbox = with_days();
    let first = day(0)
        .lines()
        .take(60)
        .map(|line| line[..16].to_owned() + "\n")
        .collect::<String>();
    sandbox.write("gone", first);
    let merge = [
        &DAYS[..],
        &["-o", "m.simidx", "--exclude", "gone", "--json"],
    ]
    .concat();
    let report = sandbox.run(&merge).done().json();
    // Ten of the sixty are also in the second day.
    assert_eq!(report["dropped_record_count"], 70);
    assert_eq!(report["dropped_fingerprint_count"], 60);
    let kept: String = (0..3)
        .map(day)
        .collect::<String>()
        .lines()
        .filter(|line| !day(0).lines().take(60).any(|gone| gone == *line))
        .map(|line| line.to_owned() + "\n")
        .collect();
    sandbox.write("kept.tsv", kept);
    sandbox
        .run(&["build", "kept.tsv", "-o", "kept.simidx", "--tables", "2"])
        .done();
    assert!(sandbox.read("m.simidx") == sandbox.read("kept.simidx"));
}

#[test]
fn records_are_left_out_by_id() {
    let sandbox = with_days();
    sandbox.write("gone", "page 3\npage 70\nno such page\n");
    let by_id = ["-o", "m.simidx", "--exclude", "gone", "--exclude-by", "id"];
    sandbox.run(&[&DAYS[..], &by_id].concat()).done();
    let dump = sandbox.run(&["dump", "m.simidx"]).done().stdout;
    let dump = String::from_utf8(dump).unwrap();
    let names: Vec<&str> = dump
        .lines()
        .filter_map(|line| line.split('\t').nth(1))
        .collect();
    assert_eq!(names.len(), 240 - 3);
    assert!(!names.contains(&"page 3") && !names.contains(&"page 70"));
    sandbox.run(&["verify", "m.simidx"]).done();
}

#[test]
fn bad_exclusions_and_inputs_are_errors_that_leave_nothing() {
    let sandbox = with_days();
    sandbox.write("bad", "00\nxyz\n");
    sandbox.write("four.tsv", day(0));
    let numbers = [
        "build", "four.tsv", "-o", "n.simidx", "--ids", "none", "--tables", "2",
    ];
    sandbox.run(&numbers).done();
    let before = sandbox.names();
    for (args, message) in [
        (
            &["day0.simidx", "--exclude", "bad"][..],
            "bad:2: \"xyz\" is not a hexadecimal number",
        ),
        (
            &["day0.simidx", "--exclude", "none"],
            "none: No such file or directory (os error 2)",
        ),
        (
            &["n.simidx", "--exclude", "bad", "--exclude-by", "id"],
            "bad:1: is an id, but the index stores no ids",
        ),
        (
            &["day0.simidx", "--exclude", "day0.tsv"],
            "day0.tsv:1: has an id too, but all records of the fingerprint would be left out; remove the id",
        ),
        (
            &["day0.simidx", "--exclude-by", "id"],
            "--exclude-by says what a list holds; give one with --exclude",
        ),
        (
            &["day0.simidx", "--temp-dir", "nowhere"],
            "invalid value 'nowhere' for '--temp-dir <DIR>': No such file or directory",
        ),
        (
            &["day0.simidx", "four.tsv"],
            "four.tsv: not a simidx file: ",
        ),
        (&["day0.simidx", "--memory", "1MiB"], "sorting on "),
    ] {
        let ran = sandbox.run(&[&["merge", "-o", "m.simidx"], args].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.starts_with(&format!("simidx: {message}")),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stderr.lines().count(), 1);
    }
    assert_eq!(sandbox.names(), before);
}

#[test]
fn an_output_replaces_what_is_there_by_force_and_never_an_input() {
    let sandbox = with_days();
    let (all, day) = (sandbox.read("all.simidx"), sandbox.read("day0.simidx"));
    sandbox.write("old.simidx", "old");
    let merge =
        |output: &str, more: &[&str]| sandbox.run(&[&DAYS[..], &["-o", output], more].concat());
    merge("old.simidx", &[]).refused("old.simidx: already exists; use --force to replace it");
    merge("old.simidx", &["--force"]).done();
    assert!(sandbox.read("old.simidx") == all);
    let message = "day0.simidx: is an input, and no input is replaced; name another output";
    merge("day0.simidx", &["--force"]).refused(message);
    assert!(sandbox.read("day0.simidx") == day);
}
