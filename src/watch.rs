//! Progress and cancellation of long work.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::{Error, Result};

/// A stage of long work.
///
/// ```
/// use simidx::watch::Stage;
///
/// let words = |stage| match stage {
///     Stage::SortTable(table) => format!("sorting table {table}"),
///     Stage::EncodeTable(table) => format!("encoding table {table}"),
///     other => other.name().to_owned(),
/// };
/// assert_eq!(words(Stage::EncodeTable(1)), "encoding table 1");
/// assert_eq!(words(Stage::WriteIds), "write ids");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// A build sorts the records in memory by fingerprint and id.
    SortRecords,
    /// A merge in which the newest record of an id wins compares the ids of all segments.
    CompareIds,
    /// Records that did not fit in memory, or those of all segments of a merge, are merged in order.
    MergeRecords,
    /// A table is permuted and sorted.
    SortTable(usize),
    /// The values of a table that did not fit in memory are merged in order.
    MergeTable(usize),
    /// The values of a table are counted to choose the best code.
    ChooseCode(usize),
    /// A table is encoded and written.
    EncodeTable(usize),
    /// String ids are sorted.
    SortIds,
    /// The ids are written.
    WriteIds,
    /// Blocks and pages are loaded and checked; the work is counted in bytes.
    Warm,
    /// A full check decodes a table; the work is counted in parts of the file.
    CheckTable(usize),
    /// A full check reads the ids.
    CheckIds,
    /// A full check compares a table with table 0.
    CompareTable(usize),
    /// Queries are answered.
    Query,
    /// A set is searched for fingerprints near many queries; the work is counted in parts.
    Search,
    /// Fingerprints or texts are compared with each other.
    Compare,
    /// Files of a collection are copied; the work is counted in files.
    Copy,
}

impl Stage {
    /// Returns the stage in words, without the number of the table.
    pub fn name(self) -> &'static str {
        match self {
            Stage::SortRecords | Stage::MergeRecords => "sort",
            Stage::CompareIds => "compare ids",
            Stage::SortTable(_) | Stage::MergeTable(_) => "sort table",
            Stage::ChooseCode(_) => "choose code",
            Stage::EncodeTable(_) => "encode table",
            Stage::SortIds => "sort ids",
            Stage::WriteIds => "write ids",
            Stage::Warm => "warm",
            Stage::CheckTable(_) | Stage::CheckIds | Stage::CompareTable(_) => "verify",
            Stage::Query => "query",
            Stage::Search => "search",
            Stage::Compare => "compare",
            Stage::Copy => "copy",
        }
    }
}

/// The progress of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// The amount of work done in this stage: records, values, queries or other items.
    pub done: u64,
    /// The total amount of work in this stage; 0 if it is unknown.
    pub total: u64,
    /// Bytes of an index written so far; 0 for work that does not write one.
    pub written: u64,
}

/// A function that is called with the progress of long work and may stop it. Cheap to clone.
///
/// All long work takes one of these, in its options or as an argument. The function is called at the start of each
/// stage and many times during it, by one thread at a time. If it returns [`ControlFlow::Break`], the work soon ends
/// with [`Error::Interrupted`].
///
/// ```
/// use std::ops::ControlFlow;
/// use simidx::watch::Watch;
/// use simidx::{BuildOptions, Error, IndexBuilder, Width};
///
/// let watch = Watch::new(|progress| {
///     println!("{}: {} of {}", progress.stage.name(), progress.done, progress.total);
///     match progress.written > 1 << 30 {
///         true => ControlFlow::Break(()),
///         false => ControlFlow::Continue(()),
///     }
/// });
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default().watch(watch))?;
/// builder.push(42_u64)?;
/// builder.finish(std::io::sink())?;
///
/// let stopped = Watch::new(|_| ControlFlow::Break(()));
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default().watch(stopped))?;
/// builder.push(42_u64)?;
/// assert!(matches!(builder.finish(std::io::sink()), Err(Error::Interrupted)));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Watch {
    call: Option<Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>>,
}

impl Watch {
    /// Creates a watch that calls this function. [`Watch::default`] calls none.
    pub fn new(call: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Watch {
            call: Some(Arc::new(call)),
        }
    }

    /// Reports the progress of the work.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the work must stop.
    pub fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()> {
        self.forward(Progress {
            stage,
            done,
            total,
            written: 0,
        })
    }

    /// Reports the progress that another watch was called with.
    ///
    /// # Errors
    /// The errors of [`Watch::report`].
    pub fn forward(&self, progress: Progress) -> Result<()> {
        match &self.call {
            Some(call) if call(progress).is_break() => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.call {
            Some(_) => "Watch(function)",
            None => "Watch(none)",
        })
    }
}

/// The progress of work that writes an index.
pub(crate) struct Reporter {
    watch: Watch,
    progress: Progress,
}

impl Reporter {
    pub(crate) fn new(watch: Watch) -> Self {
        Reporter {
            watch,
            progress: Progress {
                stage: Stage::SortRecords,
                done: 0,
                total: 0,
                written: 0,
            },
        }
    }

    pub(crate) fn begin(&mut self, stage: Stage, total: u64) -> Result<()> {
        self.progress = Progress {
            stage,
            done: 0,
            total,
            ..self.progress
        };
        self.watch.forward(self.progress)
    }

    pub(crate) fn advance(&mut self, count: u64) -> Result<()> {
        self.progress.done += count;
        self.watch.forward(self.progress)
    }

    /// Records the length of the file so far.
    pub(crate) fn written(&mut self, bytes: u64) {
        self.progress.written = bytes;
    }
}
