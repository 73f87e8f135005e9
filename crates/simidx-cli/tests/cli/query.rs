//! `simidx query` and `simidx fingerprint`, on fingerprints and on documents.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Sandbox, gzip, hex, keys, sample};
use serde_json::{Value, json};
use simidx_text::Pipeline;

/// Returns the lines that `query` prints for one fingerprint on an index without ids, found by brute force.
fn expected(values: &[u64], query: u64, distance: u32) -> String {
    let mut found: Vec<_> = values
        .iter()
        .map(|&value| ((query ^ value).count_ones(), value))
        .filter(|&(d, _)| d <= distance)
        .collect();
    found.sort_unstable();
    found.dedup();
    let lines = found.iter();
    lines
        .map(|(d, value)| format!("{query:016x}\t{value:016x}\t{d}\n"))
        .collect()
}

#[test]
fn every_match_is_printed_in_order_at_every_distance() {
    let values = sample(2000);
    for (tables, codec) in [
        ("1", "ef"),
        ("2", "gap"),
        ("3", "xor"),
        ("4", "ef"),
        ("10", "auto"),
        ("16", "gap"),
        ("20", "xor"),
    ] {
        let args = ["--tables", tables, "--codec", codec];
        let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &args);
        let queries: Vec<u64> = values.iter().step_by(40).map(|v| v ^ 1 << 63).collect();
        for distance in [0, 1, 3, 5, 9] {
            let args = ["query", "x.simidx", "-k", &distance.to_string()];
            let ran = sandbox.pipe(&args, &hex(&queries));
            let expected: String = queries
                .iter()
                .map(|&query| expected(&values, query, distance))
                .collect();
            assert_eq!(ran.text(), expected, "{tables} tables, distance {distance}");
            assert_eq!(ran.code, Some(i32::from(expected.is_empty())));
        }
    }
}

#[test]
fn the_distance_is_that_of_the_index_unless_named() {
    let sandbox = Sandbox::with_index(("a.hex", b"0\n1\n3\n7\nf\n"), &["-k", "2"]);
    let matches = |args: &[&str]| {
        let query = ["query", "x.simidx", "0"];
        sandbox.run(&[&query, args].concat()).done().lines().len()
    };
    assert_eq!(matches(&[]), 3);
    assert_eq!(matches(&["-k", "1"]), 2);
    assert_eq!(matches(&["-k", "4"]), 5);
    assert_eq!(matches(&["-k", "64"]), 5);
}

#[test]
fn distances_above_the_width_are_refused_by_every_command() {
    let sandbox = Sandbox::with_index(("a.hex", b"0\n1\n3\n7\nf\n"), &[]);
    sandbox
        .run(&["build", "a.hex", "--width", "32", "-o", "y.simidx"])
        .done();
    sandbox.write(
        "docs.jsonl",
        "{\"text\":\"a b c\"}\n{\"text\":\"a b c d\"}\n",
    );
    for args in [
        &["query", "x.simidx", "0"][..],
        &["query", "x.simidx", "0", "--nearest", "1"],
        &["join", "x.simidx", "a.hex"],
        &["pairs", "x.simidx"],
        &["pairs", "a.hex", "--input", "hex"],
        &["clusters", "x.simidx"],
        &["clusters", "a.hex", "--input", "hex"],
        &["bench", "x.simidx", "--count", "1"],
        &["dedup", "docs.jsonl", "-o", "kept"],
        &["compare", "a.hex", "a.hex"],
        &["report", "x.simidx", "-o", "x.html"],
    ] {
        let with = |k: &str| sandbox.run(&[args, &["-k", k]].concat());
        with("65").refused("-k 65 is more than the 64 bits of a fingerprint");
        let range = "invalid value '{}' for '--max-distance <K>': not a whole number from 0 to 128; see --help";
        for k in [
            "129",
            "4294967295",
            "4294967296",
            "99999999999999999999",
            "-1",
            "1.5",
            "x",
        ] {
            with(k).refused(&range.replace("{}", k));
        }
        let wide = with("64");
        assert!(wide.code == Some(0), "{args:?} {wide:?}");
    }
    let narrow = ["query", "y.simidx", "0", "-k", "33"];
    sandbox
        .run(&narrow)
        .refused("-k 33 is more than the 32 bits of a fingerprint");
}

