//! `simidx build`: its inputs, its outputs and its report.

use simidx_testkit::le_bytes;

use crate::support::{Sandbox, gzip, hex, keys, sample};

#[test]
fn every_format_of_the_same_fingerprints_gives_the_same_bytes() {
    let values = sample(500);
    let lines = |line: fn(&u64) -> String| values.iter().map(line).collect::<String>();
    let le = le_bytes(&values);
    let inputs = [
        ("a.hex", hex(&values)),
        ("a.txt", lines(|v| format!("{v:X}\r\n")).into_bytes()),
        ("a.dec", lines(|v| format!("{v}\n")).into_bytes()),
        ("a.le", le.clone()),
        ("a.u64", le.clone()),
        (
            "a.tsv",
            lines(|v| format!("{v:016x}\tid {v}\n")).into_bytes(),
        ),
        (
            "a.jsonl",
            lines(|v| format!("{{\"fingerprint\": \"{v:x}\"}}\n")).into_bytes(),
        ),
        (
            "b.jsonl",
            lines(|v| format!("{{\"fingerprint\": {v}, \"id\": 1}}\n")).into_bytes(),
        ),
        ("a.hex.gz", gzip(&hex(&values))),
        ("b.txt", gzip(&hex(&values))),
        ("a.le.zst", zstd::encode_all(&le[..], 1).unwrap()),
    ];
    let sandbox = Sandbox::new();
    let mut first = None;
    for (name, bytes) in inputs {
        sandbox.write(name, bytes);
        let args = ["build", name, "-o", "x", "--ids", "none", "--force"];
        sandbox.run(&args).done();
        let built = sandbox.read("x");
        assert!(first.get_or_insert(built.clone()) == &built, "{name}");
    }
}

#[test]
fn standard_input_and_output_are_dashes() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n2\n"), &[]);
    for args in [
        &["build", "-", "--input", "hex", "-o", "-"][..],
        &["build", "-o", "-"],
    ] {
        let ran = sandbox.pipe(args, b"2\n1f\n");
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout == sandbox.read("x.simidx"));
        assert!(
            ran.stderr.contains("distinct fingerprints   2\n"),
            "{ran:?}"
        );
    }
    let ran = sandbox.pipe(&["build", "-", "--json", "-o", "-"], b"1f\n");
    let report: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(report["fingerprint_count"], 1);
    assert_eq!(sandbox.names(), ["a.hex", "x.simidx"]);
}

#[test]
fn several_inputs_are_read_one_after_the_other() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "a\nb\n");
    sandbox.write("b.dec", "12\n");
    let args = ["build", "a.hex", "b.dec", "-o", "x", "--ids", "number"];
    sandbox.run(&args).done();
    assert_eq!(
        sandbox.run(&["dump", "x"]).done().lines(),
        [
            "000000000000000a\t0",
            "000000000000000b\t1",
            "000000000000000c\t2"
        ]
    );
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&sample(20_000)));
    let documents: String = (0..2000)
        .map(|i| format!("document {i} of {}\n", i % 7))
        .collect();
    sandbox.write("a.lines", documents);
    for input in [
        &["a.hex", "--ids", "number", "--tables", "10"][..],
        &["a.lines", "--input", "lines"],
    ] {
        for (threads, out) in [("1", "one"), ("2", "two"), ("5", "five"), ("0", "all")] {
            let build = ["build", "--force", "-o", out, "--threads", threads];
            sandbox.run(&[&build, input].concat()).done();
            assert!(
                sandbox.read(out) == sandbox.read("one"),
                "{input:?} {threads}"
            );
        }
    }
}

#[test]
fn the_report_tells_the_size_and_the_time() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&[1, 2, 2, 3]));
    let build = [
        "build", "a.hex", "-o", "x", "--tables", "4", "--codec", "gap",
    ];
    let ran = sandbox.run(&build).done();
    let bytes = sandbox.read("x").len().to_string();
    let (thousands, rest) = bytes.split_at(bytes.len() - 3);
    for row in [
        "records                 4",
        "distinct fingerprints   3",
        "tables                  4",
        "codec                   gap",
        "bytes of a block        512",
        &format!("bytes of the files      {thousands},{rest}"),
        "bytes of fingerprints   24",
    ] {
        assert!(ran.lines().contains(&row), "{row}: {ran:?}");
    }
    assert!(ran.text().contains("\ntime   "), "{ran:?}");
}

