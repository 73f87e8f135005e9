//! Releases pages of mapped indexes while they are read through, so that a command does not appear to use as much memory as
//! its files.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

use simidx::Set;

/// The time between releases. Each costs a fault for each page that is still wanted, and within it some megabytes are read.
const PERIOD: Duration = Duration::from_millis(10);

/// Does some work, and releases the pages that it has read again and again.
pub(crate) fn while_released<T>(set: &Set, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (working, ended) = channel::<()>();
        // Without the thread, the memory of the process looks larger than it is: no reason to stop.
        let _ = Builder::new().spawn_scoped(scope, move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                release(set);
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Releases all pages. That this fails is no reason to stop either.
fn release(set: &Set) {
    #[cfg(unix)]
    for segment in set.segments() {
        let _ = segment.storage().evict();
    }
    #[cfg(not(unix))]
    let _ = set;
}
