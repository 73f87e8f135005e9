//! `simidx bench`: the latency of queries on an index.

mod page_cache;
mod queries;
mod report;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use simidx::index::QueryStats;
use simidx::segments::Segments;
use simidx::{Fingerprint, Storage};
use simidx_input::Format;

use crate::cmd::Answer;
use crate::support::choices::InputFormat;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, with_segments};
use crate::support::output::{stdout, write_report};
use crate::support::progress::ProgressMode;
use crate::support::query_file;
use crate::support::records::threads_from;
use page_cache::PageCache;
use report::{BenchReport, Latency};

/// Longest time of the warm-up.
const WARM_UP: Duration = Duration::from_secs(3);

/// Most queries that are sampled: they are held in memory.
const MAX_QUERIES: usize = 100_000_000;

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
        conflicts_with = "queries"
    )]
    count: usize,
    /// Use the fingerprints in this file as queries
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Format of --queries: hex, dec, le or another with fingerprints
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t = InputFormat(Some(Format::Hex)),
        help_heading = heading::INPUT
    )]
    input: InputFormat,
    /// Largest distance [default: the one that the index was built for; the smallest of several]
    #[arg(short = 'k', long, value_name = "K")]
    max_distance: Option<u32>,
    /// Number of threads, which share the queries
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads_from(1), help_heading = heading::RESOURCES)]
    threads: u16,
    /// Drop the file from the page cache before each query
    #[arg(long, conflicts_with = "no_mmap")]
    cold: bool,
    /// Seed for sampling the queries
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    if args.cold && args.threads > 1 {
        return Err(Failure::new("--cold requires a single thread"));
    }
    if args.count > MAX_QUERIES {
        let message = format!("--count {} exceeds the limit of {MAX_QUERIES}", args.count);
        return Err(Failure::new(message));
    }
    let opened = Instant::now();
    let segments = args.index.open()?;
    let open_ms = opened.elapsed().as_secs_f64() * 1e3;
    let mut report = with_segments!(&segments, segments => measure(segments, &args, mode))?;
    report.open_ms = open_ms;
    write_report(stdout(), &report, args.json, |out| report.print(out))?;
    Ok(true)
}

/// The measurements of one thread.
#[derive(Debug, Default)]
struct Measured {
    latencies: Vec<Duration>,
    stats: QueryStats,
    matches: u64,
}

fn measure<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    args: &Args,
    mode: ProgressMode,
) -> Result<BenchReport, Failure> {
    let bar = mode.spinner();
    bar.set_message("choosing queries");
    let queries = match &args.queries {
        Some(path) => query_file::read(path, args.input.0, NO_DOCUMENTS)?,
        None => queries::sample(segments, args)?,
    };
    if queries.is_empty() {
        return Err(Failure::new("there are no queries"));
    }
    let distance = args.max_distance.unwrap_or(segments.max_distance());
    if !args.cold {
        bar.set_message("warming up");
        warm_up(segments, &queries, distance)?;
    }
    bar.set_message("measuring");
    let started = Instant::now();
    let measured = ask_all(segments, &queries, distance, args)?;
    let elapsed = started.elapsed();
    bar.finish_and_clear();

    let count = queries.len() as f64;
    Ok(BenchReport {
        queries: queries.len(),
        threads: args.threads,
        distance,
        cold: args.cold,
        open_ms: 0.0,
        queries_per_second: count / elapsed.as_secs_f64(),
        probes_per_query: measured.stats.probes as f64 / count,
        blocks_per_query: measured.stats.blocks as f64 / count,
        candidates_per_query: measured.stats.candidates as f64 / count,
        matches: measured.matches,
        latency_us: Latency::of(measured.latencies),
    })
}

fn warm_up<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    queries: &[F],
    distance: u32,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut searcher = segments.searcher();
    for &query in queries {
        searcher.query(query, distance)?;
        if started.elapsed() > WARM_UP {
            break;
        }
    }
    Ok(())
}

fn ask_all<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    queries: &[F],
    distance: u32,
    args: &Args,
) -> Result<Measured, Failure> {
    if args.cold {
        let cache = PageCache::of(segments, &args.index.paths)?;
        return ask(segments, queries, distance, true, || {
            cache.iter().try_for_each(PageCache::drop_pages)
        });
    }
    let share = queries.len().div_ceil(args.threads.into());
    let shares: Vec<Result<Measured, Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = queries
            .chunks(share)
            .map(|part| scope.spawn(move || ask(segments, part, distance, false, || Ok(()))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("queries do not panic"))
            .collect()
    });
    let mut all = Measured::default();
    for share in shares {
        let share = share?;
        all.latencies.extend(share.latencies);
        all.stats += share.stats;
        all.matches += share.matches;
    }
    Ok(all)
}

/// Asks the queries one after the other, `prepare` before each and outside of its time.
fn ask<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    queries: &[F],
    distance: u32,
    cold: bool,
    prepare: impl Fn() -> Result<(), Failure>,
) -> Result<Measured, Failure> {
    let mut searcher = segments.searcher();
    searcher.expect_cold_blocks(cold);
    let mut measured = Measured::default();
    measured.latencies.reserve(queries.len());
    for &query in queries {
        prepare()?;
        let started = Instant::now();
        let matches = searcher.query(query, distance)?.len();
        measured.latencies.push(started.elapsed());
        measured.matches += matches as u64;
        measured.stats += searcher.stats();
    }
    Ok(measured)
}
