//! Documents to fingerprints: clean, normalise, segment, weigh features, combine their hashes.
//!
//! Every stage is fixed by the [`Pipeline`], whose [description](Pipeline::describe) an index file
//! carries, so that a query text goes through the very stages that the indexed documents went
//! through.
//!
//! 1. **Clean**: the text of HTML, see [`Html`].
//! 2. **Normalise**: see [`Normalise`].
//! 3. **Tokenizer**: the text is cut into tokens, see [`Tokenizer`]; stop words go.
//! 4. **Features**: tokens, or shingles of several. Each has a weight: of its occurrences ([`Weights`]), times its
//!    inverse document frequency ([`Idf`]), times the factor of its part of speech ([`PartOfSpeechWeights`]); [`FeatureSelection`] says
//!    which count.
//! 5. **Fingerprint**: the features are hashed ([`FeatureHash`]), and the hashes combined by [`Sketch`].
//!
//! [`Preset`]s are pipelines made for a purpose.

mod assets;
mod clean;
mod compare;
mod describe;
mod document_frequency;
mod error;
mod feature_set;
mod fingerprinter;
mod hash;
#[cfg(feature = "html")]
mod html;
mod minhash;
mod normalise;
mod options;
mod presets;
mod scripts;
mod shingles;
mod simhash;
mod tally;
mod tokenizer;
mod weights;

pub use assets::{Assets, IdfTable, StopWords, UserDictionary};
pub use clean::Html;
pub use compare::{ComparedDocument, ComparedFeature, Comparison};
pub use document_frequency::{DocumentFrequencies, FrequencyCounter};
pub use error::{AssetError, AssetPlace, Error, Result};
pub use feature_set::FeatureSet;
pub use fingerprinter::{Feature, Fingerprinter};
pub use hash::FeatureHash;
pub use minhash::jaccard_estimate;
pub use normalise::Normalise;
pub use options::{Idf, PipelineOptions, Sketch};
pub use presets::Preset;
pub use simhash::{TieRule, simhash};
pub use tokenizer::{GramLen, Tokenizer};
pub use weights::{FeatureSelection, PartOfSpeechWeights, Weights};

use std::collections::HashSet;
use std::sync::Arc;

use normalise::Normaliser;
use simidx::Fingerprint;
use tokenizer::Tokenize;

/// How documents become fingerprints. Cheap to clone.
///
/// ```
/// use simidx::Fingerprint;
/// use simidx_text::Pipeline;
///
/// let pipeline = Pipeline::default();
/// let a: u64 = pipeline.fingerprint("The quick brown fox jumps over the lazy dog")?;
/// let b: u64 = pipeline.fingerprint("the QUICK brown fox, jumps over the lazy dog!")?;
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

impl Default for Pipeline {
    /// The pipeline of [`PipelineOptions::default`]: words, each as often as it occurs, by simhash.
    fn default() -> Self {
        Pipeline {
            options: Arc::default(),
            stop_words: Arc::default(),
            #[cfg(feature = "jieba")]
            dictionary: tokenizer::Dictionary::default(),
        }
    }
}

impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Pipeline {
    /// The pipeline of these stages.
    ///
    /// # Errors
    ///
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

    /// The complete description of the pipeline: one line of JSON, its keys in fixed order.
    ///
    /// Its `tables` member names the versions of the tables behind each stage of this
    /// build. The other members depend on the pipeline alone.
    pub fn describe(&self) -> String {
        describe::write(&self.options)
    }

    /// Reads a description back; the files that it names must be among the assets.
    ///
    /// Any versions of tables are accepted, and are not kept: two pipelines that differ in them only
    /// are equal. Texts that hold characters assigned, or given other properties,
    /// between those versions and [ours](Self::describe) may then get other features; all other
    /// texts get the same.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`] if a member is missing, twice there, unknown or
    /// has a value that this version of the crate does not carry out, or if a file is missing.
    pub fn parse(description: &str, assets: &Assets) -> Result<Pipeline> {
        Pipeline::new(describe::read(description, assets)?)
    }

    /// The fingerprint of one document, in time linear in its length.
    ///
    /// For many documents a [`Fingerprinter`] saves allocating for each.
    ///
    /// # Errors
    ///
    /// As for [`Pipeline::fingerprinter`].
    pub fn fingerprint<F: Fingerprint>(&self, document: &str) -> Result<F> {
        Ok(self.fingerprinter()?.fingerprint(document))
    }

    /// The pipeline with memory of its own, to be used for many documents in turn.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`] if the feature hash has fewer bits than the fingerprint.
    pub fn fingerprinter<F: Fingerprint>(&self) -> Result<Fingerprinter<F>> {
        let hash = self.options.feature_hash;
        if F::WIDTH > hash.width() {
            let (width, bits) = (F::WIDTH, hash.width());
            let clause = format!("{hash} has {bits} bits, too few for fingerprints of {width}");
            return Err(Error::Pipeline(clause));
        }
        Ok(Fingerprinter::new(self))
    }

    #[cfg(feature = "jieba")]
    fn tokenizer(&self) -> Box<dyn Tokenize> {
        let options = &self.options;
        let (parts, fold_space) = (options.parts.is_some(), options.normalise.space);
        options
            .tokenizer
            .with_dictionary(&self.dictionary, parts, fold_space)
    }

    #[cfg(not(feature = "jieba"))]
    fn tokenizer(&self) -> Box<dyn Tokenize> {
        self.options
            .tokenizer
            .without_dictionary(self.options.normalise.space)
    }

    /// Whether all features count, whatever they are.
    fn counts_all(&self) -> bool {
        let options = &*self.options;
        options.select == FeatureSelection::All
            && options.idf == Idf::None
            && options.parts.is_none()
    }
}

#[cfg(test)]
mod tests;
