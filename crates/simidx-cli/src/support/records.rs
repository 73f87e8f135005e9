//! Reads the records of all inputs of a command, consecutively, with their fingerprints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use simidx::{Column, Error, Fingerprint, Fingerprints, IdBuf, IdKind, Width};
use simidx_input::{
    self, Content, Format, InputError, InputFile, Place, ReadOptions, Record, RecordReader,
};
use simidx_text::contained::{Contained, ContainedSearch};
use simidx_text::dedup::content_identity;
use simidx_text::similar::{SignedText, Sketcher, TextSigner, TextSketch};
use simidx_text::{Fingerprinter, ParallelFingerprinter, Pipeline};

use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, InputArgs, OnError};
use crate::support::progress::{Reading, ReadingBar};

/// Number of records that are fingerprinted in parallel.
const BATCH_RECORDS: usize = 4096;

/// Largest number of bytes of text in memory.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// The results that are computed for a document, in parallel.
pub(crate) enum Wanted {
    Fingerprint,
    /// The fingerprint, and a sketch of features that another pipeline makes.
    Sketch(Sketcher, ParallelFingerprinter),
    /// A sketch, instead of the fingerprint.
    SketchAlone(Sketcher),
    /// The data that is compared instead of the fingerprint.
    Signed(TextSigner, Extras),
    /// The items that stand in the text, instead of the fingerprint.
    Contained(ContainedSearch),
    /// Nothing: the text itself is needed.
    Text,
}

/// Further data of a text that is compared: a sketch of the same features, and the text itself.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) sketcher: Option<Sketcher>,
    pub(crate) text: bool,
}

/// A record with a known fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Fingerprinted {
    pub(crate) fingerprint: u128,
    pub(crate) id: Option<IdBuf>,
    /// Number of the record among all inputs, from 0, including skipped records.
    pub(crate) position: u64,
    pub(crate) is_document: bool,
    /// Number of bytes in the text of a document.
    pub(crate) text_len: u64,
    /// The identity of a document without features, whose fingerprint carries no information.
    pub(crate) without_features: Option<u128>,
    /// Results for a document, each if it is wanted.
    pub(crate) sketch: Option<TextSketch>,
    pub(crate) signed: Option<SignedText>,
    pub(crate) contained: Vec<Contained>,
    pub(crate) text: Option<String>,
}

impl Fingerprinted {
    /// Turns the record into a document with this text.
    fn take_text(&mut self, text: String, fingerprinter: &mut Fingerprinter, wanted: &Wanted) {
        (self.is_document, self.text_len) = (true, text.len() as u64);
        let has_features = match wanted {
            Wanted::Text => {
                self.text = Some(text);
                return;
            }
            Wanted::Contained(search) => {
                self.contained = search.find(fingerprinter, &text);
                return;
            }
            Wanted::SketchAlone(sketcher) => {
                let features = sketcher.feature_set(fingerprinter, &text);
                self.sketch = Some(sketcher.sketch_of(&features));
                return;
            }
            Wanted::Signed(signer, extras) => {
                let signed = self.signed.insert(signer.sign(fingerprinter, &text));
                let sketcher = extras.sketcher.as_ref();
                self.sketch = sketcher.map(|sketcher| sketcher.sketch_of(signed.features()));
                signed.has_features()
            }
            Wanted::Fingerprint | Wanted::Sketch(..) => {
                let fingerprint = fingerprinter.fingerprint_if_any(&text);
                self.fingerprint = fingerprint.unwrap_or(fingerprinter.empty_fingerprint());
                fingerprint.is_some()
            }
        };
        if let Wanted::Sketch(sketcher, own) = wanted {
            self.sketch = has_features.then(|| own.with(|f| sketcher.sketch(f, &text)));
        }
        self.without_features = (!has_features).then(|| content_identity(&text));
        if let Wanted::Signed(_, Extras { text: true, .. }) = wanted {
            self.text = Some(text);
        }
    }

    /// Whether the record has an id, or is a document, which gets one.
    pub(crate) fn is_named(&self) -> bool {
        self.is_document || self.id.is_some()
    }
}

