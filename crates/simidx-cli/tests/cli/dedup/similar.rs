//! Similar texts: the default search, and the other effects of `--similarity`.

use serde_json::{Value, json};
use simidx::Width;
use simidx_text::Pipeline;
use simidx_text::compare::FeatureSet;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SimilarTexts, SketchFeatures, Sketcher};

use super::{done, jsonl, texts};
use crate::support::{Ran, Sandbox, hex};

/// Returns the feature set of each text.
pub(crate) fn feature_sets(texts: &[String], similarity: Similarity) -> Vec<FeatureSet> {
    let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
    let texts = texts.iter();
    texts
        .map(|text| similarity.feature_set(&mut fingerprinter, text))
        .collect()
}

/// Returns, for each text, the most similar kept texts before it in this order of decisions, by brute force.
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
    // The greedy order drops every second one, chains drop all but the first.
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
    let ran = row(&["--pipeline", "web,fingerprint=simhash"]);
    assert!(
        ran.stderr.contains(": the pipeline makes simhashes\n"),
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
    for more in [&[][..], &["--features", "pipeline"]] {
        let ran = row(&[&["--pipeline", "short"], more].concat());
        assert!(
            ran.stderr.contains("by features of the pipeline\n"),
            "{ran:?}"
        );
    }
    let ran = row(&["--pipeline", "short", "--features", "words:2"]);
    assert!(ran.stderr.contains("by runs of 2 words\n"), "{ran:?}");
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
        "a number from 0.02 to 1, such as 0.8",
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
        &["a.hex", "--similarity", "0.8"],
        "a.hex:1: has no text to compare; -k compares fingerprints",
    );
    refused(&["a.hex", "--chains"], "--chains needs --similarity");
    let args = ["a.jsonl", "--similarity", "0.8", "--against", "x.simidx"];
    refused(
        &args,
        "x.simidx: has no sketches to compare texts with; build it with --sketch 256",
    );
    sandbox
        .run(&["build", "a.jsonl", "-o", "s.simidx", "--sketch", "128"])
        .done();
    let args = ["a.jsonl", "--features", "words:5", "--against", "s.simidx"];
    refused(
        &args,
        "s.simidx: has sketches of runs of 3 words; say --features words:3",
    );
    let args = [
        "a.jsonl",
        "--similarity",
        "0.8",
        "--html",
        "yes",
        "--against",
        "s.simidx",
    ];
    refused(
        &args,
        "s.simidx: has sketches of texts with --html auto; say so here, too",
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
        "with a single feature   1\n",
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
    assert_eq!(found["single_feature"], 1);
}

#[test]
fn what_an_index_has_by_its_sketches_is_dropped_first() {
    let all = texts();
    // Every third text is in the index; the others are new, and some are copies of each other.
    let is_old = |text: &usize| text.is_multiple_of(3);
    let (old, new): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_old);
    let lines = jsonl(&all);
    let of = |texts: &[usize]| texts.iter().map(|&text| &*lines[text]).collect::<String>();
    let sandbox = Sandbox::new();
    sandbox.write("old.jsonl", of(&old));
    sandbox.write("new.jsonl", of(&new));
    for (extra, is_longest) in [
        (&[][..], false),
        (&["--keep", "longest", "--similarity", "0.8"], true),
    ] {
        let build = [
            "build",
            "old.jsonl",
            "-o",
            "x.simidx",
            "--sketch",
            "256",
            "--force",
        ];
        sandbox.run(&build).done();
        // Every new text against every old one.
        let sketcher = Sketcher::new(256, SketchFeatures::default()).unwrap();
        let sets = feature_sets(&all, Similarity::default());
        let sketch = |text: usize| sketcher.sketch_of(&sets[text]);
        let nearest = |text: usize| {
            let old = old
                .iter()
                .map(|&old| (sketch(text).distance(&sketch(old)), old));
            // A similarity of 0.8 is a tenth of the bits.
            old.filter(|&(distance, _)| distance <= 25).min()
        };
        let mut order: Vec<usize> = new
            .iter()
            .copied()
            .filter(|&text| nearest(text).is_none())
            .collect();
        if is_longest {
            order.sort_by_key(|&text| std::cmp::Reverse(all[text].len()));
        }
        let causes = kept_for(&sets, 0.8, &order);
        let args = [
            "dedup",
            "new.jsonl",
            "-o",
            "kept",
            "--force",
            "--report",
            "r.jsonl",
            "--json",
        ];
        let ran = sandbox
            .run(&[&args[..], &["--against", "x.simidx"], extra].concat())
            .done();
        let in_index = new.iter().filter(|&&text| nearest(text).is_some()).count();
        assert!(in_index > 5);
        assert_eq!(ran.json()["in_index"], in_index);
        assert_eq!(ran.json()["sketch_bits"], 256);
        assert_eq!(ran.json()["estimate_standard_error"], 0.037);
        let mut lines_of = report(&sandbox).into_iter();
        let mut kept = Vec::new();
        for &text in &new {
            match (nearest(text), causes[text].is_empty()) {
                (None, true) => kept.push(text),
                (None, false) => {
                    let line = lines_of.next().unwrap();
                    let cause = causes[text]
                        .iter()
                        .find(|(kept, _)| line["kept"] == format!("d{kept}"));
                    assert_eq!(line["similarity"], cause.unwrap().1, "{line}");
                }
                (Some((distance, _)), _) => {
                    let line = lines_of.next().unwrap();
                    assert_eq!(line["dropped"], format!("d{text}"));
                    assert_eq!(line["estimate"], 1.0 - f64::from(distance) / 128.0);
                    assert!(line["standard_error"].as_f64() < Some(0.04));
                    let id = line["index_id"].as_str().unwrap();
                    let at_distance = old.iter().any(|&old| {
                        id == format!("d{old}") && sketch(text).distance(&sketch(old)) == distance
                    });
                    assert!(at_distance, "{line}");
                    assert_eq!(line["kept"], Value::Null);
                }
            }
        }
        assert_eq!(lines_of.next(), None);
        assert_eq!(String::from_utf8(sandbox.read("kept")).unwrap(), of(&kept));
    }
    // For people, in columns, and in addition to the records.
    let args = [
        "dedup",
        "new.jsonl",
        "--against",
        "x.simidx",
        "-o",
        "all",
        "--report",
        "r.tsv",
        "--annotate",
    ];
    let ran = done(sandbox.run(&args));
    let row = "in the index            estimates by sketches of 256 bits, standard error 0.037\n";
    assert!(ran.stderr.contains(row), "{ran:?}");
    let tsv = String::from_utf8(sandbox.read("r.tsv")).unwrap();
    let line: Vec<&str> = tsv
        .lines()
        .find(|line| line.contains("\tindex\t"))
        .unwrap()
        .split('\t')
        .collect();
    assert_eq!(
        (line.len(), line[1], line[2], line[4], line[6].len()),
        (10, "", "", "", 16)
    );
    assert!(line[8].parse::<f64>().unwrap() >= 0.8);
}

