//! The `simidx` program: parse the arguments, run the command, turn its result into an exit code.

mod bench;
mod build;
mod build_report;
mod clusters;
mod compare;
mod complaints;
mod dedup;
mod dump;
mod eval;
mod failure;
mod fingerprint;
mod fingerprinters;
mod idf;
mod index_file;
mod info;
mod interrupt;
mod json_ids;
mod lint;
mod memory;
mod merge;
mod output;
mod pairs;
mod pipeline;
mod plan;
mod progress;
mod query;
mod query_file;
mod records;
mod report;
mod resources;
mod scan;
mod transient;
mod verify;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use failure::Failure;
use progress::ProgressMode;

/// What clap calls a command line without a command; it then prints the help.
const NO_COMMAND: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// Exit code for "no match" and "damaged".
const EXIT_NO: u8 = 1;

/// Exit code for "could not run".
const EXIT_FAILURE: u8 = 2;

#[derive(Debug, Parser)]
#[command(
    name = "simidx",
    version = version(),
    about = "Exact near-duplicate search over simhash fingerprints, in a compressed index file",
    after_help = "Exit codes: 0 done, match found, sound; 1 no match, damaged index; 2 could not run.",
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Progress bars on stderr
    #[arg(long, global = true, value_enum, default_value_t = ProgressMode::Auto, value_name = "WHEN")]
    progress: ProgressMode,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build an index file from fingerprints or documents
    Build(build::Args),
    /// Make one index of several, less what is to be deleted
    Merge(merge::Args),
    /// Find everything within a distance of fingerprints or documents
    Query(query::Args),
    /// Find everything within a distance of many fingerprints in one go
    Scan(scan::Args),
    /// Print all pairs of fingerprints or records within a distance
    Pairs(pairs::Args),
    /// Print the clusters that pairs within a distance make of fingerprints or records
    Clusters(clusters::Args),
    /// Keep one of each cluster of near-duplicates among documents
    Dedup(Box<dedup::Args>),
    /// Print the parameters and the compression of an index
    Info(info::Args),
    /// Check every byte of an index; exit code 0 if sound, 1 if damaged
    Verify(verify::Args),
    /// Print the fingerprints of an index, with their ids
    Dump(dump::Args),
    /// Measure the latency of queries
    Bench(bench::Args),
    /// Predict size and latency of an index, by number of tables
    Plan(plan::Args),
    /// Turn documents into fingerprints
    Fingerprint(fingerprint::Args),
    /// Compare two documents: fingerprints, similarity, the features that differ; exit code 1 if no near-duplicates
    Compare(Box<compare::Args>),
    /// Count in how many documents features occur, and write the weights that follow for --idf
    Idf(Box<idf::Args>),
    /// Tell whether a set will search badly, and why; exit code 1 if so
    Lint(Box<lint::Args>),
    /// Measure how well pipelines find the near-duplicates of a labelled set
    Eval(Box<eval::Args>),
}

/// Crate version and the format versions read and written.
fn version() -> &'static str {
    const _: () = assert!(
        simidx::format::FORMAT_VERSION == 1,
        "say the new version below"
    );
    concat!(
        env!("CARGO_PKG_VERSION"),
        " (reads and writes file format version 1)"
    )
}

/// Parses the arguments and runs the command.
fn main() -> ExitCode {
    memory::return_large_buffers();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && error.kind() != NO_COMMAND => {
            output::say(usage_error(&error));
            return ExitCode::from(EXIT_FAILURE);
        }
        // Help and version.
        Err(help) => help.exit(),
    };
    let mode = cli.progress;
    let result = match cli.command {
        Command::Build(args) => build::run(args, mode),
        Command::Merge(args) => merge::run(args, mode),
        Command::Query(args) => query::run(args),
        Command::Scan(args) => scan::run(args, mode),
        Command::Pairs(args) => pairs::run(args, mode),
        Command::Clusters(args) => clusters::run(args, mode),
        Command::Dedup(args) => dedup::run(&args, mode),
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args, mode),
        Command::Dump(args) => dump::run(args),
        Command::Bench(args) => bench::run(args, mode),
        Command::Plan(args) => plan::run(args),
        Command::Fingerprint(args) => fingerprint::run(args, mode),
        Command::Compare(args) => compare::run(&args),
        Command::Idf(args) => idf::run(&args, mode),
        Command::Lint(args) => lint::run(&args, mode),
        Command::Eval(args) => eval::run(*args, mode),
    };
    match result {
        Ok(answer) => ExitCode::from(if answer { 0 } else { EXIT_NO }),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::say(failure);
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// An error of the command line in one line: what is wrong without clap's advice on further lines.
fn usage_error(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let clause: Vec<&str> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let clause = clause.join(" ");
    let clause = clause.strip_prefix("error: ").unwrap_or(&clause);
    Failure::new(format!("{clause}; see --help"))
}

/// What a command comes to: `true` for yes or done, `false` for no match or damaged.
type Answer = Result<bool, Failure>;
