//! Documents without features: `dedup` drops equal ones, and they are near to nothing by distance.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// Documents, six of which have no features; two of these are equal. Two others are near-duplicates.
const TEXTS: [(&str, &str); 9] = [
    ("a", "👍👍👍"),
    ("b", "❤️"),
    ("w1", "one two three"),
    ("c", "???"),
    ("d", "=== *** +++"),
    ("e", "👍👍👍"),
    ("f", "👍👍 👍"),
    ("w2", "One, two; three."),
    ("w3", "four five six"),
];

/// The fingerprint of all documents without features.
const ZERO: &str = "0000000000000000";

const NOTICE: &str = "simidx: no features in 6 documents: left out\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lines = TEXTS.map(|(id, text)| format!("{}\n", json!({"id": id, "text": text})));
    sandbox.write("a.jsonl", lines.concat());
    sandbox
}

/// Returns the ids of the records in a file.
fn ids(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let text = String::from_utf8(sandbox.read(name)).unwrap();
    let id = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["id"].as_str().unwrap().to_owned()
    };
    text.lines().map(id).collect()
}

/// Asserts exit code 0 and the notice.
#[track_caller]
fn told(ran: Ran) -> Ran {
    assert_eq!((ran.code, &*ran.stderr), (Some(0), NOTICE), "{ran:?}");
    ran
}

#[test]
fn dedup_drops_only_equal_ones() {
    let sandbox = sandbox();
    for pipeline in ["web", "web,fingerprint=simhash,ties=set"] {
        for k in ["0", "3", "64"] {
            let args = ["dedup", "a.jsonl", "-o", "kept.jsonl", "--force", "--json"];
            let options = ["--report", "r.jsonl", "--pipeline", pipeline, "-k", k];
            let ran = sandbox.run(&[&args[..], &options].concat());
            assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
            assert_eq!(ran.json()["without_features"], 6);
            let mut kept = ids(&sandbox, "kept.jsonl");
            kept.retain(|id| !id.starts_with('w'));
            assert_eq!(kept, ["a", "b", "c", "d", "f"]);
            let report = String::from_utf8(sandbox.read("r.jsonl")).unwrap();
            let first: Value = serde_json::from_str(report.lines().next().unwrap()).unwrap();
            assert_eq!(
                (&first["dropped"], &first["kept"]),
                (&json!("e"), &json!("a"))
            );
            assert_eq!(first["distance"], 0);
        }
    }
    let ran = sandbox.run(&["dedup", "a.jsonl", "-o", "out.jsonl"]);
    let row = "without features        6\n";
    assert!(ran.stderr.contains(row), "{ran:?}");
}

#[test]
fn an_index_excludes_none_of_them() {
    let sandbox = sandbox();
    // An index of fingerprints may contain the fingerprint of documents without features.
    sandbox.write("zero.hex", "0\n");
    let args = ["build", "zero.hex", "-o", "zero.simidx"];
    sandbox.run(&args).done();
    let args = ["dedup", "a.jsonl", "-o", "k.jsonl"];
    let ran = sandbox.run(&[&args[..], &["--against", "zero.simidx"]].concat());
    assert_eq!(ran.code, Some(0));
    let kept = ["a", "b", "w1", "c", "d", "f", "w3"];
    assert_eq!(ids(&sandbox, "k.jsonl"), kept);
}

#[test]
fn pairs_by_distance_leave_them_out() {
    let sandbox = sandbox();
    let pairs = ["pairs", "--input", "jsonl", "a.jsonl"];
    let by_id = [&pairs[..], &["--by", "id"]].concat();
    let all = [&by_id[..], &["-k", "64"]].concat();
    let unsorted = told(sandbox.run(&all));
    let sorted = told(sandbox.run(&[&all[..], &["--sort"]].concat()));
    let mut lines = unsorted.lines();
    lines.sort_unstable();
    assert_eq!(lines, sorted.lines());
    assert!(lines.iter().all(|line| line.starts_with('w')), "{lines:?}");
    let ran = told(sandbox.run(&by_id));
    assert_eq!(ran.lines(), ["w1\tw2\t0"]);
    let ran = sandbox.run(&[&pairs[..], &["-k", "3", "--count-only"]].concat());
    assert_eq!(
        (ran.code, ran.text(), &*ran.stderr),
        (Some(1), "0\n", NOTICE)
    );
    // By default texts are compared.
    let ran = sandbox.run(&pairs).done();
    assert_eq!(ran.lines(), ["a\te\t1.0000", "w1\tw2\t1.0000"]);
}

