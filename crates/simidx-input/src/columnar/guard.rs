//! Guards calls of libraries that may panic on damaged files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a guarded call, in which a panic is an error of the file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Suppresses the messages of panics in guarded calls. All other panics go to the previous hook.
fn silence_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
}

/// Returns the result of a call, or `None` if it panicked because of a damaged file.
pub(super) fn guarded_call<T>(call: impl FnOnce() -> T) -> Option<T> {
    silence_guarded_panics();
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    result.ok()
}
