//! `simidx build --sketch` and `simidx join --similarity`: estimates compared with true similarities, and errors.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::Sandbox;

/// Returns the words of document i. Every third document is a variant of the one before it.
fn words(i: usize) -> Vec<String> {
    let word = |seed: usize| format!("w{}", seed.wrapping_mul(0x9e37_79b9) >> 7 & 0xffff);
    let (family, variant) = (i / 3, i % 3);
    let mut words: Vec<String> = (0..120).map(|j| word(family * 1000 + j)).collect();
    for edit in 0..variant * 2 {
        words[edit * 29 + family % 20] = word(7_000_000 + i * 10 + edit);
    }
    words
}

fn documents(numbers: impl Iterator<Item = usize>) -> String {
    let line = |i: usize| format!("{{\"id\":\"d{i}\",\"text\":\"{}\"}}\n", words(i).join(" "));
    numbers.map(line).collect()
}

/// The Jaccard similarity of shingles of three words.
fn jaccard(a: usize, b: usize) -> f64 {
    let runs =
        |i: usize| -> BTreeSet<String> { words(i).windows(3).map(|run| run.join(" ")).collect() };
    let (a, b) = (runs(a), runs(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// Returns an index `x.simidx` of the first variants of 200 families, and queries `q.jsonl` of the others.
fn sandbox(more: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("docs.jsonl", documents((0..600).step_by(3)));
    sandbox.write("q.jsonl", documents((0..600).filter(|i| i % 3 > 0)));
    let build = ["build", "docs.jsonl", "-o", "x.simidx", "--sketch", "256"];
    sandbox.run(&[&build, more].concat()).done();
    sandbox
}

/// Returns the third column by the first two.
fn by_pair(lines: &[&str]) -> BTreeMap<(usize, usize), f64> {
    let number = |id: &str| id.strip_prefix('d').unwrap().parse().unwrap();
    let pair = |line: &&str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [query, found, value] = columns[..] else {
            panic!("{line}");
        };
        ((number(query), number(found)), value.parse().unwrap())
    };
    lines.iter().map(pair).collect()
}

#[test]
fn estimates_are_near_the_truth() {
    let sandbox = sandbox(&[]);
    let ran = sandbox
        .run(&["join", "x.simidx", "q.jsonl", "--similarity", "0.5"])
        .done();
    let found = by_pair(&ran.lines());
    assert!(found.keys().all(|(query, found)| query / 3 == found / 3));
    assert!(found.len() > 390, "{}", found.len());
    for (&(query, found), estimate) in &found {
        // Four standard errors.
        assert!((estimate - jaccard(query, found)).abs() < 0.2, "{query}");
    }
    let ran = sandbox.run(&[
        "join",
        "x.simidx",
        "q.jsonl",
        "--similarity",
        "0.5",
        "--json",
    ]);
    let objects = ran.json_lines();
    assert_eq!(objects.len(), 400);
    for object in &objects {
        let query = object["id"]
            .as_str()
            .unwrap()
            .strip_prefix('d')
            .unwrap()
            .parse()
            .unwrap();
        for one in object["matches"].as_array().unwrap() {
            let id = one["id"]
                .as_str()
                .unwrap()
                .strip_prefix('d')
                .unwrap()
                .parse()
                .unwrap();
            assert_eq!(one["estimate"].as_f64(), found.get(&(query, id)).copied());
            let error = one["standard_error"].as_f64().unwrap();
            assert!((0.0..0.06).contains(&error), "{one}");
            assert_eq!(one.get("similarity"), None);
        }
    }
    let stats = [
        "join",
        "x.simidx",
        "q.jsonl",
        "--similarity",
        "0.5",
        "--stats",
    ];
    let stderr = sandbox.run(&stats).stderr;
    assert!(
        stderr.starts_with("simidx: 400 queries by 200 sketches: "),
        "{stderr}"
    );
}

#[test]
fn a_limit_keeps_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox.write("docs.jsonl", documents(0..300));
    sandbox
        .run(&["build", "docs.jsonl", "-o", "x.simidx", "--sketch", "128"])
        .done();
    let join = ["join", "x.simidx", "docs.jsonl", "--similarity", "0.6"];
    let all = sandbox.run(&join).done();
    let limited = sandbox.run(&[&join[..], &["--limit", "1"]].concat()).done();
    // Each is its own nearest.
    assert_eq!(limited.lines().len(), 300);
    assert!(
        limited
            .lines()
            .iter()
            .all(|line| line.ends_with("\t1.0000"))
    );
    assert!(all.lines().len() > 400);
    sandbox.write("gone", "d0\n");
    let ran = sandbox.run(&[&join[..], &["--exclude", "gone", "--exclude-by", "id"]].concat());
    assert!(!ran.text().contains("\td0\t") && ran.text().contains("\td3\t"));
}

#[test]
fn threads_and_memory_change_nothing() {
    let sandbox = sandbox(&["--id-lookup"]);
    let join = ["join", "x.simidx", "q.jsonl", "--similarity", "0.7"];
    let expected = sandbox.run(&join).done();
    let ran = sandbox
        .run(&[&join[..], &["--threads", "1"]].concat())
        .done();
    assert_eq!(ran.text(), expected.text());
    // Few queries and matches fit the memory at once.
    for more in [&[][..], &["--json"], &["--limit", "2"]] {
        let join = [&join[..4], &["0.1"], more].concat();
        let roomy = sandbox.run(&join);
        assert_eq!(roomy.code, Some(0));
        assert!(roomy.lines().len() >= 400);
        for memory in ["1", "20KiB", "400KiB"] {
            let tight = sandbox.run(&[&join[..], &["--memory", memory]].concat());
            assert!(tight.text() == roomy.text(), "{memory} {more:?}");
            assert_eq!(tight.code, roomy.code);
        }
    }
    for more in [&["--threads", "1"][..], &["--memory", "64MiB"]] {
        let build = [
            "build",
            "docs.jsonl",
            "-o",
            "y.simidx",
            "--sketch",
            "256",
            "--id-lookup",
            "--force",
        ];
        sandbox.run(&[&build, more].concat()).done();
        assert_eq!(sandbox.read("x.simidx"), sandbox.read("y.simidx"));
    }
}

#[test]
fn info_and_merge_know_sketches() {
    let sandbox = sandbox(&[]);
    let info = sandbox.run(&["info", "x.simidx"]).done();
    let row = info
        .lines()
        .into_iter()
        .find(|line| line.starts_with("sketches "))
        .map(str::to_owned);
    let row = row.expect("there is a row");
    assert!(
        row.contains("256 bits of words:3 html:auto: 6,472 bytes, 32.36 each"),
        "{row}"
    );
    let sketches = &sandbox.run(&["info", "x.simidx", "--json"]).json()["sketches"];
    assert_eq!(
        (&sketches["bits"], &sketches["bytes"]),
        (&256.into(), &6472.into())
    );
    let verified = sandbox.run(&["verify", "x.simidx", "--json"]).json();
    assert_eq!(verified["sketch_pages_checked"], 2);
    sandbox
        .run(&["build", "q.jsonl", "-o", "q.simidx", "--sketch", "256"])
        .done();
    sandbox
        .run(&["merge", "x.simidx", "q.simidx", "-o", "all.simidx"])
        .done();
    let join = |index| {
        let args = [
            "join",
            index,
            "q.jsonl",
            "--similarity",
            "0.9",
            "--limit",
            "9",
        ];
        sandbox.run(&args).done().text().to_owned()
    };
    assert!(join("all.simidx").lines().count() > join("x.simidx").lines().count());
    sandbox.run(&["build", "q.jsonl", "-o", "p.simidx"]).done();
    let merge = ["merge", "x.simidx", "p.simidx", "-o", "some.simidx"];
    let ran = sandbox.run(&merge);
    assert!(
        ran.stderr.starts_with(
            "simidx: sketches left out: x.simidx and p.simidx differ in their sketches"
        ),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.code, Some(0));
}

#[test]
fn documents_are_joined_by_sketches_unless_an_option_is_about_fingerprints() {
    let sandbox = sandbox(&[]);
    let columns = |args: &[&str]| {
        let ran = sandbox.run(&[&["join", "x.simidx"], args].concat()).done();
        let first = ran.lines()[0].split('\t').map(str::to_owned);
        first.collect::<Vec<_>>()
    };
    let by_sketches = ["join", "x.simidx", "q.jsonl", "--similarity", "0.8"];
    let expected = sandbox.run(&by_sketches).done();
    let ran = sandbox.run(&by_sketches[..3]).done();
    assert_eq!(ran.text(), expected.text());
    for about_fingerprints in [
        &["-k", "64"][..],
        &["--query-ids"],
        &["--strategy", "probe"],
    ] {
        let columns = columns(&[&["q.jsonl"], about_fingerprints].concat());
        assert_eq!(columns[0].len(), 16, "{columns:?}");
    }
    sandbox.write(
        "q.hex",
        sandbox.run(&["fingerprint", "q.jsonl"]).done().text(),
    );
    assert_eq!(columns(&["q.hex", "--input", "hex"])[0].len(), 16);
}

#[test]
fn without_sketches_there_is_no_estimate() {
    let sandbox = sandbox(&[]);
    sandbox
        .run(&["build", "docs.jsonl", "-o", "plain.simidx"])
        .done();
    let join = |index: &str| sandbox.run(&["join", index, "q.jsonl", "--similarity", "0.8"]);
    let message =
        "plain.simidx: there are no sketches to compare texts with; build with --sketch 256";
    join("plain.simidx").refused(message);
    let build = [
        "build",
        "docs.jsonl",
        "-o",
        "five.simidx",
        "--sketch",
        "256",
        "--features",
        "words:5",
    ];
    sandbox.run(&build).done();
    join("five.simidx").done();
    let both = [
        "join",
        "x.simidx",
        "five.simidx",
        "q.jsonl",
        "--similarity",
        "0.8",
    ];
    let ran = sandbox.run(&both);
    let expected = "x.simidx and five.simidx differ in their sketches: 256 bits of words:3 html:auto and 256 bits of words:5 html:auto; ";
    assert!(ran.refusal().starts_with(expected), "{}", ran.stderr);
    sandbox.write("f.hex", "0123456789abcdef\n");
    sandbox
        .run(&["join", "x.simidx", "f.hex", "--similarity", "0.8"])
        .refused("f.hex:1: is a fingerprint; --similarity compares documents, -k fingerprints");
    sandbox
        .run(&["build", "f.hex", "--sketch", "64", "-o", "f.simidx"])
        .refused("f.hex:1: a fingerprint has no text to sketch; --sketch needs documents");
    for wrong in [
        &["build", "docs.jsonl", "-o", "w.simidx", "--sketch", "100"][..],
        &[
            "build",
            "docs.jsonl",
            "-o",
            "w.simidx",
            "--features",
            "words:3",
        ],
        &[
            "build",
            "docs.jsonl",
            "-o",
            "w.simidx",
            "--sketch",
            "64",
            "--features",
            "chars:3",
        ],
        &["join", "x.simidx", "q.jsonl", "--similarity", "0"],
        &[
            "join",
            "x.simidx",
            "q.jsonl",
            "--similarity",
            "0.8",
            "-k",
            "3",
        ],
    ] {
        assert_eq!(sandbox.run(wrong).code, Some(2), "{wrong:?}");
    }
    sandbox
        .run(&[
            "build",
            "docs.jsonl",
            "--ids",
            "none",
            "-o",
            "n.simidx",
            "--sketch",
            "64",
        ])
        .done();
    let ran = sandbox.run(&["join", "n.simidx", "q.jsonl"]).done();
    let fingerprint = ran.lines()[0].split('\t').nth(1).unwrap();
    assert_eq!(fingerprint.len(), 16);
}
