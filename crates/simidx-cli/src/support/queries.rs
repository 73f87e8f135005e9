//! Queries out of a file or a stream, read by a thread of their own, so that those that have come are answered before
//! others are waited for.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rayon::prelude::*;
use simidx::{IdBuf, Set};
use simidx_input::{Content, Format, Place, ReadOptions, Record, RecordReader};
use simidx_text::ParallelFingerprinter;

use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, OnError};
use crate::support::pipeline::{PipelineFiles, recorded};

/// Queries that are answered together, at most.
const BATCH_QUERIES: usize = 4096;

/// Bytes of documents that wait or are answered together, at most, not counting the last one.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Queries of a stream that wait, at most.
const WAITING_QUERIES: usize = 256;

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

impl Read {
    /// Bytes of a document.
    fn text_len(&self) -> usize {
        match &self.record.content {
            Content::Text(text) => text.len(),
            Content::Fingerprint(_) => 0,
        }
    }
}

/// The bytes of the documents of a stream that wait; none when nobody takes documents any more.
struct Waiting {
    len: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Waiting {
    /// Adds those of a document, as soon as there is room for any.
    fn add(&self, len: usize) {
        let waiting = self.len.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |len: &mut Option<usize>| len.is_some_and(|len| len >= BATCH_TEXT_LEN);
        let waiting = self.changed.wait_while(waiting, is_full);
        if let Some(waiting) = &mut *waiting.unwrap_or_else(PoisonError::into_inner) {
            *waiting += len;
        }
    }

    /// Takes some away.
    fn remove(&self, len: usize) {
        let mut waiting = self.len.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = waiting.map(|waiting| waiting - len);
        self.changed.notify_one();
    }

    /// Lets nobody wait any more.
    fn end(&self) {
        *self.len.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_one();
    }
}

/// Queries that were read together; a failure comes last.
type Batch = Vec<Result<Read, Failure>>;

/// Hands out queries in batches.
pub(crate) struct QueryReader<'a> {
    /// Those of a file come in batches, those of a stream one by one. The thread ends when nobody takes them any more, or
    /// with the program: it may wait for input that never comes.
    queries: Receiver<Batch>,
    waiting: Arc<Waiting>,
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
        let is_file = path.as_os_str() != "-" && path.is_file();
        let (sender, queries) = sync_channel(if is_file { 1 } else { WAITING_QUERIES });
        let waiting = Arc::new(Waiting {
            len: Mutex::new(Some(0)),
            changed: Condvar::new(),
        });
        let added = Arc::clone(&waiting);
        let thread = std::thread::spawn(move || {
            let wait = (!is_file).then_some(&*added);
            read(reader, kind, wait, &sender);
        });
        Ok(QueryReader {
            queries,
            waiting,
            thread: Some(thread),
            is_file,
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
        let mut batch = self.take(self.is_file);
        if batch.is_empty() && self.failure.is_none() && !self.is_file {
            before_waiting()?;
            batch = self.take(true);
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

    /// The queries that have come, up to the length of a batch; if there are none, those that are waited for.
    fn take(&self, waits: bool) -> Batch {
        let first = match waits {
            true => self.queries.recv().ok(),
            false => self.queries.try_recv().ok(),
        };
        let mut batch = first.unwrap_or_default();
        if self.is_file {
            return batch;
        }
        let text_len = |batch: &Batch| batch.iter().flatten().map(Read::text_len).sum::<usize>();
        let mut len = text_len(&batch);
        while batch.len() < BATCH_QUERIES
            && len < BATCH_TEXT_LEN
            && let Ok(mut next) = self.queries.try_recv()
        {
            len += text_len(&next);
            batch.append(&mut next);
        }
        self.waiting.remove(len);
        batch
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
        // A thread that waits for room then finds that nobody takes any more.
        self.waiting.end();
    }
}

/// What makes fingerprints of documents as those of the indexes were made.
fn fingerprinter(set: &Set, files: &PipelineFiles) -> Result<ParallelFingerprinter, Failure> {
    Ok(recorded(set, &files.read()?)?.parallel(set.width())?)
}

/// Reads queries up to the end or the first failure, or until nobody takes them any more: those of a file in batches, those
/// of a stream, which have to wait for room, one by one.
fn read(
    mut reader: Box<dyn RecordReader>,
    kind: QueryKind,
    wait: Option<&Waiting>,
    queries: &SyncSender<Batch>,
) {
    let (mut batch, mut text_len, mut is_last) = (Batch::new(), 0, false);
    while !is_last {
        let next = reader.next();
        let query = next.map(|record| {
            let record = record?;
            if let Some(message) = kind.refusal(&record.content) {
                return Err(Failure::of_record(&*reader, message));
            }
            let (source, place) = reader.place();
            let fault = record.has_faults.then(|| (source.to_owned(), place));
            let read = Read { record, fault };
            text_len += read.text_len();
            Ok(read)
        });
        is_last = !matches!(query, Some(Ok(_)));
        batch.extend(query);
        // A call of the system for each query of a file would cost more than the query.
        let is_full = batch.len() >= BATCH_QUERIES || text_len >= BATCH_TEXT_LEN;
        if is_last || is_full || wait.is_some() {
            if let Some(waiting) = wait {
                waiting.add(text_len);
            }
            text_len = 0;
            is_last |= queries.send(std::mem::take(&mut batch)).is_err();
        }
    }
}
