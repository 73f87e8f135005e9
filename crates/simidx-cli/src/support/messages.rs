//! Messages to the user, and formatting for them.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use simidx::index::QueryStats;
pub(crate) use simidx_output::page::plural as counted;

/// Prints a message to stderr. The program continues even if stderr cannot be written to.
pub(crate) fn say(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "simidx: {message}");
}

/// Reports that some documents of an input are left out.
pub(crate) fn say_without_features(count: u64) {
    if count > 0 {
        let documents = counted(count, "document");
        say(format_args!("no features in {documents}: left out"));
    }
}

/// Reports that some queries are documents that cannot be near to any other.
pub(crate) fn say_nothing_near(count: u64) {
    if count > 0 {
        let documents = counted(count, "document");
        say(format_args!(
            "no features in {documents}, so nothing is found"
        ));
    }
}

/// Formats the cost of queries.
pub(crate) fn cost(stats: QueryStats) -> String {
    let probes = counted(stats.probes, "probe");
    let blocks = counted(stats.blocks, "block");
    let candidates = counted(stats.candidates, "candidate");
    format!("{probes}, {blocks}, {candidates}")
}

/// Set once, before the command runs.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses summaries from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether summaries are suppressed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_noun() {
        let shown = [(0, "record"), (1, "record"), (1, "query"), (2, "query")];
        let shown = shown.map(|(count, name)| counted(count, name));
        assert_eq!(shown, ["0 records", "1 record", "1 query", "2 queries"]);
        assert_eq!(counted(2, "match"), "2 matches");
    }
}
