//! Ids of queries, limits, threads, and answers that arrive while more queries follow.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use simidx::Fingerprint;

use crate::support::{Ran, Sandbox, gzip, hex, sample};

/// Returns documents with ids, some of them near each other.
fn documents() -> String {
    let mut lines = String::new();
    for i in 0..300 {
        let text = format!(
            "the quick brown fox number {} jumps over the lazy dog",
            i % 40
        );
        writeln!(lines, r#"{{"id":"doc\t{i}","text":"{text}"}}"#).unwrap();
    }
    lines
}

/// Returns a sandbox with `x.simidx` of fingerprints without ids, `y.simidx` of documents with ids, and the documents.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(400))), &["--ids", "none"]);
    sandbox.write("docs.jsonl", documents());
    sandbox
        .run(&["build", "docs.jsonl", "-o", "y.simidx"])
        .done();
    sandbox
}

/// Returns queries with ids, every second of which is in the index.
fn queries() -> String {
    let mut lines = String::new();
    for (i, value) in sample(400).iter().step_by(7).enumerate() {
        writeln!(
            lines,
            "{:016x}\tq\\t{i}",
            value ^ (i as u64 % 2) << 40 << (i % 5)
        )
        .unwrap();
    }
    lines
}

#[test]
fn the_id_of_a_query_is_a_column_on_request() {
    let sandbox = sandbox();
    sandbox.write("q.tsv", queries());
    let plain = sandbox.pipe(&["query", "x.simidx"], queries().as_bytes());
    let named = sandbox.pipe(&["query", "x.simidx", "--query-ids"], queries().as_bytes());
    assert_eq!((plain.code, named.code), (Some(0), Some(0)));
    // If the index has no ids, the fourth column is empty.
    let cut: Vec<String> = named
        .lines()
        .iter()
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns.len(), 5, "{line}");
            assert!(
                columns[3].is_empty() && columns[4].starts_with(r"q\t"),
                "{line}"
            );
            let known = format!("{}\t{}\n", columns[0], columns[4]);
            assert!(queries().contains(&known), "{line}");
            columns[..3].join("\t")
        })
        .collect();
    assert_eq!(cut, plain.lines());
    let joined = sandbox
        .run(&["join", "x.simidx", "q.tsv", "--query-ids"])
        .done();
    assert_eq!(joined.text(), named.text());

    let documents = [
        "query",
        "y.simidx",
        "--documents",
        "docs.jsonl",
        "--query-ids",
    ];
    let ran = sandbox.run(&documents).done();
    for line in ran.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(columns.len(), 5, "{line}");
    }
    // Each document finds itself.
    for i in 0..300 {
        let own = format!("\t0\tdoc\\t{i}\tdoc\\t{i}\n");
        assert!(ran.text().contains(&own), "{i}");
    }
    let joined = sandbox
        .run(&["join", "y.simidx", "docs.jsonl", "--query-ids"])
        .done();
    assert_eq!(joined.text(), ran.text());
    // A query without an id: the column exists, and is empty.
    let word = sample(400)[0].to_hex();
    let ran = sandbox
        .run(&["query", "x.simidx", &word, "--query-ids"])
        .done();
    assert!(
        ran.lines().iter().all(|line| line.ends_with("\t\t")),
        "{ran:?}"
    );
}

#[test]
fn json_names_who_asked() {
    let sandbox = sandbox();
    sandbox.write("q.tsv", queries());
    let asked = sandbox.pipe(&["query", "x.simidx", "--json"], queries().as_bytes());
    let joined = sandbox.run(&["join", "x.simidx", "q.tsv", "--json"]).done();
    assert_eq!(asked.text(), joined.text());
    for (line, object) in queries().lines().zip(asked.json_lines()) {
        let (query, id) = line.split_once('\t').unwrap();
        assert_eq!(object["query"], query);
        assert_eq!(object["id"], id.replace(r"\t", "\t"));
    }
    for args in [
        &["query", "y.simidx", "--documents", "docs.jsonl", "--json"][..],
        &["join", "y.simidx", "docs.jsonl", "--json"],
    ] {
        let objects = sandbox.run(args).done().json_lines();
        assert_eq!(objects.len(), 300);
        for (i, object) in objects.iter().enumerate() {
            assert_eq!(object["id"], format!("doc\t{i}"));
        }
    }
    let object = sandbox
        .run(&["query", "x.simidx", "0", "--json"])
        .no()
        .json();
    assert_eq!(object.get("id"), None);
    let object = sandbox.run(&["query", "y.simidx", "--id", "doc\t7", "--json"]);
    assert_eq!(object.done().json()["id"], "doc\t7");
}

