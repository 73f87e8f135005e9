//! `simidx idf`: counts against brute force, the round trip through `--idf`, memory, errors.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::Sandbox;
use serde_json::json;

/// Returns documents of 30 words. Word i is in about one of i + 1 documents, and `the` is in all.
fn corpus(count: u64) -> Vec<String> {
    let occurs =
        |word: u64, document: u64| (document * 7919 + word * 104_729) % 997 < 997 / (word + 1);
    let document = |number| {
        let words = (1..60).filter(|&word| occurs(word, number));
        let words = words.map(|word| format!("w{word}"));
        ["the".to_owned(), "the".to_owned()]
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..count).map(document).collect()
}

fn jsonl(texts: &[String]) -> String {
    let lines = texts.iter().enumerate();
    lines
        .map(|(i, text)| format!("{}\n", json!({"id": i.to_string(), "text": text})))
        .collect()
}

/// Returns the table of a corpus, by brute force.
fn expected(texts: &[String], min_count: u64) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for text in texts {
        let words: BTreeSet<&str> = text.split(' ').collect();
        words
            .into_iter()
            .for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .filter(|&(_, count)| count >= min_count)
        .collect();
    counts.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
    let idf = |count: u64| ((texts.len() as f64 + 1.0) / (count as f64 + 0.5)).ln();
    let mut table = format!("#default {:.6}\n", idf(0));
    for (word, count) in counts {
        table += &format!("{word}\t{:.6}\n", idf(count));
    }
    table
}