#[test]
fn an_index_with_sketches_too_short_for_the_similarity_drops_nothing() {
    let sandbox = Sandbox::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data");
    let [en, zh] = ["en", "zh"].map(|name| format!("{data}/{name}.jsonl.gz"));
    let build = ["build", &en, "--sketch", "64", "-o", "en.simidx"];
    sandbox.run(&build).done();
    let dedup = |more: &[&str]| {
        let args = ["dedup", &zh, "--against", "en.simidx", "--force"];
        sandbox.run(&[&args, more].concat())
    };
    // Half of the bits are equal by chance: no Chinese text resembles an English one.
    let page = ["-o", "kept.jsonl", "--report", "r.html"];
    let ran = dedup(&[&page[..], &["--similarity", "0.3"]].concat());
    ran.refused(
        "en.simidx: has 4,438 records with sketches of 64 bits: of a document that is like none of them, 37.4083 would seem \
         to have a similarity of 0.3 by chance; --similarity 0.63, or build it with --sketch 320",
    );
    let ran = dedup(&[&page[..], &["--similarity", "0.57"]].concat());
    assert!(ran.refusal().contains(", 0.0042 would seem "), "{ran:?}");
    assert!(!sandbox.path("kept.jsonl").exists());
    let ran = dedup(&[&page[..], &["--similarity", "0.63", "--json"]].concat()).done();
    // At most one in a thousand of 1,520, if they have nothing in common.
    assert!(ran.json()["in_index"].as_u64() <= Some(3), "{ran:?}");
    let html = String::from_utf8(sandbox.read("r.html")).unwrap();
    assert!(html.contains("estimates by sketches of 64 bits, standard error 0.094"));
    let build = [
        "build",
        &en,
        "--sketch",
        "320",
        "-o",
        "en.simidx",
        "--force",
    ];
    sandbox.run(&build).done();
    // One is similar, and a dozen copies of one template resemble an English text a little.
    let ran = dedup(&["--dry-run", "--similarity", "0.3", "--json"]).done();
    assert!(ran.json()["in_index"].as_u64() <= Some(20), "{ran:?}");
    // A join shows estimates, and warns.
    let join = ["join", "en.simidx", &zh, "--similarity", "0.2"];
    let ran = sandbox.run(&join);
    assert!(
        ran.stderr
            .contains(" documents look similar to an unrelated query: the sketches are short"),
        "{ran:?}"
    );
}

#[test]
fn a_width_is_of_fingerprints_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one two three four\n");
    for args in [
        &["dedup", "--dry-run", "--similarity", "0.8"][..],
        &["pairs", "--similarity", "0.8"],
        &["clusters", "--similarity", "0.8"],
    ] {
        let rest = ["a.txt", "--input", "lines", "--width", "128"];
        let ran = sandbox.run(&[&args[..1], &rest, &args[1..]].concat());
        ran.refused("--width is that of fingerprints, and --similarity compares texts; leave one of them out");
    }
}

#[test]
fn little_memory_changes_nothing() {
    let sandbox = Sandbox::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/en.jsonl.gz");
    let script =
        r#"zcat "$1" | awk 'NR % 3 == 1' > old.jsonl; zcat "$1" | awk 'NR % 3 != 1' > new.jsonl"#;
    assert_eq!(sandbox.shell(script, &[data]).code, Some(0));
    let build = ["build", "old.jsonl", "-o", "x.simidx", "--sketch", "128"];
    sandbox.run(&build).done();
    for options in [
        &[][..],
        &["--keep", "longest"],
        &["--chains"],
        &["--against", "x.simidx", "--keep", "longest"],
    ] {
        let args = [
            "dedup",
            "new.jsonl",
            "--dry-run",
            "--force",
            "--report",
            "r.jsonl",
        ];
        let run = |memory: &str| {
            done(sandbox.run(&[&args[..], options, &["--memory", memory]].concat()));
            sandbox.read("r.jsonl")
        };
        let (roomy, tight) = (run("1GiB"), run("200KiB"));
        assert!(roomy.len() > 10_000);
        assert!(roomy == tight, "{options:?}");
    }
    // Less than the minimum for each text.
    let args = ["dedup", "new.jsonl", "--dry-run", "--memory", "90000"];
    assert!(sandbox.run(&args).refusal().contains("comparing"));
    let least = SimilarTexts::least_memory(2958, false).to_string();
    done(sandbox.run(&["dedup", "new.jsonl", "--dry-run", "--memory", &least]));
}
