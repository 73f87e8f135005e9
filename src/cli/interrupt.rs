//! Signals that end the program: unfinished outputs go with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The outputs that are being written, under their temporary names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this lives, a signal that ends the program removes the file first.
#[derive(Debug)]
pub(super) struct RemoveOnSignal(PathBuf);

impl RemoveOnSignal {
    /// Takes charge of a file.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        install()?;
        unfinished().push(path.to_owned());
        Ok(RemoveOnSignal(path.to_owned()))
    }
}

impl Drop for RemoveOnSignal {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for SIGINT, SIGTERM and SIGHUP, once.
#[cfg(unix)]
fn install() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    static STARTED: Once = Once::new();
    let mut result = Ok(());
    STARTED.call_once(|| match Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        Err(error) => result = Err(error),
        Ok(mut signals) => {
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    remove_and_die(signal);
                }
            });
        }
    });
    result
}

#[cfg(not(unix))]
fn install() -> io::Result<()> {
    Ok(())
}

/// Removes the unfinished outputs and ends as the signal would have.
#[cfg(unix)]
fn remove_and_die(signal: i32) {
    // The lock stays taken, so that no further output is begun. One that is being renamed just now is complete.
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // The process ends either way; a file that cannot be removed has a name that says what it is.
        let _ = std::fs::remove_file(path);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
