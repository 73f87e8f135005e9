//! `simidx info`: parameters, tables and compression of an index.

use std::io::Write;

use super::Answer;
use super::index_file::{IndexArgs, with_index};
use super::output::stdout;
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
    let mut out = stdout();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        report.print(&mut out)?;
        report.print_details(&mut out)?;
    }
    out.flush()?;
    Ok(true)
}
