//! Messages to the user, and the words in them.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use simidx::index::QueryStats;

/// Prints a message to stderr. A stderr that cannot be written to is no reason to stop.
pub(crate) fn say(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "simidx: {message}");
}

/// Says that some documents of an input are near to nothing but their equals.
pub(crate) fn say_without_features(count: u64) {
    if count > 0 {
        let documents = counted(count, "document");
        say(format_args!(
            "no features in {documents}: only equal ones are near each other"
        ));
    }
}

/// Says that some queries are documents that nothing can be near to.
pub(crate) fn say_nothing_near(count: u64) {
    if count > 0 {
        let documents = counted(count, "document");
        say(format_args!(
            "no features in {documents}, so nothing is found"
        ));
    }
}

/// A number of things with their name in the singular or plural, as in `1 query` and `2 queries`.
pub(crate) fn counted(count: u64, name: &str) -> String {
    match (count, name.strip_suffix('y')) {
        (1, _) => format!("1 {name}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {name}s"),
    }
}

/// What queries cost, in words.
pub(crate) fn cost(stats: QueryStats) -> String {
    let probes = counted(stats.probes, "probe");
    let blocks = counted(stats.blocks, "block");
    let candidates = counted(stats.candidates, "candidate");
    format!("{probes}, {blocks}, {candidates}")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let shown = [(0, "record"), (1, "record"), (1, "query"), (2, "query")];
        let shown = shown.map(|(count, name)| counted(count, name));
        assert_eq!(shown, ["0 records", "1 record", "1 query", "2 queries"]);
    }
}
