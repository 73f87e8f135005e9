//! JSON as the program prints it, in the style that the user asked for.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use simidx_output::JsonStyle;

/// Set once, before anything is printed.
static STRINGS: AtomicBool = AtomicBool::new(false);

/// From now on ids that are numbers are printed as strings, and so are other numbers that a floating-point number would
/// round.
pub(crate) fn use_strings() {
    STRINGS.store(true, Ordering::Relaxed);
}

/// The style that the user asked for.
pub(crate) fn json_style() -> JsonStyle {
    JsonStyle {
        strings: STRINGS.load(Ordering::Relaxed),
    }
}

/// Writes a value.
///
/// # Errors
/// What `out` reports.
pub(crate) fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    json_style().write(out, value)
}

/// A value to be printed with others.
pub(crate) struct Json<'a, T>(pub(crate) &'a T);

impl<T: Serialize> fmt::Display for Json<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        write_json(&mut bytes, self.0).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}
