//! Reads queries from a file or a stream on a separate thread, so that available queries are answered before it waits
//! for others.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
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

/// Largest number of bytes of documents that are answered together, without the last one.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Largest number of records of a stream that wait if they may be documents.
const WAITING_DOCUMENTS: usize = 64;

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

/// Queries that were read together, and the failure that ended the reading after them.
type Batch = (Vec<Read>, Option<Failure>);

/// Whether queries, and bytes of documents, are enough to be answered together.
fn are_enough(queries: &[Read], text_len: usize) -> bool {
    queries.len() >= BATCH_QUERIES || text_len >= BATCH_TEXT_LEN
}

/// Returns queries in batches.
pub(crate) struct QueryReader<'a> {
    /// The queries that were read. The reading thread ends when they are no longer taken, or with the program: it may
    /// wait indefinitely for input.
    waiting: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
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
        // Queries from a file come in full batches, of which the next one is read while one is answered.
        let most = match (is_file, kind) {
            (true, _) => 0,
            (false, QueryKind::Fingerprints) => BATCH_QUERIES,
            (false, _) => WAITING_DOCUMENTS,
        };
        let (sender, waiting) = sync_channel(most);
        let thread = std::thread::spawn(move || read(reader, kind, is_file, &sender));
        Ok(QueryReader {
            waiting,
            thread: Some(thread),
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
        let (mut queries, mut text_len) = (Vec::new(), 0);
        let mut next = self.waiting.try_recv();
        if matches!(next, Err(TryRecvError::Empty)) {
            before_waiting()?;
            next = self.waiting.recv().map_err(TryRecvError::from);
        }
        while let Ok((batch, failure)) = next {
            text_len += batch.iter().map(Read::text_len).sum::<usize>();
            queries.extend(batch);
            self.failure = failure;
            if self.failure.is_some() || are_enough(&queries, text_len) {
                break;
            }
            next = self.waiting.try_recv();
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

/// Reads queries up to the end or the first failure, or until they are no longer taken. Those of a stream are sent at once.
fn read(
    mut reader: Box<dyn RecordReader>,
    kind: QueryKind,
    is_file: bool,
    sender: &SyncSender<Batch>,
) {
    let (mut batch, mut text_len, mut failure) = (Vec::new(), 0, None);
    while let Some(record) = reader.next() {
        let query = record.map_err(Failure::from).and_then(|record| {
            if let Some(message) = kind.refusal(&record.content) {
                return Err(Failure::of_record(&*reader, message));
            }
            let (source, place) = reader.place();
            let fault = record.has_faults.then(|| (source.to_owned(), place));
            Ok(Read { record, fault })
        });
        match query {
            Ok(query) => {
                text_len += query.text_len();
                batch.push(query);
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
        if !is_file || are_enough(&batch, text_len) {
            text_len = 0;
            if sender.send((std::mem::take(&mut batch), None)).is_err() {
                return;
            }
        }
    }
    // Nobody waits for them if this fails.
    let _ = sender.send((batch, failure));
}
