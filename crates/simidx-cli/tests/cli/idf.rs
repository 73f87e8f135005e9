//! `--idf`: the weights that a table gives to features, and the indexes that need it.

use crate::support::Sandbox;
use std::collections::BTreeMap;

/// Weights of three words, and of all others.
const TABLE: &str = "#default 6.2\nthe\t0.001\nw1\t0.7\nw40\t3.5\n";

const PIPELINE: [&str; 2] = ["--pipeline", "news-zh,fingerprint=simhash"];

#[test]
fn common_words_lose_weight() {
    let sandbox = Sandbox::new();
    sandbox.write("i.tsv", TABLE);
    let compare = |a: &str, b: &str, more: &[&str]| {
        let args = ["compare", "--text", a, "--text", b, "--json", "-k", "64"];
        let ran = sandbox.run(&[&args[..], &PIPELINE, more].concat());
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
    for (word, weight) in [("the", 0.001), ("w1", 0.7), ("w40", 3.5), ("new", 6.2)] {
        assert!((weighed[word] - weight).abs() < 1e-4, "{weighed:?}");
    }
    // Documents become less similar if their only common words are in all documents.
    let cosine = |more: &[&str]| {
        let found = compare("the the the w40", "the the the w50", more);
        found["cosine"].as_f64().unwrap()
    };
    assert!(cosine(&["--idf", "i.tsv"]) < 0.1 && cosine(&[]) > 0.8);
}

#[test]
fn an_index_built_with_it_needs_it() {
    let sandbox = Sandbox::new();
    sandbox.write("i.tsv", TABLE);
    sandbox.write("d.jsonl", "{\"id\":\"7\",\"text\":\"the w1 w40 new\"}\n");
    let table = ["--idf", "i.tsv"];
    let build = ["build", "--input", "jsonl", "d.jsonl", "-o", "x.simidx"];
    sandbox
        .run(&[&build[..], &PIPELINE, &table].concat())
        .done();
    let query = ["query", "x.simidx", "--text", "the w1 w40 new", "-k", "0"];
    let refusal = sandbox.run(&query);
    assert!(refusal.refusal().contains("i.tsv"), "{refusal:?}");
    sandbox.write("other.tsv", "the\t1\n");
    let refusal = sandbox.run(&[&query[..], &["--idf", "other.tsv"]].concat());
    assert!(refusal.refusal().contains("not other.tsv"), "{refusal:?}");
    let ran = sandbox.run(&[&query[..], &table].concat()).done();
    assert!(
        ran.lines().iter().any(|line| line.ends_with("\t0\t7")),
        "{ran:?}"
    );
}

#[test]
fn files_that_an_index_was_built_without_bring_one_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("i.tsv", TABLE);
    sandbox.write("d.jsonl", "{\"id\":\"7\",\"text\":\"the w1 w40 new\"}\n");
    sandbox.run(&["build", "d.jsonl", "-o", "x.simidx"]).done();
    let files = ["--stop-words", "i.tsv", "--idf", "i.tsv"];
    for query in [["--text", "the w1 w40 new"], ["--documents", "d.jsonl"]] {
        let ran = sandbox.run(&[&["query", "x.simidx"], &query[..], &files].concat());
        let warning = "simidx: the index ignores --stop-words and --idf, as it was built without\n";
        assert_eq!((ran.code, &*ran.stderr), (Some(0), warning));
    }
}
