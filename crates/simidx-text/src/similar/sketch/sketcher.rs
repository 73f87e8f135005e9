//! Sketches of texts: long one-bit MinHash values that estimate the Jaccard similarity of two texts.

use std::fmt;
use std::str::FromStr;

use simidx::format::SketchParameters;

use crate::compare::FeatureSet;
use crate::dedup::Similarity;
use crate::minhash::minima_of;
use crate::stages::Html;
use crate::{Error, Fingerprinter, Pipeline, PipelineOptions, Result};

/// The prefix of the features in their text form.
const WORDS: &str = "words:";

/// The prefix of the first stage in its text form.
const HTML: &str = "html:";

/// The features of a document that sketches are made from: all shingles of a number of words, and whether the text is
/// extracted from HTML.
///
/// The text form is `words:3 html:no`, as an index records it.
///
/// ```
/// use simidx_text::similar::SketchFeatures;
/// use simidx_text::stages::Html;
///
/// let features: SketchFeatures = "words:5 html:auto".parse()?;
/// assert_eq!((features.words(), features.html()), (5, Html::Auto));
/// assert_eq!(SketchFeatures::default().to_string(), "words:3 html:no");
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchFeatures {
    words: usize,
    html: Html,
}

impl SketchFeatures {
    /// Shingles of `words` words, 1 to 64, as [`FeatureSet::of_shingles`] makes them.
    ///
    /// # Errors
    /// A number out of range.
    pub fn new(words: usize, html: Html) -> Result<Self> {
        match Similarity::of_words(1.0, words) {
            Ok(_) => Ok(SketchFeatures { words, html }),
            Err(_) => Err(Error::Pipeline(format!(
                "runs of {words} words; use 1 to 64"
            ))),
        }
    }

    /// Number of words in a shingle.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Whether documents are HTML.
    pub fn html(&self) -> Html {
        self.html
    }
}

impl Default for SketchFeatures {
    /// Shingles of three words of plain text.
    fn default() -> Self {
        SketchFeatures {
            words: 3,
            html: Html::No,
        }
    }
}

impl fmt::Display for SketchFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORDS}{} {HTML}{}", self.words, self.html)
    }
}

impl FromStr for SketchFeatures {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = || {
            let (words, html) = text.split_once(' ')?;
            let words = words.strip_prefix(WORDS)?.parse().ok()?;
            let html = html.strip_prefix(HTML)?.parse().ok()?;
            SketchFeatures::new(words, html).ok()
        };
        // Only the exact text form is known: the features of an index with `words:03` are unknown.
        let parsed = parsed().filter(|features| features.to_string() == text);
        parsed.ok_or_else(|| {
            let clause = format!("unknown features of sketches {text:?}, known are such as");
            Error::Pipeline(format!(
                "{clause} {:?}",
                SketchFeatures::default().to_string()
            ))
        })
    }
}

/// Makes sketches of documents or of sets of features. Cheap to clone.
///
/// Bit i of a sketch is the lowest bit of the smallest value of hash function i over all features. Two sets with
/// Jaccard similarity J have equal bits with probability (1 + J) / 2, so [`JaccardEstimate`] can compute J from the
/// distance.
///
/// ```
/// use simidx::Width;
/// use simidx_text::similar::{JaccardEstimate, SketchFeatures, Sketcher};
///
/// let sketcher = Sketcher::new(256, SketchFeatures::default())?;
/// let mut fingerprinter = sketcher.pipeline()?.fingerprinter(Width::W64)?;
/// let texts = ["one two three four five six seven", "one two three four five six eight"];
/// let [a, b] = texts.map(|text| sketcher.sketch(&mut fingerprinter, text));
/// let estimate = JaccardEstimate::of(&a, &b);
/// assert!((estimate.similarity - 4.0 / 6.0).abs() < 3.0 * estimate.standard_error);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketcher {
    parameters: SketchParameters,
    features: SketchFeatures,
}

impl Sketcher {
    /// Creates a sketcher for sketches of `bits` bits, a multiple of 64 from 64 to 512.
    ///
    /// # Errors
    /// Another number of bits.
    pub fn new(bits: u32, features: SketchFeatures) -> Result<Self> {
        let parameters = SketchParameters::new(bits, &features.to_string());
        Ok(Sketcher {
            parameters: parameters.map_err(|error| Error::Pipeline(error.to_string()))?,
            features,
        })
    }

