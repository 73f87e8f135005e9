//! Defines near-duplicate texts, and handles documents without features.

mod content;
mod similarity;

pub use content::{EqualTexts, content_identity};
pub use similarity::{Similarity, SimilarityError};
