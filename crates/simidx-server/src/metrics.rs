//! Counts and times, as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::StatusCode;

use simidx_collection::CollectionStats;

use crate::route::Route;

/// Upper bounds of the buckets of times, in nanoseconds: queries take microseconds.
pub(crate) const BOUNDS: [u64; 22] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Statuses that are counted by themselves; all others are [`OTHERS`].
const STATUSES: [u16; 16] = [
    200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 431, 500, 501, 503, 507,
];

/// The status that those without a place of their own count as.
const OTHERS: u16 = 500;

/// The place of a status among [`STATUSES`].
fn place(status: u16) -> Option<usize> {
    STATUSES.iter().position(|&known| known == status)
}

/// Times in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// Those of [`BOUNDS`], and one for what is longer.
    counts: [AtomicU64; BOUNDS.len() + 1],
    ns: AtomicU64,
}

impl Histogram {
    pub(crate) fn add(&self, time: Duration) {
        self.add_each(time, 1);
    }

    /// Adds `count` times of which this is the sum.
    pub(crate) fn add_each(&self, all: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let ns = u64::try_from(all.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|&bound| bound < ns / count);
        self.counts[bucket].fetch_add(count, Ordering::Relaxed);
        self.ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// The numbers of times in each bucket.
    pub(crate) fn counts(&self) -> [u64; BOUNDS.len() + 1] {
        std::array::from_fn(|i| self.counts[i].load(Ordering::Relaxed))
    }

    fn write(&self, out: &mut String, name: &str, label: &str) {
        let mut total = 0;
        for (bucket, count) in self.counts().into_iter().enumerate() {
            total += count;
            let bound = BOUNDS.get(bucket).map(|&ns| ns as f64 / 1e9);
            let bound = bound.map_or("+Inf".to_owned(), |seconds| seconds.to_string());
            line(
                out,
                &format!("{name}_bucket{{{label},le=\"{bound}\"}}"),
                total,
            );
        }
        let seconds = self.ns.load(Ordering::Relaxed) as f64 / 1e9;
        line(out, &format!("{name}_sum{{{label}}}"), seconds);
        line(out, &format!("{name}_count{{{label}}}"), total);
    }
}

/// What is counted of one index.
#[derive(Debug)]
pub(crate) struct IndexMetrics {
    pub(crate) queries: Histogram,
    /// Matches by their distance.
    pub(crate) matches: [AtomicU64; DISTANCES],
}

/// Distances that there are: to 128 bits.
pub(crate) const DISTANCES: usize = 129;

impl Default for IndexMetrics {
    fn default() -> Self {
        IndexMetrics {
            queries: Histogram::default(),
            matches: [const { AtomicU64::new(0) }; DISTANCES],
        }
    }
}

impl IndexMetrics {
    /// Adds matches by their distance.
    pub(crate) fn add_matches(&self, counts: &[u32; DISTANCES]) {
        for (all, &count) in self.matches.iter().zip(counts) {
            if count > 0 {
                all.fetch_add(count.into(), Ordering::Relaxed);
            }
        }
    }

    /// Distances with their numbers of matches, up to the largest that has any.
    pub(crate) fn matches(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self
            .matches
            .iter()
            .map(|c| c.load(Ordering::Relaxed))
            .collect();
        let used = counts
            .iter()
            .rposition(|&count| count > 0)
            .map_or(0, |last| last + 1);
        counts.truncate(used);
        counts
    }
}

/// What is counted of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    started_at: SystemTime,
    requests: [[AtomicU64; STATUSES.len()]; Route::ALL.len()],
    times: [Histogram; Route::ALL.len()],
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) shed: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) reloads_good: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
    /// Bytes of bodies that are kept.
    pub(crate) bodies: AtomicU64,
    /// Bytes of answers that are kept.
    pub(crate) answers: AtomicU64,
    /// Open generations of all indexes.
    pub(crate) generations: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            started: Instant::now(),
            started_at: SystemTime::now(),
            requests: Default::default(),
            times: Default::default(),
            connections: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            shed: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            reloads_good: AtomicU64::new(0),
            reloads_failed: AtomicU64::new(0),
            bodies: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            generations: AtomicU64::new(0),
        }
    }
}

/// What the page of metrics says of one index.
pub(crate) struct IndexLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) metrics: &'a IndexMetrics,
    pub(crate) generation: String,
    pub(crate) size: crate::SourceSize,
    pub(crate) max_distance: u32,
    pub(crate) loaded_at: SystemTime,
    pub(crate) resident_fraction: Option<f64>,
}

impl Metrics {
    /// Counts a response.
    pub(crate) fn answered(&self, route: Route, status: StatusCode, time: Duration) {
        let place = place(status.as_u16()).or_else(|| place(OTHERS));
        let count = place.and_then(|place| self.requests[route as usize].get(place));
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.times[route as usize].add(time);
    }

