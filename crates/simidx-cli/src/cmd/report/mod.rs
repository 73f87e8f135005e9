//! `simidx report`: an HTML page on the contents and the quality of indexes.

mod bits;
mod clusters;
mod labels;
mod neighbours;
mod pairs;

use std::path::PathBuf;

use maud::html;
use simidx::{IdKind, Set};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::IndexArgs;
use crate::support::inputs::{FieldArgs, InputFiles};
use crate::support::options::{
    DISTANCES, InputFormat, ResourceArgs, distance_or, heading, input_format,
};
use crate::support::output::Output;
use crate::support::page::{self, POLICY, cut, document, plural};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::report;
use clusters::Clusters;
use labels::Labels;
use pairs::Pairs;

/// Largest number of characters of the indexes' names that are shown.
const TITLE_LEN: usize = 120;

/// The head of `simidx report --help` and of its man page.
pub(crate) const HELP: &str = "\
Write a page to look at: clusters, distances, doubtful pairs and bits.

The page is one HTML file of at most 2 MB that loads nothing and runs nothing. An index holds no texts. \
--texts names the files that have them; the page then shows them side by side, with the differences marked.

Examples:
  simidx report crawl.simidx -o crawl.html
  simidx report crawl.simidx --texts crawl.jsonl.gz -o crawl.html
  simidx report a.simidx b.simidx -k 6 -o week.html";

/// Arguments of `simidx report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// File to write the page to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Largest distance of near-duplicates [default: the one that the index was built for, the smallest of several]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// Files or quoted patterns with the documents whose texts the page shows, found by their ids
    #[arg(long, value_name = "FILE", num_args = 1..)]
    texts: Vec<PathBuf>,
    /// Format of --texts
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", help_heading = heading::INPUT)]
    input: InputFormat,
    #[command(flatten)]
    fields: FieldArgs,
    /// Largest clusters to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count(0..=10_000u32))]
    clusters: u32,
    /// Number of pairs to show just within the distance, and as many just beyond it
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count(0..=10_000u32))]
    pairs: u32,
    /// Number of fingerprints to sample for the chart of nearest neighbours
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = count(0..=100_000u32))]
    sample: u32,
    /// Stop with the count of distances at N pairs, and say so on the page
    #[arg(long, value_name = "N", default_value_t = 50_000_000, value_parser = count(0..=u64::MAX))]
    max_pairs: u64,
    /// Seed for all samples
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    resources: ResourceArgs,
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
    let page = page(&args.index.open()?, args, mode)?;
    output.write(|out| Ok(out.write_all(page.as_bytes())?))?;
    Ok(true)
}

/// The page.
fn page(set: &Set, args: &Args, mode: ProgressMode) -> Result<String, Failure> {
    if set.id_kind() == IdKind::None && !args.texts.is_empty() {
        let message = "the index has no ids, by which --texts are found; build it with --ids";
        return Err(Failure::new(message));
    }
    let distance = args.distance(set)?;
    let spinner = mode.spinner("finding pairs");
    let pairs = Pairs::find(set, args)?;
    spinner.set_message("finding clusters");
    let clusters = Clusters::find(set, args)?;
    spinner.set_message("looking for nearest neighbours");
    let neighbours = neighbours::section(set, args)?;
    spinner.set_message("counting bits");
    let bits = bits::section(set)?;
    let figures = report::figures(set)?;
    spinner.finish_and_clear();

    let mut labels = Labels::new(set, pairs.members().chain(clusters.members()))?;
    if !args.texts.is_empty() {
        labels.read_texts(args, mode)?;
    }
    let lead = html! {
        p {
            "Near-duplicates are fingerprints of " (set.width()) " bits that differ in at most "
            (plural(distance.into(), "bit")) ". Samples are taken by the seed " (args.seed) "."
        }
        @if !args.texts.is_empty() { p { (labels.coverage()) } }
    };
    let mut glance = report::rows(&figures);
    glance.push(("distance of near-duplicates", distance.to_string()));
    glance.push(("pairs within the distance", pairs.within()));
    glance.extend(clusters.figures());
    let sections = [
        (
            "figures",
            "At a glance",
            page::figures("Contents and size", &glance),
        ),
        (
            "distances",
            "Distances",
            html! { (pairs.section()) (neighbours) },
        ),
        ("doubtful", "Doubtful pairs", pairs.doubtful(&labels)?),
        ("clusters", "Clusters", clusters.section(&labels)),
        ("bits", "Bits", bits),
    ];
    let title = cut(&set.names().join(", "), TITLE_LEN);
    Ok(document(&title, POLICY, &lead, &sections))
}

impl Args {
    fn distance(&self, set: &Set) -> Result<u32, Failure> {
        let width = set.width();
        distance_or(
            self.max_distance,
            width,
            set.max_distance().min(width.bits()),
        )
    }
}
