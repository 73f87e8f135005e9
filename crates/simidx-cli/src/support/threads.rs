//! The threads of the process.

use rayon::ThreadPoolBuilder;

use crate::support::failure::Failure;

/// Starts the threads that the whole process shares: as many as `--threads` says, where 0 is all cores. A command without
/// this option gets none: it does all work on the thread that it runs on.
///
/// To be called once, before a file is opened: large files are opened on these threads, and what needs them first would start
/// as many as there are cores.
///
/// # Errors
/// The system gives no more threads.
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
