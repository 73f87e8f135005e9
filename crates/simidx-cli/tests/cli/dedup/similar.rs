//! Texts that are similar: found by default, and whatever else `--similarity` decides.

use serde_json::{Value, json};
use simidx_text::Pipeline;
use simidx_text::compare::FeatureSet;
use simidx_text::dedup::Similarity;

use super::{done, jsonl, texts};
use crate::support::{Ran, Sandbox, hex};

/// The feature set of each text.
pub(crate) fn feature_sets(texts: &[String], similarity: Similarity) -> Vec<FeatureSet> {
    let mut fingerprinter = Pipeline::default().fingerprinter::<u64>().unwrap();
    let texts = texts.iter();
    texts
        .map(|text| similarity.feature_set(&mut fingerprinter, text))
        .collect()
}

/// For each text the most similar one before it that is kept, in this order of decisions: by brute force.
fn kept_for(sets: &[FeatureSet], least: f64, order: &[usize]) -> Vec<Vec<(usize, f64)>> {
    let mut kept: Vec<usize> = Vec::new();
    let mut causes = vec![Vec::new(); sets.len()];
    for &text in order {
        let jaccards = kept
            .iter()
            .map(|&other| (other, sets[text].jaccard(&sets[other])));
        causes[text] = jaccards.filter(|&(_, jaccard)| jaccard >= least).collect();
        if causes[text].is_empty() {
            kept.push(text);
        }
    }
    causes
}

/// Lines of a report as JSON.
fn report(sandbox: &Sandbox) -> Vec<Value> {
    let report = String::from_utf8(sandbox.read("r.jsonl")).unwrap();
    report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_dropped_text_has_a_kept_one_that_is_similar() {
    let texts = texts();
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(&texts).concat());
    for (options, similarity, is_longest) in [
        (&[][..], Similarity::default(), false),
        (
            &["--similarity", "0.8", "--threads", "1"],
            Similarity::default(),
            false,
        ),
        (
            &["--similarity", "0.5"],
            Similarity::of_words(0.5, 3).unwrap(),
            false,
        ),
        (
            &["--features", "words:1"],
            Similarity::of_words(0.8, 1).unwrap(),
            false,
        ),
        (
            &["--features", "pipeline", "--similarity", "1"],
            Similarity::of_features(1.0).unwrap(),
            false,
        ),
        (
            &["--keep", "longest", "--memory", "64MiB"],
            Similarity::default(),
            true,
        ),
    ] {
        let args = [
            "dedup", "a.jsonl", "-o", "kept", "--force", "--report", "r.jsonl", "--json",
        ];
        let found = sandbox.run(&[&args, options].concat()).done().json();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        if is_longest {
            order.sort_by_key(|&text| std::cmp::Reverse(texts[text].len()));
        }
        let sets = feature_sets(&texts, similarity);
        let causes = kept_for(&sets, similarity.least(), &order);
        let dropped: Vec<usize> = (0..texts.len())
            .filter(|&text| !causes[text].is_empty())
            .collect();
        assert!(dropped.len() >= 10, "{options:?}");
        assert_eq!(found["dropped"], dropped.len(), "{options:?}");
        assert_eq!(found["similarity"], similarity.least());
        assert_eq!(found["max_distance"], Value::Null);
        let lines = report(&sandbox);
        assert_eq!(lines.len(), dropped.len());
        for (line, &text) in lines.iter().zip(&dropped) {
            assert_eq!(line["dropped"], format!("d{text}"));
            let cause = causes[text]
                .iter()
                .find(|(kept, _)| line["kept"] == format!("d{kept}"));
            assert_eq!(line["similarity"], cause.unwrap().1, "{line}");
            assert_eq!(line["distance"], Value::Null);
        }
        let kept = jsonl(&texts);
        let kept = kept
            .iter()
            .enumerate()
            .filter(|(text, _)| causes[*text].is_empty());
        let kept: String = kept.map(|(_, line)| &**line).collect();
        assert_eq!(String::from_utf8(sandbox.read("kept")).unwrap(), kept);
    }
}

