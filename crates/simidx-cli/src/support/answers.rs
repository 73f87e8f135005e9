//! The answers to queries, as `query` and `join` print them.

use std::io::{BufWriter, Write};

use rayon::prelude::*;
use simidx::index::QueryStats;
use simidx::set::{Matches, Question, SetScratch};
use simidx::{Error, Fingerprints, IdBuf, Set, Width};

use crate::support::failure::Failure;
use crate::support::output::{Column, Stdout, json_style, stdout};
use crate::support::quantity::count_from_1;
use crate::support::queries::Query;

/// Bytes of answers that are waited for, if they come that long.
const WAITING_LEN: usize = 4 << 20;

/// Queries that a thread answers at a time, at most.
const PIECE: usize = 64;

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
    out: BufWriter<Stdout>,
    /// Queries that are answered before anything is printed.
    round: usize,
    pub(crate) total: QueryStats,
    pub(crate) query_count: u64,
    /// Whether anything was found.
    pub(crate) is_match: bool,
    /// Queries that are documents without features.
    pub(crate) without_features: u64,
}

/// The answers to some queries, up to the first that cannot be answered.
struct Piece {
    bytes: Vec<u8>,
    stats: QueryStats,
    is_match: bool,
    end: Result<(), Error>,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(set: &'a Set, question: Question, style: AnswerArgs) -> Self {
        Answers {
            set,
            question,
            style,
            out: stdout(),
            round: 1,
            total: QueryStats::default(),
            query_count: 0,
            is_match: false,
            without_features: 0,
        }
    }

    /// Answers queries on all threads of the current pool.
    ///
    /// # Errors
    /// Damage, or what standard output reports.
    pub(crate) fn answer(&mut self, mut queries: &[Query]) -> Result<(), Failure> {
        let threads = rayon::current_num_threads();
        while !queries.is_empty() {
            let (round, later) = queries.split_at(queries.len().min(self.round * threads));
            queries = later;
            let len = round.len().div_ceil(4 * threads).min(PIECE);
            let pieces = round.par_chunks(len);
            let pieces: Vec<Piece> = pieces
                .map_init(SetScratch::new, |scratch, queries| {
                    self.piece(scratch, queries)
                })
                .collect();
            let mut waiting_len = 0;
            for piece in pieces {
                waiting_len += piece.bytes.len();
                self.out.write_all(&piece.bytes)?;
                self.total += piece.stats;
                self.is_match |= piece.is_match;
                piece.end?;
            }
            self.query_count += round.len() as u64;
            let without_features = round.iter().filter(|query| query.is_without_features);
            self.without_features += without_features.count() as u64;
            // Answers that turn out long are not waited for by the thousand.
            self.round = match waiting_len > WAITING_LEN {
                true => self.round.div_ceil(4),
                false => self.round.saturating_mul(2),
            };
        }
        Ok(())
    }

    /// The answers to some queries, on this thread.
    fn piece(&self, scratch: &mut SetScratch, queries: &[Query]) -> Piece {
        let mut piece = Piece {
            bytes: Vec::new(),
            stats: QueryStats::default(),
            is_match: false,
            end: Ok(()),
        };
        // What is found together has its cost together.
        let together = match self.style.json && self.style.stats {
            true => 1,
            false => queries.len(),
        };
        for queries in queries.chunks(together) {
            piece.end = self.add_to(&mut piece, scratch, queries);
            if piece.end.is_err() {
                break;
            }
        }
        piece
    }

    /// Adds the answers to queries that are searched for together.
    fn add_to(
        &self,
        piece: &mut Piece,
        scratch: &mut SetScratch,
        queries: &[Query],
    ) -> simidx::Result<()> {
        let mut asked = Fingerprints::new(self.set.width());
        let with_features = queries.iter().filter(|query| !query.is_without_features);
        with_features.for_each(|query| asked.push(query.fingerprint));
        let (mut rest, mut stats) = (queries.iter(), QueryStats::default());
        let visit = |_, matches: Matches<'_, u128>| {
            stats = matches.stats();
            for query in rest.by_ref() {
                if !query.is_without_features {
                    return self.write(query, Some(matches), piece);
                }
                self.write(query, None, piece)?;
            }
            Ok(())
        };
        self.set
            .answer_many_with(scratch, &asked, self.question, visit)?;
        piece.stats += stats;
        rest.try_for_each(|query| self.write(query, None, piece))
    }

    /// Writes an answer, whole or not at all.
    fn write(
        &self,
        query: &Query,
        matches: Option<Matches<'_, u128>>,
        piece: &mut Piece,
    ) -> simidx::Result<()> {
        let (style, width, start) = (self.style, self.set.width(), piece.bytes.len());
        let stats = matches.map(Matches::stats).unwrap_or_default();
        let written = style.write_answer(query, width, stats, &mut piece.bytes, |out| {
            let hits = matches.into_iter().flat_map(Matches::iter);
            for (number, hit) in (0..).zip(hits) {
                let found = (hit.fingerprint, hit.distance, width);
                style.write_match((query, number), found, hit.ids()?, out)?;
            }
            Ok(())
        });
        if written.is_err() {
            piece.bytes.truncate(start);
        }
        piece.is_match |= matches.is_some_and(|matches| !matches.is_empty());
        written
    }

    /// Brings everything to standard output.
    ///
    /// # Errors
    /// What it reports.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}