    /// Creates a sketcher for sketches like those of an index.
    ///
    /// # Errors
    /// Features that this program does not know.
    pub fn like(parameters: &SketchParameters) -> Result<Self> {
        Ok(Sketcher {
            features: parameters.features().parse()?,
            parameters: parameters.clone(),
        })
    }

    /// The parameters that an index records.
    pub fn parameters(&self) -> &SketchParameters {
        &self.parameters
    }

    /// The features that sketches are made from.
    pub fn features(&self) -> SketchFeatures {
        self.features
    }

    /// Returns a pipeline that extracts the text of documents for [`Sketcher::sketch`].
    ///
    /// # Errors
    /// HTML, if this crate was built without the feature `html`.
    pub fn pipeline(&self) -> Result<Pipeline> {
        Pipeline::new(PipelineOptions {
            html: self.features.html,
            ..PipelineOptions::default()
        })
    }

    /// Returns the least similarity `least` of the features that these sketches are made from.
    pub fn similarity(&self, least: f64) -> Result<Similarity> {
        let similarity = Similarity::of_words(least, self.features.words);
        similarity.map_err(|error| Error::Pipeline(error.to_string()))
    }

    /// Returns the features of a document. The pipeline of the fingerprinter must extract texts like
    /// [`Sketcher::pipeline`].
    pub fn feature_set(&self, fingerprinter: &mut Fingerprinter, document: &str) -> FeatureSet {
        let similarity = Similarity::of_words(1.0, self.features.words).unwrap_or_default();
        similarity.feature_set(fingerprinter, document)
    }

    /// Returns the sketch of a document, in a quarter of a nanosecond for each bit and word, plus the time to find the
    /// words.
    pub fn sketch(&self, fingerprinter: &mut Fingerprinter, document: &str) -> TextSketch {
        self.sketch_of(&self.feature_set(fingerprinter, document))
    }

    /// Returns the sketch of a set of features.
    pub fn sketch_of(&self, features: &FeatureSet) -> TextSketch {
        let minima = minima_of(self.parameters.bits(), features.hashes());
        let word = |minima: &[u32]| {
            let bits = minima.iter().enumerate();
            bits.fold(0, |word, (i, minimum)| word | u64::from(minimum & 1) << i)
        };
        TextSketch(minima.chunks_exact(64).map(word).collect())
    }
}

/// The sketch of one text.
///
/// ```
/// use simidx_text::compare::FeatureSet;
/// use simidx_text::similar::{SketchFeatures, Sketcher};
///
/// let sketcher = Sketcher::new(128, SketchFeatures::default())?;
/// let sketch = sketcher.sketch_of(&FeatureSet::from_hashes(vec![7, 42]));
/// assert_eq!((sketch.bits(), sketch.as_u64s().len()), (128, 2));
/// assert_eq!(sketch.distance(&sketch), 0);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextSketch(Box<[u64]>);

impl TextSketch {
    /// The bits of the sketch in numbers of 64 bits: bit i is bit i mod 64 of number i / 64.
    pub fn as_u64s(&self) -> &[u64] {
        &self.0
    }

    /// Number of bits.
    pub fn bits(&self) -> u32 {
        self.0.len() as u32 * 64
    }

    /// Number of bits in which two sketches of equal length differ.
    pub fn distance(&self, other: &TextSketch) -> u32 {
        distance(&self.0, &other.0)
    }
}

/// Number of bits in which sketches of equal length differ.
#[inline(always)]
pub(super) fn distance(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// An estimate of the Jaccard similarity from two sketches, with its standard error.
///
/// If d of B bits differ, the estimate is 1 - 2d / B, or 0 if that is negative. Its standard error is 2 sqrt(p (1 - p)
/// / B) with p = (1 + J) / 2: for J = 0.8 it is 0.053 with 128 bits, 0.0375 with 256, 0.027 with 512. The error of two
/// thirds of all estimates is less than the standard error, and that of 95 % is less than twice the standard error.
///
/// ```
/// use simidx_text::similar::JaccardEstimate;
///
/// let estimate = JaccardEstimate::at(32, 256);
/// assert_eq!(estimate.similarity, 0.75);
/// assert!((estimate.standard_error - 0.0413).abs() < 0.0001);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JaccardEstimate {
    /// The most likely Jaccard similarity, 0 to 1.
    pub similarity: f64,
    /// The standard error at this similarity.
    pub standard_error: f64,
}

