//! Long work: without the interpreter, on other threads, and stopped by Ctrl-C.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::errors::{Class, Failure};

/// The time between two checks for signals.
const POLL: Duration = Duration::from_millis(40);

/// The most threads of a call.
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
    /// Whether the work no longer reads lent memory.
    is_apart: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

/// The progress of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Progress {
    stage: &'static str,
    done: u64,
    total: u64,
}

impl Watch {
    /// Returns the watch for work of the library.
    pub(crate) fn of_library(&self) -> simidx::Watch {
        let watch = self.clone();
        simidx::Watch::new(move |progress| {
            match watch.report(progress.stage.name(), progress.done, progress.total) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })
    }

    /// Returns an error if the work has been cancelled.
    pub(crate) fn check(&self) -> simidx::Result<()> {
        match self.call.state.load(Ordering::SeqCst) {
            CANCELLED => Err(simidx::Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Reports the progress. Returns an error if the work has been cancelled.
    pub(crate) fn report(&self, stage: &'static str, done: u64, total: u64) -> simidx::Result<()> {
        *lock(&self.call.progress) = Some(Progress { stage, done, total });
        self.check()
    }

    /// Commits the work, unless it has been cancelled before: from here on it runs to its end.
    pub(crate) fn commit(&self) -> simidx::Result<()> {
        self.leave_working(COMMITTING);
        self.check()
    }

    /// Drops all memory that the caller lent. From here on a cancelled call does not wait for the work.
    pub(crate) fn let_go<T>(&self, lent: T) {
        drop(lent);
        // Earlier reads happen before the caller may write.
        self.call.is_apart.store(true, Ordering::Release);
    }

    /// Begins to read lent memory, unless the work has been cancelled while it waited for a thread.
    fn begin(&self) -> simidx::Result<()> {
        self.call.is_apart.store(false, Ordering::SeqCst);
        self.check()
    }

    /// Cancels the work, unless it is too late. Returns whether it did.
    fn cancel(&self) -> bool {
        self.leave_working(CANCELLED)
    }

    fn leave_working(&self, next: u8) -> bool {
        let state = &self.call.state;
        let set = state.compare_exchange(WORKING, next, Ordering::SeqCst, Ordering::SeqCst);
        set.is_ok()
    }
}

/// The outcome of work: its result, or its panic.
type Outcome<T> = Result<Result<T, Failure>, Box<dyn Any + Send>>;

/// Options of running work.
#[derive(Debug, Default)]
pub(crate) struct How {
    /// Number of threads; `None` for as many as the processor runs at a time.
    pub(crate) threads: Option<usize>,
    /// Called with the stage, the amount done and the total.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Runs work on a pool of threads without the interpreter, and waits for it.
///
/// If a signal raises a Python exception meanwhile, the work ends at its next check of the watch, and the exception is
/// raised after that. The work may read memory that the caller lends, and no longer reads it once this has returned.
/// Work that rarely checks releases that memory first, see [`Watch::let_go`]; then this does not wait for it. The
/// result of cancelled work is dropped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(py, how.threads)?;
    // A call whose work waits behind that of a cancelled one can be cancelled at once.
    run_aside(py, how, move |watch| {
        pool.install(move || {
            watch.begin()?;
            work(watch)
        })
    })
}

/// [`run`] for work that does not read anything the caller could change: files, texts, copied data. The exception is
/// raised at once, and the work ends on its own.
pub(crate) fn run_apart<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(py, how.threads)?;
    run_aside(py, how, move |watch| pool.install(move || work(watch)))
}

/// [`run_apart`] on one thread outside the pool, for work that waits for a disk and would block the pool meanwhile.
pub(crate) fn run_aside<T: Send + 'static>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    watch.let_go(());
    let (to, mut outcome) = mpsc::channel();
    let of_work = watch.clone();
    let started = thread::Builder::new()
        .name("simidx".to_owned())
        .spawn(move || {
            // If the call has been cancelled, the result is not received.
            let _ = to.send(catch_unwind(AssertUnwindSafe(|| work(&of_work))));
        });
    started.map_err(|error| Failure::from(error).raise(py))?;
    let mut seen = None;
    // An exception that came too late to cancel the work.
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
            // Until the work has ended, or has released the lent memory.
            py.detach(move || {
                while !watch.call.is_apart.load(Ordering::SeqCst) {
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

/// Runs work that is too short to be cancelled, on the same pool without the interpreter.
pub(crate) fn run_short<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let pool = pool(py, None)?;
    run_here(py, || pool.install(work))
}

/// [`run_short`] on the thread of the caller.
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

/// Calls the caller's progress function if there is news.
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

/// Returns the pool of a call: the one with as many threads as the processor runs at a time, shared by all calls that
/// do not give a number; other calls have their own threads while they run.
fn pool(py: Python<'_>, threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let count = threads.unwrap_or(0);
    if count > MOST_THREADS {
        let message = format!("threads={count}: at most {MOST_THREADS} are possible");
        return Err(Class::Option.error(py, message));
    }
    simidx::threads::pool(count).map_err(|error| Failure::from(error).raise(py))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
