//! `simidx info`, `verify`, `dump` and `bench`.

use crate::support::{Ran, Sandbox, hex, keys, newer, sample};
use serde_json::json;

/// The offset of the blocks of table 0, with blocks of 512 bytes.
const FIRST_BLOCK: usize = 512;

#[test]
fn info_prints_every_figure() {
    let values = sample(1000);
    let args = ["--tables", "10", "--codec", "xor"];
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &args);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    for key in [
        "format_version",
        "width",
        "max_distance",
        "record_count",
        "fingerprint_count",
        "table_count",
        "block_size",
        "codec",
        "file_bytes",
        "raw_bytes",
        "bits_per_fingerprint",
        "bits_per_fingerprint_per_table",
        "bound_bits_per_fingerprint",
        "ratio_to_raw",
        "table_ratio_to_raw",
    ] {
        assert!(info[key].is_number() || key == "codec", "{key}: {info}");
    }
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let bytes = sandbox.read("x.simidx").len();
    assert_eq!(info["codec"], "xor");
    assert_eq!(info["format_version"], 1);
    assert_eq!(info["record_count"], values.len());
    assert_eq!(info["fingerprint_count"], distinct.len());
    assert_eq!(info["file_bytes"], bytes);
    assert_eq!(info["raw_bytes"], distinct.len() * 8);
    let near = |key: &str, value: f64| {
        let found = info[key].as_f64().unwrap();
        assert!(
            (found / value - 1.0).abs() < 1e-9,
            "{key}: {found}, not {value}"
        );
    };
    near("ratio_to_raw", bytes as f64 / (distinct.len() * 8) as f64);
    near(
        "bits_per_fingerprint",
        bytes as f64 * 8.0 / distinct.len() as f64,
    );

    let table_bits = info["bits_per_fingerprint_per_table"].as_f64().unwrap();
    near("table_ratio_to_raw", table_bits / 64.0);

    let tables = info["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 10);
    for table in tables {
        for key in [
            "prefix_bits",
            "flips",
            "block_count",
            "bits_per_fingerprint",
        ] {
            assert!(table[key].is_number(), "{key}: {table}");
        }
        assert_eq!(table["code_lengths"].as_array().unwrap().len(), 64);
    }
}

#[test]
fn info_for_people_has_a_line_for_each_table() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &["--tables", "16"]);
    let ran = sandbox.run(&["info", "x.simidx"]).done();
    let after_heading = ran
        .lines()
        .into_iter()
        .skip_while(|line| !line.starts_with("table "));
    let tables = after_heading.filter(|line| line.starts_with("    ") || line.starts_with("   1"));
    assert_eq!(tables.count(), 16, "{ran:?}");
}

#[test]
fn ratios_are_shown_where_there_is_something_to_compress() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(1000))), &["--tables", "4"]);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    let figure = |key: &str| format!("{:.2}", info[key].as_f64().unwrap());
    let ran = sandbox.run(&["info", "x.simidx"]).done();
    let (file, table) = (figure("ratio_to_raw"), figure("table_ratio_to_raw"));
    let bound = figure("bound_bits_per_fingerprint");
    for row in [
        format!("files to fingerprints   {file} times"),
        format!("table to fingerprints   {table} times"),
        format!("bound of one table      {bound} bits per fingerprint"),
    ] {
        assert!(ran.lines().contains(&&*row), "{row}: {ran:?}");
    }
    // Nearly empty blocks carry no information about compression.
    for input in ["1f\n", ""] {
        let sandbox = Sandbox::with_index(("a.hex", input.as_bytes()), &[]);
        let ran = sandbox.run(&["info", "x.simidx"]).done();
        let row = format!("bytes of fingerprints   {}", input.len() / 3 * 8);
        assert!(ran.lines().contains(&&*row), "{row}: {ran:?}");
        assert!(!ran.text().contains("times"), "{ran:?}");
        let several = sandbox.run(&["info", "x.simidx", "x.simidx"]).done();
        assert!(!several.text().contains("times"), "{several:?}");
    }
}