/// The reason why a command does not accept a record.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The record is invalid, for this reason; `--on-error` determines the consequence.
    Record(String),
    /// The record shows that the input is not as declared, which is always an error.
    Input(String),
    /// The command cannot continue.
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

/// Returns the id of a record as a number or a string. A record without an id gets its position, unless it is a
/// fingerprint and ids are strings.
///
/// # Errors
/// A text that is not a number, or a fingerprint without an id although ids are strings.
pub(crate) fn id_of(record: &mut Fingerprinted, kind: IdKind) -> Result<IdBuf, Refusal> {
    Ok(match (kind, record.id.take()) {
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

/// Converts an id to the kind that an index stores; `None` if that is impossible.
pub(crate) fn id_of_kind(id: IdBuf, kind: IdKind) -> Option<IdBuf> {
    match (kind, id) {
        (IdKind::None, _) => None,
        (IdKind::Number, IdBuf::String(text)) => u64::parse_dec(&text).map(IdBuf::Number),
        (IdKind::String, IdBuf::Number(number)) => Some(IdBuf::String(number.to_string())),
        (_, id) => Some(id),
    }
}

/// The counts after reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadCounts {
    /// The inputs, in order: the name of each, and the position of its first record.
    pub(crate) inputs: Vec<(String, u64)>,
    /// Number of used records.
    pub(crate) records: u64,
    /// Number of skipped records.
    pub(crate) skipped: u64,
    /// Number of used records in which invalid bytes became U+FFFD.
    pub(crate) replaced: u64,
    /// Number of used documents without features.
    pub(crate) without_features: u64,
}

/// Receives records.
pub(crate) trait Sink {
    /// Receives one record.
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal>;

    /// Whether fingerprints without ids, none of them a document, may be passed in bulk from now on.
    fn takes_fingerprints(&self) -> bool {
        false
    }

    /// The results that are wanted for documents.
    fn wants(&self) -> &Wanted {
        &Wanted::Fingerprint
    }

    /// Receives such fingerprints, starting at this position.
    fn fingerprints(&mut self, fingerprints: Column<'_>, first_position: u64) -> Result<(), Error> {
        let _ = (fingerprints, first_position);
        Ok(())
    }
}

/// Passes records one by one to a closure, with the wanted results for documents.
pub(crate) struct Each<C>(pub(crate) Wanted, pub(crate) C);

impl<C: FnMut(Fingerprinted) -> Result<(), Refusal>> Sink for Each<C> {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        self.1(record)
    }

    fn wants(&self) -> &Wanted {
        &self.0
    }
}

/// Reads all inputs and passes each record to `sink`, in order. Documents are fingerprinted by the pipeline.
///
/// # Errors
/// An input that cannot be read, or an unusable record that is not to be skipped.
pub(crate) fn read(
    args: &InputArgs,
    pipeline: &Pipeline,
    (mode, doing, what): Reading,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let paths = args.paths()?;
    let bar = mode.reading(doing, what, total_len(&paths));
    let options = args.fields.options(args.width);
    let open = |path| simidx_input::open_with(path, args.format(), &options);
    let readers = paths.iter().map(|path| (path.as_path(), open(path)));
    read_all((args.on_error, args.width), pipeline, readers, bar, sink)
}

/// Reads one file of documents like [`read`]. An invalid record is an error.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_file(
    (path, format): (&Path, Option<Format>),
    options: &ReadOptions,
    pipeline: &Pipeline,
    (mode, doing, what): Reading,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let bar = mode.reading(doing, what, total_len(&[path.to_owned()]));
    let readers = std::iter::once((path, simidx_input::open_with(path, format, options)));
    read_all((OnError::Stop, Width::W64), pipeline, readers, bar, sink)
}

/// Reads the inputs like [`read`], which may be open already.
///
/// # Errors
/// The errors of [`read`] and of [`read_originals`].
pub(crate) fn read_opened(
    (args, originals): (&InputArgs, Option<&[InputFile]>),
    pipeline: &Pipeline,
    reading: Reading,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    match originals {
        Some(originals) => read_originals((args, args.width), pipeline, originals, reading, sink),
        None => read(args, pipeline, reading, sink),
    }
}

