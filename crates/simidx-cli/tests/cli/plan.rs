//! `simidx plan`: the curve for people and for scripts.

use crate::support::{Ran, Sandbox, keys};
use serde_json::Value;

fn plan(args: &[&str]) -> Ran {
    Sandbox::new().run(&[&["plan"], args].concat())
}

fn json(args: &[&str]) -> Value {
    plan(&[args, &["--json"]].concat()).done().json()
}

/// Returns the numbers of tables of the indexes, in order.
fn tables(report: &Value) -> Vec<u64> {
    let indexes = report["indexes"].as_array().unwrap().iter();
    indexes
        .map(|index| index["table_count"].as_u64().unwrap())
        .collect()
}

/// Returns the number of tables of the recommended index.
fn choice(report: &Value) -> Option<u64> {
    let choice = report["choice"].as_u64()?;
    Some(tables(report)[choice as usize])
}

#[test]
fn json_has_the_request_the_indexes_and_the_choice() {
    let report = json(&["--count", "1e8", "--codec", "ef"]);
    assert_eq!(
        keys(&report),
        [
            "block_size",
            "choice",
            "count",
            "indexes",
            "max_distance",
            "medium",
            "memory",
            "width"
        ]
    );
    assert_eq!(report["count"], 100_000_000);
    assert_eq!(report["width"], 64);
    assert_eq!(report["max_distance"], 3);
    assert_eq!(report["memory"], Value::Null);
    assert_eq!(tables(&report), [1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35]);
    assert_eq!(choice(&report), Some(2));
    let halves = &report["indexes"][1];
    assert_eq!(
        keys(halves),
        [
            "bytes_per_fingerprint",
            "candidates_per_query",
            "codec",
            "dominated",
            "file_bytes",
            "fits_memory",
            "flips",
            "latency_us",
            "max_prefix_bits",
            "min_prefix_bits",
            "probes_per_query",
            "scan",
            "table_count"
        ]
    );
    assert_eq!(halves["flips"], 1);
    assert_eq!(halves["min_prefix_bits"], 32);
    assert_eq!(halves["scan"], false);
    let bytes = halves["file_bytes"].as_f64().unwrap();
    assert!((0.98e9..1.01e9).contains(&bytes), "{bytes}");
    let probes = halves["probes_per_query"].as_f64().unwrap();
    assert!((40.0..60.0).contains(&probes), "{probes}");
}

#[test]
fn people_get_a_line_for_each_design_and_codec() {
    let ran = plan(&["--count", "1e8"]).done();
    let lines = ran.lines();
    let title = "100000000 fingerprints of 64 bits, distance 3, memory, blocks of 512 bytes";
    assert_eq!(lines[0], title);
    let rows: Vec<&&str> = lines[3..].iter().take_while(|l| !l.is_empty()).collect();
    assert_eq!(rows.len(), 48);
    let chosen: Vec<_> = rows.iter().filter(|l| l.ends_with("<- choice")).collect();
    assert_eq!(chosen.len(), 1);
    assert!(chosen[0].starts_with("*      2 "), "{chosen:?}");
    let best = rows.iter().filter(|l| l.starts_with('*')).count();
    assert!((5..20).contains(&best), "{best}");
    assert!(lines.iter().all(|line| *line == line.trim_end()));
}

#[test]
fn counts_may_be_written_with_a_power_of_ten() {
    for (text, count) in [
        ("10000000", 10_000_000),
        ("1e7", 10_000_000),
        ("8.6e9", 8_600_000_000),
        ("0", 0),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(json(&["--count", text])["count"], count, "{text}");
    }
    for text in ["1.5", "-1", "1e20", "2e19", "nan", "inf", "many", ""] {
        let ran = plan(&[&format!("--count={text}")]);
        assert!(ran.refusal().contains("--count"), "{ran:?}");
    }
}

#[test]
fn a_memory_limit_bounds_the_choice() {
    let limited = |size| {
        let ran = plan(&[
            "--count",
            "1e8",
            "--codec",
            "ef",
            "--max-size",
            size,
            "--json",
        ]);
        let report = ran.json();
        assert_eq!(ran.code, Some(i32::from(choice(&report).is_none())));
        (choice(&report), report["memory"].as_u64())
    };
    assert_eq!(limited("2GB"), (Some(2), Some(2_000_000_000)));
    assert_eq!(limited("520MB"), (Some(1), Some(520_000_000)));
    assert_eq!(limited("0.5GiB"), (Some(1), Some(1 << 29)));
    assert_eq!(limited("400000000"), (None, Some(400_000_000)));
    // The former name of the flag.
    let text = plan(&["--count", "1e8", "--memory", "1MB"]);
    assert_eq!(text.code, Some(1));
    assert!(text.text().contains("too large"));
    let smallest = "simidx: no index fits in 976.6 KiB: the smallest takes ";
    assert!(text.stderr.starts_with(smallest), "{}", text.stderr);
    let ran = plan(&["--count", "1e8", "--max-size", "much"]);
    assert!(
        ran.refusal()
            .contains("not a size below 2^64 bytes, such as 64MiB")
    );
}

#[test]
fn every_width_distance_medium_and_codec_has_a_plan() {
    for width in ["32", "64", "128"] {
        for k in ["0", "1", "5", "12"] {
            for medium in ["memory", "ssd"] {
                let args = [
                    "--count", "1e6", "--width", width, "-k", k, "--medium", medium,
                ];
                let report = json(&args);
                assert!(choice(&report).is_some());
                assert_eq!(report["medium"], medium);
            }
        }
    }
    for codec in ["ef", "gap", "xor"] {
        let report = json(&["--count", "1e6", "--codec", codec, "--block-size", "4096"]);
        assert_eq!(report["block_size"], 4096);
        let indexes = report["indexes"].as_array().unwrap();
        assert!(indexes.iter().all(|index| index["codec"] == codec));
    }
}

#[test]
fn few_fingerprints_are_scanned() {
    let report = json(&["--count", "100", "--codec", "ef"]);
    assert_eq!(choice(&report), Some(1));
    assert_eq!(report["indexes"][0]["scan"], true);
    assert_eq!(report["indexes"][0]["candidates_per_query"], 100.0);
    let text = plan(&["--count", "100"]).done();
    assert!(text.text().contains("scan"));
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let message =
        "invalid value '13' for '--max-distance <K>': not a whole number from 0 to 12; see --help";
    plan(&["--count", "1", "-k", "13"]).refused(message);
    plan(&["--count", "1e10", "--width", "32"])
        .refused("there are no 10000000000 distinct fingerprints of 32 bits");
    plan(&["--count", "1", "--block-size", "1000"])
        .refused("a block size is a power of two from 128 to 8192, not 1000");
    for args in [
        &["--count", "1", "--codec", "zip"][..],
        &["--count", "1", "--medium", "tape"],
        &["--count", "1", "--width", "16"],
        &[],
    ] {
        let ran = plan(args);
        assert!(ran.refusal().ends_with("; see --help"), "{ran:?}");
    }
}