#[test]
fn info_tells_the_pipeline_of_documents() {
    let sandbox = Sandbox::with_index(
        ("a.jsonl", b"{\"text\":\"a b\"}"),
        &["--pipeline", "web,segment=chars:4"],
    );
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    let pipeline: serde_json::Value =
        serde_json::from_str(info["pipeline"].as_str().unwrap()).unwrap();
    assert!(
        pipeline.is_object() && pipeline.to_string().contains("chars"),
        "{pipeline}"
    );
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    assert_eq!(info["pipeline"], json!(null));
}

#[test]
fn a_sound_index_is_verified() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(300))), &["--ids", "number"]);
    for args in [
        &["verify", "x.simidx"][..],
        &["verify", "x.simidx", "--no-mmap"],
    ] {
        let ran = sandbox.run(args).done();
        assert!(ran.text().starts_with("x.simidx: sound ("), "{ran:?}");
        assert_eq!(ran.lines().len(), 1);
    }
    let verdict = sandbox.run(&["verify", "x.simidx", "--json"]).done().json();
    assert_eq!(
        (&verdict["sound"], &verdict["problem_count"]),
        (&json!(true), &json!(0))
    );
}

/// Runs `verify` with and without `--json` on a damaged file; both must report the damage.
#[track_caller]
fn damaged(sandbox: &Sandbox) -> serde_json::Value {
    let ran = sandbox.run(&["verify", "bad"]).no();
    assert!(ran.text().starts_with("bad: damaged index: "), "{ran:?}");
    let verdict = sandbox.run(&["verify", "bad", "--json"]).no().json();
    assert_eq!(verdict["sound"], false);
    assert_eq!(
        verdict["problems"].as_array().unwrap().len(),
        ran.lines().len()
    );
    verdict
}

#[test]
fn a_shortened_index_is_damaged() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(300))), &["--ids", "number"]);
    let whole = sandbox.read("x.simidx");
    for length in [8, 15, 16, 47, 1024, whole.len() / 2, whole.len() - 1] {
        sandbox.write("bad", &whole[..length]);
        damaged(&sandbox);
    }
    sandbox.write("bad", [&whole[..], b"\0"].concat());
    damaged(&sandbox);
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(300))), &["--ids", "number"]);
    let whole = sandbox.read("x.simidx");
    for offset in (8..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[offset] ^= 0x10;
        sandbox.write("bad", bytes);
        damaged(&sandbox);
    }
}

#[test]
fn a_damaged_block_is_named_by_verify_and_answers_nothing() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(300))), &[]);
    let mut bytes = sandbox.read("x.simidx");
    bytes[FIRST_BLOCK + 100] ^= 1;
    sandbox.write("bad", bytes);
    let problem = &damaged(&sandbox)["problems"][0];
    let place = (&problem["rule"], &problem["table"], &problem["block"]);
    assert_eq!(place, (&json!(21), &json!(0), &json!(0)));
    for args in [
        &["dump", "bad"][..],
        &["query", "bad", "0"],
        &["bench", "bad"],
    ] {
        let ran = sandbox.run(args);
        let line = ran.refusal();
        assert!(line.starts_with("bad: damaged index: "), "{args:?}: {line}");
        assert!(line.contains("table 0, block 0"), "{args:?}: {line}");
    }
    sandbox.run(&["info", "bad"]).done();
}

#[test]
fn what_is_no_index_or_a_newer_one_cannot_be_verified() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    let whole = sandbox.read("x.simidx");
    let mut magic = whole.clone();
    magic[0] ^= 1;
    let start = whole[..7].to_vec();
    for foreign in [b"".to_vec(), b"some text\n".to_vec(), magic, start] {
        sandbox.write("bad", foreign);
        for args in [&["verify", "bad"][..], &["verify", "bad", "--json"]] {
            let ran = sandbox.run(args);
            assert!(
                ran.refusal().starts_with("bad: not a simidx file: "),
                "{ran:?}"
            );
        }
    }
    sandbox.write("bad", newer(whole));
    let ran = sandbox.run(&["verify", "bad"]);
    assert!(
        ran.refusal().starts_with("bad: needs a newer simidx: "),
        "{ran:?}"
    );
}

