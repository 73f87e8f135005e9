//! A pipeline with the working memory of its stages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Pipeline;
use super::clean::Cleaner;
use super::feature_set::FeatureSet;
use super::minhash::{Minima, minhash};
use super::normalise::Normaliser;
use super::options::{Idf, Sketch};
use super::shingles::Shingles;
use super::simhash::{Votes, simhash_if_any};
use super::tally::{self, Entry, Tally};
use super::tokenizer::{Token, Tokenize};
use super::weights::{FeatureSelection, Weights};
use simidx::{Fingerprint, Width};

use crate::{Error, Result};

/// Largest number of cached inverse document frequencies, for tables with slow look-ups.
const KEPT_FREQUENCIES: usize = 1 << 18;

/// The stages of a pipeline up to features.
#[derive(Debug)]
struct Stages {
    cleaner: Cleaner,
    normaliser: Normaliser,
    tokenizer: Box<dyn Tokenize>,
    stop_words: Arc<HashSet<String>>,
    shingles: Shingles,
}

impl Stages {
    fn new(pipeline: &Pipeline) -> Self {
        let options = &pipeline.options;
        let steps = match options.tokenizer.needs_space() {
            true => options.normalise.but_space(),
            false => options.normalise,
        };
        Stages {
            cleaner: Cleaner::new(options.html),
            normaliser: Normaliser::new(steps),
            tokenizer: pipeline.tokenizer(),
            stop_words: Arc::clone(&pipeline.stop_words),
            shingles: Shingles::new(options.shingle),
        }
    }

    /// Calls `emit` with every feature of a document, once per occurrence.
    fn each_feature(&mut self, document: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let text = self.cleaner.clean(document);
        let text = self.normaliser.normalise(text);
        if self.stop_words.is_empty() && self.shingles.are_tokens() {
            return self.tokenizer.tokenize(text, emit);
        }
        let (shingles, stop_words) = (&mut self.shingles, &*self.stop_words);
        self.tokenizer.tokenize(text, &mut |token| {
            if !stop_words.contains(token.text) {
                shingles.push(token, emit);
            }
        });
        shingles.finish(emit);
    }
}

/// A [`Pipeline`] with working memory that it reuses for each document.
///
/// All fingerprints have the same width, and are in the low bits of a `u128`.
///
/// The memory is a few times the length of the longest document so far. For several threads, see
/// [`ParallelFingerprinter`](super::ParallelFingerprinter).
///
/// ```
/// use simidx::Width;
/// use simidx_text::{Fingerprinter, Pipeline, Preset};
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let mut fingerprinter: Fingerprinter = pipeline.fingerprinter(Width::W64)?;
/// for document in ["to be", "or not to be"] {
///     assert_eq!(fingerprinter.fingerprint(document), pipeline.fingerprint(document, Width::W64)?);
/// }
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Debug)]
pub struct Fingerprinter {
    pub(super) pipeline: Pipeline,
    pub(super) width: Width,
    stages: Stages,
    tally: Tally,
    /// Cached inverse document frequencies, by the hash of the feature.
    frequencies: HashMap<u128, f64>,
}

/// A distinct feature of a document, as [`Fingerprinter::features`] returns it.
///
/// ```
/// use simidx::Width;
/// use simidx_text::{Feature, Pipeline, Preset};
///
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let features: Vec<Feature> = pipeline.fingerprinter(Width::W64)?.features("No, no!");
/// assert_eq!((features[0].text.as_str(), features[0].count), ("no", 2));
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Feature {
    /// The text of the feature.
    pub text: String,
    /// The hash of the feature.
    pub hash: u128,
    /// Number of occurrences in the document.
    pub count: u32,
    /// The weight in the document; 0 if the feature does not count.
    pub weight: f64,
}

impl Fingerprinter {
    /// Creates a fingerprinter. The feature hash must be at least as wide as the fingerprint.
    pub(super) fn new(pipeline: &Pipeline, width: Width) -> Self {
        Fingerprinter {
            stages: Stages::new(pipeline),
            tally: Tally::default(),
            frequencies: HashMap::new(),
            pipeline: pipeline.clone(),
            width,
        }
    }

