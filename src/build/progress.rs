//! How far a build is.

/// A step of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildStage {
    /// The records that are in memory are sorted by fingerprint and id.
    SortRecords,
    /// Records that did not fit memory come together in order, and their ids are set aside.
    MergeRecords,
    /// A table is permuted and sorted.
    SortTable(usize),
    /// The values of a table that did not fit memory come together in order.
    MergeTable(usize),
    /// The values of a table are looked through for the best code.
    ChooseCode(usize),
    /// A table is encoded and written.
    EncodeTable(usize),
    /// The ids are written.
    WriteIds,
}

/// How far a build is, told as each stage begins and many times while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildProgress {
    /// The stage under way.
    pub stage: BuildStage,
    /// Records, or values of a table, that are done with. A sort in memory is done with all at once.
    pub done: u64,
    /// How many there are in this stage.
    pub total: u64,
    /// Bytes of the index that have been handed to its output.
    pub written: u64,
}

/// Tells the caller of a build how far it is.
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
