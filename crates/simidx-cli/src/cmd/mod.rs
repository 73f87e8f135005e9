//! The commands, one module each, and the choice among them.

mod bench;
mod build;
mod clusters;
mod compare;
mod completions;
mod contamination;
mod dedup;
mod dump;
mod fingerprint;
mod info;
mod join;
mod man;
mod merge;
mod pairs;
mod plan;
mod query;
mod report;
#[cfg(feature = "serve")]
mod serve;
mod verify;

use clap::Subcommand;

use crate::support::failure::Failure;
use crate::support::progress::ProgressMode;

/// The result of a command: `true` for yes or done, `false` for no match or damaged.
pub(crate) type Answer = Result<bool, Failure>;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build an index file from fingerprints or documents
    #[command(long_about = build::HELP)]
    Build(build::Args),
    /// Merge several indexes into one, optionally without some records
    #[command(long_about = merge::HELP)]
    Merge(merge::Args),
    /// Find everything within a distance of fingerprints or documents
    #[command(long_about = query::HELP)]
    Query(query::Args),
    /// Find all matches of a whole batch of queries in one run
    #[command(long_about = join::HELP)]
    Join(join::Args),
    /// Print all pairs of fingerprints or records within a distance
    #[command(long_about = pairs::HELP)]
    Pairs(pairs::Args),
    /// Group fingerprints or records into clusters of near-duplicates
    #[command(long_about = clusters::HELP)]
    Clusters(clusters::Args),
    /// Copy documents, keeping one of each cluster of near-duplicates
    #[command(long_about = dedup::HELP)]
    Dedup(Box<dedup::Args>),
    /// Print the parameters and the compression of an index
    #[command(long_about = info::HELP)]
    Info(info::Args),
    /// Check every byte of an index; exit code 0 if sound, 1 if damaged
    #[command(long_about = verify::HELP)]
    Verify(verify::Args),
    /// Print the fingerprints of an index with their ids
    #[command(long_about = dump::HELP)]
    Dump(dump::Args),
    /// Measure the latency of queries
    #[command(long_about = bench::HELP, hide = true)]
    Bench(bench::Args),
    /// Predict the size and the latency of an index for each table design
    #[command(long_about = plan::HELP)]
    Plan(plan::Args),
    /// Write a page to look at: clusters, distances, doubtful pairs
    #[command(long_about = report::HELP)]
    Report(report::Args),
    /// Answer queries over HTTP
    #[cfg(feature = "serve")]
    #[command(long_about = serve::HELP)]
    Serve(Box<serve::Args>),
    /// Turn documents into fingerprints
    #[command(long_about = fingerprint::HELP)]
    Fingerprint(fingerprint::Args),
    /// Compare two documents; exit code 1 if they are not near-duplicates
    #[command(long_about = compare::HELP)]
    Compare(Box<compare::Args>),
    /// Find the items of a test set that stand in a corpus; exit code 1 if none does
    #[command(long_about = contamination::HELP)]
    Contamination(Box<contamination::Args>),
    /// Write the manual pages
    #[command(long_about = man::HELP, hide = true)]
    Man(man::Args),
    /// Print a completion script for a shell
    #[command(long_about = completions::HELP, hide = true)]
    Completions(completions::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, mode: ProgressMode) -> Answer {
        match self {
            Command::Build(args) => build::run(args, mode),
            Command::Merge(args) => merge::run(args, mode),
            Command::Query(args) => query::run(args),
            Command::Join(args) => join::run(args, mode),
            Command::Pairs(args) => pairs::run(args, mode),
            Command::Clusters(args) => clusters::run(args, mode),
            Command::Dedup(args) => dedup::run(&args, mode),
            Command::Info(args) => info::run(args),
            Command::Verify(args) => verify::run(args, mode),
            Command::Dump(args) => dump::run(args),
            Command::Bench(args) => bench::run(args, mode),
            Command::Plan(args) => plan::run(args),
            Command::Report(args) => report::run(&args, mode),
            #[cfg(feature = "serve")]
            Command::Serve(args) => serve::run(*args),
            Command::Fingerprint(args) => fingerprint::run(args, mode),
            Command::Compare(args) => compare::run(&args),
            Command::Contamination(args) => contamination::run(&args, mode),
            Command::Man(args) => man::run(&args),
            Command::Completions(args) => completions::run(&args),
        }
    }
}
