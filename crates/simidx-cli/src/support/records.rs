//! Records of all inputs of a command, one after the other, with their fingerprints taken.

use std::path::PathBuf;

use rayon::prelude::*;
use simidx::{Column, Error, Fingerprint, Fingerprints, IdBuf, IdKind, Width};
use simidx_input::{self, Content, InputError, InputFile, Place, Record, RecordReader};
use simidx_text::dedup::content_identity;
use simidx_text::similar::{SignedText, TextSigner};
use simidx_text::{Fingerprinter, ParallelFingerprinter, Pipeline};

use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, InputArgs};
use crate::support::progress::ReadingBar;

/// Records that are fingerprinted at a time, in parallel.
const BATCH_RECORDS: usize = 4096;

/// Bytes of text that are held at a time.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// A record whose fingerprint is known.
#[derive(Debug)]
pub(crate) struct Fingerprinted {
    pub(crate) fingerprint: u128,
    pub(crate) id: Option<IdBuf>,
    /// Number of the record among all of the inputs, from 0; those that are skipped count too.
    pub(crate) position: u64,
    pub(crate) is_document: bool,
    /// The text of a document, for a sink that wants it.
    pub(crate) text: Option<String>,
    /// Bytes of the text of a document.
    pub(crate) text_len: u64,
    /// Distinct features that count in a document, for a sink that wants them.
    pub(crate) feature_count: Option<u32>,
    /// Of a document without features its identity: the fingerprint then says nothing.
    pub(crate) without_features: Option<u128>,
    /// Of a document what a sink with a signer compares in place of the fingerprint.
    pub(crate) signed: Option<SignedText>,
}

impl Fingerprinted {
    /// A record that is no document.
    fn new(fingerprint: u128, id: Option<IdBuf>, position: u64) -> Self {
        Fingerprinted {
            fingerprint,
            id,
            position,
            is_document: false,
            text: None,
            text_len: 0,
            feature_count: None,
            without_features: None,
            signed: None,
        }
    }

    /// Makes it a document with this text: with its fingerprint, or with what a signer makes of it in place of that.
    fn take_text(
        &mut self,
        text: &str,
        fingerprinter: &mut Fingerprinter,
        counts_features: bool,
        signer: Option<&TextSigner>,
    ) {
        (self.is_document, self.text_len) = (true, text.len() as u64);
        let has_features = if let Some(signer) = signer {
            let signed = self.signed.insert(signer.sign(fingerprinter, text));
            signed.has_features()
        } else if counts_features {
            let (fingerprint, count) = fingerprinter.fingerprint_with_count(text);
            (self.fingerprint, self.feature_count) = (fingerprint, Some(count));
            count > 0
        } else {
            let fingerprint = fingerprinter.fingerprint_if_any(text);
            self.fingerprint = fingerprint.unwrap_or(fingerprinter.empty_fingerprint());
            fingerprint.is_some()
        };
        self.without_features = (!has_features).then(|| content_identity(text));
    }

    /// Whether the record has an id, or is a document, which gets one.
    pub(crate) fn is_named(&self) -> bool {
        self.is_document || self.id.is_some()
    }
}

/// Why a command does not take a record.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The record is at fault, for this reason; `--on-error` decides.
    Record(String),
    /// The record shows that the input is not as it was said to be: an error in any case.
    Input(String),
    /// The command cannot go on.
    Fatal(Error),
}

impl Refusal {
    pub(crate) fn record(message: impl Into<String>) -> Self {
        Refusal::Record(message.into())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Fatal(error)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Refusal::Fatal(error.into())
    }
}

