//! Answers as bytes: objects of JSON, lines of JSON, or columns of numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use simidx::{Error, Fingerprint, IdBuf};
use simidx_output::JsonStyle;

use crate::metrics::{DISTANCES, IndexMetrics};
use crate::problem::Problem;
use crate::request::What;
use crate::source::{IdIter, Search, Sink};
use crate::state::Generation;

/// A query with what it is searched for by.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) id: Option<IdBuf>,
    pub(crate) search: Search,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects between commas.
    Objects,
    /// A line for each object.
    Lines,
    /// Counts, fingerprints and distances in columns.
    Columns,
}

/// Matches and ids that the answers of a request may still have.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
    limit: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Budget {
            left: AtomicU64::new(limit),
            limit,
        }
    }

    fn take(&self) -> simidx::Result<()> {
        let taken = self
            .left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        match taken {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::LimitReached {
                what: "matches and ids in one answer; ask for fewer with limit or k",
                limit: self.limit,
            }),
        }
    }
}

/// The answers to some queries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// In columns the fingerprints of all matches.
    pub(crate) bytes: Vec<u8>,
    /// In columns the number of matches of each query.
    pub(crate) counts: Vec<u8>,
    /// In columns the distances of all matches.
    pub(crate) distances: Vec<u8>,
    /// Answers in which the id that a query is searched for by is among those at distance 0.
    pub(crate) own_id_count: usize,
    /// What the source called the records that the first answer comes from, if it did.
    pub(crate) generation: Option<String>,
}

/// Answers queries in their order.
///
/// # Errors
/// What keeps one from being answered. Those before it are then in `out`.
pub(crate) fn answer(
    generation: &Generation,
    metrics: &IndexMetrics,
    queries: &[Asked],
    form: (Form, JsonStyle),
    budget: &Budget,
    out: &mut Answered,
) -> Result<(), Problem> {
    match generation.source.width() {
        32 => answer_width::<u32>(generation, metrics, queries, form, budget, out),
        64 => answer_width::<u64>(generation, metrics, queries, form, budget, out),
        _ => answer_width::<u128>(generation, metrics, queries, form, budget, out),
    }
}

fn answer_width<F: Fingerprint>(
    generation: &Generation,
    metrics: &IndexMetrics,
    queries: &[Asked],
    (form, style): (Form, JsonStyle),
    budget: &Budget,
    out: &mut Answered,
) -> Result<(), Problem> {
    let mut fingerprints: Vec<F> = Vec::with_capacity(queries.len());
    let mut raw: Vec<u128> = Vec::with_capacity(queries.len());
    let mut rest = queries;
    // As many as are searched for in one way, up to a text that says nothing.
    while let Some(first) = rest.first() {
        fingerprints.clear();
        raw.clear();
        let mut lonely = None;
        for asked in rest.iter().take_while(|asked| asked.search == first.search) {
            let fingerprint = match &asked.what {
                What::Fingerprint(fingerprint) => *fingerprint,
                What::Text(text) => match generation.fingerprinter()?.fingerprint(text) {
                    (fingerprint, true) => fingerprint,
                    (fingerprint, false) => {
                        lonely = Some(fingerprint);
                        break;
                    }
                },
            };
            fingerprints.push(F::from_u128(fingerprint));
            raw.push(fingerprint);
        }
        let (alike, others) = rest.split_at(raw.len());
        rest = others;
        if !alike.is_empty() {
            let mut writer = Writer {
                form,
                style,
                budget,
                complete_len: out.bytes.len(),
                out,
                queries: alike,
                fingerprints: &fingerprints,
                match_count: 0,
                first_match: 0,
                query: 0,
                distances: [0; DISTANCES],
            };
            let started = Instant::now();
            let searched = generation.source.find(&raw, first.search, &mut writer);
            if let Err(error) = searched {
                let complete_len = writer.complete_len;
                out.bytes.truncate(complete_len);
                return Err(error.into());
            }
            metrics
                .queries
                .add_each(started.elapsed(), raw.len() as u64);
            metrics.add_matches(&writer.distances);
        }
        if let (Some(fingerprint), Some((asked, others))) = (lonely, rest.split_first()) {
            write_nothing(asked, F::from_u128(fingerprint), (form, style), out);
            rest = others;
        }
    }
    Ok(())
}

