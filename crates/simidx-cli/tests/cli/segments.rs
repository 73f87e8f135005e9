//! Several index files as one set, in every command that reads an index.

use crate::support::{Sandbox, hex, keys, newer, sample};
use serde_json::json;

/// The offset of the blocks of table 0, with blocks of 512 bytes.
const FIRST_BLOCK: usize = 512;

/// Builds `name` from `input` with additional arguments.
#[track_caller]
fn build(sandbox: &Sandbox, name: &str, input: &str, args: &[&str]) {
    sandbox.write("input", input);
    let build = ["build", "input", "--input", "tsv", "-o", name];
    sandbox.run(&[&build, args].concat()).done();
}

/// Returns lines of a fingerprint and an id. Some fingerprints are repeated.
fn records() -> Vec<String> {
    let values = sample(900);
    let line = |(i, value): (usize, &u64)| {
        let value = if i % 7 == 0 { values[i / 50] } else { *value };
        format!("{value:016x}\t{}\n", i * 37 % 1000)
    };
    values.iter().enumerate().map(line).collect()
}

/// Returns a sandbox with the records in `all`, and distributed over `s1`, `s2` and `s3` of other designs.
fn dealt(ids: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let records = records();
    let share = |n: usize| {
        records
            .iter()
            .skip(n)
            .step_by(3)
            .cloned()
            .collect::<String>()
    };
    build(&sandbox, "all", &records.concat(), &["--ids", ids]);
    for (name, part, args) in [
        ("s1", share(0), ["--tables", "4", "--codec", "xor"]),
        ("s2", share(1), ["--tables", "1", "--codec", "ef"]),
        ("s3", share(2), ["--tables", "2", "--block-size", "128"]),
    ] {
        build(
            &sandbox,
            name,
            &part,
            &[&["--ids", ids], &args[..]].concat(),
        );
    }
    sandbox
}

#[test]
fn query_and_dump_answer_as_from_one_file() {
    let queries = hex(&sample(900)[..80]);
    for ids in ["none", "number", "string"] {
        let sandbox = dealt(ids);
        for json in [&[][..], &["--json"], &["--no-mmap"]] {
            let query = |files: &[&str], rest: &[&str]| {
                let args = [&["query"], files, rest, json].concat();
                sandbox.pipe(&args, &queries).done().stdout
            };
            let dump = |files: &[&str]| {
                let args = [&["dump"], files, json].concat();
                sandbox.run(&args).done().stdout
            };
            for distance in ["0", "3", "9"] {
                let expected = query(&["all"], &["-k", distance]);
                assert!(expected.len() > queries.len(), "most queries match");
                let found = query(&["s1", "s2", "s3"], &["-k", distance]);
                assert!(found == expected, "{ids}, {json:?}, {distance}");
                let found = query(&["s3", "s1", "s2", "-"], &["-k", distance]);
                assert!(found == expected, "{ids}, {json:?}, {distance}");
            }
            assert!(
                dump(&["s1", "s2", "s3"]) == dump(&["all"]),
                "{ids}, {json:?}"
            );
            assert!(dump(&["s1", "s2"]) != dump(&["all"]), "{ids}, {json:?}");
        }
    }
}

#[test]
fn a_file_given_twice_gives_its_ids_twice() {
    let sandbox = Sandbox::new();
    build(&sandbox, "x", "1\tb\n1\ta\n", &[]);
    let (one, ran) = ("0000000000000001", sandbox.run(&["query", "x", "x", "1"]));
    let lines = ["a", "a", "b", "b"].map(|id| format!("{one}\t{one}\t0\t{id}"));
    assert_eq!(ran.done().lines(), lines);
}

#[test]
fn the_distance_is_the_smallest_of_the_files_unless_named() {
    let sandbox = Sandbox::new();
    build(&sandbox, "x", "0\n1\n3\n", &["-k", "2"]);
    build(&sandbox, "y", "7\n3\n", &["-k", "1"]);
    let matches = |args: &[&str]| {
        let ran = sandbox.run(&[&["query"], args].concat()).done();
        ran.lines().len()
    };
    assert_eq!(matches(&["x", "y", "0"]), 2);
    assert_eq!(matches(&["x", "0"]), 3);
    assert_eq!(matches(&["y", "x", "0", "-k", "3"]), 4);
}

