//! Invalid input: one clear line, exit code 2, and no files left.

use std::fs::create_dir;

use crate::support::{Sandbox, gzip, hex, newer, sample};

/// Builds `out` of one input, which must be refused with this message and without leaving a file.
#[track_caller]
fn build_refuses(name: &str, input: &[u8], args: &[&str], message: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(name, input);
    let build = ["build", name, "-o", "out"];
    sandbox.run(&[&build, args].concat()).refused(message);
    assert_eq!(sandbox.names(), [name]);
    // An existing output remains unchanged.
    sandbox.write("out", "before");
    sandbox
        .run(&[&build, args, &["--force"]].concat())
        .refused(message);
    assert_eq!(sandbox.read("out"), b"before");
    assert_eq!(sandbox.names().len(), 2);
}

#[test]
fn a_malformed_line_is_named() {
    for (name, input, message) in [
        (
            "a.hex",
            &b"1\nxyz\n"[..],
            r#"a.hex:2: "xyz" is not a hexadecimal number"#,
        ),
        (
            "a.hex",
            b"11111111111111111\n",
            r#"a.hex:1: "11111111111111111" has 17 hexadecimal digits, at most 16 fit a 64-bit fingerprint"#,
        ),
        (
            "a.hex",
            b"1\n\n0xg\n",
            r#"a.hex:3: "0xg" is not a hexadecimal number"#,
        ),
        ("a.hex", b"1\n2\n\xff\xfe\n", "a.hex:3: not valid UTF-8"),
        ("a.hex", b"1\ta\tb\n", "a.hex:1: more than two columns"),
        ("a.hex", b"1\t\n", "a.hex:1: id is empty"),
        (
            "a.dec",
            b"1\nff\n",
            r#"a.dec:2: "ff" is not a decimal number"#,
        ),
        (
            "a.dec",
            b"18446744073709551616\n",
            r#"a.dec:1: "18446744073709551616" does not fit a 64-bit fingerprint"#,
        ),
        ("a.tsv", b"1\ta\n2\t\n", "a.tsv:2: id is empty"),
        (
            "a.le",
            b"123456789012",
            "a.le: offset 8: 4 bytes are left over, a 64-bit fingerprint takes 8",
        ),
    ] {
        build_refuses(name, input, &[], message);
    }
}

#[test]
fn a_bad_json_line_is_named() {
    let bad = |line: &str, message: &str| {
        let input = format!("{{\"text\": \"a\"}}\n{line}\n");
        build_refuses(
            "a.jsonl",
            input.as_bytes(),
            &[],
            &format!("a.jsonl:2: {message}"),
        );
    };
    let neither = "neither \"text\" nor \"fingerprint\"; it has: id; \
                   choose with --text-field or --fingerprint-field";
    bad("{\"id\": 1}", neither);
    bad("{\"text\": 1}", "\"text\" is not a string");
    bad("[]", "not a JSON object");
    bad(
        "{\"text\": \"a\", \"id\": -1}",
        "\"id\" is neither a string nor an unsigned integer below 2^64",
    );
    let sandbox = Sandbox::new();
    for broken in [
        "{\"text\": \"a\"",
        "{",
        "text",
        "{\"text\": \"a\"} {}",
        "{\"text\": \"\\ud800\"}",
    ] {
        sandbox.write("a.jsonl", format!("{{\"text\": \"a\"}}\n{broken}\n"));
        let ran = sandbox.run(&["build", "a.jsonl", "-o", "out"]);
        assert!(
            ran.refusal().starts_with("a.jsonl:2: not JSON: "),
            "{ran:?}"
        );
    }
    assert_eq!(sandbox.names(), ["a.jsonl"]);
}

#[test]
fn records_that_do_not_suit_the_ids_are_named() {
    let tsv = b"1\t5\n2\tx y\n";
    let message = "a.tsv:2: the id \"x y\" is not a number below 2^64";
    build_refuses("a.tsv", tsv, &["--ids", "number"], message);
    build_refuses(
        "a.hex",
        b"1\ta\n2\n",
        &[],
        "a.hex:2: has no id; --ids number uses positions instead",
    );
    build_refuses(
        "a.hex",
        b"1\n",
        &["--ids", "string"],
        "a.hex:1: has no id; --ids number uses positions instead",
    );
    let message = "a.hex:2: has an id, but the first record had none; choose with --ids";
    build_refuses("a.hex", b"1\n2\tb\n", &[], message);
    let mixed = b"{\"text\":\"a\"}\n{\"fingerprint\":\"1\"}\n";
    let message = "a.jsonl:2: documents and fingerprints are mixed; build them separately";
    build_refuses("a.jsonl", mixed, &[], message);
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", b"1\n");
    sandbox.write("b.jsonl", b"{\"text\":\"a\"}\n");
    let message = "b.jsonl: documents and fingerprints are mixed; compare them separately";
    for args in [
        &["pairs", "a.hex", "b.jsonl"][..],
        &["clusters", "a.hex", "b.jsonl"],
        &["dedup", "a.hex", "b.jsonl", "--output-dir", "kept"],
    ] {
        sandbox.run(args).refused(message);
    }
}

