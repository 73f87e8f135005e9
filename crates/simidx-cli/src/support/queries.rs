//! Queries out of a file or a stream, read by a thread of their own, so that those that have come are answered before
//! others are waited for.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rayon::prelude::*;
use simidx::{IdBuf, Set};
use simidx_input::{Content, Format, InputError, Place, ReadOptions, Record, RecordReader};
use simidx_text::ParallelFingerprinter;

use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, OnError};
use crate::support::pipeline::{PipelineFiles, recorded};

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

/// A query as its answer names it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    /// That of documents without features, if the query is one.
    pub(crate) fingerprint: u128,
    pub(crate) id: Option<IdBuf>,
    /// Whether the query is a document in which nothing says what it is like: nothing is near it.
    pub(crate) is_without_features: bool,
}

impl Query {
    /// A query by its fingerprint.
    pub(crate) fn new(fingerprint: u128, id: Option<IdBuf>) -> Self {
        Query {
            fingerprint,
            id,
            is_without_features: false,
        }
    }

    /// A query by a document.
    pub(crate) fn of_text(
        text: &str,
        id: Option<IdBuf>,
        fingerprinter: &ParallelFingerprinter,
    ) -> Self {
        let fingerprint = fingerprinter.with(|f| f.fingerprint_if_any(text));
        Query {
            fingerprint: fingerprint.unwrap_or(fingerprinter.empty_fingerprint()),
            id,
            is_without_features: fingerprint.is_none(),
        }
    }
}

/// A record that is a query.
struct Read {
    record: Record,
    /// Where the record is in which bytes became U+FFFD.
    fault: Option<(String, Place)>,
}

/// Hands out queries in batches.
pub(crate) struct QueryReader<'a> {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Whether the queries are of a regular file, so that waiting for more of them is never in vain.
    is_file: bool,
    diagnostics: Diagnostics,
    /// What ended the reading, due after the queries before it.
    failure: Option<Failure>,
    /// Documents become fingerprints as those of these indexes, from the first one on.
    set: &'a Set,
    files: &'a PipelineFiles,
    fingerprinter: Option<ParallelFingerprinter>,
}

impl<'a> QueryReader<'a> {
    /// Begins to read.
    ///
    /// # Errors
    /// What keeps the file from being opened, or its format from being told.
    pub(crate) fn open(
        path: &Path,
        (format, options): (Option<Format>, &ReadOptions),
        kind: QueryKind,
        (set, files): (&'a Set, &'a PipelineFiles),
    ) -> Result<Self, Failure> {
        let reader = simidx_input::open_with(path, format, options)?;
        let mut diagnostics = Diagnostics::new(OnError::Stop);
        diagnostics.note_guess(&*reader);
        let fingerprinter = match kind {
            QueryKind::Documents => Some(fingerprinter(set, files)?),
            _ => None,
        };
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
            set,
            files,
            fingerprinter,
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
        let mut batch = Vec::new();
        if self.failure.is_none() {
            batch = self
                .queue
                .take(if self.is_file { BATCH_QUERIES } else { 0 });
            if batch.is_empty() && !self.is_file {
                before_waiting()?;
                batch = self.queue.take(1);
            }
        }
        let mut queries = Vec::with_capacity(batch.len());
        for read in batch {
            match read {
                Ok(read) => queries.push(read),
                // Nothing comes after it.
                Err(failure) => self.failure = Some(failure),
            }
        }
        for (source, place) in queries.iter().filter_map(|read| read.fault.as_ref()) {
            self.diagnostics.note_faults((source, *place));
        }
        if !queries.is_empty() {
            return self.fingerprinted(queries).map(Some);
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => {
                self.finish();
                Ok(None)
            }
        }
    }

