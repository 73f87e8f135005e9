//! `simidx bench`: the latency of queries on an index.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use simidx::index::QueryStats;
use simidx::set::SetScratch;
use simidx::{Set, Storage};
use simidx_input::{Content, Format, ReadOptions};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::IndexArgs;
use crate::support::latency::{Latency, sample_queries};
use crate::support::messages::counted;
use crate::support::options::{
    DISTANCES, InputFormat, MOST_THREADS, distance_or, heading, input_format,
};
use crate::support::output::{Report, row, stdout, write_report};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;

/// Largest duration of the warm-up.
const WARM_UP: Duration = Duration::from_secs(3);

/// Largest number of sampled queries, which are held in memory.
const MAX_QUERIES: u64 = 100_000_000;

/// The message about a document among the queries.
const NO_DOCUMENTS: &str = "is a document; queries are fingerprints";

/// The head of `simidx bench --help` and of its man page.
pub(crate) const HELP: &str = "\
Measure the latency of queries.

By default half of the queries are members of the index with 0 to 5 flipped bits and half are random.

Examples:
  simidx bench crawl.simidx
  simidx bench crawl.simidx --queries log.hex -k 4 --threads 8
  simidx bench crawl.simidx --cold --count 1000 --json";

/// Arguments of `simidx bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Number of queries to sample
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = count(0..=MAX_QUERIES),
        conflicts_with = "queries"
    )]
    count: u64,
    /// Use the fingerprints in this file as queries
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Format of --queries [default: by the extension, else by the first bytes; numbers that may be hex or dec are hex]
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", requires = "queries", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    /// Largest distance [default: the one that the index was built for; the smallest of several]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// Number of threads, which share the queries
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(1..=MOST_THREADS), help_heading = heading::RESOURCES)]
    threads: u16,
    /// Drop the file from the page cache before each query
    #[arg(long, conflicts_with = "no_mmap")]
    cold: bool,
    /// Seed for sampling the queries
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = count(0..=u64::MAX))]
    seed: u64,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    if args.cold && args.threads > 1 {
        return Err(Failure::new("--cold requires a single thread"));
    }
    let opened = Instant::now();
    let set = args.index.open()?;
    let open_ms = opened.elapsed().as_secs_f64() * 1e3;
    let mut report = measure(&set, &args, mode)?;
    report.open_ms = open_ms;
    write_report(stdout(), &report, args.json)?;
    Ok(true)
}

/// Reads all fingerprints in a file, by default in hexadecimal digits. Their ids are ignored.
fn read_queries(path: &Path, set: &Set, args: &Args) -> Result<Vec<u128>, Failure> {
    let format = args.input.flatten();
    // A folder would be read as documents.
    let format = format.or_else(|| path.is_dir().then_some(Format::Hex));
    let mut options = ReadOptions::default().width(set.width());
    options.fallback = Some(Format::Hex);
    let mut reader = simidx_input::open_with(path, format, &options)?;
    let mut queries = Vec::new();
    while let Some(record) = reader.next() {
        match record?.content {
            Content::Fingerprint(fingerprint) => queries.push(fingerprint),
            Content::Text(_) => {
                return Err(Failure::of_record(&*reader, NO_DOCUMENTS));
            }
        }
    }
    Ok(queries)
}

/// The measurements of one thread.
#[derive(Debug, Default)]
struct Measured {
    latencies: Vec<Duration>,
    stats: QueryStats,
    matches: u64,
}

fn measure(set: &Set, args: &Args, mode: ProgressMode) -> Result<BenchReport, Failure> {
    let bar = mode.spinner("choosing queries");
    let distance = distance_or(args.max_distance, set.width(), set.max_distance())?;
    let queries = match &args.queries {
        Some(path) => read_queries(path, set, args)?,
        None => sample_queries(set, args.count as usize, args.seed)?,
    };
    if queries.is_empty() {
        return Err(Failure::new("there are no queries"));
    }
    if !args.cold {
        bar.set_message("warming up");
        warm_up(set, &queries, distance)?;
    }
    bar.set_message("measuring");
    let started = Instant::now();
    let measured = ask_all(set, &queries, distance, args)?;
    let elapsed = started.elapsed();
    bar.finish_and_clear();

    let count = queries.len() as f64;
    Ok(BenchReport {
        queries: queries.len(),
        threads: args.threads,
        distance,
        cold: args.cold,
        open_ms: 0.0,
        // The resolution of a clock may exceed the time of a few queries.
        queries_per_second: count / elapsed.max(Duration::from_nanos(1)).as_secs_f64(),
        probes_per_query: measured.stats.probes as f64 / count,
        blocks_per_query: measured.stats.blocks as f64 / count,
        candidates_per_query: measured.stats.candidates as f64 / count,
        matches: measured.matches,
        latency_us: Latency::of(measured.latencies),
    })
}