#[test]
fn stats_are_sums() {
    let sandbox = dealt("none");
    let stats = |files: &[&str]| {
        let args = [&["query"], files, &["1f", "--stats", "--json"]].concat();
        let object = sandbox.run(&args).no().json();
        ["probes", "blocks", "candidates"].map(|key| object[key].as_u64().unwrap())
    };
    let (a, b, c) = (stats(&["s1"]), stats(&["s2"]), stats(&["s3"]));
    let sums = [0, 1, 2].map(|i| a[i] + b[i] + c[i]);
    assert!(sums[0] >= 3);
    assert_eq!(stats(&["s1", "s2", "s3"]), sums);
}

#[test]
fn what_can_be_a_fingerprint_is_none_of_the_files() {
    let sandbox = Sandbox::new();
    build(&sandbox, "x", "beef\n", &[]);
    build(&sandbox, "beef", "1234\n", &[]);
    build(&sandbox, "4660", "1\n", &[]);
    build(&sandbox, "12345678901234567", "1234\n", &[]);
    let run = |args: &[&str]| {
        let ran = sandbox.run(&[&["query", "x"], args, &["-k", "0"]].concat());
        ran.lines().len()
    };
    assert_eq!(run(&["beef"]), 1);
    assert_eq!(run(&["beef", "1234"]), 1);
    assert_eq!(run(&["./beef", "1234"]), 1);
    assert_eq!(run(&["./beef", "1234", "beef"]), 2);
    // A file between fingerprints, or with a name too long for a fingerprint.
    assert_eq!(run(&["1234", "./beef", "beef"]), 2);
    assert_eq!(run(&["1234", "12345678901234567"]), 1);
    assert_eq!(run(&["--input", "dec", "4660"]), 0);
    assert_eq!(run(&["--input", "dec", "beef", "4660"]), 1);
    let none = "nor a file";
    let long = "1".repeat(5000);
    let hexadecimal = "is neither a hexadecimal number of at most 64 bits";
    for (args, message) in [
        (&["xyz"][..], format!(r#""xyz" {hexadecimal} {none}"#)),
        (&["x/y"], format!(r#""x/y" {hexadecimal} {none}"#)),
        (&[&long], format!(r#""{long}" {hexadecimal} {none}"#)),
        (&["1", "./no"], format!(r#""./no" {hexadecimal} {none}"#)),
        (
            &["--input", "dec", "1f"],
            format!(r#""1f" is neither a decimal number of at most 64 bits {none}"#),
        ),
        (
            &["1", "-"],
            "fingerprints are arguments or, with -, read from standard input, not both".into(),
        ),
        (&["."], ".: is a directory".into()),
    ] {
        let ran = sandbox.run(&[&["query", "x"], args].concat());
        ran.refused(&message);
    }
}

#[test]
fn documents_and_raw_words_are_asked_of_several_files() {
    let sandbox = Sandbox::new();
    for (name, text) in [("x", "the quick brown fox"), ("y", "the lazy dog sleeps")] {
        let document = json!({ "id": name, "text": text });
        sandbox.write("d.jsonl", document.to_string());
        sandbox.run(&["build", "d.jsonl", "-o", name]).done();
    }
    let text = ["query", "x", "--text", "the lazy dog sleeps", "y"];
    let ran = sandbox.run(&text).done();
    assert!(ran.text().ends_with("\t0\ty\n"), "{ran:?}");
    for input in [&[][..], &["--input", "jsonl"]] {
        let args = ["query", "x", "y", "--documents", "d.jsonl"];
        let ran = sandbox.run(&[&args, input].concat()).done();
        assert!(ran.text().ends_with("\t0\ty\n"), "{ran:?}");
    }
    for word in ["1", "-"] {
        for option in [["--text", "a"], ["--documents", "d.jsonl"]] {
            let args = [&["query", "x", "y", word], &option[..]].concat();
            sandbox.run(&args).refused(
                "fingerprints cannot be used with --id, --text or --documents; see --help",
            );
        }
    }
    sandbox.write("q.le", 5u64.to_le_bytes());
    let bytes = sandbox.read("q.le");
    sandbox
        .pipe(&["query", "x", "y", "--input", "le"], &bytes)
        .no();
    sandbox
        .run(&["query", "x", "1f", "--input", "le"])
        .refused("--input le is not for arguments, which are hex or dec");
}

#[test]
fn info_adds_up_what_can_be_added() {
    let sandbox = dealt("number");
    let info = |files: &[&str]| {
        let args = [&["info"], files, &["--json"]].concat();
        sandbox.run(&args).done().json()
    };
    let single = ["s1", "s2", "s3"].map(|name| info(&[name]));
    let total = info(&["s1", "s2", "s3"]);
    assert_eq!(
        keys(&total),
        [
            "bits_per_fingerprint",
            "file_bytes",
            "fingerprint_count",
            "format_version",
            "id_kind",
            "max_distance",
            "pipeline",
            "ratio_to_raw",
            "raw_bytes",
            "record_count",
            "segments",
            "width"
        ]
    );
    for key in [
        "record_count",
        "fingerprint_count",
        "file_bytes",
        "raw_bytes",
    ] {
        let sum: u64 = single.iter().map(|one| one[key].as_u64().unwrap()).sum();
        assert_eq!(total[key], sum, "{key}");
    }
    assert_eq!(total["record_count"], records().len());
    let figure = |key: &str| total[key].as_f64().unwrap();
    let bytes = figure("file_bytes");
    let bits = bytes * 8.0 / figure("fingerprint_count");
    for (key, value) in [
        ("ratio_to_raw", bytes / figure("raw_bytes")),
        ("bits_per_fingerprint", bits),
    ] {
        let found = figure(key);
        assert!((found / value - 1.0).abs() < 1e-9, "{key}: {found}");
    }
    for key in ["width", "max_distance", "id_kind", "pipeline"] {
        assert_eq!(total[key], single[0][key], "{key}");
    }
    for (i, name) in ["s1", "s2", "s3"].into_iter().enumerate() {
        let mut report = total["segments"][i].clone();
        let path = report.as_object_mut().unwrap().remove("path");
        assert_eq!((path, &report), (Some(json!(name)), &single[i]));
    }

    let people = sandbox.run(&["info", "s1", "s2"]).done();
    assert_eq!(people.lines()[0], "index files             2");
    let own = ["s1", "s2"].map(|name| {
        let ran = sandbox.run(&["info", name]).done();
        format!("\n{name}:\n{}", ran.text())
    });
    assert!(people.text().ends_with(&own.concat()), "{people:?}");
}

#[test]
fn an_empty_file_goes_with_any() {
    let sandbox = Sandbox::new();
    build(&sandbox, "empty", "", &[]);
    build(&sandbox, "x", "1\ta\n", &["-k", "4"]);
    let one = "0000000000000001";
    for files in [["empty", "x"], ["x", "empty"]] {
        let ran = sandbox.run(&[&["query"], &files[..], &["1"]].concat());
        assert_eq!(ran.done().text(), format!("{one}\t{one}\t0\ta\n"));
        let ran = sandbox.run(&[&["dump"], &files[..]].concat());
        assert_eq!(ran.done().text(), format!("{one}\ta\n"));
        let ran = sandbox.run(&[&["info"], &files[..], &["--json"]].concat());
        let info = ran.done().json();
        let found = (
            &info["id_kind"],
            &info["record_count"],
            &info["max_distance"],
        );
        assert_eq!(found, (&json!("string"), &json!(1), &json!(3)));
    }
}

#[test]
fn verify_tells_of_each_file() {
    let sandbox = dealt("number");
    // Each separately, because they could not be searched together.
    build(&sandbox, "wide", "1\n", &["--width", "128"]);
    let ran = sandbox.run(&["verify", "s1", "wide", "s2"]).done();
    let names: Vec<&str> = ran
        .lines()
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(names, ["s1:", "wide:", "s2:"]);

    let mut bytes = sandbox.read("s2");
    bytes[FIRST_BLOCK + 100] ^= 1;
    sandbox.write("s2", &bytes);
    sandbox.write("cut", &bytes[..bytes.len() - 1]);
    let ran = sandbox.run(&["verify", "s1", "s2", "cut", "s3"]).no();
    let starts = [
        "s1: sound (",
        "s2: damaged index: ",
        "cut: damaged index: ",
        "s3: sound (",
    ];
    assert_eq!(ran.lines().len(), 4, "{ran:?}");
    for (line, start) in ran.lines().iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let args = ["verify", "s1", "s2", "cut", "s3", "--json"];
    let verdict = sandbox.run(&args).no().json();
    assert_eq!(keys(&verdict), ["segments", "sound"]);
    assert_eq!(verdict["sound"], false);
    let segments = verdict["segments"].as_array().unwrap();
    let told: Vec<_> = segments.iter().map(|s| (&s["path"], &s["sound"])).collect();
    let expected = json!([["s1", true], ["s2", false], ["cut", false], ["s3", true]]);
    assert_eq!(json!(told), expected);
    for (segment, name) in segments.iter().zip(["s1", "s2", "cut", "s3"]) {
        let alone = sandbox.run(&["verify", name, "--json"]).json();
        for key in keys(&alone) {
            assert_eq!(segment[key], alone[key], "{name}, {key}");
        }
    }
    let verdict = sandbox.run(&["verify", "s1", "s3", "--json"]).done().json();
    assert_eq!(verdict["sound"], true);
}

#[test]
fn verify_refuses_what_is_no_index_before_it_checks_any() {
    let sandbox = dealt("number");
    sandbox.write("text", "some text\n");
    sandbox.write("new", newer(sandbox.read("s1")));
    for (bad, start) in [
        ("text", "text: not a simidx file: "),
        ("new", "new: needs a newer simidx: "),
        ("no", "no: No such file or directory"),
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = sandbox.run(&[&["verify", "s1", bad, "s2"], json].concat());
            assert!(ran.refusal().starts_with(start), "{ran:?}");
        }
    }
}

#[test]
fn the_damaged_file_among_several_is_named() {
    let sandbox = dealt("number");
    let whole = sandbox.read("s2");
    let mut bytes = whole.clone();
    bytes[FIRST_BLOCK + 100] ^= 1;
    sandbox.write("s2", &bytes);
    let mut cut = whole;
    cut.pop();
    sandbox.write("cut", cut);
    for bad in ["s2", "cut"] {
        for args in [
            &["query", "s1", bad, "s3", "0", "-k", "64"][..],
            &["query", "s1", bad, "0", "-k", "64", "--json"],
            &["dump", "s1", bad],
            &["bench", "s1", bad],
        ] {
            let ran = sandbox.run(args);
            assert_eq!(ran.code, Some(2), "{ran:?}");
            let start = format!("simidx: {bad}: damaged index: ");
            assert!(ran.stderr.starts_with(&start), "{args:?}: {ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        }
    }
    sandbox.run(&["info", "s1", "s2"]).done();
}

#[test]
fn files_that_do_not_go_together_are_refused_by_name() {
    let sandbox = Sandbox::new();
    build(&sandbox, "x", "1\ta\n", &[]);
    build(&sandbox, "plain", "1\n", &[]);
    build(&sandbox, "number", "1\t5\n", &["--ids", "number"]);
    build(&sandbox, "wide", "1\ta\n", &["--width", "128"]);
    sandbox.write("d.jsonl", r#"{"id":"a","text":"some words"}"#);
    sandbox.run(&["build", "d.jsonl", "-o", "words"]).done();
    for (other, message) in [
        (
            "plain",
            "x and plain differ in the kind of their ids: string and none; build one again with ids like those of the other",
        ),
        (
            "number",
            "x and number differ in the kind of their ids: string and number; build one again with ids like those of the other",
        ),
        (
            "wide",
            "x and wide differ in their width: 64 and 128; fingerprints of different widths cannot be compared",
        ),
        (
            "words",
            "x and words differ in their text pipelines: none and ",
        ),
        ("no", "no: No such file or directory"),
    ] {
        for args in [
            &["query", "x", other, "1"][..],
            &["info", "x", other],
            &["dump", "x", "x", other],
            &["bench", "x", other],
        ] {
            // A missing file could be a mistyped fingerprint.
            if (args[0], other) != ("query", "no") {
                let ran = sandbox.run(args);
                assert!(ran.refusal().starts_with(message), "{ran:?}");
            }
        }
    }
}

#[test]
fn other_tables_are_dumped_where_all_files_have_their_order() {
    let sandbox = Sandbox::new();
    let records = records();
    let (first, second) = records.split_at(400);
    for (name, part) in [("all", &records[..]), ("a", first), ("b", second)] {
        build(&sandbox, name, &part.concat(), &["--tables", "4"]);
    }
    build(&sandbox, "other", "1\ta\n", &["--tables", "10"]);
    build(&sandbox, "small", "1\ta\n", &["--tables", "1"]);
    let dump = |files: &[&str], args: &[&str]| {
        let ran = sandbox.run(&[&["dump"], files, args].concat());
        ran.done().stdout
    };
    for table in ["0", "1", "2", "3"] {
        for args in [&["--table", table][..], &["--table", table, "--permuted"]] {
            let expected = dump(&["all"], args);
            assert!(dump(&["a", "b"], args) == expected, "{args:?}");
        }
    }
    // Table 0 has the same order in all designs.
    let args = ["other", "small", "a"];
    assert!(dump(&args, &["--permuted"]) == dump(&args, &[]));
    let ran = sandbox.run(&["dump", "a", "other", "--table", "1"]);
    let message = "a and other differ in the prefix mask of table 1: 0xffff00000000 and ";
    assert!(ran.refusal().starts_with(message), "{ran:?}");
    sandbox
        .run(&["dump", "a", "small", "--table", "1"])
        .refused("small: there is no table 1, the index has 1, numbered from 0");
}

#[test]
fn bench_asks_all_files_together() {
    let sandbox = dealt("none");
    let bench = |files: &[&str], args: &[&str]| {
        let bench = ["--json", "--count", "300"];
        let args = [&["bench"], files, &bench, args].concat();
        sandbox.run(&args).done().json()
    };
    let report = bench(&["s1", "s2", "s3"], &[]);
    // Half of the queries are members with 0 to 5 flipped bits, more than a third of which match.
    assert!(report["matches"].as_u64().unwrap() > 50, "{report}");
    for args in [&["--threads", "2"][..], &["--cold"], &["--no-mmap"]] {
        let again = bench(&["s1", "s2", "s3"], args);
        assert_eq!(again["matches"], report["matches"], "{args:?}");
    }
    // Every member is searched in every file.
    let queries = hex(&sample(900));
    sandbox.write("q.hex", &queries);
    let args = ["--queries", "q.hex", "-k", "3", "--json"];
    let matches = |files: &[&str]| {
        let args = [&["bench"], files, &args].concat();
        sandbox.run(&args).done().json()["matches"].clone()
    };
    assert_eq!(matches(&["s1", "s2", "s3"]), matches(&["all"]));
    assert_ne!(matches(&["s1", "s2"]), matches(&["all"]));
}

#[test]
fn bench_samples_members_of_every_file() {
    let sandbox = Sandbox::new();
    // The first files contain matches only by chance.
    build(&sandbox, "empty", "", &[]);
    build(&sandbox, "one", "1\n", &[]);
    build(
        &sandbox,
        "many",
        &records().concat().replace('\t', "0\t"),
        &["--ids", "none", "--width", "128"],
    );
    build(&sandbox, "few", "1\n", &["--width", "128"]);
    for files in [["few", "many"], ["many", "few"]] {
        let args = [&["bench", "--json", "--count", "200"], &files[..]].concat();
        let report = sandbox.run(&args).done().json();
        assert!(report["matches"].as_u64().unwrap() > 33, "{report}");
    }
    let args = ["bench", "empty", "one", "--json", "--count", "40"];
    let report = sandbox.run(&args).done().json();
    let matches = report["matches"].as_u64().unwrap();
    assert!((5..=20).contains(&matches), "{matches}");
}

#[test]
fn equal_ids_come_as_often_as_there_are_records() {
    let sandbox = Sandbox::new();
    build(&sandbox, "x", "1\t5\n1\t5\n1\t9\n", &["--ids", "number"]);
    build(&sandbox, "y", "1\t5\n1\t7\n1\t9\n", &["--ids", "number"]);
    let ids = json!([5, 5, 5, 7, 9, 9]);
    let ran = sandbox.run(&["query", "x", "y", "1", "--json", "--stats"]);
    let found = ran.done().json();
    assert_eq!(found["matches"][0]["ids"], ids);
    assert_eq!(keys(&found).len(), 5);
    let ran = sandbox.run(&["dump", "y", "x", "--json"]);
    assert_eq!(ran.done().json()["ids"], ids);
    sandbox.write("q", "1\n3\n");
    let ran = sandbox.run(&["join", "x", "y", "q", "--json"]).done();
    for line in ran.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["matches"][0]["ids"], ids);
    }
}
