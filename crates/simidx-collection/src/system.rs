//! What is asked of the system: locks, the priority of a thread, and names that are on disk.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The priority of merging as the system counts: a tenth of what the threads get that answer, where all cores are busy.
pub(crate) const MERGING: i32 = 10;

/// Lets the calling thread, and those that it starts from now on, give way to those that answer, where the system can tell
/// threads apart: the more the larger `nice`, up to 19.
#[doc(hidden)]
pub fn give_way(nice: i32) {
    // Work that gives way too little is no reason not to do it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, nice);
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}

/// Locks what nothing leaves half done, whatever panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the names in a folder on disk, on systems where that can be asked for.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}