/// The id of a record as a number or a string: if it has none, its position, but for a fingerprint that needs a string.
///
/// # Errors
/// A text that is not a number, or a fingerprint without an id where ids are strings.
pub(crate) fn id_of(record: Fingerprinted, kind: IdKind) -> Result<IdBuf, Refusal> {
    Ok(match (kind, record.id) {
        (IdKind::Number, None) => IdBuf::Number(record.position),
        (IdKind::Number, Some(IdBuf::Number(id))) => IdBuf::Number(id),
        (IdKind::Number, Some(IdBuf::String(id))) => {
            let number = u64::parse_dec(&id);
            let refusal = || Refusal::record(format!("the id {id:?} is not a number below 2^64"));
            IdBuf::Number(number.ok_or_else(refusal)?)
        }
        (_, Some(IdBuf::String(id))) => IdBuf::String(id),
        (_, Some(IdBuf::Number(id))) => IdBuf::String(id.to_string()),
        (_, None) if record.is_document => IdBuf::String(record.position.to_string()),
        (_, None) => {
            let message = "has no id; --ids number uses positions instead";
            return Err(Refusal::record(message));
        }
    })
}

/// An id as an index of this kind stores it; none if it cannot.
pub(crate) fn id_of_kind(id: IdBuf, kind: IdKind) -> Option<IdBuf> {
    match (kind, id) {
        (IdKind::None, _) => None,
        (IdKind::Number, IdBuf::String(text)) => u64::parse_dec(&text).map(IdBuf::Number),
        (IdKind::String, IdBuf::Number(number)) => Some(IdBuf::String(number.to_string())),
        (_, id) => Some(id),
    }
}

/// What reading came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadCounts {
    /// Records used.
    pub(crate) records: u64,
    /// Records left out.
    pub(crate) skipped: u64,
    /// Records used in which bytes that stand for nothing became U+FFFD.
    pub(crate) replaced: u64,
    /// Documents among the records used that have no features.
    pub(crate) without_features: u64,
}

/// Takes records in.
pub(crate) trait Sink {
    /// Takes one record.
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal>;

    /// Whether fingerprints without ids, of which none is a document, may come many at a time from now on.
    fn takes_fingerprints(&self) -> bool {
        false
    }

    /// Whether documents shall come with their texts.
    fn wants_texts(&self) -> bool {
        false
    }

    /// Whether records shall come with the numbers of their features.
    fn wants_feature_counts(&self) -> bool {
        false
    }

    /// What signs documents, for a sink that compares their texts: they then come without fingerprints.
    fn signer(&self) -> Option<TextSigner> {
        None
    }

    /// Takes such fingerprints, the first of which has this position, up to the first one that there is something to be
    /// said against; returns how many. That one then comes by itself.
    fn fingerprints(
        &mut self,
        fingerprints: Column<'_>,
        first_position: u64,
    ) -> Result<usize, Error> {
        let _ = (fingerprints, first_position);
        Ok(0)
    }
}

/// Takes records one by one in a closure.
pub(crate) struct Each<C>(pub(crate) C);

impl<C: FnMut(Fingerprinted) -> Result<(), Refusal>> Sink for Each<C> {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        self.0(record)
    }
}

/// Reads all inputs and hands each record with its fingerprint, by the pipeline if it is a document, to `sink`, in
/// order.
///
/// # Errors
/// An input that cannot be read, or a record that cannot be used and is not to be skipped.
pub(crate) fn read(
    args: &InputArgs,
    pipeline: &Pipeline,
    bar: ReadingBar,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let paths = args.paths()?;
    let bar = bar.start(total_len(&paths));
    let options = args.fields.options(args.width);
    let readers = paths
        .iter()
        .map(|path| simidx_input::open_with(path, args.input, &options));
    read_all((args, args.width), pipeline, readers, bar, sink)
}

/// Reads originals in the same way, with fingerprints of this width.
///
/// # Errors
/// As for [`read`], and an original that has changed.
pub(crate) fn read_originals(
    (args, width): (&InputArgs, Width),
    pipeline: &Pipeline,
    originals: &[InputFile],
    bar: ReadingBar,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let bar = bar.start(originals.iter().map(InputFile::byte_count).sum());
    let readers = originals.iter().map(InputFile::records);
    read_all((args, width), pipeline, readers, bar, sink)
}

