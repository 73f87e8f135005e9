//! The answers to queries, as `query` and `join` print them.

use std::io::Write;

use simidx::index::QueryStats;
use simidx::{IdBuf, Width};
use simidx_text::{Fingerprinter, ParallelFingerprinter};

use crate::support::columns::Column;
use crate::support::failure::Failure;
use crate::support::json::json_style;
use crate::support::quantity::count_from_1;

/// What answers contain and look like; shared by the commands that answer queries.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print at most N matches for each query: the nearest, of equally near ones the smallest
    #[arg(long, value_name = "N", value_parser = count_from_1())]
    pub(crate) limit: Option<u64>,
    /// Print the id of the query as a fifth column, if it has one; the fourth is empty where the index has no ids. JSON has
    /// it in any case
    #[arg(long)]
    pub(crate) query_ids: bool,
    /// Report the cost of the queries: probes, blocks, candidates
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print JSON: an object for each query
    #[arg(long)]
    pub(crate) json: bool,
}

/// A query as its answer names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// That of documents without features, if the query is one.
    pub(crate) fingerprint: u128,
    pub(crate) id: Option<&'a IdBuf>,
    /// Whether the query is a document in which nothing says what it is like: nothing is near it.
    pub(crate) is_without_features: bool,
}

impl<'a> Asked<'a> {
    /// A query by its fingerprint, if it has one.
    pub(crate) fn new(
        fingerprint: Option<u128>,
        fingerprinter: Option<&ParallelFingerprinter>,
        id: Option<&'a IdBuf>,
    ) -> Self {
        let empty = || fingerprinter.map_or(0, ParallelFingerprinter::empty_fingerprint);
        Asked {
            fingerprint: fingerprint.unwrap_or_else(empty),
            id,
            is_without_features: fingerprint.is_none(),
        }
    }

    /// A document without an id.
    pub(crate) fn of_text(text: &str, fingerprinter: &mut Fingerprinter) -> Self {
        let fingerprint = fingerprinter.fingerprint_if_any(text);
        Asked {
            fingerprint: fingerprint.unwrap_or(fingerprinter.empty_fingerprint()),
            id: None,
            is_without_features: fingerprint.is_none(),
        }
    }

    /// Writes a line for each id of a match, or one if it has none.
    ///
    /// # Errors
    /// What `ids` or `out` reports.
    pub(crate) fn write_lines(
        &self,
        (style, width): (AnswerArgs, Width),
        (found, distance): (u128, u32),
        ids: impl Iterator<Item = simidx::Result<IdBuf>>,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let mut line = Vec::with_capacity(width.bytes() * 4 + 8);
        width.extend_hex(self.fingerprint, &mut line);
        line.push(b'\t');
        width.extend_hex(found, &mut line);
        write!(line, "\t{distance}")?;
        let end = match style.query_ids {
            true => match self.id {
                Some(id) => format!("\t{}\n", Column::of(id)),
                None => "\t\n".to_owned(),
            },
            false => "\n".to_owned(),
        };
        let mut has_ids = false;
        for id in ids {
            let id = id?;
            has_ids = true;
            out.write_all(&line)?;
            write!(out, "\t{}{end}", Column::of(&id))?;
        }
        if !has_ids {
            let empty = if style.query_ids { "\t" } else { "" };
            out.write_all(&line)?;
            write!(out, "{empty}{end}")?;
        }
        Ok(())
    }

    /// Writes the beginning of the object of an answer, up to its matches. Names are in alphabetical order.
    ///
    /// # Errors
    /// What `out` reports.
    pub(crate) fn open_object(
        &self,
        stats: Option<QueryStats>,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        json_style().open_answer(out, self.id.map(IdBuf::as_id), stats)
    }

    /// Writes the end of the object after its matches.
    ///
    /// # Errors
    /// What `out` reports.
    pub(crate) fn close_object(
        &self,
        width: Width,
        stats: Option<QueryStats>,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let query = (self.fingerprint, width);
        json_style().close_answer(out, query, self.is_without_features, stats)?;
        out.write_all(b"\n")
    }
}
