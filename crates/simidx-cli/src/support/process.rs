//! The process: its memory, its threads, and the signals that end it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::Once;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::ThreadPoolBuilder;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::EXIT_FAILURE;
use crate::support::failure::Failure;
use crate::support::messages;

/// The memory limit in bytes if the memory of the machine is unknown.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// Returns half of the memory of the machine, or of the limit of the control group if that is smaller.
pub(crate) fn default_memory() -> u64 {
    total().unwrap_or(2 * UNKNOWN_MACHINE) / 2
}

#[cfg(target_os = "linux")]
fn total() -> Option<u64> {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).checked_mul(system.mem_unit.into())?;
    Some(machine.min(control_group().unwrap_or(u64::MAX)))
}

/// Returns the smallest limit of the control group (version 2) of this process and its ancestors, if there is one.
#[cfg(target_os = "linux")]
fn control_group() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limits = std::path::Path::new(own).ancestors().filter_map(|group| {
        let file = std::path::Path::new("/sys/fs/cgroup")
            .join(group)
            .join("memory.max");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    limits.min()
}

#[cfg(not(target_os = "linux"))]
fn total() -> Option<u64> {
    None
}

/// Makes the allocator return large buffers to the system when they are dropped. By default, the GNU allocator takes
/// the first large frees as a sign that more will follow, and keeps the memory between them: twice the memory in use.
/// Smaller ones, of which most work has many, are not returned one by one.
pub(crate) fn return_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(
            unsafe_code,
            reason = "the standard library has no setting of its allocator"
        )]
        // SAFETY: the calls change numbers inside the allocator and take no pointers. `main` makes them before it starts
        // any thread, which might allocate meanwhile.
        unsafe {
            // An allocation of a mebibyte gets its own mapping.
            libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 4 << 20);
        }
    }
}

/// Returns the largest resident set of this process so far, in bytes; `None` if the system does not report it.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Starts the threads that the whole process shares, `--threads` or, for 0, one for each core. A command without this
/// option gets none: it does all work on its own thread.
///
/// Must be called once, before a file is opened: large files are opened on these threads, and the first use would
/// otherwise start one thread for each core.
///
/// # Errors
/// The system permits no further threads.
pub(crate) fn start_threads(count: Option<u16>) -> Result<(), Failure> {
    let (pool, way_out) = match count {
        Some(count) => (
            ThreadPoolBuilder::new().num_threads(count.into()),
            "; use fewer by --threads",
        ),
        None => (
            ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
            "",
        ),
    };
    pool.build_global().map_err(|error| {
        let message = format!("cannot start the threads: {error}{way_out}");
        Failure::new(message)
    })
}

/// The outputs that are being written, under their temporary names.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// While this value lives, a signal that ends the program removes the file first.
#[derive(Debug)]
pub(crate) struct RemoveOnSignal(PathBuf);

impl RemoveOnSignal {
    /// Protects a file that `create` makes; `path_of` returns its path. A signal that arrives meanwhile waits for it.
    ///
    /// # Errors
    /// The signal handlers cannot be installed, or any error of `create`.
    pub(crate) fn create<T, E: From<io::Error>>(
        create: impl FnOnce() -> Result<T, E>,
        path_of: impl FnOnce(&T) -> &Path,
    ) -> Result<(T, Self), E> {
        expect_signals()?;
        let mut unfinished = unfinished();
        let created = create()?;
        let path = path_of(&created).to_owned();
        unfinished.insert(path.clone());
        Ok((created, RemoveOnSignal(path)))
    }
}

impl Drop for RemoveOnSignal {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

/// Lets `work` rename finished outputs. A signal that arrives meanwhile waits.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _unfinished = unfinished();
    work()
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that end a command: from people, from the system, and from schedulers of jobs.
#[cfg(unix)]
const ENDING: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU];

/// Starts, once, the thread that waits for the signals that end a command, and on Linux for SIGBUS. From then on a file
/// beyond the limit of the process is an error like a full disk, and not a signal.
///
/// # Errors
/// The signal handlers cannot be installed.
pub(crate) fn expect_signals() -> io::Result<()> {
    #[cfg(unix)]
    {
        let ignored = ignored_signals();
        let is_heeded = |signal: &i32| {
            // A script starts background jobs with SIGINT ignored, and may end them by it all the same.
            [SIGINT, SIGTERM].contains(signal) || ignored & (1 << (signal - 1)) == 0
        };
        let heeded: Vec<i32> = ENDING.into_iter().filter(is_heeded).collect();
        expect(&heeded)?;
    }
    Ok(())
}

