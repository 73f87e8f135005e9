//! `--encoding`: texts in encodings other than UTF-8, and invalid bytes in them.

use crate::support::{Ran, Sandbox, gzip};
use encoding_rs::{BIG5, Encoding, GBK};

const TEXTS: [&str; 2] = [
    "近年来，网络上重复的网页越来越多。搜索引擎必须找出内容几乎相同的文档。",
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。",
];

fn encode(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, lossy) = encoding.encode(text);
    assert!(!lossy);
    bytes.into_owned()
}

/// Returns the texts in each line format, with the arguments to read it.
fn inputs() -> [(String, Vec<&'static str>); 3] {
    let [a, b] = TEXTS;
    [
        (format!("{a}\n{b}\n"), vec!["--input", "lines"]),
        (
            format!("{{\"text\": \"{a}\"}}\n{{\"text\": \"{b}\"}}\n"),
            vec!["--input", "jsonl"],
        ),
        (
            format!("正文\t注\n{a}\t\n{b}\t一\n"),
            vec!["--input", "tsv", "--text-field", "正文"],
        ),
    ]
}

fn fingerprint(sandbox: &Sandbox, more: &[&str]) -> Ran {
    sandbox.run(&[&["fingerprint", "x"], more].concat())
}

#[test]
fn lines_may_be_in_any_encoding() {
    let sandbox = Sandbox::new();
    for (text, args) in inputs() {
        sandbox.write("x", &text);
        let expected = fingerprint(&sandbox, &args).done();
        assert_eq!(expected.lines().len(), 2);
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (name, bytes) in [
            ("gbk", encode(GBK, &text)),
            ("auto", encode(GBK, &text)),
            ("UTF-16BE", utf16.clone()),
            ("auto", [b"\xfe\xff", &utf16[..]].concat()),
            ("auto", text.clone().into_bytes()),
        ] {
            sandbox.write("x", gzip(&bytes));
            let args = [&args[..], &["--encoding", name]].concat();
            let ran = fingerprint(&sandbox, &args);
            assert_eq!(
                (ran.code, &ran.stdout),
                (Some(0), &expected.stdout),
                "{name} {args:?}"
            );
            // Only a guess is reported.
            let guessed = match (name, &bytes[..2]) {
                ("auto", b"\xfe\xff") => "",
                ("auto", _) if bytes != text.as_bytes() => GUESSED,
                _ => "",
            };
            assert_eq!(ran.stderr, guessed, "{name} {args:?}");
        }
        sandbox.write("x", encode(GBK, &text));
        fingerprint(&sandbox, &args).refused("x:1: not valid UTF-8");
    }
}

const GUESSED: &str = "simidx: detected: x: looks like GBK; --encoding overrides this\n";

#[test]
fn guesses_are_told_of_each_input_on_a_line() {
    let sandbox = Sandbox::new();
    let text = encode(GBK, &format!("{}\n{}\n", TEXTS[0], TEXTS[1]));
    sandbox.write("x", &text);
    let auto = ["--input", "lines", "--encoding", "auto"];
    sandbox
        .run(&[
            "build",
            "x",
            "-o",
            "i",
            "--input",
            "lines",
            "--encoding",
            "gbk",
        ])
        .done();
    for command in [
        &["fingerprint", "x"][..],
        &["query", "i", "--documents", "x"],
        &["dedup", "x", "-o", "kept", "--similarity", "0.8"],
    ] {
        let ran = sandbox.run(&[command, &auto].concat());
        let told = ran
            .stderr
            .lines()
            .filter(|line| line.contains(" detected: "));
        assert_eq!(told.collect::<Vec<_>>(), [GUESSED.trim_end()], "{ran:?}");
    }
    let names: Vec<String> = (0..12).map(|i| format!("y{i:02}")).collect();
    names.iter().for_each(|name| sandbox.write(name, &text));
    let ran = sandbox.run(&[&["fingerprint", "y*"], &auto[..]].concat());
    assert_eq!(ran.stderr.lines().count(), 11, "{ran:?}");
    assert!(
        ran.stderr
            .ends_with("simidx: detected the encodings of 12 inputs\n")
    );
}

#[test]
fn a_bad_byte_in_utf8_is_that_of_a_line() {
    let sandbox = Sandbox::new();
    let line =
        |word: &str| format!("{{\"text\": \"{word} and nothing but ASCII\"}}\n").into_bytes();
    let mut lines: Vec<Vec<u8>> = (0..1500).map(|_| line("plain")).collect();
    for number in [3, 500, 700, 900] {
        lines[number] = line("caf\u{e9}");
    }
    sandbox.write("x", lines.concat());
    let auto = ["--input", "jsonl", "--encoding", "auto"];
    let whole = fingerprint(&sandbox, &auto).done();
    lines[800][10] = 0xff;
    sandbox.write("x", lines.concat());
    fingerprint(&sandbox, &auto).refused("x:801: not valid UTF-8");
    let ran = fingerprint(&sandbox, &[&auto[..], &["--on-error", "skip"]].concat());
    let mut expected: Vec<&str> = whole.lines();
    expected.remove(800);
    assert_eq!(ran.lines(), expected);
}

#[test]
fn a_record_that_is_skipped_is_not_one_of_those_replaced() {
    let sandbox = Sandbox::new();
    let lines = [
        &b"{\"id\": \"1\", \"text\": \"one \xff\"}\n"[..],
        b"{\"id\": \"b\", \"text\": \"two \xff\"}\n",
    ];
    sandbox.write("x", lines.concat());
    let args = [
        "--input",
        "jsonl",
        "--encoding",
        "gbk",
        "--on-error",
        "skip",
    ];
    let build = ["build", "x", "-o", "i", "--ids", "number", "--json"];
    let built = sandbox.run(&[&build[..], &args].concat()).json();
    let counts =
        ["record_count", "replaced_count", "skipped_count"].map(|name| built[name].as_u64());
    assert_eq!(counts, [Some(1); 3], "{built}");
    let line = b"{\"id\": \"\xff\", \"fingerprint\": \"00\"}\n";
    sandbox.write("x", [lines[0], line].concat());
    let ran = sandbox.run(&[&["fingerprint", "x"], &args[..]].concat());
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        told.contains(&"simidx: replaced bytes in 1 record"),
        "{ran:?}"
    );
    assert!(told.contains(&"simidx: skipped 1 record"), "{ran:?}");
    assert_eq!(told.iter().filter(|line| line.contains("x:2: ")).count(), 1);
}

