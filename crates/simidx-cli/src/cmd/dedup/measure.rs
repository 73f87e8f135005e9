//! The measure of near-duplicates: the distance of fingerprints, or the similarity of texts.

use simidx::{Error, Set};
use simidx_input::InputFile;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SketchFeatures, are_keys};

use super::Args;
use crate::support::failure::Failure;
use crate::support::options::DEFAULT_DISTANCE;
use crate::support::page::{decimal, plural};
use crate::support::similarity::{self, are_documents, features_of, without_width};

/// The measure of near-duplicates.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    /// Fingerprints that differ in at most this number of bits, and the reason if the user did not choose it.
    Distance(u32, Option<&'static str>),
    /// Texts of at least this similarity.
    Similarity(Similarity),
}

impl Measure {
    /// Returns the measure that the user chose, or the one that fits the records: the similarity of texts where there are
    /// texts, unless an option concerns only fingerprints.
    ///
    /// # Errors
    /// An option that does not go with it, and an input that cannot be read.
    pub(super) fn choose(
        args: &Args,
        against: Option<&Set>,
        originals: &[InputFile],
    ) -> Result<Self, Failure> {
        let has_pipeline = args.input.pipeline.makes_features();
        let measure = match (args.similarity.given(has_pipeline), args.max_distance) {
            (Some(similarity), _) => {
                without_width(args.input.width)?;
                Measure::Similarity(similarity)
            }
            (None, Some(distance)) => Measure::Distance(distance, None),
            (None, None) if args.update || !args.texts.is_empty() => {
                without_width(args.input.width)?;
                Measure::Similarity(args.similarity.or_default(has_pipeline))
            }
            (None, None) => match about_fingerprints(args, against, originals)? {
                None => Measure::Similarity(args.similarity.or_default(has_pipeline)),
                reason => Measure::Distance(DEFAULT_DISTANCE, reason),
            },
        };
        match measure {
            Measure::Distance(..) if args.chains => Err(Failure::new(
                "--chains needs --similarity; clusters by distance always follow chains",
            )),
            measure => Ok(measure),
        }
    }

    /// Returns the distance, if fingerprints are compared.
    pub(super) fn distance(self) -> Option<u32> {
        match self {
            Measure::Distance(distance, _) => Some(distance),
            Measure::Similarity(_) => None,
        }
    }

    /// Returns the definition of near-duplicates, as part of a sentence.
    pub(super) fn definition(self) -> String {
        match self {
            Measure::Distance(distance, _) => format!(
                "documents with fingerprints that differ in at most {}",
                plural(distance.into(), "bit")
            ),
            Measure::Similarity(similarity) => format!(
                "documents with a Jaccard similarity of at least {}, by their {}",
                similarity.least(),
                features_of(similarity)
            ),
        }
    }

    /// Returns the largest difference of near-duplicates: in bits, or in percent of their features.
    pub(super) fn limit(self) -> u32 {
        match self {
            Measure::Distance(distance, _) => distance,
            Measure::Similarity(similarity) => difference(similarity.least()),
        }
    }

    /// Returns the label of a difference.
    pub(super) fn label(self, difference: u32) -> String {
        match self {
            Measure::Distance(..) => difference.to_string(),
            Measure::Similarity(_) => decimal(1.0 - f64::from(difference) / 100.0, 2),
        }
    }

    /// Returns the unit of the differences.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Measure::Distance(..) => "bits that differ",
            Measure::Similarity(_) => "Jaccard similarity, rounded up",
        }
    }
}

/// The difference of two texts in percent, without what is below one.
pub(super) fn difference(jaccard: f64) -> u32 {
    // The nearest number to 1 - 0.8 is a little below a fifth.
    ((1.0 - jaccard) * 100.0 + 1e-9) as u32
}

/// Returns the reason to compare fingerprints if neither a similarity nor a distance is given.
fn about_fingerprints(
    args: &Args,
    against: Option<&Set>,
    originals: &[InputFile],
) -> Result<Option<&'static str>, Failure> {
    if let Some(set) = against {
        match set.sketch_parameters() {
            Ok(None) => return Ok(Some("the index has no sketches of texts")),
            Err(Error::Segment { .. }) => {
                return Ok(Some("not all indexes have sketches of the same kind"));
            }
            Err(error) => return Err(error.into()),
            // It needs --texts, which is said later.
            Ok(Some(parameters)) if are_keys(parameters) => {}
            Ok(Some(parameters)) => {
                let words = parameters
                    .features()
                    .parse()
                    .map(|f: SketchFeatures| f.words());
                let wanted = args
                    .similarity
                    .or_default(args.input.pipeline.makes_features());
                if words.ok() != wanted.words() {
                    return Ok(Some("the sketches of the index are of other features"));
                }
            }
        }
    }
    if let Some(reason) = similarity::about_fingerprints(args.input.width, &args.input.pipeline) {
        return Ok(Some(reason));
    }
    let are_fingerprints = are_documents(originals)? == Some(false);
    Ok(are_fingerprints.then_some("the records are fingerprints"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_bits_or_percents() {
        let distance = Measure::Distance(3, None);
        assert_eq!((distance.limit(), distance.label(2)), (3, "2".to_owned()));
        let similarity = Measure::Similarity(Similarity::default());
        assert_eq!(similarity.limit(), 20);
        assert_eq!(similarity.label(20), "0.80");
        assert_eq!([1.0, 0.999, 0.99, 0.8].map(difference), [0, 0, 1, 20]);
        for percent in 1..=100 {
            assert_eq!(difference(f64::from(percent) / 100.0), 100 - percent);
        }
    }
}
