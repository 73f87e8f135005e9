//! System calls: locks, the priority of a thread, and syncing of names to disk.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The nice value of merging: about a tenth of the time of query threads, if all cores are busy.
pub(crate) const MERGING: i32 = 10;

/// Lowers the priority of the calling thread, and of those that it starts later, if the system has priorities for
/// threads: by more for a larger `nice`, up to 19.
#[doc(hidden)]
pub fn give_way(nice: i32) {
    // A failure to lower the priority is not a reason to skip the work.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, nice);
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}

/// Locks a mutex whose contents are never left half changed, whatever panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs the names in a folder to disk, on systems that support it.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}
