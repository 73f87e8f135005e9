//! `simidx pairs`: indexes and plain fingerprints, by fingerprint and by id, its options and its errors.

use crate::support::{Sandbox, hex, keys, sample};
use serde_json::json;

/// Returns the lines of all pairs within a distance, in order.
fn expected(values: &[u64], distance: u32) -> String {
    let mut set = values.to_vec();
    set.sort_unstable();
    set.dedup();
    let mut lines = String::new();
    for (i, x) in set.iter().enumerate() {
        for y in &set[i + 1..] {
            let d = (x ^ y).count_ones();
            if d <= distance {
                lines += &format!("{x:016x}\t{y:016x}\t{d}\n");
            }
        }
    }
    lines
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn pairs_of_an_index_and_of_its_fingerprints_are_the_same() {
    let values = sample(1500);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &[]);
    for distance in ["0", "1", "3", "5"] {
        let expected = expected(&values, distance.parse().unwrap());
        let index = ["pairs", "x.simidx", "-k", distance, "--sort"];
        let plain = ["pairs", "--input", "hex", "a.hex", "-k", distance, "--sort"];
        for args in [&index[..], &plain] {
            let ran = sandbox.run(args);
            assert_eq!(ran.text(), expected, "{args:?}");
            assert_eq!(ran.code, Some(i32::from(expected.is_empty())));
            assert_eq!(ran.stderr, "");
        }
    }
    // The distance of the index, and standard input.
    let found = expected(&values, 3);
    let ran = sandbox.run(&["pairs", "x.simidx"]).done();
    assert_eq!(sorted_lines(ran.text()), sorted_lines(&found));
    let ran = sandbox.pipe(&["pairs", "--input", "hex", "-"], &hex(&values));
    assert_eq!(sorted_lines(ran.done().text()), sorted_lines(&found));
    let ran = sandbox.run(&["pairs", "x.simidx", "--count-only"]).done();
    assert_eq!(ran.text(), format!("{}\n", found.lines().count()));
}

#[test]
fn the_order_does_not_depend_on_threads() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(60_000))), &[]);
    let run = |threads| {
        let args = ["pairs", "x.simidx", "--threads", threads];
        sandbox.run(&args).done().stdout
    };
    let one = run("1");
    assert!(one.len() > 1 << 16);
    assert!(run("3") == one);
}

#[test]
fn several_indexes_are_one() {
    let values = sample(900);
    let (first, second) = values.split_at(400);
    let sandbox = Sandbox::with_index(("a.hex", &hex(first)), &["--tables", "1"]);
    sandbox.write("b.hex", hex(second));
    sandbox.run(&["build", "b.hex", "-o", "y.simidx"]).done();
    let ran = sandbox.run(&["pairs", "x.simidx", "y.simidx", "--sort"]);
    assert_eq!(ran.done().text(), expected(&values, 3));
    let ran = sandbox.run(&["pairs", "--input", "auto", "a.hex", "b.hex", "--sort"]);
    assert_eq!(ran.done().text(), expected(&values, 3));
}

/// Two records share a fingerprint, a third is near, a fourth is far away.
const RECORDS: &str = "ff\t10\nff\t9\nfe\t2\nff00000000\t5\n";

#[test]
fn pairs_by_id_take_in_records_that_share_a_fingerprint() {
    let numbers = "2\t9\t1\n2\t10\t1\n9\t10\t0\n";
    let strings = "10\t2\t1\n10\t9\t0\n2\t9\t1\n";
    for (ids, expected) in [("number", numbers), ("string", strings)] {
        let sandbox = Sandbox::with_index(("a.tsv", RECORDS.as_bytes()), &["--ids", ids]);
        let index = ["pairs", "x.simidx", "--by", "id", "--sort"];
        assert_eq!(sandbox.run(&index).done().text(), expected, "{ids}");
        let plain = [
            "pairs", "--input", "tsv", "a.tsv", "--by", "id", "--sort", "--ids", ids,
        ];
        assert_eq!(sandbox.run(&plain).done().text(), expected, "{ids}");
        let count = ["pairs", "x.simidx", "--by", "id", "--count-only"];
        assert_eq!(sandbox.run(&count).done().text(), "3\n");
        assert_eq!(sandbox.names(), ["a.tsv", "x.simidx"]);
    }
    // Without an id column, the ids are positions.
    let ran = Sandbox::new().pipe(
        &["pairs", "--input", "hex", "-", "--by", "id", "-k", "1"],
        b"1\n0\nff\n0\n",
    );
    assert_eq!(
        sorted_lines(ran.done().text()),
        ["0\t1\t1", "0\t3\t1", "1\t3\t0"]
    );
}

