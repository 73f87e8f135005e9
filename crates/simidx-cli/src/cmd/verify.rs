//! `simidx verify`: the full check of an index.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use serde::Serialize;
use simidx::Set;
use simidx::Watch;
use simidx::format::FormatError;
use simidx::index::VerifyReport;
use simidx::set::{Manifest, Segment};
use simidx::watch::Stage;
use simidx_output::one_line;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::{IndexArgs, OpenArgs, UNSEALED, is_set};
use crate::support::messages::{counted, is_quiet, say};
use crate::support::output::{stdout, write_object};
use crate::support::progress::ProgressMode;

/// The head of `simidx verify --help` and of its man page.
pub(crate) const HELP: &str = "\
Check every byte of an index: checksums, order, coverage, and that all tables hold the same fingerprints.

The exit code is 0 if all files are sound and 1 if one is damaged.

Examples:
  simidx verify crawl.simidx
  simidx verify monday.simidx tuesday.simidx --json
  simidx verify web.set/";

/// Arguments of `simidx verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    // All are opened before the first is checked, so that nobody waits for a refusal.
    let mut opened = Vec::new();
    let mut checks = Vec::new();
    for path in &args.index.paths {
        match is_set(path)? {
            true => open_set(path, &args.index.open, &mut opened, &mut checks)?,
            false => opened.push((path.clone(), args.index.open.open_or_damaged(path)?)),
        }
    }
    let bar = mode.spinner("");
    let mut out = stdout();
    let mut failures = Vec::new();
    for (path, file) in opened {
        let path = path.display().to_string();
        let verdict = match file {
            Ok(file) => Verdict::on(file.first(), &bar),
            Err(problem) => Ok(Verdict::unreadable(problem)),
        };
        let check = match verdict {
            Ok(verdict) => Check::Done(SegmentVerdict { path, verdict }),
            Err(failure) => {
                let error = failure.to_string();
                failures.push(failure);
                Check::Failed { path, error }
            }
        };
        if let (Check::Done(segment), false) = (&check, args.json)
            && !(segment.verdict.sound && is_quiet())
        {
            // At once: this file has been checked even if the next one cannot be.
            bar.suspend(|| segment.print(&mut out).and_then(|()| out.flush()))?;
        }
        checks.push(check);
    }
    bar.finish_and_clear();
    let verdicts = Verdicts::of(checks);
    if args.json {
        write_json(&mut out, &verdicts)?;
    }
    match failures.pop() {
        None => Ok(verdicts.sound),
        Some(last) => {
            failures.iter().for_each(say);
            Err(last)
        }
    }
}

/// Opens the segments of a set. That the set is damaged, or a file is not the one that it lists, is a result.
///
/// # Errors
/// A file that cannot be read, is not an index or needs a newer reader.
fn open_set(
    path: &Path,
    open: &OpenArgs,
    opened: &mut Vec<(PathBuf, Result<Set, FormatError>)>,
    checks: &mut Vec<Check>,
) -> Result<(), Failure> {
    let mut refuse = |path: &Path, error: simidx::Error| {
        let (path, error) = (path.display().to_string(), error.to_string());
        say(&error);
        checks.push(Check::Refused { path, error });
    };
    let manifest = match Manifest::read(path) {
        Err(error @ simidx::Error::Manifest(_)) => {
            refuse(path, error);
            return Ok(());
        }
        manifest => manifest?,
    };
    if manifest.segments.is_empty() && !is_quiet() {
        say(format!(
            "{}: there is no segment to check; {UNSEALED}",
            path.display()
        ));
    }
    for (path, listed) in manifest.paths().zip(&manifest.segments) {
        let file = open.open_or_damaged(&path)?;
        for segment in file.iter().flat_map(Set::segments) {
            if let Err(error) = manifest.check(listed, segment) {
                refuse(&path, error);
            }
        }
        opened.push((path, file));
    }
    Ok(())
}

/// Prints the object of all files, or that of the only one; nothing if the only one could not be checked.
fn write_json(mut out: impl Write, verdicts: &Verdicts) -> Result<(), Failure> {
    match &verdicts.segments[..] {
        [Check::Failed { .. }] => {}
        [Check::Done(only)] => write_object(&mut out, &only.verdict)?,
        _ => write_object(&mut out, verdicts)?,
    }
    Ok(out.flush()?)
}

fn stage_name(stage: Stage) -> String {
    match stage {
        Stage::CheckTable(table) => format!("decoding table {table}"),
        Stage::CompareTable(table) => format!("comparing table {table}"),
        _ => "reading the ids".to_owned(),
    }
}

/// What the checks of several files came to, for printing.
#[derive(Debug, Serialize)]
struct Verdicts {
    sound: bool,
    segments: Vec<Check>,
}