/// Reads originals like [`read`], with fingerprints of this width.
///
/// # Errors
/// The errors of [`read`], and an original that has changed.
pub(crate) fn read_originals(
    (args, width): (&InputArgs, Width),
    pipeline: &Pipeline,
    originals: &[InputFile],
    (mode, doing, what): Reading,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let total = originals.iter().map(InputFile::byte_count).sum();
    let bar = mode.reading(doing, what, total);
    let readers = originals
        .iter()
        .map(|input| (input.path(), input.records()));
    read_all((args.on_error, width), pipeline, readers, bar, sink)
}

/// The path of an input, and its reader.
type Opened<'a> = (&'a Path, simidx_input::Result<Box<dyn RecordReader>>);

/// Reads everything from these readers. Each is opened after the one before it has been read.
fn read_all<'a>(
    (on_error, width): (OnError, Width),
    pipeline: &Pipeline,
    readers: impl Iterator<Item = Opened<'a>>,
    bar: ReadingBar,
    sink: &mut dyn Sink,
) -> Result<ReadCounts, Failure> {
    let fingerprinter = match sink.wants() {
        // It is not used, and every pipeline supports this width.
        Wanted::Text => pipeline.parallel(Width::W32)?,
        _ => pipeline.parallel(width)?,
    };
    let mut run = Run {
        fingerprinter,
        width,
        diagnostics: Diagnostics::new(on_error),
        counts: ReadCounts::default(),
        next_position: 0,
        bar,
        bytes_before: 0,
    };
    for (path, reader) in readers {
        let start = (path.display().to_string(), run.next_position);
        run.counts.inputs.push(start);
        run.read_input(reader?.as_mut(), sink)?;
    }
    run.bar.finish();
    run.diagnostics.tell();
    Ok(ReadCounts {
        skipped: run.diagnostics.skipped,
        replaced: run.diagnostics.replaced,
        ..run.counts
    })
}

/// Opens the files that these patterns name, of which the texts are needed.
///
/// # Errors
/// A pattern without matches, and a file that cannot be read.
pub(crate) fn open_texts(
    patterns: &[PathBuf],
    format: Option<Format>,
    options: &ReadOptions,
    temp_dir: Option<&Path>,
) -> Result<Vec<InputFile>, Failure> {
    let paths = patterns.iter().map(|path| simidx_input::expand(path, None));
    let paths = paths.collect::<simidx_input::Result<Vec<_>>>()?.concat();
    open_files(&paths, format, options, temp_dir)
}

/// Opens files that are read more than once.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn open_files(
    paths: &[PathBuf],
    format: Option<Format>,
    options: &ReadOptions,
    temp_dir: Option<&Path>,
) -> Result<Vec<InputFile>, Failure> {
    let open = |path: &PathBuf| InputFile::open_with(path, format, options, temp_dir);
    let files = paths.iter().map(open);
    Ok(files.collect::<simidx_input::Result<_>>()?)
}

/// Calls `visit` with the position, the id and the text of each document, in the order of the files. The position replaces
/// a missing id. A record that is not a document is skipped. Returns the number of all records.
///
/// # Errors
/// A file that cannot be read or has changed, and any error of `visit`.
pub(crate) fn visit_texts(
    files: &[InputFile],
    (mode, doing, what): Reading,
    mut visit: impl FnMut(u64, IdBuf, String) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let total = files.iter().map(InputFile::byte_count).sum();
    let bar = mode.reading(doing, what, total);
    let (mut position, mut bytes) = (0, 0);
    for file in files {
        let mut reader = file.records()?;
        while let Some(record) = reader.next() {
            match record {
                Err(error @ simidx_input::Error::Io(_)) => return Err(error.into()),
                Ok(Record {
                    content: Content::Text(text),
                    id,
                    ..
                }) => visit(position, id.unwrap_or(IdBuf::Number(position)), text)?,
                _ => {}
            }
            position += 1;
            bar.show_sometimes(position, bytes + reader.bytes_read());
        }
        bytes += reader.bytes_read();
        file.check_unchanged()?;
    }
    bar.finish();
    Ok(position)
}

