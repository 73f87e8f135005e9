//! Options of creating and opening a collection.

use std::time::Duration;

use crate::error::{Error, Result};

/// When a change is acknowledged.
///
/// ```
/// use simidx_collection::{Options, Sync};
///
/// let mut options = Options::default();
/// assert_eq!(options.sync, Sync::Always);
/// options.sync = Sync::Batch;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sync {
    /// When it is on disk. Changes of several threads share one write.
    #[default]
    Always,
    /// At once; it is on disk after [`Options::batch_interval`] and one commit. If changes come faster than the disk
    /// takes them, up to 65,536 wait. A crash of the process or of the machine loses those that wait.
    Batch,
    /// At once; it is on disk when its records are sealed, by [`Collection::sync`](crate::Collection::sync), or when
    /// the collection is closed. A crash loses all later changes.
    Never,
}

/// Options of creating and opening a collection. Start from [`Options::default`] and set what differs.
///
/// ```
/// use simidx_collection::Options;
///
/// let options = Options::default().max_distance(6).seal_records(50_000);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The distance k within which [`Collection::add`](crate::Collection::add) searches for near-duplicates, 0 to 12.
    /// It is fixed when the collection is created; opening ignores it. Default 3.
    pub max_distance: u32,
    /// The text pipeline that produces the fingerprints, one line, to be stored. It is fixed when the collection is
    /// created; opening ignores it. Default none.
    pub pipeline: Option<String>,
    /// When a change is acknowledged. Default [`Sync::Always`].
    pub sync: Sync,
    /// With [`Sync::Batch`], how long a change waits to be written together with others. Default 100 ms.
    pub batch_interval: Duration,
    /// The number of records in memory at which they are sealed into a segment, unless [`Options::seal_bytes`] is
    /// reached first. Default 100,000.
    pub seal_records: usize,
    /// The bytes of ids and fingerprints in memory at which they are sealed into a segment. Default 64 MiB.
    pub seal_bytes: usize,
    /// Whether segments are sealed and merged in the background. Otherwise
    /// [`Collection::seal`](crate::Collection::seal) and [`Collection::merge`](crate::Collection::merge) do it. Default
    /// true.
    pub background: bool,
    /// Number of threads that build and merge segments. Default 1, which leaves the other cores to queries.
    pub threads: usize,
    /// Whether adding an id with another fingerprint replaces its record; otherwise it is refused. Default true.
    pub replace: bool,
}

simidx::setters!(Options {
    max_distance(u32)
    pipeline(Some(impl Into<String>))
    sync(Sync)
    batch_interval(Duration)
    seal_records(usize)
    seal_bytes(usize)
    background(bool)
    threads(usize)
    replace(bool)
});

impl Default for Options {
    fn default() -> Self {
        Options {
            max_distance: 3,
            pipeline: None,
            sync: Sync::Always,
            batch_interval: Duration::from_millis(100),
            seal_records: 100_000,
            seal_bytes: 64 << 20,
            background: true,
            threads: 1,
            replace: true,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        if self.max_distance > simidx::design::MAX_DISTANCE {
            let limit = simidx::design::MAX_DISTANCE;
            let message = format!("the distance is at most {limit}, not {}", self.max_distance);
            return Err(Error::Options(message));
        }
        if self.seal_records == 0 || self.seal_bytes == 0 || self.threads == 0 {
            let message = "seal_records, seal_bytes and threads are at least 1";
            return Err(Error::Options(message.to_owned()));
        }
        let is_plain = |text: &String| !text.is_empty() && !text.chars().any(char::is_control);
        if !self.pipeline.as_ref().is_none_or(is_plain) {
            let message = "a pipeline description is one line without control characters";
            return Err(Error::Options(message.to_owned()));
        }
        Ok(())
    }
}
