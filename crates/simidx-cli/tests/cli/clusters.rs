//! `simidx clusters`: indexes and records, options and errors.

use crate::support::{Sandbox, hex, keys, sample};
use serde_json::json;
use simidx_testkit::le_bytes;

/// Returns the lines of all clusters of distinct values, found by brute force.
fn expected(values: &[u64], distance: u32, min_size: usize) -> String {
    let mut left = values.to_vec();
    left.sort_unstable();
    left.dedup();
    let mut clusters = Vec::new();
    while let Some(start) = left.pop() {
        let mut cluster = vec![start];
        let mut next = 0;
        while next < cluster.len() {
            let near = |x: &u64| (x ^ cluster[next]).count_ones() <= distance;
            let found: Vec<u64> = left.iter().copied().filter(near).collect();
            left.retain(|x| !found.contains(x));
            cluster.extend(found);
            next += 1;
        }
        cluster.sort_unstable();
        clusters.push(cluster);
    }
    clusters.retain(|cluster| cluster.len() >= min_size);
    clusters.sort_by_key(|cluster| (std::cmp::Reverse(cluster.len()), cluster[0]));
    let lines = clusters.iter().enumerate().flat_map(|(number, cluster)| {
        let line = move |x: &u64| format!("{number}\t{x:016x}\n");
        cluster.iter().map(line)
    });
    lines.collect()
}

/// Whether stderr contains only the warning about chains, or nothing.
fn is_warning_or_nothing(stderr: &str) -> bool {
    stderr.is_empty() || stderr.starts_with("simidx: chains: ") && stderr.lines().count() == 1
}

#[test]
fn clusters_of_an_index_and_of_its_fingerprints_are_the_same() {
    let values = sample(1500);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &[]);
    for (distance, min_size) in [("0", "2"), ("1", "2"), ("3", "1"), ("3", "3"), ("6", "2")] {
        let number = min_size.parse().unwrap();
        let expected = expected(&values, distance.parse().unwrap(), number);
        let options = ["-k", distance, "--min-size", min_size];
        for source in [&["x.simidx"][..], &["--input", "hex", "a.hex"]] {
            let ran = sandbox.run(&[&["clusters"], source, &options].concat());
            assert_eq!(ran.text(), expected, "{source:?} {options:?}");
            assert_eq!(ran.code, Some(i32::from(expected.is_empty())));
            assert!(is_warning_or_nothing(&ran.stderr), "{}", ran.stderr);
        }
    }
    let ran = sandbox.pipe(&["clusters", "--input", "hex", "-"], &hex(&values));
    assert_eq!(ran.text(), expected(&values, 3, 2));
}

#[test]
fn the_bytes_depend_on_no_threads_and_no_memory() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(60_000))), &["--ids", "number"]);
    for source in [
        &["x.simidx"][..],
        &["--input", "hex", "a.hex"],
        &["--input", "hex", "a.hex", "--ids", "number"],
    ] {
        let run = |more: &[&str]| {
            let ran = sandbox.run(&[&["clusters"], source, more].concat());
            ran.done().stdout
        };
        let one = run(&["--threads", "1"]);
        assert!(one.len() > 1 << 16);
        assert!(run(&["--threads", "3"]) == one);
        assert!(run(&["--memory", "80MB", "--temp-dir", "."]) == one);
    }
    assert_eq!(sandbox.names(), ["a.hex", "x.simidx"]);
}

#[test]
fn several_indexes_are_one() {
    let values = sample(900);
    let (first, second) = values.split_at(400);
    let sandbox = Sandbox::with_index(("a.hex", &hex(first)), &["--tables", "1"]);
    sandbox.write("b.hex", hex(second));
    sandbox.run(&["build", "b.hex", "-o", "y.simidx"]).done();
    let ran = sandbox.run(&["clusters", "x.simidx", "y.simidx"]);
    assert_eq!(ran.text(), expected(&values, 3, 2));
    let ran = sandbox.run(&["clusters", "--input", "auto", "a.hex", "b.hex"]);
    assert_eq!(ran.text(), expected(&values, 3, 2));
}

/// Two records share a fingerprint, a third is near, two others share another, a sixth is alone.
const RECORDS: &str = "ff\t10\nfe\t8\nff\t9\nf0f0f0\t3\nff00000000\t5\nf0f0f0\t2\n";

