//! Properties of all commands: help, version, quietness, numbers in JSON, messages about the command line.

use std::time::Duration;

use crate::support::{Sandbox, hex, sample};

#[test]
fn the_version_says_what_a_report_of_a_fault_should() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["--version"]).done();
    let lines = ran.lines();
    let [version, commit, instructions] = lines[..] else {
        panic!("{ran:?}")
    };
    assert!(version.starts_with("simidx 0."), "{version}");
    let commit = commit.strip_prefix("commit ").unwrap();
    let is_hex = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_hex || commit == "unknown", "{commit}");
    let special = format!("instructions {}", simidx::index::instruction_set());
    assert_eq!(instructions, special);
    let mut portable = sandbox.command(&["--version"]);
    let portable = portable.env("SIMIDX_SIMD", "off").output().unwrap();
    let portable = String::from_utf8(portable.stdout).unwrap();
    assert!(
        portable.ends_with("\ninstructions portable\n"),
        "{portable}"
    );
    assert_eq!(sandbox.run(&["-V"]).done().lines(), [version]);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    let sandbox = Sandbox::new();
    for args in [
        &["--help"][..],
        &["query", "--help"],
        &["query", "-h"],
        &["help", "query"],
        &["--version"],
    ] {
        let ran = sandbox.shell("exec \"$0\" \"$@\" >/dev/full", args);
        ran.refused("standard output: No space left on device (os error 28)");
    }
}

#[test]
fn examples_come_before_options() {
    let sandbox = Sandbox::new();
    for args in [&["--help"][..], &["query", "--help"], &["dedup", "--help"]] {
        let ran = sandbox.run(args).done();
        let [examples, usage, options] =
            ["\nExamples:\n", "\nUsage:", "\nOptions:"].map(|part| ran.text().find(part).unwrap());
        assert!(examples < usage && usage < options);
    }
    let usage = sandbox.run(&["join", "-h"]).done();
    assert!(
        usage
            .text()
            .contains("Usage: simidx join [OPTIONS] <INDEX>... <QUERIES>\n")
    );
    let missing = sandbox.run(&["join", "x"]);
    let message = "the following required arguments were not provided: <INDEX>...; see --help";
    missing.refused(message);
}

#[test]
fn mistyped_names_are_recognised() {
    let sandbox = Sandbox::new();
    let message = "unrecognized subcommand 'dedupe'; did you mean dedup? see --help";
    sandbox.run(&["dedupe", "a"]).refused(message);
    let message = "unexpected argument '--treads' found; did you mean --threads? see --help";
    sandbox
        .run(&["query", "x", "--treads", "3"])
        .refused(message);
    let message = "unexpected argument '--xyzzy' found; see --help";
    sandbox.run(&["query", "x", "--xyzzy"]).refused(message);
}

