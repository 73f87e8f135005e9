//! One fingerprinter for each thread, so that each keeps what it has learnt from one batch to the next.

use std::sync::{Mutex, PoisonError};

use simidx::Fingerprint;
use simidx_text::{Fingerprinter, Pipeline};

/// The fingerprinters of all threads of the current pool.
#[derive(Debug)]
pub(crate) struct Fingerprinters<F> {
    /// One for each thread, and a last one for threads outside the pool.
    of_threads: Vec<Mutex<Fingerprinter<F>>>,
}

impl<F: Fingerprint> Fingerprinters<F> {
    /// Fingerprinters of a pipeline.
    ///
    /// # Errors
    /// A feature hash with fewer bits than the fingerprint.
    pub(crate) fn new(pipeline: &Pipeline) -> simidx_text::Result<Self> {
        let count = rayon::current_num_threads() + 1;
        let fingerprinters = (0..count).map(|_| Ok(Mutex::new(pipeline.fingerprinter()?)));
        Ok(Fingerprinters {
            of_threads: fingerprinters.collect::<simidx_text::Result<_>>()?,
        })
    }

    /// The fingerprint of a document.
    pub(crate) fn fingerprint(&self, document: &str) -> F {
        self.with(|fingerprinter| fingerprinter.fingerprint(document))
    }

    /// What this thread's fingerprinter makes of something.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Fingerprinter<F>) -> T) -> T {
        let outside = self.of_threads.len() - 1;
        let thread = rayon::current_thread_index()
            .unwrap_or(outside)
            .min(outside);
        // A fingerprinter starts each document afresh, whatever became of the one before.
        let fingerprinter = self.of_threads[thread].lock();
        let mut fingerprinter = fingerprinter.unwrap_or_else(PoisonError::into_inner);
        work(&mut fingerprinter)
    }
}
