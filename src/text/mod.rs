//! Documents to fingerprints: normalise, take weighted features, combine them by simhash.
//!
//! Every stage is fixed by the [`Pipeline`], whose [description](Pipeline::describe) an index file
//! carries, so that a query text goes through the very stages that the indexed documents went
//! through.
//!
//! 1. **Normalise**: Unicode NFKC, then the full lower-case mapping, then every white-space run
//!    becomes one space, with none left at either end.
//! 2. **Features**: see [`Features`]. Each counts as often as it occurs in the document.
//! 3. **Feature hash**: the low bits of XXH3-128 with seed 0 over the UTF-8 bytes of the feature.
//! 4. **Simhash** (Charikar): each bit is a vote of all features, set if more than half of them
//!    have it set. A tie leaves the bit clear; a document without features has the fingerprint 0.

mod describe;
mod feature_set;
mod features;
mod normalise;
mod simhash;

pub use feature_set::FeatureSet;
pub use features::{Features, GramLen};

use crate::{Fingerprint, Result};
use normalise::Normaliser;
use simhash::Votes;

/// How documents become fingerprints.
///
/// ```
/// use simidx::Fingerprint;
/// use simidx::text::Pipeline;
///
/// let pipeline = Pipeline::default();
/// let a: u64 = pipeline.fingerprint("The quick brown fox jumps over the lazy dog");
/// let b: u64 = pipeline.fingerprint("the QUICK brown fox, jumps over the lazy dog!");
/// assert_eq!(a.distance(b), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    features: Features,
}

impl Pipeline {
    /// The pipeline with these features; its other stages have one form only.
    pub fn new(features: Features) -> Self {
        Pipeline { features }
    }

    /// The features that the pipeline takes from a document.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The complete description of the pipeline: one line of JSON, its keys in fixed order.
    ///
    /// Its `unicode` member names the Unicode version of the tables behind each stage of this
    /// build. The other members depend on the pipeline alone.
    pub fn describe(&self) -> String {
        describe::write(self.features)
    }

    /// Reads a description back.
    ///
    /// Any Unicode versions are accepted, and are not kept: two pipelines that differ in them only
    /// are equal. Texts that hold characters assigned, or given other word-break properties,
    /// between those versions and [ours](Self::describe) may then get other features; all other
    /// texts get the same.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`](crate::Error::Pipeline) if a member is missing, twice there, unknown or
    /// has a value that this version of the crate does not carry out.
    pub fn parse(description: &str) -> Result<Pipeline> {
        describe::read(description).map(Pipeline::new)
    }

    /// The fingerprint of one document, in time linear in its length.
    ///
    /// For many documents a [`Fingerprinter`] saves allocating for each.
    pub fn fingerprint<F: Fingerprint>(&self, text: &str) -> F {
        self.fingerprinter().fingerprint(text)
    }

    /// The pipeline with memory of its own, to be used for many documents in turn.
    pub fn fingerprinter(&self) -> Fingerprinter {
        Fingerprinter {
            features: self.features,
            normaliser: Normaliser::default(),
        }
    }
}

/// A [`Pipeline`] that keeps its working memory from one document to the next.
///
/// It holds on to about twice the bytes of the longest document seen.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    features: Features,
    normaliser: Normaliser,
}

impl Fingerprinter {
    /// The fingerprint of one document, the same as [`Pipeline::fingerprint`] gives.
    pub fn fingerprint<F: Fingerprint>(&mut self, text: &str) -> F {
        let normalised = self.normaliser.normalise(text);
        let mut votes = Votes::<F>::new();
        self.features.each(normalised, |feature| {
            votes.add(F::from_u128(feature_hash(feature)));
        });
        votes.fingerprint()
    }
}

/// The hash of a feature, of which a fingerprint uses the low bits. It must never change.
#[inline]
fn feature_hash(feature: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(feature.as_bytes())
}

#[cfg(test)]
mod tests;