#[test]
fn quiet_commands_print_results_and_errors_alone() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(500))), &[]);
    sandbox.write(
        "docs.jsonl",
        "{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two three\"}\n",
    );
    for args in [
        &["build", "a.hex", "-o", "y", "--force"][..],
        &[
            "build",
            "a.hex",
            "-o",
            "y",
            "--force",
            "--progress",
            "always",
        ],
        &["merge", "x.simidx", "-o", "y", "--force"],
        &["dedup", "docs.jsonl", "-o", "kept", "--force"],
        &["verify", "x.simidx"],
        &["verify", "x.simidx", "x.simidx"],
    ] {
        let loud = sandbox.run(args);
        assert!(loud.stdout.len() + loud.stderr.len() > 0, "{args:?}");
        for quiet in ["--quiet", "-q"] {
            let ran = sandbox.run(&[args, &[quiet]].concat()).done();
            assert_eq!(ran.text(), "", "{args:?}");
        }
    }
    for args in [
        &["query", "x.simidx", "0", "-k", "64"][..],
        &["dump", "x.simidx"],
        &["pairs", "x.simidx"],
        &["clusters", "x.simidx"],
        &["clusters", "x.simidx", "--summary"],
        &["info", "x.simidx"],
        &["verify", "x.simidx", "--json"],
        &["plan", "--count", "1e6"],
    ] {
        let loud = sandbox.run(args);
        let ran = sandbox.run(&[&["-q"], args].concat());
        assert_eq!((ran.code, ran.text()), (loud.code, loud.text()), "{args:?}");
        assert_eq!(ran.stderr, "", "{args:?}");
    }
    let json = sandbox.run(&["build", "a.hex", "-o", "y", "--force", "--json", "-q"]);
    assert_eq!(json.done().json()["record_count"], sample(500).len());
    // Errors and warnings are still printed.
    sandbox
        .run(&["-q", "info", "none"])
        .refused("none: No such file or directory (os error 2)");
    sandbox.write("bad.hex", "1\nx\n");
    let skip = [
        "build",
        "bad.hex",
        "--input",
        "hex",
        "-o",
        "z",
        "--on-error",
        "skip",
        "-q",
    ];
    let ran = sandbox.run(&skip);
    assert_eq!((ran.code, ran.text()), (Some(0), ""));
    assert!(
        ran.stderr.ends_with("simidx: skipped 1 record\n"),
        "{ran:?}"
    );
    let mut damaged = sandbox.read("x.simidx");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    sandbox.write("d.simidx", damaged);
    let ran = sandbox.run(&["verify", "d.simidx", "x.simidx", "-q"]).no();
    assert_eq!(ran.lines().len(), 1, "{ran:?}");
}

