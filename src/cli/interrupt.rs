//! Signals that end the program: unfinished outputs go with it, and one about a mapped file is told in words.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

#[cfg(unix)]
use super::{EXIT_FAILURE, output};

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
        expect_signals()?;
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

/// Starts the thread that waits for SIGINT, SIGTERM, SIGHUP and SIGBUS, once.
///
/// # Errors
/// The signal handlers cannot be installed.
#[cfg(unix)]
pub(super) fn expect_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    static STARTED: Once = Once::new();
    let mut result = Ok(());
    STARTED.call_once(|| match Signals::new([SIGINT, SIGTERM, SIGHUP, SIGBUS]) {
        Err(error) => result = Err(error),
        Ok(mut signals) => {
            result = stay_in_handler(SIGBUS);
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    remove_and_die(signal);
                }
            });
        }
    });
    result
}

/// Keeps a thread that gets the signal from going on, while another one ends the program. It would meet the signal again
/// at once, and the handler of the standard library, which comes first, leaves that one to the system.
#[cfg(unix)]
fn stay_in_handler(signal: i32) -> io::Result<()> {
    let stay = || loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    };
    #[expect(
        unsafe_code,
        reason = "what runs in a signal handler must be fit for it"
    )]
    // SAFETY: all that runs is a sleep, a single call of the system without memory or locks.
    unsafe { signal_hook::low_level::register(signal, stay) }.map(drop)
}

#[cfg(not(unix))]
pub(super) fn expect_signals() -> io::Result<()> {
    Ok(())
}

/// Removes the unfinished outputs and ends as the signal would have, but with words where a file became shorter.
#[cfg(unix)]
fn remove_and_die(signal: i32) {
    // The lock stays taken, so that no further output is begun. One that is being renamed just now is complete.
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // The process ends either way; a file that cannot be removed has a name that says what it is.
        let _ = std::fs::remove_file(path);
    }
    if signal == signal_hook::consts::SIGBUS {
        output::say(
            "a file became shorter while it was read; replace files by renaming, or use --no-mmap",
        );
        signal_hook::low_level::exit(EXIT_FAILURE.into());
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
