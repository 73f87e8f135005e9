//! Build throughput by number of fingerprints, tables, codec, memory limit and threads, compared with sorting the same
//! array once for each table.
//!
//! Rounds go around all sorts and builds, so that a machine that slows down slows all of them. Builds that differ
//! only in memory and threads must give the same bytes.

mod builds;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod report;
mod settings;
mod sorts;

use builds::Build;
use cases::Case;
use settings::Settings;
use sorts::Sort;

fn main() {
    let settings = Settings::from_environment();
    for &count in &settings.counts {
        let figures = Figures::measure(count, &settings);
        figures.print();
        if let Some(path) = &settings.output {
            figures.append_to(path);
        }
    }
}

/// The measurements for one number of fingerprints.
pub(crate) struct Figures {
    pub(crate) count: usize,
    pub(crate) rounds: usize,
    pub(crate) sorts: Vec<Sort>,
    /// Seconds by sort and round.
    pub(crate) sort_seconds: Vec<Vec<f64>>,
    pub(crate) cases: Vec<Case>,
    /// Builds by case and round.
    pub(crate) builds: Vec<Vec<Build>>,
}

impl Figures {
    fn measure(count: usize, settings: &Settings) -> Self {
        let all_threads = rayon::current_num_threads();
        let sorts = sorts::sorts(all_threads);
        let cases = cases::cases(count, all_threads, &settings.factors);
        let mut figures = Figures {
            count,
            rounds: settings.rounds,
            sort_seconds: vec![Vec::new(); sorts.len()],
            builds: vec![Vec::new(); cases.len()],
            sorts,
            cases,
        };
        let fingerprints = common::drawn(count);
        for round in 0..settings.rounds {
            eprintln!("round {} over {count} fingerprints", round + 1);
            figures.add_round(&fingerprints, settings);
        }
        figures.check();
        figures
    }

    fn add_round(&mut self, fingerprints: &[u64], settings: &Settings) {
        let seconds = sorts::measure(&self.sorts, fingerprints);
        for (of_sort, seconds) in self.sort_seconds.iter_mut().zip(seconds) {
            of_sort.push(seconds);
        }
        for (case, of_case) in self.cases.iter().zip(&mut self.builds) {
            of_case.push(builds::measure(case, fingerprints, &settings.directory));
        }
    }

    /// Neither a limit of memory nor the number of threads may change the index.
    fn check(&self) {
        for (case, builds) in self.cases.iter().zip(&self.builds) {
            let first = self.cases.iter().position(|c| c.is_same_index(case));
            let expected = first.map(|i| self.builds[i][0].index);
            for build in builds {
                assert_eq!(Some(build.index), expected, "{case:?} gives other bytes");
            }
        }
    }
}
