//! The answers to queries, as `query` and `join` print them.

use std::io::{self, BufWriter, Write};

use rayon::prelude::*;
use simidx::index::QueryStats;
use simidx::set::{Matches, Question, SetScratch};
use simidx::{Fingerprints, IdBuf, Set, Width};

use crate::support::failure::Failure;
use crate::support::output::{Column, Stdout, json_style, stdout};
use crate::support::quantity::count;
use crate::support::queries::Query;

/// Queries that a thread answers at a time, at most.
const PIECE: usize = 64;

/// Bytes of their answers, at most, that wait until those before them are printed.
const WAITING_LEN: usize = 1 << 20;

/// What answers contain and look like; shared by the commands that answer queries.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print at most N matches for each query: the nearest, of equally near ones the smallest
    #[arg(long, value_name = "N", value_parser = count(1..=u64::MAX))]
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

impl AnswerArgs {
    /// Writes a match of a query: a line for each of its ids, or one if it has none; or an object after `others`.
    ///
    /// # Errors
    /// What `ids` or `out` reports.
    pub(crate) fn write_match(
        self,
        (query, others): (&Query, u64),
        (found, distance, width): (u128, u32, Width),
        ids: impl Iterator<Item = simidx::Result<IdBuf>>,
        out: &mut impl Write,
    ) -> simidx::Result<()> {
        if self.json {
            if others > 0 {
                out.write_all(b",")?;
            }
            return json_style().write_match(out, (found, width), distance, ids);
        }
        let mut line = Vec::with_capacity(width.bytes() * 4 + 8);
        width.extend_hex(query.fingerprint, &mut line);
        line.push(b'\t');
        width.extend_hex(found, &mut line);
        write!(line, "\t{distance}")?;
        let end = match (self.query_ids, &query.id) {
            (true, Some(id)) => format!("\t{}\n", Column::of(id)),
            (true, None) => "\t\n".to_owned(),
            (false, _) => "\n".to_owned(),
        };
        let mut has_ids = false;
        for id in ids {
            let id = id?;
            has_ids = true;
            out.write_all(&line)?;
            write!(out, "\t{}{end}", Column::of(&id))?;
        }
        if !has_ids {
            let empty = if self.query_ids { "\t" } else { "" };
            out.write_all(&line)?;
            write!(out, "{empty}{end}")?;
        }
        Ok(())
    }

    /// Writes the object of an answer, of which `write_matches` writes the matches; as lines these alone. Names are in
    /// alphabetical order.
    ///
    /// # Errors
    /// What `write_matches` or `out` reports.
    pub(crate) fn write_answer<W: Write>(
        self,
        query: &Query,
        width: Width,
        stats: QueryStats,
        out: &mut W,
        write_matches: impl FnOnce(&mut W) -> simidx::Result<()>,
    ) -> simidx::Result<()> {
        if !self.json {
            return write_matches(out);
        }
        let stats = Some(stats).filter(|_| self.stats);
        json_style().open_answer(&mut *out, query.id.as_ref().map(IdBuf::as_id), stats)?;
        write_matches(out)?;
        let named = (query.fingerprint, width);
        json_style().close_answer(&mut *out, named, query.is_without_features, stats)?;
        Ok(out.write_all(b"\n")?)
    }
}

/// Answers and prints queries.
pub(crate) struct Answers<'a> {
    set: &'a Set,
    question: Question,
    style: AnswerArgs,
    scratch: SetScratch,
    out: BufWriter<Stdout>,
    pub(crate) total: QueryStats,
    pub(crate) query_count: u64,
    /// Whether anything was found.
    pub(crate) is_match: bool,
    /// Queries that are documents without features.
    pub(crate) without_features: u64,
}

/// The answers to some queries that were searched for together.
struct Piece {
    bytes: Vec<u8>,
    stats: QueryStats,
    is_match: bool,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(set: &'a Set, question: Question, style: AnswerArgs) -> Self {
        Answers {
            set,
            question,
            style,
            scratch: SetScratch::new(),
            out: stdout(),
            total: QueryStats::default(),
            query_count: 0,
            is_match: false,
            without_features: 0,
        }
    }

