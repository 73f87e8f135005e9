//! The evaluated methods: the fingerprints of a pipeline, or the exact similarity of its features.

use std::str::FromStr;

use simidx_text::{Pipeline, PipelineOptions};

/// The prefix of a method that compares sets of features.
const JACCARD: &str = "jaccard:";

/// A way to recognise near-duplicates.
#[derive(Debug, Clone)]
pub(super) struct Method {
    /// The name that the user gave.
    name: String,
    options: PipelineOptions,
}

impl Method {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether sets of features are compared, not fingerprints.
    pub(super) fn is_jaccard(&self) -> bool {
        self.name.starts_with(JACCARD)
    }

    pub(super) fn pipeline(&self) -> simidx_text::Result<Pipeline> {
        Pipeline::new(self.options.clone())
    }
}

impl FromStr for Method {
    type Err = simidx_text::Error;

    fn from_str(text: &str) -> simidx_text::Result<Self> {
        let pipeline = text.strip_prefix(JACCARD).unwrap_or(text);
        Ok(Method {
            name: text.to_owned(),
            options: pipeline.parse()?,
        })
    }
}
