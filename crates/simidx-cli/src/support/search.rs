//! Answers queries: one after the other, or many at a time on all threads, printed in their order either way.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use simidx::Set;
use simidx::index::QueryStats;
use simidx::set::{Question, SetScratch};
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

/// What is searched for, and how it is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) question: Question,
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
    fn answer(
        self,
        set: &Set,
        scratch: &mut SetScratch,
        asked: Asked<'_>,
        out: &mut impl Write,
    ) -> Result<Answered, Failure> {
        let width = set.width();
        if asked.is_without_features {
            if self.style.json {
                let stats = Some(QueryStats::default()).filter(|_| self.style.stats);
                asked.open_object(stats, out)?;
                asked.close_object(width, stats, out)?;
            }
            return Ok(Answered {
                stats: QueryStats::default(),
                is_match: false,
                is_without_features: true,
            });
        }
        let matches = set.answer_with(scratch, asked.fingerprint, self.question)?;
        let stats = matches.stats();
        match self.style.json {
            true => {
                let stats = Some(stats).filter(|_| self.style.stats);
                asked.open_object(stats, out)?;
                for (number, hit) in matches.iter().enumerate() {
                    if number > 0 {
                        out.write_all(b",")?;
                    }
                    write_match(out, (hit.fingerprint, width), hit.distance, hit.ids()?)?;
                }
                asked.close_object(width, stats, out)?;
            }
            false => {
                for hit in matches.iter() {
                    let member = (hit.fingerprint, hit.distance);
                    asked.write_lines((self.style, width), member, hit.ids()?, out)?;
                }
            }
        }
        Ok(Answered {
            stats,
            is_match: !matches.is_empty(),
            is_without_features: false,
        })
    }
}

/// Answers and prints queries.
pub(crate) struct Answers<'a> {
    search: Search,
    set: &'a Set,
    scratch: SetScratch,
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

impl<'a> Answers<'a> {
    pub(crate) fn new(search: Search, set: &'a Set, out: BufWriter<Stdout>) -> Self {
        Answers {
            search,
            set,
            scratch: SetScratch::new(),
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
    pub(crate) fn answer(&mut self, asked: Asked<'_>) -> Result<(), Failure> {
        let (search, set, scratch) = (self.search, self.set, &mut self.scratch);
        let answered = if search.style.json {
            self.object.clear();
            let answered = search.answer(set, scratch, asked, &mut self.object)?;
            self.out.write_all(&self.object)?;
            answered
        } else {
            search.answer(set, scratch, asked, &mut self.out)?
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
        queries: &[Query],
        fingerprinter: Option<&ParallelFingerprinter>,
    ) -> Result<(), Failure> {
        if let [only] = queries {
            return self.answer(asked(only, fingerprinter));
        }
        let waiting_len = AtomicUsize::new(0);
        let (search, set) = (self.search, self.set);
        let answers: Vec<Option<Kept>> = queries
            .par_iter()
            .with_min_len(LEAST_TOGETHER)
            .map_init(SetScratch::new, |scratch, query| {
                let waiting = waiting_len.load(Ordering::Relaxed);
                let mut out = Bounded::new(WAITING_LEN.checked_sub(waiting)?);
                let asked = asked(query, fingerprinter);
                let answered = search.answer(set, scratch, asked, &mut out);
                // It is searched for once more when it is printed.
                let bytes = out.bytes?;
                waiting_len.fetch_add(bytes.len(), Ordering::Relaxed);
                Some(answered.map(|answered| (answered, bytes)))
            })
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

fn asked<'q>(query: &'q Query, fingerprinter: Option<&ParallelFingerprinter>) -> Asked<'q> {
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
