//! Fingerprinting on many threads, with the results in the order of the documents.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use simidx::{Fingerprints, Width};

use super::{Fingerprinter, Pipeline, Result};

/// Items that are fingerprinted together.
const BATCH_ITEMS: usize = 4096;

/// Bytes of text that are fingerprinted together, except that a longer document is a batch of its own.
const BATCH_TEXT_LEN: usize = 16 << 20;

/// A [`Pipeline`] that works on all threads of the current rayon pool; made by [`Pipeline::parallel`].
///
/// Results come in the order of the documents and do not depend on the number of threads. Each thread has the memory of
/// a [`Fingerprinter`] of its own, which is used again for later calls.
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
///
/// // A stream of documents or errors: the errors stay where they are.
/// let lines = [Ok("to be"), Err("a bad line"), Ok("or not to be")];
/// let results: Vec<_> = parallel.stream(lines).collect();
/// assert_eq!(results[0], Ok(("to be", fingerprints[0])));
/// assert_eq!(results[1], Err("a bad line"));
/// assert_eq!(results[2], Ok(("or not to be", fingerprints[1])));
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug)]
pub struct ParallelFingerprinter {
    pipeline: Pipeline,
    width: Width,
    /// Fingerprinters that no thread is using.
    idle: Mutex<Vec<Fingerprinter>>,
}

impl Pipeline {
    /// The pipeline on all threads of the current rayon pool.
    ///
    /// # Errors
    ///
    /// As for [`Pipeline::fingerprinter`].
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

    /// The fingerprints of a batch of documents, in order, worked out on all threads of the current rayon pool.
    ///
    /// For several batches a [`ParallelFingerprinter`] saves setting up each thread again.
    ///
    /// # Errors
    ///
    /// As for [`Pipeline::fingerprinter`].
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

    /// The width of the fingerprints; features do not depend on it.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The fingerprint of all documents in which no feature counts, see [`Pipeline::empty_fingerprint`].
    pub fn empty_fingerprint(&self) -> u128 {
        self.pipeline.empty_fingerprint(self.width)
    }

    /// The fingerprints of a batch of documents, in order.
    ///
    /// It takes the time of one thread divided by the number of threads, if there are many more documents than threads:
    /// a single document is never divided.
    pub fn fingerprints<T: AsRef<str> + Sync>(&self, documents: &[T]) -> Fingerprints {
        let found = self.map(documents, |fingerprinter, document| {
            fingerprinter.fingerprint(document.as_ref())
        });
        let mut column = Fingerprints::new(self.width);
        found.into_iter().for_each(|value| column.push(value));
        column
    }

    /// The same, with `None` for documents without features, as [`Fingerprinter::fingerprint_if_any`] gives it.
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

    /// What `work` makes of each item with the fingerprinter of a thread, in order.
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

    /// Lends a fingerprinter to `work`, for tasks that divide the documents among threads in their own way.
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

    /// Fingerprints a stream of documents: gives each with its fingerprint, in order, and errors in their places.
    ///
    /// It reads ahead by batches of at most 4,096 items with 16 MiB of text, and the next one while the threads work
    /// on the last. So it holds at most two batches and the longest document twice. An item comes out once the batch
    /// after its own has been read, or the stream has ended. To cancel, drop the iterator: nothing runs between calls
    /// of `next`.
    pub fn stream<T, E, I>(&self, documents: I) -> impl Iterator<Item = Result<(T, u128), E>>
    where
        T: AsRef<str> + Send,
        E: Send,
        I: IntoIterator<Item = Result<T, E>, IntoIter: Send>,
    {
        self.process(
            documents.into_iter(),
            (),
            |(), document| document.as_ref().len(),
            |(), fingerprinter, document| {
                let fingerprint = fingerprinter.fingerprint(document.as_ref());
                (document, fingerprint)
            },
        )
    }

