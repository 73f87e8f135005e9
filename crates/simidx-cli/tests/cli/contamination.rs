//! `simidx contamination`: items of a test set in a corpus, against brute force, and the corpus without them.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use simidx_text::compare::FeatureSet;

use crate::support::{Ran, Sandbox, gzip, keys, parquet};

const TESTS: &str = r#"{"id":"q1","text":"Which river flows through the old town of Bern, the capital?"}
{"id":"q2","text":"Two halves of an item that stand in two documents are not found."}
{"id":"q3","text":"2 + 2 = ?"}
{"id":"q4","text":"哪条河流经过瑞士首都伯尔尼的老城？"}
{"text":"An item without an id is called by its position from zero."}
"#;

const CORPUS: &str = r#"{"id":"d0","text":"Nothing of it, and much else."}
{"id":"d1","text":"Quiz: which river flows through the old town of Bern? The Aare.", "tags":[1]}
{"id":"d2","text":"Two halves of an item that stand"}
{"id":"d3","text":"in two documents are not found. And so on."}
{"id":"d4","text":"WHICH RIVER flows through the old town of Bern, the capital? The Aare."}
{"text":"问：哪条河流经过瑞士首都伯尔尼的老城？答：阿勒河。"}
{"id":"d6","text":"We know: 2+2=4. An item without an id is called by its position, from zero!"}
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("t.jsonl", TESTS);
    sandbox.write("c.jsonl", CORPUS);
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    sandbox.run(&[&["contamination", "t.jsonl"], args].concat())
}

/// The columns of each line.
fn table(ran: &Ran) -> Vec<Vec<&str>> {
    let lines = ran.text().lines();
    lines.map(|line| line.split('\t').collect()).collect()
}

#[test]
fn each_item_has_a_line_for_the_document_with_most_of_it() {
    let sandbox = sandbox();
    let ran = run(&sandbox, &["c.jsonl"]);
    assert_eq!(ran.stderr, "simidx: 4 of 5 items found, in 3 documents\n");
    let ran = run(&sandbox, &["c.jsonl", "-q"]).done();
    assert_eq!(
        table(&ran),
        [
            ["q1", "d4", "1.0000", "0.6667", "0", "59"],
            ["q3", "d6", "1.0000", "0.0625", "9", "12"],
            ["q4", "5", "1.0000", "0.6429", "6", "54"],
            ["4", "d6", "1.0000", "0.5000", "16", "74"],
        ]
    );
    let texts: Vec<Value> = CORPUS
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let part = |document: usize, line: &[&str]| {
        let [begin, end] = [4, 5].map(|column| line[column].parse::<usize>().unwrap());
        texts[document]["text"].as_str().unwrap()[begin..end].to_owned()
    };
    assert_eq!(part(6, &table(&ran)[1]), "2+2");
    assert_eq!(part(5, &table(&ran)[2]), "哪条河流经过瑞士首都伯尔尼的老城");
    // One thread, a pipe, compressed: the same.
    for args in [&["c.jsonl", "--threads", "1"][..], &["c.jsonl.gz"]] {
        sandbox.write("c.jsonl.gz", gzip(CORPUS.as_bytes()));
        assert_eq!(run(&sandbox, &[args, &["-q"]].concat()).text(), ran.text());
    }
    let piped = ["contamination", "t.jsonl", "-", "--input", "jsonl", "-q"];
    assert_eq!(sandbox.pipe(&piped, CORPUS.as_bytes()).text(), ran.text());
    let piped = ["contamination", "-", "c.jsonl", "--input", "jsonl", "-q"];
    assert_eq!(sandbox.pipe(&piped, TESTS.as_bytes()).text(), ran.text());
}