#[test]
fn the_json_report_has_the_keys_of_info_and_those_of_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&sample(100)));
    let built = sandbox.run(&["build", "a.hex", "-o", "x", "--json"]).done();
    let built = built.json();
    let info = sandbox.run(&["info", "x", "--json"]).done().json();
    for key in keys(&info) {
        assert_eq!(built[key], info[key], "{key}");
    }
    let more = keys(&built)
        .into_iter()
        .filter(|key| info.get(key).is_none());
    assert_eq!(
        more.collect::<Vec<_>>(),
        [
            "memory_limit_bytes",
            "peak_memory_bytes",
            "replaced_count",
            "seconds",
            "skipped_count",
            "stage_seconds",
            "without_features_count"
        ]
    );
    assert_eq!(built["skipped_count"], 0);
    assert!(built["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn parameters_are_those_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&sample(60)));
    for (args, key, value) in [
        (&["--tables", "4"][..], "table_count", 4),
        (&["--tables", "10"], "table_count", 10),
        (&["--tables", "16"], "table_count", 16),
        (&["--tables", "20"], "table_count", 20),
        (&["--tables", "2"], "table_count", 2),
        (&["--tables", "auto"], "table_count", 1),
        (&["--block-size", "128"], "block_size", 128),
        (&["--block-size", "8192"], "block_size", 8192),
        (&["-k", "0"], "max_distance", 0),
        (&["-k", "12"], "max_distance", 12),
        (&["--width", "32", "--input", "lines"], "width", 32),
        (&["--width", "128"], "width", 128),
    ] {
        for codec in ["xor", "gap", "ef", "auto"] {
            let build = ["build", "a.hex", "-o", "x", "--force", "--json", "--codec"];
            let build = [&build, &[codec][..], args].concat();
            let report = sandbox.run(&build).done().json();
            assert_eq!(report[key], value, "{args:?}");
            assert!(codec == "auto" || report["codec"] == codec);
            sandbox.run(&["verify", "x"]).done();
        }
    }
}

#[test]
fn fingerprints_are_as_wide_as_asked_for() {
    for (width, shown) in [
        ("32", "00000abc"),
        ("64", "0000000000000abc"),
        ("128", "00000000000000000000000000000abc"),
    ] {
        let sandbox = Sandbox::with_index(("a.hex", b"ABC\n"), &["--width", width]);
        let dumped = sandbox.run(&["dump", "x.simidx"]).done();
        assert_eq!(dumped.text(), format!("{shown}\n"));
        let found = sandbox.run(&["query", "x.simidx", "abc"]).done();
        assert_eq!(found.text(), format!("{shown}\t{shown}\t0\n"));
    }
}

/// Returns the lines that `dump` prints of an index of this input, with only the last digit of fingerprints.
fn ids(name: &str, input: &str, args: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::with_index((name, input.as_bytes()), args);
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    dumped.lines().iter().map(|l| l[15..].to_owned()).collect()
}

#[test]
fn ids_are_of_the_kind_asked_for() {
    let plain = "2\nb\n2\n";
    assert_eq!(ids("a.hex", plain, &[]), ["2", "b"]);
    assert_eq!(ids("a.hex", plain, &["--ids", "none"]), ["2", "b"]);
    assert_eq!(
        ids("a.hex", plain, &["--ids", "number"]),
        ["2\t0", "2\t2", "b\t1"]
    );
    let named = "2\t10\nb\t7\n2\t9\n";
    for name in ["a.hex", "a.tsv"] {
        assert_eq!(ids(name, named, &[]), ["2\t10", "2\t9", "b\t7"]);
        assert_eq!(
            ids(name, named, &["--ids", "string"]),
            ["2\t10", "2\t9", "b\t7"]
        );
        assert_eq!(
            ids(name, named, &["--ids", "number"]),
            ["2\t9", "2\t10", "b\t7"]
        );
        assert_eq!(ids(name, named, &["--ids", "none"]), ["2", "b"]);
    }
    let json = "{\"fingerprint\":\"2\",\"id\":10}\n{\"fingerprint\":2,\"id\":\"9\"}\n";
    assert_eq!(ids("a.jsonl", json, &[]), ["2\t10", "2\t9"]);
    assert_eq!(
        ids("a.jsonl", json, &["--ids", "number"]),
        ["2\t9", "2\t10"]
    );
}

#[test]
fn documents_have_string_ids_of_their_own_or_their_positions() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"text\":\"a\",\"id\":\"b\"}\n{\"text\":\" a\"}\n",
    );
    sandbox.run(&["build", "a.jsonl", "-o", "x"]).done();
    let print = "0a4e5480ad4dd393";
    assert_eq!(
        sandbox.run(&["dump", "x"]).done().lines(),
        [format!("{print}\t1"), format!("{print}\tb")]
    );
    std::fs::create_dir_all(sandbox.path("docs/sub")).unwrap();
    sandbox.write("docs/sub/one", "a");
    sandbox.write("docs/two.gz", gzip(b"a "));
    sandbox.run(&["build", "docs", "-o", "y"]).done();
    assert_eq!(
        sandbox.run(&["dump", "y"]).done().lines(),
        [
            format!("{print}\tdocs/sub/one"),
            format!("{print}\tdocs/two.gz")
        ]
    );
    sandbox
        .run(&["build", "docs", "-o", "z", "--ids", "none"])
        .done();
    assert_eq!(sandbox.run(&["dump", "z"]).done().lines(), [print]);
}

