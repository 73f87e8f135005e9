//! `simidx info`: parameters, tables and compression of an index.

use std::sync::Arc;

use simidx::segments::Segments;
use simidx::{Fingerprint, Index, Storage};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::index_file::{IndexArgs, with_segments};
use crate::support::output::{stdout, write_report};
use crate::support::report::{Report, SegmentReport, TotalReport};

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
    let segments = with_segments!(args.index.open()?, segments => reports(&segments))?;
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

/// The figures of each segment.
fn reports<F: Fingerprint>(segments: &Segments<F, Storage>) -> Result<Vec<SegmentReport>, Failure> {
    let view = segments.view();
    let report = |(number, index): (usize, &Arc<Index<F>>)| {
        let sketches = view.sketches(number)?;
        let summary = index.summary();
        let report = Report::new(&summary, index.pipeline(), index.metadata());
        Ok(SegmentReport {
            path: segments.names()[number].clone(),
            report: report.with_sketches(&summary, sketches.map(|s| s.parameters())),
        })
    };
    segments.segments().iter().enumerate().map(report).collect()
}
