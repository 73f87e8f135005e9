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
mod ordered;
mod pairs;
mod partition;
mod ranks;
#[doc(hidden)]
pub mod rounds;
mod row_pairs;
mod spill;

pub use answers::Answers;
pub use clusters::{Cluster, ClusterFinder, ClusterOptions, ClusterReport};
pub use dedup::{Decision, DedupCounts, DedupOptions, Deduplicated, Deduplicator};
pub use id_lists::IdLists;
pub use id_pairs::IdPair;
pub use join::{JoinOptions, JoinReport, JoinStrategy};
pub use pairs::{Pair, PairFinder, PairOptions};
pub use row_pairs::{RowPair, row_pairs};

// For the program and the bindings only; not an interface to rely on.
#[doc(hidden)]
pub use id_lists::{IdColumn, positions_of_all};