#[test]
fn documents_are_paired_by_their_fingerprints() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"id\":\"x\",\"text\":\"a b c\"}\n{\"id\":\"y\",\"text\":\"A b C\"}\n",
    );
    let args = ["pairs", "--input", "jsonl", "a.jsonl", "--by", "id"];
    assert_eq!(sandbox.run(&args).done().text(), "x\ty\t0\n");
}

#[test]
fn json_is_an_object_a_pair() {
    let sandbox = Sandbox::with_index(("a.tsv", RECORDS.as_bytes()), &["--ids", "number"]);
    let objects = sandbox
        .run(&["pairs", "x.simidx", "--json"])
        .done()
        .json_lines();
    let pair =
        json!({ "smaller": "00000000000000fe", "larger": "00000000000000ff", "distance": 1 });
    assert_eq!(objects, [pair]);
    let ran = sandbox.run(&["pairs", "x.simidx", "--json", "--by", "id", "--sort"]);
    let objects = ran.done().json_lines();
    assert_eq!(
        objects[0],
        json!({ "smaller": 2, "larger": 9, "distance": 1 })
    );
    assert_eq!(keys(&objects[2]), ["distance", "larger", "smaller"]);
}

#[test]
fn more_pairs_than_are_wanted_end_the_run() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(1500))), &[]);
    let all = sandbox.run(&["pairs", "x.simidx"]).done();
    let limited = |limit: &str, more: &[&str]| {
        sandbox.run(&[&["pairs", "x.simidx", "--max-pairs", limit], more].concat())
    };
    let ran = limited("10", &[]);
    assert_eq!((ran.code, ran.lines().len()), (Some(2), 10));
    assert_eq!(ran.lines(), all.lines()[..10]);
    assert_eq!(ran.stderr, "simidx: there are more than 10 pairs\n");
    limited("10", &["--sort"]).refused("there are more than 10 pairs");
    limited("10", &["--count-only"]).refused("there are more than 10 pairs");
    let enough = all.lines().len().to_string();
    assert!(limited(&enough, &[]).done().stdout == all.stdout);
}

#[test]
fn other_widths_are_paired() {
    let sandbox = Sandbox::new();
    let args = ["pairs", "--input", "hex", "-", "--width"];
    let ran = sandbox.pipe(&[&args[..], &["32"]].concat(), b"1\n3\n");
    assert_eq!(ran.done().text(), "00000001\t00000003\t1\n");
    let ran = sandbox.pipe(&[&args[..], &["128"]].concat(), b"1\n3\n");
    assert!(
        ran.done()
            .text()
            .starts_with("00000000000000000000000000000001\t")
    );
}

#[test]
fn what_cannot_be_paired_is_refused_in_one_line() {
    let sandbox = Sandbox::with_index(("a.hex", b"1\n2\n"), &[]);
    sandbox.write("bad.hex", "1\nxyz\n");
    let refusal = |args: &[&str]| {
        sandbox
            .run(&[&["pairs"], args].concat())
            .refusal()
            .to_owned()
    };
    assert!(refusal(&["--input", "hex", "bad.hex"]).starts_with("bad.hex:2: "));
    assert!(refusal(&["none.simidx"]).contains("none.simidx"));
    let mixed = "x.simidx is an index and a.hex is not";
    assert_eq!(refusal(&["a.hex", "x.simidx"]), mixed);
    assert_eq!(refusal(&["x.simidx", "a.hex"]), mixed);
    sandbox.write("no.simidx", "1\n2\n");
    assert!(refusal(&["no.simidx"]).starts_with("no.simidx: not a simidx file"));
    let by_id = refusal(&["x.simidx", "--by", "id"]);
    assert_eq!(by_id, "x.simidx has no ids; leave --by id out");
    assert!(refusal(&["x.simidx", "--memory", "1MiB"]).contains("memory"));
    assert!(refusal(&["--input", "hex"]).contains("--help"));
    let skipped = sandbox.run(&[
        "pairs",
        "--input",
        "hex",
        "bad.hex",
        "a.hex",
        "--on-error",
        "skip",
    ]);
    assert_eq!(skipped.text(), "0000000000000001\t0000000000000002\t2\n");
    assert!(skipped.stderr.ends_with("simidx: skipped 1 record\n"));
}
