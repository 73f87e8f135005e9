//! The state of the server: the indexes by name, each with its current generation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use hyper::StatusCode;
use rayon::ThreadPool;
use serde_json::Value;
use simidx::Set;
use simidx::index::WarmOptions;
use simidx::set::Question;
use simidx_text::{ParallelFingerprinter, Pipeline};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::auth::Token;
use crate::log::Log;
use crate::metrics::{IndexMetrics, Metrics};
use crate::options::{Hook, NamedIndex, ServerOptions};
use crate::problem::{Problem, kind_of};
use crate::source::{Source, of_library};
use crate::tls::{self, Tls};

/// The niceness of threads that open and close files during a reload: the lowest priority.
const RELOADING: i32 = 19;

/// Interval between checks whether the last request of an old generation has ended.
const RETIRE_STEP: Duration = Duration::from_millis(10);

/// The name of the collection if there are indexes.
const STORE: &str = "store";

/// By default, queries may exceed the distance of the tables by this much.
const DISTANCES_BEYOND: u32 = 4;

/// Permits that requests share, for connections, requests or KiB of memory.
pub(crate) struct Permits {
    free: Arc<Semaphore>,
    pub(crate) count: usize,
}

impl Permits {
    fn new(count: usize) -> Self {
        let count = count.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        let free = Arc::new(Semaphore::new(count));
        Permits { free, count }
    }

    /// Acquires a permit, if one is available.
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// Waits in turn for a permit, until the deadline.
    pub(crate) async fn take_by(&self, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        let permit = self.free.clone().acquire_owned();
        let permit = tokio::time::timeout_at(deadline.into(), permit).await;
        permit.ok()?.ok()
    }

    /// Grows `held` to one permit for each KiB of `len` bytes. If too few are available, changes nothing and returns
    /// `false`.
    pub(crate) fn hold(&self, held: &mut Option<OwnedSemaphorePermit>, len: usize) -> bool {
        let has = held.as_ref().map_or(0, |held| held.num_permits());
        let more = len.div_ceil(1024).saturating_sub(has);
        if more == 0 {
            return true;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let Ok(more) = self.free.clone().try_acquire_many_owned(more) else {
            return false;
        };
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
        true
    }

    /// Number of acquired permits.
    pub(crate) fn taken(&self) -> usize {
        self.count - self.free.available_permits()
    }

    /// Waits until all permits are available.
    pub(crate) async fn all(&self) {
        let _ = self.free.acquire_many(self.count as u32).await;
    }
}

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) options: ServerOptions,
    /// The indexes of files, then the store.
    pub(crate) indexes: Vec<Served>,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    /// The thread pool for expensive work.
    pub(crate) pool: ThreadPool,
    pub(crate) connections: Permits,
    /// Permits of batches and expensive queries.
    waiting: Permits,
    /// Permits of requests about one document, id or page, and of changes. They wait in turn, and would always come
    /// before batches, which do not.
    short: Permits,
    /// Permits of request bodies, in KiB.
    pub(crate) bodies: Permits,
    /// Permits of answers, in KiB.
    pub(crate) answers: Permits,
    /// The token that requests must contain.
    pub(crate) token: Option<ArcSwap<Token>>,
    /// The certificate and the key that encrypt connections.
    pub(crate) tls: Option<ArcSwap<Tls>>,
    /// Notified when the server is asked to stop for the second time.
    pub(crate) hurry: Notify,
    /// Held during a reload.
    reloading: Mutex<()>,
    /// One permit, for a copy of the store.
    pub(crate) copying: Permits,
    is_ready: AtomicBool,
    /// Each open generation holds a clone.
    open: Arc<()>,
}

/// A served index.
pub(crate) struct Served {
    pub(crate) name: String,
    /// The files of the index; empty for the store.
    files: Vec<PathBuf>,
    current: ArcSwap<Generation>,
    /// The stamps of the files at the last failed reload.
    refused: Mutex<Vec<Option<Stamp>>>,
    pub(crate) metrics: Arc<IndexMetrics>,
}

/// A version of an index, with the fingerprinter for its queries.
pub(crate) struct Generation {
    pub(crate) source: Source,
    /// The name of an immutable version.
    pub(crate) name: Option<String>,
    fingerprinter: Result<Arc<ParallelFingerprinter>, Problem>,
    /// Largest size of a normalised text in bytes.
    max_text: usize,
    pub(crate) loaded_at: SystemTime,
    /// The stamps of the files when they were opened.
    stamps: Vec<Option<Stamp>>,
    /// The metrics of the index.
    pub(crate) metrics: Arc<IndexMetrics>,
    _open: Arc<()>,
}