/// Returns the signals, a bit for each, that the process was started to ignore, as `nohup` and job scripts want it.
/// Outside Linux this is not known.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.unwrap_or_default()
}

/// Starts the thread that waits only for SIGBUS, on Linux. The command handles the other signals itself.
///
/// # Errors
/// The signal handlers cannot be installed.
#[cfg(feature = "serve")]
pub(crate) fn expect_lost_pages() -> io::Result<()> {
    #[cfg(unix)]
    expect(&[])?;
    Ok(())
}

/// Ignores SIGHUP from now on. Before files are open, a request to reload has no effect.
///
/// # Errors
/// The signal handler cannot be installed.
#[cfg(feature = "serve")]
pub(crate) fn survive_hangups() -> io::Result<()> {
    #[cfg(unix)]
    signal_hook::flag::register(SIGHUP, Arc::default())?;
    Ok(())
}

#[cfg(unix)]
fn expect(which: &[i32]) -> io::Result<()> {
    use signal_hook::iterator::Signals;

    static STARTED: Once = Once::new();
    let mut result = Ok(());
    STARTED.call_once(|| match Signals::new(which) {
        Err(error) => result = Err(error),
        Ok(mut signals) => {
            let expected = signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop);
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            let expected = expected.and_then(|()| lost_pages::expect(&signals.handle()));
            result = expected;
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    remove_and_die(signal);
                }
            });
        }
    });
    result
}

/// SIGBUS: a missing page of a mapped file, because the file became shorter or its disk failed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod lost_pages {
    use std::io;

    use signal_hook::consts::SIGBUS;
    use signal_hook::iterator::Handle;

    /// Notifies the thread that waits for signals, and pauses the threads that receive SIGBUS, because they would
    /// receive it again immediately.
    pub(crate) fn expect(waiting: &Handle) -> io::Result<()> {
        #[expect(unsafe_code, reason = "the standard library has no such call")]
        // SAFETY: a handler is only removed, not installed. The handler of the standard library, which detects stack
        // overflows by other signals here, would leave the signal to the system after the first thread, and end the
        // process at the second.
        unsafe {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
        waiting.add_signal(SIGBUS)?;
        let stay = || loop {
            #[expect(unsafe_code, reason = "the standard library has no such call")]
            // SAFETY: the call uses neither memory nor locks, and is async-signal-safe.
            unsafe {
                libc::pause();
            }
        };
        #[expect(
            unsafe_code,
            reason = "what runs in a signal handler must be fit for it"
        )]
        // SAFETY: the handler only makes an async-signal-safe call. Handlers run in the order of their registration, so
        // the waiting thread has already been notified.
        unsafe { signal_hook::low_level::register(SIGBUS, stay) }.map(drop)
    }

    pub(crate) fn is_it(signal: i32) -> bool {
        signal == SIGBUS
    }
}

/// Removes the unfinished outputs and ends the process like the signal, with a message if a file became shorter.
#[cfg(unix)]
fn remove_and_die(signal: i32) {
    // The lock remains held, so that no further output is started, and none appears from which a part was removed.
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // The process ends in any case. A file that cannot be removed has a name that identifies it as temporary.
        let _ = std::fs::remove_file(path);
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if lost_pages::is_it(signal) {
        // No thread holds the lock of stderr while it waits for a page, because messages are written from memory.
        messages::say(
            "a mapped file could not be read: it was truncated, or its disk failed; replace files by renaming, or use --no-mmap",
        );
        signal_hook::low_level::exit(EXIT_FAILURE.into());
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_part_of_some_machine() {
        assert!(default_memory() >= 64 << 20);
        if cfg!(target_os = "linux") {
            let bytes = vec![1u8; 50 << 20];
            assert!(peak_memory().unwrap() >= std::hint::black_box(bytes).len() as u64);
        }
    }
}