#[test]
fn the_nearest_are_the_first_of_all_at_any_distance() {
    let values = sample(600);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values[..400])), &[]);
    sandbox.write("b.hex", hex(&values[300..]));
    sandbox.run(&["build", "b.hex", "-o", "y.simidx"]).done();
    for query in [values[7] ^ 1 << 20, 0] {
        let all = expected(&values, query, 64);
        let word = format!("{query:016x}");
        for count in [1, 2, 30, 5000] {
            let number = count.to_string();
            let args = ["query", "x.simidx", "y.simidx", &word, "--nearest", &number];
            let ran = sandbox.run(&args).done();
            let first: Vec<_> = all.lines().take(count).collect();
            assert_eq!(ran.lines(), first, "{query:x}, {count}");
        }
        let near = expected(&values, query, 24);
        let args = ["query", "x.simidx", "y.simidx", &word, "--nearest", "9"];
        let ran = sandbox.run(&[&args[..], &["-k", "24"]].concat());
        let first: Vec<_> = near.lines().take(9).collect();
        assert_eq!(ran.lines(), first, "{query:x}");
        assert_eq!(ran.code, Some(i32::from(first.is_empty())));
    }
    let ran = sandbox.run(&["query", "x.simidx", "0", "--nearest", "0"]);
    assert!(ran.refusal().contains("--nearest"), "{ran:?}");
}

#[test]
fn the_nearest_come_with_their_ids_of_all_indexes() {
    let sandbox = Sandbox::with_index(("a.tsv", b"1\tone\n7\tfar\n"), &[]);
    sandbox.write("b.tsv", "1\tuno\n0\tzero\n");
    sandbox.run(&["build", "b.tsv", "-o", "y.simidx"]).done();
    let args = ["query", "x.simidx", "y.simidx", "1", "--nearest", "2"];
    let (zero, one) = ("0000000000000000", "0000000000000001");
    assert_eq!(
        sandbox.run(&args).done().lines(),
        [
            format!("{one}\t{one}\t0\tone"),
            format!("{one}\t{one}\t0\tuno"),
            format!("{one}\t{zero}\t1\tzero"),
        ]
    );
    let json = sandbox.run(&[&args[..], &["--json"]].concat()).done();
    let expected = json!({ "query": one, "matches": [
        { "fingerprint": one, "distance": 0, "ids": ["one", "uno"] },
        { "fingerprint": zero, "distance": 1, "ids": ["zero"] },
    ]});
    assert_eq!(json.json(), expected);
}

