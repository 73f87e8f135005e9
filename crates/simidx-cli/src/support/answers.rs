//! Prints the answers to queries, for `query` and `join`.

use std::io::{self, Write};

use rayon::prelude::*;
use simidx::index::QueryStats;
use simidx::set::{Matches, Question, SetScratch};
use simidx::{Fingerprints, IdBuf, Set, Width};

use crate::support::failure::Failure;
use crate::support::output::{Column, json_style};
use crate::support::quantity::count;
use crate::support::queries::Query;

/// Largest number of bytes in the answers of a chunk while they wait for earlier answers to be printed.
const WAITING_LEN: usize = 1 << 20;

/// Number of chunks for each thread that are answered at once.
const PIECES: usize = 4;

/// Largest number of queries in a chunk.
const PIECE: usize = 64;

/// The contents and the format of answers; shared by the commands that answer queries.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print at most N matches for each query, each with all its ids: the nearest, of equally near ones the smallest
    #[arg(long, value_name = "N", value_parser = count(1..=u64::MAX))]
    pub(crate) limit: Option<u64>,
    /// Print the id of the query as a fifth column, if it has one; the fourth is empty where the index has no ids. JSON has
    /// it in any case
    #[arg(long)]
    pub(crate) query_ids: bool,
    /// Whether lines end with the position of the query in its file.
    #[arg(skip)]
    pub(crate) query_rows: bool,
    /// Report the cost of the queries: probes, blocks, candidates
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print JSON: an object for each query
    #[arg(long)]
    pub(crate) json: bool,
}

impl AnswerArgs {
    /// Writes a match of a query: one line for each of its ids, or one if it has none; or an object after `others`.
    ///
    /// # Errors
    /// Any error of `ids` or `out`.
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
        let mut end = match (self.query_ids, &query.id) {
            (true, Some(id)) => format!("\t{}", Column::of(id)),
            (true, None) => "\t".to_owned(),
            (false, _) => String::new(),
        };
        if self.query_rows {
            end += &format!("\t{}", query.row);
        }
        end.push('\n');
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

    /// Writes the object of an answer, whose matches `write_matches` writes; as lines, only the matches. Names are in
    /// alphabetical order.
    ///
    /// # Errors
    /// Any error of `write_matches` or `out`.
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

/// Answers queries, and writes the answers.
pub(crate) struct Answers<'a> {
    set: &'a Set,
    question: Question,
    style: AnswerArgs,
    scratch: SetScratch,
    out: &'a mut dyn Write,
    /// Number of queries in a chunk, which is small after long answers.
    together: usize,
    pub(crate) total: QueryStats,
    pub(crate) query_count: u64,
    /// Whether any match was found.
    pub(crate) is_match: bool,
    /// Number of queries that are documents without features.
    pub(crate) without_features: u64,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(
        set: &'a Set,
        question: Question,
        style: AnswerArgs,
        out: &'a mut dyn Write,
    ) -> Self {
        Answers {
            set,
            question,
            style,
            scratch: SetScratch::new(),
            out,
            together: 1,
            total: QueryStats::default(),
            query_count: 0,
            is_match: false,
            without_features: 0,
        }
    }

    /// Answers queries, several of them in parallel on the current thread pool.
    ///
    /// # Errors
    /// Damage, or an error of standard output, after the answers to the earlier queries.
    pub(crate) fn answer(&mut self, mut queries: &[Query]) -> Result<(), Failure> {
        let pieces = PIECES * rayon::current_num_threads();
        while queries.len() > 1 {
            let len = queries.len().div_ceil(pieces).min(self.together);
            let (now, later) = queries.split_at(queries.len().min(pieces * len));
            let (set, question, style) = (self.set, self.question, self.style);
            let found = now
                .par_chunks(len)
                .map_init(SetScratch::new, |scratch, piece| {
                    let mut out = Bounded(Vec::new());
                    let found = search((set, question, style), scratch, piece, &mut out);
                    found.map(|found| (out.0, found))
                });
            let found: Vec<_> = found.collect();
            self.together = (2 * self.together).min(PIECE);
            for (piece, found) in now.chunks(len).zip(found) {
                match found {
                    Ok((bytes, found)) => {
                        self.out.write_all(&bytes)?;
                        self.count(piece, found);
                    }
                    // Answers that are too long to wait are printed while they are found. So are those before an answer
                    // that fails.
                    Err(_) => {
                        self.together = 1;
                        match piece {
                            [query] => self.answer_one(query)?,
                            _ => self.answer(piece)?,
                        }
                    }
                }
            }
            queries = later;
        }
        queries.iter().try_for_each(|query| self.answer_one(query))
    }

    /// Answers a query and prints matches immediately; an object is printed completely or not at all.
    fn answer_one(&mut self, query: &Query) -> Result<(), Failure> {
        let asked = (self.set, self.question, self.style);
        let query = std::slice::from_ref(query);
        let found = if self.style.json {
            let mut object = Vec::new();
            let found = search(asked, &mut self.scratch, query, &mut object)?;
            self.out.write_all(&object)?;
            found
        } else {
            search(asked, &mut self.scratch, query, self.out)?
        };
        self.count(query, found);
        Ok(())
    }

    fn count(&mut self, queries: &[Query], (stats, is_match): Found) {
        self.query_count += queries.len() as u64;
        self.total += stats;
        self.is_match |= is_match;
        let without_features = queries.iter().filter(|query| query.is_without_features);
        self.without_features += without_features.count() as u64;
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// Any error of standard output.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// The cost of queries, and whether any match was found.
type Found = (QueryStats, bool);

/// Writes the answers to queries.
fn search(
    (set, question, style): (&Set, Question, AnswerArgs),
    scratch: &mut SetScratch,
    queries: &[Query],
    mut out: &mut (impl Write + ?Sized),
) -> simidx::Result<Found> {
    // The cost of queries that are searched together cannot be separated.
    let len = match style.json && style.stats {
        true => 1,
        false => queries.len(),
    };
    let (width, mut all) = (set.width(), QueryStats::default());
    let mut is_match = false;
    for queries in queries.chunks(len) {
        let mut asked = Fingerprints::new(width);
        let with_features = queries.iter().filter(|query| !query.is_without_features);
        with_features.for_each(|query| asked.push(query.fingerprint));
        let (mut rest, mut stats) = (queries.iter(), QueryStats::default());
        set.answer_many_with(scratch, &asked, question, |_, matches| {
            stats = matches.stats();
            is_match |= !matches.is_empty();
            for query in rest.by_ref() {
                if !query.is_without_features {
                    return write(style, width, (query, Some(matches)), &mut out);
                }
                write(style, width, (query, None), &mut out)?;
            }
            Ok(())
        })?;
        rest.try_for_each(|query| write(style, width, (query, None), &mut out))?;
        all += stats;
    }
    Ok((all, is_match))
}

/// Writes an answer, unless the query is a document without features.
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

/// A bounded buffer of answers.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.0.len() + piece.len() > WAITING_LEN {
            return Err(io::Error::other("the answer is too long to wait"));
        }
        self.0.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
