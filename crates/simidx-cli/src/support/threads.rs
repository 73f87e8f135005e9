//! The threads of the process.

use crate::support::failure::Failure;

/// Starts the threads that the whole process shares; 0 for all cores.
///
/// To be called once, before a file is opened: large files are opened on these threads, and what needs them first would start
/// as many as there are cores.
///
/// # Errors
/// The system gives no more threads.
pub(crate) fn start_threads(count: u16) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count.into())
        .build_global()
        .map_err(|error| {
            let message = format!("cannot start the threads: {error}; use fewer by --threads");
            Failure::new(message)
        })
}
