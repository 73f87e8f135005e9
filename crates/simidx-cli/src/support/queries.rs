//! Queries out of a file or a stream, read by a thread of their own, so that those that have come are answered before
//! others are waited for.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    /// Its position in its file, from 0.
    pub(crate) row: u64,
}

impl Query {
    /// A query by its fingerprint.
    pub(crate) fn new(fingerprint: u128, id: Option<IdBuf>) -> Self {
        Query {
            fingerprint,
            id,
            ..Query::default()
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
            row: 0,
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

/// Queries that were read together; a failure comes last.
type Batch = Vec<Result<Read, Failure>>;

/// What was read and nobody has taken yet.
#[derive(Default)]
struct Waiting {
    queries: Batch,
    /// Bytes of the documents among them.
    text_len: usize,
    /// Whether nothing more is read, or nobody takes any more.
    is_over: bool,
}

impl Waiting {
    fn is_full(&self) -> bool {
        self.queries.len() >= BATCH_QUERIES || self.text_len >= BATCH_TEXT_LEN
    }
}

/// Where the thread that reads and the one that answers meet: one waits while it is full, the other while it is empty.
#[derive(Default)]
struct Meeting {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Meeting {
    /// Waits as long as it is as said.
    fn wait_while(&self, is_so: impl Fn(&Waiting) -> bool) -> MutexGuard<'_, Waiting> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.changed.wait_while(waiting, |waiting| is_so(waiting));
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One side of a meeting, which is over when it goes.
struct Side(Arc<Meeting>);

impl Drop for Side {
    fn drop(&mut self) {
        self.0.wait_while(|_| false).is_over = true;
        self.0.changed.notify_one();
    }
}

/// Hands out queries in batches.
pub(crate) struct QueryReader<'a> {
    /// The thread ends when nobody takes queries any more, or with the program: it may wait for input that never comes.
    meeting: Side,
    thread: Option<JoinHandle<()>>,
    /// Whether the queries are of a regular file, so that waiting for more of them is never in vain.
    is_file: bool,
    diagnostics: Diagnostics,
    /// Queries that have been handed out.
    count: u64,
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
        let meeting = Arc::<Meeting>::default();
        let side = Side(Arc::clone(&meeting));
        let thread = std::thread::spawn(move || read(reader, kind, is_file, &side));
        Ok(QueryReader {
            meeting: Side(meeting),
            thread: Some(thread),
            is_file,
            diagnostics,
            count: 0,
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
            let mut queries = self.fingerprinted(queries)?;
            for query in &mut queries {
                query.row = self.count;
                self.count += 1;
            }
            return Ok(Some(queries));
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => {
                self.finish();
                Ok(None)
            }
        }
    }

    /// The queries that have come; if there are none, those that are waited for. Those of a file come in full batches.
    fn take(&self, waits: bool) -> Batch {
        let Side(meeting) = &self.meeting;
        let mut waiting = meeting.wait_while(|waiting| {
            let is_enough = match self.is_file {
                true => waiting.is_full(),
                false => !waiting.queries.is_empty(),
            };
            waits && !is_enough && !waiting.is_over
        });
        waiting.text_len = 0;
        meeting.changed.notify_one();
        std::mem::take(&mut waiting.queries)
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

/// What makes fingerprints of documents as those of the indexes were made.
fn fingerprinter(set: &Set, files: &PipelineFiles) -> Result<ParallelFingerprinter, Failure> {
    Ok(recorded(set, &files.read()?)?.parallel(set.width())?)
}

/// Reads queries up to the end or the first failure, or until nobody takes them any more.
fn read(mut reader: Box<dyn RecordReader>, kind: QueryKind, is_file: bool, Side(meeting): &Side) {
    while let Some(record) = reader.next() {
        let query = record.map_err(Failure::from).and_then(|record| {
            if let Some(message) = kind.refusal(&record.content) {
                return Err(Failure::of_record(&*reader, message));
            }
            let (source, place) = reader.place();
            let fault = record.has_faults.then(|| (source.to_owned(), place));
            Ok(Read { record, fault })
        });
        let is_last = query.is_err();
        let mut waiting = meeting.wait_while(|waiting| waiting.is_full() && !waiting.is_over);
        if waiting.is_over {
            return;
        }
        waiting.text_len += query.as_ref().map_or(0, Read::text_len);
        waiting.queries.push(query);
        // A call of the system for each query of a file would cost more than the query.
        if !is_file || waiting.is_full() {
            meeting.changed.notify_one();
        }
        if is_last {
            return;
        }
    }
}
