//! Answers as bytes: objects of JSON, lines of JSON, or columns of numbers.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use simidx::set::Question;
use simidx::{Error, Fingerprints, IdBuf, Width};
use simidx_output::JsonStyle;

use crate::body::{ByteRoom, Kept};
use crate::metrics::{DISTANCES, IndexMetrics};
use crate::problem::Problem;
use crate::request::What;
use crate::source::{IdIter, Sink};
use crate::state::{App, Generation};

/// A query with what it is searched for by.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) id: Option<IdBuf>,
    pub(crate) question: Question,
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

    /// Takes one.
    ///
    /// # Errors
    /// There is none left.
    pub(crate) fn take(&self) -> simidx::Result<()> {
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

/// Bytes of the answer to a request that take no room among those of all. A connection has one request at a time.
const FREE: usize = 64 << 10;

/// Bytes that are taken at a time, at least.
const STEP: usize = 4096;

/// Bytes that an answer, or a part of it that is sent by itself, may still have.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    left: AtomicUsize,
    /// Those of all parts of the answer.
    free: Arc<AtomicUsize>,
    limit: usize,
}

impl ByteBudget {
    pub(crate) fn new(limit: usize) -> Self {
        ByteBudget {
            left: AtomicUsize::new(limit),
            free: Arc::new(AtomicUsize::new(FREE)),
            limit,
        }
    }

    /// The same for a further part of the answer.
    pub(crate) fn for_part(&self) -> Self {
        ByteBudget {
            left: AtomicUsize::new(self.limit),
            free: self.free.clone(),
            limit: self.limit,
        }
    }

    /// Takes bytes: `more` at least, and `wish` if there are as many.
    fn take(&self, more: usize, wish: usize) -> Result<usize, Problem> {
        let step = |left: usize| left.checked_sub(wish.clamp(more, left.max(more)));
        match self
            .left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, step)
        {
            Ok(left) => Ok(wish.clamp(more, left)),
            Err(_) => Err(Problem::from(Error::LimitReached {
                what: "bytes in one answer; ask for fewer with limit or k",
                limit: self.limit as u64,
            })),
        }
    }

    /// Takes some of the bytes that need no room.
    fn take_free(&self, wish: usize) -> usize {
        let step = |free: usize| Some(free.saturating_sub(wish));
        let before = self
            .free
            .try_update(Ordering::Relaxed, Ordering::Relaxed, step);
        before.unwrap_or_default().min(wish)
    }
}

/// The memory that an answer has taken.
#[derive(Default)]
pub(crate) struct Taken {
    /// Bytes that the answer may have without taking more.
    len: usize,
    /// Those of them that need room among all answers, and the room.
    held: usize,
    room: Option<ByteRoom>,
    /// Why there was no more.
    refused: Option<Problem>,
}

impl Taken {
    /// Takes what an answer of this length needs.
    ///
    /// # Errors
    /// The answer may not be as long, or there is no room for it; [`Taken::refused`] says which.
    pub(crate) fn grow(&mut self, len: usize, bounds: &Bounds<'_>) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let more = len - self.len;
        let grown = bounds.bytes.take(more, more.max(self.len).max(STEP));
        let outcome = grown.and_then(|grown| {
            self.len += grown;
            let held = grown - bounds.bytes.take_free(grown);
            if held == 0 {
                return Ok(());
            }
            self.held += held;
            let new = || ByteRoom::new(bounds.app, Kept::Answers);
            self.room.get_or_insert_with(new).grow(self.held)
        });
        outcome.map_err(|problem| {
            self.refused = Some(problem);
            io::Error::other("the answer is too long")
        })
    }

    /// The room, to be held until the answer is sent.
    pub(crate) fn into_room(self) -> Option<Arc<ByteRoom>> {
        self.room.map(Arc::new)
    }
}

/// What answers may have in all.
pub(crate) struct Bounds<'a> {
    pub(crate) app: &'a Arc<App>,
    /// Matches and ids.
    pub(crate) results: &'a Budget,
    pub(crate) bytes: &'a ByteBudget,
}

/// Writes to an answer as long as it may grow.
struct Growing<'a> {
    bytes: &'a mut Vec<u8>,
    taken: &'a mut Taken,
    bounds: &'a Bounds<'a>,
}

impl Write for Growing<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece)?;
        Ok(piece.len())
    }

    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        self.taken
            .grow(self.bytes.len() + piece.len(), self.bounds)?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes on their way to a client, with the room that they take until they are sent.
