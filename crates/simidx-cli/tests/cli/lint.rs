//! `simidx lint`: sound sets produce no warnings, and planted defects are found and named.

use crate::support::{Sandbox, hex};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use simidx_testkit::editor::Editor;

fn random(count: usize, seed: u64) -> Vec<u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| rng.random()).collect()
}

/// Returns the report on fingerprints, and the kinds of its warnings.
#[track_caller]
fn lint(values: &[u64]) -> (Value, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(values));
    let ran = sandbox.run(&["lint", "--input", "hex", "a.hex", "--json"]);
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    let warnings = report["warnings"].as_array().unwrap().iter();
    let kinds: Vec<String> = warnings
        .map(|warning| warning["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ran.code, Some(i32::from(!kinds.is_empty())));
    assert_eq!(report["sound"], kinds.is_empty());
    (report, kinds)
}

#[test]
fn uniform_data_is_sound() {
    for (seed, count) in [
        (1, 0),
        (2, 1),
        (3, 50),
        (4, 100),
        (5, 1000),
        (6, 3000),
        (7, 30_000),
    ] {
        let values = random(count, seed);
        let (report, kinds) = lint(&values);
        assert!(kinds.is_empty(), "{count}: {kinds:?}");
        assert_eq!(report["record_count"], count);
        for (bit, set) in report["bits"]["set_counts"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let expected = values
                .iter()
                .filter(|&&value| value >> bit & 1 == 1)
                .count();
            assert_eq!(*set, expected);
        }
    }
}

#[test]
fn a_dead_bit_is_named() {
    let values: Vec<u64> = random(2000, 11)
        .iter()
        .map(|value| value & !(1 << 17))
        .collect();
    let (report, kinds) = lint(&values);
    assert_eq!(kinds, ["dead-bits"]);
    assert_eq!(report["bits"]["dead"], serde_json::json!([17]));
    let reason = report["warnings"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, "bit 17 is the same in every fingerprint");
}

#[test]
fn a_short_hash_in_a_wide_one_is_found() {
    let values: Vec<u64> = random(2000, 13).iter().map(|value| value >> 32).collect();
    let (report, kinds) = lint(&values);
    // All of them have the same prefix in the table of the upper half.
    assert_eq!(kinds, ["dead-bits", "crowded-prefixes"]);
    let reason = report["warnings"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("bits 32 to 63 are the same"), "{reason}");
}

#[test]
fn duplicates_and_a_huge_group_are_told_apart() {
    // 30 % of the records repeat another one, none more than once.
    let mut values = random(7000, 14);
    values.extend_from_within(..3000);
    let (report, kinds) = lint(&values);
    assert_eq!(kinds, ["duplicates"]);
    assert!((report["duplicate_share"].as_f64().unwrap() - 0.3).abs() < 1e-12);
    assert_eq!(report["groups"][0]["record_count"], 2);
    // 5 % of the records share one fingerprint.
    let mut values = random(9500, 15);
    values.extend(vec![0xabc; 500]);
    let (report, kinds) = lint(&values);
    assert_eq!(kinds, ["large-group"]);
    let group = &report["groups"][0];
    assert_eq!(
        (&group["record_count"], &group["id"]),
        (&500.into(), &"9500".into())
    );
    assert_eq!(group["fingerprint"], "0000000000000abc");
    assert_eq!(report["groups"].as_array().unwrap().len(), 1);
}

#[test]
fn crowded_prefixes_are_found() {
    // A third of the fingerprints share the upper half.
    let mut values = random(40_000, 16);
    values
        .iter_mut()
        .step_by(3)
        .for_each(|value| *value = *value & 0xffff_ffff | 0xfeed << 32);
    let (report, kinds) = lint(&values);
    assert!(kinds.contains(&"crowded-prefixes".to_owned()), "{kinds:?}");
    let tables = report["tables"].as_array().unwrap();
    let shared = tables
        .iter()
        .map(|t| t["largest_prefix"].as_u64().unwrap())
        .max();
    assert!(shared.unwrap() >= 13_334, "{shared:?}");
    // The values that share a prefix, by brute force in table 0, which has the order of the values.
    let table = &tables[0];
    let bits = table["address_bits"].as_u64().unwrap();
    assert_eq!(table["table"], 0);
    let mut counts = std::collections::HashMap::new();
    values
        .iter()
        .for_each(|value| *counts.entry(value >> (64 - bits)).or_insert(0u64) += 1);
    assert_eq!(table["prefix_count"], counts.len());
    assert_eq!(table["largest_prefix"], *counts.values().max().unwrap());
    let squares: u64 = counts.values().map(|count| count * count).sum();
    let sharing = squares as f64 / values.len() as f64;
    assert!((table["sharing"].as_f64().unwrap() - sharing).abs() < 1e-6);
}

#[test]
fn short_and_empty_documents_are_counted() {
    let long = |i: usize| {
        (0..20)
            .map(|w| format!("w{}", i * 20 + w))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let text = |i: usize| match i % 10 {
        0..3 => format!("short {i}"),
        3 => "…".to_owned(),
        _ => long(i),
    };
    let lines = |text: &dyn Fn(usize) -> String| {
        let lines = (0..400).map(|i| text(i) + "\n");
        lines.collect::<String>()
    };
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", lines(&text));
    sandbox.write("b.txt", lines(&long));
    for pipeline in ["web", "web,fingerprint=simhash"] {
        let args = [
            "lint",
            "--input",
            "lines",
            "a.txt",
            "--json",
            "--pipeline",
            pipeline,
        ];
        let report = sandbox.run(&args).no().json();
        let warnings = report["warnings"].as_array().unwrap().iter();
        let kinds: Vec<_> = warnings.map(|w| w["kind"].as_str().unwrap()).collect();
        assert!(
            kinds.contains(&"short-documents") && kinds.contains(&"empty-documents"),
            "{kinds:?}"
        );
        let documents =
            serde_json::json!({"document_count": 400, "empty_count": 40, "short_count": 120});
        assert_eq!(report["documents"], documents);
        let args = ["lint", "--input", "lines", "b.txt", "--pipeline", pipeline];
        let ran = sandbox.run(&args).done();
        assert!(
            ran.text()
                .contains("400, of which 0 empty, 0 with fewer than 8 features")
        );
    }
}

#[test]
fn an_index_is_judged_as_its_records_are() {
    let mut values = random(5000, 17);
    values.extend_from_within(..2500);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &["--ids", "number"]);
    let of_records = ["lint", "--input", "hex", "a.hex", "--json"];
    let of_records = sandbox.run(&of_records).no().json();
    for threads in ["1", "3"] {
        let args = ["lint", "x.simidx", "--json", "--threads", threads];
        let mut report = sandbox.run(&args).no().json();
        for table in report["tables"].as_array_mut().unwrap() {
            assert_eq!(table["index"], "x.simidx");
        }
        for key in ["bits", "groups", "duplicate_share", "warnings"] {
            assert_eq!(report[key], of_records[key], "{key}");
        }
    }
    // Two indexes, each with half of the records.
    let (first, second) = values.split_at(3000);
    for (name, values) in [("b", first), ("c", second)] {
        sandbox.write(name, hex(values));
        let out = format!("{name}.simidx");
        sandbox
            .run(&["build", "--input", "hex", name, "-o", &out])
            .done();
    }
    let report = sandbox
        .run(&["lint", "b.simidx", "c.simidx", "--json"])
        .no()
        .json();
    assert_eq!(report["bits"], of_records["bits"]);
    assert_eq!(report["groups"], serde_json::json!([]));
}

#[test]
fn lopsided_bits_are_found_where_they_matter() {
    let mut rng = SmallRng::seed_from_u64(18);
    let mut lopsided = |bits: u64| -> Vec<u64> {
        let values = random(3000, 19).into_iter();
        values
            .map(|value| value & (!bits | rng.random::<u64>() & rng.random::<u64>()))
            .collect()
    };
    // One biased bit costs almost nothing, but sixteen cost a lot.
    let (report, kinds) = lint(&lopsided(1 << 9));
    assert!(kinds.is_empty());
    assert_eq!(report["bits"]["lopsided"], serde_json::json!([9]));
    let (report, kinds) = lint(&lopsided(0xffff));
    assert_eq!(kinds, ["lopsided-bits"]);
    assert_eq!(
        report["bits"]["lopsided"],
        serde_json::json!((0..16).collect::<Vec<u32>>())
    );
}

#[test]
fn damage_of_a_further_table_names_its_file() {
    let sandbox = Sandbox::new();
    for name in ["x", "y"] {
        sandbox.write("a.hex", hex(&random(3000, 21)));
        let build = ["build", "a.hex", "-o", name, "--tables=4", "--codec=ef"];
        sandbox.run(&build).done();
    }
    let mut editor = Editor::new(sandbox.read("y"));
    let at = editor.layout.block_at(1, 0);
    editor.flip(at + 20, 1);
    sandbox.write("y", &editor.file);
    let ran = sandbox.run(&["lint", "x", "y"]);
    assert!(ran.refusal().starts_with("y: "), "{ran:?}");
}

#[test]
fn an_id_in_the_report_stays_on_its_line() {
    let sandbox = Sandbox::new();
    let records = [(1u64, "a\u{1b}[31m"), (1, "b")];
    let file = simidx_testkit::build_strings(simidx_testkit::forged::small(), &records);
    sandbox.write("x", file);
    let ran = sandbox.run(&["lint", "x"]);
    let expected = "2 records with 0000000000000001, first a\\u{1b}[31m\n";
    assert!(ran.text().contains(expected), "{ran:?}");
}
