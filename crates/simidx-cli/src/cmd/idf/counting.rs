//! Counting in how many documents of all inputs each feature occurs, on all threads.

use std::collections::HashMap;

use rayon::prelude::*;
use simidx_input::{Content, RecordReader};
use simidx_text::assets::FrequencyCounter;
use simidx_text::{Fingerprinter, ParallelFingerprinter, Pipeline};

use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, InputArgs, in_input};
use crate::support::progress::{ProgressMode, ReadingBar};
use crate::support::records::total_len;

/// Documents that are counted together. What is dropped for want of room depends on it, so that it must not depend on
/// the number of threads.
const BATCH_DOCUMENTS: usize = 4096;

/// Bytes of text that are held at a time.
const BATCH_LEN: usize = 16 << 20;

/// Documents that one task counts.
const TASK_DOCUMENTS: usize = 128;

/// Counts the features of all inputs; returns the counter and what there was to say against records.
///
/// # Errors
/// An input that cannot be read, or a record that is not a document where such records are not skipped.
pub(super) fn count(
    args: &InputArgs,
    pipeline: &Pipeline,
    max_features: u32,
    mode: ProgressMode,
) -> Result<(FrequencyCounter, Diagnostics), Failure> {
    let paths = args.paths()?;
    let mut run = Run {
        diagnostics: Diagnostics::new(args.on_error),
        fingerprinter: pipeline.parallel(simidx::Width::W32)?,
        counter: FrequencyCounter::new(max_features as usize),
        batch: Vec::new(),
        batch_len: 0,
        records: 0,
        bar: mode
            .reading("documents")
            .doing("counting")
            .start(total_len(&paths)),
        bytes_before: 0,
    };
    let options = args.fields.options(args.width);
    for path in &paths {
        // Fingerprints are refused, but not for their width.
        run.read(simidx_input::open_with(path, args.input.0, &options)?.as_mut())?;
    }
    run.count_batch();
    run.bar.finish();
    run.diagnostics.tell();
    Ok((run.counter, run.diagnostics))
}

/// The state of a count. The width of fingerprints does not matter to the features; the narrowest suits every hash.
struct Run {
    diagnostics: Diagnostics,
    fingerprinter: ParallelFingerprinter,
    counter: FrequencyCounter,
    batch: Vec<String>,
    batch_len: usize,
    records: u64,
    bar: ReadingBar,
    bytes_before: u64,
}

impl Run {
    fn read(&mut self, reader: &mut dyn RecordReader) -> Result<(), Failure> {
        self.diagnostics.note_guess(reader);
        while let Some(record) = reader.next() {
            let has_faults = record.as_ref().is_ok_and(|record| record.has_faults);
            match record.map(|record| record.content) {
                Ok(Content::Text(text)) => {
                    if has_faults {
                        self.diagnostics.note_faults(reader.place());
                    }
                    self.push(text);
                }
                Ok(Content::Fingerprint(_)) => {
                    let (source, place) = reader.place();
                    let message = "is a fingerprint; this command reads documents";
                    let error = in_input(source, place, message);
                    self.diagnostics.skip_or_fail(error)?;
                }
                Err(simidx_input::Error::Input(error)) => self.diagnostics.skip_or_fail(error)?,
                Err(error) => return Err(error.into()),
            }
            self.records += 1;
            let bytes = self.bytes_before + reader.bytes_read();
            self.bar.show_sometimes(self.records, bytes);
        }
        self.bytes_before += reader.bytes_read();
        Ok(())
    }

    fn push(&mut self, text: String) {
        self.batch_len += text.len();
        self.batch.push(text);
        if self.batch.len() >= BATCH_DOCUMENTS || self.batch_len >= BATCH_LEN {
            self.count_batch();
        }
    }

    /// Counts the documents that have been gathered; sums are the same in whatever order tasks end.
    fn count_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch_len = 0;
        let tasks = batch.par_chunks(TASK_DOCUMENTS).map(|documents| {
            let mut counts: HashMap<String, u64> = HashMap::new();
            self.fingerprinter.with(|fingerprinter| {
                documents
                    .iter()
                    .for_each(|document| count_document(fingerprinter, document, &mut counts));
            });
            counts
        });
        let tasks: Vec<HashMap<String, u64>> = tasks.collect();
        let counts = tasks.into_iter().flatten();
        self.counter.add(batch.len() as u64, counts);
    }
}

/// Counts the distinct features of a document once each.
fn count_document(
    fingerprinter: &mut Fingerprinter,
    document: &str,
    counts: &mut HashMap<String, u64>,
) {
    fingerprinter.for_each_feature(document, &mut |feature| match counts.get_mut(feature) {
        Some(count) => *count += 1,
        None => {
            counts.insert(feature.to_owned(), 1);
        }
    });
}