struct Sent {
    bytes: Vec<u8>,
    _room: Arc<ByteRoom>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that give the room back when they are sent.
pub(crate) fn sent(bytes: Vec<u8>, room: Option<&Arc<ByteRoom>>) -> Bytes {
    match room {
        None => bytes.into(),
        Some(room) => Bytes::from_owner(Sent {
            bytes,
            _room: room.clone(),
        }),
    }
}

/// The answers to some queries.
#[derive(Default)]
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
    /// What all of it takes.
    pub(crate) taken: Taken,
}

impl Answered {
    /// Bytes, counts and distances as they are sent.
    pub(crate) fn into_parts(self) -> [Bytes; 3] {
        let room = self.taken.into_room();
        [self.bytes, self.counts, self.distances].map(|part| sent(part, room.as_ref()))
    }
}

/// Answers queries in their order.
///
/// # Errors
/// What keeps one from being answered. Those before it are then in `out`.
pub(crate) fn answer(
    generation: &Generation,
    metrics: &IndexMetrics,
    queries: &[Asked],
    (form, style): (Form, JsonStyle),
    bounds: &Bounds<'_>,
    out: &mut Answered,
) -> Result<(), Problem> {
    let width = generation.source.width();
    let mut fingerprints = Fingerprints::new(width);
    let mut rest = queries;
    // As many as are searched for in one way, up to a text that says nothing.
    while let Some(first) = rest.first() {
        fingerprints.clear();
        let mut lonely = None;
        for asked in rest
            .iter()
            .take_while(|asked| asked.question == first.question)
        {
            let fingerprint = match &asked.what {
                What::Fingerprint(fingerprint) => *fingerprint,
                What::Text(text) => match generation.fingerprint(text)? {
                    (fingerprint, true) => fingerprint,
                    (fingerprint, false) => {
                        lonely = Some(fingerprint);
                        break;
                    }
                },
            };
            fingerprints.push(fingerprint);
        }
        let (alike, others) = rest.split_at(fingerprints.len());
        rest = others;
        if !alike.is_empty() {
            let mut writer = Writer {
                form,
                style,
                bounds,
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
            let searched = generation
                .source
                .find(&fingerprints, first.question, &mut writer);
            // The frames of answers are written without a look at the room; each is short.
            let searched = searched.and_then(|()| Ok(writer.take_room()?));
            if let Err(error) = searched {
                let complete_len = writer.complete_len;
                out.bytes.truncate(complete_len);
                let refused = out.taken.refused.take();
                return Err(refused.unwrap_or_else(|| error.into()));
            }
            metrics
                .queries
                .add_each(started.elapsed(), fingerprints.len() as u64);
            metrics.add_matches(&writer.distances);
        }
        if let (Some(fingerprint), Some((asked, others))) = (lonely, rest.split_first()) {
            write_nothing(asked, (fingerprint, width), (form, style), out);
            rest = others;
        }
    }
    Ok(())
}

/// Writes the answer to a text without features: nothing is near it.
fn write_nothing(
    asked: &Asked,
    query: (u128, Width),
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
struct Writer<'a> {
    form: Form,
    style: JsonStyle,
    bounds: &'a Bounds<'a>,
    out: &'a mut Answered,
    queries: &'a [Asked],
    fingerprints: &'a Fingerprints,
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

impl Writer<'_> {
    /// Takes the room of what has been written.
    fn take_room(&mut self) -> io::Result<()> {
        let out = &mut *self.out;
        let len = out.bytes.len() + out.counts.len() + out.distances.len();
        out.taken.grow(len, self.bounds)
    }
}

impl Sink for Writer<'_> {
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
        self.bounds.results.take()?;
        self.match_count += 1;
        if let Some(count) = self.distances.get_mut(distance as usize) {
            *count += 1;
        }
        let width = self.fingerprints.width();
        let bytes = &mut self.out.bytes;
        if self.form == Form::Columns {
            bytes.extend_from_slice(&fingerprint.to_le_bytes()[..width.bytes()]);
            // At most 128.
            self.out.distances.push(distance as u8);
            return Ok(self.take_room()?);
        }
        if bytes.last() == Some(&b'}') {
            bytes.push(b',');
        }
        let budget = self.bounds.results;
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
        let mut growing = Growing {
            bytes,
            taken: &mut self.out.taken,
            bounds: self.bounds,
        };
        self.style
            .write_match(&mut growing, (fingerprint, width), distance, counted)?;
        self.out.own_id_count += usize::from(has_own);
        Ok(())
    }

    fn end(&mut self, query: usize) {
        if self.form == Form::Columns {
            let count = u32::try_from(self.match_count - self.first_match).unwrap_or(u32::MAX);
            self.out.counts.extend_from_slice(&count.to_le_bytes());
            return;
        }
        let query = self.fingerprints.get(query).unwrap_or_default();
        let (bytes, width) = (&mut self.out.bytes, self.fingerprints.width());
        let _ = self.style.close_answer(bytes, (query, width), false, None);
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
