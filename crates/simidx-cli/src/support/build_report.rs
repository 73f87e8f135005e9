//! Progress, timing and final report of the commands that write an index.

use std::io::{self, Write};
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;
use simidx::builder::{BuildProgress, BuildStage};

use crate::support::memory;
use crate::support::progress::ProgressMode;
use crate::support::quantity::Size;
use crate::support::report::Report;

/// The bar of a build: a new one for each stage, so that rate and time left are those of the stage.
pub(crate) struct StageBar {
    mode: ProgressMode,
    stage: Option<BuildStage>,
    bar: ProgressBar,
}

impl StageBar {
    pub(crate) fn new(mode: ProgressMode) -> Self {
        StageBar {
            mode,
            stage: None,
            bar: ProgressBar::hidden(),
        }
    }

    /// Shows how far the build is.
    pub(crate) fn show(&mut self, progress: &BuildProgress) {
        let written = Size(progress.written).short();
        if self.stage != Some(progress.stage) {
            self.bar.finish_and_clear();
            self.stage = Some(progress.stage);
            self.bar = self
                .mode
                .stage(stage_name(progress.stage), progress.total, written);
        } else {
            self.bar.set_prefix(written);
        }
        self.bar.set_position(progress.done);
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

fn stage_name(stage: BuildStage) -> String {
    match stage {
        BuildStage::SortRecords => "sorting the records".to_owned(),
        BuildStage::CompareIds => "comparing the ids".to_owned(),
        BuildStage::MergeRecords => "merging the records".to_owned(),
        BuildStage::SortTable(table) => format!("sorting table {table}"),
        BuildStage::MergeTable(table) => format!("merging table {table}"),
        BuildStage::ChooseCode(table) => format!("choosing the code of table {table}"),
        BuildStage::EncodeTable(table) => format!("encoding table {table}"),
        _ => "writing the ids".to_owned(),
    }
}

/// Measures the time of each stage of a build.
pub(crate) struct Clock {
    begun: Instant,
    last: Instant,
    /// The running stage; `None` while the input is read, and after everything was handed to the output.
    stage: Option<BuildStage>,
    is_reading: bool,
    stages: StageSeconds,
}

/// Seconds of each stage, those of all tables together. Writing overlaps with the other stages: `write` is what is left
/// of it at the end.
#[derive(Debug, Default, Serialize)]
pub(crate) struct StageSeconds {
    read: f64,
    sort: f64,
    merge: f64,
    choose_code: f64,
    encode: f64,
    ids: f64,
    write: f64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Clock {
            begun: now,
            last: now,
            stage: None,
            is_reading: true,
            stages: StageSeconds::default(),
        }
    }

    /// Notes that a stage is running, the same as before or the next.
    pub(crate) fn enter(&mut self, stage: BuildStage) {
        if self.stage != Some(stage) {
            self.end_stage();
            self.stage = Some(stage);
        }
    }

    /// Adds the time since the last stage ended to the running stage.
    pub(crate) fn end_stage(&mut self) {
        let now = Instant::now();
        let stages = &mut self.stages;
        let seconds = match self.stage.take() {
            None if self.is_reading => &mut stages.read,
            None => &mut stages.write,
            Some(BuildStage::SortRecords | BuildStage::SortTable(_)) => &mut stages.sort,
            Some(BuildStage::CompareIds | BuildStage::MergeRecords | BuildStage::MergeTable(_)) => {
                &mut stages.merge
            }
            Some(BuildStage::ChooseCode(_)) => &mut stages.choose_code,
            Some(BuildStage::EncodeTable(_)) => &mut stages.encode,
            Some(_) => &mut stages.ids,
        };
        *seconds += (now - self.last).as_secs_f64();
        self.is_reading = false;
        self.last = now;
    }

    pub(crate) fn total(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// The report at the end.
#[derive(Debug, Serialize)]
pub(crate) struct BuildReport {
    #[serde(flatten)]
    index: Report,
    seconds: f64,
    stage_seconds: StageSeconds,
    memory_limit_bytes: u64,
    /// Largest resident set, in bytes; `None` where the system does not report it.
    peak_memory_bytes: Option<u64>,
}

impl BuildReport {
    /// The figures of a file that has just been written, by its clock.
    pub(crate) fn new(index: Report, clock: Clock, memory_limit_bytes: u64) -> Self {
        BuildReport {
            index,
            seconds: clock.total(),
            stage_seconds: clock.stages,
            memory_limit_bytes,
            peak_memory_bytes: memory::peak(),
        }
    }

    /// Prints the figures of the index for a person.
    pub(crate) fn print_index(&self, out: &mut dyn Write) -> io::Result<()> {
        self.index.print(out)
    }

    /// Prints memory and time.
    pub(crate) fn print_cost(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(peak) = self.peak_memory_bytes {
            let (peak, limit) = (Size(peak), Size(self.memory_limit_bytes));
            writeln!(out, "{:<24}{peak}, the limit was {limit}", "memory")?;
        }
        let s = &self.stage_seconds;
        let stages = [
            ("read", s.read),
            ("sort", s.sort),
            ("merge", s.merge),
            ("choose code", s.choose_code),
            ("encode", s.encode),
            ("ids", s.ids),
            ("write", s.write),
        ];
        let stages = stages.map(|(name, seconds)| format!("{name} {seconds:.2}"));
        writeln!(
            out,
            "{:<24}{:.2} s ({})",
            "time",
            self.seconds,
            stages.join(", ")
        )
    }
}
