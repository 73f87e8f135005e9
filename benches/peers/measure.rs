//! The latency of single queries.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Percentiles and mean in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) mean: f64,
    /// Number of queries measured.
    pub(crate) queries: usize,
}

impl Latency {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |percent: usize| us(times[(times.len() - 1) * percent / 100]);
        Latency {
            p50: at(50),
            p99: at(99),
            mean: us(times.iter().sum()) / times.len() as f64,
            queries: times.len(),
        }
    }
}

/// Asks the queries in turn until `budget` is spent, and times each by itself.
pub(crate) fn time_each(
    queries: &[u64],
    budget: Duration,
    mut ask: impl FnMut(u64) -> usize,
) -> Vec<Duration> {
    let begun = Instant::now();
    let mut times = Vec::with_capacity(queries.len());
    for &query in queries {
        let started = Instant::now();
        black_box(ask(black_box(query)));
        let ended = Instant::now();
        times.push(ended - started);
        if ended - begun > budget {
            break;
        }
    }
    times
}

/// Returns the nanoseconds that reading the clock adds to each latency.
pub(crate) fn clock_ns() -> f64 {
    let times = time_each(&[0; 1000], Duration::from_secs(1), |_| 0);
    Latency::of(times).p50 * 1e3
}
