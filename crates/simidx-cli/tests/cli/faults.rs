//! Faults during a build: a full disk, inputs that vanish or cannot be read, a killed process. In any case, a file with
//! the final name is complete, the message is clear, and a second run succeeds.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{PROGRAM, Sandbox, words};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use simidx_testkit::thorough;

/// Runs a build with a small in-memory file system mounted as `small`; `None` if this process is not permitted to
/// mount.
fn build_on_small_disk(sandbox: &Sandbox, args: &[&str]) -> Option<crate::support::Ran> {
    std::fs::create_dir_all(sandbox.path("small")).unwrap();
    let own_mounts = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        let script = format!("mount -t tmpfs -o size=4m none small && {script}");
        command
            .args([&script, PROGRAM])
            .current_dir(sandbox.path("."));
        command
    };
    let allowed = own_mounts("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        simidx_testkit::report("skipped full disks: this process may not mount a file system");
        return None;
    }
    // The remaining files on the small disk are printed after the messages.
    let mut build = own_mounts(r#""$0" "$@"; code=$?; ls -A small >&2; exit $code"#);
    Some(crate::support::Ran::of(build.args(args).output().unwrap()))
}

#[test]
fn a_full_disk_of_the_output_is_an_error_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("in.le", words(1_000_000));
    let args = ["build", "in.le", "-o", "small/x.simidx"];
    if let Some(ran) = build_on_small_disk(&sandbox, &args) {
        let message = "simidx: small/x.simidx: No space left on device (os error 28)\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), message));
    }
}

#[test]
fn a_full_disk_of_the_temporary_files_is_an_error_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "in.hex",
        words(4_000_000)
            .chunks(8)
            .fold(String::new(), |mut text, word| {
                use std::fmt::Write;
                let word = u64::from_le_bytes(word.try_into().unwrap());
                writeln!(text, "{word:016x}").unwrap();
                text
            }),
    );
    let build = ["build", "in.hex", "-o", "x.simidx", "--memory", "64MiB"];
    let args = [&build[..], &["--temp-dir", "small"]].concat();
    if let Some(ran) = build_on_small_disk(&sandbox, &args) {
        let full = "simidx: temporary file in small: No space left on device (os error 28)\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), full));
    }
    assert_eq!(sandbox.names(), ["in.hex", "small"]);
    sandbox.run(&build).done();
    sandbox.run(&["verify", "x.simidx"]).done();
}

#[test]
fn a_file_that_may_not_grow_is_an_error_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("in.le", words(200_000));
    // The unit is 512 bytes, so this is half a megabyte. The signal at the limit is ignored, so that writing fails.
    let script = r#"trap '' XFSZ; ulimit -f 1024; "$0" "$@""#;
    let ran = sandbox.shell(script, &["build", "in.le", "-o", "x.simidx"]);
    let message = "simidx: x.simidx: File too large (os error 27)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), message));
    assert_eq!(sandbox.names(), ["in.le"]);
}

#[test]
fn an_input_that_vanishes_half_way_is_an_error_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("second.hex", "1f\n");
    let fifo = Command::new("mkfifo").arg(sandbox.path("first")).status();
    assert!(fifo.unwrap().success());
    let args = [
        "build",
        "first",
        "second.hex",
        "--input",
        "hex",
        "-o",
        "x.simidx",
    ];
    let build = sandbox
        .command(&args)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = std::fs::File::create(sandbox.path("first")).unwrap();
    first.write_all(b"2f\n").unwrap();
    std::fs::remove_file(sandbox.path("second.hex")).unwrap();
    drop(first);
    let ran = crate::support::Ran::of(build.wait_with_output().unwrap());
    let message = "simidx: second.hex: No such file or directory (os error 2)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), message));
    assert_eq!(sandbox.names(), ["first"]);
}

#[test]
fn an_input_that_cannot_be_read_is_an_error_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    // A process cannot read the start of its own address space.
    let ran = sandbox.run(&["build", "/proc/self/mem", "--input", "le", "-o", "x.simidx"]);
    let message = "simidx: /proc/self/mem: Input/output error (os error 5)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), message));
    assert!(sandbox.names().is_empty());
}

#[test]
fn a_temporary_folder_that_cannot_be_used_is_an_error_before_anything_is_read() {
    let sandbox = Sandbox::new();
    let args = [
        "build",
        "missing.hex",
        "-o",
        "x.simidx",
        "--temp-dir",
        "nowhere",
    ];
    let message = "invalid value 'nowhere' for '--temp-dir <DIR>': No such file or directory (os error 2); see --help";
    sandbox.run(&args).refused(message);
}

#[test]
fn a_build_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    const ROUNDS: u32 = thorough(30, 12);
    let sandbox = Sandbox::new();
    sandbox.write("in.le", words(4_000_000));
    sandbox.write("old.hex", "1f\n");
    std::fs::create_dir(sandbox.path("temporary")).unwrap();
    let args = [
        "build",
        "in.le",
        "-o",
        "x.simidx",
        "--force",
        "--memory",
        "64MiB",
        "--temp-dir",
        "temporary",
    ];
    let started = Instant::now();
    sandbox.run(&args).done();
    let (whole, new) = (started.elapsed(), sandbox.read("x.simidx"));
    sandbox
        .run(&["build", "old.hex", "-o", "old.simidx"])
        .done();
    let old = sandbox.read("old.simidx");
    let (mut rng, mut kept, mut absent) = (SmallRng::seed_from_u64(9), 0, 0);
    for round in 0..ROUNDS {
        match round % 2 {
            0 => sandbox.write("x.simidx", &old),
            _ => std::fs::remove_file(sandbox.path("x.simidx")).unwrap_or(()),
        }
        let mut build = sandbox
            .command(&args)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(rng.random_range(Duration::ZERO..whole));
        build.kill().unwrap();
        build.wait().unwrap();
        match std::fs::read(sandbox.path("x.simidx")) {
            Ok(found) if found == new => {}
            Ok(found) => {
                assert!(found == old && round % 2 == 0, "round {round}");
                kept += 1;
            }
            Err(_) => {
                assert!(round % 2 == 1, "round {round} lost the old file");
                absent += 1;
            }
        }
        remove_leftovers(&sandbox);
    }
    assert!(kept + absent > ROUNDS / 2, "{kept} kept, {absent} absent");
    sandbox.run(&args).done();
    assert!(sandbox.read("x.simidx") == new);
}

/// Removes the files that killed builds have left: at most one each, with a name that identifies it, and no index.
fn remove_leftovers(sandbox: &Sandbox) {
    assert_eq!(sandbox.path("temporary").read_dir().unwrap().count(), 0);
    let expected = ["in.le", "old.hex", "old.simidx", "temporary", "x.simidx"];
    let leftovers: Vec<String> = sandbox
        .names()
        .into_iter()
        .filter(|name| !expected.contains(&name.as_str()))
        .collect();
    assert!(leftovers.len() <= 1, "{leftovers:?}");
    for name in leftovers {
        assert!(
            name.starts_with(".simidx-") && name.ends_with(".tmp"),
            "{name}"
        );
        let complete = sandbox.run(&["verify", &name]).code == Some(0);
        let bytes = sandbox.read(&name);
        // Before it is renamed, a file may be complete; but an incomplete file must never look complete.
        assert_eq!(complete, bytes.ends_with(b"XDIS"), "{name}");
        std::fs::remove_file(sandbox.path(&name)).unwrap();
    }
}
