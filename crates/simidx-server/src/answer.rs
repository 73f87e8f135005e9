//! Writes answers: JSON objects, JSON lines, or columns of numbers.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use simidx::set::Question;
use simidx::set::SetScratch;
use simidx::{Error, Fingerprints, IdBuf, Set};
use simidx_collection::Collection;
use tokio::sync::OwnedSemaphorePermit;

use crate::options::Hook;
use crate::problem::Problem;
use crate::request::What;
use crate::source::{Source, name_of, of_library};
use crate::state::{App, Generation};

/// A query with its search options.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) id: Option<IdBuf>,
    pub(crate) question: Question,
}

impl Asked {
    /// Creates a query with options of its own.
    pub(crate) fn new(what: What, question: Question) -> Self {
        Asked {
            what,
            id: None,
            question,
        }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects, separated by commas.
    Objects,
    /// One object in each line.
    Lines,
    /// Counts, fingerprints and distances in columns.
    Columns,
}

/// Bytes of the answers to a request that need no permits. A connection has one request at a time.
const FREE: usize = 64 << 10;

/// Largest number of matches and ids in an answer that is written on the thread of its connection.
const INLINE_RESULTS: u64 = 1000;

/// Smallest number of bytes to reserve at once.
const STEP: usize = 4096;

/// The remaining limits of the answer to a request.
pub(crate) struct Budget {
    pub(crate) app: Arc<App>,
    /// Matches and ids that may still be returned.
    results: AtomicUsize,
    /// Largest size of a part in bytes.
    max_answer: usize,
    /// Bytes that all parts together may still have.
    bytes: AtomicUsize,
    /// Bytes that may still be used without permits.
    free: AtomicUsize,
}

impl Budget {
    /// Creates the budget of a whole answer, or of an answer that is sent in parts, each as long as an answer may be.
    pub(crate) fn new(app: &Arc<App>, is_whole: bool) -> Self {
        let limits = &app.options.limits;
        let results = usize::try_from(limits.max_results).unwrap_or(usize::MAX);
        Budget {
            app: app.clone(),
            results: AtomicUsize::new(results),
            max_answer: limits.max_answer,
            bytes: AtomicUsize::new(if is_whole {
                limits.max_answer
            } else {
                usize::MAX
            }),
            free: AtomicUsize::new(FREE),
        }
    }

    /// Creates the budget of an answer that is short enough for the thread of its connection.
    pub(crate) fn inline(app: &Arc<App>) -> Self {
        let limits = &app.options.limits;
        let max_answer = limits.max_answer.min(FREE);
        Budget {
            results: AtomicUsize::new(limits.max_results.min(INLINE_RESULTS) as usize),
            max_answer,
            bytes: AtomicUsize::new(max_answer),
            ..Budget::new(app, true)
        }
    }

    /// Takes a match or an id from the budget.
    ///
    /// # Errors
    /// The budget has none left.
    pub(crate) fn take_result(&self) -> simidx::Result<()> {
        match take(&self.results, 1, 1) {
            Some(_) => Ok(()),
            None => Err(Error::LimitReached {
                what: "matches and ids in one answer; ask for fewer with limit or k, or for the binary form, which has no ids",
                limit: self.app.options.limits.max_results,
            }),
        }
    }
}

/// Takes between `least` and `most` units, as many as are left. Returns the number.
fn take(left: &AtomicUsize, least: usize, most: usize) -> Option<usize> {
    let taken = |left: usize| most.min(left).max(least);
    let step = |left: usize| left.checked_sub(taken(left));
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
    before.ok().map(taken)
}

/// The memory that an answer has reserved.
#[derive(Default)]
pub(crate) struct Taken {
    /// Bytes that the answer may have without another reservation.
    len: usize,
    /// Bytes of the reservation that need permits, with the permits.
    held: usize,
    permit: Option<OwnedSemaphorePermit>,
    /// The reason why a reservation was refused.
    refused: Option<Problem>,
}

impl Taken {
    /// Reserves memory for an answer of this length.
    ///
    /// # Errors
    /// The answer is longer than permitted, or all permits are in use; `refused` says which.
    pub(crate) fn grow(&mut self, len: usize, budget: &Budget) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let max_answer = budget.max_answer;
        let more = len - self.len;
        let step = more.max(self.len).max(STEP);
        let step = step.min(max_answer.saturating_sub(self.len));
        let refused = match take(&budget.bytes, more, step) {
            Some(grown) if len <= max_answer => {
                self.len += grown;
                let free = take(&budget.free, 0, grown).unwrap_or_default();
                self.held += grown - free;
                if budget.app.answers.hold(&mut self.permit, self.held) {
                    return Ok(());
                }
                Problem::busy("there is no memory for further answers until others are read")
            }
            _ => Problem::from(Error::LimitReached {
                what: "bytes in one answer; ask for fewer with limit or k",
                limit: max_answer as u64,
            }),
        };
        self.refused = Some(refused);
        Err(io::Error::other("the answer is too long"))
    }