#[test]
fn a_limit_keeps_the_first_matches() {
    let sandbox = sandbox();
    sandbox.write("q.tsv", queries());
    for distance in ["3", "20", "64"] {
        for limit in [1, 2, 5, 1_000_000] {
            let limit = limit.to_string();
            let limited = |args: &[&str]| {
                let all = sandbox.run(args);
                let some = sandbox.run(&[args, &["--limit", &limit]].concat());
                assert_eq!(all.code, some.code);
                let limit: usize = limit.parse().unwrap();
                for (all, some) in all.json_lines().iter().zip(some.json_lines()) {
                    let matches = all["matches"].as_array().unwrap();
                    let first = &matches[..limit.min(matches.len())];
                    assert_eq!(some["matches"].as_array().unwrap(), first);
                    assert_eq!(some["query"], all["query"]);
                }
                all.json_lines().len()
            };
            let joined = limited(&["join", "x.simidx", "q.tsv", "-k", distance, "--json"]);
            assert_eq!(joined, queries().lines().count());
            let word = sample(400)[9].to_hex();
            limited(&[
                "query", "x.simidx", "y.simidx", &word, "-k", distance, "--json",
            ]);
        }
    }
    for strategy in ["auto", "stream", "probe"] {
        let args = [
            "join",
            "x.simidx",
            "q.tsv",
            "-k",
            "30",
            "--limit",
            "2",
            "--query-ids",
        ];
        let expected = sandbox.run(&args).done();
        let ran = sandbox
            .run(&[&args[..], &["--strategy", strategy]].concat())
            .done();
        assert_eq!(ran.text(), expected.text(), "{strategy}");
        let stats = sandbox.run(&[&args[..], &["--strategy", strategy, "--stats"]].concat());
        let told = format!("simidx: {} queries by ", queries().lines().count());
        assert!(stats.stderr.starts_with(&told), "{}", stats.stderr);
    }
    let lines = |limit: &str| {
        let args = ["join", "x.simidx", "q.tsv", "-k", "64", "--limit", limit];
        sandbox.run(&args).done().lines().len()
    };
    assert_eq!(lines("1"), queries().lines().count());
    assert_eq!(lines("3"), 3 * queries().lines().count());

    let refused = |args: &[&str]| {
        sandbox
            .run(&[&["query", "x.simidx", "0"], args].concat())
            .refusal()
            .to_owned()
    };
    assert!(refused(&["--limit", "0"]).contains("not a whole number from 1 to"));
    assert!(refused(&["--limit", "1", "--nearest", "1"]).contains("cannot be used with"));
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let sandbox = sandbox();
    let all: Vec<u8> = hex(&sample(9000));
    sandbox.write("many.jsonl", documents().repeat(20));
    for style in [
        &[][..],
        &["--json"],
        &["--json", "--stats"],
        &["-k", "64", "--limit", "3"],
    ] {
        let query = |threads: &str| {
            let args = [&["query", "x.simidx", "--threads", threads], style].concat();
            sandbox.pipe(&args, &all)
        };
        let one = query("1");
        assert_eq!(one.code, Some(0), "{one:?}");
        for threads in ["2", "7", "0"] {
            assert!(query(threads).stdout == one.stdout, "{style:?} {threads}");
        }
        let documents = |threads: &str| {
            let documents = ["--documents", "many.jsonl", "--threads", threads];
            let args = [&["query", "y.simidx"], &documents[..], style].concat();
            sandbox.run(&args).done().stdout
        };
        assert!(documents("1") == documents("5"), "{style:?}");
    }
}

/// Returns fingerprints, and an index of them that is large enough to be opened on several threads.
fn large_index() -> (Vec<u64>, Sandbox) {
    let all = sample(200_000);
    let args = ["--ids", "none", "--tables", "8", "--block-size", "128"];
    let sandbox = Sandbox::with_index(("a.hex", &hex(&all)), &args);
    let info = sandbox.run(&["info", "--json", "x.simidx"]).json();
    let tables = info["tables"].as_array().unwrap().iter();
    let blocks = tables.map(|table| table["block_count"].as_u64().unwrap());
    assert!(
        blocks.sum::<u64>() > 1 << 16,
        "a smaller file proves nothing"
    );
    (all, sandbox)
}

