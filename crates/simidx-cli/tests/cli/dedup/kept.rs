//! The kept records, byte for byte, in every format.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use simidx::Fingerprint;

use super::{clusters, done, jsonl, kept_lines, near, numbers, prints, texts};
use crate::support::{Sandbox, gzip, hex, keys, sample};

#[test]
fn fingerprints_keep_the_first_of_each_cluster() {
    let values = sample(900);
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&values));
    let lines: Vec<String> = values.iter().map(|v| format!("{v:016x}\n")).collect();
    for k in [0, 1, 3, 6] {
        let first = clusters(values.len(), |a, b| values[a].distance(values[b]) <= k);
        let ends = values.iter().zip(&first);
        let chained = ends
            .filter(|&(value, &f)| value.distance(values[f]) > k)
            .count();
        let k = k.to_string();
        let args = [
            "dedup", "a.hex", "-o", "kept.hex", "-k", &k, "--force", "--json", "--report", "r.tsv",
        ];
        let ran = sandbox.run(&args).done();
        assert_eq!(
            String::from_utf8(sandbox.read("kept.hex")).unwrap(),
            kept_lines(&lines, &first)
        );
        let numbers = numbers(&first, |of| of);
        let report: String = (0..values.len())
            .filter(|&i| first[i] != i)
            .map(|i| {
                format!(
                    "{i}\t{}\t{}\tinput\t{}\n",
                    first[i],
                    values[i].distance(values[first[i]]),
                    numbers[i].unwrap()
                )
            })
            .collect();
        assert_eq!(String::from_utf8(sandbox.read("r.tsv")).unwrap(), report);
        let mut sizes = BTreeMap::new();
        first
            .iter()
            .for_each(|&f| *sizes.entry(f).or_insert(0) += 1);
        let expected = json!({
            "documents": values.len(), "kept": sizes.len(), "dropped": values.len() - sizes.len(), "in_index": 0,
            "clusters": sizes.values().filter(|&&size| size > 1).count(),
            "largest_cluster": sizes.values().max(), "skipped": 0, "skipped_kept": 0, "replaced": 0,
            "chained": chained, "without_features": 0, "repeated_ids": 0,
            "max_distance": k.parse::<u32>().unwrap(), "similarity": null,
        });
        let mut found = ran.json();
        for time in ["reading_seconds", "finding_seconds"] {
            assert!(found[time].take().as_f64() >= Some(0.0), "{time}");
            found.as_object_mut().unwrap().remove(time);
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn every_format_keeps_its_records_as_they_are() {
    let values = [0xff00u64, 7 << 40, 0xff01, 7 << 40, 1 << 63];
    let kept = [0, 1, 4];
    let sandbox = Sandbox::new();
    let line = |i: usize, format: &str| match format {
        "hex" => format!("{:016X}\r\n", values[i]),
        "tsv" => format!("{:x}\tid {i}\n", values[i]),
        "dec" => format!("{}\n", values[i]),
        _ => format!(
            "{{\"fingerprint\": {}, \"id\":{i}, \"x\": null}}\n",
            values[i] >> 1
        ),
    };
    for format in ["hex", "tsv", "dec", "jsonl"] {
        let all: String = (0..5).map(|i| line(i, format) + "\n").collect();
        let expected: String = kept.iter().map(|&i| line(i, format)).collect();
        let name = format!("a.{format}");
        let marked = format!("\u{feff}{all}");
        for bytes in [
            all.as_bytes().to_vec(),
            marked.into_bytes(),
            gzip(all.as_bytes()),
        ] {
            sandbox.write(&name, &bytes);
            done(sandbox.run(&["dedup", &name, "-o", "kept", "--force"]));
            assert_eq!(
                String::from_utf8(sandbox.read("kept")).unwrap(),
                expected,
                "{format}"
            );
            let ran = sandbox.pipe(&["dedup", "--input", format, "-o", "-"], &bytes);
            assert_eq!(done(ran).text(), expected, "{format}");
        }
    }
    // A last line without an end remains so, unless a record follows.
    sandbox.write("a.hex", "1");
    sandbox.write("b.hex", "ff00\nff01");
    sandbox.write("c.hex", "ffff0000");
    let ran = done(sandbox.run(&["dedup", "a.hex", "b.hex", "c.hex", "a.hex", "-o", "-"]));
    assert_eq!(ran.text(), "1\nff00\nffff0000");
}

#[test]
fn documents_keep_all_their_fields() {
    let texts = texts();
    let lines = jsonl(&texts);
    let first = clusters(texts.len(), near(&texts, 3));
    assert!(first.iter().enumerate().any(|(i, &f)| f != i));
    let expected = kept_lines(&lines, &first);
    let sandbox = Sandbox::new();
    let all = lines.concat().into_bytes();
    sandbox.write("a.jsonl.gz", gzip(&all));
    for threads in ["1", "3"] {
        let args = [
            "dedup",
            "a.jsonl.gz",
            "-o",
            "kept.jsonl",
            "--force",
            "--threads",
            threads,
            "--memory",
            "80MiB",
        ];
        done(sandbox.run(&args));
        assert_eq!(
            String::from_utf8(sandbox.read("kept.jsonl")).unwrap(),
            expected
        );
    }
    // Compressed as the extension demands.
    for name in ["kept.jsonl.gz", "kept.jsonl.zst"] {
        done(sandbox.run(&["dedup", "a.jsonl.gz", "-o", name]));
        let again = done(sandbox.run(&["dedup", name, "-k", "0", "-o", "-"]));
        assert_eq!(again.text(), expected);
    }
    assert!(
        sandbox
            .read("kept.jsonl.zst")
            .starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
    );
    // Lines are documents.
    let plain: String = texts.iter().map(|text| format!("{text}\n")).collect();
    sandbox.write("a.txt", plain);
    done(sandbox.run(&["dedup", "--input", "lines", "a.txt", "-o", "kept.txt"]));
    let kept = String::from_utf8(sandbox.read("kept.txt")).unwrap();
    let expected: String = (0..texts.len())
        .filter(|&i| first[i] == i && !texts[i].is_empty())
        .map(|i| format!("{}\n", texts[i]))
        .collect();
    // An empty text is not a record.
    assert_eq!(kept, expected);
}

#[test]
fn a_folder_gives_the_paths_that_are_kept() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("d/sub")).unwrap();
    for (name, text) in [
        ("d/a", "one two three"),
        ("d/b", "four five six"),
        ("d/sub/c", "three one TWO"),
    ] {
        sandbox.write(name, text);
    }
    sandbox.write("d/bad", b"one\0two three");
    let args = [
        "dedup",
        "d",
        "-o",
        "kept",
        "--report",
        "r",
        "--on-error",
        "drop",
        "--pipeline",
        "short",
        "-k",
        "3",
    ];
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("skipped 1 record\n"), "{ran:?}");
    assert_eq!(sandbox.read("kept"), b"d/a\nd/b\n");
    assert_eq!(sandbox.read("r"), b"d/sub/c\td/a\t0\tinput\t0\n");
}