impl Verdicts {
    fn of(segments: Vec<Check>) -> Self {
        let sound = segments.iter().all(Check::is_sound);
        Verdicts { sound, segments }
    }
}

/// What came of checking one of several files.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Check {
    Done(SegmentVerdict),
    /// The set is damaged, or this file is not the one that it lists.
    Refused {
        path: String,
        error: String,
    },
    /// The file changed its length meanwhile.
    Failed {
        path: String,
        error: String,
    },
}

impl Check {
    fn is_sound(&self) -> bool {
        matches!(self, Check::Done(segment) if segment.verdict.sound)
    }
}

/// What the check of one of several files found.
#[derive(Debug, Serialize)]
struct SegmentVerdict {
    path: String,
    #[serde(flatten)]
    verdict: Verdict,
}

/// What the check found.
#[derive(Debug, Default, Serialize)]
struct Verdict {
    sound: bool,
    fingerprint_count: u64,
    blocks_checked: u64,
    pages_checked: u64,
    #[serde(skip_serializing_if = "is_zero")]
    sketch_pages_checked: u64,
    problem_count: u64,
    problems: Vec<Problem>,
}

/// Whether there are no sketches to report on.
fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// The verdict on a file that could be opened.
    ///
    /// # Errors
    /// The file has another length than when it was opened.
    fn on(file: Segment<'_>, bar: &ProgressBar) -> Result<Self, Failure> {
        // Another file may have been checked for minutes since this one was opened.
        file.storage().check_len()?;
        let shown = bar.clone();
        let report = file.verify(&Watch::new(move |progress| {
            shown.set_message(stage_name(progress.stage));
            ControlFlow::Continue(())
        }))?;
        file.storage().check_len()?;
        Ok(Verdict::of(report))
    }

    fn of(report: VerifyReport) -> Self {
        Verdict {
            sound: report.is_sound(),
            fingerprint_count: report.fingerprint_count,
            blocks_checked: report.block_count,
            pages_checked: report.page_count,
            sketch_pages_checked: report.sketch_page_count,
            problem_count: report.problem_count,
            problems: report.problems.iter().map(Problem::of).collect(),
        }
    }

    /// The verdict on a file that could not even be opened.
    fn unreadable(problem: FormatError) -> Self {
        Verdict {
            problem_count: 1,
            problems: vec![Problem::of(&problem)],
            ..Verdict::default()
        }
    }
}

impl SegmentVerdict {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (name, verdict) = (one_line(&self.path), &self.verdict);
        if verdict.sound {
            let sketches = match verdict.sketch_pages_checked {
                0 => String::new(),
                count => format!(", {} of sketches", counted(count, "page")),
            };
            return writeln!(
                out,
                "{name}: sound ({}, {}, {}{sketches})",
                counted(verdict.fingerprint_count, "fingerprint"),
                counted(verdict.blocks_checked, "block"),
                counted(verdict.pages_checked, "page")
            );
        }
        for problem in &verdict.problems {
            writeln!(out, "{name}: {}", one_line(&problem.message))?;
        }
        let hidden = verdict.problem_count - verdict.problems.len() as u64;
        if hidden > 0 {
            writeln!(
                out,
                "{name}: {} not shown",
                counted(hidden, "further problem")
            )?;
        }
        Ok(())
    }
}

impl Problem {
    fn of(error: &FormatError) -> Self {
        Problem {
            rule: error.rule(),
            message: error.to_string(),
            table: error.table(),
            block: error.block(),
            offset: error.offset(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(path: &str) -> Check {
        let path = path.to_owned();
        let verdict = Verdict::of(VerifyReport::default());
        Check::Done(SegmentVerdict { path, verdict })
    }

    fn failed(path: &str) -> Check {
        let (path, error) = (path.to_owned(), "it changed".to_owned());
        Check::Failed { path, error }
    }

    fn json(checks: Vec<Check>) -> String {
        let mut out = Vec::new();
        write_json(&mut out, &Verdicts::of(checks)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_that_could_not_be_checked_is_told_among_others_and_is_none_by_itself() {
        assert_eq!(json(vec![failed("a")]), "");
        let alone = json(vec![done("a")]);
        assert!(alone.starts_with(r#"{"sound":true,"fingerprint_count":0,"#));
        let all = json(vec![done("a"), failed("b"), done("c")]);
        let all: serde_json::Value = serde_json::from_str(&all).unwrap();
        assert_eq!(all["sound"], false);
        assert_eq!(all["segments"][0]["sound"], true);
        let error = serde_json::json!({"path": "b", "error": "it changed"});
        assert_eq!(all["segments"][1], error);
        assert_eq!(all["segments"][2]["path"], "c");
        assert!(
            json(vec![done("a"), done("b")])
                .starts_with(r#"{"sound":true,"segments":[{"path":"a","#)
        );
    }
}
