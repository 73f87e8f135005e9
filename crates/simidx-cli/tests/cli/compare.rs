//! `simidx compare`: figures against those of the sets, sources of documents, exit codes and errors.

use std::collections::BTreeSet;

use crate::support::{Sandbox, gzip, keys};

const A: &str = "The quick brown fox jumps over the lazy dog and runs into the dark wood at night";
const B: &str = "the quick brown fox jumps over the lazy cat and walks into the dark wood at noon";

/// Returns the words of a text, which are the features of the pipeline `news-zh` here.
fn words(text: &str) -> BTreeSet<String> {
    text.split(' ').map(str::to_lowercase).collect()
}

#[test]
fn figures_are_those_of_the_words() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", A);
    sandbox.write("b.txt", B);
    let args = [
        "compare",
        "a.txt",
        "b.txt",
        "--json",
        "--top",
        "3",
        "-k",
        "64",
        "--pipeline",
        "news-zh",
    ];
    let found = sandbox.run(&args).done().json();
    let (a, b) = (words(A), words(B));
    let (both, either) = (a.intersection(&b).count(), a.union(&b).count());
    let jaccard = both as f64 / either as f64;
    assert_eq!(found["jaccard"], jaccard);
    assert_eq!(found["similarity"], jaccard);
    assert_eq!(found["similarity_measure"], "jaccard");
    assert_eq!(found["a"]["distinct_features"], a.len());
    assert_eq!(found["a"]["feature_occurrences"], A.split(' ').count());
    let distance = found["distance"].as_u64().unwrap();
    let estimate = (1.0 - distance as f64 / 32.0).max(0.0);
    assert_eq!(found["similarity_estimate"], estimate);
    // dog, runs and night are only in A; cat, walks and noon only in B.
    let features = found["features"].as_array().unwrap();
    let texts: Vec<_> = features
        .iter()
        .map(|f| f["feature"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["dog", "runs", "night"]);
    // The fingerprints are those of `fingerprint`.
    let args = [
        "fingerprint",
        "--input",
        "files",
        "a.txt",
        "b.txt",
        "--pipeline",
        "news-zh",
    ];
    let printed = sandbox.run(&args).done();
    let hex: Vec<u64> = ["a", "b"]
        .map(|side| found[side]["fingerprint"].as_str().unwrap())
        .map(|hex| u64::from_str_radix(hex, 16).unwrap())
        .to_vec();
    let expected = format!("{:016x}\ta.txt\n{:016x}\tb.txt\n", hex[0], hex[1]);
    assert_eq!(printed.text(), expected);
    assert_eq!(u64::from((hex[0] ^ hex[1]).count_ones()), distance);
    let bits: Vec<u64> = (0..64)
        .filter(|bit| (hex[0] ^ hex[1]) >> bit & 1 == 1)
        .collect();
    assert_eq!(found["differing_bits"], serde_json::json!(bits));
    assert_eq!(
        keys(&found),
        [
            "a",
            "b",
            "cosine",
            "differing_bits",
            "distance",
            "equal",
            "features",
            "jaccard",
            "least_similarity",
            "max_distance",
            "near_duplicates",
            "pipeline",
            "similarity",
            "similarity_estimate",
            "similarity_measure",
            "text_similarity",
            "weighted_jaccard",
            "width"
        ]
    );
}

#[test]
fn simhash_tells_the_cosine() {
    let args = [
        "compare", "--text", "x y x", "--text", "z x z", "--json", "-k", "64",
    ];
    let args = [&args[..], &["--pipeline", "news-zh,fingerprint=simhash"]].concat();
    let found = Sandbox::new().run(&args).done().json();
    let near = |name: &str, value: f64| {
        let found = found[name].as_f64().unwrap();
        assert!((found - value).abs() < 1e-9, "{name}: {found}");
    };
    near("similarity", 0.4);
    near("cosine", 0.4);
    near("weighted_jaccard", 0.2);
    near("jaccard", 1.0 / 3.0);
    let turn = found["distance"].as_f64().unwrap() / 64.0;
    near(
        "similarity_estimate",
        (std::f64::consts::PI * turn).cos().max(0.0),
    );
    assert_eq!(found["features"][0]["feature"], "z");
}

#[test]
fn the_exit_code_says_whether_they_are_near() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", A);
    // Standard input, a file, a text: the same document.
    let ran = sandbox
        .pipe(&["compare", "a.txt", "-"], A.as_bytes())
        .done();
    assert!(
        ran.text()
            .contains("near-duplicates: a similarity of at least 0.8 is wanted")
    );
    assert!(
        ran.text()
            .contains("texts                   1.0000 jaccard of runs of 3 words")
    );
    assert!(!ran.text().contains("feature that differs"));
    let ran = sandbox
        .run(&["compare", "a.txt", "--text", A, "-k", "0"])
        .done();
    assert!(ran.text().contains("near-duplicates within 0"));
    let ran = sandbox
        .run(&["compare", "--text", A, "--text", "something else"])
        .no();
    assert!(ran.text().contains("not near-duplicates: a similarity"));
    for about_fingerprints in [["--width", "32"], ["--pipeline", "web,fingerprint=simhash"]] {
        let texts = ["compare", "--text", A, "--text", "something else"];
        let ran = sandbox
            .run(&[&texts[..], &about_fingerprints].concat())
            .no();
        assert!(ran.text().contains("not near-duplicates within 3"));
    }
    // Punctuation counts where source code is compared.
    let changed = ["compare", "--text", "x += y", "--text", "x -= y"];
    sandbox.run(&changed).done();
    let ran = sandbox
        .run(&[&changed[..], &["--pipeline", "code"]].concat())
        .no();
    assert!(
        ran.text()
            .contains("0.2000 jaccard of features of the pipeline"),
        "{ran:?}"
    );
    let ran = sandbox
        .run(&["compare", "--text", A, "--text", "something else"])
        .no();
    assert!(ran.text().contains("feature that differs"));
    // Control characters in a name or a feature do not reach the terminal.
    let args = [
        "compare",
        "--pipeline",
        "code,segment=chars:1,normalise=none",
        "--text",
        "a\u{1b}b",
        "--text",
        "c",
    ];
    let ran = sandbox.run(&args).no();
    assert!(!ran.text().contains('\u{1b}'), "{:?}", ran.text());
}

