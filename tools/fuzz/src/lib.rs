//! The operations of the fuzz targets; each target is a file in `fuzz_targets`.

pub mod ask;
pub mod blocks;
mod documents;
pub mod inputs;
pub mod oracle;
pub mod requests;
pub mod round_trip;
pub mod sets;

/// Lets the thread that calls do the work of all: a run then waits for no other, and always does the same.
pub fn start() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let started = pool.use_current_thread().build_global();
    started.expect("no other pool has been started");
}