/// Returns the total size of all inputs, if each of them is a regular file.
fn total_len(paths: &[PathBuf]) -> Option<u64> {
    let len = |path: &PathBuf| {
        let data = path.metadata().ok()?;
        data.is_file().then_some(data.len())
    };
    paths.iter().map(len).sum()
}

/// A record and its place.
struct Placed {
    record: Record,
    source: Arc<str>,
    place: Place,
    /// The position, as in [`Fingerprinted`].
    position: u64,
}

impl Placed {
    /// Computes the wanted results for the contents.
    fn fingerprinted(
        &mut self,
        fingerprinter: &ParallelFingerprinter,
        wanted: &Wanted,
    ) -> Fingerprinted {
        let mut made = Fingerprinted {
            id: self.record.id.take(),
            position: self.position,
            ..Fingerprinted::default()
        };
        match std::mem::replace(&mut self.record.content, Content::Fingerprint(0)) {
            Content::Fingerprint(fingerprint) => made.fingerprint = fingerprint,
            Content::Text(text) => fingerprinter.with(|f| made.take_text(text, f, wanted)),
        }
        made
    }
}

struct Run {
    fingerprinter: ParallelFingerprinter,
    width: Width,
    diagnostics: Diagnostics,
    /// The counts, except those of the diagnostics.
    counts: ReadCounts,
    next_position: u64,
    bar: ReadingBar,
    /// Number of bytes in the inputs that have been read completely.
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

    /// Passes on records in bulk as long as possible.
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
            sink.fingerprints(Column::from(&*many), self.next_position)?;
            self.next_position += many.len() as u64;
            self.counts.records += many.len() as u64;
            self.show(reader.bytes_read());
        }
        Ok(())
    }

    /// Counts a record, or handles its refusal. Returns whether it is used.
    fn judge(
        &mut self,
        result: Result<(), Refusal>,
        error: impl FnOnce(String) -> InputError,
    ) -> Result<bool, Failure> {
        match result {
            Ok(()) => {
                self.counts.records += 1;
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

    /// Returns the next records of a reader; none at its end.
    fn read_batch(&mut self, reader: &mut dyn RecordReader) -> Result<Vec<Placed>, Failure> {
        let (mut batch, mut text_len) = (Vec::<Placed>::with_capacity(BATCH_RECORDS), 0);
        while batch.len() < BATCH_RECORDS && text_len < BATCH_TEXT_LEN {
            match reader.next() {
                None => break,
                Some(Ok(record)) => {
                    if let Content::Text(text) = &record.content {
                        text_len += text.len();
                    }
                    let (source, place) = reader.place();
                    let source = match batch.last() {
                        Some(last) if *last.source == *source => Arc::clone(&last.source),
                        _ => source.into(),
                    };
                    batch.push(Placed {
                        record,
                        source,
                        place,
                        position: self.next_position,
                    });
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

    fn hand_on(&mut self, mut batch: Vec<Placed>, sink: &mut dyn Sink) -> Result<(), Failure> {
        let wanted = sink.wants();
        let make = |placed: &mut Placed| placed.fingerprinted(&self.fingerprinter, wanted);
        let is_text = |placed: &Placed| matches!(placed.record.content, Content::Text(_));
        let made: Vec<Fingerprinted> = match batch.iter().any(is_text) {
            false => batch.iter_mut().map(make).collect(),
            true => batch.par_iter_mut().map(make).collect(),
        };
        for (record, placed) in made.into_iter().zip(batch) {
            let has_features = record.without_features.is_none();
            let (source, place) = (&*placed.source, placed.place);
            let result = sink.record(record);
            if !self.judge(result, |message| InputError::new(source, place, message))? {
                continue;
            }
            self.counts.without_features += u64::from(!has_features);
            if let Some(message) = placed.record.odd_id {
                self.diagnostics.note_odd_id((source, place), message);
            }
            if placed.record.has_faults {
                self.diagnostics.note_faults((source, place));
            }
        }
        Ok(())
    }
}