/// Runs the queries once, for at most some seconds.
fn warm_up(set: &Set, queries: &[u128], distance: u32) -> Result<(), Failure> {
    let started = Instant::now();
    let mut scratch = SetScratch::new();
    for &query in queries {
        set.query_with(&mut scratch, query, distance)?;
        if started.elapsed() > WARM_UP {
            break;
        }
    }
    Ok(())
}

fn ask_all(set: &Set, queries: &[u128], distance: u32, args: &Args) -> Result<Measured, Failure> {
    if args.cold {
        let files = args.index.files()?;
        let open = |path: &PathBuf| File::open(path).map_err(Failure::at(path));
        let opened: Vec<File> = files.iter().map(open).collect::<Result<_, _>>()?;
        return ask((set, queries, distance), true, || {
            let mut caches = set.segments().zip(files.iter().zip(&opened));
            caches.try_for_each(|(segment, (path, file))| {
                drop_pages(segment.storage(), file).map_err(Failure::at(path))
            })
        });
    }
    let share = queries.len().div_ceil(args.threads.into());
    let parts = queries.par_chunks(share);
    let measured = parts.map(|part| ask((set, part, distance), false, || Ok(())));
    measured.try_reduce(Measured::default, |mut all, share| {
        all.latencies.extend(share.latencies);
        all.stats += share.stats;
        all.matches += share.matches;
        Ok(all)
    })
}

/// Runs the queries consecutively. `prepare` runs before each, outside the measured time.
fn ask(
    (set, queries, distance): (&Set, &[u128], u32),
    cold: bool,
    prepare: impl Fn() -> Result<(), Failure>,
) -> Result<Measured, Failure> {
    let mut scratch = SetScratch::new();
    scratch.expect_cold_blocks(cold);
    let mut measured = Measured::default();
    measured.latencies.reserve(queries.len());
    for &query in queries {
        prepare()?;
        let started = Instant::now();
        let matches = set.query_with(&mut scratch, query, distance)?.len();
        measured.latencies.push(started.elapsed());
        measured.matches += matches as u64;
        measured.stats += scratch.stats();
    }
    Ok(measured)
}

/// The figures of a run. Latencies are in microseconds.
#[derive(Debug, Serialize)]
struct BenchReport {
    queries: usize,
    threads: u16,
    distance: u32,
    cold: bool,
    open_ms: f64,
    latency_us: Latency,
    queries_per_second: f64,
    probes_per_query: f64,
    blocks_per_query: f64,
    candidates_per_query: f64,
    matches: u64,
}

impl Report for BenchReport {
    fn to_json(&self) -> Value {
        json!(self)
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let l = &self.latency_us;
        let cache = if self.cold { "cold" } else { "warm" };
        writeln!(
            out,
            "{} within distance {}, {}, {cache}",
            counted(self.queries as u64, "query"),
            self.distance,
            counted(self.threads.into(), "thread")
        )?;
        row(out, "open", format_args!("{:.2} ms", self.open_ms))?;
        let latency = format!(
            "p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}, mean {:.1}",
            l.p50, l.p90, l.p99, l.p99_9, l.max, l.mean
        );
        row(out, "latency in us", latency)?;
        let rate = format!("{:.0}", self.queries_per_second);
        row(out, "queries a second", rate)?;
        let each = format!(
            "{:.1} probes, {:.1} blocks, {:.1} candidates",
            self.probes_per_query, self.blocks_per_query, self.candidates_per_query
        );
        row(out, "a query", each)?;
        row(out, "matches", self.matches)
    }
}

/// Drops the pages of a mapped file, first from this process, because pages in use remain in the page cache.
#[cfg(any(target_os = "android", target_os = "freebsd", target_os = "linux"))]
fn drop_pages(storage: &Storage, file: &File) -> io::Result<()> {
    storage.evict()?;
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// Fails with a message, because queries on a file that remains in memory are not cold.
#[cfg(not(any(target_os = "android", target_os = "freebsd", target_os = "linux")))]
fn drop_pages(_: &Storage, _: &File) -> io::Result<()> {
    let message = "--cold: this system cannot drop a file from the page cache";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}