#[test]
fn an_encoding_that_is_named_is_that_of_files_too() {
    let sandbox = Sandbox::new();
    // Too short for a guess.
    sandbox.write("x", "中文");
    let args = ["--input", "files", "--encoding", "big5"];
    let expected = fingerprint(&sandbox, &args[..2]).done().stdout;
    sandbox.write("x", encode(BIG5, "中文"));
    assert_eq!(fingerprint(&sandbox, &args).done().stdout, expected);
    sandbox.write("x", encode(GBK, "中文"));
    assert_ne!(fingerprint(&sandbox, &args).stdout, expected);
}

#[test]
fn replaced_bytes_are_told_by_their_places() {
    let sandbox = Sandbox::new();
    let bad = [
        b"one\n\n".to_vec(),
        encode(GBK, "中文"),
        b"\xff\xff\nthree\n\x81 four\n".to_vec(),
    ];
    sandbox.write("x", bad.concat());
    let args = ["--input", "lines", "--encoding", "gbk"];
    let ran = fingerprint(&sandbox, &args);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 4), "{ran:?}");
    let told = "invalid bytes were replaced by U+FFFD";
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            format!("simidx: replaced: x:3: {told}"),
            format!("simidx: replaced: x:5: {told}"),
            "simidx: replaced bytes in 2 records".to_owned(),
        ]
    );
    sandbox.write("plain", "one\n中文\u{fffd}\u{fffd}\nthree\n\u{fffd} four\n");
    let plain = sandbox
        .run(&["fingerprint", "--input", "lines", "plain"])
        .done();
    assert_eq!(ran.stdout, plain.stdout);
    let build = ["build", "x", "-o", "i", "--json"];
    let built = sandbox.run(&[&build[..], &args].concat()).json();
    assert_eq!(
        (&built["replaced_count"], &built["record_count"]),
        (&2.into(), &4.into())
    );
    let ran = sandbox.run(&[&["dedup", "x", "-o", "kept", "--json"][..], &args].concat());
    assert_eq!(ran.json()["replaced"], 2);
    assert_eq!(
        sandbox.read("kept"),
        "one\n中文\u{fffd}\u{fffd}\nthree\n\u{fffd} four\n".as_bytes()
    );
    // All are counted, and the first ten are named.
    sandbox.write("x", b"\xff x\n".repeat(5000));
    let ran = fingerprint(&sandbox, &args);
    assert_eq!(ran.stderr.lines().count(), 11);
    assert!(
        ran.stderr
            .ends_with("simidx: replaced bytes in 5,000 records\n")
    );
    // The same holds if no encoding is named.
    sandbox.write(
        "x",
        "naïve café — déjà vu, señor, größer\n".repeat(3).as_bytes(),
    );
    let mut bytes = sandbox.read("x");
    bytes.push(0xff);
    sandbox.write("x", bytes);
    let ran = fingerprint(&sandbox, &["--input", "files"]);
    assert!(
        ran.stderr
            .starts_with(&format!("simidx: replaced: x: {told}\n")),
        "{ran:?}"
    );
}

