//! `simidx fingerprint`: documents in, fingerprints out.

use std::io::Write;

use serde_json::json;
use simidx::Fingerprint;
use simidx_input::RecordId;

use crate::cmd::Answer;
use crate::support::output::stdout;
use crate::support::progress::ProgressMode;
use crate::support::records::{self, Fingerprinted, InputArgs, Refusal, Sink};
use crate::support::width::with_width;

/// The head of `simidx fingerprint --help` and of its man page.
pub(crate) const HELP: &str = "\
Turn documents into fingerprints.

Each document is a line: its fingerprint, a tab and its id, or its position if it has none.

Examples:
  simidx fingerprint docs.jsonl > docs.tsv
  simidx fingerprint pages.warc.gz --html yes --json
  simidx fingerprint --input lines --pipeline news-zh --width 128 titles.txt";

/// Arguments of `simidx fingerprint`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// Print a JSON object for each document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    records::start_threads(args.input.threads)?;
    with_width!(args.input.width, F => run_width::<F>(&args, mode))
}

fn run_width<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let mut printer = Printer {
        out: stdout(),
        json: args.json,
    };
    records::read::<F>(
        &args.input,
        &args.input.pipeline.pipeline()?,
        mode.reading("documents"),
        &mut printer,
    )?;
    printer.out.flush()?;
    Ok(true)
}

/// Prints a line for each document.
struct Printer<W> {
    out: W,
    json: bool,
}

impl<F: Fingerprint, W: Write> Sink<F> for Printer<W> {
    fn record(&mut self, record: Fingerprinted<F>) -> Result<(), Refusal> {
        if !record.is_document {
            let message = "is a fingerprint; this command reads documents";
            return Err(Refusal::record(message));
        }
        let id = record.id.unwrap_or(RecordId::Number(record.position));
        let fingerprint = record.fingerprint.to_hex();
        let written = if self.json {
            let id = match &id {
                RecordId::Number(number) => json!(number),
                RecordId::Text(text) => json!(text),
            };
            let object = json!({ "fingerprint": fingerprint, "id": id });
            writeln!(self.out, "{object}")
        } else {
            writeln!(self.out, "{fingerprint}\t{id}")
        };
        Ok(written?)
    }
}