    /// Returns the parts as bytes that release the permits once all of them are sent.
    pub(crate) fn sent<const N: usize>(self, parts: [Vec<u8>; N]) -> [Bytes; N] {
        let permit = self.permit.map(Arc::new);
        parts.map(|bytes| match &permit {
            None => bytes.into(),
            Some(permit) => Bytes::from_owner(Sent {
                bytes,
                _permit: permit.clone(),
            }),
        })
    }
}

/// Bytes on their way to a client, with their permits.
struct Sent {
    bytes: Vec<u8>,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A writer that appends to an answer within its budget.
struct Growing<'a> {
    bytes: &'a mut Vec<u8>,
    taken: &'a mut Taken,
    budget: &'a Budget,
}

impl Write for Growing<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece)?;
        Ok(piece.len())
    }

    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        self.taken
            .grow(self.bytes.len() + piece.len(), self.budget)?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The answers to some queries.
#[derive(Default)]
pub(crate) struct Answered {
    /// The answers; for columns, the fingerprints of all matches.
    pub(crate) bytes: Vec<u8>,
    /// For columns, the number of matches of each query.
    pub(crate) counts: Vec<u8>,
    /// For columns, the distances of all matches.
    pub(crate) distances: Vec<u8>,
    /// Number of answers in which the query's own id is among the ids at distance 0.
    pub(crate) own_id_count: usize,
    /// The generation of the records that the first answer comes from, if the source names it.
    pub(crate) generation: Option<String>,
    /// The memory of all parts.
    pub(crate) taken: Taken,
}

impl Answered {
    /// Returns bytes, counts and distances as they are sent.
    pub(crate) fn into_parts(self) -> [Bytes; 3] {
        self.taken.sent([self.bytes, self.counts, self.distances])
    }
}

