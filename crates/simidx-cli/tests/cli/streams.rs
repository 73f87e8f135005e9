//! Standard output and error: the outputs of each command, and failures to write them.
#![cfg(target_os = "linux")]

use crate::support::{Ran, Sandbox, hex, sample};

/// Returns a sandbox with an index of documents and all other files for the commands below.
fn sandbox() -> Sandbox {
    let documents: String = (0..3000)
        .map(|i| format!("document {i} of {}\n", i % 9))
        .collect();
    let sandbox = Sandbox::with_index(("a.txt", documents.as_bytes()), &["--input", "lines"]);
    sandbox.write("a.hex", hex(&sample(5000)));
    sandbox
}

/// A run of each command that succeeds and prints something.
const RUNS: [&[&str]; 14] = [
    &["build", "a.hex", "-o", "out", "--force"],
    &["build", "a.hex", "-o", "out", "--force", "--json"],
    &["build", "--help"],
    &["--help"],
    &["--version"],
    &["query", "x.simidx", "-k", "64", "0"],
    &["query", "x.simidx", "-k", "64", "0", "--json"],
    &["info", "x.simidx"],
    &["info", "x.simidx", "--json"],
    &["verify", "x.simidx"],
    &["dump", "x.simidx"],
    &["dump", "x.simidx", "--json"],
    &["bench", "x.simidx", "--count", "10"],
    &["fingerprint", "a.txt", "--input", "lines"],
];

#[test]
fn a_reader_that_goes_away_is_a_quiet_success() {
    let sandbox = sandbox();
    for args in RUNS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(args);
        let child = command.stdout(writer).stderr(std::process::Stdio::piped());
        let ran = Ran::of(child.spawn().unwrap().wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(ran.stderr.is_empty(), "{args:?}: {ran:?}");
    }
}

#[test]
fn an_index_cut_off_is_no_success() {
    let sandbox = sandbox();
    for args in [
        &["build", "a.hex", "-o", "-"][..],
        &["build", "a.hex", "-o", "-", "--json"],
        &["merge", "x.simidx", "-o", "-"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(args);
        let child = command.stdout(writer).stderr(std::process::Stdio::piped());
        let ran = Ran::of(child.spawn().unwrap().wait_with_output().unwrap());
        ran.refused("standard output: Broken pipe (os error 32)");
        let ran = sandbox.shell("exec \"$0\" \"$@\" >/dev/full", args);
        ran.refused("standard output: No space left on device (os error 28)");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_long_answer() {
    let sandbox = sandbox();
    let script = "\"$0\" \"$@\" | head -n 1";
    let ran = sandbox.shell(script, &["dump", "x.simidx"]).done();
    assert_eq!(ran.lines().len(), 1);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let sandbox = sandbox();
    for args in RUNS {
        let ran = sandbox.shell("exec \"$0\" \"$@\" >/dev/full", args);
        let message = "standard output: No space left on device (os error 28)";
        ran.refused(message);
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&sample(5000)));
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let args = ["build", "a.hex", "-o", "out"];
    let message = "out: File too large (os error 27)";
    sandbox.shell(script, &args).refused(message);
    assert_eq!(sandbox.names(), ["a.hex"]);
    sandbox.write("out", "before");
    let args = ["build", "a.hex", "-o", "out", "--force"];
    sandbox.shell(script, &args).refused(message);
    assert_eq!(sandbox.read("out"), b"before");
    assert_eq!(sandbox.names(), ["a.hex", "out"]);
}

#[test]
fn a_standard_error_that_fails_changes_nothing() {
    let sandbox = sandbox();
    let script = "exec \"$0\" \"$@\" 2>/dev/full";
    let ran = sandbox.shell(script, &["info", "no"]);
    assert_eq!((ran.code, ran.text()), (Some(2), ""));
    sandbox.write("b.hex", "1f\nxyz\n");
    let args = ["build", "b.hex", "-o", "out", "--on-error", "skip"];
    let skipping = [&args[..], &["--progress", "always"]].concat();
    let ran = sandbox.shell(script, &skipping);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.text().contains("distinct fingerprints   1\n"),
        "{ran:?}"
    );
    let ran = sandbox.shell(script, &["query", "out", "1f", "--stats"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1));
}

#[test]
fn progress_is_drawn_on_stderr_when_asked_for() {
    let sandbox = sandbox();
    for args in [
        &["dump", "x.simidx"][..],
        &["verify", "x.simidx"],
        &["fingerprint", "a.txt", "--input", "lines"],
        &["build", "a.hex", "-o", "-"],
    ] {
        let run = |when: &str| sandbox.run(&[args, &["--progress", when]].concat());
        let (auto, never, always) = (run("auto"), run("never"), run("always"));
        assert_eq!(
            (auto.code, never.code, always.code),
            (Some(0), Some(0), Some(0))
        );
        assert!(auto.stdout == never.stdout && auto.stdout == always.stdout);
        assert!(!auto.stderr.contains("reading") && !never.stderr.contains("reading"));
        assert!(auto.stderr.is_empty() || args.ends_with(&["-"]), "{auto:?}");
    }
    let args = ["build", "a.hex", "-o", "out", "--progress", "always"];
    let ran = sandbox.run(&args);
    assert!(ran.stderr.contains("reading"), "{ran:?}");
    assert!(ran.text().starts_with("width "), "{ran:?}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let sandbox = Sandbox::new();
    let version = sandbox.run(&["--version"]).done();
    assert!(
        version.text().contains("file format version 1"),
        "{version:?}"
    );
    let help = sandbox.run(&["--help"]).done();
    for command in [
        "build",
        "query",
        "info",
        "verify",
        "dump",
        "bench",
        "plan",
        "fingerprint",
        "contamination",
    ] {
        let line = match command {
            "bench" => "\nAlso: bench (measure latency), ".to_owned(),
            _ => format!("\n  {command}  "),
        };
        assert!(help.text().contains(&line), "{command}: {help:?}");
        let own = sandbox.run(&[command, "--help"]).done();
        assert!(
            own.text().contains(&format!("Usage: simidx {command}")),
            "{own:?}"
        );
    }
}