impl JaccardEstimate {
    /// Estimates the similarity from a distance between sketches of `bits` bits.
    pub fn at(distance: u32, bits: u32) -> Self {
        let similarity = (1.0 - 2.0 * f64::from(distance) / f64::from(bits)).max(0.0);
        JaccardEstimate {
            similarity,
            standard_error: standard_error(similarity, bits),
        }
    }

    /// Estimates the similarity from two sketches of equal length.
    pub fn of(a: &TextSketch, b: &TextSketch) -> Self {
        JaccardEstimate::at(a.distance(b), a.bits())
    }
}

/// The standard error of estimates of a similarity.
pub(super) fn standard_error(similarity: f64, bits: u32) -> f64 {
    let equal = (1.0 + similarity) / 2.0;
    2.0 * (equal * (1.0 - equal) / f64::from(bits)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: std::ops::Range<u64>) -> FeatureSet {
        let hash = |i: u64| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes());
        FeatureSet::from_hashes(numbers.map(hash).collect())
    }

    #[test]
    fn estimates_are_right_and_as_exact_as_they_say() {
        // 400 pairs of sets of 200 features, of which `common` are common.
        for bits in [64, 128, 256, 512] {
            let sketcher = Sketcher::new(bits, SketchFeatures::default()).unwrap();
            for common in [100u64, 150, 178, 190] {
                let jaccard = common as f64 / (400 - common) as f64;
                let estimate = |pair: u64| {
                    let start = pair * 1000;
                    let a = sketcher.sketch_of(&set(start..start + 200));
                    let b = sketcher.sketch_of(&set(start + 200 - common..start + 400 - common));
                    JaccardEstimate::of(&a, &b).similarity
                };
                let errors: Vec<f64> = (0..400).map(|pair| estimate(pair) - jaccard).collect();
                let expected = standard_error(jaccard, bits);
                let mean = errors.iter().sum::<f64>() / 400.0;
                assert!(
                    mean.abs() < 5.0 * expected / 20.0,
                    "{bits} {common}: {mean}"
                );
                let square = errors.iter().map(|error| error * error).sum::<f64>() / 400.0;
                // The standard error of the measured error is a 28th of it.
                assert!(
                    (square.sqrt() / expected - 1.0).abs() < 0.2,
                    "{bits} {common}"
                );
            }
        }
    }

    #[test]
    fn the_first_bits_of_a_long_sketch_are_a_short_one() {
        let sketch = |bits| {
            let sketcher = Sketcher::new(bits, SketchFeatures::default()).unwrap();
            sketcher.sketch_of(&set(0..300))
        };
        assert_eq!(sketch(512).as_u64s()[..2], *sketch(128).as_u64s());
        assert_ne!(sketch(128).as_u64s()[0], sketch(128).as_u64s()[1]);
    }

    #[test]
    fn features_are_read_and_written() {
        for text in ["words:3 html:no", "words:64 html:auto", "words:1 html:yes"] {
            assert_eq!(text.parse::<SketchFeatures>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "words:3",
            "words:0 html:no",
            "words:65 html:no",
            "words:03 html:no",
            "words:3 html:maybe",
            "html:no words:3",
            "words:3 html:no ",
        ] {
            assert!(bad.parse::<SketchFeatures>().is_err(), "{bad}");
        }
        for bits in [0, 32, 100, 576] {
            assert!(Sketcher::new(bits, SketchFeatures::default()).is_err());
        }
    }

    #[test]
    fn sketches_of_an_index_are_made_again() {
        let sketcher = Sketcher::new(192, "words:2 html:no".parse().unwrap()).unwrap();
        assert_eq!(Sketcher::like(sketcher.parameters()).unwrap(), sketcher);
        let unknown = SketchParameters::new(64, "letters").unwrap();
        assert!(Sketcher::like(&unknown).is_err());
    }
}
