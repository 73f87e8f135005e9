//! `--verify`: how similar the texts of near-duplicates must be.

use std::str::FromStr;

use simidx_text::compare::FeatureSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::support::fingerprinters::Fingerprinters;

/// The greatest number of words in a run.
const MAX_WORDS: usize = 64;

/// The least Jaccard similarity of two texts, and of what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Similarity {
    least: f64,
    /// Words in a run; the features of the fingerprints without.
    words: Option<usize>,
}

impl FromStr for Similarity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "{text:?} is not jaccard:T or jaccard:T:N with T above 0 and at most 1, and N from 1 to {MAX_WORDS}"
            )
        };
        let rest = text.strip_prefix("jaccard:").ok_or_else(unknown)?;
        let (least, words) = match rest.split_once(':') {
            Some((least, words)) => (least, Some(words)),
            None => (rest, None),
        };
        let least: f64 = least.parse().map_err(|_| unknown())?;
        let words = words.map(usize::from_str).transpose();
        let words = words.map_err(|_| unknown())?;
        let is_known =
            least > 0.0 && least <= 1.0 && words.is_none_or(|n| (1..=MAX_WORDS).contains(&n));
        is_known
            .then_some(Similarity { least, words })
            .ok_or_else(unknown)
    }
}

impl Similarity {
    /// What is compared of a text.
    pub(super) fn set(&self, document: &str, fingerprinters: &Fingerprinters<u64>) -> FeatureSet {
        fingerprinters.with(|fingerprinter| {
            let set = match self.words {
                None => fingerprinter.feature_set(document),
                Some(length) => FeatureSet::of_shingles(fingerprinter.text(document), length),
            };
            match set.hashes().is_empty() {
                // Texts without a word are alike only if they are the same.
                true => {
                    FeatureSet::from_hashes(vec![xxh3_64(fingerprinter.text(document).as_bytes())])
                }
                false => set,
            }
        })
    }

    /// Whether two texts are similar enough.
    pub(super) fn is_met(&self, a: &FeatureSet, b: &FeatureSet) -> bool {
        a.jaccard(b) >= self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_parsed() {
        let parsed = |text: &str| text.parse::<Similarity>().ok().map(|s| (s.least, s.words));
        assert_eq!(parsed("jaccard:0.8"), Some((0.8, None)));
        assert_eq!(parsed("jaccard:1:3"), Some((1.0, Some(3))));
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
    }
}
