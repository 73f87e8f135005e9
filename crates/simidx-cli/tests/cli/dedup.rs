//! `simidx dedup`: what is kept, byte for byte, in every format; the report; indexes; texts that are compared; errors.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Ran, Sandbox, gzip, hex, keys, sample};
use serde_json::json;
use simidx::Fingerprint;
use simidx_text::compare::FeatureSet;
use simidx_text::{Pipeline, Preset};

/// Which items are kept, and for which one each is, where these are near each other: by brute force.
fn clusters(count: usize, near: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    for a in 0..count {
        for b in a + 1..count {
            let (x, y) = (first[a], first[b]);
            if x != y && near(a, b) {
                first
                    .iter_mut()
                    .filter(|f| **f == x.max(y))
                    .for_each(|f| *f = x.min(y));
            }
        }
    }
    first
}

/// The lines whose items are kept.
fn kept_lines(lines: &[String], first: &[usize]) -> String {
    let kept = lines.iter().enumerate().filter(|(i, _)| first[*i] == *i);
    kept.map(|(_, line)| &**line).collect()
}

/// Asserts exit code 0; the figures are on stderr.
#[track_caller]
fn done(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.starts_with("documents  "), "{ran:?}");
    ran
}

/// Texts, some of which are near others, the same or of the same words in another order.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for i in 0..40 {
        let words: Vec<String> = (0..60)
            .map(|j| format!("word{}", (i * 61 + j * j) % 977))
            .collect();
        texts.push(words.join(" "));
        match i % 4 {
            0 => texts.push(format!("{} more", words.join(" "))),
            1 => texts.push(words.join("  ").to_uppercase()),
            2 => texts.push(words.iter().rev().cloned().collect::<Vec<_>>().join(" ")),
            _ => texts.push(words[..40].join(" ")),
        }
    }
    texts.push(texts[0].clone());
    texts.push(String::new());
    texts.push("?!".into());
    texts
}

fn jsonl(texts: &[String]) -> Vec<String> {
    let lines = texts.iter().enumerate();
    let line = |(i, text): (usize, &String)| {
        // Fields and spaces that a copy must not touch.
        format!(
            "{{ \"z\":[{i}, 1.50], \"id\":\"d{i}\",\t\"text\":{} }}\n",
            json!(text)
        )
    };
    lines.map(line).collect()
}

/// The pipeline that documents go through unless told otherwise.
fn pipeline() -> Pipeline {
    Pipeline::new(Preset::default().options()).unwrap()
}

fn prints(texts: &[String]) -> Vec<u64> {
    let mut fingerprinter = pipeline().fingerprinter().unwrap();
    let texts = texts.iter();
    texts.map(|text| fingerprinter.fingerprint(text)).collect()
}

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
        let report: String = (0..values.len())
            .filter(|&i| first[i] != i)
            .map(|i| {
                format!(
                    "{i}\t{}\t{}\tinput\n",
                    first[i],
                    values[i].distance(values[first[i]])
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
            "largest_cluster": sizes.values().max(), "skipped": 0, "replaced": 0, "chained": chained,
        });
        assert_eq!(ran.json(), expected);
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
    // A last line without an end is as it is, but for a record that follows.
    sandbox.write("a.hex", "1");
    sandbox.write("b.hex", "ff00\nff01");
    sandbox.write("c.hex", "ffff0000");
    let ran = done(sandbox.run(&["dedup", "a.hex", "b.hex", "c.hex", "a.hex", "-o", "-"]));
    assert_eq!(ran.text(), "1\nff00\nffff0000");
}

#[test]
fn documents_keep_all_their_fields() {
    let texts = texts();
    let (lines, prints) = (jsonl(&texts), prints(&texts));
    let first = clusters(texts.len(), |a, b| prints[a].distance(prints[b]) <= 3);
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
    // Compressed as the name says.
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
    // The empty text is no record, so that the next text without features stands for both.
    assert_eq!(kept, expected + "?!\n");
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
        "skip",
        "--pipeline",
        "short",
    ];
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("skipped 1 record\n"), "{ran:?}");
    assert_eq!(sandbox.read("kept"), b"d/a\nd/b\n");
    assert_eq!(sandbox.read("r"), b"d/sub/c\td/a\t0\tinput\n");
}