/// Distinguishes a file from its replacement: its length, its modification time and its number.
type Stamp = (u64, Option<SystemTime>, u64);

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |path: &PathBuf| {
        let data = path.metadata().ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let number = 0;
        Some((data.len(), data.modified().ok(), number))
    };
    files.iter().map(stamp).collect()
}

impl Generation {
    /// Returns the fingerprinter of this index.
    ///
    /// # Errors
    /// The index records no pipeline, or one that needs other files.
    pub(crate) fn fingerprinter(&self) -> Result<&ParallelFingerprinter, Problem> {
        match &self.fingerprinter {
            Ok(fingerprinter) => Ok(fingerprinter),
            Err(problem) => Err(problem.clone()),
        }
    }

    /// Fingerprints a text. Returns the fingerprint, and whether the text has features.
    ///
    /// # Errors
    /// The index cannot fingerprint texts, or the normalised text is longer than a body may be.
    pub(crate) fn fingerprint(&self, text: &str) -> Result<(u128, bool), Problem> {
        let fingerprinter = self.fingerprinter()?;
        let found = fingerprinter.with(|f| f.fingerprint_within(text, self.max_text));
        let found = found.map_err(|error| Problem::too_large(error.to_string()))?;
        let fingerprint = found.unwrap_or_else(|| fingerprinter.empty_fingerprint());
        Ok((fingerprint, found.is_some()))
    }
}

/// The result of reloading an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reloaded {
    pub(crate) generation: String,
    pub(crate) is_changed: bool,
    pub(crate) took: Duration,
}

impl App {
    /// Opens all indexes. `paths` are the addresses whose requests are counted.
    ///
    /// # Errors
    /// An index that cannot be opened or is damaged, or two indexes with the same name.
    pub(crate) fn open(
        mut options: ServerOptions,
        tls: Option<Tls>,
        paths: impl Iterator<Item = &'static str>,
    ) -> Result<Self, Problem> {
        // Large files are opened on the global thread pool. It is started here, because a reload would give it a low
        // priority.
        rayon::current_num_threads();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .thread_name(|number| format!("simidx-batch-{number}"))
            // The request then fails; the message is on stderr.
            .panic_handler(|_| {})
            .build();
        let pool = pool.map_err(|error| Problem::busy(error.to_string()))?;
        let (indexes, limits) = (std::mem::take(&mut options.indexes), options.limits);
        let mut app = App {
            connections: Permits::new(limits.max_connections),
            waiting: Permits::new(limits.max_waiting),
            short: Permits::new(limits.max_waiting),
            bodies: Permits::new((limits.max_body / 1024).saturating_mul(16).max(1 << 18)),
            answers: Permits::new((limits.max_answer / 1024).saturating_mul(4)),
            indexes: Vec::new(),
            token: options.token.clone().map(ArcSwap::from_pointee),
            tls: tls.map(ArcSwap::from_pointee),
            hurry: Notify::new(),
            reloading: Mutex::new(()),
            copying: Permits::new(1),
            is_ready: AtomicBool::new(false),
            metrics: Metrics::new(paths),
            log: Log {
                format: options.log_format,
                is_quiet: options.quiet,
            },
            options,
            pool,
            open: Arc::new(()),
        };
        for NamedIndex { name, files } in indexes {
            let generation = app.load(&files, None)?;
            app.serve(name, files, generation)?;
        }
        if let Some(store) = app.options.store.clone() {
            let is_default = |index: &Served| index.name == NamedIndex::DEFAULT;
            let name = match app.indexes.iter().any(is_default) {
                true => STORE,
                false => NamedIndex::DEFAULT,
            };
            if app.options.warm {
                let warmed = store.warm(&app.warm_options());
                warmed.map_err(|error| opening(of_library(error)))?;
            }
            let generation = app.generation(Source::Store(store), None, Vec::new());
            app.serve(name.to_owned(), Vec::new(), generation)?;
        }
        if app.indexes.is_empty() {
            return Err(Problem::unanswerable(
                "bad-request",
                "there is nothing to serve",
            ));
        }
        if let Some(Hook(hook)) = &app.options.hook {
            hook(None);
        }
        app.is_ready.store(true, Ordering::Release);
        Ok(app)
    }