#[test]
fn queries_are_arguments_or_lines_in_any_form() {
    let sandbox = Sandbox::with_index(("a.hex", b"10\nff00000000000000\n"), &[]);
    let (ten, high) = ("0000000000000010", "ff00000000000000");
    let both = format!("{high}\t{high}\t0\n{ten}\t{ten}\t0\n");
    let high_dec = 0xff00_0000_0000_0000u64.to_string();
    let args = |rest: &[&'static str]| [&["query", "x.simidx"], rest].concat();
    let run = |rest: &[&'static str]| sandbox.run(&args(rest)).done().text().to_owned();
    let pipe = |rest: &[&'static str], input: &[u8]| {
        let ran = sandbox.pipe(&args(rest), input).done();
        ran.text().to_owned()
    };
    assert_eq!(run(&["FF00000000000000", "10"]), both);
    assert_eq!(run(&["--input", "hex", "ff00000000000000", "010"]), both);
    let decimal = ["query", "x.simidx", "--input", "dec", &high_dec, "16"];
    assert_eq!(sandbox.run(&decimal).done().text(), both);
    let lines = format!("{high}\n\n10\n");
    assert_eq!(pipe(&[], lines.as_bytes()), both);
    assert_eq!(pipe(&["-"], lines.as_bytes()), both);
    assert_eq!(pipe(&[], &gzip(lines.as_bytes())), both);
    let lines = format!("{high_dec}\n16\n");
    assert_eq!(pipe(&["--input", "dec"], lines.as_bytes()), both);
    let words = [0xff00_0000_0000_0000u64.to_le_bytes(), 16u64.to_le_bytes()];
    assert_eq!(pipe(&["--input", "le"], &words.concat()), both);
    assert_eq!(sandbox.pipe(&args(&[]), b"").no().text(), "");
}

#[test]
fn one_match_among_many_queries_is_a_match() {
    let sandbox = Sandbox::with_index(("a.hex", b"ffff\n"), &[]);
    let ran = sandbox
        .run(&["query", "x.simidx", "0", "fffe", "ff"])
        .done();
    assert_eq!(ran.text(), "000000000000fffe\t000000000000ffff\t1\n");
    sandbox.run(&["query", "x.simidx", "0", "ff"]).no();
}

#[test]
fn each_id_of_a_match_has_a_line() {
    let input = b"1\tb\n0\tz y\n1\ta\n1\ta\n";
    let sandbox = Sandbox::with_index(("a.tsv", input), &[]);
    let ran = sandbox.run(&["query", "x.simidx", "1"]).done();
    let one = "0000000000000001";
    assert_eq!(
        ran.lines(),
        [
            format!("{one}\t{one}\t0\ta"),
            format!("{one}\t{one}\t0\ta"),
            format!("{one}\t{one}\t0\tb"),
            format!("{one}\t0000000000000000\t1\tz y"),
        ]
    );
}

#[test]
fn json_is_an_object_for_each_query() {
    let sandbox = Sandbox::with_index(("a.tsv", b"1\t20\n0\t7\n1\t3\n"), &["--ids", "number"]);
    let args = ["query", "x.simidx", "1", "ff", "--json", "-k", "1"];
    let (zero, one) = ("0000000000000000", "0000000000000001");
    let first = json!({ "query": one, "matches": [
        { "fingerprint": one, "distance": 0, "ids": [3, 20] },
        { "fingerprint": zero, "distance": 1, "ids": [7] },
    ]});
    let second = json!({ "query": "00000000000000ff", "matches": [] });
    assert_eq!(sandbox.run(&args).done().json_lines(), [first, second]);
    let none = sandbox.run(&["query", "x.simidx", "ffff", "--json"]).no();
    assert_eq!(none.json()["matches"], json!([]));

    let sandbox = Sandbox::with_index(("a.tsv", "1\té\"\n".as_bytes()), &[]);
    let found = sandbox.run(&["query", "x.simidx", "1", "--json"]).done();
    assert_eq!(found.json()["matches"][0]["ids"], json!(["é\""]));
    let sandbox = Sandbox::with_index(("a.hex", b"1\na\n"), &[]);
    let found = sandbox.run(&["query", "x.simidx", "1", "--json"]).done();
    assert_eq!(found.json()["matches"][0]["ids"], json!([]));
}

#[test]
fn stats_are_a_line_on_stderr_or_keys() {
    let values = sample(1000);
    let args = ["--tables", "4", "--codec", "xor"];
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &args);
    let queries = hex(&values[..10]);
    let plain = sandbox.pipe(&["query", "x.simidx"], &queries).done();
    let ran = sandbox.pipe(&["query", "x.simidx", "--stats"], &queries);
    assert_eq!((ran.code, &ran.stdout), (Some(0), &plain.stdout));
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");

    let ran = sandbox
        .pipe(&["query", "x.simidx", "--stats", "--json"], &queries)
        .done();
    let objects = ran.json_lines();
    let all = ["blocks", "candidates", "matches", "probes", "query"];
    assert_eq!((objects.len(), keys(&objects[0])), (10, all.to_vec()));
    let sum = |key: &str| -> u64 { objects.iter().map(|o| o[key].as_u64().unwrap()).sum() };
    assert_eq!(sum("probes"), 40);
    assert!(sum("blocks") >= 10 && sum("candidates") >= 10);
    let stats = sandbox
        .pipe(&["query", "x.simidx", "--stats"], &queries)
        .stderr;
    let (probes, blocks, candidates) = (sum("probes"), sum("blocks"), sum("candidates"));
    let line =
        format!("simidx: 10 queries: {probes} probes, {blocks} blocks, {candidates} candidates\n");
    assert_eq!(stats, line);
}

#[test]
fn mapping_or_reading_the_file_gives_the_same_answers() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(500))), &[]);
    let queries = hex(&sample(500)[..50]);
    let mapped = sandbox.pipe(&["query", "x.simidx"], &queries).done();
    let read = sandbox
        .pipe(&["query", "x.simidx", "--no-mmap"], &queries)
        .done();
    assert_eq!(mapped.stdout, read.stdout);
}

const DOCUMENTS: &str = r#"{"id": "fox", "text": "The quick brown fox jumps over the lazy dog"}
{"id": "pack", "text": "Pack my box with five dozen liquor jugs, said the packer"}
"#;

#[test]
fn texts_are_fingerprinted_as_the_documents_were() {
    for pipeline in [
        "web",
        "news-zh",
        "code,normalise=nfkc+case",
        "compat-mfonda,fingerprint=simhash",
        "short",
    ] {
        let args = ["--pipeline", pipeline];
        let sandbox = Sandbox::with_index(("a.jsonl", DOCUMENTS.as_bytes()), &args);
        let text = "the QUICK  brown fox jumps over the lazy dog";
        let ran = sandbox.run(&["query", "x.simidx", "--text", text]).done();
        assert!(ran.text().ends_with("\t0\tfox\n"), "{ran:?}");
        sandbox
            .run(&["query", "x.simidx", "--text", "nothing of the kind at all"])
            .no();
    }
}

#[test]
fn the_default_pipeline_is_that_of_the_library() {
    let sandbox = Sandbox::with_index(("a.jsonl", DOCUMENTS.as_bytes()), &[]);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    assert_eq!(info["pipeline"], Pipeline::default().describe());
}