#[test]
fn standard_input_has_one_use() {
    let sandbox = Sandbox::with_index(("a.hex", b"1\n"), &[]);
    for (args, input) in [
        (&["build", "-", "-", "-o", "y.simidx"][..], "ff\n"),
        (&["query", "x.simidx", "--exclude", "-"], "ff\n"),
        (&["join", "x.simidx", "-", "--exclude", "-"], "ff\n"),
        (&["compare", "-", "-"], "a\n"),
        (&["contamination", "-", "-"], "{\"text\":\"a\"}\n"),
    ] {
        let ran = sandbox.pipe(args, input.as_bytes());
        ran.refused("-: standard input is named twice");
    }
}

#[test]
fn a_format_that_cannot_be_told_is_asked_for() {
    let unknown = "a:1: cannot tell the format from \"some words\"; name it with --input, as files if the file is one \
                   document or as lines if each line is one";
    build_refuses("a", b"some words\n", &[], unknown);
    build_refuses("a", b"", &[], "a: is empty");
    build_refuses("a", b"\n \n", &[], "a: holds nothing but white space");
    let line = "a:2: \"some words\" is not a hexadecimal number";
    build_refuses("a", b"1f\nsome words\n", &[], line);
    let either = "a: every fingerprint may be hexadecimal or decimal; name the format with \
                  --input hex or --input dec";
    build_refuses("a", b"12\n", &[], either);
    let width = "a.u32: the name says 32-bit fingerprints, not 64-bit ones";
    build_refuses("a.u32", b"1234", &[], width);
}

#[test]
fn a_compressed_file_cut_short_is_refused_even_when_records_are_skipped() {
    let whole = gzip(&hex(&sample(5000)));
    let sandbox = Sandbox::new();
    for length in [15, whole.len() / 2, whole.len() - 3] {
        sandbox.write("a.hex.gz", &whole[..length]);
        for action in ["stop", "skip"] {
            let args = ["build", "a.hex.gz", "-o", "out", "--on-error", action];
            let ran = sandbox.run(&args);
            assert!(ran.refusal().starts_with("a.hex.gz: "), "{ran:?}");
        }
    }
    sandbox.write(
        "a.hex.zst",
        &zstd::encode_all(&hex(&sample(5000))[..], 1).unwrap()[..99],
    );
    let ran = sandbox.run(&["build", "a.hex.zst", "-o", "out"]);
    assert!(ran.refusal().starts_with("a.hex.zst: "), "{ran:?}");
    assert_eq!(sandbox.names(), ["a.hex.gz", "a.hex.zst"]);
}

#[test]
fn what_is_not_there_is_named_by_every_command() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    for args in [
        &["build", "no", "-o", "out"][..],
        &["build", "a.hex", "no", "-o", "out"],
        &["build", "no", "--input", "files", "-o", "out"],
        &["fingerprint", "no", "--input", "lines"],
        &["query", "no", "1"],
        &["query", "x.simidx", "--documents", "no"],
        &["info", "no"],
        &["verify", "no"],
        &["verify", "no", "--json"],
        &["dump", "no"],
        &["dump", "no", "--no-mmap"],
        &["bench", "no"],
        &["bench", "x.simidx", "--queries", "no"],
    ] {
        let message = "no: No such file or directory (os error 2)";
        sandbox.run(args).refused(message);
    }
    let url = "https://example.org/x.simidx";
    let message = format!(
        "{url}: is not a file: download it, or query it where it is by the JavaScript package"
    );
    sandbox.run(&["query", url, "12"]).refused(&message);
    let args = ["build", "a.hex", "-o", "no/out"];
    sandbox
        .run(&args)
        .refused("no/out: its directory does not exist");
    assert_eq!(sandbox.names(), ["a.hex", "x.simidx"]);
}

#[test]
fn a_directory_where_a_file_belongs_is_refused() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    create_dir(sandbox.path("dir")).unwrap();
    for args in [
        &["build", "a.hex", "-o", "dir"][..],
        &["build", "a.hex", "-o", "dir", "--force"],
        &["query", "dir", "1"],
        &["info", "dir"],
        &["verify", "dir"],
        &["dump", "dir", "--no-mmap"],
        &["bench", "dir"],
    ] {
        sandbox.run(args).refused("dir: is a directory");
    }
    for args in [
        &["build", "dir", "--input", "hex", "-o", "out"][..],
        &["bench", "x.simidx", "--queries", "dir"],
    ] {
        sandbox
            .run(args)
            .refused("dir: holds no files to be read as hex");
    }
    assert_eq!(sandbox.names(), ["a.hex", "dir", "x.simidx"]);
    assert!(sandbox.path("dir").read_dir().unwrap().next().is_none());
}

