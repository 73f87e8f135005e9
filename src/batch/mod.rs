//! Whole sets at once: all pairs of fingerprints near each other, and many queries in one go.

mod cover;
mod emit;
mod group;
mod id_pairs;
mod ordered;
mod pair_lists;
mod pairs;
mod partition;
mod scan;
mod spill;

pub use id_pairs::{IdPair, id_pairs};
pub use pairs::{Pair, PairFinder, PairOptions, pairs};
pub use scan::{ScanOptions, ScanReport, ScanStrategy, Shard, scan};