#[test]
fn records_are_counted_and_the_first_one_leads() {
    let from_index = "0\t00000000000000fe\t8\n0\t00000000000000ff\t9\n0\t00000000000000ff\t10\n\
                      1\t0000000000f0f0f0\t2\n1\t0000000000f0f0f0\t3\n";
    let from_records = "0\t00000000000000ff\t10\n0\t00000000000000ff\t9\n0\t00000000000000fe\t8\n\
                        1\t0000000000f0f0f0\t3\n1\t0000000000f0f0f0\t2\n";
    let sandbox = Sandbox::with_index(("a.tsv", RECORDS.as_bytes()), &["--ids", "number"]);
    let index = ["clusters", "x.simidx"];
    assert_eq!(sandbox.run(&index).done().text(), from_index);
    let records = ["clusters", "--input", "tsv", "a.tsv"];
    for ids in ["auto", "string", "number"] {
        let ran = sandbox.run(&[&records[..], &["--ids", ids]].concat());
        assert_eq!(ran.done().text(), from_records, "{ids}");
    }
    assert_eq!(sandbox.names(), ["a.tsv", "x.simidx"]);
    let ran = sandbox.run(&[&records[..], &["--ids", "none"]].concat());
    let fingerprints = "0\t00000000000000fe\n0\t00000000000000ff\n";
    assert_eq!(ran.done().text(), fingerprints);
    let ran = sandbox
        .run(&[&index[..], &["--min-size", "1"]].concat())
        .done();
    let alone = ran.lines().last().copied().unwrap().to_owned();
    assert_eq!(alone, "2\t000000ff00000000\t5");
    let ran = sandbox
        .run(&[&index[..], &["--min-size", "3"]].concat())
        .done();
    assert_eq!(ran.lines().len(), 3);
    // Without an id column, numbers are positions.
    let args = [
        "clusters", "--input", "hex", "-", "--ids", "number", "-k", "1",
    ];
    let ran = Sandbox::new().pipe(&args, b"1\nff\n0\n1\n").done();
    let lines = [
        "0\t0000000000000001\t0",
        "0\t0000000000000001\t3",
        "0\t0000000000000000\t2",
    ];
    assert_eq!(ran.lines(), lines);
}

#[test]
fn chains_are_told() {
    let chain: Vec<u64> = (0..6).map(|i| (1 << (3 * i)) - 1).collect();
    let sandbox = Sandbox::with_index(("a.hex", &hex(&chain)), &[]);
    let ran = sandbox.run(&["clusters", "x.simidx"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 6));
    let warning = "simidx: chains: in 1 of 1 clusters, members differ from the first one in more than 6 bits, twice \
                   the distance; in cluster 0 by 15; a smaller -k makes fewer chains\n";
    assert_eq!(ran.stderr, warning);
}

#[test]
fn summaries_and_objects_tell_sizes_and_radii() {
    let sandbox = Sandbox::with_index(("a.tsv", RECORDS.as_bytes()), &["--ids", "number"]);
    let ran = sandbox.run(&["clusters", "x.simidx", "--summary"]);
    let lines = "0\t3\t2\t1\t00000000000000fe\t8\n1\t2\t1\t0\t0000000000f0f0f0\t2\n";
    assert_eq!((ran.text(), ran.code), (lines, Some(0)));
    let totals = "simidx: 2 clusters of 5 records with 3 fingerprints\n";
    assert_eq!(ran.stderr, totals);
    let ran = sandbox.run(&["clusters", "x.simidx", "--json"]).done();
    let objects = ran.json_lines();
    let first = json!({
        "cluster": 0, "size": 3, "fingerprints": 2, "radius": 1, "representative": "00000000000000fe",
        "members": [
            { "fingerprint": "00000000000000fe", "ids": [8] },
            { "fingerprint": "00000000000000ff", "ids": [9, 10] },
        ],
    });
    assert_eq!((objects.len(), &objects[0]), (2, &first));
    let ran = sandbox.run(&["clusters", "x.simidx", "--json", "--summary"]);
    let without = [
        "cluster",
        "fingerprints",
        "radius",
        "representative",
        "size",
    ];
    assert_eq!(keys(&ran.json_lines()[1]), without);
    let args = ["clusters", "--input", "tsv", "a.tsv", "--json", "--ids"];
    let of_ids = |ids: &str| {
        let ran = sandbox.run(&[&args[..], &[ids]].concat()).done();
        ran.json_lines()[0]["members"].clone()
    };
    let member = |ids| json!({ "fingerprint": "00000000000000ff", "ids": ids });
    assert_eq!(of_ids("number")[0], member(json!([10, 9])));
    assert_eq!(of_ids("string")[0], member(json!(["10", "9"])));
    assert_eq!(of_ids("none")[1], member(json!([])));
}

