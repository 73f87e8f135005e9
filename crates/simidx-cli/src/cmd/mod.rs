//! The commands, one module each, and the choice among them.

mod bench;
mod build;
mod clusters;
mod compare;
mod dedup;
mod dump;
mod eval;
mod fingerprint;
mod idf;
mod info;
mod join;
mod lint;
mod merge;
mod pairs;
mod plan;
mod query;
mod verify;

use clap::Subcommand;

use crate::support::failure::Failure;
use crate::support::progress::ProgressMode;

/// What a command comes to: `true` for yes or done, `false` for no match or damaged.
pub(crate) type Answer = Result<bool, Failure>;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build an index file from fingerprints or documents
    Build(build::Args),
    /// Make one index of several, less what is to be deleted
    Merge(merge::Args),
    /// Find everything within a distance of fingerprints or documents
    Query(query::Args),
    /// Find everything within a distance of each of many fingerprints, in one run
    Join(join::Args),
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
            Command::Fingerprint(args) => fingerprint::run(args, mode),
            Command::Compare(args) => compare::run(&args),
            Command::Idf(args) => idf::run(&args, mode),
            Command::Lint(args) => lint::run(&args, mode),
            Command::Eval(args) => eval::run(*args, mode),
        }
    }
}
