//! Long work: its threads, and its progress.

use std::ffi::{CString, c_char, c_void};
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::border::{self, Options};
use crate::status::{Failure, Result};

/// The most threads of a call.
const MOST_THREADS: u32 = 1024;

/// A function of the caller that is called with the progress of long work: `done` of `total` in a stage, whose name is
/// a string that is valid during the call. `total` is 0 if it is not known. Return 0 to continue. Any other value stops:
/// the call then fails with `SIMIDX_ERROR_STOPPED`. One thread of a call at a time calls the function. It may be another
/// thread than that of the call, and may work for other calls meanwhile. The function must not throw, longjmp, call
/// functions with the same searcher or builder, or call the library while it holds a lock that another progress function
/// takes.
pub type simidx_progress = Option<
    unsafe extern "C" fn(user: *mut c_void, stage: *const c_char, done: u64, total: u64) -> i32,
>;

/// Options of long work. Set `struct_size` to `sizeof(simidx_work_options)`; 0 in all other fields is the default.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simidx_work_options {
    /// Size of this struct.
    pub struct_size: usize,
    /// Number of threads, for this call alone; 0 for threads that such calls share, as many as the processor runs at a
    /// time.
    pub threads: u32,
    /// Always 0.
    pub reserved: u32,
    /// Called with the progress, unless it is NULL.
    pub progress: simidx_progress,
    /// Passed to `progress`.
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

/// The progress function of the caller, and whether it has stopped the work.
#[derive(Debug)]
struct Call {
    progress: simidx_progress,
    user: *mut c_void,
    stopped: AtomicBool,
}

// SAFETY: `user` is not dereferenced here. It is passed to the caller's function, which is documented to run on another
// thread, and which one thread at a time calls: the one that runs the work. A `Call` does not outlive the work.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Work {
    /// Creates work without progress reports.
    pub(crate) fn quiet() -> Result<Self> {
        // SAFETY: there is no function to be called.
        unsafe { Work::new(0, None, std::ptr::null_mut()) }
    }

    /// Creates work with the options of the caller.
    ///
    /// # Safety
    /// `progress` may be called with `user`, as its type requires.
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

    /// Creates work from the options of the caller.
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

    /// Returns the watch for work of the library.
    pub(crate) fn watch(&self) -> simidx::Watch {
        let work = self.clone();
        simidx::Watch::new(move |progress| {
            match work.report(progress.stage.name(), progress.done, progress.total) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })
    }

    /// Reports the progress. Fails if the caller stops the work.
    pub(crate) fn report(&self, stage: &str, done: u64, total: u64) -> simidx::Result<()> {
        if let Some(progress) = self.call.progress {
            let stage = CString::new(stage).unwrap_or_default();
            // SAFETY: the caller provided the function for such calls.
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

    /// Runs work on a pool of threads.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        simidx::threads::pool(self.threads)?.install(work)
    }
}