#[test]
fn other_widths_are_clustered() {
    let sandbox = Sandbox::new();
    for (width, digits) in [("32", 8), ("128", 32)] {
        let args = ["clusters", "--input", "hex", "-", "--width", width];
        let ran = sandbox.pipe(&args, b"1\n3\n").done();
        let lines = format!("0\t{:0digits$x}\n0\t{:0digits$x}\n", 1, 3);
        assert_eq!(ran.text(), lines);
    }
}

#[test]
fn no_cluster_is_the_answer_no() {
    let sandbox = Sandbox::new();
    let args = ["clusters", "--input", "hex", "-"];
    assert_eq!(sandbox.pipe(&args, b"").no().text(), "");
    assert_eq!(sandbox.pipe(&args, b"0\nff\n").no().text(), "");
    sandbox
        .pipe(&[&args[..], &["--json"]].concat(), b"7\n")
        .no();
}

#[test]
fn what_cannot_be_clustered_is_refused_in_one_line() {
    let sandbox = Sandbox::with_index(("a.hex", b"1\n2\n"), &[]);
    sandbox.write("bad.hex", "1\nxyz\n");
    sandbox.write("late.tsv", "1\n2\tx\n");
    let refusal = |args: &[&str]| {
        let ran = sandbox.run(&[&["clusters"], args].concat());
        ran.refusal().to_owned()
    };
    assert!(refusal(&["--input", "hex", "bad.hex"]).starts_with("bad.hex:2: "));
    assert!(refusal(&["--input", "tsv", "late.tsv"]).starts_with("late.tsv:2: has an id"));
    assert!(refusal(&["none.simidx"]).contains("none.simidx"));
    let mixed = "x.simidx is an index and a.hex is not";
    assert_eq!(refusal(&["a.hex", "x.simidx"]), mixed);
    assert_eq!(refusal(&["x.simidx", "a.hex"]), mixed);
    sandbox.write("no.simidx", "1\n2\n");
    assert!(refusal(&["no.simidx"]).starts_with("no.simidx: not a simidx file"));
    assert!(refusal(&["x.simidx", "--memory", "1MiB"]).contains("memory"));
    assert!(refusal(&["--input", "hex"]).contains("--help"));
    let many: Vec<u64> = (0..1_200_000)
        .map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    sandbox.write("many.hex", hex(&many));
    let message = refusal(&["--input", "hex", "many.hex", "--memory", "64MiB"]);
    assert!(message.contains("the limit leaves"), "{message}");
}

#[test]
fn documents_are_compared_by_their_texts_unless_an_option_is_about_fingerprints() {
    let sandbox = Sandbox::new();
    let line = |id: u32, text: &str| json!({ "id": id, "text": text }).to_string() + "\n";
    sandbox.write("a.jsonl", line(1, "a b c d") + &line(2, "A b, c d!"));
    for command in ["clusters", "pairs"] {
        let run = |more: &[&str]| {
            let ran = sandbox.run(&[&[command, "a.jsonl"], more].concat());
            assert!(ran.code < Some(2), "{ran:?}");
            ran.text().to_owned()
        };
        let by_text = run(&["--similarity", "0.8"]);
        assert!(by_text.contains("1.0000"), "{by_text}");
        assert_eq!(run(&[]), by_text);
        let piped = sandbox.pipe(&[command, "-"], &sandbox.read("a.jsonl"));
        assert_eq!(piped.done().text(), by_text);
        for option in [
            "-k 3",
            "--ids number",
            "--width 32",
            "--pipeline web,fingerprint=simhash",
        ] {
            let option: Vec<_> = option.split(' ').collect();
            assert!(!run(&option).contains("1.0000"), "{command} {option:?}");
        }
    }
    assert!(
        sandbox
            .run(&["pairs", "a.jsonl", "--by", "id"])
            .done()
            .text()
            == "1\t2\t0\n"
    );
    // Fingerprints in a file or a pipe, in any format.
    let prints = "0000000000000000\n0000000000000001\n";
    sandbox.write("a.hex", prints);
    let pair = "0000000000000000\t0000000000000001\t1\n";
    assert_eq!(sandbox.run(&["pairs", "a.hex"]).done().text(), pair);
    let piped = sandbox.pipe(&["pairs", "--input", "hex", "-"], prints.as_bytes());
    assert_eq!(piped.done().text(), pair);
    let piped = sandbox.pipe(&["pairs", "--input", "le", "-"], &le_bytes(&[0, 1]));
    assert_eq!(piped.done().text(), pair);
}
