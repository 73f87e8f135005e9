//! Figures, intervals and the drawing; what leaves nothing to measure is refused.

use std::fs;

use clap::Parser;
use serde_json::Value;
use tempfile::TempDir;

use super::{Args, run};

/// Six documents: a, b and c are alike, and d and e; f is unlike all.
const DOCUMENTS: &str = r#"{"id":"a","text":"the quick brown fox jumps over the lazy dog","label":"fox"}
{"id":"b","text":"the quick brown fox jumps over the lazy dog","label":"fox"}
{"id":"c","text":"the quick brown fox jumps over the lazy dog","label":"fox"}
{"id":"d","text":"pack my box with five dozen liquor jugs","label":"box"}
{"id":"e","text":"pack my box with five dozen liquor jugs","label":"box"}
{"id":"f","text":"how vexingly quick daft zebras jump","label":null}
"#;

const TRUTH: &str = "a\tb\nb\tc\na\tc\nd\te\n";

const PAIRS: &str = r#"{"a":"the quick brown fox","b":"the quick brown fox","label":1}
{"a":"the quick brown fox","b":"some other words altogether","label":0}
{"a":"five dozen liquor jugs","b":"sphinx of black quartz","label":true}
"#;

/// A folder with the three files, and more.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let known = [
        ("docs.jsonl", DOCUMENTS),
        ("truth.tsv", TRUTH),
        ("pairs.jsonl", PAIRS),
    ];
    for (name, contents) in known.iter().chain(files) {
        fs::write(folder.path().join(name), contents).unwrap();
    }
    folder
}

