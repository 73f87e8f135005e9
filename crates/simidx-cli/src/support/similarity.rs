//! `--similarity`: how similar texts must be, and by which features.

use simidx::Width;
use simidx_text::dedup::Similarity;

use crate::support::failure::Failure;

/// The least similarity for which texts are found as surely as for all others.
const SMALLEST: f64 = 0.02;

/// The similarity where the user names none.
const DEFAULT_LEAST: f64 = 0.8;

/// How similar texts must be; shared by the commands that compare texts.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SimilarityArgs {
    /// Least Jaccard similarity of two texts, from 0.02 to 1: the share of their features that both have
    #[arg(
        long,
        value_name = "J",
        value_parser = least,
        conflicts_with = "max_distance"
    )]
    similarity: Option<f64>,
    /// Features that texts are compared by: words:N, all runs of N words, or pipeline, what fingerprints are made of
    /// [default: words:3]
    #[arg(
        long,
        value_name = "FEATURES",
        value_parser = features,
        conflicts_with = "max_distance"
    )]
    features: Option<Features>,
}

/// What two texts may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Features {
    /// Runs of so many words.
    Words(usize),
    /// What the pipeline makes fingerprints of.
    Pipeline,
}

/// Reads a similarity.
pub(crate) fn least(text: &str) -> Result<f64, String> {
    let least = text.parse().ok();
    let least = least.filter(|least| (SMALLEST..=1.0).contains(least));
    least.ok_or_else(|| format!("a similarity is a number from {SMALLEST} to 1, such as 0.8"))
}

/// Reads `words:N`.
pub(crate) fn words(text: &str) -> Result<usize, String> {
    let words = || {
        let words = text.strip_prefix("words:")?.parse().ok()?;
        Similarity::of_words(DEFAULT_LEAST, words).ok()?;
        Some(words)
    };
    words().ok_or_else(|| "features are words:N with N from 1 to 64".into())
}

fn features(text: &str) -> Result<Features, String> {
    match text {
        "pipeline" => Ok(Features::Pipeline),
        _ => match words(text) {
            Ok(words) => Ok(Features::Words(words)),
            Err(message) => Err(format!("{message}, or pipeline")),
        },
    }
}

impl SimilarityArgs {
    /// Whether texts are to be compared in any case.
    pub(crate) fn is_given(&self) -> bool {
        self.similarity.is_some() || self.features.is_some()
    }

    /// The similarity, if one is given.
    pub(crate) fn given(&self) -> Option<Similarity> {
        self.is_given().then(|| self.or_default())
    }

    /// The similarity, 0.8 of runs of three words if nothing else is said.
    pub(crate) fn or_default(&self) -> Similarity {
        let least = self.similarity.unwrap_or(DEFAULT_LEAST);
        let similarity = match self.features.unwrap_or(Features::Words(3)) {
            Features::Words(words) => Similarity::of_words(least, words),
            Features::Pipeline => Similarity::of_features(least),
        };
        // Both were checked when they were read.
        similarity.unwrap_or_default()
    }
}

/// Refuses a width of fingerprints where texts are compared.
///
/// # Errors
/// Another width than that of the default.
pub(crate) fn without_width(width: Width) -> Result<(), Failure> {
    match width {
        Width::W64 => Ok(()),
        _ => Err(Failure::new(
            "--width is that of fingerprints, and --similarity compares texts; leave one of them out",
        )),
    }
}

/// The features that a similarity is of, in words.
pub(crate) fn features_of(similarity: Similarity) -> String {
    match similarity.words() {
        Some(1) => "words".to_owned(),
        Some(words) => format!("runs of {words} words"),
        None => "features of the pipeline".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_read() {
        assert_eq!(least("0.8"), Ok(0.8));
        assert_eq!(least("1"), Ok(1.0));
        for wrong in ["0", "0.01", "1.01", "-1", "nan", "80%", ""] {
            assert!(least(wrong).is_err(), "{wrong}");
        }
        assert_eq!(features("words:5"), Ok(Features::Words(5)));
        assert_eq!(features("pipeline"), Ok(Features::Pipeline));
        for wrong in ["words", "words:0", "words:65", "5", "Pipeline"] {
            assert!(features(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_is_four_fifths_of_runs_of_three_words() {
        let args = SimilarityArgs {
            similarity: None,
            features: None,
        };
        assert_eq!(args.or_default(), Similarity::default());
        assert_eq!(args.given(), None);
        let features = Some(Features::Pipeline);
        let args = SimilarityArgs { features, ..args };
        assert_eq!(args.given(), Similarity::of_features(0.8).ok());
        assert_eq!(features_of(args.or_default()), "features of the pipeline");
    }
}