#[test]
fn chains_lead_to_texts_that_are_not_similar() {
    // Each text has ten words of twelve in common with the next one.
    let words: Vec<String> = (0..40).map(|i| format!("w{i}")).collect();
    let texts: Vec<String> = (0..14)
        .map(|i| words[2 * i..2 * i + 12].join(" "))
        .collect();
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(&texts).concat());
    let options = [
        "--similarity",
        "0.7",
        "--features",
        "words:1",
        "--json",
        "--report",
        "r.jsonl",
    ];
    let dedup = |more: &[&str]| {
        let args = ["dedup", "a.jsonl", "--dry-run", "--force"];
        let ran = sandbox.run(&[&args[..], &options, more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    };
    // Greedily each second one is dropped; by chains all but the first.
    let found = dedup(&[]);
    assert_eq!(
        (&found["dropped"], &found["chained"]),
        (&json!(7), &json!(0))
    );
    assert!(
        report(&sandbox)
            .iter()
            .all(|line| line["similarity"].as_f64() >= Some(0.7))
    );
    let found = dedup(&["--chains"]);
    assert_eq!(
        (&found["dropped"], &found["chained"]),
        (&json!(13), &json!(12))
    );
    assert_eq!(report(&sandbox)[12]["similarity"], 0.0);
    assert_eq!(report(&sandbox)[12]["kept"], "d0");
}

#[test]
fn fingerprints_are_compared_by_distance_and_it_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&[0xff00, 0xff01, 1 << 40]));
    let ran = done(sandbox.run(&["dedup", "a.hex", "-o", "k"]));
    let row = "distance                at most 3 bits: the records are fingerprints\n";
    assert!(ran.stderr.contains(row), "{ran:?}");
    sandbox.write("a.jsonl", "{\"text\":\"a b c\"}\n{\"text\":\"A b c!\"}\n");
    let row = |args: &[&str]| -> Ran {
        done(sandbox.run(&[&["dedup", "a.jsonl", "-o", "k", "--force"], args].concat()))
    };
    let similarity = "similarity              0.8 and more, by runs of 3 words\n";
    assert!(row(&[]).stderr.contains(similarity));
    let ran = row(&["--pipeline", "short"]);
    assert!(
        ran.stderr.contains(": the pipeline makes fingerprints\n"),
        "{ran:?}"
    );
    let ran = row(&["--width", "128"]);
    assert!(
        ran.stderr.contains(": --width is that of fingerprints\n"),
        "{ran:?}"
    );
    let ran = row(&["-k", "2"]);
    assert!(!ran.stderr.contains("distance"), "{ran:?}");
    // The pipeline then makes the features.
    let ran = row(&["--pipeline", "short", "--features", "pipeline"]);
    assert!(
        ran.stderr.contains("by features of the pipeline\n"),
        "{ran:?}"
    );
}

#[test]
fn what_does_not_go_with_a_similarity_is_refused() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&[1, 2])), &[]);
    sandbox.write("a.jsonl", "{\"text\":\"a b c\"}\n");
    let refused = |args: &[&str], message: &str| {
        let ran = sandbox.run(&[&["dedup", "--dry-run"], args].concat());
        assert!(ran.refusal().contains(message), "{ran:?}");
    };
    refused(
        &["a.jsonl", "--similarity", "1.5"],
        "a number above 0 and at most 1, such as 0.8",
    );
    refused(
        &["a.jsonl", "--features", "three"],
        "words:N with N from 1 to 64, or pipeline",
    );
    refused(
        &["a.jsonl", "--similarity", "0.8", "-k", "3"],
        "cannot be used with",
    );
    refused(
        &["a.jsonl", "--similarity", "0.8", "--verify", "jaccard:0.8"],
        "cannot be used with",
    );
    refused(
        &["a.hex", "--similarity", "0.8"],
        "a.hex:1: has no text, which --similarity needs",
    );
    refused(&["a.hex", "--chains"], "--chains goes with --similarity");
    let args = ["a.jsonl", "--similarity", "0.8", "--against", "x.simidx"];
    refused(
        &args,
        "--similarity compares texts, which an index does not have",
    );
}

#[test]
fn templates_and_short_documents_are_named() {
    let sandbox = Sandbox::new();
    let order = |i: u32| {
        let (a, b) = (i * 7919 % 1009, i * 104_729 % 1013);
        json!({ "id": format!("o{i}"), "text": format!(
            "Thank you for your order. We have received it and will send the goods within three working days. \
             Order {i}: {a} of {b}, {b}{i} to {a}{i}. If anything is wrong with it, please write to us within a week."
        ) })
    };
    let mut lines: String = (0..50).map(|i| format!("{}\n", order(i))).collect();
    lines += "{\"id\":\"s\",\"text\":\"Two words\"}\n{\"id\":\"t\",\"text\":\"…\"}\n";
    sandbox.write("a.jsonl", lines);
    let ran = done(sandbox.run(&["dedup", "a.jsonl", "-o", "kept", "--report", "r.html"]));
    for row in [
        "kept                    52\n",
        "without features        1\n",
        "with a single feature   2\n",
        "of one template         50, such as o0\n",
    ] {
        assert!(ran.stderr.contains(row), "{row}{ran:?}");
    }
    let page = String::from_utf8(sandbox.read("r.html")).unwrap();
    assert!(page.contains("50, such as o0"));
    let args = ["dedup", "a.jsonl", "--dry-run", "--json"];
    let found = sandbox.run(&args).json();
    assert_eq!(
        found["templates"],
        json!([{ "count": 50, "example": "o0" }])
    );
    assert_eq!(found["single_feature"], 2);
}
