//! Mapped files: the effect of truncation, and commands without mapping.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, Sandbox, words};

/// The commands that open indexes, with arguments that make each of them read one.
const INDEX_COMMANDS: [&[&str]; 11] = [
    &["query", "x.simidx", "000000000000001f"],
    &["join", "x.simidx", "queries.hex"],
    &["pairs", "x.simidx"],
    &["clusters", "x.simidx"],
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
        // These reports contain times.
        if !["bench", "merge", "dedup"].contains(&args[0]) {
            assert_eq!(mapped.stdout, read.stdout, "{args:?}");
        }
        let help = sandbox.run(&[args[0], "--help"]);
        assert!(help.text().contains("--no-mmap"), "{args:?}");
    }
}

#[cfg(target_env = "gnu")]
#[test]
fn an_index_that_is_shortened_while_it_is_mapped_is_an_error_in_words() {
    let sandbox = Sandbox::new();
    let fingerprints = words(100_000);
    sandbox.write("in.le", &fingerprints);
    sandbox.write("queries.le", &fingerprints[..8 * 50_000]);
    sandbox.run(&["build", "in.le", "-o", "x.simidx"]).done();
    let queries = File::open(sandbox.path("queries.le")).unwrap();
    let mut command = sandbox.command(&["query", "x.simidx", "--input", "le"]);
    command.stdin(queries).stdout(Stdio::piped());
    let mut query = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(query.stdout.take().unwrap());
    let mut text = String::new();
    answers.read_line(&mut text).unwrap();
    // The run is far from done, because the answers exceed the pipe.
    shorten(&sandbox, "x.simidx");
    answers.read_to_string(&mut text).unwrap();
    assert!(text.lines().count() < 50_000, "it went on to the end");
    let ran = Ran::of(query.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), LOST_PAGES));
}

/// The message of the program if a mapped page is missing.
#[cfg(target_env = "gnu")]
const LOST_PAGES: &str = "simidx: a mapped file could not be read: it was truncated, or its disk failed; replace files by renaming, or use --no-mmap\n";

/// Truncates a file to its first page.
#[cfg(target_env = "gnu")]
fn shorten(sandbox: &Sandbox, name: &str) {
    let file = File::options().write(true).open(sandbox.path(name));
    file.unwrap().set_len(4096).unwrap();
}

/// Opens a named pipe for writing as soon as the program has opened it for reading.
#[cfg(target_env = "gnu")]
fn writer_of(sandbox: &Sandbox, pipe: &str, child: &mut Child) -> File {
    loop {
        let mut options = File::options();
        options.write(true).custom_flags(libc::O_NONBLOCK);
        match options.open(sandbox.path(pipe)) {
            Ok(writer) => return writer,
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENXIO), "{error}"),
        }
        assert!(child.try_wait().unwrap().is_none(), "it never read {pipe}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(target_env = "gnu")]
#[test]
fn lost_pages_that_many_threads_meet_are_told_once_and_leave_no_output() {
    let sandbox = Sandbox::new();
    sandbox.write("in.le", words(300_000));
    sandbox.run(&["build", "in.le", "-o", "good"]).done();
    let mkfifo = Command::new("mkfifo").arg(sandbox.path("pipe")).status();
    assert!(mkfifo.unwrap().success());
    let join = ["join", "x", "pipe", "--strategy", "stream", "--threads"];
    let merge = ["merge", "x", "-o", "y", "--exclude", "pipe", "--threads"];
    for command in [&join[..], &merge] {
        for threads in ["1", "8", "16"] {
            fs::copy(sandbox.path("good"), sandbox.path("x")).unwrap();
            let mut command = sandbox.command(&[command, &[threads]].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            // The program opens the index before the other files.
            let mut pipe = writer_of(&sandbox, "pipe", &mut child);
            shorten(&sandbox, "x");
            writeln!(pipe, "{:016x}", 1).unwrap();
            drop(pipe);
            let ran = Ran::of(child.wait_with_output().unwrap());
            assert_eq!(
                (ran.code, ran.text(), &*ran.stderr),
                (Some(2), "", LOST_PAGES)
            );
            assert_eq!(sandbox.names(), ["good", "in.le", "pipe", "x"]);
        }
    }
}

#[test]
fn a_file_that_grows_before_it_is_checked_hides_no_other_verdict() {
    let sandbox = Sandbox::new();
    sandbox.write("in.hex", "0000000000000001\n");
    // The name is so long that a few results fill the pipe: the program has to wait in the middle.
    let folder = ["f".repeat(250), "g".repeat(250), "h".repeat(250)].join("/");
    fs::create_dir_all(sandbox.path(&folder)).unwrap();
    let name = format!("{folder}/x.simidx");
    sandbox.run(&["build", "in.hex", "-o", &name]).done();
    for copy in ["grown", "last"] {
        fs::copy(sandbox.path(&name), sandbox.path(copy)).unwrap();
    }
    let mut args = vec!["verify"];
    args.extend([&*name; 150]);
    args.extend(["grown", "grown", "last"]);
    let mut command = sandbox.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut verify = command.spawn().unwrap();
    let mut verdicts = BufReader::new(verify.stdout.take().unwrap());
    let mut text = String::new();
    verdicts.read_line(&mut text).unwrap();
    let mut grown = File::options()
        .append(true)
        .open(sandbox.path("grown"))
        .unwrap();
    grown.write_all(b"more").unwrap();
    verdicts.read_to_string(&mut text).unwrap();
    let (first, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(first.lines().count(), 150);
    assert!(
        first
            .lines()
            .all(|line| line.contains("/x.simidx: sound (1 "))
    );
    assert!(last.starts_with("last: sound (1 "), "{last}");
    let ran = Ran::of(verify.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2));
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter()
            .all(|line| line.starts_with("simidx: grown: ") && line.contains(" bytes now"))
    );
}