#[test]
fn the_longest_text_may_be_kept() {
    let texts = texts();
    let (lines, prints) = (jsonl(&texts), prints(&texts));
    let first = clusters(texts.len(), near(&texts, 5));
    let mut best: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, &cluster) in first.iter().enumerate() {
        let best = best.entry(cluster).or_insert(i);
        if texts[i].len() > texts[*best].len() {
            *best = i;
        }
    }
    let kept: BTreeSet<usize> = best.values().copied().collect();
    assert!(kept.iter().any(|&i| first[i] != i));
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", lines.concat());
    let args = [
        "dedup", "a.jsonl", "-o", "-", "-k", "5", "--keep", "longest", "--report", "r",
    ];
    let ran = done(sandbox.run(&args));
    let expected: String = kept.iter().map(|&i| &*lines[i]).collect();
    assert_eq!(ran.text(), expected);
    let numbers = numbers(&first, |of| best[&of]);
    let report: String = (0..texts.len())
        .filter(|i| !kept.contains(i))
        .map(|i| (i, best[&first[i]], numbers[i].unwrap()))
        .map(|(i, kept, number)| {
            format!(
                "d{i}\td{kept}\t{}\tinput\t{number}\n",
                prints[i].distance(prints[kept])
            )
        })
        .collect();
    assert_eq!(String::from_utf8(sandbox.read("r")).unwrap(), report);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex.gz", gzip(&hex(&[0xff00, 0xff01, 1 << 60])));
    let script = r#"mkfifo p.hex && (cat a.hex.gz > p.hex & "$0" "$@"; wait)"#;
    let ran = sandbox.shell(script, &["dedup", "p.hex", "-o", "-"]);
    assert_eq!(done(ran).stdout, hex(&[0xff00, 1 << 60]));
}

#[test]
fn many_texts_of_the_same_words_take_no_time() {
    // Ten thousand equal texts, and as many texts of the same words in other orders.
    let mut lines = String::new();
    for i in 0..10_000u64 {
        lines += "{\"text\":\"to be or not to be\"}\n";
        let mut words = ["a", "b", "c", "d", "e", "f", "g", "h"];
        words.rotate_left(i as usize % 8);
        words[..5].rotate_left(i as usize / 8 % 5);
        lines += &format!("{{\"text\":\"{}\"}}\n", words.join(" "));
    }
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", lines);
    let args = [
        "dedup",
        "a.jsonl",
        "-o",
        "kept",
        "--json",
        "--similarity",
        "1",
    ];
    let ran = sandbox.run(&args);
    assert_eq!(keys(&ran.json()).len(), 22);
    let share = "simidx: 99.8 % of the documents are dropped as near-duplicates of others; ";
    assert!(ran.stderr.starts_with(share), "{ran:?}");
    // 40 orders, and the text.
    assert_eq!(ran.json()["kept"], 41);
}