fn body(file: &[u8]) -> String {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn frequencies_are_those_of_a_count() {
    let texts = corpus(6000);
    let sandbox = Sandbox::new();
    sandbox.write("d.jsonl", jsonl(&texts));
    for min_count in [1, 2, 300] {
        let count = min_count.to_string();
        let args = [
            "idf",
            "d.jsonl",
            "--pipeline",
            "news-zh",
            "-o",
            "i.tsv",
            "--force",
            "--json",
            "--min-count",
            &count,
        ];
        let report = sandbox.run(&args).done().json();
        let table = body(&sandbox.read("i.tsv"));
        assert_eq!(table, expected(&texts, min_count));
        assert_eq!(report["document_count"], 6000);
        assert_eq!(report["feature_count"], table.lines().count() - 1);
        assert_eq!(report["most_missed"], 0);
    }
    // The bytes are equal for any number of threads, if features are dropped, and on standard output.
    for max in ["4000000", "10"] {
        let run = |threads| {
            let args = [
                "idf",
                "d.jsonl",
                "--pipeline",
                "news-zh",
                "-o",
                "-",
                "--threads",
                threads,
                "--max-features",
                max,
            ];
            sandbox.run(&args).stdout
        };
        let one = run("1");
        assert!(one == run("3"));
        let lines = body(&one).lines().count() - 1;
        assert_eq!(lines, if max == "10" { 10 } else { 60 });
    }
}

#[test]
fn common_words_lose_weight() {
    let texts = corpus(500);
    let sandbox = Sandbox::new();
    sandbox.write("d.jsonl", jsonl(&texts));
    sandbox
        .run(&["idf", "d.jsonl", "-o", "i.tsv", "--pipeline", "news-zh"])
        .done();
    let pipeline = ["--pipeline", "news-zh,fingerprint=simhash"];
    let compare = |a: &str, b: &str, more: &[&str]| {
        let args = ["compare", "--text", a, "--text", b, "--json", "-k", "64"];
        let ran = sandbox.run(&[&args[..], &pipeline, more].concat());
        assert_eq!(ran.stderr, "");
        ran.json()
    };
    let weights_of = |more: &[&str]| {
        let found = compare("the w1 w40 new", "", more);
        let features = found["features"].as_array().unwrap().clone();
        let weight = |f: &serde_json::Value| f["weight_a"].as_f64().unwrap();
        let named = features
            .iter()
            .map(|f| (f["feature"].as_str().unwrap().to_owned(), weight(f)));
        named.collect::<BTreeMap<String, f64>>()
    };
    assert!(weights_of(&[]).values().all(|&weight| weight == 1.0));
    let weighed = weights_of(&["--idf", "i.tsv"]);
    let weights = ["the", "w1", "w40", "new"].map(|word| weighed.get(word).copied().unwrap_or(0.0));
    assert!(weights.is_sorted_by(|a, b| a < b), "{weights:?}");
    let file = body(&sandbox.read("i.tsv"));
    let line = file
        .lines()
        .find_map(|line| line.strip_prefix("w40\t"))
        .unwrap();
    assert!((weights[2] - line.parse::<f64>().unwrap()).abs() < 1e-4);
    // Documents become less similar if their only common words are in all documents.
    let cosine = |more: &[&str]| {
        let found = compare("the the the w40", "the the the w50", more);
        found["cosine"].as_f64().unwrap()
    };
    assert!(cosine(&["--idf", "i.tsv"]) < 0.1 && cosine(&[]) > 0.8);
}

#[test]
fn an_index_built_with_it_needs_it() {
    let texts = corpus(300);
    let sandbox = Sandbox::new();
    sandbox.write("d.jsonl", jsonl(&texts));
    sandbox
        .run(&["idf", "d.jsonl", "-o", "i.tsv", "--pipeline", "news-zh"])
        .done();
    let pipeline = [
        "--pipeline",
        "news-zh,fingerprint=simhash",
        "--idf",
        "i.tsv",
    ];
    let build = ["build", "--input", "jsonl", "d.jsonl", "-o", "x.simidx"];
    sandbox.run(&[&build[..], &pipeline].concat()).done();
    let query = ["query", "x.simidx", "--text", &texts[7], "-k", "0"];
    let refusal = sandbox.run(&query);
    assert!(refusal.refusal().contains("i.tsv"), "{refusal:?}");
    sandbox.write("other.tsv", "the\t1\n");
    let refusal = sandbox.run(&[&query[..], &["--idf", "other.tsv"]].concat());
    assert!(refusal.refusal().contains("not other.tsv"), "{refusal:?}");
    let ran = sandbox
        .run(&[&query[..], &["--idf", "i.tsv"]].concat())
        .done();
    assert!(
        ran.lines().iter().any(|line| line.ends_with("\t0\t7")),
        "{ran:?}"
    );
}

#[test]
fn what_no_line_can_hold_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "d.jsonl",
        jsonl(&["a\tb #".to_owned(), "a\tb #".to_owned()]),
    );
    let args = ["idf", "d.jsonl", "-o", "i.tsv", "--json"];
    let chars = [
        "--pipeline",
        "code,segment=chars:1,shingle=1,normalise=none",
    ];
    let report = sandbox.run(&[&args[..], &chars].concat()).done().json();
    let file = body(&sandbox.read("i.tsv"));
    let listed = file.lines().count() as u64 - 1;
    assert_eq!(report["feature_count"], listed);
    assert!(
        file.lines()
            .skip(1)
            .all(|line| line.split('\t').count() == 2 && !line.starts_with('#'))
    );
}

#[test]
fn outputs_appear_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    sandbox.write("d.jsonl", "{\"text\":\"a b\"}\n{\"text\":\n");
    let args = ["idf", "d.jsonl", "--input", "jsonl", "-o", "i.tsv"];
    assert!(sandbox.run(&args).refusal().starts_with("d.jsonl:2: "));
    assert_eq!(sandbox.names(), ["d.jsonl"]);
    let ran = sandbox.run(&[&args[..], &["--on-error", "skip", "--json"]].concat());
    assert_eq!(
        (ran.code, &ran.json()["skipped_count"]),
        (Some(0), &1.into())
    );
    sandbox
        .run(&args)
        .refused("i.tsv: already exists; use --force to replace it");
    sandbox.write("a.hex", "ff\n");
    let ran = sandbox.run(&["idf", "a.hex", "-o", "j.tsv"]);
    assert_eq!(
        ran.refusal(),
        "a.hex:1: is a fingerprint; this command reads documents"
    );
    let ran = sandbox.run(&["idf", "d.jsonl", "-o", "j.tsv", "--idf", "i.tsv"]);
    assert_eq!(
        ran.refusal(),
        "--idf does not apply here: features are counted, not weighted"
    );
    // An empty input also results in a table.
    let ran = sandbox.pipe(&["idf", "--input", "jsonl", "-o", "-"], b"");
    assert_eq!(body(&ran.stdout), "#default 0.693147\n");
}
