//! Computes fingerprints of documents: cleans and normalises them, cuts them into tokens, weighs features and combines
//! their hashes.
//!
//! A [`Pipeline`] determines every stage. An index file stores its [description](Pipeline::describe), so that queries
//! pass through the same stages as the indexed documents.
//!
//! 1. **Clean**: extract the text of HTML, see [`Html`](stages::Html).
//! 2. **Normalise**: see [`Normalise`](stages::Normalise).
//! 3. **Tokenize**: cut the text into tokens, see [`Tokenizer`](stages::Tokenizer), and drop stop words.
//! 4. **Features**: tokens, or shingles of several tokens. The weight of a feature depends on its number of occurrences
//!    ([`Weights`](stages::Weights)), times its inverse document frequency ([`Idf`]), times the factor of its part of
//!    speech ([`PartOfSpeechWeights`](stages::PartOfSpeechWeights)). [`FeatureSelection`] decides which features count.
//! 5. **Fingerprint**: hash the features ([`FeatureHash`](stages::FeatureHash)) and combine the hashes ([`Sketch`]).
//!
//! A [`Preset`] is a pipeline for a purpose. The default is [`Preset::Web`], here and in the program `simidx`.
//! [`Pipeline::fingerprint`] processes one document, a [`Fingerprinter`] many consecutively, and a
//! [`ParallelFingerprinter`] many simultaneously.
//!
//! The module [`similar`] works without fingerprints: it finds nearly all pairs of texts with at least a given Jaccard
//! similarity, and deduplicates texts. The module [`contained`] finds texts that are part of longer ones, such as items of
//! a test set in training data.
//!
//! The feature `html`, which is on by default, extracts the text of HTML. `jieba` cuts Chinese texts by a dictionary,
//! and `compat` has the hashes and tokens of other simhash libraries. Without such a feature, a pipeline that needs it
//! is refused with an [`Error::Pipeline`] that names the feature.

pub mod assets;
mod clean;
pub mod compare;
#[cfg(feature = "compat")]
mod compat;
pub mod contained;
#[cfg(target_arch = "x86_64")]
mod cpu;
pub mod dedup;
mod describe;
mod error;
mod feature_hash;
mod feature_set;
mod fingerprinter;
#[cfg(feature = "html")]
mod html;
mod minhash;
mod names;
mod normalise;
mod options;
mod parallel;
mod presets;
mod scripts;
mod shingles;
mod simhash;
pub mod similar;
pub mod stages;
mod tally;
mod tokenizer;
mod weights;

pub use error::{Error, Result};
pub use fingerprinter::{Feature, Fingerprinter};
pub use minhash::jaccard_estimate;
pub use options::PipelineOptions;
pub use parallel::ParallelFingerprinter;
pub use presets::Preset;
pub use simhash::simhash;

use std::collections::HashSet;
use std::sync::Arc;

use assets::{Assets, StopWords};
use normalise::Normaliser;
use options::{Idf, Sketch};
use simidx::Width;
use weights::FeatureSelection;

/// The stages that compute the fingerprint of a document. Cheap to clone.
///
/// `Pipeline::default()` is the preset [`Preset::Web`].
///
/// ```
/// use simidx::{Fingerprint, Width};
/// use simidx_text::Pipeline;
///
/// let pipeline = Pipeline::default();
/// let a = pipeline.fingerprint("The quick brown fox jumps over the lazy dog", Width::W64)?;
/// let b = pipeline.fingerprint("the QUICK brown fox, jumps over the lazy dog!", Width::W64)?;
/// assert_eq!(a.distance(b), 0);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    options: Arc<PipelineOptions>,
    /// The stop words, normalised.
    stop_words: Arc<HashSet<String>>,
    #[cfg(feature = "jieba")]
    dictionary: tokenizer::Dictionary,
}

/// [`Preset::Web`], which is also the default of the program `simidx`. It needs the feature `html`.
#[cfg(feature = "html")]
impl Default for Pipeline {
    fn default() -> Self {
        Pipeline::new(PipelineOptions::default()).expect("the stages of a preset fit together")
    }
}

impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Pipeline {
    /// Creates the pipeline of these stages.
    ///
    /// # Errors
    /// [`Error::Pipeline`] for stages that do not fit together.
    pub fn new(options: PipelineOptions) -> Result<Self> {
        options.check()?;
        let mut normaliser = Normaliser::new(options.normalise);
        let stop_words = options.stop_words.iter().flat_map(StopWords::words);
        let stop_words = stop_words.map(|word| normaliser.normalise(word).to_owned());
        let stop_words: Arc<HashSet<String>> = Arc::new(stop_words.collect());
        Ok(Pipeline {
            #[cfg(feature = "jieba")]
            dictionary: match &options.user_dictionary {
                Some(words) => tokenizer::Dictionary::with(words, &mut normaliser),
                None => tokenizer::Dictionary::default(),
            },
            stop_words,
            options: Arc::new(options),
        })
    }

    /// The stages of the pipeline.
    pub fn options(&self) -> &PipelineOptions {
        &self.options
    }

    /// Returns the complete description of the pipeline: one line of JSON with its keys in a fixed order.
    ///
    /// Its member `tables` names the versions of the tables that the stages of this build use. All other members depend
    /// only on the pipeline.
    pub fn describe(&self) -> String {
        describe::write(&self.options)
    }

    /// Parses a description. The files that it names must be among the assets.
    ///
    /// The versions of tables are ignored: pipelines that differ only in them are equal. A text gets the same features
    /// from both versions unless it has characters that Unicode assigned or changed between them.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`] if a member is missing, repeated or unknown, or has a value that this build does not
    /// support, or if a file is missing.
    pub fn parse(description: &str, assets: &Assets) -> Result<Pipeline> {
        Pipeline::new(describe::read(description, assets)?)
    }

    /// Returns the fingerprint of one document, in time linear in its length.
    ///
    /// For many documents, a [`Fingerprinter`] avoids allocations.
    ///
    /// # Errors
    /// The errors of [`Pipeline::fingerprinter`].
    pub fn fingerprint(&self, document: &str, width: Width) -> Result<u128> {
        Ok(self.fingerprinter(width)?.fingerprint(document))
    }

    /// The result of [`Pipeline::fingerprint`] for every document in which no feature counts: 0, or all bits set if
    /// ties set a bit. [`Fingerprinter::fingerprint_if_any`] distinguishes these documents from others.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Pipeline, Preset};
    ///
    /// let pipeline = Pipeline::new(Preset::Short.options())?;
    /// let nothing = pipeline.fingerprint("…?!", Width::W64)?;
    /// assert_eq!(nothing, pipeline.empty_fingerprint(Width::W64));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn empty_fingerprint(&self, width: Width) -> u128 {
        match self.options.sketch {
            Sketch::SimHash => self.options.ties.of_none(width),
            Sketch::MinHash => 0,
        }
    }

    /// Returns the pipeline with working memory, for many documents consecutively.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`] if the feature hash has fewer bits than the fingerprint.
    pub fn fingerprinter(&self, width: Width) -> Result<Fingerprinter> {
        let hash = self.options.feature_hash;
        let bits = hash.width();
        if width.bits() > bits {
            let clause = format!("{hash} has {bits} bits, too few for fingerprints of {width}");
            return Err(Error::Pipeline(clause));
        }
        Ok(Fingerprinter::new(self, width))
    }

    /// Whether every feature counts.
    fn counts_all(&self) -> bool {
        let options = &*self.options;
        options.select == FeatureSelection::All
            && options.idf == Idf::None
            && options.parts.is_none()
    }
}

#[cfg(test)]
mod tests;
