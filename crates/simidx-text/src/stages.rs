//! The types of the stages of a pipeline; [`PipelineOptions`](crate::PipelineOptions) contains one value of each.
//!
//! ```
//! use simidx_text::stages::{FeatureSelection, Sketch, Tokenizer};
//! use simidx_text::{Pipeline, Preset};
//!
//! let mut options = Preset::Short.options();
//! options.tokenizer = Tokenizer::Sentences;
//! options.select = "longest:3".parse::<FeatureSelection>()?;
//! options.sketch = Sketch::SimHash;
//! let pipeline = Pipeline::new(options)?;
//! # Ok::<(), simidx_text::Error>(())
//! ```

pub use crate::clean::Html;
pub use crate::feature_hash::FeatureHash;
pub use crate::normalise::Normalise;
pub use crate::options::{Idf, Sketch};
pub use crate::simhash::TieRule;
pub use crate::tokenizer::{GramLen, Tokenizer};
pub use crate::weights::{FeatureSelection, PartOfSpeechWeights, Weights};
