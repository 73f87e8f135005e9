//! Similar texts by sketches, where the texts are not there: a few hundred bits a text, of which the distance lets the
//! similarity be estimated.

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
