//! `simidx dump`: the fingerprints of a table, decoded, with their ids.

use std::io::Write;

use simidx::segments::Segments;
use simidx::{Fingerprint, IdKind, Storage};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::id_word::{fingerprints_of, id};
use crate::support::index_file::{IndexArgs, with_segments};
use crate::support::json_ids::{id_to_json, write_ids};
use crate::support::output::stdout;

/// The head of `simidx dump --help` and of its man page.
pub(crate) const HELP: &str = "\
Print the fingerprints of an index with their ids, decoded, in the order of a table.

Examples:
  simidx dump crawl.simidx | head
  simidx dump crawl.simidx --table 1 --permuted
  simidx dump crawl.simidx --id https://example.org/
  simidx dump crawl.simidx --json > fingerprints.jsonl";

/// Arguments of `simidx dump`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Table whose order to print
    #[arg(long, value_name = "T", default_value_t = 0)]
    table: usize,
    /// Print only the fingerprints of the records with this id. May be repeated
    #[arg(long = "id", value_name = "ID", conflicts_with_all = ["table", "permuted"])]
    ids: Vec<String>,
    /// Print permuted values, as they are stored in the table
    #[arg(long)]
    permuted: bool,
    /// Print a JSON object for each fingerprint
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let mut out = stdout();
    with_segments!(args.index.open()?, segments => dump(&segments, &args, &mut out))?;
    out.flush()?;
    Ok(true)
}

fn dump<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    args: &Args,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !args.ids.is_empty() {
        return dump_ids(segments, args, out);
    }
    let mut fingerprints = segments.fingerprints(args.table)?;
    let mut line = Vec::new();
    while let Some(value) = fingerprints.next_permuted() {
        let value = value?;
        let shown = match args.permuted {
            true => value.0,
            false => fingerprints.invert(value),
        }
        .to_hex();
        if args.json {
            // Gathered first: an object is printed whole or not at all.
            line.clear();
            write!(line, r#"{{"fingerprint":"{shown}","ids":"#)?;
            write_ids(&mut line, fingerprints.ids()?)?;
            line.extend_from_slice(b"}\n");
            out.write_all(&line)?;
        } else if segments.id_kind() == IdKind::None {
            writeln!(out, "{shown}")?;
        } else {
            let mut ids = fingerprints.ids()?;
            while let Some(id) = ids.read()? {
                writeln!(out, "{shown}\t{id}")?;
            }
        }
    }
    Ok(())
}

/// Prints the fingerprints of records by their ids.
fn dump_ids<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    args: &Args,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for word in &args.ids {
        for fingerprint in fingerprints_of(segments, word)? {
            let shown = fingerprint.to_hex();
            if args.json {
                let id = id_to_json(id(segments.id_kind(), word)?);
                writeln!(out, r#"{{"fingerprint":"{shown}","ids":[{id}]}}"#)?;
            } else {
                writeln!(out, "{shown}\t{word}")?;
            }
        }
    }
    Ok(())
}
