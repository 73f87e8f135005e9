//! Operations on whole sets compared with peers: all pairs, clusters, many queries at once. Same data, one run.
//!
//! Contenders must agree on the number of pairs or matches and on a sum over them before their times are told.

mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod joins;
mod pairs;

use std::time::Instant;

use common::allocator;
use common::datasets::Dataset;
use common::environment::{list, variable};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn main() {
    let settings = Settings::from_environment();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads);
    let pool = pool.build().expect("there are so many threads");
    pool.install(|| {
        for &count in &settings.counts {
            pairs::run(&settings, count);
            clusters::run(&settings, count);
            joins::run(&settings, count);
        }
    });
}

/// The settings of a run; `benches/README.md` lists the variables.
pub(crate) struct Settings {
    pub(crate) counts: Vec<usize>,
    pub(crate) data: Option<Dataset>,
    pub(crate) distance: u32,
    pub(crate) query_count: usize,
    pub(crate) rounds: usize,
    threads: usize,
    only: Vec<String>,
}

impl Settings {
    fn from_environment() -> Self {
        let test = common::is_test();
        let counts = list("COUNT").filter(|counts| !counts.is_empty());
        let default_counts = if test {
            vec![20_000]
        } else {
            vec![1_000_000, 10_000_000]
        };
        Settings {
            counts: counts.unwrap_or(default_counts),
            data: variable("DATA"),
            distance: variable("DISTANCE").unwrap_or(3),
            query_count: variable("QUERIES").unwrap_or(if test { 2000 } else { 1_000_000 }),
            rounds: variable("ROUNDS")
                .unwrap_or(if test { 1 } else { 3 })
                .max(1),
            threads: variable("THREADS").unwrap_or(1),
            only: list("ONLY").unwrap_or_default(),
        }
    }

    /// Whether what has this name shall run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}

/// The result of a run: the number of items, and a sum over them that distinguishes answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Found {
    pub(crate) count: u64,
    pub(crate) sum: u64,
}

impl Found {
    pub(crate) fn add(&mut self, x: u64, y: u64) {
        self.count += 1;
        let mixed = (x ^ y.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(mixed);
    }
}

/// A contender: its name and what it does.
pub(crate) type Contender<'a> = (String, Box<dyn Fn() -> Found + 'a>);

/// Runs the contenders in turn, round after round, and prints a line for each: seconds of all processors and by the
/// clock, medians of the rounds, the most memory that was allocated meanwhile, and how many times as fast as the first
/// it is in the same round, by the processors' time.
pub(crate) fn compare(settings: &Settings, contenders: &[Contender<'_>]) {
    let mut times = vec![Vec::new(); contenders.len()];
    let mut seconds = times.clone();
    let mut peaks = vec![0; contenders.len()];
    let mut expected = None;
    for _ in 0..settings.rounds {
        for (i, (name, run)) in contenders.iter().enumerate() {
            let before = allocator::live();
            allocator::reset_peak();
            let (started, spent) = (Instant::now(), cpu_seconds());
            let found = run();
            seconds[i].push(started.elapsed().as_secs_f64());
            times[i].push(match cpu_seconds() - spent {
                spent if spent > LEAST_CPU_SECONDS => spent,
                _ => started.elapsed().as_secs_f64(),
            });
            peaks[i] = allocator::peak() - before;
            assert_eq!(
                found,
                *expected.get_or_insert(found),
                "{name} finds something else"
            );
        }
    }
    let found = expected.unwrap_or_default().count;
    println!("  {found} found");
    for (i, (name, _)) in contenders.iter().enumerate() {
        let ratios = times[i]
            .iter()
            .zip(&times[0])
            .map(|(time, first)| first / time);
        println!(
            "  {name:32} {:9.2} CPU s {:9.2} s {:9.1} MiB  x {:.2}",
            median(times[i].iter().copied()),
            median(seconds[i].iter().copied()),
            peaks[i] as f64 / (1 << 20) as f64,
            median(ratios)
        );
    }
}

/// Below this the processors' time, which is counted in hundredths, says too little, and the clock counts.
const LEAST_CPU_SECONDS: f64 = 0.5;

/// Seconds that the processors have spent on this process; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may hold blanks.
    let fields = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).flat_map(str::parse).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// The value in the middle.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
