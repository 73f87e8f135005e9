//! Fingerprints documents on several threads, with results in the order of the documents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use simidx::{Fingerprints, Width};

use super::{Fingerprinter, Pipeline, Result};

/// A [`Pipeline`] that uses all threads of the current rayon pool, as [`Pipeline::parallel`] returns it.
///
/// Results are in the order of the documents and do not depend on the number of threads. Each thread has its own
/// [`Fingerprinter`], which later calls reuse.
///
/// ```
/// use simidx::Width;
/// use simidx_text::{ParallelFingerprinter, Pipeline, Preset};
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let parallel: ParallelFingerprinter = pipeline.parallel(Width::W64)?;
///
/// let texts = ["to be", "or not to be"];
/// let fingerprints: Vec<u128> = parallel.fingerprints(&texts).iter().collect();
/// assert_eq!(fingerprints[1], pipeline.fingerprint(texts[1], Width::W64)?);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug)]
pub struct ParallelFingerprinter {
    pipeline: Pipeline,
    width: Width,
    /// Fingerprinters that are not in use.
    idle: Mutex<Vec<Fingerprinter>>,
}

impl Pipeline {
    /// Returns the pipeline for all threads of the current rayon pool.
    ///
    /// # Errors
    ///
    /// The errors of [`Pipeline::fingerprinter`].
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Pipeline, Preset};
    ///
    /// let pipeline = Pipeline::new(Preset::Short.options())?;
    /// let fingerprints = pipeline.parallel(Width::W64)?.fingerprints(&["to be"]);
    /// assert_eq!(fingerprints.get(0), Some(pipeline.fingerprint("to be", Width::W64)?));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn parallel(&self, width: Width) -> Result<ParallelFingerprinter> {
        let first = self.fingerprinter(width)?;
        Ok(ParallelFingerprinter {
            pipeline: self.clone(),
            width,
            idle: Mutex::new(vec![first]),
        })
    }

    /// Returns the fingerprints of a batch of documents, in order, computed on all threads of the current rayon pool.
    ///
    /// For several batches, a [`ParallelFingerprinter`] avoids setting up each thread again.
    ///
    /// # Errors
    ///
    /// The errors of [`Pipeline::fingerprinter`].
    ///
    /// ```
    /// use simidx::{Fingerprints, Width};
    /// use simidx_text::{Pipeline, Preset};
    ///
    /// let pipeline = Pipeline::new(Preset::Short.options())?;
    /// let fingerprints: Fingerprints = pipeline.fingerprints(&["to be", "or not to be"], Width::W64)?;
    /// assert_eq!(fingerprints.get(0), Some(pipeline.fingerprint("to be", Width::W64)?));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn fingerprints(
        &self,
        documents: &[impl AsRef<str> + Sync],
        width: Width,
    ) -> Result<Fingerprints> {
        Ok(self.parallel(width)?.fingerprints(documents))
    }
}

impl ParallelFingerprinter {
    /// The pipeline of all threads.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The width of the fingerprints. Features do not depend on it.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The fingerprint of every document in which no feature counts; see [`Pipeline::empty_fingerprint`].
    pub fn empty_fingerprint(&self) -> u128 {
        self.pipeline.empty_fingerprint(self.width)
    }

    /// Returns the fingerprints of a batch of documents, in order.
    ///
    /// If there are many more documents than threads, the time is that of one thread divided by the number of threads.
    /// A single document is never divided.
    pub fn fingerprints<T: AsRef<str> + Sync>(&self, documents: &[T]) -> Fingerprints {
        let found = self.map(documents, |fingerprinter, document| {
            fingerprinter.fingerprint(document.as_ref())
        });
        let mut column = Fingerprints::new(self.width);
        found.into_iter().for_each(|value| column.push(value));
        column
    }

