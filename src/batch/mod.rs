//! Whole sets at once: all pairs of fingerprints near each other, the clusters that they make, and many queries in one
//! go.

mod clusters;
mod cover;
mod dedup;
mod disjoint_sets;
mod emit;
mod forest;
mod gathered;
mod group;
mod id_pairs;
mod join;
mod lint;
mod ordered;
mod pair_lists;
mod pairs;
mod partition;
mod spill;

pub use clusters::{
    Cluster, ClusterFinder, ClusterOptions, ClusterReport, Diameter, Representative, clusters,
    clusters_by_key,
};
pub use dedup::{Decision, DedupCounts, DedupOptions, Deduplicated, Deduplicator, Verifier};
pub use id_pairs::{IdPair, id_pairs, id_pairs_with};
pub use join::{JoinOptions, JoinReport, JoinStrategy, Shard, join};
pub use lint::{
    BitPair, BitReport, DocumentLengths, DuplicateGroup, LintOptions, LintReport, LintWarning,
    LintWarningKind, TableCrowding, lint,
};
pub use pairs::{Pair, PairFinder, PairOptions, pairs};
