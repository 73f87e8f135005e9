//! Queries out of a file or a stream, read by a thread of their own, so that those that have come are answered before
//! others are waited for.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rayon::prelude::*;
use simidx::IdBuf;
use simidx_input::{Content, Format, Place, ReadOptions, Record, RecordReader};
use simidx_text::ParallelFingerprinter;

use crate::support::diagnostics::{Diagnostics, OnError};
use crate::support::failure::Failure;
use crate::support::records::refused;

/// Queries that are answered together, at most.
const BATCH_QUERIES: usize = 4096;

/// Bytes of documents that wait to be queries, at most, not counting the last one.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Which records are queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    Fingerprints,
    Documents,
    Either,
}

impl QueryKind {
    /// What to say of a record of the other kind.
    fn refusal(self, content: &Content) -> Option<&'static str> {
        match (self, content) {
            (QueryKind::Fingerprints, Content::Text(_)) => {
                Some("is a document; use --documents to query documents")
            }
            (QueryKind::Documents, Content::Fingerprint(_)) => {
                Some("is a fingerprint; --documents reads documents")
            }
            _ => None,
        }
    }
}

/// A query that has been read.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) content: Content,
    pub(crate) id: Option<IdBuf>,
    /// Where the record is in which bytes became U+FFFD.
    fault: Option<(String, Place)>,
}

impl Query {
    /// The fingerprint of the query; none of a document without features.
    pub(crate) fn fingerprint(
        &self,
        fingerprinter: Option<&ParallelFingerprinter>,
    ) -> Option<u128> {
        match (&self.content, fingerprinter) {
            (Content::Fingerprint(fingerprint), _) => Some(*fingerprint),
            (Content::Text(text), Some(fingerprinter)) => {
                fingerprinter.with(|f| f.fingerprint_if_any(text))
            }
            // No document is taken in without a fingerprinter.
            (Content::Text(_), None) => None,
        }
    }
}

/// Makes the fingerprinter when the first document comes.
pub(crate) struct LazyFingerprinter<M> {
    made: Option<ParallelFingerprinter>,
    make: M,
}

impl<M: Fn() -> Result<ParallelFingerprinter, Failure>> LazyFingerprinter<M> {
    pub(crate) fn new(make: M) -> Self {
        LazyFingerprinter { made: None, make }
    }

    /// What these queries need.
    ///
    /// # Errors
    /// What keeps it from being made.
    pub(crate) fn for_queries(
        &mut self,
        queries: &[Query],
    ) -> Result<Option<&ParallelFingerprinter>, Failure> {
        let is_document = |query: &Query| matches!(query.content, Content::Text(_));
        if self.made.is_none() && queries.iter().any(is_document) {
            self.made = Some((self.make)()?);
        }
        Ok(self.made.as_ref())
    }

    /// The fingerprint of documents without features.
    pub(crate) fn empty_fingerprint(&self) -> u128 {
        let made = self.made.as_ref();
        made.map_or(0, ParallelFingerprinter::empty_fingerprint)
    }
}

/// The fingerprints of some queries, in order; documents are worked on in parallel.
pub(crate) fn fingerprints(
    queries: &[Query],
    fingerprinter: Option<&ParallelFingerprinter>,
) -> Vec<Option<u128>> {
    match fingerprinter {
        None => queries
            .iter()
            .map(|query| query.fingerprint(None))
            .collect(),
        _ => queries
            .par_iter()
            .map(|query| query.fingerprint(fingerprinter))
            .collect(),
    }
}

/// Hands out queries in batches.
pub(crate) struct QueryReader {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Whether the queries are of a regular file, so that waiting for more of them is never in vain.
    is_file: bool,
    diagnostics: Diagnostics,
    /// What ended the reading, due after the queries before it.
    failure: Option<Failure>,
}

impl QueryReader {
    /// Begins to read.
    ///
    /// # Errors
    /// What keeps the file from being opened, or its format from being told.
    pub(crate) fn open(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
        kind: QueryKind,
    ) -> Result<Self, Failure> {
        let reader = simidx_input::open_with(path, format, options)?;
        let mut diagnostics = Diagnostics::new(OnError::Stop);
        diagnostics.note_guess(&*reader);
        let queue = Arc::new(Queue::default());
        let filled = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            let _end = EndOnDrop(&filled);
            read(reader, kind, &filled);
        });
        Ok(QueryReader {
            queue,
            thread: Some(thread),
            is_file: path.as_os_str() != "-" && path.is_file(),
            diagnostics,
            failure: None,
        })
    }

    /// The next queries; `None` after the last one. Of a stream these are the ones that have come, and if there are none,
    /// `before_waiting` is called before more are waited for.
    ///
    /// # Errors
    /// A record that is no query, or what keeps the file from being read: after all queries before it.
    pub(crate) fn next_batch(
        &mut self,
        before_waiting: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Option<Vec<Query>>, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut batch = match self.is_file {
            true => self.queue.take_full(),
            false => match self.queue.take_ready() {
                Some(ready) => ready,
                None => {
                    before_waiting()?;
                    self.queue.take_some()
                }
            },
        };
        if batch.is_empty() {
            self.finish();
            return Ok(None);
        }
        let end = batch.iter().position(Result::is_err);
        if let Some(end) = end {
            // Nothing comes after it.
            let last = batch.swap_remove(end);
            self.failure = last.err();
        }
        let queries: Vec<Query> = batch.into_iter().flatten().collect();
        for query in &queries {
            if let Some((source, place)) = &query.fault {
                self.diagnostics.note_faults((source, *place));
            }
        }
        // A failure comes by itself, after the queries before it.
        match self.failure.take_if(|_| queries.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok(Some(queries)),
        }
    }

    fn finish(&mut self) {
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        self.diagnostics.tell();
    }
}

