//! Counters and times in the text format of Prometheus.

use std::array;
use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::StatusCode;

/// All metrics in output order: name, type and description.
const FAMILIES: &str = "\
simidx_requests_total counter Responses, by route and status.
simidx_request_seconds histogram Time from the head of a request to that of its response.
simidx_query_seconds histogram Time of a query; in a batch the mean of those answered together.
simidx_matches_total counter Fingerprints found.
simidx_index_records gauge Records.
simidx_index_fingerprints gauge Fingerprints.
simidx_index_bytes gauge Bytes of the files.
simidx_index_tables gauge Tables.
simidx_index_max_distance gauge Distance of queries that name none.
simidx_index_loaded_timestamp_seconds gauge When it was opened.
simidx_index_resident_ratio gauge Part of the files in memory.
simidx_index_info gauge The generation that answers.
simidx_store_records gauge Records of the store.
simidx_store_recent_records gauge Records of the store that are not sealed yet.
simidx_store_segments gauge Segments of the store.
simidx_store_deleted_records gauge Deleted records that are still in segments.
simidx_store_seals_total counter Segments sealed since the start.
simidx_store_merges_total counter Merges of segments since the start.
simidx_store_journal_bytes gauge Bytes of the journal of the store.
simidx_store_failed gauge Whether it failed: the journal until a restart, the last seal or merge until one succeeds.
simidx_connections_total counter Connections accepted.
simidx_shed_total counter Requests and connections that there was no room for.
simidx_cut_total counter Connections closed for being slow or broken.
simidx_reloads_total counter Reloads, by result.
simidx_connections gauge Open connections.
simidx_body_bytes gauge Bytes of the bodies of requests under way.
simidx_answer_bytes gauge Bytes of answers that are not sent yet, without the first 64 KiB of each.
simidx_generations gauge Open generations of all indexes.
simidx_ready gauge Whether queries are answered.
process_start_time_seconds gauge When the process began.
process_resident_memory_bytes gauge Memory, with mapped files.
process_cpu_seconds_total counter Time of processors that the process has taken.
process_open_fds gauge Open files and connections.
process_max_fds gauge Files and connections that may be open at a time.
";

/// Upper bounds of the histogram buckets in microseconds.
pub(crate) const BOUNDS: [u64; 22] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
    200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Statuses that have their own counters. All others count as [`OTHERS`].
const STATUSES: [u16; 16] = [
    200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 431, 500, 501, 503, 507,
];

/// The status under which statuses without their own counters are counted.
const OTHERS: u16 = 500;

/// The lines of each metric by its name.
#[derive(Default)]
pub(crate) struct Samples(HashMap<&'static str, String>);

impl Samples {
    /// Adds a value. `labels` is the text between the braces.
    pub(crate) fn add(&mut self, name: &'static str, labels: &str, value: impl Display) {
        self.line(name, "", labels, value);
    }

    fn line(&mut self, name: &'static str, end: &str, labels: &str, value: impl Display) {
        let lines = self.0.entry(name).or_default();
        let _ = match labels {
            "" => writeln!(lines, "{name}{end} {value}"),
            labels => writeln!(lines, "{name}{end}{{{labels}}} {value}"),
        };
    }

    pub(crate) fn add_times(&mut self, name: &'static str, labels: &str, times: &Histogram) {
        let mut total = 0;
        for (bucket, count) in times.counts().into_iter().enumerate() {
            total += count;
            let bound = BOUNDS.get(bucket).map(|&us| us as f64 / 1e6);
            let bound = bound.map_or("+Inf".to_owned(), |seconds| seconds.to_string());
            let labels = format!("{labels},le=\"{bound}\"");
            self.line(name, "_bucket", &labels, total);
        }
        let seconds = times.ns.load(Ordering::Relaxed) as f64 / 1e9;
        self.line(name, "_sum", labels, seconds);
        self.line(name, "_count", labels, total);
    }

    /// Adds the metrics of the process.
    pub(crate) fn add_process(&mut self) {
        if let Some(bytes) = resident_bytes() {
            self.add("process_resident_memory_bytes", "", bytes);
        }
        if let Some(count) = open_files() {
            self.add("process_open_fds", "", count);
        }
        #[cfg(unix)]
        {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
            self.add("process_cpu_seconds_total", "", seconds);
            let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            if let Some(count) = files.current {
                self.add("process_max_fds", "", count);
            }
        }
    }

    /// Returns the text for Prometheus.
    pub(crate) fn text(mut self) -> String {
        let mut out = String::new();
        for family in FAMILIES.lines() {
            let mut words = family.splitn(3, ' ');
            if let (Some(name), Some(kind), Some(help)) = (words.next(), words.next(), words.next())
                && let Some(lines) = self.0.remove(name).or_else(|| none_of(name))
            {
                let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}");
            }
        }
        debug_assert!(self.0.is_empty(), "{:?} are not in the list", self.0.keys());
        out
    }
}

