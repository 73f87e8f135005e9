//! What `simidx build` says at its end, and the clock behind it.

use std::io::{self, Write};
use std::time::Instant;

use serde::Serialize;
use simidx::BuildStage;

use crate::cli::report::Report;

/// Measures the stages of a build.
pub(super) struct Clock {
    pub(super) begun: Instant,
    pub(super) last: Instant,
    pub(super) stage: Option<BuildStage>,
    pub(super) stages: StageSeconds,
}

/// Seconds of each stage, those of all tables together.
#[derive(Debug, Default, Serialize)]
pub(super) struct StageSeconds {
    pub(super) read: f64,
    pub(super) sort: f64,
    pub(super) encode: f64,
    pub(super) ids: f64,
    pub(super) write: f64,
}

impl Clock {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Clock {
            begun: now,
            last: now,
            stage: None,
            stages: StageSeconds::default(),
        }
    }

    /// Adds the time since the last end to a stage.
    pub(super) fn end(&mut self, stage: impl FnOnce(&mut StageSeconds) -> &mut f64) {
        let now = Instant::now();
        *stage(&mut self.stages) += (now - self.last).as_secs_f64();
        self.last = now;
    }

    pub(super) fn end_stage(&mut self) {
        match self.stage.take() {
            None => {}
            Some(BuildStage::SortRecords | BuildStage::SortTable(_)) => self.end(|s| &mut s.sort),
            Some(BuildStage::EncodeTable(_)) => self.end(|s| &mut s.encode),
            Some(_) => self.end(|s| &mut s.ids),
        }
    }

    pub(super) fn total(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// The report at the end of a build.
#[derive(Debug, Serialize)]
pub(super) struct BuildReport {
    #[serde(flatten)]
    pub(super) index: Report,
    pub(super) skipped_count: u64,
    pub(super) seconds: f64,
    pub(super) stage_seconds: StageSeconds,
}

impl BuildReport {
    /// Prints the report for a person.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.index.print(out)?;
        if self.skipped_count > 0 {
            writeln!(out, "{:<24}{}", "skipped records", self.skipped_count)?;
        }
        let s = &self.stage_seconds;
        writeln!(
            out,
            "{:<24}{:.2} s (read {:.2}, sort {:.2}, encode {:.2}, ids {:.2}, write {:.2})",
            "time", self.seconds, s.read, s.sort, s.encode, s.ids, s.write
        )
    }
}