#[test]
fn no_records_make_an_empty_index() {
    let sandbox = Sandbox::with_index(("a.hex", b"\n\n"), &[]);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    assert_eq!(
        (&info["record_count"], &info["ratio_to_raw"]),
        (&0.into(), &0.0.into())
    );
    assert!(info["bound_bits_per_fingerprint"].is_number());
    sandbox.run(&["verify", "x.simidx"]).done();
    assert_eq!(sandbox.run(&["dump", "x.simidx"]).done().text(), "");
    assert_eq!(sandbox.run(&["query", "x.simidx", "0"]).no().text(), "");
}

#[test]
fn skipped_records_are_shown_counted_and_keep_their_positions() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", b"a\nxyz\nb\n\xff\n11111111111111111\nc\n");
    let args = ["build", "a.hex", "-o", "x", "--json", "--ids", "number"];
    let ran = sandbox.run(&[&args[..], &["--on-error", "skip"]].concat());
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "simidx: skipped: a.hex:2: \"xyz\" is not a hexadecimal number",
            "simidx: skipped: a.hex:4: not valid UTF-8",
            "simidx: skipped: a.hex:5: \"11111111111111111\" has 17 hexadecimal digits, \
             at most 16 fit a 64-bit fingerprint",
            "simidx: skipped 3 records",
        ]
    );
    let report = ran.json();
    assert_eq!(
        (&report["skipped_count"], &report["record_count"]),
        (&3.into(), &3.into())
    );
    let dumped = sandbox.run(&["dump", "x"]).done();
    let ids: Vec<_> = dumped.lines().iter().map(|line| &line[15..]).collect();
    assert_eq!(ids, ["a\t0", "b\t2", "c\t5"]);
}

#[test]
fn many_skipped_records_are_counted_and_not_all_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("a.tsv", "1\tx\n".to_owned() + &"2\t\n".repeat(5000));
    let args = ["build", "a.tsv", "-o", "x", "--on-error", "skip"];
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.ends_with("simidx: skipped 5,000 records\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.lines().count() < 20, "{ran:?}");
}

#[test]
fn an_index_follows_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1f\n");
    let script = "umask 027; exec \"$0\" \"$@\"";
    sandbox.shell(script, &["build", "a.hex", "-o", "x"]).done();
    let mode = std::fs::metadata(sandbox.path("x"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn force_replaces_an_existing_output() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    let before = sandbox.read("x.simidx");
    sandbox.write("b.hex", "2f\n3f\n");
    let args = ["build", "b.hex", "-o", "x.simidx"];
    sandbox
        .run(&args)
        .refused("x.simidx: already exists; use --force to replace it");
    assert!(sandbox.read("x.simidx") == before);
    sandbox.run(&[&args[..], &["--force"]].concat()).done();
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    assert_eq!(dumped.lines(), ["000000000000002f", "000000000000003f"]);
    assert_eq!(sandbox.names(), ["a.hex", "b.hex", "x.simidx"]);
}

#[test]
fn bench_flips_bits_of_members_that_have_few_zeros() {
    let sandbox = Sandbox::with_index(("a.hex", b"ffffffffffffffff\n"), &[]);
    let ran = sandbox.run(&["bench", "x.simidx", "--count", "50", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found: serde_json::Value = serde_json::from_str(ran.text()).unwrap();
    // Members with at most three flipped bits match; those with four or five, and random queries, do not.
    let matches = found["matches"].as_u64().unwrap();
    assert!((5..25).contains(&matches), "{matches}");
}
