//! Long work: on how many threads, and what the caller hears of it.

use std::ffi::{CString, c_char, c_void};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::border::{self, Options};
use crate::status::{Failure, Result};

/// Most threads that a caller may ask for.
const MOST_THREADS: u32 = 1024;

/// Most pools of threads that are kept for later calls.
const MOST_IDLE: usize = 8;

/// A function of the caller that hears how far long work is: `done` of `total` in a stage, whose name is a string for the
/// time of the call. What it returns is 0 to go on, anything else to stop: the call then fails with `SIMIDX_ERROR_STOPPED`.
/// One thread of a call at a time calls it, which may be another one than that of the call, and may help other calls
/// meanwhile. It must not throw, longjmp, call functions with the same searcher, or call the library with a lock held that
/// another progress function takes.
pub type simidx_progress = Option<
    unsafe extern "C" fn(user: *mut c_void, stage: *const c_char, done: u64, total: u64) -> i32,
>;

/// How long work is done. Set `struct_size` to `sizeof(simidx_work_options)`; 0 in all other fields is the default.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simidx_work_options {
    /// Size of this struct.
    pub struct_size: usize,
    /// Threads that work, for this call alone; 0 for those that all such calls share, as many as the processor runs at a time.
    pub threads: u32,
    /// Always 0.
    pub reserved: u32,
    /// Hears of progress, unless it is NULL.
    pub progress: simidx_progress,
    /// Handed to `progress`.
    pub user: *mut c_void,
}

// SAFETY: 0 is a value of each field, and the first one is the size.
unsafe impl Options for simidx_work_options {
    const NAME: &'static str = "simidx_work_options";
    const FIRST_SIZE: usize = size_of::<simidx_work_options>();
}

/// Work under way.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    threads: usize,
    call: Arc<Call>,
}

/// What the caller gave to hear of its work, and its answer.
#[derive(Debug)]
struct Call {
    progress: simidx_progress,
    user: *mut c_void,
    stopped: AtomicBool,
}

// SAFETY: `user` is not followed here. It goes back to the caller's function, which is told that it runs on another thread,
// and which one thread at a time calls: the one that the work is on. Nothing keeps a `Call` longer than the work.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Work {
    /// Work that nobody hears of.
    pub(crate) fn quiet() -> Self {
        Work::on(0, None, std::ptr::null_mut())
    }

    /// Work as the caller wants it.
    ///
    /// # Safety
    /// `progress` of the options may be called with their `user`, as its type says.
    pub(crate) unsafe fn new(options: &simidx_work_options) -> Result<Self> {
        if options.threads > MOST_THREADS {
            let threads = options.threads;
            let message = format!("threads is {threads}; at most {MOST_THREADS} are possible");
            return Err(Failure::argument(message));
        }
        let threads = options.threads as usize;
        Ok(Work::on(threads, options.progress, options.user))
    }

    fn on(threads: usize, progress: simidx_progress, user: *mut c_void) -> Self {
        let stopped = AtomicBool::new(false);
        Work {
            threads,
            call: Arc::new(Call {
                progress,
                user,
                stopped,
            }),
        }
    }

    /// Work as the options of the caller say.
    ///
    /// # Safety
    /// As for [`Work::new`] and [`border::options`].
    pub(crate) unsafe fn read(options: *const simidx_work_options) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Work::new(&border::options(options)?) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The watch for work of the library.
    pub(crate) fn watch(&self) -> simidx::Watch {
        let work = self.clone();
        simidx::Watch::new(move |progress| {
            match work.report(progress.stage.name(), progress.done, progress.total) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })
    }

    /// Says how far the work is, and whether to go on.
    pub(crate) fn report(&self, stage: &str, done: u64, total: u64) -> simidx::Result<()> {
        if let Some(progress) = self.call.progress {
            let stage = CString::new(stage).unwrap_or_default();
            // SAFETY: the caller gave the function to be called so.
            let answer = unsafe { progress(self.call.user, stage.as_ptr(), done, total) };
            if answer != 0 {
                self.call.stopped.store(true, Ordering::Relaxed);
            }
        }
        match self.call.stopped.load(Ordering::Relaxed) {
            true => Err(simidx::Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Does work on a pool of threads.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match self.threads {
            0 => shared()?.install(work),
            threads => {
                let pool = take(threads)?;
                let outcome = pool.install(work);
                give_back(threads, pool);
                outcome
            }
        }
    }
}

/// The pool of all calls that name no number of threads, and the process that it is of.
static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// As many threads as the processor runs at a time, however many calls there are at a time: they share them.
fn shared() -> Result<Arc<ThreadPool>> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*shared {
        Some((of, pool)) if *of == process => return Ok(Arc::clone(pool)),
        _ => {}
    }
    let pool = Arc::new(build(0)?);
    let before = shared.replace((process, Arc::clone(&pool)));
    // After a fork the child has none of the threads, and dropping the pool would wait for them.
    std::mem::forget(before);
    Ok(pool)
}

/// Pools that nobody uses, with the numbers of threads that were asked for, and the process that they are of.
static IDLE: Mutex<(u32, Vec<(usize, ThreadPool)>)> = Mutex::new((0, Vec::new()));

/// A pool of so many threads as the caller names. Two calls at a time have two pools: neither waits for the other.
fn take(threads: usize) -> Result<ThreadPool> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.0 != process {
        // After a fork the child has none of the threads, and dropping the pools would wait for them.
        std::mem::forget(std::mem::take(&mut idle.1));
        idle.0 = process;
    }
    if let Some(number) = idle.1.iter().position(|&(of, _)| of == threads) {
        return Ok(idle.1.swap_remove(number).1);
    }
    drop(idle);
    build(threads)
}

fn build(threads: usize) -> Result<ThreadPool> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("simidx-{number}"))
        .build();
    pool.map_err(|error| io::Error::other(error).into())
}

/// Keeps a pool for later.
fn give_back(threads: usize, pool: ThreadPool) {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.0 == std::process::id() && idle.1.len() < MOST_IDLE {
        idle.1.push((threads, pool));
    }
}
