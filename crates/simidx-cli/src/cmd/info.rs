//! `simidx info`: parameters, tables and compression of an index.

use std::io::Write;

use crate::cmd::Answer;
use crate::support::indexes::IndexArgs;
use crate::support::output::{stdout, write_object};
use crate::support::report;

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
    let set = args.index.open()?;
    let (figures, mut out) = (report::figures(&set)?, stdout());
    match args.json {
        true => write_object(&mut out, &figures)?,
        false => report::print(&figures, &mut out)?,
    }
    out.flush()?;
    Ok(true)
}