    /// The queries with their fingerprints, in order; documents are worked on in parallel.
    fn fingerprinted(&mut self, queries: Vec<Read>) -> Result<Vec<Query>, Failure> {
        let is_document = |read: &Read| matches!(read.record.content, Content::Text(_));
        if !queries.iter().any(is_document) {
            let query = |read: Read| match read.record.content {
                Content::Fingerprint(fingerprint) => Some(Query::new(fingerprint, read.record.id)),
                Content::Text(_) => None,
            };
            return Ok(queries.into_iter().filter_map(query).collect());
        }
        let fingerprinter = match &mut self.fingerprinter {
            Some(made) => made,
            none => none.insert(fingerprinter(self.set, self.files)?),
        };
        let query = |Read { record, .. }: Read| match record.content {
            Content::Fingerprint(fingerprint) => Query::new(fingerprint, record.id),
            Content::Text(text) => Query::of_text(&text, record.id, fingerprinter),
        };
        Ok(queries.into_par_iter().map(query).collect())
    }

    fn finish(&mut self) {
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        self.diagnostics.tell();
    }
}

impl Drop for QueryReader<'_> {
    fn drop(&mut self) {
        // The thread may wait for input that never comes; it ends with the program.
        self.queue.lock().is_abandoned = true;
        self.queue.changed.notify_one();
    }
}

/// What makes fingerprints of documents as those of the indexes were made.
fn fingerprinter(set: &Set, files: &PipelineFiles) -> Result<ParallelFingerprinter, Failure> {
    Ok(recorded(set, &files.read()?)?.parallel(set.width())?)
}

/// Reads queries up to the end or the first failure.
fn read(mut reader: Box<dyn RecordReader>, kind: QueryKind, queue: &Queue) {
    while let Some(record) = reader.next() {
        let query = record.map_err(Failure::from).and_then(|record| {
            let (source, place) = reader.place();
            if let Some(message) = kind.refusal(&record.content) {
                return Err(InputError::new(source, place, message).into());
            }
            let fault = record.has_faults.then(|| (source.to_owned(), place));
            Ok(Read { record, fault })
        });
        let is_last = query.is_err();
        if !queue.push(query) || is_last {
            break;
        }
    }
}

/// Queries that have been read and wait to be answered. Of the two sides at most one waits at a time.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: Vec<Result<Read, Failure>>,
    text_len: usize,
    /// Whether nothing is added any more.
    is_ended: bool,
    /// Whether nothing is taken any more.
    is_abandoned: bool,
    /// How many queries somebody waits for.
    awaited: usize,
}

impl State {
    fn is_full(&self) -> bool {
        self.ready.len() >= BATCH_QUERIES || self.text_len >= BATCH_TEXT_LEN
    }

    /// Whether what somebody waits for is there.
    fn is_due(&self) -> bool {
        self.ready.len() >= self.awaited || self.is_full()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a query when there is room for it; returns whether more are wanted.
    fn push(&self, query: Result<Read, Failure>) -> bool {
        let mut state = self.lock();
        while state.is_full() && !state.is_abandoned {
            state = self.wait(state);
        }
        if let Ok(read) = &query
            && let Content::Text(text) = &read.record.content
        {
            state.text_len += text.len();
        }
        state.ready.push(query);
        // A call of the system for each query would cost more than the query.
        if state.awaited > 0 && state.is_due() {
            self.changed.notify_one();
        }
        !state.is_abandoned
    }

    /// What has come, once there are so many queries, or as many as have room, or all.
    fn take(&self, awaited: usize) -> Vec<Result<Read, Failure>> {
        let mut state = self.lock();
        state.awaited = awaited;
        while !state.is_ended && !state.is_due() {
            state = self.wait(state);
        }
        (state.awaited, state.text_len) = (0, 0);
        self.changed.notify_one();
        std::mem::take(&mut state.ready)
    }
}

/// Notes the end of the reading, however it came.
struct EndOnDrop<'a>(&'a Queue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().is_ended = true;
        self.0.changed.notify_one();
    }
}
