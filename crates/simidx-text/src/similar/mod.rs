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
mod sketch;
mod sketch_bands;
mod sketch_search;
#[cfg(test)]
mod sketch_tests;
#[cfg(test)]
mod tests;

pub use banding::Banding;
pub use dedup::{Fate, SimilarDedup};
pub use pairs::SimilarPair;
pub use search::{Counts, SignedText, SimilarCandidates, SimilarOptions, SimilarTexts, TextSigner};
pub use sketch::{JaccardEstimate, SketchFeatures, Sketcher, TextSketch};
pub use sketch_bands::SketchBanding;
pub use sketch_search::{SketchMatch, SketchSearch};

/// Stands for no text and no group.
const NONE: u32 = u32::MAX;
