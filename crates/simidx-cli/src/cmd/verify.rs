//! `simidx verify`: checks an index completely.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use serde_json::{Value, json};
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
    // All files are opened before the first is checked, so that a refusal comes early.
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
        let report = match file {
            Ok(file) => check(file.first(), &bar),
            Err(problem) => Ok(unreadable(problem)),
        };
        if let (Ok(report), false) = (&report, args.json)
            && !(report.is_sound() && is_quiet())
        {
            // The result is printed immediately, in case the next file cannot be checked.
            bar.suspend(|| print(&path, report, &mut out).and_then(|()| out.flush()))?;
        }
        let outcome = report.map_err(|failure| {
            let error = failure.to_string();
            failures.push(failure);
            error
        });
        checks.push((path, outcome));
    }
    bar.finish_and_clear();
    if args.json {
        if let Some(object) = to_json(&checks, !failures.is_empty()) {
            write_object(&mut out, &object)?;
        }
        out.flush()?;
    }
    match failures.pop() {
        None => Ok(are_sound(&checks)),
        Some(last) => {
            failures.iter().for_each(say);
            Err(last)
        }
    }
}

/// Opens the segments of a set. A damaged set, or a file other than the listed one, is a result.
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
        checks.push((path, Err(error)));
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

fn stage_name(stage: Stage) -> String {
    match stage {
        Stage::CheckTable(table) => format!("decoding table {table}"),
        Stage::CompareTable(table) => format!("comparing table {table}"),
        _ => "reading the ids".to_owned(),
    }
}

/// A file, and the result of its check; or the reason why there is none: a damaged set, a file other than the one that
/// its set lists, or a file whose length changed meanwhile.
type Check = (String, Result<VerifyReport, String>);

fn are_sound(checks: &[Check]) -> bool {
    let is_sound = |(_, outcome): &Check| outcome.as_ref().is_ok_and(VerifyReport::is_sound);
    checks.iter().all(is_sound)
}

/// Returns the object of all files, or of the only one; `None` if the only one could not be checked.
fn to_json(checks: &[Check], has_failed: bool) -> Option<Value> {
    let checks = match checks {
        [_] if has_failed => return None,
        [(_, Ok(only))] => return Some(verdict(only)),
        checks => checks,
    };
    let files = checks.iter().map(|(path, outcome)| {
        let mut object = match outcome {
            Ok(report) => verdict(report),
            Err(error) => json!({ "error": error }),
        };
        object["path"] = path.as_str().into();
        object
    });
    let files: Vec<Value> = files.collect();
    Some(json!({ "sound": are_sound(checks), "segments": files }))
}

/// Returns the result for a file as JSON.
fn verdict(report: &VerifyReport) -> Value {
    let problem = |error: &FormatError| {
        json!({
            "rule": error.rule(),
            "message": error.to_string(),
            "table": error.table(),
            "block": error.block(),
            "offset": error.offset(),
        })
    };
    let mut object = json!({
        "sound": report.is_sound(),
        "fingerprint_count": report.fingerprint_count,
        "blocks_checked": report.block_count,
        "pages_checked": report.page_count,
        "problem_count": report.problem_count,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    });
    if let count @ 1.. = report.sketch_page_count {
        object["sketch_pages_checked"] = count.into();
    }
    object
}

/// Checks an open file.
///
/// # Errors
/// The file no longer has the length that it had when it was opened.
fn check(file: Segment<'_>, bar: &ProgressBar) -> Result<VerifyReport, Failure> {
    // Another file may have been checked for minutes since this one was opened.
    file.storage().check_len()?;
    let shown = bar.clone();
    let report = file.verify(&Watch::new(move |progress| {
        shown.set_message(stage_name(progress.stage));
        ControlFlow::Continue(())
    }))?;
    file.storage().check_len()?;
    Ok(report)
}

/// Returns the report on a file that could not be opened.
fn unreadable(problem: FormatError) -> VerifyReport {
    let mut report = VerifyReport::default();
    report.problem_count = 1;
    report.problems.push(problem);
    report
}

fn print(path: &str, report: &VerifyReport, out: &mut impl Write) -> io::Result<()> {
    let name = one_line(path);
    if report.is_sound() {
        // Tables in lines have no blocks.
        let blocks = match report.block_count {
            0 => String::new(),
            count => format!("{}, ", counted(count, "block")),
        };
        let sketches = match report.sketch_page_count {
            0 => String::new(),
            count => format!(", {} of sketches", counted(count, "page")),
        };
        return writeln!(
            out,
            "{name}: sound ({}, {blocks}{}{sketches})",
            counted(report.fingerprint_count, "fingerprint"),
            counted(report.page_count, "page")
        );
    }
    for problem in &report.problems {
        writeln!(out, "{name}: {}", one_line(&problem.to_string()))?;
    }
    let hidden = report.problem_count - report.problems.len() as u64;
    if hidden > 0 {
        let hidden = counted(hidden, "further problem");
        writeln!(out, "{name}: {hidden} not shown")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(path: &str) -> Check {
        (path.to_owned(), Ok(VerifyReport::default()))
    }

    fn failed(path: &str) -> Check {
        (path.to_owned(), Err("it changed".to_owned()))
    }

    fn json(checks: &[Check]) -> Option<Value> {
        to_json(checks, checks.iter().any(|(_, outcome)| outcome.is_err()))
    }

    #[test]
    fn one_that_could_not_be_checked_is_told_among_others_and_is_none_by_itself() {
        assert_eq!(json(&[failed("a")]), None);
        let alone = json(&[done("a")]).unwrap();
        assert_eq!(
            (&alone["sound"], &alone["fingerprint_count"]),
            (&true.into(), &0.into())
        );
        assert_eq!((alone.get("segments"), alone.get("path")), (None, None));
        let all = json(&[done("a"), failed("b"), done("c")]).unwrap();
        assert_eq!(all["sound"], false);
        assert_eq!(all["segments"][0]["sound"], true);
        let error = json!({"path": "b", "error": "it changed"});
        assert_eq!(all["segments"][1], error);
        assert_eq!(all["segments"][2]["path"], "c");
        let sound = json(&[done("a"), done("b")]).unwrap();
        assert_eq!(
            (&sound["sound"], &sound["segments"][0]["path"]),
            (&true.into(), &"a".into())
        );
    }
}