    /// Returns the fingerprint of one document, the same as [`Pipeline::fingerprint`].
    pub fn fingerprint(&mut self, document: &str) -> u128 {
        let found = self.fingerprint_if_any(document);
        found.unwrap_or_else(|| self.empty_fingerprint())
    }

    /// The fingerprint of every document in which no feature counts; see [`Pipeline::empty_fingerprint`].
    pub fn empty_fingerprint(&self) -> u128 {
        self.pipeline.empty_fingerprint(self.width)
    }

    /// Returns the fingerprint of one document, or `None` if no feature counts, for example in an empty document or one
    /// that contains only emoji or punctuation.
    ///
    /// [`Fingerprinter::fingerprint`] returns the same value for all such documents, [`Pipeline::empty_fingerprint`],
    /// although they have nothing in common. They are not near any document;
    /// [`dedup::content_identity`](crate::dedup::content_identity) identifies equal ones.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Pipeline, Preset};
    ///
    /// let mut fingerprinter = Pipeline::new(Preset::Short.options())?.fingerprinter(Width::W64)?;
    /// assert!(fingerprinter.fingerprint_if_any("to be").is_some());
    /// assert_eq!(fingerprinter.fingerprint_if_any("…?!"), None);
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn fingerprint_if_any(&mut self, document: &str) -> Option<u128> {
        let options = &self.pipeline.options;
        match (options.sketch, options.weights) {
            (Sketch::SimHash, Weights::Count) if self.pipeline.counts_all() => match self.width {
                Width::W32 => self.vote::<u32>(document),
                Width::W64 => self.vote::<u64>(document),
                Width::W128 => self.vote::<u128>(document),
            },
            // The number of occurrences does not matter for a set.
            (Sketch::MinHash, _) if self.pipeline.counts_all() => self.minimise(document),
            _ => {
                self.for_each_feature(document, &mut |_| ());
                self.combine()
            }
        }
    }