    /// [`ParallelFingerprinter::fingerprints`], but with `None` for documents without features, like
    /// [`Fingerprinter::fingerprint_if_any`].
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{ParallelFingerprinter, Pipeline};
    ///
    /// let parallel: ParallelFingerprinter = Pipeline::default().parallel(Width::W64)?;
    /// let found = parallel.fingerprints_if_any(&["to be or not to be", "👍"]);
    /// assert!(found[0].is_some() && found[1].is_none());
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn fingerprints_if_any<T: AsRef<str> + Sync>(&self, documents: &[T]) -> Vec<Option<u128>> {
        self.map(documents, |fingerprinter, document| {
            fingerprinter.fingerprint_if_any(document.as_ref())
        })
    }

    /// Returns the result of `work` for each item, in order. Each call gets the fingerprinter of its thread.
    pub(crate) fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&mut Fingerprinter, &T) -> R + Sync,
    ) -> Vec<R> {
        let items = items.par_iter();
        items
            .map_init(
                || self.borrow(),
                |borrowed, item| work(borrowed.get(), item),
            )
            .collect()
    }

    /// Lends a fingerprinter to `work`, for callers that divide documents among threads themselves.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{ParallelFingerprinter, Pipeline};
    ///
    /// let pipeline = Pipeline::default();
    /// let parallel: ParallelFingerprinter = pipeline.parallel(Width::W64)?;
    /// let set = parallel.with(|fingerprinter| fingerprinter.feature_set("to be or not to be"));
    /// assert_eq!(set, pipeline.fingerprinter(Width::W64)?.feature_set("to be or not to be"));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn with<R>(&self, work: impl FnOnce(&mut Fingerprinter) -> R) -> R {
        work(self.borrow().get())
    }

    /// Borrows a fingerprinter for a thread's share of a batch.
    fn borrow(&self) -> Borrowed<'_> {
        Borrowed {
            owner: self,
            fingerprinter: self.idle().pop(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Fingerprinter>> {
        // A fingerprinter resets itself before each document, even after a panic in the last one.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A borrowed fingerprinter, which is returned on drop.
struct Borrowed<'o> {
    owner: &'o ParallelFingerprinter,
    fingerprinter: Option<Fingerprinter>,
}

impl Borrowed<'_> {
    fn get(&mut self) -> &mut Fingerprinter {
        let make = || Fingerprinter::new(&self.owner.pipeline, self.owner.width);
        self.fingerprinter.get_or_insert_with(make)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(fingerprinter) = self.fingerprinter.take() {
            self.owner.idle().push(fingerprinter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    fn pipeline() -> Pipeline {
        Pipeline::new(Preset::Short.options()).unwrap()
    }

    /// Returns documents of very different lengths.
    fn documents(count: usize) -> Vec<String> {
        let document = |i: usize| -> String {
            (0..i * i % 97)
                .map(|n| format!("word{} ", n * i % 31))
                .collect()
        };
        (0..count).map(document).collect()
    }

    fn with_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        pool.unwrap().install(work)
    }

    #[test]
    fn results_do_not_depend_on_the_threads() {
        let documents = documents(8192);
        let mut single = pipeline().fingerprinter(Width::W64).unwrap();
        let expected: Vec<u128> = documents.iter().map(|d| single.fingerprint(d)).collect();
        for threads in [1, 2, 5] {
            let batch = with_threads(threads, || {
                let parallel = pipeline().parallel(Width::W64).unwrap();
                parallel.fingerprints(&documents)
            });
            assert_eq!(batch.iter().collect::<Vec<_>>(), expected, "{threads}");
        }
    }

    #[test]
    #[cfg(feature = "compat")]
    fn a_hash_that_is_too_narrow_is_refused() {
        let options = "compat-mfonda".parse().unwrap();
        let pipeline = Pipeline::new(options).unwrap();
        assert!(pipeline.parallel(Width::W128).is_err());
        assert!(pipeline.fingerprints(&["a"], Width::W128).is_err());
    }

    #[test]
    fn a_panic_in_one_document_does_not_spoil_the_next() {
        let parallel = pipeline().parallel(Width::W64).unwrap();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let work = |_: &mut Fingerprinter, _: &&str| -> u128 { panic!("on purpose") };
            parallel.map(&["a"], work)
        }));
        assert!(failed.is_err());
        let expected = pipeline().fingerprint("a b", Width::W64).unwrap();
        assert!(parallel.fingerprints(&["a b"]).iter().eq([expected]));
    }
}
