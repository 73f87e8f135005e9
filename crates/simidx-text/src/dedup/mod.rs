//! Defines near-duplicate texts, and handles documents without features.

mod content;
mod similarity;

pub use content::content_identity;
pub use similarity::{Similarity, SimilarityError};
