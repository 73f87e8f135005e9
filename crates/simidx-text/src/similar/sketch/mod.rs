//! Finds similar texts by sketches, without the indexed texts: a sketch is a few hundred bits, and the distance of two
//! sketches estimates the similarity of their texts.

mod banding;
mod keys;
mod search;
mod sketcher;
#[cfg(test)]
mod tests;

pub use banding::SketchBanding;
pub use keys::{KeySearch, are_keys, key_parameters};
pub use search::{MOST_CHANCE_MATCHES, SketchMatch, SketchSearch, chance_matches};
pub use sketcher::{JaccardEstimate, SketchFeatures, Sketcher, TextSketch};