#[test]
fn all_documents_come_in_their_order_and_by_either_measure() {
    let sandbox = sandbox();
    let pairs = |args: &[&str]| {
        let ran = run(&sandbox, &[&["c.jsonl", "-q"], args].concat());
        assert_eq!(ran.code, Some(if ran.text().is_empty() { 1 } else { 0 }));
        let table = table(&ran);
        let pairs = table
            .iter()
            .map(|line| format!("{} {} {}", line[0], line[1], line[2]));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let all = "q1 d4 1.0000, q4 5 1.0000, q3 d6 1.0000, 4 d6 1.0000";
    assert_eq!(pairs(&["--all"]), all);
    let more = pairs(&["--all", "--containment", "0.5"]);
    assert!(more.starts_with("q1 d1 0.7500, q1 d4 1.0000, "), "{more}");
    assert_eq!(
        pairs(&["--similarity", "0.55"]),
        "q1 d4 1.0000, q4 5 1.0000"
    );
    assert_eq!(
        pairs(&["--similarity", "0.65", "--containment", "1"]),
        "q1 d4 1.0000"
    );
    let halves = pairs(&["--all", "--containment", "0.1", "--features", "words:3"]);
    assert!(halves.contains("q2 d2 0.4545, q2 d3 0.3636"), "{halves}");
    assert_eq!(pairs(&["--similarity", "0.99"]), "");
    let json = run(&sandbox, &["c.jsonl", "--json", "-q"])
        .done()
        .json_lines();
    assert_eq!(json.len(), 4);
    let members = [
        "begin",
        "containment",
        "document",
        "end",
        "item",
        "similarity",
    ];
    assert_eq!(keys(&json[0]), members);
    assert_eq!(json[3]["item"], 4);
    assert_eq!(json[1]["similarity"], json!(1.0 / 16.0));
    let json = run(&sandbox, &["c.jsonl", "--json", "-q", "--json-strings"]);
    assert_eq!(json.json_lines()[2]["document"], "5");
}

#[test]
fn nothing_found_is_exit_code_1() {
    let sandbox = sandbox();
    sandbox.write("empty.jsonl", "");
    sandbox.write(
        "d.jsonl",
        CORPUS.lines().take(4).collect::<Vec<_>>().join("\n"),
    );
    assert_eq!(run(&sandbox, &["d.jsonl", "-q"]).no().text(), "");
    assert_eq!(run(&sandbox, &["empty.jsonl", "-q"]).no().text(), "");
    let ran = sandbox.run(&["contamination", "empty.jsonl", "c.jsonl"]);
    assert_eq!((ran.code, ran.text()), (Some(1), ""));
    assert_eq!(ran.stderr, "simidx: 0 of 0 items found, in 0 documents\n");
    sandbox.write("t.jsonl", "{\"text\":\"\"}\n{\"text\":\"…!\"}\n");
    sandbox.write("e.jsonl", "{\"text\":\"\"}\n{\"text\":\"…!\"}\n");
    run(&sandbox, &["e.jsonl", "-q"]).no();
}

#[test]
fn the_test_set_has_fields_of_its_own() {
    let sandbox = sandbox();
    let tests = "question,answer,nr\nwhich river flows through the old town,of Bern?,7\n";
    sandbox.write("t.csv", tests);
    let run =
        |args: &[&str]| sandbox.run(&[&["contamination", "t.csv", "c.jsonl", "-q"], args].concat());
    let fields = ["--item-field", "question,answer", "--item-id", "nr"];
    let ran = run(&fields).done();
    assert_eq!(table(&ran)[0][..3], ["7", "d1", "1.0000"]);
    let ran = run(&fields[..2]).done();
    assert_eq!(table(&ran)[0][..2], ["0", "d1"]);
    let message = "t.csv:1: has no column \"text\" or \"fingerprint\"; it has: question, answer, nr; choose with --item-field";
    run(&[]).refused(message);
    sandbox.write("q.jsonl", "{\"question\":\"which\"}\n");
    let message = "q.jsonl:1: neither \"text\" nor \"fingerprint\"; it has: question; choose with --item-field";
    sandbox
        .run(&["contamination", "q.jsonl", "c.jsonl"])
        .refused(message);
    // Only --input says that a file has lines; the test set is recognised by its name.
    sandbox.write(
        "c.txt",
        "It is which river flows through the old town of Bern.\n",
    );
    let lines = ["contamination", "t.csv", "c.txt", "--input", "lines", "-q"];
    let ran = sandbox.run(&[&lines[..], &fields].concat()).done();
    assert_eq!(ran.text(), "7\t0\t1.0000\t0.5000\t6\t52\n");
    let ran = sandbox.run(&["contamination", "c.txt", "c.txt", "--input", "lines", "-q"]);
    assert_eq!(ran.done().text(), "0\t0\t1.0000\t1.0000\t0\t52\n");
}

#[test]
fn the_clean_corpus_is_the_other_records_byte_for_byte() {
    let sandbox = sandbox();
    let lines: Vec<&str> = CORPUS.split_inclusive('\n').collect();
    let rest = [0, 1, 2, 3].map(|line| lines[line]).concat();
    let found = run(&sandbox, &["c.jsonl", "-q"]).done();
    let ran = run(&sandbox, &["c.jsonl", "-q", "--clean", "clean.jsonl"]).done();
    assert_eq!(ran.text(), found.text());
    assert_eq!(sandbox.read("clean.jsonl"), rest.as_bytes());
    // The other way round, and several inputs, one of them compressed.
    sandbox.write("a.jsonl", lines[..3].concat());
    sandbox.write("b.jsonl.gz", gzip(lines[3..].concat().as_bytes()));
    let outputs = ["--clean", "-", "-o", "found.tsv", "-q"];
    let ran = run(
        &sandbox,
        &[&["a.jsonl", "b.jsonl.gz"], &outputs[..]].concat(),
    )
    .done();
    assert_eq!(ran.text(), rest);
    let rows = String::from_utf8(sandbox.read("found.tsv")).unwrap();
    let (names, rows) = rows.split_once('\n').unwrap();
    assert_eq!(names, "item\tdocument\tcontainment\tsimilarity\tbegin\tend");
    assert_eq!(rows.lines().count(), table(&found).len());
    // Compressed as the extension demands.
    run(&sandbox, &["c.jsonl", "-q", "--clean", "z.jsonl.GZ"]).done();
    let unpacked = sandbox.shell("gzip -dc < z.jsonl.GZ", &[]).done();
    assert_eq!(unpacked.text(), rest);
    // In a clean corpus, nothing is found.
    let again = run(&sandbox, &["clean.jsonl", "-q", "--clean", "again.jsonl"]);
    again.no();
    assert_eq!(sandbox.read("again.jsonl"), rest.as_bytes());
    let ran = run(&sandbox, &["c.jsonl", "--clean", "clean.jsonl"]);
    ran.refused("clean.jsonl: already exists; use --force to replace it");
    run(
        &sandbox,
        &["c.jsonl", "-q", "--clean", "clean.jsonl", "--force"],
    )
    .done();
}

#[test]
fn parquet_files_become_a_clean_parquet_file() {
    let sandbox = sandbox();
    // A column of Parquet has an id in each row or none at all.
    let with_id =
        |lines: &str, id: &str| lines.replace("{\"text\"", &format!("{{\"id\":\"{id}\",\"text\""));
    sandbox.write("t.parquet", parquet(&with_id(TESTS, "q5"), &["id", "text"]));
    sandbox.write(
        "c.parquet",
        parquet(&with_id(CORPUS, "d5"), &["id", "text"]),
    );
    let clean = [
        "contamination",
        "t.parquet",
        "c.parquet",
        "-q",
        "--clean",
        "clean.parquet",
    ];
    assert_eq!(table(&sandbox.run(&clean).done()).len(), 4);
    let left = sandbox.run(&["fingerprint", "clean.parquet", "-q"]).done();
    let ids: Vec<&str> = table(&left).into_iter().map(|row| row[1]).collect();
    assert_eq!(ids, ["d0", "d1", "d2", "d3"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let sandbox = sandbox();
    let refused = |args: &[&str], message: &str| run(&sandbox, args).refused(message);
    sandbox.write("prints.hex", "00ff\n");
    sandbox.write("bad.jsonl", format!("{CORPUS}{{\"text\":\n"));
    sandbox.write("c.csv", "id,text\n1,x\n");
    refused(&["prints.hex"], "prints.hex:1: has no text to compare");
    sandbox
        .run(&["contamination", "prints.hex", "c.jsonl"])
        .refused("prints.hex:1: has no text to compare");
    refused(
        &["none.jsonl"],
        "none.jsonl: No such file or directory (os error 2)",
    );
    let idle = "runs of words are compared, not fingerprints: of the pipeline only --html counts";
    refused(&["c.jsonl", "--pipeline", "short"], idle);
    refused(&["c.jsonl", "--width", "32"], idle);
    let twice = "--clean needs standard output; name a file for the lines with -o";
    refused(&["c.jsonl", "--clean", "-"], twice);
    refused(
        &["c.jsonl", "--clean", "x.tsv", "-o", "./x.tsv"],
        "-o and --clean name the same file",
    );
    refused(
        &["c.jsonl", "--clean", "x.csv"],
        "x.csv: its name says csv, but the records are jsonl; name it .jsonl, and convert it then, for example with DuckDB",
    );
    refused(
        &["c.jsonl", "--clean", "x.jsonl.xz"],
        "x.jsonl.xz: .xz cannot be written; use .gz, .zst or no compression",
    );
    let message = "c.csv: is read as csv and cannot go into one output with inputs read as jsonl; clean it by itself";
    refused(&["c.jsonl", "c.csv", "--clean", "x"], message);
    let message = "t.jsonl: is an input, and no input is replaced; name another output";
    refused(&["c.jsonl", "-o", "t.jsonl", "--force"], message);
    refused(&["c.jsonl", "--clean", "t.jsonl", "--force"], message);
    for (flag, value) in [
        ("--containment", "0"),
        ("--similarity", "1.1"),
        ("--containment", "nan"),
    ] {
        let ran = run(&sandbox, &["c.jsonl", flag, value]);
        let reason = "a share is a number above 0 and at most 1, such as 0.8";
        assert!(ran.refusal().contains(reason), "{ran:?}");
    }
    assert!(
        run(&sandbox, &["c.jsonl", "--features", "words:65"])
            .refusal()
            .contains("words:N with N from 1 to 64")
    );
    let ran = run(
        &sandbox,
        &["bad.jsonl", "-o", "x.tsv", "--clean", "x.jsonl"],
    );
    assert!(ran.refusal().starts_with("bad.jsonl:8: "), "{ran:?}");
    // Nothing of this is left.
    let names = ["bad.jsonl", "c.csv", "c.jsonl", "prints.hex", "t.jsonl"];
    assert_eq!(sandbox.names(), names);
    // A record that cannot be judged is copied as it is.
    let skip = [
        "bad.jsonl",
        "--on-error",
        "skip",
        "-q",
        "--clean",
        "x.jsonl",
    ];
    let ran = run(&sandbox, &skip);
    assert_eq!(table(&ran).len(), 4);
    assert!(
        ran.stderr.starts_with("simidx: not judged: bad.jsonl:8: ")
            && ran.stderr.ends_with("simidx: 1 record not judged\n"),
        "{ran:?}"
    );
    assert!(sandbox.read("x.jsonl").ends_with(b"\n{\"text\":\n"));
    // One that does not end cannot be copied.
    sandbox.write("bad.csv", "id,text\n1,a b\n2\n3,\"never");
    let skip = ["bad.csv", "--on-error", "skip", "-q", "--clean", "x.csv"];
    let ran = run(&sandbox, &skip);
    assert!(
        ran.stderr
            .ends_with("simidx: 2 records not judged\nsimidx: 1 of them cannot be copied\n"),
        "{ran:?}"
    );
    assert_eq!(sandbox.read("x.csv"), b"id,text\n1,a b\n2\n");
}

/// The texts of a file of the project, by their ids.
fn real(name: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let file = std::fs::File::open(root.join(name)).unwrap();
    let mut lines = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut lines)
        .unwrap();
    let document = |line: &str| {
        let object: Value = serde_json::from_str(line).unwrap();
        ["id", "text"]
            .map(|member| object[member].as_str().unwrap().to_owned())
            .into()
    };
    lines.lines().map(document).collect()
}

#[test]
fn real_texts_are_found_as_by_brute_force() {
    for name in ["en.jsonl.gz", "zh.jsonl.gz"] {
        let documents = real(name);
        // A part of every ninetieth text.
        let part = |(id, text): &(String, String)| {
            let characters = text.chars().count();
            let part: String = text.chars().skip(characters / 3).take(200).collect();
            (id.clone(), part)
        };
        let items: Vec<_> = documents.iter().step_by(90).map(part).collect();
        let sandbox = Sandbox::new();
        let lines = |texts: &[(String, String)]| {
            let line =
                |(id, text): &(String, String)| format!("{}\n", json!({"id": id, "text": text}));
            texts.iter().map(line).collect::<String>()
        };
        sandbox.write("t.jsonl", lines(&items));
        sandbox.write("c.jsonl", lines(&documents));
        let options = [
            "--all",
            "--features",
            "words:3",
            "--containment",
            "0.3",
            "--json",
            "-q",
        ];
        let ran = run(&sandbox, &[&["c.jsonl"], &options[..]].concat()).done();
        let found = ran.json_lines().into_iter().map(|line| {
            let [item, document] =
                ["item", "document"].map(|m| line[m].as_str().unwrap().to_owned());
            let [containment, similarity] =
                ["containment", "similarity"].map(|m| line[m].as_f64().unwrap());
            (document, item, containment, similarity)
        });
        let found: Vec<_> = found.collect();
        let set = |text: &str| FeatureSet::of_shingles(text, 3);
        let items: Vec<_> = items.iter().map(|(id, text)| (id, set(text))).collect();
        let mut expected = Vec::new();
        for (document, text) in &documents {
            let of_document = set(text);
            for (item, set) in &items {
                let mut hashes = set.hashes().iter();
                let all = hashes.len();
                // A run of fewer words is one that the document has alone in this definition; real items are longer.
                assert!(all > 1, "{item}");
                let both = hashes
                    .by_ref()
                    .filter(|&hash| of_document.hashes().binary_search(hash).is_ok());
                let containment = both.count() as f64 / all as f64;
                if containment >= 0.3 {
                    let similarity = set.jaccard(&of_document);
                    expected.push((document.clone(), (*item).clone(), containment, similarity));
                }
            }
        }
        assert!(expected.len() > items.len(), "{} pairs", expected.len());
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((&found.0, &found.1), (&expected.0, &expected.1));
            // A number that was read from JSON may differ in its last bit.
            assert!(
                (found.2 - expected.2).abs() < 1e-12,
                "{found:?}, {expected:?}"
            );
            assert!(
                (found.3 - expected.3).abs() < 1e-12,
                "{found:?}, {expected:?}"
            );
        }
    }
}