#[test]
fn numbers_are_strings_in_json_on_request() {
    let ids = [0u64, 7, (1 << 53) + 1, u64::MAX];
    let records: String = ids.iter().map(|id| format!("1\t{id}\n")).collect();
    let sandbox = Sandbox::with_index(("a.tsv", records.as_bytes()), &["--ids", "number"]);
    sandbox.write(
        "q.jsonl",
        "{\"fingerprint\":\"1\",\"id\":9007199254740993}\n",
    );
    sandbox.write("two.tsv", "1\t18446744073709551615\n1\t3\n");
    let both = |args: &[&str]| {
        let plain = sandbox.run(args);
        let strings = sandbox.run(&[args, &["--json-strings"]].concat());
        assert_eq!((plain.code, plain.stderr), (strings.code, strings.stderr));
        (
            String::from_utf8(plain.stdout).unwrap(),
            String::from_utf8(strings.stdout).unwrap(),
        )
    };
    let numbers = "[0,7,9007199254740993,18446744073709551615]";
    let strings = r#"["0","7","9007199254740993","18446744073709551615"]"#;
    for args in [
        &["query", "x.simidx", "1", "--json"][..],
        &["dump", "x.simidx", "--json"],
        &["join", "x.simidx", "q.jsonl", "--json"],
        &["clusters", "x.simidx", "--json"],
    ] {
        let (plain, quoted) = both(args);
        assert!(plain.contains(numbers), "{args:?}: {plain}");
        assert!(quoted.contains(strings), "{args:?}: {quoted}");
    }
    let (plain, quoted) = both(&["join", "x.simidx", "q.jsonl", "--json"]);
    assert!(plain.contains(r#"{"id":9007199254740993,"#), "{plain}");
    assert!(quoted.contains(r#"{"id":"9007199254740993","#), "{quoted}");
    let (plain, quoted) = both(&["pairs", "x.simidx", "--by", "id", "--sort", "--json"]);
    assert!(
        plain.starts_with("{\"distance\":0,\"larger\":7,\"smaller\":0}\n"),
        "{plain}"
    );
    assert!(
        quoted.starts_with("{\"distance\":0,\"larger\":\"7\",\"smaller\":\"0\"}\n"),
        "{quoted}"
    );
    let query = [
        "query",
        "x.simidx",
        "--id",
        "18446744073709551615",
        "--json",
    ];
    let (plain, quoted) = both(&query);
    assert!(plain.contains(":18446744073709551615,"), "{plain}");
    assert!(quoted.contains(":\"18446744073709551615\","), "{quoted}");
    let (plain, quoted) = both(&["plan", "--count", "18446744073709551615", "--json"]);
    assert!(plain.contains("\"count\":18446744073709551615,"), "{plain}");
    assert!(
        quoted.contains("\"count\":\"18446744073709551615\","),
        "{quoted}"
    );
    // Small counts remain numbers, and plain text is unchanged.
    let (plain, quoted) = both(&["info", "x.simidx", "--json"]);
    assert_eq!(plain, quoted);
    let (plain, quoted) = both(&["dump", "x.simidx"]);
    assert_eq!(plain, quoted);
}

#[test]
fn json_moves_no_cursor() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"fingerprint\":\"1\",\"id\":\"\\u009b31m\\u007f\\u202e\\u001b\"}\n",
    );
    sandbox.run(&["build", "a.jsonl", "-o", "x"]).done();
    for args in [
        &["query", "x", "1", "--json"],
        &["dump", "x", "--json", "-q"],
    ] {
        let ran = sandbox.run(args).done();
        let escaped = r#""\u009b31m\u007f\u202e\u001b""#;
        assert!(ran.text().contains(escaped), "{ran:?}");
    }
}

#[test]
fn sizes_and_counts_are_read_alike_everywhere() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(500))), &[]);
    for size in ["64MiB", "100M", "1e9", "0.5GB", "1 GiB", "134217728"] {
        let memory = ["--memory", size];
        for args in [
            &["build", "a.hex", "-o", "y", "--force"][..],
            &["merge", "x.simidx", "-o", "z", "--force"],
            &["pairs", "x.simidx", "--count-only"],
            &["join", "x.simidx", "a.hex"],
        ] {
            let ran = sandbox.run(&[args, &memory].concat());
            assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{args:?} {size}");
        }
    }
    for args in [
        &["pairs", "x.simidx", "--max-pairs", "1M"][..],
        &["bench", "x.simidx", "--count", "0.1k"],
        &["build", "a.hex", "-o", "w", "--block-size", "1KiB"],
    ] {
        let ran = sandbox.run(args);
        assert!(ran.code != Some(2), "{ran:?}");
    }
    // An insufficient limit is reported in the same units, with its purpose.
    let least = "at least 64 MiB of memory, but the limit leaves 1 MiB; raise --memory";
    for args in [
        &["build", "a.hex", "-o", "v"][..],
        &["pairs", "x.simidx"],
        &["clusters", "x.simidx"],
        &["join", "x.simidx", "a.hex"],
        &["merge", "x.simidx", "-o", "v"],
    ] {
        let ran = sandbox.run(&[args, &["--memory", "1MiB"]].concat());
        let refusal = ran.refusal();
        assert!(refusal.ends_with(least), "{refusal}");
        assert!(
            args[0] == "build" || !refusal.contains("build"),
            "{refusal}"
        );
    }
}

#[test]
fn indexes_and_records_are_told_apart() {
    let sandbox = Sandbox::new();
    let documents: String = (0..6)
        .map(|i| {
            format!(
                "{{\"id\":\"d{i}\",\"text\":\"the same text for all, but {}\"}}\n",
                i / 2
            )
        })
        .collect();
    sandbox.write("docs.jsonl", &documents);
    sandbox.write("a.hex", hex(&sample(60)));
    sandbox
        .run(&["build", "a.hex", "-o", "no-extension"])
        .done();
    sandbox.write("index.hex", sandbox.read("no-extension"));
    for (command, guessed, named) in [
        ("pairs", "docs.jsonl", "jsonl"),
        ("pairs", "a.hex", "hex"),
        ("clusters", "docs.jsonl", "jsonl"),
        ("clusters", "a.hex", "hex"),
    ] {
        let guess = sandbox.run(&[command, guessed]);
        let name = sandbox.run(&[command, guessed, "--input", named]);
        assert!(guess.code != Some(2), "{guess:?}");
        assert_eq!(
            (guess.code, guess.stdout),
            (name.code, name.stdout),
            "{command} {guessed}"
        );
        // The content determines the kind of a file, whatever its name is.
        let index = sandbox.run(&[command, "no-extension"]);
        let misnamed = sandbox.run(&[command, "index.hex"]);
        assert!(index.code != Some(2), "{index:?}");
        assert_eq!(index.stdout, misnamed.stdout);
    }
    let piped = sandbox.pipe(&["clusters", "-"], documents.as_bytes());
    assert_eq!(
        piped.text(),
        sandbox.run(&["clusters", "docs.jsonl"]).text()
    );
    let pattern = sandbox.run(&["clusters", "docs.*"]);
    assert_eq!(piped.text(), pattern.text());
    sandbox
        .run(&["pairs", "none"])
        .refused("none: No such file or directory (os error 2)");
}