#[test]
fn dump_prints_each_table_in_its_order() {
    let values = sample(400);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &["--tables", "4"]);
    let mut sorted = values;
    sorted.sort_unstable();
    sorted.dedup();
    let dump = |args: &[&str]| {
        let ran = sandbox.run(&[&["dump", "x.simidx"], args].concat()).done();
        ran.stdout
    };
    assert_eq!(dump(&[]), hex(&sorted));
    assert_eq!(dump(&["--permuted"]), hex(&sorted));
    for (table, shift) in [("1", 32), ("2", 16), ("3", 0)] {
        // The 16 bits of the band come first, and the others keep their order.
        let mut permuted: Vec<(u64, u64)> = sorted
            .iter()
            .map(|&value| {
                let above = value.checked_shr(shift + 16).unwrap_or(0) << shift;
                let rest = above | value & ((1 << shift) - 1);
                ((value >> shift & 0xffff) << 48 | rest, value)
            })
            .collect();
        permuted.sort_unstable();
        let (permuted, plain): (Vec<u64>, Vec<u64>) = permuted.into_iter().unzip();
        assert_eq!(
            dump(&["--table", table, "--permuted"]),
            hex(&permuted),
            "{table}"
        );
        assert_eq!(dump(&["--table", table]), hex(&plain), "{table}");
    }
    sandbox
        .run(&["dump", "x.simidx", "--table", "4"])
        .refused("x.simidx: there is no table 4, the index has 4, numbered from 0");
}

#[test]
fn dump_prints_ids_in_every_table_and_as_json() {
    let sandbox = Sandbox::with_index(("a.tsv", b"10000\tb\n2\tc\n2\ta\n"), &["--tables", "4"]);
    let (two, high) = ("0000000000000002", "0000000000010000");
    let table_3 = sandbox.run(&["dump", "x.simidx", "--table", "3"]).done();
    assert_eq!(
        table_3.lines(),
        [
            format!("{high}\tb"),
            format!("{two}\ta"),
            format!("{two}\tc")
        ]
    );
    let json = sandbox.run(&["dump", "x.simidx", "--json"]).done();
    let expected = [
        json!({ "fingerprint": two, "ids": ["a", "c"] }),
        json!({ "fingerprint": high, "ids": ["b"] }),
    ];
    assert_eq!(json.json_lines(), expected);
}

/// Builds an index from the output of `dump` for `x.simidx`.
fn rebuild(sandbox: &Sandbox, ids: &str) -> Ran {
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    let args = ["build", "-", "--input", "tsv", "--ids", ids, "-o", "-"];
    let ran = sandbox.pipe(&args, &dumped.stdout);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

#[test]
fn a_dump_builds_the_same_index_again() {
    let lines: String = sample(700)
        .iter()
        .enumerate()
        .map(|(i, value)| format!("{value:x}\t{}\n", i * 37 % 1000))
        .collect();
    for ids in ["number", "string"] {
        let sandbox = Sandbox::with_index(("a.tsv", lines.as_bytes()), &["--ids", ids]);
        assert!(
            rebuild(&sandbox, ids).stdout == sandbox.read("x.simidx"),
            "{ids}"
        );
    }
}

#[test]
fn a_dump_without_ids_is_read_back() {
    let sandbox = Sandbox::with_index(("a.tsv", b"10000\n2\n1f\n"), &[]);
    assert!(rebuild(&sandbox, "none").stdout == sandbox.read("x.simidx"));
}

#[test]
fn a_dump_of_documents_builds_the_same_index_but_for_the_pipeline() {
    let documents: String = (0..300).map(|i| format!("{i} of {}\n", i % 9)).collect();
    let sandbox = Sandbox::with_index(("a", documents.as_bytes()), &["--input", "lines"]);
    let again = rebuild(&sandbox, "string").stdout;
    let whole = sandbox.read("x.simidx");
    assert!(again.len() < whole.len());
    sandbox.write("y.simidx", &again);
    let ids = sandbox.run(&["dump", "x.simidx"]).done().stdout;
    assert!(sandbox.run(&["dump", "y.simidx"]).done().stdout == ids);
    // All bytes are equal up to the pipeline, which is the last part except directory and footer.
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    let text = info["pipeline"].as_str().unwrap().as_bytes();
    let pipeline = whole.windows(text.len()).position(|bytes| bytes == text);
    let pipeline = pipeline.unwrap();
    assert!(again[..pipeline] == whole[..pipeline]);
}

const LATENCIES: [&str; 6] = ["max", "mean", "p50", "p90", "p99", "p99_9"];

#[test]
fn bench_measures_sampled_queries() {
    let args = ["--tables", "4", "--codec", "xor"];
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(2000))), &args);
    let bench = |args: &[&str]| {
        let bench = ["bench", "x.simidx", "--json", "--count", "200"];
        sandbox.run(&[&bench, args].concat()).done().json()
    };
    let report = bench(&[]);
    assert_eq!(
        (&report["queries"], &report["threads"]),
        (&json!(200), &json!(1))
    );
    assert_eq!(keys(&report["latency_us"]), LATENCIES);
    let latency = |key: &str| report["latency_us"][key].as_f64().unwrap();
    assert!(latency("p50") > 0.0 && latency("p50") <= latency("p90"));
    assert!(latency("p99") <= latency("p99_9") && latency("p99_9") <= latency("max"));
    for key in [
        "queries_per_second",
        "blocks_per_query",
        "candidates_per_query",
    ] {
        assert!(report[key].as_f64().unwrap() > 0.0, "{key}: {report}");
    }
    assert_eq!(report["probes_per_query"], 4.0);
    // Half of the queries are members with 0 to 5 flipped bits, more than a third of which match.
    assert!(report["matches"].as_u64().unwrap() > 33, "{report}");

    let threads = bench(&["--threads", "2"]);
    assert_eq!(
        (&threads["threads"], &threads["matches"]),
        (&json!(2), &report["matches"])
    );
    let cold = bench(&["--cold"]);
    assert_eq!(
        (&cold["cold"], &cold["matches"]),
        (&json!(true), &report["matches"])
    );
    assert_ne!(bench(&["--seed", "2"])["matches"], report["matches"]);
}