#[test]
fn files_that_are_opened_on_many_threads_answer_whatever_asks() {
    let (all, sandbox) = large_index();
    let query = all[77].to_hex();
    let expected = sandbox.run(&["query", "x.simidx", &query]).done().stdout;
    for options in [
        &[][..],
        &["--threads", "1"],
        &["--threads", "3"],
        &["--no-mmap"],
    ] {
        let args = [&["query", "x.simidx"], options].concat();
        let piped = sandbox.pipe(&args, format!("{query}\n").as_bytes());
        assert_eq!(piped.done().stdout, expected, "{options:?}");
    }
}

#[test]
fn commands_without_the_option_of_threads_start_none() {
    let (_, sandbox) = large_index();
    let run = |args: &[&str]| {
        let mut command = sandbox.command(&[args, &["--progress", "never"]].concat());
        // No thread can have a stack of this size.
        command.env("RUST_MIN_STACK", (usize::MAX / 4 * 3).to_string());
        Ran::of(command.output().unwrap())
    };
    for args in [
        &["info", "x.simidx", "--no-mmap"][..],
        &["verify", "x.simidx", "--no-mmap"],
        &["dump", "x.simidx", "--no-mmap"],
        &["plan", "--count", "1000000"],
        &["compare", "--text", "one", "--text", "one"],
        &["completions", "bash"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{args:?}");
    }
    for command in ["query", "bench"] {
        let ran = run(&[command, "x.simidx", "--no-mmap"]);
        let refusal = ran.refusal();
        assert!(refusal.starts_with("cannot start the threads: "), "{ran:?}");
        assert!(refusal.ends_with("; use fewer by --threads"), "{ran:?}");
    }
}

#[test]
fn a_failure_comes_after_the_answers_before_it() {
    let sandbox = sandbox();
    let value = sample(400)[3].to_hex();
    let input = format!("{value}\n{value}\nxyz\n{value}\n");
    for threads in ["1", "4"] {
        let ran = sandbox.pipe(
            &["query", "x.simidx", "-k", "0", "--threads", threads],
            input.as_bytes(),
        );
        assert_eq!(ran.code, Some(2));
        let line = format!("{value}\t{value}\t0");
        assert_eq!(ran.lines(), [&line, &line]);
        assert_eq!(
            ran.stderr,
            "simidx: -:3: \"xyz\" is not a hexadecimal number\n"
        );
    }
}

#[test]
fn queries_may_be_many_arguments_lines_or_one_file() {
    let sandbox = sandbox();
    let values: Vec<String> = sample(400)[..200]
        .iter()
        .map(|value| value.to_hex())
        .collect();
    let words: Vec<&str> = values.iter().map(String::as_str).collect();
    let lines = words.join("\n") + "\n";
    for threads in ["1", "2", "3"] {
        let query = ["query", "x.simidx", "-k", "0", "--threads", threads];
        let by_words = sandbox.run(&[&query[..], &words].concat()).done();
        let by_lines = sandbox.pipe(&query, lines.as_bytes()).done();
        assert_eq!(by_words.lines().len(), 200);
        assert_eq!(by_words.stdout, by_lines.stdout);
    }
}

#[test]
fn answers_of_any_length_are_printed_in_order() {
    // After short answers, each is longer than the buffer of waiting answers, so some are searched again.
    let sandbox = Sandbox::new();
    let id = "x".repeat(8000);
    let records: String = (0..200).map(|i| format!("{i:x}\t{id}{i}\n")).collect();
    sandbox.write("a.tsv", records);
    sandbox.run(&["build", "a.tsv", "-o", "x.simidx"]).done();
    let far = "ffffffffffffff00\n".repeat(500);
    let queries: String = (0..12).map(|i| format!("{i:x}\n")).collect();
    let queries = format!("{far}{queries}{far}");
    sandbox.write("q.hex", &queries);
    for style in [&[][..], &["--json"]] {
        let query = ["query", "x.simidx", "-k", "8", "--threads", "3"];
        let asked = sandbox.pipe(&[&query, style].concat(), queries.as_bytes());
        let join = ["join", "x.simidx", "q.hex", "-k", "8"];
        let joined = sandbox.run(&[&join, style].concat()).done();
        assert!(asked.stdout == joined.stdout && asked.stdout.len() > 12 * 200 * 8000);
    }
}

/// A running program that answers line by line.
struct Coprocess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Coprocess {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout: ChildStdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Coprocess {
            child,
            stdin,
            lines,
        }
    }

    fn ask(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Returns the next line, which the program must print without further input.
    fn answer(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn end(mut self) {
        drop(self.stdin.take());
        assert_eq!(
            self.lines.recv_timeout(Duration::from_secs(60)),
            Err(RecvTimeoutError::Disconnected)
        );
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_coprocess_gets_its_answer_before_the_end_of_input() {
    let sandbox = sandbox();
    let value = sample(400)[5].to_hex();
    let mut lines = Coprocess::start(&sandbox, &["query", "x.simidx", "-k", "0"]);
    let mut objects = Coprocess::start(&sandbox, &["query", "x.simidx", "-k", "0", "--json"]);
    for _ in 0..3 {
        lines.ask(&format!("{value}\n"));
        assert_eq!(lines.answer(), format!("{value}\t{value}\t0"));
        objects.ask(&format!("{value}\n"));
        assert!(objects.answer().contains(&value));
    }
    // Several at once, then one again.
    lines.ask(&format!("{value}\n").repeat(5000));
    for _ in 0..5000 {
        lines.answer();
    }
    lines.ask(&format!("{value}\n"));
    lines.answer();
    lines.end();
    objects.end();
}

#[test]
fn documents_are_answered_as_they_come() {
    let sandbox = sandbox();
    let args = [
        "query",
        "y.simidx",
        "--documents",
        "-",
        "--input",
        "jsonl",
        "--json",
    ];
    let mut program = Coprocess::start(&sandbox, &args);
    for line in documents().lines().take(3) {
        program.ask(&format!("{line}\n"));
        let object: serde_json::Value = serde_json::from_str(&program.answer()).unwrap();
        assert_eq!(object["matches"][0]["distance"], 0);
    }
    program.end();
}

#[test]
fn compressed_queries_are_queries_too() {
    let sandbox = sandbox();
    let plain = sandbox.pipe(&["query", "x.simidx"], queries().as_bytes());
    let packed = sandbox.pipe(&["query", "x.simidx"], &gzip(queries().as_bytes()));
    assert_eq!(plain.text(), packed.text());
    sandbox.write("q.tsv.gz", gzip(queries().as_bytes()));
    let joined = sandbox.run(&["join", "x.simidx", "q.tsv.gz"]).done();
    assert_eq!(plain.text(), joined.text());
}

#[test]
fn the_format_of_queries_is_guessed_and_digits_are_hexadecimal() {
    let sandbox = Sandbox::with_index(("a.hex", b"10\n11\n"), &[]);
    for (name, bytes) in [
        ("q", &b"10\n"[..]),
        ("q.txt", b"10\n"),
        ("q.hex", b"10\n"),
        ("q.dec", b"16\n"),
        ("q.tsv", b"10\tid\n"),
        ("q.jsonl", b"{\"fingerprint\":\"10\"}\n"),
        ("q.le", &16u64.to_le_bytes()),
        ("prefixed", b"0x10\n"),
        ("big.prefixed", b"0X0000000000000010\n"),
    ] {
        sandbox.write(name, bytes);
        let joined = sandbox.run(&["join", "x.simidx", name, "-k", "0"]).done();
        assert_eq!(
            joined.lines(),
            ["0000000000000010\t0000000000000010\t0"],
            "{name}"
        );
        let bench = ["bench", "x.simidx", "--queries", name, "--json"];
        assert_eq!(sandbox.run(&bench).done().json()["queries"], 1, "{name}");
    }
    sandbox.write("empty", "");
    assert_eq!(sandbox.run(&["join", "x.simidx", "empty"]).no().text(), "");
    for word in ["10", "0x10", "0X10", "0x0000000000000010"] {
        let asked = sandbox.run(&["query", "x.simidx", word, "-k", "0"]).done();
        assert_eq!(asked.lines().len(), 1, "{word}");
    }
    for word in ["0x", "0x00000000000000010", "-1", "0x-1"] {
        let refused = sandbox.run(&["query", "x.simidx", word]);
        let message =
            format!("{word:?} is neither a hexadecimal number of at most 64 bits nor a file");
        refused.refused(&message);
    }
}
