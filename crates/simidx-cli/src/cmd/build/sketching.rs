//! The sketches of documents, made of many at a time on all threads.

use rayon::prelude::*;
use simidx::{Error, IdBuf, IndexBuilder};
use simidx_text::ParallelFingerprinter;
use simidx_text::similar::Sketcher;

use crate::support::failure::Failure;

/// Documents that are sketched together, at most.
const BATCH_DOCUMENTS: usize = 4096;

/// Bytes of their texts, not counting the last one.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Documents that wait for their sketches.
pub(super) struct Sketching {
    sketcher: Sketcher,
    fingerprinter: ParallelFingerprinter,
    waiting: Vec<Waiting>,
    text_len: usize,
}

/// A record without its sketch.
pub(super) struct Waiting {
    pub(super) fingerprint: u128,
    pub(super) id: Option<IdBuf>,
    pub(super) text: String,
}

impl Sketching {
    /// Nothing waits yet.
    ///
    /// # Errors
    /// HTML, where this program was built without it.
    pub(super) fn new(sketcher: Sketcher) -> Result<Self, Failure> {
        Ok(Sketching {
            fingerprinter: sketcher.pipeline()?.parallel(simidx::Width::W64)?,
            sketcher,
            waiting: Vec::new(),
            text_len: 0,
        })
    }

    /// Adds a record to those that wait, or all of them to the index.
    ///
    /// # Errors
    /// What the builder reports.
    pub(super) fn push(
        &mut self,
        record: Waiting,
        builder: &mut IndexBuilder,
    ) -> Result<(), Error> {
        self.text_len += record.text.len();
        self.waiting.push(record);
        match self.waiting.len() >= BATCH_DOCUMENTS || self.text_len >= BATCH_TEXT_LEN {
            true => self.flush(builder),
            false => Ok(()),
        }
    }

    /// Adds what waits to the index.
    ///
    /// # Errors
    /// What the builder reports.
    pub(super) fn flush(&mut self, builder: &mut IndexBuilder) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.waiting);
        self.text_len = 0;
        let sketch = |record: &Waiting| {
            let sketcher = &self.sketcher;
            self.fingerprinter
                .with(|f| sketcher.sketch(f, &record.text))
        };
        let sketches: Vec<_> = waiting.par_iter().map(sketch).collect();
        for (record, sketch) in waiting.into_iter().zip(sketches) {
            let id = record.id.as_ref().map(IdBuf::as_id);
            builder.push_with_sketch(record.fingerprint, id, sketch.as_u64s())?;
        }
        Ok(())
    }
}
