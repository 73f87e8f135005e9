//! Finds nearly all pairs of texts with at least a given Jaccard similarity, by MinHash and verification.

mod banding;
mod candidates;
mod clustered;
mod clusters;
mod collect;
mod columns;
mod crowded;
mod dedup;
mod digest;
mod equals;
mod files;
mod groups;
mod pairs;
mod sets;
mod signature;
mod sketch;
mod templates;
#[cfg(test)]
mod tests;

pub use banding::Banding;
pub use candidates::{Counts, SimilarCandidates};
pub use collect::{SignedText, SimilarOptions, SimilarTexts, TextSigner};
pub use dedup::{Fate, SimilarDedup};
pub use pairs::SimilarPair;
pub use sketch::{
    JaccardEstimate, KeySearch, MOST_CHANCE_MATCHES, SketchBanding, SketchFeatures, SketchMatch,
    SketchSearch, Sketcher, TextSketch, are_keys, chance_matches, key_parameters,
};
pub use templates::Template;

/// Largest number of texts that are signed together, and their largest size in bytes.
const BATCH_TEXTS: usize = 4096;
const BATCH_LEN: usize = 16 << 20;

/// Represents a missing text or group.
const NONE: u32 = u32::MAX;
