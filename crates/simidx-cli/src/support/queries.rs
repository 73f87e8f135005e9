//! Reads queries from a file or a stream on a separate thread, so that available queries are answered before it waits
//! for others.

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

/// Largest number of queries that are answered together.
const BATCH_QUERIES: usize = 4096;

/// Largest number of bytes of documents that wait or are answered together, without the last one.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// The records that are queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    Fingerprints,
    Documents,
    Either,
}

impl QueryKind {
    /// Returns the message for a record of the other kind.
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
    /// The fingerprint; for a document without features, the fingerprint of all such documents.
    pub(crate) fingerprint: u128,
    pub(crate) id: Option<IdBuf>,
    /// Whether the query is a document without features, to which nothing is near.
    pub(crate) is_without_features: bool,
    /// Its position in its file, from 0.
    pub(crate) row: u64,
}

impl Query {
    /// Creates a query by its fingerprint.
    pub(crate) fn new(fingerprint: u128, id: Option<IdBuf>) -> Self {
        Query {
            fingerprint,
            id,
            ..Query::default()
        }
    }

    /// Creates a query by a document.
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
    /// The place of the record, if bytes in it became U+FFFD.
    fault: Option<(String, Place)>,
}

impl Read {
    /// Number of bytes of a document.
    fn text_len(&self) -> usize {
        match &self.record.content {
            Content::Text(text) => text.len(),
            Content::Fingerprint(_) => 0,
        }
    }
}

/// Queries that were read together; a failure comes last.
type Batch = Vec<Result<Read, Failure>>;

/// Queries that have been read but not taken.
#[derive(Default)]
struct Waiting {
    queries: Batch,
    /// Number of bytes of their documents.
    text_len: usize,
    /// Whether reading or taking has ended.
    is_over: bool,
}

impl Waiting {
    fn is_full(&self) -> bool {
        self.queries.len() >= BATCH_QUERIES || self.text_len >= BATCH_TEXT_LEN
    }
}

/// A bounded queue between the reading and the answering thread: one waits while it is full, the other while it is
/// empty.
#[derive(Default)]
struct Meeting {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Meeting {
    /// Waits while a condition holds.
    fn wait_while(&self, is_so: impl Fn(&Waiting) -> bool) -> MutexGuard<'_, Waiting> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.changed.wait_while(waiting, |waiting| is_so(waiting));
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of the queue, which closes it when it is dropped.
struct Side(Arc<Meeting>);

impl Drop for Side {
    fn drop(&mut self) {
        self.0.wait_while(|_| false).is_over = true;
        self.0.changed.notify_one();
    }
}

/// Returns queries in batches.
pub(crate) struct QueryReader<'a> {
    /// The reading thread ends when queries are no longer taken, or with the program: it may wait indefinitely for
    /// input.
    meeting: Side,
    thread: Option<JoinHandle<()>>,
    /// Whether the queries are in a regular file, so that waiting for more of them always succeeds.
    is_file: bool,
    diagnostics: Diagnostics,
    /// Number of queries that were returned.
    count: u64,
    /// The failure that ended the reading, to be returned after the queries before it.
    failure: Option<Failure>,
    /// The indexes, whose pipeline fingerprints documents from the first one on.
    set: &'a Set,
    files: &'a PipelineFiles,
    fingerprinter: Option<ParallelFingerprinter>,
}

impl<'a> QueryReader<'a> {
    /// Starts to read.
    ///
    /// # Errors
    /// The file cannot be opened, or its format cannot be detected.
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

    /// Returns the next queries; `None` after the last one. From a stream, these are the available ones; if there are
    /// none, `before_waiting` is called before waiting for more.
    ///
    /// # Errors
    /// A record that is not a query, or a failure to read the file, after all queries before it.
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
                // The failure is the last element.
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

    /// Returns the available queries, and waits if there are none. Queries from a file come in full batches.
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

    /// Returns the queries with their fingerprints, in order. Documents are fingerprinted in parallel.
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

/// Returns the fingerprinter of the indexes' documents.
fn fingerprinter(set: &Set, files: &PipelineFiles) -> Result<ParallelFingerprinter, Failure> {
    Ok(recorded(set, &files.read()?)?.parallel(set.width())?)
}

/// Reads queries up to the end or the first failure, or until they are no longer taken.
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
        // A system call for each query in a file would cost more than the query.
        if !is_file || waiting.is_full() {
            meeting.changed.notify_one();
        }
        if is_last {
            return;
        }
    }
}