/// Writes the answer to a text without features: nothing is near it.
fn write_nothing<F: Fingerprint>(
    asked: &Asked,
    query: F,
    (form, style): (Form, JsonStyle),
    out: &mut Answered,
) {
    if form == Form::Columns {
        out.counts.extend_from_slice(&[0; 4]);
        return;
    }
    separate(form, &mut out.bytes);
    let id = asked.id.as_ref().map(IdBuf::as_id);
    // A vector takes everything.
    let _ = style.open_answer(&mut out.bytes, id, None);
    let _ = style.close_answer(&mut out.bytes, query, true, None);
    end_line(form, &mut out.bytes);
}

/// Ends what is before an object.
fn separate(form: Form, bytes: &mut Vec<u8>) {
    if form == Form::Objects && !bytes.is_empty() {
        bytes.push(b',');
    }
}

fn end_line(form: Form, bytes: &mut Vec<u8>) {
    if form == Form::Lines {
        bytes.push(b'\n');
    }
}

/// Writes answers as they are found.
struct Writer<'a, F> {
    form: Form,
    style: JsonStyle,
    budget: &'a Budget,
    out: &'a mut Answered,
    queries: &'a [Asked],
    fingerprints: &'a [F],
    match_count: u64,
    /// Matches by their distance.
    distances: [u32; DISTANCES],
    /// The query that is being answered.
    query: usize,
    /// Matches of the queries before.
    first_match: u64,
    /// Bytes of complete answers.
    complete_len: usize,
}

impl<F: Fingerprint> Sink for Writer<'_, F> {
    fn begin(&mut self, query: usize) {
        self.first_match = self.match_count;
        self.query = query;
        if self.form != Form::Columns {
            separate(self.form, &mut self.out.bytes);
            let id = self.queries[query].id.as_ref().map(IdBuf::as_id);
            // A vector takes everything.
            let _ = self.style.open_answer(&mut self.out.bytes, id, None);
        }
    }

    fn found(
        &mut self,
        fingerprint: u128,
        distance: u32,
        ids: &mut IdIter<'_>,
    ) -> simidx::Result<()> {
        self.budget.take()?;
        self.match_count += 1;
        if let Some(count) = self.distances.get_mut(distance as usize) {
            *count += 1;
        }
        let fingerprint = F::from_u128(fingerprint);
        let bytes = &mut self.out.bytes;
        if self.form == Form::Columns {
            fingerprint.extend_le(bytes);
            // At most 128.
            self.out.distances.push(distance as u8);
            return Ok(());
        }
        if bytes.last() == Some(&b'}') {
            bytes.push(b',');
        }
        let budget = self.budget;
        let own = self.queries[self.query].id.as_ref();
        let own = own.filter(|_| distance == 0);
        let (mut is_first, mut has_own) = (true, false);
        let counted = ids.map(|id| {
            // The match itself counts for the first.
            if !std::mem::take(&mut is_first) {
                budget.take()?;
            }
            has_own |= own.is_some() && id.as_ref().ok() == own;
            id
        });
        self.style
            .write_match(bytes, (fingerprint, distance), counted)?;
        self.out.own_id_count += usize::from(has_own);
        Ok(())
    }

    fn end(&mut self, query: usize) {
        if self.form == Form::Columns {
            let count = u32::try_from(self.match_count - self.first_match).unwrap_or(u32::MAX);
            self.out.counts.extend_from_slice(&count.to_le_bytes());
            return;
        }
        let (bytes, query) = (&mut self.out.bytes, self.fingerprints[query]);
        let _ = self.style.close_answer(bytes, query, false, None);
        end_line(self.form, bytes);
        self.complete_len = bytes.len();
    }

    fn generation(&mut self, name: String) {
        self.out.generation.get_or_insert(name);
    }

    fn wants_ids(&self) -> bool {
        self.form != Form::Columns
    }
}
