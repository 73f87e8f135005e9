//! `simidx info`: parameters, tables and compression of an index.

use super::Answer;
use super::index_file::{IndexArgs, with_index};
use super::output::{stdout, write_report};
use super::report::Report;

/// Arguments of `simidx info`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: Args) -> Answer {
    let report = with_index!(args.index.open()?, index => {
        Report::new(&index.summary(), index.pipeline())
    });
    write_report(stdout(), &report, args.json, |out| {
        report.print(out)?;
        report.print_details(out)
    })?;
    Ok(true)
}