#[test]
fn texts_without_words_are_alike_only_if_they_are_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "🙂🙂\n👍 !!\n🙂🙂\n→ $$$\n");
    let args = [
        "dedup", "a.txt", "--input", "lines", "-o", "kept.txt", "--force",
    ];
    done(sandbox.run(&args));
    assert_eq!(sandbox.read("kept.txt"), "🙂🙂\n".as_bytes());
    for verify in ["jaccard:0.1", "jaccard:1:3"] {
        done(sandbox.run(&[&args[..], &["--verify", verify]].concat()));
        assert_eq!(sandbox.read("kept.txt"), "🙂🙂\n👍 !!\n→ $$$\n".as_bytes());
    }
}

#[test]
fn texts_are_compared_before_they_are_dropped() {
    let texts = texts();
    let (lines, prints) = (jsonl(&texts), prints(&texts));
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", lines.concat());
    for (k, least, words) in [
        (3, 1.0, None),
        (64, 0.6, None),
        (64, 0.8, Some(3)),
        (64, 1.0, Some(2)),
    ] {
        let mut fingerprinter = pipeline().fingerprinter::<u64>().unwrap();
        let sets: Vec<FeatureSet> = texts
            .iter()
            .map(|text| match words {
                None => fingerprinter.feature_set(text),
                Some(length) => FeatureSet::of_shingles(text, length),
            })
            .collect();
        let near = |a: usize, b: usize| {
            let are_empty = sets[a].hashes().is_empty() && sets[b].hashes().is_empty();
            prints[a].distance(prints[b]) <= k
                && sets[a].jaccard(&sets[b]) >= least
                && (!are_empty || texts[a] == texts[b])
        };
        let first = clusters(texts.len(), near);
        let words = words.map_or(String::new(), |words: usize| format!(":{words}"));
        let verify = format!("jaccard:{least}{words}");
        let k = k.to_string();
        let args = [
            "dedup",
            "a.jsonl",
            "-o",
            "kept.jsonl",
            "-k",
            &k,
            "--verify",
            &verify,
            "--report",
            "r.jsonl",
            "--force",
        ];
        done(sandbox.run(&args));
        assert_eq!(
            String::from_utf8(sandbox.read("kept.jsonl")).unwrap(),
            kept_lines(&lines, &first)
        );
        let report = String::from_utf8(sandbox.read("r.jsonl")).unwrap();
        let expected: String = (0..texts.len())
            .filter(|&i| first[i] != i)
            .map(|i| {
                let kept = first[i];
                let object = json!({
                    "dropped": format!("d{i}"), "kept": format!("d{kept}"),
                    "distance": prints[i].distance(prints[kept]), "jaccard": sets[kept].jaccard(&sets[i]),
                });
                format!("{object}\n")
            })
            .collect();
        assert_eq!(report, expected);
    }
}

#[test]
fn the_longest_text_may_be_kept() {
    let texts = texts();
    let (lines, prints) = (jsonl(&texts), prints(&texts));
    let first = clusters(texts.len(), |a, b| prints[a].distance(prints[b]) <= 5);
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
    let report: String = (0..texts.len())
        .filter(|i| !kept.contains(i))
        .map(|i| (i, best[&first[i]]))
        .map(|(i, kept)| {
            format!(
                "d{i}\td{kept}\t{}\tinput\n",
                prints[i].distance(prints[kept])
            )
        })
        .collect();
    assert_eq!(String::from_utf8(sandbox.read("r")).unwrap(), report);
}

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
    let first = clusters(new.len(), |a, b| {
        nearest(new[a]).is_none() && nearest(new[b]).is_none() && new[a].distance(new[b]) <= 3
    });
    let (mut kept, mut report) = (String::new(), String::new());
    for (i, &value) in new.iter().enumerate() {
        let distance = value.distance(new[first[i]]);
        match nearest(value) {
            Some((distance, member)) => {
                report += &format!(
                    "c{i:04}\t{member:016x}\t{distance}\tindex\t{}\n",
                    members[&member]
                );
            }
            None if first[i] != i => {
                report += &format!("c{i:04}\tc{:04}\t{distance}\tinput\n", first[i])
            }
            None => kept += &format!("{value:016x}\tc{i:04}\n"),
        }
    }
    assert!(report.contains("\tindex\t") && report.contains("\tinput\n"));
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
fn records_that_cannot_be_used_are_left_out_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "ff00\nx\nff01\n\ny y\n1234567800\nff03\nz\n");
    sandbox.run(&["dedup", "a.hex", "-o", "kept"]).refusal();
    assert_eq!(sandbox.names(), ["a.hex"]);
    let args = [
        "dedup",
        "a.hex",
        "-o",
        "kept",
        "--on-error",
        "skip",
        "--json",
        "--report",
        "r",
    ];
    let ran = sandbox.run(&args);
    assert_eq!(ran.json()["skipped"], 3);
    assert_eq!(sandbox.read("kept"), b"ff00\n1234567800\n");
    assert_eq!(sandbox.read("r"), b"2\t0\t1\tinput\n5\t0\t2\tinput\n");
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