#[test]
fn clusters_by_distance_leave_them_out() {
    let sandbox = sandbox();
    let clusters = |more: &[&str]| {
        let args = ["clusters", "--input", "jsonl", "a.jsonl", "-k", "3"];
        sandbox.run(&[&args, more].concat())
    };
    let ran = told(clusters(&[]));
    let word = ran.lines()[0].split('\t').nth(1).unwrap();
    let expected = [format!("0\t{word}\tw1"), format!("0\t{word}\tw2")];
    assert_eq!(ran.lines(), expected);
    let ran = clusters(&["--summary"]);
    assert_eq!(ran.lines(), [format!("0\t2\t1\t0\t{word}\tw1")]);
    let summary = "simidx: 1 cluster of 2 records with 1 fingerprint\n";
    assert_eq!(ran.stderr, format!("{NOTICE}{summary}"));
    let ran = told(clusters(&["--min-size", "1"]));
    let cells = |at: usize| {
        let lines = ran.lines().into_iter();
        let cells = lines.map(|line| line.split('\t').nth(at).unwrap().to_owned());
        cells.collect::<Vec<_>>()
    };
    assert_eq!(cells(0), ["0", "0", "1"]);
    assert_eq!(cells(2), ["w1", "w2", "w3"]);
    // Without ids, only fingerprints are printed.
    let ran = clusters(&["--ids", "none"]);
    assert_eq!((ran.code, ran.text(), &*ran.stderr), (Some(1), "", NOTICE));
}

#[test]
fn an_index_leaves_them_out_and_queries_find_nothing() {
    let sandbox = sandbox();
    let build = ["build", "a.jsonl", "-o", "x.simidx", "--force"];
    let built = sandbox.run(&build).done();
    let row = "without features        6, left out\n";
    assert!(built.text().contains(row), "{built:?}");
    let built = sandbox.run(&[&build[..], &["--json"]].concat()).done();
    let built = built.json();
    assert_eq!(built["without_features_count"], 6);
    assert_eq!(built["record_count"], 3);
    assert_eq!(sandbox.run(&["dump", "x.simidx"]).done().lines().len(), 3);
    let query = |more: &[&str]| sandbox.run(&[&["query", "x.simidx"], more].concat());
    let none = "simidx: no features in 1 document, so nothing is found\n";
    let ran = query(&["--text", "👍👍👍", "-k", "64"]);
    assert_eq!((ran.code, ran.text(), &*ran.stderr), (Some(1), "", none));
    let ran = query(&["--text", "?", "--json"]);
    let object = json!({"query": ZERO, "matches": [], "without_features": true});
    assert_eq!((ran.code, ran.json()), (Some(1), object));
    let ran = query(&["--documents", "a.jsonl"]);
    let none = "simidx: no features in 6 documents, so nothing is found\n";
    assert_eq!((ran.code, &*ran.stderr), (Some(0), none));
    assert_eq!(ran.lines().len(), 5);
}

#[test]
fn one_fingerprint_stands_for_all_of_them() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["fingerprint", "a.jsonl"]);
    let stands = format!("the fingerprint {ZERO} is a placeholder");
    let notice = format!("simidx: no features in 6 documents: {stands}\n");
    assert_eq!((ran.code, ran.stderr), (Some(0), notice));
}

#[test]
fn compare_states_nothing_about_them() {
    let sandbox = Sandbox::new();
    let compare = |a: &str, b: &str, code: i32, verdict: &str| {
        let args = ["compare", "--text", a, "--text", b, "-k", "3"];
        let ran = sandbox.run(&args);
        assert_eq!((ran.code, &*ran.stderr), (Some(code), ""), "{ran:?}");
        let row = format!("\nverdict                 {verdict}\n");
        assert!(ran.text().contains(&row), "{ran:?}");
        assert!(!ran.text().contains("exact"), "{ran:?}");
        let json = sandbox.run(&[&args[..], &["--json"]].concat()).json();
        assert_eq!(json["near_duplicates"], code == 0);
        assert_eq!(json["distance"], Value::Null);
        let similarity = if code == 0 { json!(1.0) } else { Value::Null };
        assert_eq!(json["similarity"], similarity);
    };
    let neither = "not near-duplicates: neither document has features";
    compare("👍👍👍", "=== *** +++", 1, neither);
    compare("?!", "?!", 0, "near-duplicates: equal byte for byte");
    let one = "not near-duplicates: A has no features";
    compare("?!", "a word", 1, one);
}