#[test]
fn names_that_no_encoding_has_are_refused_with_those_that_are_known() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "one\n");
    let ran = fingerprint(&sandbox, &["--input", "lines", "--encoding", "klingon"]);
    assert_eq!((ran.code, ran.text()), (Some(2), ""));
    for word in ["\"klingon\"", "auto", "UTF-16LE", "GBK", "windows-1252"] {
        assert!(ran.stderr.contains(word), "{ran:?}");
    }
    sandbox.write("x.le", [0; 8]);
    sandbox
        .run(&["build", "x.le", "-o", "out", "--encoding", "gbk"])
        .refused("x.le: the format le has no encoding to name");
}

#[test]
fn every_command_that_reads_documents_knows_encodings() {
    let sandbox = Sandbox::new();
    let text = format!("{}\n{}\n", TEXTS[0], TEXTS[1]);
    sandbox.write("x", encode(GBK, &text));
    let named = ["--input", "lines", "--encoding", "gbk"];
    let build = ["build", "x", "-o", "i"];
    sandbox.run(&[&build[..], &named].concat()).done();
    let query = ["query", "i", "--documents", "x"];
    let ran = sandbox.run(&[&query[..], &named].concat()).done();
    assert_eq!(ran.lines().len(), 2);
    for command in [
        &["fingerprint", "x"][..],
        &["pairs", "x"],
        &["clusters", "x"],
    ] {
        let ran = sandbox.run(&[command, &named].concat());
        assert!(ran.code != Some(2), "{ran:?}");
    }
    sandbox
        .run(&["query", "i", "0", "--encoding", "gbk"])
        .refused("--text-field, --fingerprint-field, --id-field, --delimiter and --encoding require --documents");
    for command in ["pairs", "clusters"] {
        for option in ["--text-field", "--id-field", "--encoding"] {
            sandbox.run(&[command, "i", option, "gbk"]).refused(
                "--text-field, --fingerprint-field, --id-field, --delimiter and --encoding are for records, not for an index",
            );
        }
    }
}
