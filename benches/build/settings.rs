//! The settings in the environment.

use std::path::PathBuf;
use std::str::FromStr;

use crate::cases::Factor;
use crate::common;
use crate::common::environment::{list, output, variable};

/// The settings of a run; `benches/README.md` lists the variables.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) counts: Vec<usize>,
    /// The respects in which the cases differ.
    pub(crate) factors: Vec<Factor>,
    pub(crate) rounds: usize,
    /// Where indexes and temporary files go.
    pub(crate) directory: PathBuf,
    /// The file for the figures; none where the bench runs as a test.
    pub(crate) output: Option<PathBuf>,
}

impl Settings {
    pub(crate) fn from_environment() -> Self {
        let test = common::is_test();
        let counts = list("COUNTS").map(|counts| counts.into_iter().map(|Count(n)| n).collect());
        let default_counts = || match test {
            true => vec![20_000],
            false => vec![1_000_000, 10_000_000],
        };
        Settings {
            counts: counts.unwrap_or_else(default_counts),
            factors: list("ONLY").unwrap_or_else(|| Factor::ALL.into()),
            rounds: variable("ROUNDS")
                .unwrap_or(if test { 1 } else { 3 })
                .max(1),
            directory: variable("DIRECTORY").unwrap_or_else(std::env::temp_dir),
            output: output("build.jsonl"),
        }
    }
}

/// A number of fingerprints, such as `1e8`.
struct Count(usize);

impl FromStr for Count {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number: f64 = text.parse().map_err(|_| ())?;
        let is_count = (1.0..=1e12).contains(&number) && number.fract() == 0.0;
        is_count.then_some(Count(number as usize)).ok_or(())
    }
}
