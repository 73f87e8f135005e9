//! Long work: off the interpreter, on threads of its own, and stopped by Ctrl-C.

use std::any::Any;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{Class, Failure};

/// Time between two looks at signals.
const POLL: Duration = Duration::from_millis(40);

/// Most threads that a caller may ask for.
const MOST_THREADS: usize = 1024;

const WORKING: u8 = 0;
const CANCELLED: u8 = 1;
const COMMITTING: u8 = 2;

/// Progress out, cancellation in; shared with a running call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    call: Arc<Call>,
}

#[derive(Debug, Default)]
struct Call {
    state: AtomicU8,
    /// Whether the work reads no memory that is lent, and will not.
    is_apart: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Progress {
    stage: &'static str,
    done: u64,
    total: u64,
}

impl Watch {
    /// The watch for work of the library.
    pub(crate) fn of_library(&self) -> simidx::Watch {
        let watch = self.clone();
        simidx::Watch::new(move |progress| {
            match watch.report(progress.stage.name(), progress.done, progress.total) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })
    }

    /// An error if nobody waits for the work any more.
    pub(crate) fn check(&self) -> simidx::Result<()> {
        match self.call.state.load(Ordering::Relaxed) {
            CANCELLED => Err(simidx::Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Says how far the work is, and whether to go on.
    pub(crate) fn report(&self, stage: &'static str, done: u64, total: u64) -> simidx::Result<()> {
        *lock(&self.call.progress) = Some(Progress { stage, done, total });
        self.check()
    }

    /// From here on the work is brought to its end, if it has not been stopped before.
    pub(crate) fn commit(&self) -> simidx::Result<()> {
        self.leave_working(COMMITTING);
        self.check()
    }

    /// Lets go of what the caller lent: all of it. From here on a call that is stopped does not wait for the work.
    pub(crate) fn let_go<T>(&self, lent: T) {
        drop(lent);
        // What was read before is read before the caller may write.
        self.call.is_apart.store(true, Ordering::Release);
    }

    /// Stops the work, unless it is too late.
    fn cancel(&self) -> bool {
        self.leave_working(CANCELLED)
    }

    fn leave_working(&self, next: u8) -> bool {
        let state = &self.call.state;
        let set = state.compare_exchange(WORKING, next, Ordering::AcqRel, Ordering::Acquire);
        set.is_ok()
    }
}

/// What became of work: its result, or what it panicked with.
type Outcome<T> = Result<Result<T, Failure>, Box<dyn Any + Send>>;

/// How work is run.
#[derive(Debug, Default)]
pub(crate) struct How {
    /// As many as the processor runs at a time, if it is not said.
    pub(crate) threads: Option<usize>,
    /// Called with a stage, what is done of it and of how much.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Runs work on a pool of threads without the interpreter, and waits for it.
///
/// A signal for which Python raises an exception is seen while it runs: the work then ends when it asks its watch next, and the
/// exception is raised after that. The work may read memory that the caller lends: nobody reads it once this has returned.
/// Work that asks seldom lets go of that memory before, see [`Watch::let_go`]; then nobody waits for it. What the work made is dropped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(py, how.threads)?;
    let work = move |watch: &Watch| pool.install(move || work(watch));
    run_watched(py, how, Watch::default(), work)
}

/// The same for work that reads nothing which the caller could change: files, texts, what was copied. The exception is raised at
/// once, and the work ends on its own.
pub(crate) fn run_apart<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(py, how.threads)?;
    run_aside(py, how, move |watch| pool.install(move || work(watch)))
}

/// The same on one thread, not on the pool: for work that waits for a disk, and would keep others from the pool meanwhile.
pub(crate) fn run_aside<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    watch.let_go(());
    run_watched(py, how, watch, work)
}

fn run_watched<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    watch: Watch,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (to, mut outcome) = mpsc::channel();
    let of_work = watch.clone();
    let started = thread::Builder::new()
        .name("simidx".to_owned())
        .spawn(move || {
            // Nobody receives it if the call has been broken off.
            let _ = to.send(catch_unwind(AssertUnwindSafe(|| work(&of_work))));
        });
    started.map_err(|error| Failure::from(error).raise(py))?;
    let mut seen = None;
    // What came too late to break the work off.
    let mut late: PyResult<()> = Ok(());
    loop {
        let waited;
        (waited, outcome) = py.detach(move || (outcome.recv_timeout(POLL), outcome));
        match waited {
            Ok(outcome) => return late.and(finish(py, outcome)),
            Err(RecvTimeoutError::Disconnected) => return finish(py, Err(Box::new("no outcome"))),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let interrupted = py.check_signals();
        let interrupted = interrupted.and_then(|()| tell(py, how, &watch, &mut seen));
        if let Err(error) = interrupted {
            if !watch.cancel() {
                late = Err(error);
                continue;
            }
            // Until the work has ended, or has let go of what is lent to it.
            py.detach(move || {
                while !watch.call.is_apart.load(Ordering::Acquire) {
                    match outcome.recv_timeout(POLL / 4) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => break,
                    }
                }
            });
            return Err(error);
        }
    }
}

/// Runs work at once that is too short to be broken off, on the same pool without the interpreter.
pub(crate) fn run_short<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let pool = pool(py, None)?;
    run_here(py, || pool.install(work))
}