/// The program waits for room in the pipe that it copies to; meanwhile the second file is changed.
#[cfg(unix)]
#[test]
fn a_file_that_changes_between_passes_is_found() {
    use std::io::Read;
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    // More is kept than a pipe holds, so that the program is still copying when the second file has changed.
    let values: Vec<u64> = (0..200_000u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    sandbox.write("a.hex", hex(&values));
    sandbox.write("b.hex", "1\n");
    let mut command = sandbox.command(&["dedup", "a.hex", "b.hex", "-o", "-", "-k", "0"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    sandbox.write("b.hex", "1\n2\n");
    stdout.read_to_end(&mut Vec::new()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "simidx: b.hex: has changed while it was read\n");
}

#[test]
fn errors_are_told_and_leave_nothing() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&[1, 2])), &[]);
    sandbox.write("a.jsonl", "{\"text\":\"one\"}\n");
    sandbox.write("f.jsonl", "{\"fingerprint\":\"1\"}\n");
    sandbox.write("a.le", [0; 16]);
    sandbox.write("old", "old");
    sandbox
        .run(&[
            "build",
            "a.jsonl",
            "-o",
            "t.simidx",
            "--pipeline",
            "web,segment=chars:3",
        ])
        .done();
    sandbox
        .run(&["build", "a.hex", "-o", "w.simidx", "--width", "128"])
        .done();
    let before = sandbox.names();
    let refused = |args: &str, message: &str| {
        let args: Vec<&str> = ["dedup"].into_iter().chain(args.split(' ')).collect();
        sandbox.run(&args).refused(message);
        assert_eq!(sandbox.names(), before);
        assert_eq!(sandbox.read("old"), b"old");
    };
    refused(
        "a.le -o out",
        "a.le: records of the format le cannot be copied one by one",
    );
    refused(
        "a.hex a.jsonl -o out",
        "a.jsonl: is read as jsonl and cannot go into one output with inputs read as hex",
    );
    refused(
        "a.hex -o old",
        "old: already exists; use --force to replace it",
    );
    refused(
        "a.hex -o out --report old",
        "old: already exists; use --force to replace it",
    );
    refused(
        "a.hex -o out --report out",
        "out: is named twice, by -o and --report",
    );
    refused(
        "a.hex -o out --report ./out --force",
        "./out: is named twice, by -o and --report",
    );
    refused(
        "a.hex -o - --json",
        "--json needs standard output; name a file with -o",
    );
    refused(
        "f.jsonl -o out --verify jaccard:0.8",
        "f.jsonl:1: has no text, which --verify needs",
    );
    refused(
        "a.hex -o out --keep longest",
        "a.hex:1: has no text, which --keep longest needs",
    );
    refused(
        "a.hex -o out --against w.simidx",
        "w.simidx: holds 128-bit fingerprints; say --width 128",
    );
    refused(
        "a.jsonl -o out --against t.simidx",
        "a.jsonl:1: t.simidx was built with another pipeline, which simidx info tells",
    );
    let ran = sandbox.run(&["dedup", "a.hex", "-o", "out", "--verify", "jaccard:2"]);
    assert!(
        ran.refusal().contains("is not jaccard:T or jaccard:T:N"),
        "{ran:?}"
    );
    let ran = sandbox.run(&["dedup", "a.hex", "-o", "out", "--memory", "1MiB"]);
    assert!(ran.refusal().contains("raise --memory"), "{ran:?}");
    let ran = sandbox.run(&["dedup", "a.hex"]);
    assert!(ran.refusal().contains("--output"), "{ran:?}");
    assert_eq!(sandbox.names(), before);
}

#[test]
fn many_texts_of_one_fingerprint_take_no_time() {
    // Ten thousand times the same text, and as many texts of the same words in other orders.
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
        "--verify",
        "jaccard:1:3",
    ];
    let ran = sandbox.run(&args).done();
    assert_eq!(keys(&ran.json()).len(), 9);
    // 40 orders, and the text.
    assert_eq!(ran.json()["kept"], 41);
}

mod parquet_files {
    use super::*;
    use std::sync::Arc;