/// Reads everything that these readers give, each opened when the one before has been read.
fn read_all(
    (args, width): (&InputArgs, Width),
    pipeline: &Pipeline,
    readers: impl Iterator<Item = simidx_input::Result<Box<dyn RecordReader>>>,
    bar: ReadingBar,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let mut run = Run {
        fingerprinter: pipeline.parallel(width)?,
        width,
        diagnostics: Diagnostics::new(args.on_error),
        records: 0,
        without_features: 0,
        next_position: 0,
        bar,
        bytes_before: 0,
    };
    for reader in readers {
        run.read_input(reader?.as_mut(), sink)?;
    }
    run.bar.finish();
    run.diagnostics.tell();
    Ok(ReadCounts {
        records: run.records,
        skipped: run.diagnostics.skipped_count(),
        replaced: run.diagnostics.replaced_count(),
        without_features: run.without_features,
    })
}

/// Bytes of all inputs together, if each of them is a regular file.
pub(crate) fn total_len(paths: &[PathBuf]) -> Option<u64> {
    let len = |path: &PathBuf| {
        let data = path.metadata().ok()?;
        data.is_file().then_some(data.len())
    };
    paths.iter().map(len).sum()
}

/// Where a record stands, and what there is to say of it.
struct Origin {
    /// Number of its source among those of the batch.
    source: usize,
    place: Place,
    has_faults: bool,
    odd_id: Option<String>,
}

/// A record and where it stands.
struct Placed {
    record: Record,
    origin: Origin,
    /// As in [`Fingerprinted`].
    position: u64,
}

/// Records that are fingerprinted together, with their places.
struct Batch {
    sources: Vec<String>,
    records: Vec<Placed>,
    text_len: usize,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn is_full(&self) -> bool {
        self.records.len() >= BATCH_RECORDS || self.text_len >= BATCH_TEXT_LEN
    }

    fn push(&mut self, mut record: Record, (source, place): (&str, Place), position: u64) {
        if self.sources.last().is_none_or(|last| last != source) {
            self.sources.push(source.to_owned());
        }
        if let Content::Text(text) = &record.content {
            self.text_len += text.len();
        }
        let origin = Origin {
            source: self.sources.len() - 1,
            place,
            has_faults: record.has_faults,
            odd_id: record.odd_id.take(),
        };
        self.records.push(Placed {
            record,
            origin,
            position,
        });
    }

    /// The records, in order, as a sink wants them, each with where it stands; texts are worked on in parallel.
    fn fingerprinted(
        self,
        fingerprinter: &ParallelFingerprinter,
        sink: &dyn Sink,
    ) -> (Vec<String>, Vec<(Fingerprinted, Origin)>) {
        let (signer, counts) = (sink.signer(), sink.wants_feature_counts());
        let wants_texts = sink.wants_texts();
        let of = |Placed {
                      record,
                      origin,
                      position,
                  }: Placed| {
            let mut made = Fingerprinted::new(0, record.id, position);
            match record.content {
                Content::Fingerprint(fingerprint) => made.fingerprint = fingerprint,
                Content::Text(text) => {
                    fingerprinter.with(|f| made.take_text(&text, f, counts, signer.as_ref()));
                    made.text = Some(text).filter(|_| wants_texts);
                }
            }
            (made, origin)
        };
        let records = match self.text_len {
            0 => self.records.into_iter().map(of).collect(),
            _ => self.records.into_par_iter().map(of).collect(),
        };
        (self.sources, records)
    }
}

struct Run {
    fingerprinter: ParallelFingerprinter,
    width: Width,
    diagnostics: Diagnostics,
    /// Number of records used.
    records: u64,
    /// As in [`ReadCounts`].
    without_features: u64,
    next_position: u64,
    bar: ReadingBar,
    /// Bytes of the inputs that have been read to their ends.
    bytes_before: u64,
}

