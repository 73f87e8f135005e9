//! `simidx bench`: the latency of queries on an index.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use simidx::input::{self, Content, Format};
use simidx::{Fingerprint, Index, QueryStats, Storage};

use super::Answer;
use super::failure::Failure;
use super::index_file::{IndexArgs, with_index};
use super::output::stdout;
use super::progress::ProgressMode;
use super::records::{InputFormat, refused, threads_from};

/// Longest time spent on queries that are not measured.
const WARM_UP: Duration = Duration::from_secs(3);

/// Most queries that are sampled: they are held in memory.
const MAX_QUERIES: usize = 100_000_000;

/// Most bits that are flipped in a member to make a query: some matches, some near misses.
const MAX_FLIPS: u32 = 5;

/// Arguments of `simidx bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Number of queries: half members with 0 to 5 flipped bits, half random
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        conflicts_with = "queries"
    )]
    count: usize,
    /// Ask these fingerprints instead
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// How the queries are written: hex, dec or le
    #[arg(long, value_name = "FORMAT", default_value = "hex")]
    input: InputFormat,
    /// Largest distance; the default is the one that the index was built for
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Threads that ask, each its share of the queries
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads_from(1))]
    threads: u16,
    /// Before each query drop the file from the page cache
    #[arg(long, conflicts_with = "no_mmap")]
    cold: bool,
    /// Seed of the sampled queries
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: Args, mode: ProgressMode) -> Answer {
    if args.cold && args.threads > 1 {
        return Err(Failure::new("--cold measures with one thread"));
    }
    if args.count > MAX_QUERIES {
        let message = format!("--count {}: the limit is {MAX_QUERIES}", args.count);
        return Err(Failure::new(message));
    }
    let opened = Instant::now();
    let index = args.index.open()?;
    let open_ms = opened.elapsed().as_secs_f64() * 1e3;
    let mut report = with_index!(&index, index => measure(index, &args, mode))?;
    report.open_ms = open_ms;
    let mut out = stdout();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        report.print(&mut out)?;
    }
    out.flush()?;
    Ok(true)
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

#[derive(Debug, Serialize)]
struct Latency {
    p50: f64,
    p90: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
    mean: f64,
}

/// What one thread saw.
#[derive(Debug, Default)]
struct Measured {
    latencies: Vec<Duration>,
    stats: QueryStats,
    matches: u64,
}

fn measure<F: Fingerprint>(
    index: &Index<F, Storage>,
    args: &Args,
    mode: ProgressMode,
) -> Result<BenchReport, Failure> {
    let blame = |failure: Failure| args.index.blame(failure);
    let bar = mode.spinner();
    bar.set_message("choosing queries");
    let queries = match &args.queries {
        Some(path) => read_queries(path, args.input.0)?,
        None => sample_queries(index, args).map_err(blame)?,
    };
    if queries.is_empty() {
        return Err(Failure::new("there are no queries to ask"));
    }
    let distance = args.distance.unwrap_or(index.max_distance());
    if !args.cold {
        bar.set_message("warming up");
        warm_up(index, &queries, distance).map_err(blame)?;
    }
    bar.set_message("measuring");
    let started = Instant::now();
    let measured = ask_all(index, &queries, distance, args).map_err(blame)?;
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

fn read_queries<F: Fingerprint>(path: &Path, format: Option<Format>) -> Result<Vec<F>, Failure> {
    let mut reader = input::open::<F>(path, format)?;
    let mut queries = Vec::new();
    while let Some(record) = reader.next_record() {
        match record?.content {
            Content::Fingerprint(fingerprint) => queries.push(fingerprint),
            Content::Text(_) => {
                let message = "a document; queries are fingerprints";
                let (source, place) = reader.place();
                return Err(refused(source, place, message));
            }
        }
    }
    Ok(queries)
}

/// Half members, each with 0 to 5 distinct bits flipped, half uniformly random, in turn.
fn sample_queries<F: Fingerprint>(
    index: &Index<F, Storage>,
    args: &Args,
) -> Result<Vec<F>, Failure> {
    let mut rng = SmallRng::seed_from_u64(args.seed);
    let wanted = if index.is_empty() { 0 } else { args.count / 2 };
    let mut ranks: Vec<u64> = (0..wanted)
        .map(|_| rng.random_range(0..index.fingerprint_count()))
        .collect();
    ranks.sort_unstable();
    let mut queries = Vec::with_capacity(args.count);
    let mut fingerprints = index.fingerprints(0)?;
    let (mut next_rank, mut member) = (0, F::ZERO);
    for rank in ranks {
        while next_rank <= rank {
            let next = fingerprints.next().transpose()?;
            member = next.ok_or_else(|| Failure::new("table 0 ends early"))?;
            next_rank += 1;
        }
        queries.push(flip(member, &mut rng));
    }
    queries.extend((wanted..args.count).map(|_| F::from_u128(rng.random())));
    queries.shuffle(&mut rng);
    Ok(queries)
}

/// The fingerprint with 0 to 5 distinct bits flipped.
fn flip<F: Fingerprint>(fingerprint: F, rng: &mut SmallRng) -> F {
    let flips = rng.random_range(0..=MAX_FLIPS);
    let mut flipped = fingerprint;
    while flipped.distance(fingerprint) < flips {
        flipped = flipped | fingerprint ^ F::from_u128(1) << rng.random_range(0..F::WIDTH);
    }
    flipped
}

fn warm_up<F: Fingerprint>(
    index: &Index<F, Storage>,
    queries: &[F],
    distance: u32,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut searcher = index.searcher();
    for &query in queries {
        searcher.query(query, distance)?;
        if started.elapsed() > WARM_UP {
            break;
        }
    }
    Ok(())
}

fn ask_all<F: Fingerprint>(
    index: &Index<F, Storage>,
    queries: &[F],
    distance: u32,
    args: &Args,
) -> Result<Measured, Failure> {
    if args.cold {
        let cache = PageCache::new(index, &args.index.index)?;
        return ask(index, queries, distance, || cache.drop_pages());
    }
    let share = queries.len().div_ceil(args.threads.into());
    let shares: Vec<Result<Measured, Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = queries
            .chunks(share)
            .map(|part| scope.spawn(move || ask(index, part, distance, || Ok(()))))
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
    index: &Index<F, Storage>,
    queries: &[F],
    distance: u32,
    prepare: impl Fn() -> Result<(), Failure>,
) -> Result<Measured, Failure> {
    let mut searcher = index.searcher();
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

/// The page cache of the index file, to be emptied.
struct PageCache<'a, F> {
    index: &'a Index<F, Storage>,
    file: File,
}

impl<'a, F: Fingerprint> PageCache<'a, F> {
    fn new(index: &'a Index<F, Storage>, path: &Path) -> Result<Self, Failure> {
        Ok(PageCache {
            index,
            file: File::open(path)?,
        })
    }

    fn drop_pages(&self) -> Result<(), Failure> {
        self.index.storage().release_pages()?;
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)
            .map_err(|error| Failure::from(std::io::Error::from(error)))
    }
}

impl Latency {
    /// The figures of at least one latency.
    fn of(mut latencies: Vec<Duration>) -> Self {
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

impl BenchReport {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let l = &self.latency_us;
        let cache = if self.cold { "cold" } else { "warm" };
        writeln!(
            out,
            "{} queries within distance {}, {} threads, {cache}",
            self.queries, self.distance, self.threads
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