#[test]
fn the_documents_of_a_file_are_queries() {
    let sandbox = Sandbox::with_index(("a.jsonl.gz", &gzip(DOCUMENTS.as_bytes())), &[]);
    let plain = sandbox
        .run(&["query", "x.simidx", "--documents", "a.jsonl.gz"])
        .done();
    let names = plain
        .lines()
        .into_iter()
        .map(|line| line.split('\t').nth(3).unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["fox", "pack"]);
    let args = ["query", "x.simidx", "--documents", "-"];
    let piped = sandbox.pipe(&args, DOCUMENTS.as_bytes()).done();
    assert_eq!(piped.stdout, plain.stdout);
    sandbox.write("fox.txt", "the quick brown fox jumps over the lazy dog\n");
    for format in ["lines", "files"] {
        let args = [
            "query",
            "x.simidx",
            "--documents",
            "fox.txt",
            "--input",
            format,
        ];
        let ran = sandbox.run(&args).done();
        assert!(ran.text().ends_with("\t0\tfox\n"), "{format}: {ran:?}");
    }
}

#[test]
fn fingerprint_prints_what_build_stores() {
    let sandbox = Sandbox::with_index(("a.jsonl", DOCUMENTS.as_bytes()), &[]);
    let ran = sandbox.run(&["fingerprint", "a.jsonl"]).done();
    let mut lines = ran.lines();
    assert!(
        lines[0].ends_with("\tfox") && lines[1].ends_with("\tpack"),
        "{ran:?}"
    );
    assert!(lines.iter().all(|line| line.find('\t') == Some(16)));
    lines.sort_unstable();
    let dumped = sandbox.run(&["dump", "x.simidx"]).done();
    assert_eq!(dumped.lines(), lines);

    let piped = sandbox
        .pipe(&["fingerprint", "--json"], DOCUMENTS.as_bytes())
        .done();
    let objects = piped.json_lines();
    assert_eq!(keys(&objects[0]), ["fingerprint", "id"]);
    let shown: Vec<String> = objects
        .iter()
        .map(|o| {
            format!(
                "{}\t{}",
                o["fingerprint"].as_str().unwrap(),
                o["id"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(shown, ran.lines());
}

#[test]
fn fingerprint_names_documents_without_ids_by_position() {
    let sandbox = Sandbox::new();
    for (width, digits) in [("32", 8), ("64", 16), ("128", 32)] {
        let args = ["fingerprint", "--input", "lines", "--width", width];
        let ran = sandbox.pipe(&args, b"one text\n\nanother\n").done();
        let ids: Vec<_> = ran
            .lines()
            .iter()
            .map(|line| line.split_at(digits).1)
            .collect();
        assert_eq!(ids, ["\t0", "\t1"], "{width}");
    }
    let json = sandbox
        .pipe(&["fingerprint", "--input", "lines", "--json"], b"one\n")
        .done();
    assert_eq!(json.json()["id"], 0);
}

/// Returns the ids of the documents in a demo file that have the same text, by id.
fn demo(path: &Path) -> BTreeMap<String, Vec<String>> {
    let file = std::fs::File::open(path).unwrap();
    let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).unwrap();
    let mut documents: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let string = |key: &str| document[key].as_str().unwrap().to_owned();
        documents
            .entry(string("text"))
            .or_default()
            .push(string("id"));
    }
    documents
}

#[test]
fn identical_documents_of_the_demo_data_are_found_at_distance_zero() {
    for name in ["en.jsonl.gz", "zh.jsonl.gz"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../data")
            .join(name);
        let documents = demo(&path);
        let sandbox = Sandbox::new();
        let path = path.to_str().unwrap();
        let built = sandbox
            .run(&["build", path, "-o", "x.simidx", "--json"])
            .done();
        let count: usize = documents.values().map(Vec::len).sum();
        assert_eq!(built.json()["record_count"], count);
        sandbox.run(&["verify", "x.simidx"]).done();

        let same = documents.iter().filter(|(_, ids)| ids.len() > 1);
        let mut groups = 0;
        for (text, ids) in same.take(10).chain(documents.iter().take(3)) {
            // A single argument, so that a text that starts with a dash is not parsed as an option.
            let text = format!("--text={text}");
            let found = sandbox
                .run(&["query", "x.simidx", &text, "--json"])
                .done()
                .json();
            let nearest = &found["matches"][0];
            assert_eq!(nearest["distance"], 0);
            let all = nearest["ids"].as_array().unwrap();
            assert!(
                ids.iter().all(|id| all.contains(&id.as_str().into())),
                "{ids:?} {all:?}"
            );
            groups += usize::from(ids.len() > 1);
        }
        assert!(
            groups >= 10,
            "{groups} groups of identical documents in {name}"
        );
    }
}