impl Run {
    fn read_input(
        &mut self,
        reader: &mut dyn RecordReader,
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        self.diagnostics.note_guess(reader);
        let mut many = Fingerprints::new(self.width);
        loop {
            self.read_many(reader, &mut many, sink)?;
            let batch = self.read_batch(reader)?;
            if batch.is_empty() {
                break;
            }
            self.hand_on(batch, sink)?;
            self.show(reader.bytes_read());
        }
        self.bytes_before += reader.bytes_read();
        Ok(())
    }

    /// Hands on records for as long as they come many at a time and may go on so.
    fn read_many(
        &mut self,
        reader: &mut dyn RecordReader,
        many: &mut Fingerprints,
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        while sink.takes_fingerprints() {
            many.clear();
            if reader.read_fingerprints(many) == 0 {
                break;
            }
            self.hand_on_many(Column::from(&*many), reader.place(), sink)?;
            self.show(reader.bytes_read());
        }
        Ok(())
    }

    /// Hands on fingerprints that came together, the last of them from `place`.
    fn hand_on_many(
        &mut self,
        many: Column<'_>,
        (source, place): (&str, Place),
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        let mut next = 0;
        while next < many.len() {
            let taken = sink.fingerprints(many.slice(next..many.len()), self.next_position)?;
            self.next_position += taken as u64;
            self.records += taken as u64;
            next += taken;
            let Some(fingerprint) = many.get(next) else {
                break;
            };
            next += 1;
            let record = Fingerprinted::new(fingerprint, None, self.next_position);
            let result = sink.record(record);
            let (number, behind) = (self.next_position, (many.len() - next) as u64);
            self.judge(result, |message| match place {
                Place::Offset(last) => {
                    let first = last - behind * many.width().bytes() as u64;
                    InputError::new(source, Place::Offset(first), message)
                }
                // Lines without a record are not counted among those behind.
                _ => {
                    let message = format!("record {number} of all, from 0: {message}");
                    InputError::new(source, Place::File, message)
                }
            })?;
            self.next_position += 1;
        }
        Ok(())
    }

    /// Counts a record, or deals with its refusal; returns whether it is used.
    fn judge(
        &mut self,
        result: Result<(), Refusal>,
        error: impl FnOnce(String) -> InputError,
    ) -> Result<bool, Failure> {
        match result {
            Ok(()) => {
                self.records += 1;
                Ok(true)
            }
            Err(Refusal::Fatal(error)) => Err(error.into()),
            Err(Refusal::Record(message)) => {
                self.diagnostics.skip_or_fail(error(message))?;
                Ok(false)
            }
            Err(Refusal::Input(message)) => Err(error(message).into()),
        }
    }

    fn show(&self, bytes: u64) {
        self.bar.show(self.next_position, self.bytes_before + bytes);
    }

    /// The next records of a reader; none at its end.
    fn read_batch(&mut self, reader: &mut dyn RecordReader) -> Result<Batch, Failure> {
        let mut batch = Batch {
            sources: Vec::new(),
            records: Vec::with_capacity(BATCH_RECORDS),
            text_len: 0,
        };
        while !batch.is_full() {
            match reader.next() {
                None => break,
                Some(Ok(record)) => {
                    batch.push(record, reader.place(), self.next_position);
                }
                Some(Err(simidx_input::Error::Input(error))) => {
                    self.diagnostics.skip_or_fail(error)?
                }
                Some(Err(error)) => return Err(error.into()),
            }
            self.next_position += 1;
        }
        Ok(batch)
    }

    fn hand_on(&mut self, batch: Batch, sink: &mut dyn Sink) -> Result<(), Failure> {
        let (sources, records) = batch.fingerprinted(&self.fingerprinter, sink);
        for (record, origin) in records {
            let has_features = record.without_features.is_none();
            let (source, place) = (&sources[origin.source], origin.place);
            let result = sink.record(record);
            if !self.judge(result, |message| InputError::new(source, place, message))? {
                continue;
            }
            self.without_features += u64::from(!has_features);
            if let Some(message) = origin.odd_id {
                self.diagnostics.note_odd_id((source, place), message);
            }
            if origin.has_faults {
                self.diagnostics.note_faults((source, place));
            }
        }
        Ok(())
    }
}
