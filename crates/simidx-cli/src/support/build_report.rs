//! Progress, timing and final report of the commands that write an index.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use simidx::watch::{Progress, Stage};
use simidx::{ByteSize, Watch};

use crate::support::output::{Report, row};
use crate::support::process::peak_memory;
use crate::support::progress::ProgressMode;
use crate::support::report::{self, FileReport};

/// The times of the stages of a build, and its progress bar.
pub(crate) struct Stages {
    state: Arc<Mutex<State>>,
}

impl Stages {
    pub(crate) fn start(mode: ProgressMode) -> Self {
        let now = Instant::now();
        let state = State {
            mode,
            bar: ProgressBar::hidden(),
            begun: now,
            last: now,
            stage: None,
            is_reading: true,
            seconds: STAGES.map(|name| (name, 0.0)),
        };
        Stages {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Returns the watch of the build.
    pub(crate) fn watch(&self) -> Watch {
        let state = Arc::clone(&self.state);
        Watch::new(move |progress| {
            lock(&state).show(&progress);
            ControlFlow::Continue(())
        })
    }

    /// Adds the time until now to the current stage, and ends it.
    pub(crate) fn end_stage(&self) {
        lock(&self.state).end_stage();
    }

    /// Ends the last stage and removes the bar. Returns the seconds since the start, and the seconds of each stage.
    pub(crate) fn finish(self) -> (f64, StageSeconds) {
        let mut state = lock(&self.state);
        state.end_stage();
        state.bar.finish_and_clear();
        (state.begun.elapsed().as_secs_f64(), state.seconds)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stage_name(stage: Stage) -> String {
    match stage {
        Stage::SortRecords => "sorting the records".to_owned(),
        Stage::CompareIds => "comparing the ids".to_owned(),
        Stage::MergeRecords => "merging the records".to_owned(),
        Stage::SortTable(table) => format!("sorting table {table}"),
        Stage::MergeTable(table) => format!("merging table {table}"),
        Stage::ChooseCode(table) => format!("choosing a code for table {table}"),
        Stage::EncodeTable(table) => format!("encoding table {table}"),
        _ => "writing the ids".to_owned(),
    }
}

/// The progress of a build.
struct State {
    mode: ProgressMode,
    /// The bar of the current stage. Each stage has its own, so that rate and remaining time refer to the stage.
    bar: ProgressBar,
    begun: Instant,
    last: Instant,
    /// The current stage; `None` while the input is read, and after all data was passed to the output.
    stage: Option<Stage>,
    is_reading: bool,
    seconds: StageSeconds,
}

/// The stages that take time. Writing overlaps with the other stages; `write` is only its rest at the end.
const STAGES: [&str; 7] = [
    "read",
    "sort",
    "merge",
    "choose code",
    "encode",
    "ids",
    "write",
];

/// The seconds of each of [`STAGES`], summed over all tables.
type StageSeconds = [(&'static str, f64); STAGES.len()];

impl State {
    /// Records the progress of the current stage, or of the next one.
    fn show(&mut self, progress: &Progress) {
        let written = format!("{:.0}", ByteSize(progress.written));
        if self.stage != Some(progress.stage) {
            self.end_stage();
            self.stage = Some(progress.stage);
            self.bar.finish_and_clear();
            let name = stage_name(progress.stage);
            self.bar = self.mode.stage(name, progress.total, written);
        } else {
            self.bar.set_prefix(written);
        }
        self.bar.set_position(progress.done);
    }

    /// Adds the time since the last stage ended to the current stage.
    fn end_stage(&mut self) {
        let now = Instant::now();
        let ended = match self.stage.take() {
            None if self.is_reading => "read",
            None => "write",
            Some(Stage::SortRecords | Stage::SortTable(_)) => "sort",
            Some(Stage::CompareIds | Stage::MergeRecords | Stage::MergeTable(_)) => "merge",
            Some(Stage::ChooseCode(_)) => "choose code",
            Some(Stage::EncodeTable(_)) => "encode",
            Some(_) => "ids",
        };
        let mut stages = self.seconds.iter_mut();
        if let Some((_, seconds)) = stages.find(|(name, _)| *name == ended) {
            *seconds += (now - self.last).as_secs_f64();
        }
        self.is_reading = false;
        self.last = now;
    }
}

/// The report on a file that has just been written.
#[derive(Debug)]
pub(crate) struct BuildReport<'a> {
    index: FileReport<'a>,
    seconds: f64,
    stage_seconds: StageSeconds,
    memory_limit: u64,
    /// The largest resident set in bytes; `None` if the system does not report it.
    peak_memory: Option<u64>,
    /// Additional figures of this command, by their names.
    figures: Map<String, Value>,
    /// The rows of these figures for people.
    pub(crate) rows: Vec<(&'static str, String)>,
}

impl<'a> BuildReport<'a> {
    /// Creates the report on a file with these figures.
    pub(crate) fn new(index: FileReport<'a>, stages: Stages, memory_limit: u64) -> Self {
        let (seconds, stage_seconds) = stages.finish();
        BuildReport {
            index,
            seconds,
            stage_seconds,
            memory_limit,
            peak_memory: peak_memory(),
            figures: Map::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a figure.
    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.figures.insert(name.to_owned(), value.into());
    }

    /// Adds a count, with a row if it is not 0.
    pub(crate) fn add(&mut self, name: &str, label: &'static str, count: u64, note: &str) {
        self.note(name, count);
        if count > 0 {
            self.rows.push((label, format!("{count}{note}")));
        }
    }
}

impl Report for BuildReport<'_> {
    fn to_json(&self) -> Value {
        let stages = self.stage_seconds.iter();
        let stages = stages.map(|(name, seconds)| (name.replace(' ', "_"), json!(seconds)));
        let mut figures = self.index.to_json();
        figures["seconds"] = self.seconds.into();
        figures["stage_seconds"] = stages.collect::<Map<_, _>>().into();
        figures["memory_limit_bytes"] = self.memory_limit.into();
        figures["peak_memory_bytes"] = self.peak_memory.into();
        for (name, value) in &self.figures {
            figures[name] = value.clone();
        }
        figures
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_size = |label: &str| !["content id", "metadata", "pipeline"].contains(&label);
        let sizes = report::rows(&self.index.to_json());
        let sizes = sizes.iter().filter(|(label, _)| is_size(label));
        for (label, value) in sizes.chain(&self.rows) {
            row(out, label, value)?;
        }
        if let Some(peak) = self.peak_memory {
            let (peak, limit) = (ByteSize(peak), ByteSize(self.memory_limit));
            row(out, "memory", format_args!("{peak}, the limit was {limit}"))?;
        }
        let stages = self.stage_seconds;
        let stages = stages.map(|(name, seconds)| format!("{name} {seconds:.2}"));
        let (seconds, stages) = (self.seconds, stages.join(", "));
        row(out, "time", format_args!("{seconds:.2} s ({stages})"))
    }
}