#[test]
fn a_width_is_not_blamed_where_it_is_not_at_fault() {
    let sandbox = Sandbox::new();
    sandbox.write("f.tsv", "63af59176de81e83\ta\n");
    let message = "f.tsv:1: is a fingerprint; this command reads documents";
    sandbox.run(&["fingerprint", "f.tsv"]).refused(message);
    let wide = format!("{:032x}\n", u128::MAX);
    sandbox.write("w.hex", wide);
    let message = "w.hex:1: is a fingerprint; this command reads documents";
    sandbox
        .run(&["fingerprint", "w.hex", "--width", "128"])
        .refused(message);
}

/// Runs a command that may be hostile, for at most a minute.
#[track_caller]
fn ends(sandbox: &Sandbox, args: &[&str]) -> Option<i32> {
    let mut command = sandbox.command(args);
    let null = std::process::Stdio::null;
    let mut child = command.stdout(null()).stderr(null()).spawn().unwrap();
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("{args:?} does not end")
}

#[test]
fn huge_numbers_end_soon() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(500))), &[]);
    let docs: String = (0..500).map(|i| format!("document {i}\n")).collect();
    sandbox.write("docs.txt", docs);
    for (args, code) in [
        (
            &[
                "query",
                "x.simidx",
                "0",
                "--nearest",
                "18446744073709551615",
            ][..],
            0,
        ),
        (
            &[
                "query",
                "x.simidx",
                "0",
                "-k",
                "64",
                "--limit",
                "18446744073709551615",
            ],
            0,
        ),
        (
            &[
                "join",
                "x.simidx",
                "a.hex",
                "-k",
                "64",
                "--limit",
                "18446744073709551615",
            ],
            0,
        ),
        (&["pairs", "x.simidx", "-k", "64", "--max-pairs", "0"], 2),
        (&["pairs", "x.simidx", "-k", "63", "--sort"], 0),
        (&["clusters", "x.simidx", "-k", "60"], 0),
        (
            &["clusters", "x.simidx", "--min-size", "18446744073709551615"],
            1,
        ),
        (
            &[
                "dedup", "docs.txt", "--input", "lines", "-k", "64", "-o", "kept",
            ],
            0,
        ),
        (
            &[
                "dedup",
                "docs.txt",
                "--input",
                "lines",
                "-k",
                "4294967295",
                "-o",
                "no",
            ],
            2,
        ),
        (&["plan", "--count", "18446744073709551615", "-k", "12"], 0),
        (
            &["plan", "--count", "18446744073709551615", "--width", "32"],
            2,
        ),
        (&["plan", "--count", "1e30"], 2),
        (&["dump", "x.simidx", "--table", "255"], 2),
        (&["dump", "x.simidx", "--table", "1e18"], 2),
        (
            &["bench", "x.simidx", "--count", "10", "--threads", "1024"],
            0,
        ),
        (&["query", "x.simidx", "0", "--threads", "1025"], 2),
        (
            &["compare", "docs.txt", "docs.txt", "--top", "4294967295"],
            0,
        ),
        (
            &[
                "build",
                "a.hex",
                "-o",
                "y",
                "--tables",
                "99999999999999999999",
            ],
            2,
        ),
        (&["build", "a.hex", "-o", "y", "--memory", "16383PiB"], 0),
    ] {
        let ended = ends(&sandbox, args);
        assert_eq!(ended, Some(code), "{args:?}");
    }
}
