//! Logs when a part of the store fails, and when it recovers.

use std::sync::Arc;
use std::time::Duration;

use simidx_collection::CollectionStats;
use tokio::sync::watch;

use crate::handle::stopped;
use crate::state::App;

/// Interval between checks of the store. Failed work is retried after at least a second, so every failure is noticed.
const PERIOD: Duration = Duration::from_millis(250);

/// The parts of a store that can fail, each with the reason of its failure.
pub(crate) fn parts(stats: &CollectionStats) -> [(&'static str, Option<&str>); 3] {
    [
        ("journal", stats.journal_error.as_deref()),
        ("seal", stats.seal_error.as_deref()),
        ("merge", stats.merge_error.as_deref()),
    ]
}

/// A log line: its level, its event, and the reason of a failure.
type Line<'s> = (&'static str, String, Option<&'s str>);

/// Returns the log lines for changes since the last check. `failed` holds which parts had failed then.
fn changes<'s>(failed: &mut [bool; 3], stats: &'s CollectionStats) -> Vec<Line<'s>> {
    let mut lines = Vec::new();
    for (has_failed, (part, error)) in failed.iter_mut().zip(parts(stats)) {
        match (*has_failed, error) {
            (false, Some(_)) => {
                // All parts but the journal retry.
                let level = if part == "journal" { "error" } else { "warn" };
                lines.push((level, format!("store-{part}-failed"), error));
            }
            // A logged failure also has its recovery logged.
            (true, None) => lines.push(("warn", format!("store-{part}-recovered"), None)),
            _ => {}
        }
        *has_failed = error.is_some();
    }
    lines
}

/// Checks the store periodically, until the server stops.
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