    /// Answers queries, several on all threads of the current pool.
    ///
    /// # Errors
    /// Damage, or what standard output reports, after the answers to the queries before.
    pub(crate) fn answer(&mut self, queries: &[Query]) -> Result<(), Failure> {
        if let [only] = queries {
            return self.answer_one(only);
        }
        // What is found together has its cost together.
        let len = match self.style.json && self.style.stats {
            true => 1,
            false => PIECE.min(queries.len().div_ceil(4 * rayon::current_num_threads())),
        };
        let pieces = queries.par_chunks(len.max(1));
        let pieces = pieces.map_init(SetScratch::new, |scratch, piece| self.piece(scratch, piece));
        let pieces: Vec<Option<Piece>> = pieces.collect();
        for (piece, asked) in pieces.into_iter().zip(queries.chunks(len.max(1))) {
            match piece {
                Some(piece) => {
                    self.out.write_all(&piece.bytes)?;
                    self.count(asked, piece.stats, piece.is_match);
                }
                // In smaller pieces, down to one that is printed while its matches are found.
                None => self.answer(asked)?,
            }
        }
        Ok(())
    }

    /// Answers a query and prints what is found at once; an object is printed whole or not at all.
    fn answer_one(&mut self, query: &Query) -> Result<(), Failure> {
        let matches = match query.is_without_features {
            true => None,
            false => {
                let asked = (query.fingerprint, self.question);
                Some(self.set.answer_with(&mut self.scratch, asked.0, asked.1)?)
            }
        };
        let width = self.set.width();
        if self.style.json {
            let mut object = Vec::new();
            write(self.style, width, (query, matches), &mut object)?;
            self.out.write_all(&object)?;
        } else {
            write(self.style, width, (query, matches), &mut self.out)?;
        }
        let stats = matches.map(Matches::stats).unwrap_or_default();
        let is_match = matches.is_some_and(|matches| !matches.is_empty());
        self.count(std::slice::from_ref(query), stats, is_match);
        Ok(())
    }

    /// The answers to queries, which are searched for together; none if they are too long to wait, or one of the queries
    /// cannot be answered.
    fn piece(&self, scratch: &mut SetScratch, queries: &[Query]) -> Option<Piece> {
        let (style, width) = (self.style, self.set.width());
        let mut asked = Fingerprints::new(width);
        let with_features = queries.iter().filter(|query| !query.is_without_features);
        with_features.for_each(|query| asked.push(query.fingerprint));
        let (mut rest, mut out) = (queries.iter(), Bounded(Vec::new()));
        let (mut stats, mut is_match) = (QueryStats::default(), false);
        let visit = |_, matches: Matches<'_, u128>| {
            stats = matches.stats();
            is_match |= !matches.is_empty();
            for query in rest.by_ref() {
                if !query.is_without_features {
                    return write(style, width, (query, Some(matches)), &mut out);
                }
                write(style, width, (query, None), &mut out)?;
            }
            Ok(())
        };
        let found = self
            .set
            .answer_many_with(scratch, &asked, self.question, visit);
        found.ok()?;
        let mut rest = rest.map(|query| write(style, width, (query, None), &mut out));
        rest.all(|written| written.is_ok()).then_some(Piece {
            bytes: out.0,
            stats,
            is_match,
        })
    }

    fn count(&mut self, queries: &[Query], stats: QueryStats, is_match: bool) {
        self.query_count += queries.len() as u64;
        self.total += stats;
        self.is_match |= is_match;
        let without_features = queries.iter().filter(|query| query.is_without_features);
        self.without_features += without_features.count() as u64;
    }

    /// Brings everything to standard output.
    ///
    /// # Errors
    /// What it reports.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// Writes an answer; there is none to a document without features.
fn write<W: Write>(
    style: AnswerArgs,
    width: Width,
    (query, matches): (&Query, Option<Matches<'_, u128>>),
    out: &mut W,
) -> simidx::Result<()> {
    let stats = matches.map(Matches::stats).unwrap_or_default();
    style.write_answer(query, width, stats, out, |out| {
        let hits = matches.into_iter().flat_map(Matches::iter);
        for (number, hit) in (0..).zip(hits) {
            let found = (hit.fingerprint, hit.distance, width);
            style.write_match((query, number), found, hit.ids()?, out)?;
        }
        Ok(())
    })
}

/// Answers that are no longer than may wait.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > WAITING_LEN {
            return Err(io::Error::other("the answers are too long to wait"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
