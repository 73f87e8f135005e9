//! Compares two documents by their fingerprints and, exactly, by their features.

use std::collections::HashMap;

use super::minhash::jaccard_estimate;
use super::options::Sketch;
use super::{Feature, Fingerprinter};
pub use crate::feature_set::FeatureSet;
use simidx::{Fingerprint, Width};

/// The comparison of two documents by one pipeline, as [`Fingerprinter::compare`] returns it.
///
/// ```
/// use simidx::Width;
/// use simidx_text::{Pipeline, Preset};
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let comparison = pipeline.fingerprinter(Width::W64)?.compare("one two three", "one two four");
/// assert_eq!(comparison.jaccard(), 2.0 / 4.0);
/// assert_eq!(comparison.most_different(1)[0].text, "three");
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The first document.
    pub a: ComparedDocument,
    /// The second document.
    pub b: ComparedDocument,
    /// The distinct features of both documents, in the order of their first occurrences: the features of the first
    /// document, then those that only the second one has.
    pub features: Vec<ComparedFeature>,
    width: Width,
    sketch: Sketch,
    is_equal: bool,
}

/// One of the two documents of a comparison.
///
/// ```
/// use simidx::Width;
/// use simidx_text::{Pipeline, Preset};
/// use simidx_text::compare::ComparedDocument;
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let comparison = pipeline.fingerprinter(Width::W64)?.compare("no no yes", "no");
/// let first: ComparedDocument = comparison.a;
/// assert_eq!((first.distinct_count, first.occurrence_count), (2, 3));
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparedDocument {
    /// The fingerprint of the document.
    pub fingerprint: u128,
    /// Number of distinct features.
    pub distinct_count: u64,
    /// Number of distinct features that count, that is, have a weight above 0.
    pub counted_count: u64,
    /// Number of occurrences of features.
    pub occurrence_count: u64,
}

impl ComparedDocument {
    /// Whether any feature counts. Without features, the fingerprint carries no information about the document.
    pub fn has_features(&self) -> bool {
        self.counted_count > 0
    }
}

/// A feature of two documents, with its weight in each.
///
/// ```
/// use simidx::Width;
/// use simidx_text::{Pipeline, Preset};
/// use simidx_text::compare::ComparedFeature;
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let comparison = pipeline.fingerprinter(Width::W64)?.compare("no no yes", "no");
/// let yes: &ComparedFeature = comparison.most_different(1)[0];
/// assert_eq!((yes.text.as_str(), yes.weight_b), ("no", 1.0));
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparedFeature {
    /// The text of the feature.
    pub text: String,
    /// The weight in the first document; 0 if the feature does not occur or does not count.
    pub weight_a: f64,
    /// The weight in the second document.
    pub weight_b: f64,
}

impl ComparedFeature {
    /// The absolute difference of the weights.
    fn difference(&self) -> f64 {
        (self.weight_a - self.weight_b).abs()
    }
}

impl Fingerprinter {
    /// Compares the fingerprints and all features of two documents. The time is linear in their lengths, the memory
    /// about 100 bytes for each feature.
    pub fn compare(&mut self, a: &str, b: &str) -> Comparison {
        let is_equal = a == b;
        let (a, of_a) = self.compared(a);
        let (b, of_b) = self.compared(b);
        Comparison {
            a,
            b,
            features: aligned(of_a, of_b),
            width: self.width,
            sketch: self.pipeline.options.sketch,
            is_equal,
        }
    }

    /// Returns one side of a comparison, with the features of the document.
    fn compared(&mut self, document: &str) -> (ComparedDocument, Vec<Feature>) {
        let features = self.features(document);
        let counted = features.iter().filter(|feature| feature.weight > 0.0);
        let document = ComparedDocument {
            fingerprint: self.fingerprint(document),
            distinct_count: features.len() as u64,
            counted_count: counted.count() as u64,
            occurrence_count: features.iter().map(|f| u64::from(f.count)).sum(),
        };
        (document, features)
    }
}