    /// [`Fingerprinter::fingerprint_if_any`] for an untrusted text. Normalisation expands some characters to eighteen,
    /// so a short text may take the time of a long one.
    ///
    /// # Errors
    /// [`Error::TextTooLong`] for a text that is longer than `max_len` bytes when it is normalised.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Error, Pipeline};
    ///
    /// let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64)?;
    /// let text = "to be or not to be";
    /// assert_eq!(fingerprinter.fingerprint_within(text, 18)?, fingerprinter.fingerprint_if_any(text));
    /// let error = fingerprinter.fingerprint_within("\u{fdfa}", 18).unwrap_err();
    /// assert_eq!(error, Error::TextTooLong(18));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn fingerprint_within(&mut self, document: &str, max_len: usize) -> Result<Option<u128>> {
        self.stages.normaliser.limit_next(max_len);
        let found = self.fingerprint_if_any(document);
        match self.stages.normaliser.is_cut() {
            true => Err(Error::TextTooLong(max_len)),
            false => Ok(found),
        }
    }

    /// Computes the simhash with one vote for each occurrence of a feature.
    fn vote<F: Fingerprint>(&mut self, document: &str) -> Option<u128> {
        let options = &*self.pipeline.options;
        let mut votes = Votes::<F>::new();
        self.stages.each_feature(document, &mut |feature| {
            let text = feature.text.as_bytes();
            votes.add(F::from_u128(options.feature_hash.hash(text, options.seed)));
        });
        (!votes.are_none()).then(|| votes.fingerprint(options.ties).to_u128())
    }

    /// Computes the MinHash of all features.
    fn minimise(&mut self, document: &str) -> Option<u128> {
        let options = &*self.pipeline.options;
        let mut minima = Minima::new(self.width.bits());
        self.stages.each_feature(document, &mut |feature| {
            let text = feature.text.as_bytes();
            minima.add(options.feature_hash.hash(text, options.seed));
        });
        minima.fingerprint()
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The width of the fingerprints. Features do not depend on it.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Calls `visit` with each distinct feature of a document, in the order of their first occurrences, including
    /// features that do not count.
    pub fn for_each_feature(&mut self, document: &str, visit: &mut dyn FnMut(&str)) {
        let options = &*self.pipeline.options;
        let (hash, seed) = (options.feature_hash, options.seed);
        let (tally, frequencies) = (&mut self.tally, &mut self.frequencies);
        tally.clear();
        self.stages.each_feature(document, &mut |feature| {
            let hash = hash.hash(feature.text.as_bytes(), seed);
            let describe = || {
                let part = options.parts.as_ref().map_or(1.0, |p| p.get(feature.part));
                let idf = inverse_document_frequency(&options.idf, feature.text, hash, frequencies);
                let length = match options.select {
                    FeatureSelection::Longest(_) => feature.text.chars().count() as u32,
                    _ => 0,
                };
                (part * idf, length)
            };
            if tally.add(hash, describe) {
                visit(feature.text);
            }
        });
    }

    /// Returns the distinct features that the fingerprint of a document is made from, in the order of their first
    /// occurrences.
    pub fn features(&mut self, document: &str) -> Vec<Feature> {
        let mut texts = Vec::new();
        self.for_each_feature(document, &mut |text| texts.push(text.to_owned()));
        let features = self
            .weighed()
            .zip(texts)
            .map(|((entry, vote), text)| Feature {
                text,
                hash: entry.hash,
                count: entry.count,
                weight: vote as f64 / tally::UNIT,
            });
        features.collect()
    }

    /// Returns the set of the features that count in a document.
    pub fn feature_set(&mut self, document: &str) -> FeatureSet {
        self.for_each_feature(document, &mut |_| ());
        let counted = self.weighed().filter(|(_, vote)| *vote > 0);
        FeatureSet::from_hashes(counted.map(|(entry, _)| entry.hash as u64).collect())
    }

    /// Returns the cleaned and normalised text of a document, the input of the tokenizer.
    pub fn text(&mut self, document: &str) -> &str {
        let text = self.stages.cleaner.clean(document);
        self.stages.normaliser.normalise(text)
    }

    /// Returns the text of a document before normalisation.
    pub(crate) fn cleaned<'t>(&'t mut self, document: &'t str) -> &'t str {
        self.stages.cleaner.clean(document)
    }

    /// Returns each feature in the tally with its weight in units of 2^-16, which is 0 if it does not count.
    fn weighed(&self) -> impl Iterator<Item = (&Entry, u64)> {
        let options = &self.pipeline.options;
        let votes = self.tally.votes(options.weights, options.select);
        self.tally.entries().iter().zip(votes)
    }

    /// Returns the fingerprint of the features in the tally, or `None` if no feature counts.
    fn combine(&self) -> Option<u128> {
        let options = &self.pipeline.options;
        match options.sketch {
            Sketch::SimHash => {
                let weighed = self.weighed().map(|(entry, vote)| (entry.hash, vote));
                simhash_if_any(weighed, self.width, options.ties)
            }
            Sketch::MinHash => {
                let counted = self.weighed().filter(|(_, vote)| *vote > 0);
                minhash(counted.map(|(entry, _)| entry.hash), self.width)
            }
        }
    }
}

/// Returns the inverse document frequency of a feature, cached if the look-up is slow.
fn inverse_document_frequency(
    idf: &Idf,
    feature: &str,
    hash: u128,
    known: &mut HashMap<u128, f64>,
) -> f64 {
    match idf {
        Idf::None => 1.0,
        Idf::Table(table) => table.get(feature),
        Idf::Jieba => {
            if known.len() >= KEPT_FREQUENCIES {
                known.clear();
            }
            *known
                .entry(hash)
                .or_insert_with(|| jieba_frequency(feature))
        }
    }
}

#[cfg(feature = "jieba")]
fn jieba_frequency(feature: &str) -> f64 {
    super::tokenizer::inverse_document_frequency(feature)
}

#[cfg(not(feature = "jieba"))]
fn jieba_frequency(_: &str) -> f64 {
    unreachable!("no pipeline asks for it without the feature")
}