#[test]
fn an_index_lends_its_pipeline_width_and_distance() {
    let sandbox = Sandbox::with_index(
        (
            "d.jsonl",
            format!("{}\n", serde_json::json!({"id": "a", "text": A})).as_bytes(),
        ),
        &[
            "--input",
            "jsonl",
            "--width",
            "128",
            "-k",
            "5",
            "--pipeline",
            "short",
        ],
    );
    let args = [
        "compare", "--index", "x.simidx", "--text", A, "--text", A, "--json",
    ];
    let found = sandbox.run(&args).done().json();
    assert_eq!(
        (&found["width"], &found["max_distance"]),
        (&128.into(), &5.into())
    );
    let fingerprint = found["a"]["fingerprint"].as_str().unwrap();
    assert_eq!(
        sandbox.run(&["dump", "x.simidx"]).done().text(),
        format!("{fingerprint}\ta\n")
    );
    let refused = sandbox.run(&[&args[..], &["--pipeline", "web"]].concat());
    assert!(refused.refusal().contains("cannot be used with"));
    sandbox.write("a.hex", "ff\n");
    sandbox.run(&["build", "a.hex", "-o", "y.simidx"]).done();
    let args = ["compare", "--index", "y.simidx", "--text", A, "--text", A];
    sandbox
        .run(&args)
        .refused("y.simidx: the index records no text pipeline, as it was built from fingerprints");
}

#[test]
fn encodings_are_told_of_files_and_of_standard_input() {
    let sandbox = Sandbox::new();
    let text = "近年来，网络上重复的网页越来越多。搜索引擎必须找出内容几乎相同的文档。";
    let (gbk, ..) = encoding_rs::GBK.encode(text);
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("utf8", text);
    for bytes in [&gbk[..], &[b"\xff\xfe", &utf16[..]].concat(), &gzip(&gbk)] {
        sandbox.write("other", bytes);
        for args in [
            ["compare", "--json", "utf8", "other"],
            ["compare", "--json", "utf8", "-"],
        ] {
            let ran = sandbox.pipe(&args, bytes).done();
            assert_eq!(ran.json()["jaccard"], 1.0);
        }
    }
    let (big5, ..) = encoding_rs::BIG5.encode("中文");
    sandbox.write("utf8", "中文");
    let named = ["compare", "--json", "--encoding", "big5"];
    sandbox.write("other", &big5);
    let ran = sandbox
        .pipe(&[&named[..], &["-", "other"]].concat(), &big5)
        .done();
    assert_eq!(ran.json()["distance"], 0);
    let ran = sandbox.pipe(
        &["compare", "utf8", "-"],
        "中文 中文 中文 \u{e9}\u{e9}\u{e9}".as_bytes(),
    );
    assert_eq!(ran.stderr, "");
    let ran = sandbox.pipe(
        &[&named[..], &["-", "other"]].concat(),
        &[&big5[..], b"\xff"].concat(),
    );
    let told = "simidx: replaced: -: invalid bytes were replaced by U+FFFD\n";
    assert_eq!(ran.stderr, told);
}

#[test]
fn a_folder_is_not_taken_for_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", A);
    std::fs::create_dir(sandbox.path("-")).unwrap();
    let ran = sandbox.pipe(&["compare", "a.txt", "-", "--json"], A.as_bytes());
    assert_eq!(ran.done().json()["distance"], 0);
}

#[cfg(unix)]
#[test]
fn names_of_files_stay_on_their_line() {
    let sandbox = Sandbox::new();
    let name = "a\n\u{1b}[31m\u{2028}";
    sandbox.write(name, b"one two three \xff");
    let escaped = "a\\n\\u{1b}[31m\\u{2028}";
    let args = [
        "compare",
        name,
        "--text",
        "one two three",
        "--encoding",
        "gbk",
    ];
    let ran = sandbox.run(&args);
    let told = "invalid bytes were replaced by U+FFFD";
    assert_eq!(ran.stderr, format!("simidx: replaced: {escaped}: {told}\n"));
    assert!(ran.text().contains(escaped), "{ran:?}");
}

#[test]
fn what_is_no_pair_of_documents_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", A);
    sandbox.write("b.bin", b"ab\0");
    let refused = |args: &[&str], message: &str| {
        let args = [&["compare"], args].concat();
        sandbox.pipe(&args, b"ab\0").refused(message);
    };
    refused(&["a.txt"], "compare takes two documents, not 1; see --help");
    refused(&["a.txt", "-"], "-: holds binary data");
    refused(&["a.txt", "b.bin"], "b.bin: holds binary data");
    refused(&["a.txt", "."], ".: is a directory; name a file");
    refused(
        &["--text", "a", "--text", "b", "--encoding", "gbk"],
        "--encoding applies to files, not to --text",
    );
    let gone = sandbox.run(&["compare", "a.txt", "gone.txt"]);
    assert!(gone.refusal().starts_with("gone.txt: "));
}
