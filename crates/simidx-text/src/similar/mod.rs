//! Texts that are similar: all pairs of at least a Jaccard similarity, found by MinHash and verified on the texts.

mod banding;
mod clusters;
mod columns;
mod dedup;
mod groups;
mod pairs;
mod search;
mod sets;
mod signature;
#[cfg(test)]
mod tests;

pub use banding::Banding;
pub use dedup::{Fate, SimilarDedup};
pub use pairs::SimilarPair;
pub use search::{Counts, SignedText, SimilarCandidates, SimilarOptions, SimilarTexts, TextSigner};

/// Stands for no text and no group.
const NONE: u32 = u32::MAX;
