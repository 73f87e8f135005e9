//! `simidx idf`: the inverse document frequencies of a corpus, for `--idf`.

mod counting;

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;
use simidx_text::Pipeline;
use simidx_text::stages::Idf;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::InputArgs;
use crate::support::output::Output;
use crate::support::progress::ProgressMode;
use crate::support::quantity::{count, count_from_1};

/// The head of `simidx idf --help` and of its man page.
pub(crate) const HELP: &str = "\
Count in how many documents each feature occurs, and write the inverse document frequencies for --idf.

Examples:
  simidx idf corpus.jsonl.gz -o idf.tsv
  simidx idf 'part-*.parquet' --pipeline news-zh --min-count 5 -o idf.tsv
  simidx build corpus.jsonl.gz --idf idf.tsv -o corpus.simidx";

/// Arguments of `simidx idf`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// File to write the frequencies to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// List only features that occur in at least COUNT documents; the others share a default weight
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = count_from_1())]
    min_count: u64,
    /// List at most N features. When twice as many are held, the rarest are dropped; each takes about 160 bytes of memory
    #[arg(long, value_name = "N", default_value_t = 4_000_000, value_parser = count(1..=u32::MAX))]
    max_features: u32,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print JSON: one object with the report
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    let output = Output::for_text(&args.output, args.force, &args.input.files()?)?;
    let pipeline = unweighted(args)?;
    let (counter, diagnostics) = counting::count(&args.input, &pipeline, args.max_features, mode)?;
    let found = counter.finish(args.min_count);
    output.write(|mut out: &mut (dyn Write + Send)| {
        Ok(found.write(&pipeline.describe(), &mut out)?)
    })?;
    let report = Report {
        document_count: found.document_count,
        skipped_count: diagnostics.skipped_count(),
        replaced_count: diagnostics.replaced_count(),
        feature_count: found.features.len() as u64,
        rare_count: found.rare_count,
        unwritable_count: found.unwritable_count,
        most_missed: found.most_missed,
        default: found.idf(0),
    };
    output.report(&report, args.json, |out| report.print(out))?;
    Ok(true)
}

/// The pipeline up to features: how they are weighed does not matter to their counts.
fn unweighted(args: &Args) -> Result<Pipeline, Failure> {
    let pipeline = args.input.pipeline.unweighted()?;
    if matches!(pipeline.options().idf, Idf::Table(_)) {
        let message = "--idf does not apply here: features are counted, not weighted";
        return Err(Failure::new(message));
    }
    let mut options = pipeline.options().clone();
    options.idf = Idf::None;
    Ok(Pipeline::new(options)?)
}

/// What was counted.
#[derive(Debug, Serialize)]
struct Report {
    document_count: u64,
    skipped_count: u64,
    replaced_count: u64,
    feature_count: u64,
    rare_count: u64,
    unwritable_count: u64,
    most_missed: u64,
    default: f64,
}

impl Report {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for (label, count) in [
            ("documents", self.document_count),
            ("features", self.feature_count),
            ("left out as rare", self.rare_count),
            ("no line can hold", self.unwritable_count),
        ] {
            writeln!(out, "{label:<24}{count}")?;
        }
        if self.most_missed > 0 {
            let label = "counts too low by up to";
            writeln!(out, "{label:<24}{}", self.most_missed)?;
        }
        writeln!(out, "{:<24}{:.6}", "default", self.default)
    }
}
