//! `simidx join`: the matches of a whole batch of queries, found in one run.

use std::io::Write;
use std::path::{Path, PathBuf};

use simidx::batch::{JoinOptions, JoinStrategy, Shard, join};
use simidx::segments::Segments;
use simidx::{Fingerprint, IdKind, Match, Storage};
use simidx_input::Format;

use crate::cmd::Answer;
use crate::support::choices::InputFormat;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, OpenArgs, with_segments};
use crate::support::json_ids::push_match;
use crate::support::output::{cost, counted, say, stdout};
use crate::support::progress::ProgressMode;
use crate::support::query_file;
use crate::support::resources::ResourceArgs;

/// The head of `simidx join --help` and of its man page.
pub(crate) const HELP: &str = "\
Find all matches of a whole batch of queries in one run.

The output is that of `simidx query`. Large batches are faster this way: one pass over the compressed \
fingerprints can answer all of them.

Examples:
  simidx join crawl.simidx new.tsv > matches.tsv
  simidx join monday.simidx tuesday.simidx queries.hex -k 2 --stats
  simidx join crawl.simidx queries.hex --shard 1/4 > first.tsv
  simidx fingerprint new.jsonl | simidx join crawl.simidx -";

/// Arguments of `simidx join`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Index files, which are searched as one, and last the file of the queries; `-` is standard input
    #[arg(value_name = "INDEX... QUERIES", required = true, num_args = 2..)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Format of the queries, which are fingerprints
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
    /// How to find the matches; the result is the same
    #[arg(long, value_enum, value_name = "STRATEGY", default_value_t = StrategyChoice::Auto)]
    strategy: StrategyChoice,
    /// Search only the I-th of N ranges of fingerprints; the lines of all N shards together are the full result
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Report the cost of the queries: probes, blocks, candidates
    #[arg(long)]
    stats: bool,
    /// Print a JSON object for each query
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// How the matches of a batch are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StrategyChoice {
    /// The one that is expected to be faster
    Auto,
    /// Read all fingerprints once and compare them with tables of the queries
    Stream,
    /// Probe the tables of the index for each query
    Probe,
}

impl From<StrategyChoice> for JoinStrategy {
    fn from(choice: StrategyChoice) -> Self {
        match choice {
            StrategyChoice::Auto => JoinStrategy::Auto,
            StrategyChoice::Stream => JoinStrategy::Stream,
            StrategyChoice::Probe => JoinStrategy::Probe,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    args.resources.start_threads()?;
    let mut paths = args.paths.clone();
    let queries = paths.pop().unwrap_or_default();
    let open = args.open.clone();
    let index = IndexArgs { paths, open };
    with_segments!(index.open()?, segments => join_width(&segments, &queries, &args, mode))
}

fn join_width<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    queries: &Path,
    args: &Args,
    mode: ProgressMode,
) -> Answer {
    let refusal = "is a document; simidx fingerprint turns documents into fingerprints";
    let queries = query_file::read::<F>(queries, args.input.0, refusal)?;
    let bar = mode.spinner();
    bar.set_message(format!(
        "joining {}",
        counted(queries.len() as u64, "query")
    ));
    let mut printer = Printer {
        segments,
        queries: &queries,
        json: args.json,
        out: stdout(),
        line: Vec::new(),
        next: 0,
        matches: Vec::new(),
        found: false,
    };
    let options = args.options(segments.max_distance());
    let mut failure = None;
    let joined = join(segments, &queries, &options, |number, found| {
        printer.take(number, found).map_err(|error| {
            // Kept aside: the error of the library has no room for it.
            failure = Some(error);
            std::io::Error::other("the output failed").into()
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let report = joined?;
    printer.finish()?;
    bar.finish_and_clear();
    if args.stats {
        let strategy = match report.strategy {
            JoinStrategy::Probe => "probe",
            _ => "stream",
        };
        say(format_args!(
            "{} by {strategy}: {}",
            counted(queries.len() as u64, "query"),
            cost(report.stats)
        ));
    }
    Ok(printer.found)
}

impl Args {
    fn options(&self, default_distance: u32) -> JoinOptions {
        let mut options = JoinOptions::default();
        options.distance = self.max_distance.unwrap_or(default_distance);
        options.strategy = self.strategy.into();
        options.shard = self.shard.unwrap_or_default();
        options.memory = Some(self.resources.memory_limit());
        options.temp_dir = self.resources.temp_dir.clone();
        options
    }
}

/// Prints matches in the format of `simidx query`.
struct Printer<'a, F, W> {
    segments: &'a Segments<F, Storage>,
    queries: &'a [F],
    json: bool,
    out: W,
    line: Vec<u8>,
    /// The query whose object is printed next.
    next: usize,
    /// Its matches, as the elements of an array.
    matches: Vec<u8>,
    found: bool,
}

impl<F: Fingerprint, W: Write> Printer<'_, F, W> {
    fn take(&mut self, number: usize, found: Match<F>) -> Result<(), Failure> {
        self.found = true;
        if !self.json {
            return self.print_lines(self.queries[number], found);
        }
        self.print_objects_before(number)?;
        let member = found.fingerprint;
        let mut count = 0;
        let ids = self.segments.ids_of(member)?.inspect(|_| count += 1);
        push_match(&mut self.matches, (member, found.distance), ids)?;
        self.check_ids(member, count)
    }

    fn print_lines(&mut self, query: F, found: Match<F>) -> Result<(), Failure> {
        self.line.clear();
        query.extend_hex(&mut self.line);
        self.line.push(b'\t');
        found.fingerprint.extend_hex(&mut self.line);
        write!(self.line, "\t{}", found.distance)?;
        let mut ids = 0u64;
        for id in self.segments.ids_of(found.fingerprint)? {
            let id = id?;
            ids += 1;
            self.out.write_all(&self.line)?;
            writeln!(self.out, "\t{id}")?;
        }
        self.check_ids(found.fingerprint, ids)?;
        if ids == 0 {
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    /// In an index with ids, a match without one is missing from table 0: the index is damaged.
    fn check_ids(&self, member: F, ids: u64) -> Result<(), Failure> {
        if ids > 0 || self.segments.id_kind() == IdKind::None {
            return Ok(());
        }
        let names = self.segments.names().join(", ");
        let message = format!(
            "damaged index: no table 0 holds {}, which another table holds",
            member.to_hex()
        );
        Err(Failure::new(message).about(names))
    }

    /// Prints the objects of the queries before one.
    fn print_objects_before(&mut self, number: usize) -> Result<(), Failure> {
        while self.next < number {
            let query = self.queries[self.next].to_hex();
            self.out.write_all(br#"{"matches":["#)?;
            self.out.write_all(&self.matches)?;
            writeln!(self.out, r#"],"query":"{query}"}}"#)?;
            self.matches.clear();
            self.next += 1;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if self.json {
            self.print_objects_before(self.queries.len())?;
        }
        Ok(self.out.flush()?)
    }
}
