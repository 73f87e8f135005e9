//! `simidx build`: records in, an index file out.

mod collector;
mod report;

use std::io::Write;
use std::path::PathBuf;

use indicatif::ProgressBar;
use simidx::{BuildStage, Fingerprint};

use crate::cli::Answer;
use crate::cli::index_file::with_width;
use crate::cli::output::{Output, stdout, write_report};
use crate::cli::progress::ProgressMode;
use crate::cli::records::{self, InputArgs};
use crate::cli::report::Report;
use collector::Collector;
use report::{BuildReport, Clock};

/// Arguments of `simidx build`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// The index file to write, `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Distance that the tables are chosen for; queries may ask for any
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    max_distance: u32,
    /// Number of tables: auto, or one for which there is a design (1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35 for k = 3)
    #[arg(long, value_name = "N", default_value = "auto")]
    tables: String,
    /// Bytes of a block, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 512)]
    block_size: u32,
    /// How tables are coded: auto is ef unless a Huffman code saves a tenth
    #[arg(long, value_name = "CODEC", default_value = "auto", value_parser = ["auto", "xor", "gap", "ef"])]
    codec: String,
    /// What ids to store: auto takes string ids for documents, the id column where there is one
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = ["none", "number", "string", "auto"])]
    ids: String,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: Args, mode: ProgressMode) -> Answer {
    args.input.start_threads()?;
    with_width!(args.input.width.as_str(), F => run_width::<F>(&args, mode))
}

fn run_width<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let output = Output::new(&args.output, args.force)?;
    let mut collector = Collector::<F>::new(args)?;
    let mut clock = Clock::start();
    let bar = mode.reading("records");
    let counts = records::read(&args.input, bar, &mut collector)?;
    clock.end(|seconds| &mut seconds.read);
    let (builder, pipeline) = collector.finish()?;

    let bar = mode.spinner();
    let summary = output.write(|out| {
        let summary = builder.finish_with(out, |stage| {
            clock.end_stage();
            clock.stage = Some(stage);
            show_stage(&bar, stage);
        })?;
        clock.end_stage();
        Ok(summary)
    })?;
    clock.end(|seconds| &mut seconds.write);
    bar.finish_and_clear();

    let report = BuildReport {
        index: Report::new(&summary, pipeline.as_deref()),
        skipped_count: counts.skipped,
        seconds: clock.total(),
        stage_seconds: clock.stages,
    };
    let print = |out: &mut dyn Write| report.print(out);
    // With the index on stdout the report must not mix with it.
    if output.is_stdout() {
        write_report(std::io::stderr(), &report, args.json, print)?;
    } else {
        write_report(stdout(), &report, args.json, print)?;
    }
    Ok(true)
}

fn show_stage(bar: &ProgressBar, stage: BuildStage) {
    bar.set_message(match stage {
        BuildStage::SortRecords => "sorting the records".to_owned(),
        BuildStage::SortTable(table) => format!("sorting table {table}"),
        BuildStage::EncodeTable(table) => format!("encoding table {table}"),
        _ => "writing the ids".to_owned(),
    });
}
