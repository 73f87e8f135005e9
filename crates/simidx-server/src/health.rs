//! What the log says when a part of the store fails, and when it recovers.

use std::sync::Arc;
use std::time::Duration;

use simidx_collection::CollectionStats;
use tokio::sync::watch;

use crate::handle::stopped;
use crate::state::App;

/// How often the store is looked at. What fails is tried again after a second at the earliest, so no failure is missed.
const PERIOD: Duration = Duration::from_millis(250);

/// The parts of a store that can fail, and why each of them does.
pub(crate) fn parts(stats: &CollectionStats) -> [(&'static str, Option<&str>); 3] {
    [
        ("journal", stats.journal_error.as_deref()),
        ("seal", stats.seal_error.as_deref()),
        ("merge", stats.merge_error.as_deref()),
    ]
}

/// A line of the log: its level, its event, and why a part failed.
type Line<'s> = (&'static str, String, Option<&'s str>);

/// The lines about what has changed since the last time, when these parts had failed.
fn changes<'s>(failed: &mut [bool; 3], stats: &'s CollectionStats) -> Vec<Line<'s>> {
    let mut lines = Vec::new();
    for (has_failed, (part, error)) in failed.iter_mut().zip(parts(stats)) {
        match (*has_failed, error) {
            (false, Some(_)) => {
                // The others are tried again.
                let level = if part == "journal" { "error" } else { "warn" };
                lines.push((level, format!("store-{part}-failed"), error));
            }
            // A log that has a failure has its end too.
            (true, None) => lines.push(("warn", format!("store-{part}-recovered"), None)),
            _ => {}
        }
        *has_failed = error.is_some();
    }
    lines
}

/// Looks at the store every so often, until the server ends.
pub(crate) async fn watch(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let Some(store) = &app.options.store else {
        return;
    };
    let mut failed = [false; 3];
    loop {
        for (level, event, error) in changes(&mut failed, &store.stats()) {
            let error = error.map(|error| ("error", error.into()));
            app.log.write(level, &event, error.as_slice());
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_and_its_end_are_said_once_and_in_a_quiet_log_too() {
        let mut failed = [false; 3];
        let mut stats = CollectionStats::default();
        assert_eq!(changes(&mut failed, &stats), []);
        stats.seal_error = Some("no room".to_owned());
        stats.journal_error = Some("no disk".to_owned());
        assert_eq!(
            changes(&mut failed, &stats),
            [
                ("error", "store-journal-failed".to_owned(), Some("no disk")),
                ("warn", "store-seal-failed".to_owned(), Some("no room")),
            ]
        );
        assert_eq!(changes(&mut failed, &stats), []);
        stats.seal_error = None;
        stats.merge_error = Some("no room".to_owned());
        assert_eq!(
            changes(&mut failed, &stats),
            [
                ("warn", "store-seal-recovered".to_owned(), None),
                ("warn", "store-merge-failed".to_owned(), Some("no room")),
            ]
        );
    }
}
