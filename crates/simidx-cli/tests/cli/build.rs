//! The options of `simidx build` for large inputs: memory, temporary files, progress, the report.

use crate::support::{Sandbox, words};

#[test]
fn sizes_of_memory_are_checked() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1f\n");
    for (size, message) in [
        (
            "63MiB",
            "needs at least 64 MiB of memory, but the limit leaves 63 MiB; raise --memory\n",
        ),
        ("x", "invalid value 'x' for '--memory <SIZE>': "),
    ] {
        let ran = sandbox.run(&["build", "a.hex", "-o", "x", "--memory", size]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    let report = sandbox
        .run(&["build", "a.hex", "-o", "x", "--memory", "64MiB", "--json"])
        .done();
    assert_eq!(report.json()["memory_limit_bytes"], 64 << 20);
}

#[test]
fn every_stage_tells_how_far_it_is_and_how_long_it_took() {
    let sandbox = Sandbox::new();
    sandbox.write("in.le", words(5_000_000));
    let build = [
        "build", "in.le", "-o", "x", "--tables", "2", "--codec", "auto", "--ids", "number",
    ];
    let limited = ["--memory", "64MiB", "--json", "--progress", "always"];
    let ran = sandbox.run(&[&build[..], &limited].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let widest = ran.stderr.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 80), "{}", ran.stderr);
    for stage in [
        "reading",
        "merging the records",
        "sorting table 1",
        "choosing a code for table 0",
        "encoding table 0",
        "encoding table 1",
        "writing the ids",
    ] {
        let lines: Vec<&str> = ran
            .stderr
            .lines()
            .filter(|line| line.contains(stage))
            .collect();
        assert!(!lines.is_empty(), "no word of {stage}: {}", ran.stderr);
        if stage != "reading" {
            assert!(
                lines.iter().all(|line| line.contains("of 5,000,000")),
                "{lines:?}"
            );
            assert!(
                lines.iter().all(|line| line.contains(" left)")),
                "{lines:?}"
            );
        }
    }
    let report = ran.json();
    let stages = report["stage_seconds"].as_object().unwrap();
    let named: Vec<&str> = stages.keys().map(String::as_str).collect();
    let all = [
        "choose_code",
        "encode",
        "ids",
        "merge",
        "read",
        "sort",
        "write",
    ];
    assert_eq!(named, all);
    let sum: f64 = stages
        .values()
        .map(|seconds| seconds.as_f64().unwrap())
        .sum();
    let whole = report["seconds"].as_f64().unwrap();
    assert!(sum <= whole && sum > 0.9 * whole, "{sum} of {whole} s");
    for stage in ["read", "sort", "merge", "choose_code", "encode", "ids"] {
        assert!(stages[stage].as_f64().unwrap() > 0.0, "{stage}");
    }
}

#[test]
fn temporary_files_go_where_they_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1f\n");
    sandbox.write("file", "");
    for (folder, message) in [
        ("nowhere", "No such file or directory (os error 2)"),
        ("file", "Not a directory (os error 20)"),
    ] {
        let ran = sandbox.run(&["build", "a.hex", "-o", "x", "--temp-dir", folder]);
        let flag = format!("invalid value '{folder}' for '--temp-dir <DIR>'");
        ran.refused(&format!("{flag}: {message}; see --help"));
    }
    assert_eq!(sandbox.names(), ["a.hex", "file"]);
}