/// Returns the empty list of values of a metric, which is described nevertheless; `None` for one of a store or process.
fn none_of(name: &str) -> Option<String> {
    let is_optional = name.starts_with("simidx_store_") || name.starts_with("process_");
    (!is_optional).then(String::new)
}

/// A histogram of times.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One counter for each bound of [`BOUNDS`], and one for longer times.
    counts: [AtomicU64; BOUNDS.len() + 1],
    ns: AtomicU64,
}

impl Histogram {
    /// Adds `count` times with this sum, as if all were equal.
    pub(crate) fn add_each(&self, all: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let ns = u64::try_from(all.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|&bound| bound * 1000 < ns / count);
        self.counts[bucket].fetch_add(count, Ordering::Relaxed);
        self.ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Returns the count of each bucket.
    pub(crate) fn counts(&self) -> [u64; BOUNDS.len() + 1] {
        array::from_fn(|i| self.counts[i].load(Ordering::Relaxed))
    }
}

/// The metrics of an index.
#[derive(Debug, Default)]
pub(crate) struct IndexMetrics {
    pub(crate) queries: Histogram,
    /// Number of matches.
    pub(crate) matches: AtomicU64,
}

/// The metrics of an address.
#[derive(Debug)]
struct RouteMetrics {
    path: &'static str,
    /// Number of responses with each of [`STATUSES`].
    counts: [AtomicU64; STATUSES.len()],
    times: Histogram,
}

/// The metrics of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) started: Instant,
    started_at: SystemTime,
    routes: Vec<RouteMetrics>,
    pub(crate) accepted: AtomicU64,
    pub(crate) shed: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) reloads_good: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
}

impl Metrics {
    /// Creates the metrics of these addresses, followed by those of all other addresses.
    pub(crate) fn new(paths: impl IntoIterator<Item = &'static str>) -> Self {
        let paths = paths.into_iter().chain(["unknown"]);
        let routes = paths.map(|path| RouteMetrics {
            path,
            counts: Default::default(),
            times: Histogram::default(),
        });
        Metrics {
            started: Instant::now(),
            started_at: SystemTime::now(),
            routes: routes.collect(),
            accepted: AtomicU64::default(),
            shed: AtomicU64::default(),
            cut: AtomicU64::default(),
            reloads_good: AtomicU64::default(),
            reloads_failed: AtomicU64::default(),
        }
    }

    /// Counts a response of the address with this number.
    pub(crate) fn answered(&self, route: usize, status: StatusCode, time: Duration) {
        let place = |status| STATUSES.iter().position(|&known| known == status);
        let route = &self.routes[route];
        if let Some(place) = place(status.as_u16()).or_else(|| place(OTHERS)) {
            route.counts[place].fetch_add(1, Ordering::Relaxed);
        }
        route.times.add_each(time, 1);
    }

    pub(crate) fn add_to(&self, samples: &mut Samples) {
        for route in &self.routes {
            let label = format!("route=\"{}\"", route.path);
            let counts = route.counts.iter().map(|c| c.load(Ordering::Relaxed));
            let used = STATUSES.iter().zip(counts).filter(|(_, count)| *count > 0);
            for (status, count) in used {
                let labels = format!("{label},status=\"{status}\"");
                samples.add("simidx_requests_total", &labels, count);
            }
            if route.times.counts().iter().any(|&count| count > 0) {
                samples.add_times("simidx_request_seconds", &label, &route.times);
            }
        }
        for (name, labels, count) in [
            ("simidx_connections_total", "", &self.accepted),
            ("simidx_shed_total", "", &self.shed),
            ("simidx_cut_total", "", &self.cut),
            (
                "simidx_reloads_total",
                "result=\"good\"",
                &self.reloads_good,
            ),
            (
                "simidx_reloads_total",
                "result=\"failed\"",
                &self.reloads_failed,
            ),
        ] {
            samples.add(name, labels, count.load(Ordering::Relaxed));
        }
        let started_at = seconds(self.started_at);
        samples.add("process_start_time_seconds", "", started_at);
    }
}

/// Returns a time as seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// Returns the memory of the process, if the system reports it in a file.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the number of open files, if the system lists them in a folder. Reading the folder opens one more.
fn open_files() -> Option<usize> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    Some(open.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_without_a_place_counts_as_500() {
        for (status, counted) in [(200, 200), (418, 500), (500, 500), (503, 503), (507, 507)] {
            let metrics = Metrics::new(["/livez"]);
            let code = StatusCode::from_u16(status).unwrap();
            metrics.answered(0, code, Duration::ZERO);
            let mut samples = Samples::default();
            metrics.add_to(&mut samples);
            let text = samples.text();
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
            times.add_each(Duration::from_nanos(ns), 1);
            assert_eq!(times.counts()[bucket], before + 1, "{ns}");
        }
        times.add_each(Duration::from_micros(30), 10);
        assert_eq!(times.counts()[2], 11);
    }
}
