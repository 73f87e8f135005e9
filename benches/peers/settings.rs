//! The settings in the environment.

use std::path::PathBuf;

use crate::common;
use crate::common::datasets::Dataset;
use crate::common::environment::{list, output, variable};

/// The settings of a run; `benches/README.md` lists the variables.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) data: Dataset,
    pub(crate) count: usize,
    pub(crate) distance: u32,
    pub(crate) query_count: usize,
    pub(crate) rounds: usize,
    /// Longest time that a contender asks queries in a round, once to warm up and once measured.
    pub(crate) seconds: f64,
    pub(crate) block_sizes: Vec<u32>,
    /// Bytes that indexes may take at a time.
    pub(crate) memory_len: u64,
    /// Whether each contender is built, measured and dropped before the next is built.
    pub(crate) alone: bool,
    pub(crate) directory: PathBuf,
    output: Option<PathBuf>,
    only: Vec<String>,
}

impl Settings {
    pub(crate) fn from_environment() -> Self {
        let test = common::is_test();
        let default_block_size = simidx::BuildOptions::default().block_size;
        Settings {
            data: variable("DATA").unwrap_or(Dataset::Uniform),
            count: common::count(),
            distance: variable("DISTANCE").unwrap_or(3),
            query_count: if test { 200 } else { 10_000 },
            rounds: variable("ROUNDS")
                .unwrap_or(if test { 1 } else { 3 })
                .max(1),
            seconds: variable("SECONDS").unwrap_or(if test { 0.2 } else { 2.0 }),
            block_sizes: list("BLOCKS").unwrap_or_else(|| vec![default_block_size]),
            memory_len: variable("MEMORY")
                .map_or_else(|| default_memory(test), |gib: u64| gib << 30),
            alone: variable::<u8>("ALONE") == Some(1),
            directory: variable("DIRECTORY").unwrap_or(env!("CARGO_TARGET_TMPDIR").into()),
            output: output("peers.jsonl"),
            only: list("ONLY").unwrap_or_default(),
        }
    }

    /// Whether what has this name shall run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        // `t2` is not a part of `t20`.
        let name = format!("{name}/");
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|part| name.contains(&format!("{part}/")))
    }

    /// The file for the figures; none where the bench runs as a test.
    pub(crate) fn output(&self) -> Option<&PathBuf> {
        self.output.as_ref()
    }
}

/// Three quarters of what is free; little in a test, which shall not crowd out others.
fn default_memory(test: bool) -> u64 {
    if test {
        return 1 << 30;
    }
    available_memory().map_or(8 << 30, |len| len / 4 * 3)
}

fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}
