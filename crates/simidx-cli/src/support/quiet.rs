//! `--quiet`: no progress and no summary. Results, warnings and errors stay.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set once, before the command runs.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on no summary is printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether summaries are left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}
