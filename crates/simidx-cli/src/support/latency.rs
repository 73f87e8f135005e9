//! Latencies of queries, in a few figures.

use std::time::Duration;

use serde::Serialize;

/// Quantiles of latencies, in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

impl Latency {
    /// The figures of at least one latency.
    pub(crate) fn of(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        let us = |latency: &Duration| latency.as_secs_f64() * 1e6;
        let quantile = |q: f64| {
            let rank = (q * latencies.len() as f64).ceil() as usize;
            latencies.get(rank.saturating_sub(1)).map_or(0.0, us)
        };
        Latency {
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: quantile(1.0),
            mean: latencies.iter().map(us).sum::<f64>() / latencies.len() as f64,
        }
    }
}
