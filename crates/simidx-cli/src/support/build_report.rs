//! Progress, timing and final report of the commands that write an index.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;
use simidx::Watch;
use simidx::watch::{Progress, Stage};

use crate::support::output::row;
use crate::support::process::peak_memory;
use crate::support::progress::ProgressMode;
use crate::support::quantity::Size;
use crate::support::report::Report;

/// The time of each stage of a build, and its bar.
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
            seconds: StageSeconds::default(),
        };
        Stages {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The watch of the build.
    pub(crate) fn watch(&self) -> Watch {
        let state = Arc::clone(&self.state);
        Watch::new(move |progress| {
            lock(&state).show(&progress);
            ControlFlow::Continue(())
        })
    }

    /// Adds the time until now to the running stage, which ends.
    pub(crate) fn end_stage(&self) {
        lock(&self.state).end_stage();
    }

    /// Ends the last stage and takes the bar away. Returns the seconds since the start, and those of each stage.
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
        Stage::ChooseCode(table) => format!("choosing the code of table {table}"),
        Stage::EncodeTable(table) => format!("encoding table {table}"),
        _ => "writing the ids".to_owned(),
    }
}

/// How far a build is.
struct State {
    mode: ProgressMode,
    /// A new one for each stage, so that rate and time left are those of the stage.
    bar: ProgressBar,
    begun: Instant,
    last: Instant,
    /// The running stage; `None` while the input is read, and after everything was handed to the output.
    stage: Option<Stage>,
    is_reading: bool,
    seconds: StageSeconds,
}

/// Seconds of each stage, those of all tables together. Writing overlaps with the other stages: `write` is what is left
/// of it at the end.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct StageSeconds {
    read: f64,
    sort: f64,
    merge: f64,
    choose_code: f64,
    encode: f64,
    ids: f64,
    write: f64,
}

impl State {
    /// Notes how far the running stage is, the same as before or the next.
    fn show(&mut self, progress: &Progress) {
        let written = format!("{:.0}", Size(progress.written));
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

    /// Adds the time since the last stage ended to the running stage.
    fn end_stage(&mut self) {
        let now = Instant::now();
        let stages = &mut self.seconds;
        let seconds = match self.stage.take() {
            None if self.is_reading => &mut stages.read,
            None => &mut stages.write,
            Some(Stage::SortRecords | Stage::SortTable(_)) => &mut stages.sort,
            Some(Stage::CompareIds | Stage::MergeRecords | Stage::MergeTable(_)) => {
                &mut stages.merge
            }
            Some(Stage::ChooseCode(_)) => &mut stages.choose_code,
            Some(Stage::EncodeTable(_)) => &mut stages.encode,
            Some(_) => &mut stages.ids,
        };
        *seconds += (now - self.last).as_secs_f64();
        self.is_reading = false;
        self.last = now;
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
    /// The figures of a file that has just been written.
    pub(crate) fn new(index: Report, stages: Stages, memory_limit_bytes: u64) -> Self {
        let (seconds, stage_seconds) = stages.finish();
        BuildReport {
            index,
            seconds,
            stage_seconds,
            memory_limit_bytes,
            peak_memory_bytes: peak_memory(),
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
        let (seconds, stages) = (self.seconds, stages.join(", "));
        row(out, "time", format_args!("{seconds:.2} s ({stages})"))
    }
}
