//! Long work: on how many threads, and what the caller hears of it.

use std::ffi::{CString, c_char, c_void};
use std::io;
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::border::{self, Options};
use crate::status::{Failure, Result};

/// Most threads that a caller may ask for.
const MOST_THREADS: u32 = 1024;

/// Most pools of threads that are kept for later calls.
const MOST_KEPT: usize = 8;

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
    const FIRST_SIZE: usize = offset_of!(Self, user) + size_of::<*mut c_void>();
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
    pub(crate) fn quiet() -> Result<Self> {
        // SAFETY: there is no function to be called.
        unsafe { Work::new(0, None, std::ptr::null_mut()) }
    }

    /// Work as the caller wants it.
    ///
    /// # Safety
    /// `progress` may be called with `user`, as its type says.
    pub(crate) unsafe fn new(
        threads: u32,
        progress: simidx_progress,
        user: *mut c_void,
    ) -> Result<Self> {
        if threads > MOST_THREADS {
            let message = format!("threads is {threads}; at most {MOST_THREADS} are possible");
            return Err(Failure::argument(message));
        }
        let call = Arc::new(Call {
            progress,
            user,
            stopped: AtomicBool::new(false),
        });
        let threads = threads as usize;
        Ok(Work { threads, call })
    }

    /// Work as the options of the caller say.
    ///
    /// # Safety
    /// As for [`Work::new`] and [`border::options`].
    pub(crate) unsafe fn read(options: *const simidx_work_options) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe {
            let options = border::options(options)?;
            Work::new(options.threads, options.progress, options.user)
        }
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
        pool(self.threads)?.install(work)
    }
}

/// The process that has them, and pools that are kept for later calls, with the numbers of threads that were asked for.
type Pools = (u32, Vec<(usize, Arc<ThreadPool>)>);

static POOLS: Mutex<Pools> = Mutex::new((0, Vec::new()));

/// As many threads as the processor runs at a time if the number is 0, which all such calls share. Otherwise as many as the
/// caller names, which no other call has meanwhile.
fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    let lock = || POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pools = lock();
    let (of, kept) = &mut *pools;
    let process = std::process::id();
    if *of != process {
        // After a fork the child has none of the threads, and dropping the pools would wait for them.
        std::mem::forget(std::mem::take(kept));
        *of = process;
    }
    // Only who has the lock can take one that nobody has.
    let is_free = |pool: &Arc<ThreadPool>| threads == 0 || Arc::strong_count(pool) == 1;
    let found = kept
        .iter()
        .find(|(of, pool)| *of == threads && is_free(pool));
    if let Some((_, pool)) = found {
        return Ok(Arc::clone(pool));
    }
    // Calls that share a pool wait until it is built, and no others.
    let held = (threads == 0).then_some(pools);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("simidx-{number}"))
        .build();
    let pool = Arc::new(pool.map_err(io::Error::other)?);
    let (_, kept) = &mut *held.unwrap_or_else(lock);
    if threads == 0 || kept.len() < MOST_KEPT {
        kept.push((threads, Arc::clone(&pool)));
    }
    Ok(pool)
}