#[test]
fn no_command_but_verify_answers_from_a_damaged_index() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    let whole = sandbox.read("x.simidx");
    for (bytes, start) in [
        (whole[..whole.len() - 1].to_vec(), "bad: damaged index: "),
        (whole[..40].to_vec(), "bad: damaged index: "),
        (Vec::new(), "bad: not a simidx file: "),
        (b"1f\n".to_vec(), "bad: not a simidx file: "),
        (newer(whole.clone()), "bad: needs a newer simidx: "),
    ] {
        sandbox.write("bad", bytes);
        for args in [
            &["query", "bad", "1f"][..],
            &["query", "bad", "--no-mmap", "1f"],
            &["info", "bad"],
            &["dump", "bad"],
            &["bench", "bad"],
        ] {
            let ran = sandbox.run(args);
            assert!(ran.refusal().starts_with(start), "{ran:?}");
        }
    }
}

#[test]
fn a_bad_query_is_refused_before_any_is_answered() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &["--width", "32"]);
    for (query, message) in [
        (
            "123456789",
            r#""123456789" is neither a hexadecimal number of at most 32 bits nor a file"#,
        ),
        (
            "xyz",
            r#""xyz" is neither a hexadecimal number of at most 32 bits nor a file"#,
        ),
        (
            "",
            r#""" is neither a hexadecimal number of at most 32 bits nor a file"#,
        ),
        (
            "1\n2",
            r#""1\n2" is neither a hexadecimal number of at most 32 bits nor a file"#,
        ),
    ] {
        sandbox
            .run(&["query", "x.simidx", "1f", query])
            .refused(message);
    }
    let args = ["query", "x.simidx", "--input", "dec", "4294967296"];
    sandbox
        .run(&args)
        .refused(r#""4294967296" is neither a decimal number of at most 32 bits nor a file"#);
    let args = ["query", "x.simidx", "--input", "le", "1f"];
    sandbox
        .run(&args)
        .refused("--input le is not for arguments, which are hex or dec");
}

#[test]
fn a_bad_line_of_queries_is_named() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &["--width", "32"]);
    let query = |input: &[u8], args: &[&str]| {
        let query = ["query", "x.simidx"];
        sandbox.pipe(&[&query, args].concat(), input)
    };
    let message =
        r#"-:2: "123456789" has 9 hexadecimal digits, at most 8 fit a 32-bit fingerprint"#;
    query(b"0\n123456789\n", &["-k", "0"]).refused(message);
    query(b"xyz\n", &[]).refused(r#"-:1: "xyz" is not a hexadecimal number"#);
    query(b"\xff\n", &[]).refused("-:1: not valid UTF-8");
    let message = "-: offset 4: 2 bytes are left over, a 32-bit fingerprint takes 4";
    query(b"123456", &["--input", "le", "-k", "0"]).refused(message);
    // The answers before the invalid line remain, each complete.
    let ran = query(b"1f\nxyz\n", &[]);
    assert_eq!((ran.code, ran.text()), (Some(2), "0000001f\t0000001f\t0\n"));

    let documents = b"\n{\"text\":\"a\"}\n";
    let message = "-:2: is a document; use --documents to query documents";
    query(documents, &["--input", "jsonl"]).refused(message);
    sandbox.write("d.jsonl", documents);
    let args = [
        "bench",
        "x.simidx",
        "--input",
        "jsonl",
        "--queries",
        "d.jsonl",
    ];
    sandbox
        .run(&args)
        .refused("d.jsonl:2: is a document; queries are fingerprints");
    sandbox.write("q.hex", "1\nxyz\n");
    sandbox
        .run(&["bench", "x.simidx", "--queries", "q.hex"])
        .refused(r#"q.hex:2: "xyz" is not a hexadecimal number"#);
    sandbox.write("q.hex", "");
    sandbox
        .run(&["bench", "x.simidx", "--queries", "q.hex"])
        .refused("there are no queries");
}

#[test]
fn texts_need_an_index_of_documents() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    sandbox.write("d.txt", "a text\n");
    let message = "x.simidx: the index records no text pipeline, as it was built from fingerprints";
    sandbox
        .run(&["query", "x.simidx", "--text", "a"])
        .refused(message);
    let args = [
        "query",
        "x.simidx",
        "--documents",
        "d.txt",
        "--input",
        "lines",
    ];
    sandbox.run(&args).refused(message);

    let sandbox = Sandbox::with_index(("a.jsonl", b"{\"text\":\"a\"}"), &[]);
    sandbox.write(
        "d.jsonl",
        "{\"text\":\"zebra crossings\"}\n{\"fingerprint\":\"1\"}\n",
    );
    sandbox
        .run(&["query", "x.simidx", "-k", "0", "--documents", "d.jsonl"])
        .refused("d.jsonl:2: is a fingerprint; --documents reads documents");
    sandbox.write("d.jsonl", "\n{\"fingerprint\":\"1\"}\n");
    let message = "d.jsonl:2: is a fingerprint; this command reads documents";
    sandbox.run(&["fingerprint", "d.jsonl"]).refused(message);
}

