//! The figures that `simidx bench` prints.

use std::io::Write;

use serde::Serialize;

use crate::support::latency::Latency;
use crate::support::messages::counted;

/// The figures of a run. Latencies are in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct BenchReport {
    pub(super) queries: usize,
    pub(super) threads: u16,
    pub(super) distance: u32,
    pub(super) cold: bool,
    pub(super) open_ms: f64,
    pub(super) latency_us: Latency,
    pub(super) queries_per_second: f64,
    pub(super) probes_per_query: f64,
    pub(super) blocks_per_query: f64,
    pub(super) candidates_per_query: f64,
    pub(super) matches: u64,
}

impl BenchReport {
    pub(super) fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let l = &self.latency_us;
        let cache = if self.cold { "cold" } else { "warm" };
        writeln!(
            out,
            "{} within distance {}, {}, {cache}",
            counted(self.queries as u64, "query"),
            self.distance,
            counted(self.threads.into(), "thread")
        )?;
        writeln!(out, "{:<24}{:.2} ms", "open", self.open_ms)?;
        writeln!(
            out,
            "{:<24}p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}, mean {:.1}",
            "latency in us", l.p50, l.p90, l.p99, l.p99_9, l.max, l.mean
        )?;
        writeln!(
            out,
            "{:<24}{:.0}",
            "queries a second", self.queries_per_second
        )?;
        writeln!(
            out,
            "{:<24}{:.1} probes, {:.1} blocks, {:.1} candidates",
            "a query", self.probes_per_query, self.blocks_per_query, self.candidates_per_query
        )?;
        writeln!(out, "{:<24}{}", "matches", self.matches)
    }
}
