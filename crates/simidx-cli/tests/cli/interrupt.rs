//! A run that a signal ends leaves no files.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;

/// Counts the files in a folder that belong to an unfinished output.
fn temporary_files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".tmp"))
        .count()
}

/// Starts a run that takes a while, and waits until it writes to a folder.
fn run_that_writes(folder: &Path, place: &Path, args: &[&str]) -> Child {
    wait_for_writing(
        Command::new(env!("CARGO_BIN_EXE_simidx")),
        folder,
        place,
        args,
    )
}

fn wait_for_writing(mut program: Command, folder: &Path, place: &Path, args: &[&str]) -> Child {
    let mut run = program
        .current_dir(folder)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while temporary_files(place) == 0 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the run does not write"
        );
        assert!(run.try_wait().unwrap().is_none(), "the run was too quick");
        std::thread::sleep(Duration::from_millis(5));
    }
    run
}

/// `ulimit -f`: the system would end the process without a word.
#[test]
fn a_limit_of_files_is_an_error_like_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<u8> = (0..10_000u64).flat_map(u64::to_le_bytes).collect();
    std::fs::write(folder.path().join("in.le"), words).unwrap();
    let build = "ulimit -f 4; exec \"$0\" build in.le -q -o out.simidx";
    let mut shell = Command::new("sh");
    shell.args(["-c", build, env!("CARGO_BIN_EXE_simidx")]);
    let ran = shell.current_dir(folder.path()).output().unwrap();
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let message = String::from_utf8(ran.stderr).unwrap();
    assert!(message.contains("out.simidx: File too large"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert_eq!(temporary_files(folder.path()), 0);
}

#[test]
fn signals_that_end_a_build_take_its_temporary_file_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = SmallRng::seed_from_u64(1);
    let words: Vec<u8> = (0..1_000_000u64)
        .flat_map(|_| rng.random::<u64>().to_le_bytes())
        .collect();
    std::fs::write(folder.path().join("in.le"), words).unwrap();
    // A shell without job control starts commands in the background with INT and QUIT ignored, and so would the build.
    let acts = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGQUIT] {
        register_conditional_default(signal, Arc::clone(&acts)).unwrap();
    }
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT", "-USR1", "-USR2", "-XCPU"] {
        let args = ["build", "in.le", "--tables", "35", "-o", "out.simidx"];
        let args = [&args[..], &["--threads", "1"]].concat();
        let mut build = run_that_writes(folder.path(), folder.path(), &args);
        let kill = Command::new("kill")
            .args([signal, &build.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        assert!(!build.wait().unwrap().success(), "{signal}");
        assert_eq!(temporary_files(folder.path()), 0, "{signal}");
        assert!(!folder.path().join("out.simidx").exists(), "{signal}");
    }
}

#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<u8> = (0..500_000u64)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    std::fs::write(folder.path().join("in.le"), words).unwrap();
    // As nohup does it.
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' HUP USR1; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_simidx"),
    ]);
    let args = ["build", "in.le", "--tables", "35", "-o", "out.simidx"];
    let mut build = wait_for_writing(shell, folder.path(), folder.path(), &args);
    for signal in ["-HUP", "-USR1"] {
        let mut kill = Command::new("kill");
        kill.args([signal, &build.id().to_string()]);
        assert!(kill.status().unwrap().success());
    }
    assert!(build.wait().unwrap().success());
    assert!(folder.path().join("out.simidx").exists());
}

#[test]
fn a_signal_takes_a_folder_of_unfinished_outputs_with_it() {
    // Many files, so that the program starts new ones while the folder is being removed.
    const FILES: usize = 1500;
    let folder = tempfile::tempdir().unwrap();
    let mut rng = SmallRng::seed_from_u64(1);
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for number in 0..FILES {
        let lines: String = (0..20)
            .map(|_| format!("{:016x}\n", rng.random::<u64>()))
            .collect();
        std::fs::write(folder.path().join(format!("in/{number}.hex")), lines).unwrap();
    }
    std::fs::create_dir(folder.path().join("old")).unwrap();
    for signal in ["-INT", "-TERM", "-HUP"] {
        for (out, place) in [("new", folder.path()), ("old", &folder.path().join("old"))] {
            let args = ["dedup", "in/*.hex", "--output-dir", out, "-k", "0"];
            let mut dedup = run_that_writes(folder.path(), place, &args);
            // Some files exist, but most do not.
            std::thread::sleep(Duration::from_millis(20));
            let kill = Command::new("kill")
                .args([signal, &dedup.id().to_string()])
                .status()
                .unwrap();
            assert!(kill.success());
            assert!(!dedup.wait().unwrap().success(), "{signal} {out}");
            assert_eq!(temporary_files(place), 0, "{signal} {out}");
            assert!(!folder.path().join("new").exists(), "{signal}");
            let old = std::fs::read_dir(folder.path().join("old")).unwrap();
            assert_eq!(old.count(), 0, "{signal} {out}");
        }
    }
}
