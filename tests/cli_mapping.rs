//! The program and mapped files: what happens when one becomes shorter, and that every command can do without.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_support;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use cli_support::{Sandbox, words};

/// The commands that open indexes, with what makes each of them read one.
const INDEX_COMMANDS: [&[&str]; 12] = [
    &["query", "x.simidx", "000000000000001f"],
    &["scan", "x.simidx", "queries.hex"],
    &["pairs", "x.simidx"],
    &["clusters", "x.simidx"],
    &["lint", "x.simidx"],
    &["info", "x.simidx"],
    &["verify", "x.simidx"],
    &["dump", "x.simidx"],
    &["bench", "x.simidx", "--count", "3"],
    &["merge", "x.simidx", "-o", "y.simidx", "--force"],
    &[
        "dedup",
        "documents.tsv",
        "--input",
        "tsv",
        "--against",
        "x.simidx",
        "-o",
        "kept.tsv",
        "--force",
    ],
    &["compare", "a.txt", "b.txt", "--index", "x.simidx"],
];

#[test]
fn every_command_that_opens_an_index_can_do_without_a_mapping() {
    let sandbox = Sandbox::new();
    sandbox.write("documents.tsv", "1\tone text\n2\tanother text\n");
    sandbox.write("a.txt", "a text");
    sandbox.write("b.txt", "a text");
    sandbox.write("queries.hex", "000000000000001f\n");
    let build = [
        "build",
        "documents.tsv",
        "--input",
        "lines",
        "-o",
        "x.simidx",
    ];
    sandbox.run(&build).done();
    for args in INDEX_COMMANDS {
        let mapped = sandbox.run(args);
        let read = sandbox.run(&[args, &["--no-mmap"]].concat());
        assert!(matches!(mapped.code, Some(0 | 1)), "{args:?}: {mapped:?}");
        assert_eq!(mapped.code, read.code, "{args:?}: {read:?}");
        // Reports tell the time.
        if !["bench", "merge", "dedup"].contains(&args[0]) {
            assert_eq!(mapped.stdout, read.stdout, "{args:?}");
        }
        let help = sandbox.run(&[args[0], "--help"]);
        assert!(help.text().contains("--no-mmap"), "{args:?}");
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn an_index_that_is_shortened_while_it_is_mapped_is_an_error_in_words() {
    let sandbox = Sandbox::new();
    let fingerprints = words(100_000);
    sandbox.write("in.le", &fingerprints);
    sandbox.write("queries.le", &fingerprints[..8 * 50_000]);
    sandbox.run(&["build", "in.le", "-o", "x.simidx"]).done();
    let queries = std::fs::File::open(sandbox.path("queries.le")).unwrap();
    let mut command = sandbox.command(&["query", "x.simidx", "--input", "le"]);
    command.stdin(queries).stdout(Stdio::piped());
    let mut query = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(query.stdout.take().unwrap());
    let mut text = String::new();
    answers.read_line(&mut text).unwrap();
    // Far from done: what the answers take passes what the pipe holds.
    let file = std::fs::File::options()
        .write(true)
        .open(sandbox.path("x.simidx"));
    file.unwrap().set_len(4096).unwrap();
    answers.read_to_string(&mut text).unwrap();
    assert!(text.lines().count() < 50_000, "it went on to the end");
    let ran = cli_support::Ran::of(query.wait_with_output().unwrap());
    let message = "simidx: a mapped file cannot be read: it became shorter, or its disk failed; replace files by renaming, or use --no-mmap\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), message));
}