    /// How long the server has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The text that Prometheus reads.
    pub(crate) fn write(
        &self,
        indexes: &[IndexLine<'_>],
        store: Option<&CollectionStats>,
        is_ready: bool,
    ) -> String {
        let mut out = String::new();
        help(
            &mut out,
            "simidx_requests_total",
            "counter",
            "Responses, by route and status.",
        );
        for (route, counts) in Route::ALL.iter().zip(&self.requests) {
            for (status, count) in STATUSES.iter().zip(counts) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let name = route.name();
                    let labels = format!("{{route=\"{name}\",status=\"{status}\"}}");
                    line(&mut out, &format!("simidx_requests_total{labels}"), count);
                }
            }
        }
        let name = "simidx_request_seconds";
        help(
            &mut out,
            name,
            "histogram",
            "Time from the head of a request to that of its response.",
        );
        for (route, times) in Route::ALL.iter().zip(&self.times) {
            if times.counts().iter().any(|&count| count > 0) {
                times.write(&mut out, name, &format!("route=\"{}\"", route.name()));
            }
        }
        self.write_indexes(&mut out, indexes);
        if let Some(store) = store {
            write_store(&mut out, store);
        }
        let counters = [
            (
                "simidx_connections_total",
                "Connections accepted.",
                &self.accepted,
            ),
            (
                "simidx_shed_total",
                "Requests and connections that there was no room for.",
                &self.shed,
            ),
            (
                "simidx_cut_total",
                "Connections closed for being slow or broken.",
                &self.cut,
            ),
        ];
        for (name, text, value) in counters {
            help(&mut out, name, "counter", text);
            line(&mut out, name, value.load(Ordering::Relaxed));
        }
        help(
            &mut out,
            "simidx_reloads_total",
            "counter",
            "Reloads, by result.",
        );
        for (result, count) in [
            ("good", &self.reloads_good),
            ("failed", &self.reloads_failed),
        ] {
            let name = format!("simidx_reloads_total{{result=\"{result}\"}}");
            line(&mut out, &name, count.load(Ordering::Relaxed));
        }
        let gauges = [
            ("simidx_connections", "Open connections.", &self.connections),
            (
                "simidx_body_bytes",
                "Bytes of the bodies of requests under way.",
                &self.bodies,
            ),
            (
                "simidx_answer_bytes",
                "Bytes of answers that are not sent yet, without the first 64 KiB of each.",
                &self.answers,
            ),
            (
                "simidx_generations",
                "Open generations of all indexes.",
                &self.generations,
            ),
        ];
        for (name, text, value) in gauges {
            help(&mut out, name, "gauge", text);
            line(&mut out, name, value.load(Ordering::Relaxed));
        }
        help(
            &mut out,
            "simidx_ready",
            "gauge",
            "Whether queries are answered.",
        );
        line(&mut out, "simidx_ready", u64::from(is_ready));
        help(
            &mut out,
            "process_start_time_seconds",
            "gauge",
            "When the process began.",
        );
        line(
            &mut out,
            "process_start_time_seconds",
            seconds(self.started_at),
        );
        for (name, kind, text, value) in [
            (
                "process_resident_memory_bytes",
                "gauge",
                "Memory, with mapped files.",
                resident_bytes().map(|bytes| bytes as f64),
            ),
            (
                "process_cpu_seconds_total",
                "counter",
                "Time of processors that the process has taken.",
                cpu_seconds(),
            ),
            (
                "process_open_fds",
                "gauge",
                "Open files and connections.",
                open_files().map(|count| count as f64),
            ),
            (
                "process_max_fds",
                "gauge",
                "Files and connections that may be open at a time.",
                max_files().map(|count| count as f64),
            ),
        ] {
            if let Some(value) = value {
                help(&mut out, name, kind, text);
                line(&mut out, name, value);
            }
        }
        out
    }

    fn write_indexes(&self, out: &mut String, indexes: &[IndexLine<'_>]) {
        let name = "simidx_query_seconds";
        help(
            out,
            name,
            "histogram",
            "Time of a query; in a batch the mean of those answered together.",
        );
        for index in indexes {
            index.metrics.queries.write(out, name, &label(index.name));
        }
        let name = "simidx_matches_total";
        help(
            out,
            name,
            "counter",
            "Fingerprints found, by their distance.",
        );
        for index in indexes {
            let label = label(index.name);
            for (distance, count) in index.metrics.matches().into_iter().enumerate() {
                line(
                    out,
                    &format!("{name}{{{label},distance=\"{distance}\"}}"),
                    count,
                );
            }
        }
        type Figure = fn(&IndexLine<'_>) -> Option<f64>;
        let gauges: [(&str, &str, Figure); 7] = [
            ("simidx_index_records", "Records.", |i| {
                Some(i.size.records as f64)
            }),
            ("simidx_index_fingerprints", "Fingerprints.", |i| {
                Some(i.size.fingerprints as f64)
            }),
            ("simidx_index_bytes", "Bytes of the files.", |i| {
                Some(i.size.bytes as f64)
            }),
            ("simidx_index_tables", "Tables.", |i| {
                Some(i.size.tables as f64)
            }),
            (
                "simidx_index_max_distance",
                "Distance of queries that name none.",
                |i| Some(f64::from(i.max_distance)),
            ),
            (
                "simidx_index_loaded_timestamp_seconds",
                "When it was opened.",
                |i| Some(seconds(i.loaded_at)),
            ),
            (
                "simidx_index_resident_ratio",
                "Part of the files in memory.",
                |i| i.resident_fraction,
            ),
        ];
        for (name, text, figure) in gauges {
            help(out, name, "gauge", text);
            for index in indexes {
                if let Some(value) = figure(index) {
                    line(out, &format!("{name}{{{}}}", label(index.name)), value);
                }
            }
        }
        help(
            out,
            "simidx_index_info",
            "gauge",
            "The generation that answers.",
        );
        for index in indexes {
            let (label, generation) = (label(index.name), &index.generation);
            line(
                out,
                &format!("simidx_index_info{{{label},generation=\"{generation}\"}}"),
                1,
            );
        }
    }
}

fn label(index: &str) -> String {
    format!("index=\"{index}\"")
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

fn help(out: &mut String, name: &str, kind: &str, text: &str) {
    let _ = writeln!(out, "# HELP {name} {text}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(out, "{name} {value}");
}

/// Memory of the process, where the system says so in a file.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Seconds that the process has run on processors.
#[cfg(unix)]
fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<f64> {
    None
}

/// Open files, where the system says so in a folder; that folder is one of them.
fn open_files() -> Option<usize> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    Some(open.count().saturating_sub(1))
}

/// Files that may be open, if there is a limit.
#[cfg(unix)]
fn max_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn max_files() -> Option<u64> {
    None
}

/// The figures of the collection.
fn write_store(out: &mut String, store: &CollectionStats) {
    for (name, kind, text, value) in [
        (
            "simidx_store_records",
            "gauge",
            "Records of the store.",
            store.record_count,
        ),
        (
            "simidx_store_recent_records",
            "gauge",
            "Records of the store that are not sealed yet.",
            store.recent_count,
        ),
        (
            "simidx_store_segments",
            "gauge",
            "Segments of the store.",
            store.segment_count as u64,
        ),
        (
            "simidx_store_deleted_records",
            "gauge",
            "Deleted records that are still in segments.",
            store.deleted_count,
        ),
        (
            "simidx_store_seals_total",
            "counter",
            "Segments sealed since the start.",
            store.seal_count,
        ),
        (
            "simidx_store_merges_total",
            "counter",
            "Merges of segments since the start.",
            store.merge_count,
        ),
        (
            "simidx_store_journal_bytes",
            "gauge",
            "Bytes of the journal of the store.",
            store.journal_bytes,
        ),
    ] {
        help(out, name, kind, text);
        line(out, name, value);
    }
    let name = "simidx_store_failed";
    let text = "Whether it failed: the journal until a restart, the last seal or merge until one succeeds.";
    help(out, name, "gauge", text);
    for (what, error) in [
        ("journal", &store.journal_error),
        ("seal", &store.seal_error),
        ("merge", &store.merge_error),
    ] {
        let failed = u64::from(error.is_some());
        line(out, &format!("{name}{{what=\"{what}\"}}"), failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_store_fails_by_itself() {
        let mut store = CollectionStats::default();
        store.journal_bytes = 4096;
        store.merge_error = Some("no room".to_owned());
        let mut text = String::new();
        write_store(&mut text, &store);
        for line in [
            "simidx_store_journal_bytes 4096\n",
            "simidx_store_failed{what=\"journal\"} 0\n",
            "simidx_store_failed{what=\"seal\"} 0\n",
            "simidx_store_failed{what=\"merge\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_status_without_a_place_counts_as_500() {
        for (status, counted) in [(200, 200), (418, 500), (500, 500), (503, 503), (507, 507)] {
            let metrics = Metrics::default();
            let code = StatusCode::from_u16(status).unwrap();
            metrics.answered(Route::Livez, code, Duration::ZERO);
            let text = metrics.write(&[], None, true);
            let line =
                format!("simidx_requests_total{{route=\"/livez\",status=\"{counted}\"}} 1\n");
            assert!(text.contains(&line), "{status}: {text}");
        }
    }

    #[test]
    fn a_time_is_in_the_first_bucket_that_is_not_below_it() {
        let times = Histogram::default();
        for (ns, bucket) in [
            (1, 0),
            (1_000, 0),
            (1_001, 1),
            (3_000, 2),
            (u64::MAX, BOUNDS.len()),
        ] {
            let before = times.counts()[bucket];
            times.add(Duration::from_nanos(ns));
            assert_eq!(times.counts()[bucket], before + 1, "{ns}");
        }
        times.add_each(Duration::from_micros(30), 10);
        assert_eq!(times.counts()[2], 11);
    }
}