#[test]
fn parameters_out_of_range_are_refused_with_what_there_is() {
    for (args, message) in [
        (
            &["--tables", "5"][..],
            "no design of 5 tables for 64 bits and distance 3; there are 1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35",
        ),
        (
            &["--tables", "many"],
            "invalid value 'many' for '--tables <N>': neither auto nor a number; see --help",
        ),
        (
            &["--block-size", "1000"],
            "a block size is a power of two from 128 to 8192, not 1000",
        ),
        (
            &["--block-size", "64"],
            "a block size is a power of two from 128 to 8192, not 64",
        ),
        (
            &["-k", "13"],
            "invalid value '13' for '--max-distance <K>': not a whole number from 0 to 12; see --help",
        ),
    ] {
        build_refuses("a.hex", b"1f\n", args, message);
    }
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    let bench = |args: &[&str]| sandbox.run(&[&["bench", "x.simidx"], args].concat());
    let count = "invalid value '100000001' for '--count <N>': not a whole number from 0 to 100000000; see --help";
    bench(&["--count", "100000001"]).refused(count);
    bench(&["--threads", "2", "--cold"]).refused("--cold requires a single thread");
    bench(&["--count", "0"]).refused("there are no queries");
}

#[test]
fn arguments_that_make_no_sense_are_a_usage_error() {
    let sandbox = Sandbox::with_index(("a.hex", b"1f\n"), &[]);
    for args in [
        &["frobnicate"][..],
        &["build", "a.hex"],
        &["build", "a.hex", "-o", "out", "--input", "xml"],
        &["build", "a.hex", "-o", "out", "--width", "16"],
        &["build", "a.hex", "-o", "out", "--ids", "uuid"],
        &["build", "a.hex", "-o", "out", "--codec", "zip"],
        &["build", "a.hex", "-o", "out", "--on-error", "ignore"],
        &[
            "build",
            "a.hex",
            "-o",
            "out",
            "--pipeline",
            "web,segment=bytes",
        ],
        &["build", "a.hex", "-o", "out", "--pipeline", "books"],
        &["build", "a.hex", "-o", "out", "--html", "maybe"],
        &["build", "a.hex", "-o", "out", "-k", "-1"],
        &["build", "a.hex", "-o", "out", "--progress", "maybe"],
        // Only slightly beyond the limit, so that the machine could bear it without the limit.
        &["build", "a.hex", "-o", "out", "--threads", "1025"],
        &["bench", "x.simidx", "--threads", "1025"],
        &["bench", "x.simidx", "--threads", "0"],
        &["query", "x.simidx", "1", "--text", "a"],
        &["query", "x.simidx", "--documents", "d", "--text", "a"],
        &["query", "x.simidx", "1", "-k", "few"],
        &["bench", "x.simidx", "--queries", "q", "--count", "3"],
        &["bench", "x.simidx", "--input", "hex"],
        &["fingerprint", "d.jsonl", "--show-features"],
        &["info"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code, ran.text()), (Some(2), ""), "{args:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.ends_with("; see --help\n"), "{ran:?}");
    }
    let ran = sandbox.run::<&str>(&[]);
    assert_eq!((ran.code, ran.text()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: simidx"), "{ran:?}");
    assert_eq!(sandbox.names(), ["a.hex", "x.simidx"]);
}

#[test]
fn a_message_is_one_line_whatever_a_file_is_called() {
    let sandbox = Sandbox::new();
    for args in [
        &["build", "a\nb", "-o", "out"][..],
        &["query", "a\nb", "1"],
        &["build", "-", "-o", "a\nb/out"],
    ] {
        let ran = sandbox.run(args);
        assert!(ran.refusal().starts_with('a'), "{ran:?}");
    }
}

#[test]
fn a_name_of_a_folder_is_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    // The input is missing, which would be said next.
    let ran = sandbox.run(&["build", "missing.hex", "-o", "out/"]);
    assert_eq!(ran.refusal(), "out/: is not the name of a file");
    let ran = sandbox.run(&["dedup", "missing.jsonl", "-o", "out/"]);
    assert_eq!(ran.refusal(), "out/: is not the name of a file");
}
