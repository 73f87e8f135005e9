//! What the log says when a part of the store fails, and when it recovers.

use std::sync::Arc;
use std::time::Duration;

use simidx_collection::CollectionStats;
use tokio::sync::watch;

use crate::connection::told;
use crate::log::{Level, Log};
use crate::state::App;

/// How often the store is looked at. What fails is tried again after a second at the earliest, so no failure is missed.
const PERIOD: Duration = Duration::from_millis(250);

/// The parts of a store that have failed, as the log has said.
#[derive(Debug, Default)]
struct Health {
    failed: [bool; 3],
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
enum Said<'s> {
    /// It failed, and why.
    Failed(&'static str, &'s str),
    Recovered(&'static str),
}

impl Health {
    /// What has changed since the last time.
    fn changes<'s>(&mut self, stats: &'s CollectionStats) -> Vec<Said<'s>> {
        let parts = [
            (
                "store-journal-failed",
                "store-journal-recovered",
                &stats.journal_error,
            ),
            (
                "store-seal-failed",
                "store-seal-recovered",
                &stats.seal_error,
            ),
            (
                "store-merge-failed",
                "store-merge-recovered",
                &stats.merge_error,
            ),
        ];
        let mut said = Vec::new();
        for (was_failed, (failed, recovered, error)) in self.failed.iter_mut().zip(parts) {
            match (*was_failed, error) {
                (false, Some(error)) => said.push(Said::Failed(failed, error)),
                (true, None) => said.push(Said::Recovered(recovered)),
                _ => {}
            }
            *was_failed = error.is_some();
        }
        said
    }
}

impl Said<'_> {
    /// How bad it is. A log that has a failure has its end too.
    fn level(&self) -> Level {
        match self {
            Said::Failed("store-journal-failed", _) => Level::Error,
            // It is tried again.
            Said::Failed(..) | Said::Recovered(_) => Level::Warn,
        }
    }
}

fn say(log: &Log, said: &Said<'_>) {
    let (event, fields) = match said {
        Said::Failed(event, error) => (event, vec![("error", *error)]),
        Said::Recovered(event) => (event, Vec::new()),
    };
    match said.level() {
        Level::Info => log.info(event, &fields),
        Level::Warn => log.warn(event, &fields),
        Level::Error => log.error(event, &fields),
    }
}

/// Looks at the store every so often, until the server is told to end.
pub(crate) async fn watch(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let Some((_, store)) = &app.store else { return };
    let mut health = Health::default();
    loop {
        for said in health.changes(&store.stats()) {
            say(&app.log, &said);
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = told(&mut stop) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_and_its_end_are_said_once() {
        let mut health = Health::default();
        let mut stats = CollectionStats::default();
        assert_eq!(health.changes(&stats), []);
        stats.seal_error = Some("no room".to_owned());
        stats.journal_error = Some("no disk".to_owned());
        assert_eq!(
            health.changes(&stats),
            [
                Said::Failed("store-journal-failed", "no disk"),
                Said::Failed("store-seal-failed", "no room"),
            ]
        );
        assert_eq!(health.changes(&stats), []);
        stats.seal_error = None;
        stats.merge_error = Some("no room".to_owned());
        assert_eq!(
            health.changes(&stats),
            [
                Said::Recovered("store-seal-recovered"),
                Said::Failed("store-merge-failed", "no room"),
            ]
        );
    }

    #[test]
    fn a_quiet_log_has_the_end_of_a_failure_too() {
        let said = [
            Said::Failed("store-journal-failed", "no disk"),
            Said::Failed("store-seal-failed", "no room"),
            Said::Recovered("store-seal-recovered"),
        ];
        let levels = said.map(|said| said.level());
        assert_eq!(levels, [Level::Error, Level::Warn, Level::Warn]);
    }
}
