//! This library compared with its peers: same data, same queries, one thread, one run.
//!
//! Every contender must find exactly what a plain scan finds before anything is timed. Rounds go around
//! all contenders, so that a machine that slows down slows all of them.

#[path = "../common/mod.rs"]
mod common;
mod contenders;
mod measure;
mod opening;
mod report;
mod settings;

use std::time::{Duration, Instant};

use common::allocator;
use contenders::{Built, Contender};
use measure::Latency;
use report::{Report, Round, Row};
use settings::Settings;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// Queries whose answers are compared with the scan's.
const CHECKED_QUERIES: usize = 100;

fn main() {
    let settings = Settings::from_environment();
    let fingerprints = settings.data.fingerprints(settings.count);
    let queries = settings.data.queries(&fingerprints, settings.query_count);
    common::scan::check_kernels(
        &fingerprints,
        &queries[..queries.len().min(CHECKED_QUERIES)],
    );
    let workload = Workload::new(&settings, &fingerprints, &queries);
    let mut report = Report::new(&workload);

    let contenders = contenders::contenders(&settings, fingerprints.len());
    let mut rows = Vec::new();
    for shelf in shelves(contenders, &workload) {
        rows.extend(measure_shelf(&shelf, &workload));
    }
    report.queries(rows);
    report.opening(&opening::measure(&workload));
    report.write(settings.output());
}

/// The queries to all contenders.
pub(crate) struct Workload<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) fingerprints: &'a [u64],
    pub(crate) queries: &'a [u64],
    /// The answers to the first queries by the portable scan.
    expected: Vec<Answer>,
}

/// The number of matches, and the exclusive or of all: enough to distinguish answers.
type Answer = (usize, u64);

impl<'a> Workload<'a> {
    fn new(settings: &'a Settings, fingerprints: &'a [u64], queries: &'a [u64]) -> Self {
        let test = common::is_test();
        let checked = queries
            .len()
            .min(if test { usize::MAX } else { CHECKED_QUERIES });
        let scan = |&query: &u64| {
            let mut matches = Vec::new();
            common::scan::portable(fingerprints, query, settings.distance, &mut matches);
            fold(&matches)
        };
        let expected = queries[..checked].iter().map(scan).collect();
        Workload {
            settings,
            fingerprints,
            queries,
            expected,
        }
    }

    fn check(&self, name: &str, built: &dyn Built) {
        for (&query, &expected) in self.queries.iter().zip(&self.expected) {
            let found = fold(&built.matches(query, self.settings.distance));
            assert_eq!(
                found, expected,
                "{name} finds something else than a scan for {query:x}"
            );
        }
    }
}

fn fold(matches: &[u64]) -> Answer {
    (matches.len(), matches.iter().fold(0, |fold, m| fold ^ m))
}

/// Parts the contenders such that each part fits in memory at a time. The scan is on every shelf.
fn shelves(contenders: Vec<Contender>, workload: &Workload) -> Vec<Vec<Contender>> {
    let count = workload.fingerprints.len();
    // Building one takes its records and a table, in addition to everything built before.
    let limit = workload
        .settings
        .memory_len
        .saturating_sub(24 * count as u64);
    let mut shelves = vec![Vec::new()];
    let mut used = 0;
    for contender in contenders.into_iter().skip(1) {
        let len = contender.estimated_len(workload.settings.data, count);
        if len > limit {
            eprintln!(
                "{} is left out: it takes about {} MiB",
                contender.name(),
                len >> 20
            );
            continue;
        }
        let full = used + len > limit || workload.settings.alone;
        if used > 0 && full {
            shelves.push(Vec::new());
            used = 0;
        }
        used += len;
        shelves.last_mut().expect("there is one").push(contender);
    }
    shelves
        .iter_mut()
        .for_each(|shelf| shelf.insert(0, Contender::Scan));
    shelves
}

/// Builds all contenders of a shelf, then asks them in turn, round after round.
fn measure_shelf(shelf: &[Contender], workload: &Workload) -> Vec<Row> {
    let (built, mut rows): (Vec<_>, Vec<_>) = shelf.iter().map(|c| build(c, workload)).unzip();
    let automatic_mih = shelf.iter().position(Contender::is_automatic_mih);
    for round in 0..workload.settings.rounds {
        eprintln!("round {} of {} contenders", round + 1, shelf.len());
        let latencies: Vec<Latency> = built.iter().map(|b| latency(&**b, workload)).collect();
        for (row, latency) in rows.iter_mut().zip(&latencies) {
            row.rounds.push(Round {
                latency: *latency,
                times_scan: latencies[0].p50 / latency.p50,
                times_mih: automatic_mih.map(|i| latencies[i].p50 / latency.p50),
            });
        }
    }
    rows
}

fn build<'a>(contender: &Contender, workload: &Workload<'a>) -> (Box<dyn Built + 'a>, Row) {
    let name = contender.name();
    eprintln!("building {name}");
    let before = allocator::live();
    allocator::reset_peak();
    let started = Instant::now();
    let built = contender.build(workload.fingerprints);
    let build_seconds = started.elapsed().as_secs_f64();
    let memory_len = match contender {
        Contender::Scan => size_of_val(workload.fingerprints),
        _ => allocator::live() - before,
    };
    workload.check(&name, &*built);
    let row = Row {
        name,
        family: contender.family(),
        tables: contender.tables(),
        index_len: built.file_len().unwrap_or(memory_len),
        memory_len,
        build_peak_len: allocator::peak() - before,
        build_seconds,
        predicted: contender.predicted(workload.fingerprints.len(), workload.settings.distance),
        rounds: Vec::new(),
    };
    (built, row)
}

/// Asks until everything is warm, then the same again, timed.
fn latency(built: &dyn Built, workload: &Workload) -> Latency {
    let Settings {
        distance, seconds, ..
    } = *workload.settings;
    let budget = Duration::from_secs_f64(seconds);
    let asked = built.time(workload.queries, distance, budget).len();
    Latency::of(built.time(&workload.queries[..asked], distance, budget * 2))
}