/// Merges the features of two documents by their hashes.
fn aligned(a: Vec<Feature>, b: Vec<Feature>) -> Vec<ComparedFeature> {
    let numbers = a.iter().enumerate().map(|(i, feature)| (feature.hash, i));
    let numbers: HashMap<u128, usize> = numbers.collect();
    let of_a = a.into_iter().map(|feature| ComparedFeature {
        text: feature.text,
        weight_a: feature.weight,
        weight_b: 0.0,
    });
    let mut features: Vec<_> = of_a.collect();
    for feature in b {
        match numbers.get(&feature.hash) {
            Some(&i) => features[i].weight_b = feature.weight,
            None => features.push(ComparedFeature {
                text: feature.text,
                weight_a: 0.0,
                weight_b: feature.weight,
            }),
        }
    }
    features
}

impl Comparison {
    /// The distance between the fingerprints.
    pub fn distance(&self) -> u32 {
        self.a.fingerprint.distance(self.b.fingerprint)
    }

    /// Whether both documents have features; see [`Comparison::is_near`].
    pub fn have_features(&self) -> bool {
        self.a.has_features() && self.b.has_features()
    }

    /// Whether the documents have the same bytes.
    pub fn are_equal(&self) -> bool {
        self.is_equal
    }

    /// Whether the documents are near-duplicates: their fingerprints differ in at most `distance` bits. A document
    /// without features is near only to an equal document, regardless of the fingerprints.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Pipeline, Preset};
    ///
    /// let mut fingerprinter = Pipeline::new(Preset::Short.options())?.fingerprinter(Width::W64)?;
    /// assert!(fingerprinter.compare("one two", "two, one").is_near(3));
    /// assert!(!fingerprinter.compare("👍", "→ ←").is_near(3));
    /// assert!(fingerprinter.compare("👍", "👍").is_near(3));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn is_near(&self, distance: u32) -> bool {
        match self.have_features() {
            true => self.distance() <= distance,
            false => self.is_equal,
        }
    }

    /// Returns the bits in which the fingerprints differ, ascending; bit 0 is the least significant.
    pub fn differing_bits(&self) -> Vec<u32> {
        let bits = self.a.fingerprint ^ self.b.fingerprint;
        (0..self.width.bits())
            .filter(|&bit| bits >> bit & 1 == 1)
            .collect()
    }

    /// The exact value of the similarity that the fingerprints estimate, 0 to 1: [`cosine`](Self::cosine) for simhash,
    /// [`jaccard`](Self::jaccard) for MinHash.
    pub fn similarity(&self) -> f64 {
        match self.sketch {
            Sketch::SimHash => self.cosine(),
            Sketch::MinHash => self.jaccard(),
        }
    }

    /// Estimates [`Comparison::similarity`] from the distance of the fingerprints, 0 to 1: for simhash it is the cosine
    /// of the angle π · distance / f, for MinHash [`jaccard_estimate`]. If a document has no features, it is 1 for
    /// equal documents, else 0.
    pub fn estimate(&self) -> f64 {
        if !self.have_features() {
            return self.if_equal();
        }
        let distance = self.distance();
        match self.sketch {
            Sketch::SimHash => {
                let turn = f64::from(distance) / f64::from(self.width.bits());
                (std::f64::consts::PI * turn).cos().max(0.0)
            }
            Sketch::MinHash => jaccard_estimate(distance, self.width),
        }
    }

    /// The cosine of the angle between the vectors of weights, 0 to 1. If a document has no features, it is 1 for equal
    /// documents, else 0.
    pub fn cosine(&self) -> f64 {
        let sum = |f: fn(&ComparedFeature) -> f64| self.features.iter().map(f).sum::<f64>();
        let squares = sum(|f| f.weight_a * f.weight_a) * sum(|f| f.weight_b * f.weight_b);
        if squares > 0.0 {
            return (sum(|f| f.weight_a * f.weight_b) / squares.sqrt()).min(1.0);
        }
        self.if_equal()
    }

    /// The Jaccard similarity of the sets of features that count, 0 to 1. If both sets are empty, it is 1 for equal
    /// documents, else 0.
    pub fn jaccard(&self) -> f64 {
        let count = |pick: fn(&ComparedFeature) -> bool| {
            self.features.iter().filter(|f| pick(f)).count() as f64
        };
        match count(|f| f.weight_a > 0.0 || f.weight_b > 0.0) {
            0.0 => self.if_equal(),
            either => count(|f| f.weight_a > 0.0 && f.weight_b > 0.0) / either,
        }
    }

    /// The weighted Jaccard similarity, 0 to 1: the sum of the smaller weights divided by the sum of the greater ones.
    /// If neither document has features, it is 1 for equal documents, else 0.
    pub fn weighted_jaccard(&self) -> f64 {
        let sum = |f: fn(&ComparedFeature) -> f64| self.features.iter().map(f).sum::<f64>();
        match sum(|f| f.weight_a.max(f.weight_b)) {
            0.0 => self.if_equal(),
            greater => sum(|f| f.weight_a.min(f.weight_b)) / greater,
        }
    }

    /// Returns at most `count` of the features whose weights differ, by descending difference; features with equal
    /// differences are in the order of [`features`](Self::features).
    pub fn most_different(&self, count: usize) -> Vec<&ComparedFeature> {
        let differing = self.features.iter().filter(|f| f.difference() > 0.0);
        let mut differing: Vec<_> = differing.collect();
        differing.sort_by(|a, b| b.difference().total_cmp(&a.difference()));
        differing.truncate(count);
        differing
    }

    /// The similarity of two documents of which at least one has no features.
    fn if_equal(&self) -> f64 {
        f64::from(u8::from(self.is_equal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pipeline, PipelineOptions};

    const PIPELINES: &[&str] = &[
        "short",
        "short,fingerprint=simhash",
        #[cfg(feature = "compat")]
        "compat-mfonda",
    ];

    fn compare(pipeline: &str, a: &str, b: &str) -> Comparison {
        let options: PipelineOptions = pipeline.parse().unwrap();
        let pipeline = Pipeline::new(options).unwrap();
        pipeline.fingerprinter(Width::W64).unwrap().compare(a, b)
    }

    #[test]
    fn figures_are_those_of_the_weights() {
        // The weights are 2 and 1 for x, 1 and 0 for y, 0 and 2 for z.
        let found = compare("short,fingerprint=simhash", "x y x", "z x z");
        assert_eq!(found.jaccard(), 1.0 / 3.0);
        assert_eq!(found.weighted_jaccard(), 1.0 / 5.0);
        assert!((found.cosine() - 2.0 / 5.0).abs() < 1e-12);
        assert_eq!(found.similarity(), found.cosine());
        assert_eq!((found.a.distinct_count, found.a.occurrence_count), (2, 3));
        let order = found.most_different(9);
        let order: Vec<_> = order.iter().map(|f| &*f.text).collect();
        assert_eq!(order, ["z", "x", "y"]);
        assert_eq!(found.most_different(1)[0].weight_b, 2.0);
        assert_eq!(found.differing_bits().len() as u32, found.distance());
    }

    #[test]
    fn fingerprints_are_those_of_the_pipeline() {
        for pipeline in PIPELINES {
            let options: PipelineOptions = pipeline.parse().unwrap();
            let of = |text| {
                Pipeline::new(options.clone())
                    .unwrap()
                    .fingerprint(text, Width::W64)
            };
            let found = compare(pipeline, "one two three four", "one two three five");
            assert_eq!(found.a.fingerprint, of("one two three four").unwrap());
            assert_eq!(found.b.fingerprint, of("one two three five").unwrap());
        }
    }

    #[test]
    fn without_features_only_equal_documents_are_alike() {
        for pipeline in PIPELINES {
            for (a, b) in [("", ""), ("…", "…"), ("", "…"), ("", "word"), ("!", "! ")] {
                let found = compare(pipeline, a, b);
                let expected = f64::from(u8::from(a == b));
                let figures = [
                    found.similarity(),
                    found.cosine(),
                    found.jaccard(),
                    found.weighted_jaccard(),
                    found.estimate(),
                ];
                assert_eq!(figures, [expected; 5], "{pipeline}: {a:?} {b:?}");
                assert_eq!(found.is_near(64), a == b);
                assert!(!found.have_features() && !found.a.has_features());
                assert_eq!(found.b.has_features(), b == "word");
            }
        }
        let found = compare("short", "a b", "b, a");
        assert!(found.is_near(0) && found.have_features() && !found.are_equal());
    }
}
