//! The program `simidx` as a function: parses the arguments, runs the command, and converts its result to an exit code.
//!
//! The program and the Python package, which includes it, call [`run`].

mod cmd;
mod support;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use cmd::Command;
use support::failure::Failure;
use support::messages::{be_quiet, say};
use support::options::heading;
use support::output::use_strings;
use support::process::{return_large_buffers, start_threads};
use support::progress::ProgressMode;

/// clap's error for a command line without a command; it prints the help.
const NO_COMMAND: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// Exit code for "done", "match" and "sound".
const EXIT_YES: u8 = 0;

/// Exit code for "no match" and "damaged".
const EXIT_NO: u8 = 1;

/// Exit code for "could not run".
const EXIT_FAILURE: u8 = 2;

/// The head of `simidx --help` and of its man page.
const HELP: &str = "\
Exact near-duplicate search over fingerprints and texts.

Examples:
  simidx build docs.jsonl -o docs.simidx
  simidx query docs.simidx --text \"The quick brown fox\"
  simidx dedup docs.jsonl -o kept.jsonl
  simidx help query";

/// `simidx --help`.
static OVERVIEW: LazyLock<String> = LazyLock::new(|| match cfg!(feature = "serve") {
    true => COMMANDS.to_owned(),
    false => COMMANDS.replace("  serve          Answer queries over HTTP\n", ""),
});

/// The commands in groups, and the options that all of them have.
const COMMANDS: &str = "\
Exact near-duplicate search over fingerprints and texts.

Examples:
  simidx build docs.jsonl -o docs.simidx
  simidx query docs.simidx --text \"The quick brown fox\"

{usage-heading} {usage}

Documents:
  dedup          Copy documents, keeping one of each cluster of near-duplicates
  compare        Compare two documents; exit code 1 if not near-duplicates
  fingerprint    Turn documents into fingerprints
  contamination  Find the items of a test set that a corpus contains
Indexes:
  build          Build an index file from fingerprints or documents
  merge          Merge several indexes into one, optionally without some records
  info           Print the parameters and the compression of an index
  verify         Check every byte of an index; exit code 1 if it is damaged
  dump           Print the fingerprints of an index with their ids
Searches:
  query          Find everything within a distance of fingerprints or documents
  join           Find all matches of a whole batch of queries in one run
  pairs          List pairs of similar documents or of near fingerprints
  clusters       Group near-duplicate documents or fingerprints
  serve          Answer queries over HTTP
Figures:
  report         Write a page to look at: clusters, distances, doubtful pairs
  plan           Predict the size and the latency of an index for each design
Also: bench (measure latency), man, completions

Options:
  -h, --help, -V, --version
  -q, --quiet            Print no progress and no summary
      --progress <WHEN>  When to draw progress bars: auto, always or never
      --json-strings     In JSON, print ids that are numbers as strings{after-help}";

#[derive(Debug, Parser)]
#[command(
    name = "simidx",
    version = VERSION,
    long_version = LONG_VERSION.as_str(),
    about = "Exact near-duplicate search over fingerprints and texts",
    long_about = HELP,
    help_template = OVERVIEW.as_str(),
    after_help = "Exit codes: 0 success; 1 no match, or damaged; 2 could not run.",
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to draw progress bars on stderr
    #[arg(long, global = true, value_enum, default_value_t = ProgressMode::Auto, value_name = "WHEN", help_heading = heading::OUTPUT)]
    progress: ProgressMode,
    /// Print no progress and no summary; results, warnings and errors stay
    #[arg(short, long, global = true, help_heading = heading::OUTPUT)]
    quiet: bool,
    /// In JSON, print ids that are numbers as strings, and other numbers above 2^53 too: programs with floating-point
    /// numbers would round them
    #[arg(long, global = true, help_heading = heading::OUTPUT)]
    json_strings: bool,
}

/// The version of the crate, and the format versions that it reads and writes.
const VERSION: &str = {
    const _: () = assert!(
        simidx::format::FORMAT_VERSION == 1,
        "say the new version below"
    );
    concat!(
        env!("CARGO_PKG_VERSION"),
        " (reads and writes file format version 1)"
    )
};

/// The version with everything that a bug report should contain.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("SIMIDX_COMMIT").unwrap_or("unknown");
    let instructions = simidx::index::instruction_set();
    format!("{VERSION}\ncommit {commit}\ninstructions {instructions}")
});

/// Returns the definition of the command line.
fn program() -> clap::Command {
    // Otherwise a negative number would be parsed as a flag, and refused.
    Cli::command().mut_subcommands(|command| {
        command.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    })
}

/// Sets up the process for a program that does nothing else. Must be called before any thread starts.
pub fn prepare_process() {
    return_large_buffers();
}

/// Parses the arguments, of which the first is the name of the program, runs the command and returns the exit code.
///
/// As in the program, signals end the process.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let code = run_command(args);
    // Only the end of a Rust program flushes it automatically. Errors no longer matter here.
    let _ = io::stdout().flush();
    code
}

fn run_command(args: impl IntoIterator<Item = OsString>) -> u8 {
    let parsed = program().try_get_matches_from(args);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.use_stderr() && error.kind() != NO_COMMAND => {
            say(usage_error(&error));
            return EXIT_FAILURE;
        }
        Err(help) => return exit_code(print(&help)),
    };
    let mut progress = cli.progress;
    if cli.quiet {
        progress = ProgressMode::Never;
        be_quiet();
    }
    if cli.json_strings {
        use_strings();
    }
    exit_code(start_threads(threads(&matches)).and_then(|()| cli.command.run(progress)))
}

/// Returns the value of `--threads`, in which 0 means all cores; `None` for a command without this option.
fn threads(matches: &ArgMatches) -> Option<u16> {
    let (_, command) = matches.subcommand()?;
    command.try_get_one("threads").ok().flatten().copied()
}

fn exit_code(answer: cmd::Answer) -> u8 {
    match answer {
        Ok(true) => EXIT_YES,
        Ok(false) => EXIT_NO,
        Err(failure) if failure.is_broken_pipe() => EXIT_YES,
        Err(failure) => {
            say(failure);
            EXIT_FAILURE
        }
    }
}

/// Prints help or version, and fails if there was no command.
fn print(help: &clap::Error) -> cmd::Answer {
    if help.use_stderr() {
        help.exit();
    }
    let printed = help.print().and_then(|()| io::stdout().flush());
    printed.map_err(|error| Failure::from(error).about("standard output"))?;
    Ok(true)
}

/// Converts an error of the command line to one line: the problem, and a suggestion, without clap's further advice.
fn usage_error(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let clause: Vec<&str> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let clause = clause.join(" ");
    let clause = clause.strip_prefix("error: ").unwrap_or(&clause);
    let meant = match meant(error) {
        Some(meant) => format!("did you mean {meant}? "),
        None => String::new(),
    };
    Failure::new(format!("{clause}; {meant}see --help"))
}

/// Returns clap's suggestion.
fn meant(error: &clap::Error) -> Option<&str> {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(meant) => Some(meant.as_str()),
        ContextValue::Strings(all) => all.last().map(String::as_str),
        _ => None,
    })
}
