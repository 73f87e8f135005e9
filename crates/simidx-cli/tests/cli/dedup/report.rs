//! The report, and the figures.

use std::collections::BTreeMap;

use serde_json::json;
use simidx::Fingerprint;

use super::{clusters, done, numbers};
use crate::support::{Sandbox, sample};

#[test]
fn what_an_index_has_is_dropped_first() {
    let values = sample(900);
    let (old, new) = values.split_at(400);
    let (older, old) = old.split_at(150);
    let tsv = |values: &[u64], name: &str| -> String {
        let lines = values.iter().enumerate();
        lines
            .map(|(i, v)| format!("{v:016x}\t{name}{i:04}\n"))
            .collect()
    };
    let sandbox = Sandbox::with_index(("a.tsv", tsv(older, "a").as_bytes()), &["--ids", "string"]);
    sandbox.write("b.tsv", tsv(old, "b"));
    sandbox
        .run(&[
            "build", "b.tsv", "-o", "y.simidx", "--ids", "string", "-k", "1",
        ])
        .done();
    sandbox.write("c.tsv", tsv(new, "c"));
    let members: BTreeMap<u64, String> = [(old, "b"), (older, "a")]
        .iter()
        .flat_map(|(values, name)| {
            values
                .iter()
                .enumerate()
                .rev()
                .map(move |(i, &v)| (v, format!("{name}{i:04}")))
        })
        .collect();
    let nearest = |v: u64| {
        let near = members.keys().map(|&m| (m.distance(v), m));
        near.filter(|&(distance, _)| distance <= 3).min()
    };
    let nearest: Vec<_> = new.iter().map(|&v| nearest(v)).collect();
    let first = clusters(new.len(), |a, b| {
        nearest[a].is_none() && nearest[b].is_none() && new[a].distance(new[b]) <= 3
    });
    let numbers = numbers(&first, |of| of);
    let (mut kept, mut report) = (String::new(), String::new());
    for (i, &value) in new.iter().enumerate() {
        let distance = value.distance(new[first[i]]);
        match nearest[i] {
            Some((distance, member)) => {
                report += &format!(
                    "c{i:04}\t\t{distance}\tindex\t\t\t{member:016x}\t{}\n",
                    members[&member]
                );
            }
            None if first[i] != i => {
                let number = numbers[i].unwrap();
                report += &format!(
                    "c{i:04}\tc{:04}\t{distance}\tinput\t{number}\t\t\t\n",
                    first[i]
                )
            }
            None => kept += &format!("{value:016x}\tc{i:04}\n"),
        }
    }
    assert!(report.contains("\tindex\t") && report.contains("\tinput\t"));
    for extra in [&[][..], &["--threads", "1", "--memory", "70MiB"]] {
        let args = [
            "dedup",
            "c.tsv",
            "-o",
            "kept",
            "--report",
            "r",
            "--force",
            "--against",
            "x.simidx",
            "y.simidx",
        ];
        let ran = done(sandbox.run(&[&args, extra].concat()));
        assert!(ran.stderr.contains(" of them in the index\n"), "{ran:?}");
        assert_eq!(String::from_utf8(sandbox.read("kept")).unwrap(), kept);
        assert_eq!(String::from_utf8(sandbox.read("r")).unwrap(), report);
    }
}

#[test]
fn ids_that_come_twice_are_told() {
    let sandbox = Sandbox::new();
    let line = |id: &str, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let lines = [
        line("\"a\"", "one"),
        line("\"b\"", "two"),
        line("\"a\"", "three"),
        line("7", "four"),
        line("\"7\"", "five"),
    ];
    sandbox.write("a.jsonl", lines.concat());
    let warning = "simidx: 2 documents repeat an earlier id, the first is \"a\": ids do not identify the documents\n";
    let ran = sandbox.run(&["dedup", "a.jsonl", "-o", "kept.jsonl"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.ends_with(warning), "{ran:?}");
    let ran = sandbox.run(&["dedup", "a.jsonl", "--dry-run", "--json"]);
    assert_eq!(
        (&*ran.stderr, &ran.json()["repeated_ids"]),
        (warning, &2.into())
    );
}

#[test]
fn very_many_dropped_are_a_reason_to_look() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1\n".repeat(40) + "2\n");
    let ran = sandbox.run(&["dedup", "a.hex", "--dry-run", "-k", "64"]);
    let share = "simidx: 97.6 % of the documents are dropped as near-duplicates of others; \
                 check a --report before you use the result\n";
    assert!(ran.stderr.ends_with(share), "{ran:?}");
    // Records in an index are expected.
    sandbox.run(&["build", "a.hex", "-o", "x.simidx"]).done();
    let args = ["dedup", "a.hex", "--dry-run", "--against", "x.simidx"];
    let ran = done(sandbox.run(&args));
    assert!(!ran.stderr.contains('%'), "{ran:?}");
}

#[test]
fn a_report_is_compressed_as_its_name_says() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1\n1\n");
    for name in ["r.tsv.gz", "r.jsonl.gz"] {
        done(sandbox.run(&["dedup", "a.hex", "--dry-run", "--report", name]));
    }
    let lines = sandbox.shell("zcat r.tsv.gz r.jsonl.gz", &[]);
    let (tsv, jsonl) = lines.text().split_once('\n').unwrap();
    assert_eq!(tsv, "1\t0\t0\tinput\t0");
    let object: serde_json::Value = serde_json::from_str(jsonl).unwrap();
    let (dropped, kept) = (&object["dropped"], &object["kept_file"]);
    assert_eq!((dropped, kept), (&json!(1), &json!("a.hex")));
}
