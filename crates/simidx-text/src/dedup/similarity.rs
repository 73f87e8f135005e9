//! How similar two texts must be: the least Jaccard similarity, and of which features.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

use crate::Fingerprinter;
use crate::compare::FeatureSet;

/// The largest number of words in a run.
const MAX_WORDS: usize = 64;

/// The least Jaccard similarity of two texts, either of the features of a pipeline or of all runs of so many words.
///
/// It is written `jaccard:T`, or `jaccard:T:N` for runs of N words.
///
/// ```
/// use simidx::Width;
/// use simidx_text::Pipeline;
/// use simidx_text::dedup::Similarity;
///
/// let similarity: Similarity = "jaccard:0.5:2".parse()?;
/// assert_eq!((similarity.least(), similarity.words()), (0.5, Some(2)));
///
/// let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64)?;
/// let [a, b] = ["to be or not", "to be or maybe"].map(|text| similarity.feature_set(&mut fingerprinter, text));
/// assert!(similarity.is_met(&a, &b)); // two runs of four: "to be" and "be or"
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    least: f64,
    /// Words in a run; without it the features of the pipeline are compared.
    words: Option<usize>,
}

/// A similarity that is out of range or cannot be read.
///
/// ```
/// use simidx_text::dedup::Similarity;
///
/// let error = "jaccard:2".parse::<Similarity>().unwrap_err();
/// assert!(error.to_string().starts_with("\"jaccard:2\" is not"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not jaccard:T or jaccard:T:N with T above 0 and at most 1, and N from 1 to {MAX_WORDS}"
)]
pub struct SimilarityError {
    text: String,
}

impl Similarity {
    /// The least similarity of the features from which the fingerprints are made; above 0 and at most 1.
    ///
    /// # Errors
    ///
    /// Another number.
    pub fn of_features(least: f64) -> Result<Self, SimilarityError> {
        Similarity { least, words: None }.checked()
    }

    /// The least similarity of all runs of `words` words, 1 to 64, as [`FeatureSet::of_shingles`] cuts them.
    ///
    /// # Errors
    ///
    /// Numbers out of range.
    pub fn of_words(least: f64, words: usize) -> Result<Self, SimilarityError> {
        let words = Some(words);
        Similarity { least, words }.checked()
    }

    fn checked(self) -> Result<Self, SimilarityError> {
        let has_words = self.words.is_none_or(|n| (1..=MAX_WORDS).contains(&n));
        match self.least > 0.0 && self.least <= 1.0 && has_words {
            true => Ok(self),
            false => Err(SimilarityError {
                text: self.to_string(),
            }),
        }
    }

    /// The least Jaccard similarity.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The number of words in a run; `None` if the features of the pipeline are compared.
    pub fn words(&self) -> Option<usize> {
        self.words
    }

    /// What is compared of a document. One without any feature is a set of its own: it is similar only to those of the
    /// same bytes.
    pub fn feature_set(&self, fingerprinter: &mut Fingerprinter, document: &str) -> FeatureSet {
        let set = self.features(fingerprinter, document);
        set.unwrap_or_else(|| Self::without_features(document))
    }

    /// The features of a document, if it has some.
    pub(crate) fn features(
        &self,
        fingerprinter: &mut Fingerprinter,
        document: &str,
    ) -> Option<FeatureSet> {
        let set = match self.words {
            None => fingerprinter.feature_set(document),
            Some(length) => FeatureSet::of_shingles(fingerprinter.cleaned(document), length),
        };
        Some(set).filter(|set| !set.hashes().is_empty())
    }

    /// What stands for the features of a document that has none.
    pub(crate) fn without_features(document: &str) -> FeatureSet {
        FeatureSet::from_hashes(vec![xxh3_64(document.as_bytes())])
    }

    /// Whether two texts are similar enough.
    pub fn is_met(&self, a: &FeatureSet, b: &FeatureSet) -> bool {
        a.jaccard(b) >= self.least
    }
}

impl Default for Similarity {
    /// `jaccard:0.8:3`.
    fn default() -> Self {
        Similarity {
            least: 0.8,
            words: Some(3),
        }
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "jaccard:{}", self.least)?;
        match self.words {
            None => Ok(()),
            Some(words) => write!(f, ":{words}"),
        }
    }
}

impl FromStr for Similarity {
    type Err = SimilarityError;

    fn from_str(text: &str) -> Result<Self, SimilarityError> {
        let parsed = || {
            let rest = text.strip_prefix("jaccard:")?;
            let (least, words) = match rest.split_once(':') {
                Some((least, words)) => (least, Some(words.parse().ok()?)),
                None => (rest, None),
            };
            let least = least.parse().ok()?;
            Similarity { least, words }.checked().ok()
        };
        parsed().ok_or_else(|| SimilarityError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_read_and_written() {
        let parsed = |text: &str| text.parse::<Similarity>().ok().map(|s| (s.least, s.words));
        assert_eq!(parsed("jaccard:0.8"), Some((0.8, None)));
        assert_eq!(parsed("jaccard:1:3"), Some((1.0, Some(3))));
        for text in ["jaccard:0.8", "jaccard:1:3", "jaccard:0.125:64"] {
            assert_eq!(text.parse::<Similarity>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "jaccard",
            "jaccard:",
            "jaccard:0",
            "jaccard:1.01",
            "jaccard:nan",
            "jaccard:-1",
            "jaccard:0.8:",
            "jaccard:0.8:0",
            "jaccard:0.8:65",
            "jaccard:0.8:3:4",
            "cosine:0.8",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!(Similarity::default(), "jaccard:0.8:3".parse().unwrap());
        assert!(Similarity::of_features(f64::NAN).is_err());
        assert!(Similarity::of_words(0.5, 65).is_err());
    }
}
