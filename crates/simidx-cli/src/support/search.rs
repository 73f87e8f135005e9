//! Answers queries: one after the other, or many at a time on all threads, printed in their order either way.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use simidx::Fingerprint;
use simidx::index::QueryStats;
use simidx::segments::{SegmentSearcher, Segments};
use simidx_text::ParallelFingerprinter;

use crate::support::answers::{AnswerArgs, Asked};
use crate::support::failure::Failure;
use crate::support::json_ids::write_match;
use crate::support::output::Stdout;
use crate::support::queries::Query;

/// Bytes of answers that wait until those before them are printed, at most, not counting the last one of each thread.
const WAITING_LEN: usize = 8 << 20;

/// Queries that one task answers at least.
const LEAST_TOGETHER: usize = 4;

type Searcher<'a, F> = SegmentSearcher<F, &'a Segments<F>>;

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) distance: u32,
    /// As many of the nearest are enough.
    pub(crate) nearest: Option<usize>,
    pub(crate) style: AnswerArgs,
}

/// What one answer came to.
#[derive(Debug, Clone, Copy)]
struct Answered {
    stats: QueryStats,
    is_match: bool,
    is_without_features: bool,
}

impl Search {
    /// Answers a query.
    fn answer<F: Fingerprint>(
        self,
        searcher: &mut Searcher<'_, F>,
        asked: Asked<'_, F>,
        out: &mut impl Write,
    ) -> Result<Answered, Failure> {
        if asked.is_without_features {
            if self.style.json {
                let stats = Some(QueryStats::default()).filter(|_| self.style.stats);
                asked.open_object(stats, out)?;
                asked.close_object(stats, out)?;
            }
            return Ok(Answered {
                stats: QueryStats::default(),
                is_match: false,
                is_without_features: true,
            });
        }
        let query = asked.fingerprint;
        let count = match self.nearest {
            None => searcher.query(query, self.distance)?.len(),
            Some(count) => searcher.nearest(query, count, self.distance)?.len(),
        };
        let stats = searcher.stats();
        match self.style.json {
            true => self.write_object(searcher, asked, stats, out)?,
            false => {
                for found in searcher.matches() {
                    let member = (found.fingerprint, found.distance);
                    asked.write_lines(self.style, member, searcher.ids(&found)?, out)?;
                }
            }
        }
        Ok(Answered {
            stats,
            is_match: count > 0,
            is_without_features: false,
        })
    }

    fn write_object<F: Fingerprint>(
        self,
        searcher: &Searcher<'_, F>,
        asked: Asked<'_, F>,
        stats: QueryStats,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let stats = Some(stats).filter(|_| self.style.stats);
        asked.open_object(stats, out)?;
        for (number, found) in searcher.matches().into_iter().enumerate() {
            if number > 0 {
                out.write_all(b",")?;
            }
            let member = (found.fingerprint, found.distance);
            write_match(out, member, searcher.ids(&found)?)?;
        }
        Ok(asked.close_object(stats, out)?)
    }
}

/// Answers and prints queries.
pub(crate) struct Answers<'a, F: 'static> {
    search: Search,
    segments: &'a Segments<F>,
    searcher: Searcher<'a, F>,
    out: BufWriter<Stdout>,
    /// The object of an answer: it is printed whole or not at all.
    object: Vec<u8>,
    pub(crate) total: QueryStats,
    pub(crate) query_count: u64,
    /// Whether anything was found.
    pub(crate) is_match: bool,
    /// Queries that are documents without features.
    pub(crate) without_features: u64,
}

/// An answer that is printed when those before it are, or why there is none.
type Kept = Result<(Answered, Vec<u8>), Failure>;

impl<'a, F: Fingerprint> Answers<'a, F> {
    pub(crate) fn new(search: Search, segments: &'a Segments<F>, out: BufWriter<Stdout>) -> Self {
        Answers {
            search,
            segments,
            searcher: segments.searcher(),
            out,
            object: Vec::new(),
            total: QueryStats::default(),
            query_count: 0,
            is_match: false,
            without_features: 0,
        }
    }

    /// Answers a query at once.
    ///
    /// # Errors
    /// Damage, or what standard output reports.
    pub(crate) fn answer(&mut self, asked: Asked<'_, F>) -> Result<(), Failure> {
        let searcher = &mut self.searcher;
        let answered = if self.search.style.json {
            self.object.clear();
            let answered = self.search.answer(searcher, asked, &mut self.object)?;
            self.out.write_all(&self.object)?;
            answered
        } else {
            self.search.answer(searcher, asked, &mut self.out)?
        };
        self.count(answered);
        Ok(())
    }

    /// Answers queries on all threads of the current pool.
    ///
    /// # Errors
    /// As for [`Answers::answer`], after the answers to the queries before.
    pub(crate) fn answer_all(
        &mut self,
        queries: &[Query<F>],
        fingerprinter: Option<&ParallelFingerprinter<F>>,
    ) -> Result<(), Failure> {
        if let [only] = queries {
            return self.answer(asked(only, fingerprinter));
        }
        let waiting_len = AtomicUsize::new(0);
        let (search, segments) = (self.search, self.segments);
        let answers: Vec<Option<Kept>> = queries
            .par_iter()
            .with_min_len(LEAST_TOGETHER)
            .map_init(
                || segments.searcher(),
                |searcher, query| {
                    let waiting = waiting_len.load(Ordering::Relaxed);
                    let mut out = Bounded::new(WAITING_LEN.checked_sub(waiting)?);
                    let answered = search.answer(searcher, asked(query, fingerprinter), &mut out);
                    // It is searched for once more when it is printed.
                    let bytes = out.bytes?;
                    waiting_len.fetch_add(bytes.len(), Ordering::Relaxed);
                    Some(answered.map(|answered| (answered, bytes)))
                },
            )
            .collect();
        for (query, answer) in queries.iter().zip(answers) {
            match answer {
                None => self.answer(asked(query, fingerprinter))?,
                Some(answer) => {
                    let (answered, bytes) = answer?;
                    self.out.write_all(&bytes)?;
                    self.count(answered);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, answered: Answered) {
        self.query_count += 1;
        self.total += answered.stats;
        self.is_match |= answered.is_match;
        self.without_features += u64::from(answered.is_without_features);
    }

    /// Brings everything to standard output.
    ///
    /// # Errors
    /// What it reports.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

fn asked<'q, F: Fingerprint>(
    query: &'q Query<F>,
    fingerprinter: Option<&ParallelFingerprinter<F>>,
) -> Asked<'q, F> {
    Asked::new(
        query.fingerprint(fingerprinter),
        fingerprinter,
        query.id.as_ref(),
    )
}

/// An answer of limited length.
struct Bounded {
    /// `None` when it has become too long.
    bytes: Option<Vec<u8>>,
    limit: usize,
}

impl Bounded {
    fn new(limit: usize) -> Self {
        Bounded {
            bytes: Some(Vec::new()),
            limit,
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if let Some(bytes) = &mut self.bytes {
            if bytes.len() + piece.len() <= self.limit {
                bytes.extend_from_slice(piece);
                return Ok(piece.len());
            }
            self.bytes = None;
        }
        Err(io::Error::other("the answer is too long to wait"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
