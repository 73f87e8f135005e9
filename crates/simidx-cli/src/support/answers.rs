//! The answers to queries, as `query` and `join` print them.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use simidx::index::QueryStats;
use simidx::set::{Matches, Question, SetScratch};
use simidx::{Error, Fingerprints, IdBuf, Set, Width};

use crate::support::failure::Failure;
use crate::support::output::{Column, Stdout, json_style, stdout};
use crate::support::quantity::count;
use crate::support::queries::Query;

/// Bytes of answers that wait until those before them are printed, at most, for each thread that finds another one meanwhile.
const WAITING_LEN: usize = 4 << 20;

/// Queries that a thread answers at a time, at most.
const PIECE: usize = 64;

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
    /// Queries that are searched for together: few after answers that were long.
    together: usize,
    pub(crate) total: QueryStats,
    pub(crate) query_count: u64,
    /// Whether anything was found.
    pub(crate) is_match: bool,
    /// Queries that are documents without features.
    pub(crate) without_features: u64,
}

/// The answers to some queries.
struct Piece {
    bytes: Vec<u8>,
    /// How many of the queries are answered, from the first on.
    count: usize,
    stats: QueryStats,
    is_match: bool,
    /// Why the next query cannot be answered.
    end: Result<(), Error>,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(set: &'a Set, question: Question, style: AnswerArgs) -> Self {
        Answers {
            set,
            question,
            style,
            scratch: SetScratch::new(),
            out: stdout(),
            together: 1,
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
    pub(crate) fn answer(&mut self, mut queries: &[Query]) -> Result<(), Failure> {
        while queries.len() > 1 {
            queries = &queries[self.answer_together(queries)?..];
            // An answer that is too long to wait is printed while it is found.
            if let [first, later @ ..] = queries {
                self.answer_one(first)?;
                queries = later;
            }
        }
        queries.iter().try_for_each(|query| self.answer_one(query))
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

    /// Answers queries on all threads, and prints the answers up to the first one that is too long to wait. Returns how many
    /// queries are answered.
    fn answer_together(&mut self, queries: &[Query]) -> Result<usize, Failure> {
        let threads = rayon::current_num_threads();
        let len = queries.len().div_ceil(4 * threads).min(PIECE);
        let waiting = AtomicUsize::new(0);
        let pieces: Vec<Piece> = queries
            .par_chunks(len)
            .map_init(SetScratch::new, |scratch, queries| {
                self.piece(scratch, queries, &waiting)
            })
            .collect();
        let mut done = 0;
        for (piece, asked) in pieces.into_iter().zip(queries.chunks(len)) {
            self.out.write_all(&piece.bytes)?;
            self.count(&asked[..piece.count], piece.stats, piece.is_match);
            piece.end?;
            done += piece.count;
            if piece.count < asked.len() {
                self.together = 1;
                return Ok(done);
            }
        }
        self.together = (2 * self.together).min(PIECE);
        Ok(done)
    }

    /// The answers to some queries, on this thread, as long as not too much waits.
    fn piece(
        &self,
        scratch: &mut SetScratch,
        mut queries: &[Query],
        waiting: &AtomicUsize,
    ) -> Piece {
        let mut piece = Piece {
            bytes: Vec::new(),
            count: 0,
            stats: QueryStats::default(),
            is_match: false,
            end: Ok(()),
        };
        // What is found together has its cost together.
        let mut together = match self.style.json && self.style.stats {
            true => 1,
            false => self.together,
        };
        while !queries.is_empty() {
            let (group, later) = queries.split_at(together.min(queries.len()));
            let left = WAITING_LEN.saturating_sub(waiting.load(Ordering::Relaxed));
            let mut out = Bounded::new(left);
            match self.group(scratch, group, &mut out) {
                _ if out.is_full => break,
                Ok((stats, is_match)) => {
                    waiting.fetch_add(out.bytes.len(), Ordering::Relaxed);
                    piece.bytes.append(&mut out.bytes);
                    piece.count += group.len();
                    piece.stats += stats;
                    piece.is_match |= is_match;
                    queries = later;
                }
                // One of them cannot be answered; those before it are.
                Err(_) if group.len() > 1 => together = 1,
                Err(error) => {
                    piece.end = Err(error);
                    break;
                }
            }
        }
        piece
    }

    /// Writes the answers to queries that are searched for together. Returns what they cost, and whether anything was found.
    fn group(
        &self,
        scratch: &mut SetScratch,
        queries: &[Query],
        out: &mut Bounded,
    ) -> simidx::Result<(QueryStats, bool)> {
        let (style, width) = (self.style, self.set.width());
        let mut asked = Fingerprints::new(width);
        let with_features = queries.iter().filter(|query| !query.is_without_features);
        with_features.for_each(|query| asked.push(query.fingerprint));
        let (mut rest, mut stats, mut is_match) = (queries.iter(), QueryStats::default(), false);
        let visit = |_, matches: Matches<'_, u128>| {
            stats = matches.stats();
            is_match |= !matches.is_empty();
            for query in rest.by_ref() {
                if !query.is_without_features {
                    return write(style, width, (query, Some(matches)), out);
                }
                write(style, width, (query, None), out)?;
            }
            Ok(())
        };
        self.set
            .answer_many_with(scratch, &asked, self.question, visit)?;
        rest.try_for_each(|query| write(style, width, (query, None), out))?;
        Ok((stats, is_match))
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

/// Answers of limited length.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Bounded {
    fn new(limit: usize) -> Self {
        Bounded {
            bytes: Vec::new(),
            limit,
            is_full: false,
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > self.limit {
            self.is_full = true;
            return Err(io::Error::other("the answer is too long to wait"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