impl Drop for QueryReader {
    fn drop(&mut self) {
        // The thread may wait for input that never comes; it ends with the program.
        self.queue.lock().is_abandoned = true;
        self.queue.has_room.notify_one();
    }
}

/// Reads queries up to the end or the first failure.
fn read(mut reader: Box<dyn RecordReader>, kind: QueryKind, queue: &Queue) {
    while let Some(record) = reader.next() {
        let query = record.map_err(Failure::from).and_then(|record| {
            let place = reader.place();
            query(record, place, kind)
        });
        let is_last = query.is_err();
        if !queue.push(query) || is_last {
            break;
        }
    }
}

fn query(
    record: Record,
    (source, place): (&str, Place),
    kind: QueryKind,
) -> Result<Query, Failure> {
    match kind.refusal(&record.content) {
        Some(message) => Err(refused(source, place, message)),
        None => Ok(Query {
            content: record.content,
            id: record.id,
            fault: record.has_faults.then(|| (source.to_owned(), place)),
        }),
    }
}

/// Queries that have been read and wait to be answered.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    has_queries: Condvar,
    has_room: Condvar,
}

#[derive(Default)]
struct State {
    ready: Vec<Result<Query, Failure>>,
    text_len: usize,
    /// Whether nothing is added any more.
    is_ended: bool,
    /// Whether nothing is taken any more.
    is_abandoned: bool,
    /// What somebody waits for.
    awaited: Option<Awaited>,
}

/// Queries that are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// Any.
    Some,
    /// As many as are answered together.
    Full,
}

impl State {
    fn is_full(&self) -> bool {
        self.ready.len() >= BATCH_QUERIES || self.text_len >= BATCH_TEXT_LEN
    }

    /// Whether what somebody waits for is there.
    fn is_due(&self) -> bool {
        match self.awaited {
            Some(Awaited::Some) => !self.ready.is_empty(),
            Some(Awaited::Full) => self.is_full(),
            None => false,
        }
    }

    fn take(&mut self) -> Vec<Result<Query, Failure>> {
        self.text_len = 0;
        std::mem::take(&mut self.ready)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a query when there is room for it; returns whether more are wanted.
    fn push(&self, query: Result<Query, Failure>) -> bool {
        let mut state = self.lock();
        while state.is_full() && !state.is_abandoned {
            state = wait(&self.has_room, state);
        }
        if let Ok(Query {
            content: Content::Text(text),
            ..
        }) = &query
        {
            state.text_len += text.len();
        }
        state.ready.push(query);
        // A call of the system for each query would cost more than the query.
        if state.is_due() {
            self.has_queries.notify_one();
        }
        !state.is_abandoned
    }

    /// What has come, if anything has or nothing will.
    fn take_ready(&self) -> Option<Vec<Result<Query, Failure>>> {
        let mut state = self.lock();
        let is_due = !state.ready.is_empty() || state.is_ended;
        is_due.then(|| self.hand_out(&mut state))
    }

    /// The same, after waiting for it.
    fn take_some(&self) -> Vec<Result<Query, Failure>> {
        self.take_when(Awaited::Some)
    }

    /// A full batch, or what is left.
    fn take_full(&self) -> Vec<Result<Query, Failure>> {
        self.take_when(Awaited::Full)
    }

    fn take_when(&self, awaited: Awaited) -> Vec<Result<Query, Failure>> {
        let mut state = self.lock();
        state.awaited = Some(awaited);
        while !state.is_ended && !state.is_due() {
            state = wait(&self.has_queries, state);
        }
        state.awaited = None;
        self.hand_out(&mut state)
    }

    fn hand_out(&self, state: &mut State) -> Vec<Result<Query, Failure>> {
        self.has_room.notify_one();
        state.take()
    }
}

fn wait<'a, T>(signal: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    signal.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Notes the end of the reading, however it came.
struct EndOnDrop<'a>(&'a Queue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().is_ended = true;
        self.0.has_queries.notify_one();
    }
}