    fn serve(
        &mut self,
        name: String,
        files: Vec<PathBuf>,
        generation: Generation,
    ) -> Result<(), Problem> {
        if self.indexes.iter().any(|index| index.name == name) {
            let detail = format!("there are two indexes called {name}");
            return Err(Problem::unanswerable("bad-request", detail));
        }
        self.indexes.push(Served {
            name,
            files,
            metrics: generation.metrics.clone(),
            current: ArcSwap::from_pointee(generation),
            refused: Mutex::default(),
        });
        Ok(())
    }

    /// Acquires a permit for a batch or an expensive query.
    ///
    /// # Errors
    /// All permits are in use.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.waiting.take().ok_or_else(|| self.full())
    }

    /// Waits for such a permit again.
    ///
    /// # Errors
    /// All permits are in use until the deadline.
    pub(crate) async fn permit_by(
        &self,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = self.waiting.take_by(deadline).await;
        permit.ok_or_else(|| self.full())
    }

    /// Waits in turn for a permit of a short request or a change.
    ///
    /// # Errors
    /// All permits are in use until the deadline.
    pub(crate) async fn turn_by(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = self.short.take_by(deadline).await;
        permit.ok_or_else(|| self.full())
    }

    fn full(&self) -> Problem {
        let limit = self.options.limits.max_waiting;
        Problem::busy(format!("{limit} requests like this one are being answered"))
    }

    /// Number of open generations of all indexes.
    pub(crate) fn generation_count(&self) -> usize {
        Arc::strong_count(&self.open) - 1
    }

    /// Returns whether queries are answered and changes are accepted, and a line that names any failure.
    pub(crate) fn readiness(&self) -> (bool, &'static str) {
        if !self.is_ready.load(Ordering::Acquire) {
            return (false, "shutting down\n");
        }
        let stats = self.options.store.as_ref().map(|store| store.stats());
        let stats = stats.unwrap_or_default();
        if stats.journal_error.is_some() {
            let line = "the journal of the store failed: see the log, then start again\n";
            return (false, line);
        }
        if stats.refuses_changes {
            let line = "changes are refused because sealing keeps failing: the log says why\n";
            return (false, line);
        }
        let line = match (&stats.seal_error, &stats.merge_error) {
            (Some(_), _) => "ready; sealing fails: the log says why\n",
            (None, Some(_)) => "ready; merging fails: the log says why\n",
            (None, None) => "ready\n",
        };
        (true, line)
    }

    /// Reports from now on that the server is not ready.
    pub(crate) fn stop_being_ready(&self) {
        self.is_ready.store(false, Ordering::Release);
    }

    /// Returns the index of a name; without a name, the one called `default`, or the only one.
    ///
    /// # Errors
    /// No such index.
    pub(crate) fn index(&self, name: Option<&str>) -> Result<&Served, Problem> {
        let named = |name: &str| self.indexes.iter().find(|index| index.name == name);
        match (name, &self.indexes[..]) {
            (Some(name), _) => named(name).ok_or_else(|| {
                let name = crate::request::shown(name);
                Problem::not_found("unknown-index", format!("there is no index {name}"))
            }),
            (None, [only]) => Ok(only),
            (None, _) => named(NamedIndex::DEFAULT).ok_or_else(|| {
                let names: Vec<&str> = self.indexes.iter().map(|i| &*i.name).collect();
                let detail = format!("name an index by ?index=: {}", names.join(", "));
                Problem::bad("unknown-index", detail)
            }),
        }
    }

    /// Returns the index of a name, or all indexes.
    ///
    /// # Errors
    /// No index has this name.
    pub(crate) fn asked(&self, name: Option<&str>) -> Result<Vec<&Served>, Problem> {
        match name {
            Some(_) => Ok(vec![self.index(name)?]),
            None => Ok(self.indexes.iter().collect()),
        }
    }

    /// The largest distance that a query of this source may have.
    pub(crate) fn max_distance(&self, source: &Source) -> u32 {
        let by_default = || source.max_distance() + DISTANCES_BEYOND;
        let limit = self.options.limits.max_distance;
        limit.unwrap_or_else(by_default).min(source.width().bits())
    }

    /// The distance of a query of this source that names none.
    pub(crate) fn default_distance(&self, source: &Source) -> u32 {
        source.max_distance().min(self.max_distance(source))
    }

    /// Opens, checks and warms files.
    fn load(&self, files: &[PathBuf], old: Option<&Generation>) -> Result<Generation, Problem> {
        let stamps = stamps(files);
        let set = match self.options.no_mmap {
            true => Set::open_in_memory(files),
            false => Set::open(files),
        };
        let set = set.map_err(opening)?;
        let (width, before) = (set.width(), old.map(|old| old.source.width()));
        if let Some(before) = before.filter(|&before| before != width) {
            let detail = format!(
                "the new files have fingerprints of {width} bits, those that answer have {before}; start the server anew \
                 to serve them"
            );
            return Err(Problem::unanswerable("mismatch", detail));
        }
        if self.options.warm {
            set.warm(&self.warm_options()).map_err(opening)?;
        }
        Ok(self.generation(Source::Files(set), old, stamps))
    }

    fn warm_options(&self) -> WarmOptions {
        WarmOptions::default().threads(self.options.threads)
    }

    /// [`App::load`] on a thread with low priority, so that requests are not delayed. Threads that warm files inherit
    /// its priority.
    fn reopen(&self, files: &[PathBuf], old: &Generation) -> Result<Generation, Problem> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("simidx-reload".to_owned());
            let opening = thread.spawn_scoped(scope, || {
                simidx_collection::give_way(RELOADING);
                self.load(files, Some(old))
            });
            // If the thread cannot be started, the current one opens the files.
            let Ok(opening) = opening else {
                return self.load(files, Some(old));
            };
            opening.join().unwrap_or_else(|_| {
                let detail = "opening the files broke off; the log may say why";
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Err(Problem::new(status, "other", detail))
            })
        })
    }

    /// Creates a generation that is ready to answer.
    fn generation(
        &self,
        source: Source,
        old: Option<&Generation>,
        stamps: Vec<Option<Stamp>>,
    ) -> Generation {
        // A plan is computed at its first query, then kept.
        for distance in 0..=self.max_distance(&source) {
            source.cost(Question::Within(distance));
        }
        let name = match &source {
            Source::Files(_) => Some(source.generation()),
            Source::Store(_) => None,
        };
        Generation {
            fingerprinter: self.fingerprinter(&source, old),
            max_text: self.options.limits.max_body,
            source,
            name,
            loaded_at: SystemTime::now(),
            stamps,
            metrics: old.map(|old| old.metrics.clone()).unwrap_or_default(),
            _open: self.open.clone(),
        }
    }

    fn fingerprinter(
        &self,
        source: &Source,
        old: Option<&Generation>,
    ) -> Result<Arc<ParallelFingerprinter>, Problem> {
        let unusable = |detail: String| Problem::unanswerable("no-pipeline", detail);
        let description = source.pipeline().ok_or_else(|| {
            let detail = "the index records no text pipeline, as it was built from fingerprints";
            unusable(detail.to_owned())
        })?;
        let pipeline = Pipeline::parse(description, &self.options.assets);
        let pipeline = pipeline.map_err(|error| unusable(error.to_string()))?;
        // Dictionaries take time and memory.
        if let Some(old) = old
            && old.source.width() == source.width()
            && let Ok(fingerprinter) = &old.fingerprinter
            && *fingerprinter.pipeline() == pipeline
        {
            return Ok(fingerprinter.clone());
        }
        let fingerprinter = pipeline.parallel(source.width());
        fingerprinter
            .map(Arc::new)
            .map_err(|error| unusable(error.to_string()))
    }

    /// Opens the files of some indexes again and, if all are valid, replaces the served ones. Takes as long as reading
    /// the files, so callers must be able to block.
    ///
    /// # Errors
    /// The first index whose files cannot be used. No index has changed.
    pub(crate) fn reload(&self, indexes: &[&Served]) -> Result<Vec<Reloaded>, Problem> {
        let _one_at_a_time = lock(&self.reloading);
        // All indexes are opened, so that the log names each faulty one.
        let opened: Vec<_> = indexes.iter().map(|index| self.reopened(index)).collect();
        let opened = opened.into_iter().collect::<Result<Vec<_>, Problem>>();
        let opened = opened.inspect_err(|_| {
            self.metrics.reloads_failed.fetch_add(1, Ordering::Relaxed);
        })?;
        let swap = |(index, (fresh, reloaded)): (&&Served, (Option<Generation>, Reloaded))| {
            if let Some(fresh) = fresh {
                retire(index.current.swap(Arc::new(fresh)));
                self.metrics.reloads_good.fetch_add(1, Ordering::Relaxed);
                let fields = [
                    ("index", (*index.name).into()),
                    ("generation", (*reloaded.generation).into()),
                    ("ms", (reloaded.took.as_millis() as u64).into()),
                ];
                self.log.info("reloaded", &fields);
            }
            reloaded
        };
        Ok(indexes.iter().zip(opened).map(swap).collect())
    }

    /// Opens the files of an index again, if it has any. A failure is logged.
    fn reopened(&self, index: &Served) -> Result<(Option<Generation>, Reloaded), Problem> {
        let (started, before) = (Instant::now(), index.current());
        let fresh = match &index.files[..] {
            [] => Ok(None),
            files => self.reopen(files, &before).map(Some),
        };
        let fresh = fresh.inspect_err(|problem| {
            let name = ("index", (*index.name).into());
            self.log_failure(&[name, ("error", problem.detail().into())]);
        })?;
        let generation = fresh.as_ref().unwrap_or(&before).source.generation();
        let reloaded = Reloaded {
            is_changed: fresh.is_some() && generation != before.source.generation(),
            generation,
            took: started.elapsed(),
        };
        Ok((fresh, reloaded))
    }

    fn log_failure(&self, fields: &[(&str, Value)]) {
        let event = "reload failed, the old files go on answering";
        self.log.error(event, fields);
    }

    /// Reloads all indexes, the token and the certificate, or none of them if one fails. A failure is logged.
    ///
    /// # Errors
    /// The errors of [`App::reload`], and a file of the token, the certificate or the key that cannot be used.
    pub(crate) fn reload_all(&self) -> Result<Vec<Reloaded>, Problem> {
        let failed = |error: String| {
            self.log_failure(&[("error", error.into())]);
            self.metrics.reloads_failed.fetch_add(1, Ordering::Relaxed);
            // Only the log names the file.
            Problem::unanswerable(
                "io",
                "the file of the token, of the certificate or of the key cannot be used; the log says why",
            )
        };
        let token = match &self.token {
            Some(token) => Some(token.load().read_again().map_err(failed)?),
            None => None,
        };
        let tls = tls::open(&self.options).map_err(|error| failed(error.to_string()))?;
        let all: Vec<&Served> = self.indexes.iter().collect();
        let reloaded = self.reload(&all)?;
        if let (Some(place), Some(token)) = (&self.token, token) {
            place.store(Arc::new(token));
            self.log.info("token reloaded", &[]);
        }
        if let (Some(place), Some(tls)) = (&self.tls, tls) {
            place.store(Arc::new(tls));
            self.log.info("certificate reloaded", &[]);
        }
        Ok(reloaded)
    }

    /// Reloads the indexes whose files differ both from the open ones and from those refused last.
    pub(crate) fn reload_replaced(&self) {
        for index in &self.indexes {
            let now = stamps(&index.files);
            let mut refused = lock(&index.refused);
            // A missing file will return: a rename is atomic, but a copy is not.
            if now == index.current().stamps || now.contains(&None) || now == *refused {
                continue;
            }
            *refused = match self.reload(&[index]) {
                Ok(_) => Vec::new(),
                Err(_) => now,
            };
        }
    }
}

/// Locks a mutex, even if a thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Served {
    /// Returns the current generation, to be held for one request.
    pub(crate) fn current(&self) -> Arc<Generation> {
        self.current.load_full()
    }
}

/// Closes an old generation after its last request, on its own thread, because unmapping many gigabytes takes time.
fn retire(mut old: Arc<Generation>) {
    let wait = move || {
        simidx_collection::give_way(RELOADING);
        loop {
            match Arc::try_unwrap(old) {
                Ok(last) => return drop(last),
                Err(shared) => old = shared,
            }
            std::thread::sleep(RETIRE_STEP);
        }
    };
    let name = "simidx-retire".to_owned();
    // If the thread cannot be started, the last request closes the generation.
    let _ = std::thread::Builder::new().name(name).spawn(wait);
}

/// Converts an error of opening files. A missing file is not a fault of the server.
fn opening(error: simidx::Error) -> Problem {
    Problem::unanswerable(kind_of(&error), error.to_string())
}
