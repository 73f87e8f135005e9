//! `--similarity` of pairs, clusters and compare, against brute force.

use serde_json::{Value, json};
use simidx_text::dedup::Similarity;

use crate::dedup::similar::feature_sets;
use crate::dedup::{jsonl, texts};
use crate::support::{Sandbox, hex};

/// Returns all pairs of similar texts, ordered by the later text, with their similarities.
fn similar_pairs(similarity: Similarity) -> Vec<(usize, usize, f64)> {
    let sets = feature_sets(&texts(), similarity);
    let pairs = (0..sets.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let pairs = pairs.map(|(a, b)| (a, b, sets[a].jaccard(&sets[b])));
    pairs.filter(|pair| pair.2 >= similarity.least()).collect()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(&texts()).concat());
    sandbox
}

#[test]
fn pairs_come_once_with_their_similarity() {
    let sandbox = sandbox();
    let half = Similarity::of_words(0.5, 3).unwrap();
    for (options, similarity) in [
        (&["--similarity", "0.8"][..], Similarity::default()),
        (
            &["--features", "words:3", "--threads", "1"],
            Similarity::default(),
        ),
        (&["--similarity", "0.5", "--memory", "64MiB"], half),
    ] {
        let expected = similar_pairs(similarity);
        assert!(expected.len() >= 10 && expected.iter().any(|pair| pair.2 < 1.0));
        let args = [&["pairs", "a.jsonl"], options].concat();
        let lines: String = expected
            .iter()
            .map(|(a, b, jaccard)| format!("d{a}\td{b}\t{jaccard:.4}\n"))
            .collect();
        assert_eq!(sandbox.run(&args).done().text(), lines);
        let objects = sandbox.run(&[&args[..], &["--json"]].concat()).done();
        let objects = objects
            .text()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let wanted = expected.iter().map(|(a, b, jaccard)| {
            json!({ "a": format!("d{a}"), "b": format!("d{b}"), "similarity": jaccard })
        });
        assert!(objects.eq(wanted));
        let count = expected.len().to_string();
        let ran = sandbox.run(&[&args[..], &["--count-only", "--max-pairs", &count]].concat());
        assert_eq!(ran.done().text(), format!("{count}\n"));
        let fewer = (expected.len() - 1).to_string();
        let ran = sandbox.run(&[&args[..], &["--count-only", "--max-pairs", &fewer]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    // Standard input, and no pairs.
    let ran = sandbox.pipe(
        &["pairs", "-", "--input", "lines", "--similarity", "1"],
        b"a b c\nd e f\nA B c\n",
    );
    assert_eq!(ran.done().text(), "0\t2\t1.0000\n");
    let ran = sandbox.pipe(
        &["pairs", "-", "--input", "lines", "--similarity", "1"],
        b"a b c\n",
    );
    assert_eq!((ran.code, ran.text()), (Some(1), ""));
}

#[test]
fn pairs_of_equal_texts_are_counted_without_going_through_them() {
    // Two and a half billion pairs within one group, and pairs between it and another one.
    let lines = "a b c d e\n".repeat(70_000) + &"a b c d e f\n".repeat(10) + "g h i\n";
    let count = 70_000_u64 * 69_999 / 2 + 45 + 70_000 * 10;
    let args = [
        "pairs",
        "-",
        "--input",
        "lines",
        "--similarity",
        "0.7",
        "--count-only",
    ];
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&args, lines.as_bytes());
    assert_eq!(ran.done().text(), format!("{count}\n"));
    let ran = sandbox.pipe(
        &[&args[..], &["--max-pairs", "1000000"]].concat(),
        lines.as_bytes(),
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn clusters_are_what_chains_of_similar_texts_lead_to() {
    let sandbox = sandbox();
    let similarity = Similarity::of_words(0.5, 3).unwrap();
    let sets = feature_sets(&texts(), similarity);
    let mut first: Vec<usize> = (0..sets.len()).collect();
    for (a, b, _) in similar_pairs(similarity) {
        let (low, high) = (first[a].min(first[b]), first[a].max(first[b]));
        first
            .iter_mut()
            .filter(|f| **f == high)
            .for_each(|f| *f = low);
    }
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for of in 0..sets.len() {
        let members: Vec<usize> = (0..sets.len()).filter(|&text| first[text] == of).collect();
        if members.len() > 1 {
            clusters.push(members);
        }
    }
    assert!(clusters.len() > 5);
    let lines: String = clusters
        .iter()
        .enumerate()
        .flat_map(|(number, members)| members.iter().map(move |&text| (number, members[0], text)))
        .map(|(number, head, text)| {
            format!(
                "{number}\td{text}\t{:.4}\n",
                sets[head].jaccard(&sets[text])
            )
        })
        .collect();
    let args = ["clusters", "a.jsonl", "--similarity", "0.5"];
    assert_eq!(sandbox.run(&args).done().text(), lines);
    let ran = sandbox.run(&[&args[..], &["--json"]].concat()).done();
    let found: Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
    assert_eq!(found["size"], clusters[0].len());
    assert_eq!(found["representative"], format!("d{}", clusters[0][0]));
    assert_eq!(
        found["members"][0],
        json!({ "id": format!("d{}", clusters[0][0]), "similarity": 1.0 })
    );
    let ran = sandbox.run(&[&args[..], &["--summary"]].concat());
    let line = format!("0\t{}\td{}\n", clusters[0].len(), clusters[0][0]);
    assert!(ran.text().starts_with(&line), "{ran:?}");
    assert_eq!(ran.text().lines().count(), clusters.len());
}

#[test]
fn the_largest_cluster_comes_first() {
    let sandbox = Sandbox::new();
    let lines = b"a b c\nd e f\ng h i\na b c\ng h i\nd e f\nd e f\n";
    let args = ["clusters", "-", "--input", "lines", "--similarity", "0.8"];
    let ran = sandbox.pipe(&[&args[..], &["--summary"]].concat(), lines);
    assert_eq!(ran.text(), "0\t3\t1\n1\t2\t0\n2\t2\t2\n");
    let members = "0\t1\t1.0000\n0\t5\t1.0000\n0\t6\t1.0000\n1\t0\t1.0000\n1\t3\t1.0000\n2\t2\t1.0000\n2\t4\t1.0000\n";
    assert_eq!(sandbox.pipe(&args, lines).done().text(), members);
}

#[test]
fn compare_judges_by_the_similarity() {
    let compare = |least: &str, more: &[&str]| {
        let args = [
            "compare",
            "--text",
            "a b c d",
            "--text",
            "a b c e",
            "--similarity",
            least,
        ];
        Sandbox::new().run(&[&args[..], more].concat())
    };
    // One of three shingles.
    for (least, code) in [("0.33", 0), ("0.34", 1)] {
        let ran = compare(least, &[]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(
            ran.text()
                .contains("texts                   0.3333 jaccard of runs of 3 words\n"),
            "{ran:?}"
        );
        let found = compare(least, &["--json"]).json();
        assert_eq!(found["near_duplicates"], code == 0);
        assert_eq!(found["text_similarity"], 1.0 / 3.0);
    }
    // Three of five words.
    assert_eq!(compare("0.6", &["--features", "words:1"]).code, Some(0));
}

#[test]
fn an_index_has_no_texts() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&[1, 2])), &[]);
    for command in ["pairs", "clusters"] {
        let ran = sandbox.run(&[command, "x.simidx", "--similarity", "0.8"]);
        assert!(
            ran.refusal()
                .contains("an index does not have; name the documents"),
            "{ran:?}"
        );
        let ran = sandbox.run(&[command, "a.hex", "--input", "hex", "--similarity", "0.8"]);
        assert!(
            ran.refusal()
                .contains("a.hex:1: has no text to compare; -k compares fingerprints"),
            "{ran:?}"
        );
    }
}