#[test]
fn bench_asks_the_queries_of_a_file() {
    let sandbox = Sandbox::with_index(("a.hex", b"0\n1\nff\n"), &[]);
    sandbox.write("q.hex", "0\nff\nffff\n");
    let args = ["bench", "x.simidx", "--json", "--queries", "q.hex"];
    let report = sandbox.run(&args).done().json();
    assert_eq!(
        (&report["queries"], &report["matches"]),
        (&json!(3), &json!(3))
    );
    let wider = sandbox
        .run(&[&args[..], &["-k", "8"]].concat())
        .done()
        .json();
    assert_eq!(
        (&wider["distance"], &wider["matches"]),
        (&json!(8), &json!(7))
    );
    sandbox.write("q.dec", "0\n255\n65535\n");
    let args = [
        "bench",
        "x.simidx",
        "--json",
        "--queries",
        "q.dec",
        "--input",
        "dec",
    ];
    assert_eq!(sandbox.run(&args).done().json()["matches"], 3);
}

#[test]
fn bench_for_people_tells_the_same() {
    let sandbox = Sandbox::with_index(("a.hex", b"0\n1\nff\n"), &[]);
    let ran = sandbox.run(&["bench", "x.simidx", "--count", "50"]).done();
    assert!(
        ran.text().starts_with("50 queries within distance 3, "),
        "{ran:?}"
    );
    for word in [
        "p50 ",
        "p99.9 ",
        "queries a second ",
        " probes, ",
        "matches ",
    ] {
        assert!(ran.text().contains(word), "{word}: {ran:?}");
    }
}

#[test]
fn the_pipeline_of_a_file_cannot_forge_lines_of_a_report() {
    let mut options = simidx_testkit::forged::small();
    options.pipeline = Some("{\u{1b}[2K\nwidth 7\u{85}}".into());
    let sandbox = Sandbox::new();
    sandbox.write("x", simidx_testkit::build(options, &[1_u64, 2, 3]));
    for args in [&["info", "x"][..], &["info", "x", "x"]] {
        let ran = sandbox.run(args).done();
        let expected = r"pipeline                {\u{1b}[2K\nwidth 7\u{85}}";
        assert!(ran.lines().contains(&expected), "{ran:?}");
        assert!(!ran.text().contains('\u{1b}'), "{ran:?}");
    }
}