/// Returns the output with these arguments, where names of files get an extension.
fn measured(folder: &TempDir, args: &[&str]) -> Result<String, String> {
    let path = |arg: &&str| match arg.rsplit('.').next() {
        Some("jsonl" | "tsv" | "svg") => folder.path().join(arg).display().to_string(),
        _ => (*arg).to_owned(),
    };
    let args = ["quality".to_owned()]
        .into_iter()
        .chain(args.iter().map(path));
    let mut out = Vec::new();
    let run = run(&Args::parse_from(args), &mut out);
    run.map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

fn json(folder: &TempDir, args: &[&str]) -> Value {
    let args = [args, &["--json"]].concat();
    serde_json::from_str(&measured(folder, &args).unwrap()).unwrap()
}

/// No figures, and this message, which names a file without its folder.
#[track_caller]
fn refuses(files: &[(&str, &str)], args: &[&str], message: &str) {
    let folder = folder(files);
    let refused = measured(&folder, args).unwrap_err();
    let refused = refused.replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(refused, message);
}

#[test]
fn what_leaves_nothing_to_measure_is_refused() {
    let unlabelled = r#"{"id":"a","text":"x"}
{"id":"b","text":"x","label":null}
"#;
    let different = r#"{"text":"x","label":1}
{"text":"x","label":2}
{"text":"x"}
"#;
    for (contents, message) in [
        (
            unlabelled,
            r#"u.jsonl: no document has a "label"; --truth takes a list of near-duplicates"#,
        ),
        (
            "",
            r#"u.jsonl: no document has a "label"; --truth takes a list of near-duplicates"#,
        ),
        (
            different,
            r#"u.jsonl: no two documents have the same "label", so there is nothing to find"#,
        ),
    ] {
        refuses(
            &[("u.jsonl", contents)],
            &["u.jsonl", "--by-label"],
            message,
        );
    }
    for (contents, message) in [
        ("", "p.jsonl: holds no labelled pair"),
        (
            "{\"a\":\"x\",\"b\":\"x\",\"label\":0}\n",
            "p.jsonl: labels no pair as near-duplicates, so there is nothing to find",
        ),
    ] {
        refuses(&[("p.jsonl", contents)], &["p.jsonl"], message);
    }
    refuses(
        &[("u.jsonl", "{\"text\":\"x\"}\n")],
        &["u.jsonl", "--truth", "truth.tsv"],
        r#"u.jsonl: no document has an "id", by which --truth names near-duplicates"#,
    );
}

#[test]
fn a_truth_without_known_pairs_is_refused() {
    for (truth, message) in [
        ("", "t.tsv: holds no pair of near-duplicates"),
        ("id_a\tid_b\n", "t.tsv: holds no pair of near-duplicates"),
        ("x\ty\n", r#"t.tsv:1: no document has the id "x""#),
        ("x\ty\na\tb\n", r#"t.tsv:1: no document has the id "x""#),
        (
            "id_a\tid_b\na\ty\n",
            r#"t.tsv:2: no document has the id "y""#,
        ),
        (
            "a\tb\nid_a\tid_b\n",
            r#"t.tsv:2: no document has the id "id_a""#,
        ),
        ("a\tid\n", r#"t.tsv:1: no document has the id "id""#),
        ("a\tb\n\na\ta\n", "t.tsv:3: pairs a document with itself"),
        ("a b\n", "t.tsv:1: is not two ids separated by a tab"),
    ] {
        let args = ["docs.jsonl", "--truth", "t.tsv", "--pipeline", "web"];
        refuses(&[("t.tsv", truth)], &args, message);
    }
}

#[test]
fn a_first_line_that_names_ids_is_a_heading() {
    let args = ["docs.jsonl", "--pipeline", "web", "--truth"];
    let plain = measured(&folder(&[]), &[&args[..], &["truth.tsv"]].concat()).unwrap();
    for heading in ["id_a\tid_b\tjaccard", "ID\tdoc-id", "left id\trightId"] {
        let folder = folder(&[("headed.tsv", &format!("{heading}\n{TRUTH}"))]);
        let headed = measured(&folder, &[&args[..], &["headed.tsv"]].concat());
        assert_eq!(headed.unwrap(), plain);
    }
}

#[test]
fn pipelines_are_checked_before_the_first_runs() {
    for (pipeline, message) in [
        (
            "jaccard:web",
            "jaccard:web: compares labelled pairs, not documents with --truth or --by-label",
        ),
        (
            "compat-mfonda",
            "compat-mfonda: text pipeline: fnv1-64 has 64 bits, too few for fingerprints of 128",
        ),
    ] {
        let args = "docs.jsonl --by-label --all --width 128 --pipeline web --pipeline";
        let args: Vec<&str> = args.split(' ').chain([pipeline]).collect();
        refuses(&[], &args, message);
    }
}

#[test]
fn labels_and_the_same_pairs_give_the_same_figures() {
    let folder = folder(&[]);
    let args = ["docs.jsonl", "--pipeline", "web"];
    let by_pairs = json(&folder, &[&args[..], &["--truth", "truth.tsv"]].concat());
    let by_label = json(&folder, &[&args[..], &["--by-label"]].concat());
    assert_eq!(by_pairs, by_label);
}

#[test]
fn json_has_counts_shares_and_intervals() {
    let report = json(
        &folder(&[]),
        &["docs.jsonl", "--by-label", "--pipeline", "web"],
    );
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&report),
        ["confidence", "pipeline", "points", "relevant"]
    );
    assert_eq!(
        (&report["relevant"], &report["confidence"]),
        (&4.into(), &0.95.into())
    );
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 13);
    let first = &points[0];
    assert_eq!(
        keys(first).join(" "),
        "f1 found hits limit precision precision_interval recall recall_interval"
    );
    assert_eq!((&first["found"], &first["hits"]), (&4.into(), &4.into()));
    assert_eq!(
        (&first["precision"], &first["recall"]),
        (&1.0.into(), &1.0.into())
    );
    // All four pairs are found, but there are two clusters only: far from certain.
    let low = first["recall_interval"][0].as_f64().unwrap();
    assert!(
        (low - 2.0 / (2.0 + 1.959_964f64.powi(2))).abs() < 1e-5,
        "{low}"
    );
    assert_eq!(first["recall_interval"][1], 1.0);
    for point in points {
        for share in ["precision", "recall"] {
            let interval = &point[format!("{share}_interval")];
            let [low, share, high] =
                [&interval[0], &point[share], &interval[1]].map(|figure| figure.as_f64().unwrap());
            assert!(
                0.0 <= low && low <= share && share <= high && high <= 1.0,
                "{point}"
            );
        }
    }
}

#[test]
fn precision_of_nothing_is_not_a_number() {
    let pair = r#"{"a":"five dozen liquor jugs","b":"sphinx of black quartz","label":1}"#;
    let folder = folder(&[("p.jsonl", pair)]);
    let args = ["p.jsonl", "--pipeline", "web"];
    let three = &json(&folder, &args)["points"][3];
    assert_eq!(
        (&three["found"], &three["precision"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(three["recall"], 0.0);
    let table = measured(&folder, &args).unwrap();
    assert!(table.contains("nothing found"), "{table}");
    let all = measured(&folder, &[&args[..], &["--all"]].concat()).unwrap();
    let line = "web\t3\t\t0.0000\t0.0000\t0\t\t\t0.0000\t";
    assert!(all.contains(line), "{all}");
}

#[test]
fn the_table_has_the_usual_distance_and_the_best() {
    let args = [
        "pairs.jsonl",
        "--pipeline",
        "web",
        "--pipeline",
        "jaccard:web",
    ];
    let table = measured(&folder(&[]), &args).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let columns = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        columns(0),
        [
            "pipeline",
            "at",
            "pairs",
            "precision",
            "(95",
            "%)",
            "recall",
            "(95",
            "%)",
            "F1"
        ]
    );
    assert_eq!(columns(1)[..4], ["web", "3", "1", "1.000"]);
    assert_eq!(columns(2)[..4], ["web", "0", "1", "1.000"]);
    assert_eq!(columns(2).last(), Some(&"best"));
    assert_eq!(columns(3)[..4], ["jaccard:web", "1", "1", "1.000"]);
    assert_eq!(lines.len(), 4);
}

#[test]
fn the_drawing_has_a_panel_for_each_pipeline() {
    let folder = folder(&[]);
    // The second differs in nothing that these texts show.
    let args =
        "docs.jsonl --by-label --pipeline web --pipeline web,weights=uniform --pipeline short";
    let args: Vec<&str> = args.split(' ').chain(["--svg", "curves.svg"]).collect();
    measured(&folder, &args).unwrap();
    let svg = fs::read_to_string(folder.path().join("curves.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for text in [
        "<title>Precision and recall against distance: docs.jsonl</title>",
        "docs.jsonl: 6 documents, 4 pairs of near-duplicates, in 2 clusters; 64-bit fingerprints",
        ">web<",
        ">equal: web,weights=uniform<",
        ">largest Hamming distance k (bits)<",
        ">share of pairs<",
        "95 % confidence",
        "stroke-dasharray",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
}

#[test]
fn texts_without_features_are_near_to_equal_ones_only() {
    let pairs = [
        ("👍", "👍", 1),
        ("👍", "❤️", 0),
        ("👍", "one two three", 0),
        ("one two three", "One, two; three.", 1),
    ];
    let line = |(a, b, label)| format!("{}\n", serde_json::json!({"a": a, "b": b, "label": label}));
    let folder = folder(&[("p.jsonl", &pairs.map(line).concat())]);
    for pipeline in ["web", "web,fingerprint=simhash,ties=set", "jaccard:web"] {
        let points = &json(&folder, &["p.jsonl", "--pipeline", pipeline])["points"];
        assert_eq!(
            (&points[0]["found"], &points[0]["hits"]),
            (&2.into(), &2.into())
        );
    }
}