    /// The same for items of which some hold a document, and for other results than fingerprints.
    ///
    /// `text_of` gives the document of an item, if it holds one, and `work` is called with it and with the
    /// fingerprinter of a thread. Each item comes back with what `work` returned for its document. `work` must give the
    /// same for the same document, whatever came before, for the results not to depend on the threads.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{ParallelFingerprinter, Pipeline, Preset};
    ///
    /// let pipeline = Pipeline::new(Preset::Short.options())?;
    /// let parallel: ParallelFingerprinter = pipeline.parallel(Width::W64)?;
    ///
    /// // Documents with their line numbers; the second line has none.
    /// let lines = [Some("a rose is a rose"), None, Some("to be")];
    /// let items = (1..).zip(lines).map(Ok::<(u64, Option<&str>), std::io::Error>);
    /// let results = parallel.stream_with(
    ///     items,
    ///     |(_, text)| *text,
    ///     |fingerprinter, text| fingerprinter.fingerprint_with_count(text).1,
    /// );
    /// let counts: Vec<_> = results.map(|result| result.unwrap()).collect();
    /// assert_eq!(counts[0], ((1, Some("a rose is a rose")), Some(3)));
    /// assert_eq!(counts[1], ((2, None), None));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn stream_with<T, E, R, I>(
        &self,
        items: I,
        text_of: impl Fn(&T) -> Option<&str> + Sync,
        work: impl Fn(&mut Fingerprinter, &str) -> R + Sync,
    ) -> impl Iterator<Item = Result<(T, Option<R>), E>>
    where
        T: Send,
        E: Send,
        R: Send,
        I: IntoIterator<Item = Result<T, E>, IntoIter: Send>,
    {
        self.process(
            items.into_iter(),
            (text_of, work),
            |(text_of, _), item| text_of(item).map_or(0, str::len),
            |(text_of, work), fingerprinter, item| {
                let found = text_of(&item).map(|text| work(fingerprinter, text));
                (item, found)
            },
        )
    }

    /// Gives what `work` makes of each item, in order, and errors in their places. `text_len` is the bytes of text of an
    /// item; both functions see the context.
    fn process<T, E, R, I, C: Sync>(
        &self,
        items: I,
        context: C,
        text_len: impl Fn(&C, &T) -> usize + Sync,
        work: impl Fn(&C, &mut Fingerprinter, T) -> R + Sync,
    ) -> impl Iterator<Item = Result<R, E>>
    where
        T: Send,
        E: Send,
        R: Send,
        I: Iterator<Item = Result<T, E>> + Send,
    {
        let mut items = items.fuse();
        let mut next = None;
        let mut done = VecDeque::new();
        std::iter::from_fn(move || {
            if done.is_empty() {
                let text_len = |item: &T| text_len(&context, item);
                let work = |fingerprinter: &mut _, item| work(&context, fingerprinter, item);
                let batch = next.take();
                let batch = batch.unwrap_or_else(|| Batch::read(&mut items, &text_len));
                let (results, following) = rayon::join(
                    || self.work_on(batch, &work),
                    || Batch::read(&mut items, &text_len),
                );
                done.extend(results);
                next = Some(following);
            }
            done.pop_front()
        })
    }

    /// What becomes of a batch, in order.
    fn work_on<T: Send, E: Send, R: Send>(
        &self,
        batch: Batch<T, E>,
        work: &(impl Fn(&mut Fingerprinter, T) -> R + Sync),
    ) -> Vec<Result<R, E>> {
        let one = |borrowed: &mut Borrowed<'_>, item: Result<T, E>| {
            item.map(|item| work(borrowed.get(), item))
        };
        // Items without text are not worth waking other threads.
        if batch.text_len == 0 {
            let mut borrowed = self.borrow();
            let items = batch.items.into_iter();
            return items.map(|item| one(&mut borrowed, item)).collect();
        }
        let items = batch.items.into_par_iter();
        items.map_init(|| self.borrow(), one).collect()
    }

    /// A fingerprinter for as long as a thread goes on with its share of a batch.
    fn borrow(&self) -> Borrowed<'_> {
        Borrowed {
            owner: self,
            fingerprinter: self.idle().pop(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Fingerprinter>> {
        // A fingerprinter starts every document afresh, even after a panic in the last one.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fingerprinter that goes back to its owner in the end.
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

/// Items that are worked on together.
struct Batch<T, E> {
    items: Vec<Result<T, E>>,
    /// Bytes of text in them.
    text_len: usize,
}

impl<T, E> Batch<T, E> {
    /// The next items; none at the end.
    fn read(
        items: &mut impl Iterator<Item = Result<T, E>>,
        text_len: &impl Fn(&T) -> usize,
    ) -> Self {
        let mut batch = Batch {
            items: Vec::new(),
            text_len: 0,
        };
        while batch.items.len() < BATCH_ITEMS && batch.text_len < BATCH_TEXT_LEN {
            let Some(item) = items.next() else {
                break;
            };
            batch.text_len += item.as_ref().map_or(0, text_len);
            batch.items.push(item);
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pipeline() -> Pipeline {
        Pipeline::new(Preset::Short.options()).unwrap()
    }

    /// Documents of very different lengths.
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
        // More than two batches.
        let documents = documents(2 * BATCH_ITEMS + 100);
        let mut single = pipeline().fingerprinter(Width::W64).unwrap();
        let expected: Vec<u128> = documents.iter().map(|d| single.fingerprint(d)).collect();
        for threads in [1, 2, 5] {
            let (batch, stream) = with_threads(threads, || {
                let parallel = pipeline().parallel(Width::W64).unwrap();
                let stream = parallel.stream(documents.iter().map(Ok::<_, ()>));
                let stream: Vec<u128> = stream.map(|result| result.unwrap().1).collect();
                (parallel.fingerprints(&documents), stream)
            });
            assert_eq!(batch.iter().collect::<Vec<_>>(), expected, "{threads}");
            assert_eq!(stream, expected, "{threads}");
        }
    }

    #[test]
    fn errors_and_items_without_a_document_keep_their_places() {
        let parallel = pipeline().parallel(Width::W64).unwrap();
        let count = BATCH_ITEMS + 10;
        let items = (0..count).map(|i| match i % 3 {
            0 => Ok((i, Some(format!("document {i}")))),
            1 => Ok((i, None)),
            _ => Err(i),
        });
        let results = parallel.stream_with(
            items,
            |(_, text)| text.as_deref(),
            |fingerprinter, text| fingerprinter.fingerprint_with_count(text),
        );
        let mut seen = 0;
        for (i, result) in results.enumerate() {
            match result {
                Ok(((number, Some(text)), Some((fingerprint, count)))) => {
                    assert_eq!((number, i % 3), (i, 0));
                    let expected = pipeline().fingerprint(&text, Width::W64).unwrap();
                    assert_eq!(fingerprint, expected);
                    assert_eq!(count, 2);
                }
                Ok((item, found)) => assert_eq!((item, found, i % 3), ((i, None), None, 1)),
                Err(number) => assert_eq!((number, i % 3), (i, 2)),
            }
            seen += 1;
        }
        assert_eq!(seen, count);
    }

    #[test]
    fn no_more_than_two_batches_are_read_ahead() {
        let parallel = pipeline().parallel(Width::W64).unwrap();
        let read = AtomicUsize::new(0);
        let endless = std::iter::repeat_with(|| {
            read.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>("a")
        });
        let mut stream = parallel.stream(endless);
        for taken in 1..3 * BATCH_ITEMS {
            assert!(stream.next().is_some());
            let ahead = read.load(Ordering::Relaxed) - taken;
            assert!(ahead < 2 * BATCH_ITEMS, "{ahead}");
        }
        // Long documents make smaller batches.
        let long = "a".repeat(BATCH_TEXT_LEN / 2);
        let read = AtomicUsize::new(0);
        let endless = std::iter::repeat_with(|| {
            read.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(long.as_str())
        });
        assert!(parallel.stream(endless).next().is_some());
        assert_eq!(read.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn a_stream_ends_once_and_for_all() {
        let parallel = pipeline().parallel(Width::W64).unwrap();
        let mut empty = parallel.stream(std::iter::empty::<Result<&str, ()>>());
        assert!(empty.next().is_none() && empty.next().is_none());
        let mut stream = parallel.stream([Ok::<_, ()>("a")]);
        assert!(stream.next().is_some());
        assert!(stream.next().is_none() && stream.next().is_none());
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
            let work = |_: &mut Fingerprinter, _: &str| -> u128 { panic!("on purpose") };
            parallel
                .stream_with([Ok::<_, ()>("a")], |text| Some(text), work)
                .count()
        }));
        assert!(failed.is_err());
        let expected = pipeline().fingerprint("a b", Width::W64).unwrap();
        assert!(parallel.fingerprints(&["a b"]).iter().eq([expected]));
    }
}
