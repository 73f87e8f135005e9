//! The figures: a table to read, and JSON lines for programs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Workload;
use crate::common::median;
use crate::measure::{Latency, clock_ns};
use crate::opening::Opening;

/// The results of one contender.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) tables: usize,
    /// The file, or for what has none the memory that it holds.
    pub(crate) index_len: usize,
    pub(crate) memory_len: usize,
    pub(crate) build_peak_len: usize,
    pub(crate) build_seconds: f64,
    /// The planner's prediction: bytes a fingerprint and microseconds a query.
    pub(crate) predicted: Option<(f64, f64)>,
    pub(crate) rounds: Vec<Round>,
}

/// One round of one contender, with ratios to others in the same round.
pub(crate) struct Round {
    pub(crate) latency: Latency,
    pub(crate) times_scan: f64,
    pub(crate) times_mih: Option<f64>,
}

impl Row {
    fn median(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(figure))
    }

    fn p50(&self) -> f64 {
        self.median(|round| round.latency.p50)
    }

    /// How many times as fast as `mih-rs`: in each round, or if they shared none, by their medians.
    fn times_mih(&self, mih: Option<&Row>) -> Option<f64> {
        let shared: Option<Vec<f64>> = self.rounds.iter().map(|round| round.times_mih).collect();
        shared.map(median).or_else(|| Some(mih?.p50() / self.p50()))
    }
}

/// Collects the JSON lines and prints the tables.
pub(crate) struct Report {
    workload: Value,
    fingerprint_count: f64,
    lines: Vec<Value>,
}

impl Report {
    pub(crate) fn new(workload: &Workload) -> Self {
        let settings = workload.settings;
        let count = workload.fingerprints.len();
        println!(
            "{} data, {count} fingerprints, distance {}, {} rounds; reading the clock takes {:.0} ns of each latency\n",
            settings.data,
            settings.distance,
            settings.rounds,
            clock_ns()
        );
        Report {
            workload: json!({
                "data": settings.data.to_string(),
                "machine": processor(),
                "fingerprint_count": count,
                "distance": settings.distance,
                "rounds": settings.rounds,
            }),
            fingerprint_count: count as f64,
            lines: Vec::new(),
        }
    }

    /// Prints a line for each contender.
    pub(crate) fn queries(&mut self, rows: Vec<Row>) {
        let rows = without_repeated_scans(rows);
        let mih = rows.iter().find(|row| row.name.starts_with("mih-rs/auto"));
        println!(
            "{:<26} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>9} {:>8}",
            "",
            "B/fp",
            "mem B/fp",
            "peak",
            "build s",
            "p50 us",
            "p99 us",
            "mean us",
            "x scan",
            "x mih-rs",
            "plan B/fp",
            "plan us"
        );
        for row in &rows {
            let line = self.query_line(row, row.times_mih(mih));
            let figure = |key: &str| line[key].as_f64().unwrap_or(f64::NAN);
            println!(
                "{:<26} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>10.2} {:>10.2} {:>10.2} {:>8.1} {:>8.2} {:>9.2} {:>8.2}",
                row.name,
                figure("bytes_per_fingerprint"),
                figure("memory_bytes_per_fingerprint"),
                figure("build_peak_bytes_per_fingerprint"),
                figure("build_seconds"),
                figure("p50_us"),
                figure("p99_us"),
                figure("mean_us"),
                figure("times_scan"),
                figure("times_mih"),
                figure("planned_bytes_per_fingerprint"),
                figure("planned_us"),
            );
            self.add(line);
        }
    }

    fn query_line(&self, row: &Row, times_mih: Option<f64>) -> Value {
        let each = |len: usize| len as f64 / self.fingerprint_count;
        json!({
            "kind": "query",
            "name": row.name,
            "family": row.family,
            "tables": row.tables,
            "bytes_per_fingerprint": each(row.index_len),
            "memory_bytes_per_fingerprint": each(row.memory_len),
            "build_peak_bytes_per_fingerprint": each(row.build_peak_len),
            "build_seconds": row.build_seconds,
            "planned_bytes_per_fingerprint": row.predicted.map(|planned| planned.0),
            "planned_us": row.predicted.map(|planned| planned.1),
            "queries": row.rounds[0].latency.queries,
            "p50_us": row.p50(),
            "p99_us": row.median(|round| round.latency.p99),
            "mean_us": row.median(|round| round.latency.mean),
            "times_scan": row.median(|round| round.times_scan),
            "times_mih": times_mih,
            "p50_us_of_rounds": row.rounds.iter().map(|r| r.latency.p50).collect::<Vec<f64>>(),
        })
    }

    /// Prints how long opening takes, and cold queries.
    pub(crate) fn opening(&mut self, openings: &[Opening]) {
        for opening in openings {
            println!("\n{}: a file of {} bytes", opening.name, opening.file_len);
            let each = [
                (
                    "open",
                    opening.open_us,
                    opening.read_us,
                    "reading the cached file",
                ),
                (
                    "cold",
                    opening.cold_query_us,
                    opening.cold_read_us,
                    "a cold read of 4 KiB",
                ),
                (
                    "cold-open",
                    opening.cold_open_us,
                    opening.cold_read_us,
                    "a cold read of 4 KiB",
                ),
            ];
            for (kind, us, reference_us, reference) in each {
                let ratio = us / reference_us;
                println!(
                    "  {kind:<10} {us:>10.1} us, {ratio:.3} times {reference} ({reference_us:.1} us)"
                );
                self.add(json!({
                    "kind": kind,
                    "name": opening.name,
                    "file_bytes": opening.file_len,
                    "us": us,
                    "reference": reference,
                    "reference_us": reference_us,
                    "ratio": ratio,
                }));
            }
        }
    }

    fn add(&mut self, mut line: Value) {
        let workload = self.workload.as_object().into_iter().flatten();
        for (key, value) in workload {
            line[key] = value.clone();
        }
        self.lines.push(line);
    }

    /// Writes the JSON lines in place of those of an earlier run.
    pub(crate) fn write(&self, path: Option<&PathBuf>) {
        let Some(path) = path else { return };
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let folder = path.parent().unwrap_or(Path::new(""));
        let made = std::fs::create_dir_all(folder);
        let written = made.and_then(|()| std::fs::write(path, text));
        if let Err(error) = written {
            panic!("{}: {error}", path.display());
        }
        println!("\nwritten to {}", path.display());
    }
}

/// Removes repeated scans: the scan is measured on every shelf, and one line is enough.
fn without_repeated_scans(rows: Vec<Row>) -> Vec<Row> {
    let mut all: Vec<Row> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|earlier| earlier.name == row.name) {
            Some(earlier) => earlier.rounds.extend(row.rounds),
            None => all.push(row),
        }
    }
    all
}

/// The name of the processor.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(
        || std::env::consts::ARCH.into(),
        |(_, name)| name.trim().into(),
    )
}
