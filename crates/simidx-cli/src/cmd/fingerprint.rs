//! `simidx fingerprint`: documents in, fingerprints out.

use std::io::Write;

use serde_json::json;
use simidx::Fingerprint;
use simidx_input::RecordId;

use crate::cmd::Answer;
use crate::support::columns::Column;
use crate::support::json::write_json;
use crate::support::json_ids::record_id_to_json;
use crate::support::output::{counted, say, stdout};
use crate::support::progress::ProgressMode;
use crate::support::records::{self, Fingerprinted, InputArgs, Refusal, Sink};
use crate::support::width::with_width;

/// The head of `simidx fingerprint --help` and of its man page.
pub(crate) const HELP: &str = "\
Turn documents into fingerprints.

Each document is a line: its fingerprint, a tab and its id, or its position if it has none.
The default pipeline `web` makes fingerprints by one-bit MinHash; `web,fingerprint=simhash` makes simhashes.

Examples:
  simidx fingerprint docs.jsonl > docs.tsv
  simidx fingerprint chats.parquet --text-field 'messages.*.content'
  simidx fingerprint pages.warc.gz --html yes --json
  simidx fingerprint --input lines --pipeline news-zh --width 128 titles.txt";

/// Arguments of `simidx fingerprint`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Print JSON: an object for each document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    with_width!(args.input.width, F => run_width::<F>(&args, mode))
}

fn run_width<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let mut printer = Printer {
        out: stdout(),
        json: args.json,
    };
    let pipeline = args.input.pipeline.pipeline()?;
    let bar = mode.reading("documents");
    let read = records::read::<F>(&args.input, &pipeline, bar, &mut printer)?;
    printer.out.flush()?;
    if read.without_features > 0 {
        let documents = counted(read.without_features, "document");
        let empty = pipeline.empty_fingerprint::<F>().to_hex();
        say(format_args!(
            "no features in {documents}: the fingerprint {empty} stands for any of them"
        ));
    }
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
            let object = json!({ "fingerprint": fingerprint, "id": record_id_to_json(&id) });
            write_json(&mut self.out, &object).and_then(|()| self.out.write_all(b"\n"))
        } else {
            writeln!(self.out, "{fingerprint}\t{}", Column::of_record(&id))
        };
        Ok(written?)
    }
}
