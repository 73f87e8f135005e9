//! `simidx info`: parameters, tables and compression of an index.

use std::io::{self, Write};

use serde_json::Value;

use crate::cmd::Answer;
use crate::support::indexes::IndexArgs;
use crate::support::output::{Report, stdout, write_report};
use crate::support::report::SetReport;

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
    write_report(stdout(), &SetReport::of(&set)?, args.json)?;
    Ok(true)
}

impl Report for SetReport<'_> {
    fn to_json(&self) -> Value {
        self.to_json()
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print(out)
    }
}
