//! `simidx info`: parameters, tables and compression of an index.

use crate::cmd::Answer;
use crate::support::indexes::IndexArgs;
use crate::support::output::{stdout, write_report};
use crate::support::report::{TotalReport, reports};

/// The head of `simidx info --help` and of its man page.
pub(crate) const HELP: &str = "\
Print the parameters and the compression of an index.

Examples:
  simidx info crawl.simidx
  simidx info monday.simidx tuesday.simidx
  simidx info crawl.simidx --json | jq .bits_per_fingerprint";

/// Arguments of `simidx info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let segments = reports(&args.index.open()?)?;
    match &segments[..] {
        [only] => write_report(stdout(), &only.report, args.json, |out| {
            only.report.print(out)?;
            only.report.print_details(out)
        }),
        _ => {
            let total = TotalReport::of(segments);
            write_report(stdout(), &total, args.json, |out| total.print(out))
        }
    }?;
    Ok(true)
}
