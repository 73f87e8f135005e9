//! The progress of a build.

/// A step of a build.
///
/// ```
/// use simidx::builder::BuildStage;
///
/// let words = |stage| match stage {
///     BuildStage::SortTable(table) => format!("sorting table {table}"),
///     BuildStage::EncodeTable(table) => format!("encoding table {table}"),
///     _ => "working".to_owned(),
/// };
/// assert_eq!(words(BuildStage::EncodeTable(1)), "encoding table 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildStage {
    /// The records that are in memory are sorted by fingerprint and id.
    SortRecords,
    /// The ids of all segments are compared, in a merge in which the newest record of an id wins.
    CompareIds,
    /// Records that did not fit in memory, or in a merge those of all segments, are merged in order, and their ids are set aside.
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
}

impl BuildStage {
    /// The stage in words, without the number of the table.
    ///
    /// ```
    /// use simidx::builder::BuildStage;
    ///
    /// assert_eq!(BuildStage::EncodeTable(1).name(), "encode table");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            BuildStage::SortRecords | BuildStage::MergeRecords => "sort",
            BuildStage::CompareIds => "compare ids",
            BuildStage::SortTable(_) | BuildStage::MergeTable(_) => "sort table",
            BuildStage::ChooseCode(_) => "choose code",
            BuildStage::EncodeTable(_) => "encode table",
            BuildStage::SortIds => "sort ids",
            BuildStage::WriteIds => "write ids",
        }
    }
}

/// The progress of a build, reported as each stage begins and many times during it.
///
/// ```
/// use simidx::builder::BuildStage;
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// for fingerprint in 0..1000_u64 {
///     builder.push(fingerprint)?;
/// }
/// let (mut file, mut encoded) = (Vec::new(), 0);
/// builder.finish_with(&mut file, |progress| {
///     if progress.stage == BuildStage::EncodeTable(0) {
///         encoded = progress.done;
///     }
/// })?;
/// assert_eq!(encoded, 1000);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildProgress {
    /// The stage under way.
    pub stage: BuildStage,
    /// Records, or values of a table, that are finished. A sort in memory finishes all at once.
    pub done: u64,
    /// How many there are in this stage.
    pub total: u64,
    /// Bytes of the index that have been handed to its output.
    pub written: u64,
}

/// Reports the progress of a build to its caller.
pub(crate) struct Reporter<'a> {
    tell: &'a mut dyn FnMut(BuildProgress),
    progress: BuildProgress,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(tell: &'a mut dyn FnMut(BuildProgress)) -> Self {
        Reporter {
            tell,
            progress: BuildProgress {
                stage: BuildStage::SortRecords,
                done: 0,
                total: 0,
                written: 0,
            },
        }
    }

    pub(crate) fn begin(&mut self, stage: BuildStage, total: u64) {
        self.progress = BuildProgress {
            stage,
            done: 0,
            total,
            ..self.progress
        };
        (self.tell)(self.progress);
    }

    pub(crate) fn advance(&mut self, count: u64) {
        self.progress.done += count;
        (self.tell)(self.progress);
    }

    /// Says how long the file is by now.
    pub(crate) fn written(&mut self, bytes: u64) {
        self.progress.written = bytes;
    }
}
