//! Records of all inputs of a command, one after the other, with their fingerprints taken.

use std::path::PathBuf;
use std::str::FromStr;

use indicatif::ProgressBar;
use rayon::prelude::*;
use simidx::input::{self, Content, Format, Record, RecordId, RecordReader};
use simidx::text::{Features, Pipeline};
use simidx::{Error, Fingerprint, InputError, Place};

use super::failure::Failure;

/// Records that are fingerprinted at a time, in parallel.
const BATCH_RECORDS: usize = 4096;

/// Bytes of text that are held at a time.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Warnings about skipped records that are printed; the rest are counted.
const SHOWN_SKIPS: u64 = 10;

/// `--input`, with `auto` for none.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputFormat(pub(super) Option<Format>);

impl FromStr for InputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(InputFormat(None)),
            _ => match text.parse() {
                Ok(format) => Ok(InputFormat(Some(format))),
                Err(error) => Err(format!("{error}")),
            },
        }
    }
}

/// What to do with a record that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnError {
    /// End with an error that names it
    Stop,
    /// Leave it out and count it
    Skip,
}

/// Which inputs to read and how; shared by the commands that read records.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct InputArgs {
    /// Files to read, `-` for standard input (the default); .gz and .zst are read through
    #[arg(value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,
    /// auto, hex, dec, le, tsv, jsonl, lines or files
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(super) input: InputFormat,
    /// Bits of a fingerprint
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = ["32", "64", "128"])]
    pub(super) width: String,
    /// Features of a text: words, or chars:N for character N-grams
    #[arg(long, value_name = "FEATURES", default_value = "words")]
    pub(super) features: Features,
    /// What to do with a record that cannot be used
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop)]
    pub(super) on_error: OnError,
    /// Threads to use; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) threads: usize,
}

impl InputArgs {
    /// The inputs, standard input if none is named.
    fn paths(&self) -> Vec<PathBuf> {
        if self.inputs.is_empty() {
            vec![PathBuf::from("-")]
        } else {
            self.inputs.clone()
        }
    }

    /// Sets up the threads of this process.
    pub(super) fn start_threads(&self) -> Result<(), Failure> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build_global()
            .map_err(|error| Failure::new(format!("--threads {}: {error}", self.threads)))
    }
}

/// A record whose fingerprint is known.
#[derive(Debug)]
pub(super) struct Fingerprinted<F> {
    pub(super) fingerprint: F,
    pub(super) id: Option<RecordId>,
    /// Number of the record among all that were read, from 0.
    pub(super) position: u64,
    pub(super) is_document: bool,
    /// Where the record stands, for messages.
    pub(super) origin: Origin,
}

/// The source and the place of a record.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    source: std::sync::Arc<str>,
    place: Place,
}

impl Origin {
    /// An error about this record.
    pub(super) fn error(&self, message: impl Into<String>) -> InputError {
        InputError {
            source: self.source.to_string(),
            place: self.place,
            message: message.into(),
        }
    }
}

/// What reading came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadCounts {
    /// Records used.
    pub(super) records: u64,
    /// Records left out.
    pub(super) skipped: u64,
}

/// A record as it was read.
type Raw<F> = (Record<F>, Origin, u64);

/// Reads all inputs and hands each record with its fingerprint to `sink`, in order. An
/// [`InputError`] of the sink is treated like one of the input: by `--on-error`.
///
/// # Errors
/// An input that cannot be read, or a record that cannot be used and is not to be skipped.
pub(super) fn read<F: Fingerprint>(
    args: &InputArgs,
    bar: &ProgressBar,
    mut sink: impl FnMut(Fingerprinted<F>) -> Result<(), Error>,
) -> Result<ReadCounts, Failure> {
    let mut run = Run {
        pipeline: Pipeline::new(args.features),
        on_error: args.on_error,
        counts: ReadCounts::default(),
        next_position: 0,
    };
    bar.set_message("reading");
    for path in args.paths() {
        let mut reader = input::open::<F>(&path, args.input.0)?;
        while run.batch(reader.as_mut(), &mut sink)? {
            bar.set_position(run.next_position);
        }
    }
    bar.finish_and_clear();
    if run.counts.skipped > 0 {
        eprintln!("simidx: skipped {} records", run.counts.skipped);
    }
    Ok(run.counts)
}

struct Run {
    pipeline: Pipeline,
    on_error: OnError,
    counts: ReadCounts,
    next_position: u64,
}

impl Run {
    /// Reads, fingerprints and hands on one batch; whether the reader may have more.
    fn batch<F: Fingerprint>(
        &mut self,
        reader: &mut dyn RecordReader<F>,
        sink: &mut impl FnMut(Fingerprinted<F>) -> Result<(), Error>,
    ) -> Result<bool, Failure> {
        let (batch, more) = self.read_batch(reader)?;
        let pipeline = &self.pipeline;
        let done: Vec<Fingerprinted<F>> = batch
            .into_par_iter()
            .map_init(|| pipeline.fingerprinter(), |f, raw| fingerprinted(f, raw))
            .collect();
        for record in done {
            match sink(record) {
                Ok(()) => self.counts.records += 1,
                Err(error) => self.skip_or_fail(error)?,
            }
        }
        Ok(more)
    }

    fn read_batch<F: Fingerprint>(
        &mut self,
        reader: &mut dyn RecordReader<F>,
    ) -> Result<(Vec<Raw<F>>, bool), Failure> {
        let (mut batch, mut text_len) = (Vec::new(), 0);
        let mut source: std::sync::Arc<str> = "".into();
        while batch.len() < BATCH_RECORDS && text_len < BATCH_TEXT_LEN {
            match reader.next_record() {
                None => return Ok((batch, false)),
                Some(Err(error)) => self.skip_or_fail(error)?,
                Some(Ok(record)) => {
                    let (name, place) = reader.place();
                    if *source != *name {
                        source = name.into();
                    }
                    if let Content::Text(text) = &record.content {
                        text_len += text.len();
                    }
                    let origin = Origin {
                        source: source.clone(),
                        place,
                    };
                    batch.push((record, origin, self.next_position));
                    self.next_position += 1;
                }
            }
        }
        Ok((batch, true))
    }

    fn skip_or_fail(&mut self, error: Error) -> Result<(), Failure> {
        match (self.on_error, error) {
            (OnError::Skip, Error::Input(error)) => {
                self.counts.skipped += 1;
                if self.counts.skipped <= SHOWN_SKIPS {
                    eprintln!("simidx: skipped: {error}");
                }
                Ok(())
            }
            (_, error) => Err(error.into()),
        }
    }
}

fn fingerprinted<F: Fingerprint>(
    fingerprinter: &mut simidx::text::Fingerprinter,
    (record, origin, position): Raw<F>,
) -> Fingerprinted<F> {
    let (fingerprint, is_document) = match record.content {
        Content::Fingerprint(fingerprint) => (fingerprint, false),
        Content::Text(text) => (fingerprinter.fingerprint(&text), true),
    };
    Fingerprinted {
        fingerprint,
        id: record.id,
        position,
        is_document,
        origin,
    }
}
