//! `simidx report`: a page to look at, on what indexes hold and how well.

mod bits;
mod clusters;
mod distances;
mod entries;
mod figures;
mod latency;
mod neighbours;
mod texts;

use std::path::PathBuf;

use simidx::{IdKind, Set};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::IndexArgs;
use crate::support::inputs::{FieldArgs, InputFiles};
use crate::support::messages::counted;
use crate::support::options::{InputFormat, ResourceArgs, distance, heading};
use crate::support::output::Output;
use crate::support::page::{Document, Html};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use entries::Labels;

/// The head of `simidx report --help` and of its man page.
pub(crate) const HELP: &str = "\
Write a page to look at: clusters, distances, doubtful pairs, bits, compression and latency.

The page is one HTML file of at most 2 MB that loads nothing and runs nothing. An index holds no texts: with \
--texts they stand side by side, with the differences marked.

Examples:
  simidx report crawl.simidx -o crawl.html
  simidx report crawl.simidx --texts crawl.jsonl.gz -o crawl.html
  simidx report a.simidx b.simidx -k 6 --latency-queries 0 -o week.html";

/// Arguments of `simidx report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// File to write the page to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Largest distance of near-duplicates [default: the one that the index was built for, the smallest of several]
    #[arg(short = 'k', long, value_name = "K", value_parser = distance())]
    max_distance: Option<u32>,
    /// Files or quoted patterns with the documents, of which the texts are shown; they are found by their ids
    #[arg(long, value_name = "FILE", num_args = 1..)]
    texts: Vec<PathBuf>,
    /// Format of --texts
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = InputFormat(None), help_heading = heading::INPUT)]
    input: InputFormat,
    #[command(flatten)]
    fields: FieldArgs,
    /// Largest clusters to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count(0..=10_000u32))]
    clusters: u32,
    /// Doubtful pairs to show, on each side of the distance
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count(0..=10_000u32))]
    pairs: u32,
    /// Largest number of fingerprints of which the nearest other one is looked for
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = count(0..=100_000u32))]
    sample: u32,
    /// Queries to measure the latency with; 0 leaves it out, and the page is the same each time
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count(0..=1_000_000u32))]
    latency_queries: u32,
    /// Stop with the distances after N pairs, and say so on the page
    #[arg(long, value_name = "N", default_value_t = 50_000_000, value_parser = count(0..=u64::MAX))]
    max_pairs: u64,
    /// Seed for all samples
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(super) resources: ResourceArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    let mut inputs = InputFiles::new(args.index.files()?);
    for path in &args.texts {
        inputs.add(simidx_input::expand(path, None)?);
    }
    let output = Output::for_text(&args.output, args.force, &inputs)?;
    if args.texts.is_empty() && args.fields.are_given() {
        let message = format!("{} require --texts", FieldArgs::NAMES);
        return Err(Failure::new(message));
    }
    let document = of_set(&args.index.open()?, args, mode)?;
    output.write(|out| Ok(document.write(out)?))?;
    Ok(true)
}

/// The page.
fn of_set(set: &Set, args: &Args, mode: ProgressMode) -> Result<Document, Failure> {
    if set.id_kind() == IdKind::None && !args.texts.is_empty() {
        let message = "the index has no ids, by which --texts are found; build it with --ids";
        return Err(Failure::new(message));
    }
    let distance = args.distance(set);
    let spinner = mode.spinner();
    spinner.set_message("finding pairs");
    let pairs = distances::Pairs::find(set, args)?;
    spinner.set_message("finding clusters");
    let found = clusters::Clusters::find(set, args)?;
    spinner.set_message("looking for nearest neighbours");
    let neighbours = neighbours::find(set, args)?;
    spinner.set_message("looking at bits and tables");
    let bits = bits::section(set, distance)?;
    spinner.set_message("measuring");
    let latency = latency::section(set, args)?;
    spinner.finish_and_clear();

    let shown = pairs.members().chain(found.members());
    let mut labels = Labels::new(set, shown)?;
    if !args.texts.is_empty() {
        texts::read(args, set.width(), &mut labels, mode)?;
    }
    let mut page = Document::new(&args.title(set), lead(set, &labels, args));
    page.section(
        "figures",
        "At a glance",
        &figures::section(set, args, &pairs, &found),
    );
    page.section(
        "distances",
        "Distances",
        &distances::section(&pairs, &neighbours, distance),
    );
    page.section("doubtful", "Doubtful pairs", &pairs.doubtful(&labels, args));
    page.section("clusters", "Clusters", &found.section(&labels, args));
    page.section("bits", "Bits", &bits);
    page.section("compression", "Compression", &figures::compression(set));
    if let Some(latency) = latency {
        page.section("latency", "Latency", &latency);
    }
    Ok(page)
}

/// What the page is about.
fn lead(set: &Set, labels: &Labels, args: &Args) -> Html {
    let mut lead = Html::new();
    lead.paragraph(format!(
        "Near-duplicates are fingerprints of {} bits that differ in at most {}. Samples are taken by the seed {}.",
        set.width().bits(),
        counted(args.distance(set).into(), "bit"),
        args.seed
    ));
    if !args.texts.is_empty() {
        lead.paragraph(labels.coverage());
    }
    lead
}

impl Args {
    fn distance(&self, set: &Set) -> u32 {
        self.max_distance
            .unwrap_or(set.max_distance())
            .min(set.width().bits())
    }

    fn title(&self, set: &Set) -> String {
        match set.names() {
            [only] => figures::cut(only),
            [first, rest @ ..] => format!("{} and {}", figures::cut(first), rest_of(rest.len())),
            [] => String::new(),
        }
    }
}

fn rest_of(count: usize) -> String {
    match count {
        1 => "another index".to_owned(),
        _ => format!("{count} other indexes"),
    }
}