/// Answers queries in order.
///
/// # Errors
/// The reason why a query has no answer. The answers before it are in `out`.
pub(crate) fn answer(
    generation: &Generation,
    queries: &[Asked],
    form: Form,
    budget: &Budget,
    out: &mut Answered,
) -> Result<(), Problem> {
    let mut fingerprints = Fingerprints::new(generation.source.width());
    let mut rest = queries;
    // Consecutive queries with equal options are searched together; a text without features is answered separately.
    while let Some(first) = rest.first() {
        fingerprints.clear();
        let mut is_featureless = false;
        let alike = rest.iter();
        for asked in alike.take_while(|asked| asked.question == first.question) {
            let (fingerprint, has_features) = match &asked.what {
                What::Fingerprint(fingerprint) => (*fingerprint, true),
                What::Text(text) => generation.fingerprint(text)?,
            };
            is_featureless = !has_features && fingerprints.is_empty();
            if has_features || is_featureless {
                fingerprints.push(fingerprint);
            }
            if !has_features {
                break;
            }
        }
        let (alike, others) = rest.split_at(fingerprints.len());
        rest = others;
        let mut writer = Writer {
            form,
            budget,
            complete_len: out.bytes.len(),
            out,
            queries: alike,
            fingerprints: &fingerprints,
            is_featureless,
            match_count: 0,
            first_match: 0,
            query: 0,
        };
        let started = Instant::now();
        let searched = match is_featureless {
            true => {
                writer.begin(0);
                writer.end();
                Ok(())
            }
            false => search(&generation.source, first.question, &mut writer),
        };
        // The frame of an answer is written before its bytes are reserved, because it is short.
        let searched = searched.and_then(|()| Ok(writer.grow()?));
        if let Err(error) = searched {
            let complete_len = writer.complete_len;
            out.bytes.truncate(complete_len);
            let refused = out.taken.refused.take();
            return Err(refused.unwrap_or_else(|| error.into()));
        }
        if !is_featureless {
            let metrics = &generation.metrics;
            let count = fingerprints.len() as u64;
            metrics.queries.add_each(started.elapsed(), count);
            let matches = writer.match_count;
            metrics.matches.fetch_add(matches, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Writes answers while they are found.
struct Writer<'a> {
    form: Form,
    budget: &'a Budget,
    out: &'a mut Answered,
    queries: &'a [Asked],
    fingerprints: &'a Fingerprints,
    /// Whether the only query is a text without features, which has no matches.
    is_featureless: bool,
    match_count: u64,
    /// The number of the current query.
    query: usize,
    /// Number of matches of the earlier queries.
    first_match: u64,
    /// Length of the complete answers in bytes.
    complete_len: usize,
}

thread_local! {
    static SCRATCH: RefCell<SetScratch> = RefCell::default();
}

/// Answers the queries of a writer in order.
///
/// # Errors
/// Damage, or the reason why an answer cannot be written. Some earlier queries have been answered.
fn search(source: &Source, question: Question, writer: &mut Writer<'_>) -> simidx::Result<()> {
    if let Some(Hook(hook)) = &writer.budget.app.options.hook {
        hook(Some(writer.fingerprints));
    }
    match source {
        Source::Files(set) => search_set(set, question, writer),
        Source::Store(store) => search_store(store, question, writer),
    }
}

fn search_set(set: &Set, question: Question, writer: &mut Writer<'_>) -> simidx::Result<()> {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.set_ranked(writer.wants_ids());
        set.answer_many_with(scratch, writer.fingerprints, question, |number, matches| {
            writer.begin(number);
            for hit in matches.iter() {
                match writer.wants_ids() {
                    false => writer.found(hit.fingerprint, hit.distance, std::iter::empty())?,
                    true => writer.found(hit.fingerprint, hit.distance, hit.ids()?)?,
                }
            }
            writer.end();
            Ok(())
        })
    })
}

fn search_store(
    store: &Collection,
    question: Question,
    writer: &mut Writer<'_>,
) -> simidx::Result<()> {
    let id_bytes = writer.wants_ids().then_some(writer.budget.max_answer);
    for (number, query) in writer.fingerprints.iter().enumerate() {
        let found = store
            .answer(query, question, id_bytes)
            .map_err(of_library)?;
        if writer.out.generation.is_none() {
            writer.out.generation = Some(name_of(store, found.change_count));
        }
        writer.begin(number);
        for near in found.value {
            let ids = near.ids.into_iter().map(|id| Ok(IdBuf::String(id)));
            writer.found(near.fingerprint, near.distance, ids)?;
        }
        writer.end();
    }
    Ok(())
}

impl Writer<'_> {
    /// Reserves memory for the bytes written so far.
    fn grow(&mut self) -> io::Result<()> {
        let out = &mut *self.out;
        let len = out.bytes.len() + out.counts.len() + out.distances.len();
        out.taken.grow(len, self.budget)
    }

    fn begin(&mut self, query: usize) {
        self.first_match = self.match_count;
        self.query = query;
        let bytes = &mut self.out.bytes;
        if self.form == Form::Objects && !bytes.is_empty() {
            bytes.push(b',');
        }
        if self.form != Form::Columns {
            let id = self.queries[query].id.as_ref().map(IdBuf::as_id);
            // Writing to a vector cannot fail.
            let _ = self.budget.app.options.json.open_answer(bytes, id, None);
        }
    }

    fn found(
        &mut self,
        fingerprint: u128,
        distance: u32,
        ids: impl Iterator<Item = simidx::Result<IdBuf>>,
    ) -> simidx::Result<()> {
        self.budget.take_result()?;
        self.match_count += 1;
        let width = self.fingerprints.width();
        let bytes = &mut self.out.bytes;
        if self.form == Form::Columns {
            bytes.extend_from_slice(&fingerprint.to_le_bytes()[..width.bytes()]);
            // A distance is at most 128.
            self.out.distances.push(distance as u8);
            return Ok(self.grow()?);
        }
        if bytes.last() == Some(&b'}') {
            bytes.push(b',');
        }
        let own = self.queries[self.query].id.as_ref();
        let own = own.filter(|_| distance == 0);
        let (mut is_first, mut has_own) = (true, false);
        let counted = ids.map(|id| {
            // The first id is counted with its match.
            if !std::mem::take(&mut is_first) {
                self.budget.take_result()?;
            }
            has_own |= own.is_some() && id.as_ref().ok() == own;
            id
        });
        let mut growing = Growing {
            bytes,
            taken: &mut self.out.taken,
            budget: self.budget,
        };
        let style = self.budget.app.options.json;
        style.write_match(&mut growing, (fingerprint, width), distance, counted)?;
        self.out.own_id_count += usize::from(has_own);
        Ok(())
    }

    /// Ends the current answer.
    fn end(&mut self) {
        if self.form == Form::Columns {
            let count = u32::try_from(self.match_count - self.first_match).unwrap_or(u32::MAX);
            self.out.counts.extend_from_slice(&count.to_le_bytes());
            return;
        }
        let query = self.fingerprints.get(self.query).unwrap_or_default();
        let (bytes, width) = (&mut self.out.bytes, self.fingerprints.width());
        let style = self.budget.app.options.json;
        let _ = style.close_answer(bytes, (query, width), self.is_featureless, None);
        if self.form == Form::Lines {
            bytes.push(b'\n');
        }
        self.complete_len = bytes.len();
    }

    fn wants_ids(&self) -> bool {
        self.form != Form::Columns
    }
}
