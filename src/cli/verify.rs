//! `simidx verify`: the full check of an index.

use std::io::Write;

use serde::Serialize;
use simidx::{FormatError, VerifyReport, VerifyStage};

use super::Answer;
use super::index_file::{IndexArgs, with_index};
use super::output::{stdout, write_report};
use super::progress::ProgressMode;

/// Arguments of `simidx verify`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: Args, mode: ProgressMode) -> Answer {
    let bar = mode.spinner();
    let report = match args.index.open_or_damaged()? {
        Ok(index) => with_index!(index, index => {
            Verdict::of(index.verify_with(|stage| bar.set_message(stage_name(stage))))
        }),
        Err(problem) => Verdict::unreadable(problem),
    };
    bar.finish_and_clear();
    write_report(stdout(), &report, args.json, |out| {
        report.print(out, &args.index.index.display())
    })?;
    Ok(report.sound)
}

fn stage_name(stage: VerifyStage) -> String {
    match stage {
        VerifyStage::Blocks(table) => format!("decoding table {table}"),
        VerifyStage::Compare(table) => format!("comparing table {table}"),
        _ => "reading the ids".to_owned(),
    }
}

/// What the check found, for printing.
#[derive(Debug, Serialize)]
struct Verdict {
    sound: bool,
    fingerprint_count: u64,
    blocks_checked: u64,
    pages_checked: u64,
    problem_count: u64,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    rule: u8,
    message: String,
    table: Option<u8>,
    block: Option<u64>,
    offset: Option<u64>,
}

impl Verdict {
    fn of(report: VerifyReport) -> Self {
        Verdict {
            sound: report.is_sound(),
            fingerprint_count: report.fingerprint_count,
            blocks_checked: report.block_count,
            pages_checked: report.page_count,
            problem_count: report.problem_count,
            problems: report.problems.iter().map(Problem::of).collect(),
        }
    }

    /// The verdict on a file that could not even be opened.
    fn unreadable(problem: FormatError) -> Self {
        Verdict {
            sound: false,
            fingerprint_count: 0,
            blocks_checked: 0,
            pages_checked: 0,
            problem_count: 1,
            problems: vec![Problem::of(&problem)],
        }
    }

    fn print(&self, out: &mut dyn Write, name: &dyn std::fmt::Display) -> std::io::Result<()> {
        if self.sound {
            return writeln!(
                out,
                "{name}: sound ({} fingerprints, {} blocks, {} pages of ids)",
                self.fingerprint_count, self.blocks_checked, self.pages_checked
            );
        }
        for problem in &self.problems {
            writeln!(out, "{name}: {}", problem.message)?;
        }
        let hidden = self.problem_count - self.problems.len() as u64;
        if hidden > 0 {
            writeln!(out, "{name}: {hidden} more problems")?;
        }
        Ok(())
    }
}

impl Problem {
    fn of(error: &FormatError) -> Self {
        Problem {
            rule: error.rule,
            message: error.to_string(),
            table: error.table,
            block: error.block,
            offset: error.offset,
        }
    }
}