    use parquet::basic::{Compression, ZstdLevel};
    use parquet::column::writer::ColumnWriter;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// Rows of a text, a number that may be missing, a list of any length and a switch, in groups of seven.
    fn table(texts: &[String]) -> Vec<u8> {
        let schema = "message rows { required binary text (UTF8); optional double score; \
                      optional group tags (LIST) { repeated group list { optional int32 element; } } \
                      required boolean flag; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "made".to_owned(),
                "by a test".to_owned(),
            )]))
            .build();
        let mut file = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
        for (number, group) in texts.chunks(7).enumerate() {
            let mut rows = writer.next_row_group().unwrap();
            let numbers: Vec<usize> = (number * 7..number * 7 + group.len()).collect();
            while let Some(mut column) = rows.next_column().unwrap() {
                match column.untyped() {
                    ColumnWriter::ByteArrayColumnWriter(w) => {
                        let values: Vec<_> =
                            group.iter().map(|text| text.as_str().into()).collect();
                        w.write_batch(&values, None, None).unwrap();
                    }
                    ColumnWriter::DoubleColumnWriter(w) => {
                        let levels: Vec<i16> =
                            numbers.iter().map(|i| i16::from(i % 3 != 0)).collect();
                        let there = numbers.iter().filter(|&&i| i % 3 != 0);
                        let there: Vec<f64> = there.map(|&i| i as f64 / 8.0).collect();
                        w.write_batch(&there, Some(&levels), None).unwrap();
                    }
                    ColumnWriter::Int32ColumnWriter(w) => {
                        let [mut definitions, mut repetitions] = [vec![], vec![]];
                        let mut values = vec![];
                        for i in &numbers {
                            // No list, an empty one, or elements of which some are missing.
                            for j in 0..(i % 4).max(1) {
                                definitions.push(match i % 4 {
                                    0 => i16::from(i % 8 == 0),
                                    _ => 2 + i16::from(j != 1),
                                });
                                repetitions.push(i16::from(j > 0));
                                if i % 4 > 0 && j != 1 {
                                    values.push((i * 10 + j) as i32);
                                }
                            }
                        }
                        w.write_batch(&values, Some(&definitions), Some(&repetitions))
                            .unwrap();
                    }
                    ColumnWriter::BoolColumnWriter(w) => {
                        let values: Vec<bool> = numbers.iter().map(|i| i % 5 == 0).collect();
                        w.write_batch(&values, None, None).unwrap();
                    }
                    _ => unreachable!(),
                }
                column.close().unwrap();
            }
            rows.close().unwrap();
        }
        writer.close().unwrap();
        file
    }

    fn rows(path: std::path::PathBuf) -> Vec<String> {
        let file = std::fs::File::open(path).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let metadata = reader.metadata();
        let pairs = metadata.file_metadata().key_value_metadata().unwrap();
        assert!(pairs.iter().any(|pair| pair.key == "made"), "{pairs:?}");
        for group in metadata.row_groups() {
            assert!(
                group
                    .columns()
                    .iter()
                    .all(|c| matches!(c.compression(), Compression::ZSTD(_)))
            );
        }
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn rows_keep_all_their_columns() {
        let texts = texts();
        let prints = prints(&texts);
        let first = clusters(texts.len(), |a, b| prints[a].distance(prints[b]) <= 3);
        let sandbox = Sandbox::new();
        sandbox.write("a.parquet", table(&texts));
        done(sandbox.run(&["dedup", "a.parquet", "-o", "kept.parquet"]));
        let all = rows(sandbox.path("a.parquet"));
        assert_eq!(all.len(), texts.len());
        let kept = all.iter().enumerate().filter(|(i, _)| first[*i] == *i);
        let kept: Vec<&String> = kept.map(|(_, row)| row).collect();
        assert!(kept.len() < all.len());
        assert_eq!(
            rows(sandbox.path("kept.parquet"))
                .iter()
                .collect::<Vec<_>>(),
            kept
        );
        // Two files with one schema, and with different ones.
        done(sandbox.run(&["dedup", "a.parquet", "kept.parquet", "-o", "both.parquet"]));
        assert_eq!(
            rows(sandbox.path("both.parquet"))
                .iter()
                .collect::<Vec<_>>(),
            kept
        );
        let ran = sandbox.run(&["dedup", "a.parquet", "-o", "kept.parquet.gz"]);
        ran.refused("kept.parquet.gz: a Parquet file is compressed inside and not as a whole");
    }
}
