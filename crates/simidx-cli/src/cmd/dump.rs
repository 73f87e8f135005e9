//! `simidx dump`: the fingerprints of a table, decoded, with their ids.

use std::io::Write;

use simidx::{IdKind, Set};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, IndexArgs};
use crate::support::output::{Column, json_style, stdout};
use crate::support::quantity::count;

/// The head of `simidx dump --help` and of its man page.
pub(crate) const HELP: &str = "\
Print the fingerprints of an index with their ids, decoded, in the order of a table.

Examples:
  simidx dump crawl.simidx | head
  simidx dump crawl.simidx --table 1 --permuted
  simidx dump crawl.simidx --json > fingerprints.jsonl";

/// Arguments of `simidx dump`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Table whose order to print
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = count(0..=u8::MAX))]
    table: u8,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Print permuted values, as they are stored in the table
    #[arg(long)]
    permuted: bool,
    /// Print JSON: an object for each fingerprint
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let mut out = stdout();
    dump(&args.exclude.apply(args.index.open()?)?, &args, &mut out)?;
    out.flush()?;
    Ok(true)
}

fn dump(set: &Set, args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.table == 0 && !args.permuted && set.id_kind() != IdKind::None {
        return dump_records(set, args, out);
    }
    let mut fingerprints = set.fingerprints(args.table.into())?;
    let mut line = Vec::new();
    while let Some(fingerprint) = fingerprints.next() {
        let fingerprint = fingerprint?;
        let shown = match args.permuted {
            true => fingerprints.permuted(fingerprint),
            false => fingerprint,
        };
        let shown = set.width().to_hex(shown);
        if args.json {
            // The line is assembled first: an object is printed completely or not at all.
            line.clear();
            write!(line, r#"{{"fingerprint":"{shown}","ids":"#)?;
            json_style().write_ids(&mut line, fingerprints.ids()?)?;
            line.extend_from_slice(b"}\n");
            out.write_all(&line)?;
        } else if set.id_kind() == IdKind::None {
            writeln!(out, "{shown}")?;
        } else {
            let mut ids = fingerprints.ids()?;
            while let Some(id) = ids.read()? {
                writeln!(out, "{shown}\t{}", Column(id))?;
            }
        }
    }
    Ok(())
}

/// Prints all records in order.
fn dump_records(set: &Set, args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let mut records = set.records()?;
    let (mut line, mut open) = (Vec::new(), None);
    while let Some((fingerprint, id)) = records.read()? {
        if !args.json {
            line.clear();
            set.width().extend_hex(fingerprint, &mut line);
            out.write_all(&line)?;
            writeln!(out, "\t{}", Column(id))?;
            continue;
        }
        if open == Some(fingerprint) {
            line.push(b',');
        } else {
            end_object(&mut line, out)?;
            let shown = set.width().to_hex(fingerprint);
            write!(line, r#"{{"fingerprint":"{shown}","ids":["#)?;
            open = Some(fingerprint);
        }
        json_style().write_id(&mut line, id)?;
    }
    match args.json {
        true => end_object(&mut line, out),
        false => Ok(()),
    }
}

/// Prints the object of a fingerprint, if there is one, completely or not at all.
fn end_object(line: &mut Vec<u8>, out: &mut dyn Write) -> Result<(), Failure> {
    if !line.is_empty() {
        line.extend_from_slice(b"]}\n");
        out.write_all(line)?;
        line.clear();
    }
    Ok(())
}
