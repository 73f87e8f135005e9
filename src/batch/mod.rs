//! Operations on whole sets: all pairs of near fingerprints, the clusters that they form, deduplication, and many
//! queries at once.

mod answers;
mod clusters;
mod components;
mod cover;
mod dedup;
mod disjoint_sets;
mod emit;
mod forest;
mod gathered;
mod group;
mod id_lists;
mod id_pairs;
mod join;
mod lint;
mod ordered;
mod pair_lists;
mod pairs;
mod partition;
#[doc(hidden)]
pub mod rounds;
mod row_pairs;
mod spill;

pub use answers::{Answers, answer_all, contains_all};
pub use clusters::{
    Cluster, ClusterFinder, ClusterOptions, ClusterReport, Representative, clusters,
    clusters_by_key,
};
pub use dedup::{Decision, DedupCounts, DedupOptions, Deduplicated, Deduplicator};
pub use id_lists::{IdColumn, IdLists, ids_of_all, positions_of_all};
pub use id_pairs::{IdPair, id_pairs, id_pairs_with};
pub use join::{JoinOptions, JoinReport, JoinStrategy, Shard, join};
pub use lint::{
    BitReport, DocumentLengths, DuplicateGroup, LintOptions, LintReport, LintWarning,
    LintWarningKind, TableCrowding, lint,
};
pub use pairs::{Pair, PairFinder, PairOptions, pairs};
pub use row_pairs::{RowPair, row_pairs};
