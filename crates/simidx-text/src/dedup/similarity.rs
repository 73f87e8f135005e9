//! The similarity threshold: a least Jaccard similarity, and the features that it refers to.

use xxhash_rust::xxh3::xxh3_64;

use crate::Fingerprinter;
use crate::compare::FeatureSet;

/// The largest number of words in a shingle.
const MAX_WORDS: usize = 64;

/// A least Jaccard similarity of two texts, either of their features by a pipeline or of all their shingles of a number
/// of words.
///
/// ```
/// use simidx::Width;
/// use simidx_text::Pipeline;
/// use simidx_text::dedup::Similarity;
///
/// let similarity = Similarity::of_words(0.5, 2)?;
/// assert_eq!((similarity.least(), similarity.words()), (0.5, Some(2)));
///
/// let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64)?;
/// let [a, b] = ["to be or not", "to be or maybe"].map(|text| similarity.feature_set(&mut fingerprinter, text));
/// assert!(a.jaccard(&b) >= similarity.least()); // two runs of four: "to be" and "be or"
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    least: f64,
    /// Number of words in a shingle; `None` to compare the features of the pipeline.
    words: Option<usize>,
}

/// A similarity that is out of range.
///
/// ```
/// use simidx_text::dedup::Similarity;
///
/// let error = Similarity::of_words(2.0, 3).unwrap_err();
/// assert_eq!(error.to_string(), "2 is not a similarity above 0 and at most 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimilarityError {
    /// The least similarity.
    #[error("{0} is not a similarity above 0 and at most 1")]
    Least(f64),
    /// The number of words in a shingle.
    #[error("{0} is not a number of words from 1 to {MAX_WORDS}")]
    Words(usize),
}

impl Similarity {
    /// Creates a least similarity of the features that fingerprints are made from.
    ///
    /// # Errors
    /// A number outside (0, 1].
    pub fn of_features(least: f64) -> Result<Self, SimilarityError> {
        Similarity { least, words: None }.checked()
    }

    /// Creates a least similarity of all shingles of `words` words, 1 to 64, as [`FeatureSet::of_shingles`] makes them.
    ///
    /// # Errors
    /// A number out of range.
    pub fn of_words(least: f64, words: usize) -> Result<Self, SimilarityError> {
        let words = Some(words);
        Similarity { least, words }.checked()
    }

    fn checked(self) -> Result<Self, SimilarityError> {
        if !(self.least > 0.0 && self.least <= 1.0) {
            return Err(SimilarityError::Least(self.least));
        }
        match self.words {
            Some(words) if !(1..=MAX_WORDS).contains(&words) => Err(SimilarityError::Words(words)),
            _ => Ok(self),
        }
    }

    /// The least Jaccard similarity.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The number of words in a shingle; `None` if the features of the pipeline are compared.
    pub fn words(&self) -> Option<usize> {
        self.words
    }

    /// Returns the features to compare. A document without features gets a set that only equal documents share.
    pub fn feature_set(&self, fingerprinter: &mut Fingerprinter, document: &str) -> FeatureSet {
        let set = self.features(fingerprinter, document);
        set.unwrap_or_else(|| Self::without_features(document))
    }

    /// Returns the features of a document, or `None` if it has none.
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

    /// Returns the substitute for the features of a document that has none.
    pub(crate) fn without_features(document: &str) -> FeatureSet {
        FeatureSet::from_hashes(vec![xxh3_64(document.as_bytes())])
    }
}

impl Default for Similarity {
    /// At least 0.8 of all shingles of three words.
    fn default() -> Self {
        Similarity {
            least: 0.8,
            words: Some(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        for least in [0.0, 1.01, -1.0] {
            assert!(Similarity::of_features(least).is_err(), "{least}");
            assert!(Similarity::of_words(least, 3).is_err(), "{least}");
        }
        assert!(Similarity::of_words(0.5, 0).is_err());
        assert!(Similarity::of_words(1.0, 64).is_ok());
        assert_eq!(Similarity::default(), Similarity::of_words(0.8, 3).unwrap());
        assert!(Similarity::of_features(f64::NAN).is_err());
        assert!(Similarity::of_words(0.5, 65).is_err());
    }
}
