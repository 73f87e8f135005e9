//! The program keeps to its memory limit, as measured by the system.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::Path;
use std::process::Command;

use simidx_testkit::{SKEWS, le_bytes, skewed, thorough};

use crate::support::PROGRAM;

const COUNT: usize = 3_000_000;

const LIMIT: u64 = 64 << 20;

fn run(folder: &Path, args: &[&str]) -> serde_json::Value {
    let mut command = Command::new(PROGRAM);
    let output = command.current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn peak(folder: &Path, args: &[&str]) -> u64 {
    let build = [
        "build", "-o", "x.simidx", "--force", "--json", "--tables", "2", "--memory", "64MiB",
    ];
    let report = run(folder, &[&build[..], args].concat());
    assert_eq!(report["memory_limit_bytes"], LIMIT);
    assert!(
        report["stage_seconds"]["merge"].as_f64().unwrap() > 0.0,
        "nothing was spilled"
    );
    report["peak_memory_bytes"].as_u64().unwrap()
}

#[test]
fn resident_memory_keeps_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    for &skew in thorough(&SKEWS[..], &SKEWS[1..3]) {
        let values = skewed(skew, thorough(3, 2) * COUNT);
        std::fs::write(folder.path().join("in.le"), le_bytes(&values)).unwrap();
        for &ids in thorough(&["none", "number"][..], &["number"]) {
            let peak = peak(folder.path(), &["in.le", "--ids", ids]);
            assert!(
                peak <= LIMIT + LIMIT / 10,
                "{skew}, ids {ids}: {peak} bytes"
            );
        }
    }
}

#[test]
fn resident_memory_keeps_to_the_limit_with_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    let words = skewed("uniform", 6 * COUNT);
    std::fs::write(folder.path().join("in.le"), le_bytes(&words)).unwrap();
    let build = [
        "build",
        "in.le",
        "-o",
        "x.simidx",
        "--force",
        "--json",
        "--threads",
        "32",
    ];
    let refused = Command::new(PROGRAM)
        .current_dir(folder.path())
        .args(build)
        .args(["--memory", "111MiB"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    for &width in thorough(&["64", "128"][..], &["128"]) {
        let limited = ["--memory", "112MiB", "--width", width];
        let report = run(folder.path(), &[&build[..], &limited].concat());
        let (peak, limit) = (report["peak_memory_bytes"].as_u64().unwrap(), 112 << 20);
        assert!(peak <= limit + limit / 10, "{width} bits: {peak} bytes");
    }
}

#[test]
fn resident_memory_of_a_merge_keeps_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let count = thorough(2 * COUNT, COUNT / 2 * 3);
    let values = skewed("half equal", 2 * count);
    for (name, half) in ["a", "b"].into_iter().zip(values.chunks(count)) {
        std::fs::write(folder.path().join("in.le"), le_bytes(half)).unwrap();
        let out = format!("{name}.simidx");
        run(
            folder.path(),
            &[
                "build", "in.le", "-o", &out, "--tables", "2", "--ids", "number",
            ],
        );
    }
    let merge = [
        "merge", "a.simidx", "b.simidx", "-o", "x.simidx", "--memory", "64MiB", "--json",
    ];
    let report = run(folder.path(), &merge);
    let peak = report["peak_memory_bytes"].as_u64().unwrap();
    assert!(report["file_bytes"].as_u64().unwrap() > LIMIT);
    assert!(peak <= LIMIT + LIMIT / 10, "{peak} bytes");
    // Other tables are sorted, and so are the ids, which are the same in each input.
    let update = ["--newest-wins", "--tables", "4", "--force"];
    let report = run(folder.path(), &[&merge[..], &update].concat());
    assert_eq!(report["replaced_record_count"], count);
    let peak = report["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak <= LIMIT + LIMIT / 10, "{peak} bytes");
}

#[test]
fn resident_memory_keeps_to_the_limit_with_strings() {
    let folder = tempfile::tempdir().unwrap();
    for &skew in thorough(&["uniform", "half equal"][..], &["half equal"]) {
        let file = std::fs::File::create(folder.path().join("in.tsv")).unwrap();
        let mut file = std::io::BufWriter::new(file);
        for (i, value) in skewed(skew, COUNT / thorough(2, 3)).into_iter().enumerate() {
            writeln!(
                file,
                "{value:016x}\thttps://example.org/{:060}",
                i * 7919 % 1_000_003
            )
            .unwrap();
        }
        drop(file);
        let peak = peak(folder.path(), &["in.tsv"]);
        assert!(peak <= LIMIT + LIMIT / 10, "{skew}: {peak} bytes");
    }
}