/// The same on the thread of the caller.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    finish(py, outcome)
}

fn finish<T>(py: Python<'_>, outcome: Outcome<T>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(|failure| failure.raise(py)),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
            let message = message.unwrap_or("a panic without a message");
            let message = format!("{message}; this is a fault of simidx, please report it");
            Err(Class::Internal.error(py, message))
        }
    }
}

/// Calls the caller's function if there is news for it.
fn tell(py: Python<'_>, how: &How, watch: &Watch, seen: &mut Option<Progress>) -> PyResult<()> {
    let Some(progress) = &how.progress else {
        return Ok(());
    };
    let now = lock(&watch.call.progress).clone();
    if now == *seen {
        return Ok(());
    }
    if let Some(now) = &now {
        progress.call1(py, (now.stage, now.done, now.total))?;
    }
    *seen = now;
    Ok(())
}

/// The process that has them, and pools that wait for the next call, with the numbers of threads that were asked for.
type Pools = (u32, Vec<(usize, Arc<ThreadPool>)>);

/// The threads for a call: as many as the processor runs at a time for all calls that do not say how many, and others have
/// threads of their own while they run.
fn pool(py: Python<'_>, threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let count = threads.unwrap_or(0);
    if count > MOST_THREADS {
        let message = format!("threads={count}: at most {MOST_THREADS} are possible");
        return Err(Class::Option.error(py, message));
    }
    // Exceptions are made without the lock, since that may run anything.
    kept_pool(count).map_err(|error| Failure::from(io::Error::other(error)).raise(py))
}

fn kept_pool(count: usize) -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    static POOLS: Mutex<Pools> = Mutex::new((0, Vec::new()));
    let mut pools = lock(&POOLS);
    let (of, kept) = &mut *pools;
    let process = std::process::id();
    if *of != process {
        // After a fork the child has none of the threads, and dropping the pools would wait for them.
        std::mem::forget(std::mem::take(kept));
        *of = process;
    }
    let known = kept.iter().find(|(of, _)| *of == count);
    let is_new = known.is_none();
    // Only who has the lock can take one that nobody has.
    if let Some((_, pool)) = known
        && (count == 0 || Arc::strong_count(pool) == 1)
    {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|number| format!("simidx-{number}"))
        .build();
    let pool = Arc::new(pool?);
    // Of those that were asked for by number one is kept; more threads than the processor runs at a time would lie idle.
    let most = thread::available_parallelism().map_or(0, usize::from);
    if is_new && count <= most {
        kept.retain(|&(of, _)| of == 0 || count == 0);
        kept.push((count, Arc::clone(&pool)));
    }
    Ok(pool)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
