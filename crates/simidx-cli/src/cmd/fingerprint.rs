//! `simidx fingerprint`: prints the fingerprints of documents.

use std::io::{self, BufWriter, Write};

use serde_json::json;
use simidx::IdBuf;
use simidx_input::Escaped;
use simidx_text::{Feature, Pipeline};

use crate::cmd::Answer;
use crate::support::inputs::InputArgs;
use crate::support::messages::{counted, say};
use crate::support::options::ThreadArgs;
use crate::support::output::{Column, Stdout, id_to_json, stdout, write_object};
use crate::support::progress::ProgressMode;
use crate::support::records::{self, Fingerprinted, Refusal, Sink};

/// The head of `simidx fingerprint --help` and of its man page.
pub(crate) const HELP: &str = "\
Turn documents into fingerprints.

Each document is a line: its fingerprint, a tab and its id, or its position if it has none.
With --text the document is an argument; --show-features then adds a line for each feature: its weight, a tab and itself.
The default pipeline `web` makes fingerprints by one-bit MinHash; `web,fingerprint=simhash` makes simhashes.

Examples:
  simidx fingerprint docs.jsonl > docs.tsv
  simidx fingerprint chats.parquet --text-field 'messages.*.content'
  simidx fingerprint pages.warc.gz --html yes --json
  simidx fingerprint --input lines --pipeline short --width 128 titles.txt
  simidx fingerprint --text 'The cat sat on the mat.' --show-features";

/// Arguments of `simidx fingerprint`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Text of a document: fingerprint this one
    #[arg(long, value_name = "TEXT", conflicts_with_all = [
        "inputs", "input", "text_field", "fingerprint_field", "id_field", "delimiter", "encoding",
    ])]
    text: Option<String>,
    /// List the features of --text with their weights, in the order in which they occur
    #[arg(long, requires = "text", conflicts_with = "inputs")]
    show_features: bool,
    /// How fingerprints are printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Notation::Hex)]
    output_format: Notation,
    /// Print JSON: an object for each document
    #[arg(long)]
    json: bool,
}

/// The notation of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Notation {
    /// Hexadecimal digits
    Hex,
    /// A decimal number
    Dec,
    /// Binary digits, the most significant first
    Bin,
}

impl Notation {
    fn write(self, fingerprint: u128, width: simidx::Width) -> String {
        match self {
            Notation::Hex => width.to_hex(fingerprint),
            Notation::Dec => fingerprint.to_string(),
            Notation::Bin => {
                let width = width.bits() as usize;
                format!("{fingerprint:0width$b}")
            }
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let args = &args;
    let width = args.input.width;
    let mut printer = Printer {
        out: stdout(),
        json: args.json,
        notation: args.output_format,
        width,
    };
    let pipeline = args.input.pipeline.pipeline()?;
    if let Some(text) = &args.text {
        let mut fingerprinter = pipeline.fingerprinter(width)?;
        let features = match args.show_features {
            true => Some(fingerprinter.features(text)),
            false => None,
        };
        let fingerprint = fingerprinter.fingerprint_if_any(text);
        printer.print(
            fingerprint.unwrap_or_else(|| pipeline.empty_fingerprint(width)),
            &IdBuf::Number(0),
            features.as_deref(),
        )?;
        printer.out.flush()?;
        say_stand_in(&pipeline, args, width, u64::from(fingerprint.is_none()));
        return Ok(true);
    }
    let reading = (mode, "reading", "documents");
    let read = records::read(&args.input, &pipeline, reading, &mut printer)?;
    printer.out.flush()?;
    say_stand_in(&pipeline, args, width, read.without_features);
    Ok(true)
}

/// Reports that a fingerprint represents documents without features, if there are any.
fn say_stand_in(pipeline: &Pipeline, args: &Args, width: simidx::Width, count: u64) {
    if count > 0 {
        let documents = counted(count, "document");
        let empty = pipeline.empty_fingerprint(width);
        let empty = args.output_format.write(empty, width);
        say(format_args!(
            "no features in {documents}: the fingerprint {empty} is a placeholder"
        ));
    }
}

/// Prints a line for each document.
struct Printer {
    out: BufWriter<Stdout>,
    json: bool,
    notation: Notation,
    width: simidx::Width,
}

impl Printer {
    /// Prints a document, and its features if requested.
    fn print(
        &mut self,
        fingerprint: u128,
        id: &IdBuf,
        features: Option<&[Feature]>,
    ) -> io::Result<()> {
        let fingerprint = self.notation.write(fingerprint, self.width);
        if self.json {
            let mut object = json!({ "fingerprint": fingerprint, "id": id_to_json(id.as_id()) });
            if let Some(features) = features {
                let feature = |f: &Feature| json!({ "feature": f.text, "weight": f.weight });
                object["features"] = features.iter().map(feature).collect();
            }
            return write_object(&mut self.out, &object);
        }
        writeln!(self.out, "{fingerprint}\t{}", Column::of(id))?;
        for feature in features.unwrap_or_default() {
            let (weight, text) = (feature.weight, Escaped(&feature.text));
            writeln!(self.out, "{weight:.3}\t{text}")?;
        }
        Ok(())
    }
}

impl Sink for Printer {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        if !record.is_document {
            let message = "is a fingerprint; this command reads documents";
            return Err(Refusal::record(message));
        }
        let id = record.id.unwrap_or(IdBuf::Number(record.position));
        Ok(self.print(record.fingerprint, &id, None)?)
    }
}
