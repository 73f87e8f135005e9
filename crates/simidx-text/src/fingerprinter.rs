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

/// Entries of the memory for inverse document frequencies that are dear to look up.
const KEPT_FREQUENCIES: usize = 1 << 18;

/// The stages up to features.
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

/// A [`Pipeline`] that keeps its working memory from one document to the next.
///
/// Its fingerprints have one width, and stand in the low bits of a `u128`.
///
/// It keeps a few times the bytes of the longest document it has seen. For many threads see
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
    /// Inverse document frequencies looked up before, by the hash of the feature.
    frequencies: HashMap<u128, f64>,
}

/// A distinct feature of a document; made by [`Fingerprinter::features`].
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
    /// The feature itself.
    pub text: String,
    /// Its hash.
    pub hash: u128,
    /// How often it occurs.
    pub count: u32,
    /// Its weight; 0 if it does not count.
    pub weight: f64,
}

impl Fingerprinter {
    /// For a pipeline whose feature hash is as wide as the fingerprint.
    pub(super) fn new(pipeline: &Pipeline, width: Width) -> Self {
        Fingerprinter {
            stages: Stages::new(pipeline),
            tally: Tally::default(),
            frequencies: HashMap::new(),
            pipeline: pipeline.clone(),
            width,
        }
    }

    /// The fingerprint of one document, the same as [`Pipeline::fingerprint`] gives.
    pub fn fingerprint(&mut self, document: &str) -> u128 {
        let found = self.fingerprint_if_any(document);
        found.unwrap_or_else(|| self.empty_fingerprint())
    }

    /// The fingerprint of all documents in which no feature counts, see [`Pipeline::empty_fingerprint`].
    pub fn empty_fingerprint(&self) -> u128 {
        self.pipeline.empty_fingerprint(self.width)
    }

    /// The fingerprint of one document, or `None` if no feature counts in it: it may be empty, or hold nothing but emoji or
    /// punctuation.
    ///
    /// [`Fingerprinter::fingerprint`] gives all such documents one value, [`Pipeline::empty_fingerprint`], though they have
    /// nothing in common. They are near to nothing; see [`dedup::content_identity`](crate::dedup::content_identity) for
    /// those that are equal.
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
            // Of a set it does not matter how often a member comes.
            (Sketch::MinHash, _) if self.pipeline.counts_all() => self.minimise(document),
            _ => {
                self.for_each_feature(document, &mut |_| ());
                self.combine()
            }
        }
    }

    /// The same for a text that nobody vouches for. Normalisation makes eighteen characters of some, so that a short text
    /// may take the time of a long one.
    ///
    /// # Errors
    /// [`Error::TextTooLong`] for a text that becomes longer than `max_len` bytes.
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

    /// Simhash, each occurrence of a feature with one vote.
    fn vote<F: Fingerprint>(&mut self, document: &str) -> Option<u128> {
        let options = &*self.pipeline.options;
        let mut votes = Votes::<F>::new();
        self.stages.each_feature(document, &mut |feature| {
            let text = feature.text.as_bytes();
            votes.add(F::from_u128(options.feature_hash.hash(text, options.seed)));
        });
        (!votes.are_none()).then(|| votes.fingerprint(options.ties).to_u128())
    }

    /// MinHash of all features.
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

    /// The width of the fingerprints; features do not depend on it.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The fingerprint of one document and the number of distinct features that count in it.
    pub fn fingerprint_with_count(&mut self, document: &str) -> (u128, u32) {
        self.for_each_feature(document, &mut |_| ());
        let counted = self.weighed().filter(|(_, vote)| *vote > 0).count();
        let fingerprint = self.combine();
        let fingerprint = fingerprint.unwrap_or_else(|| self.empty_fingerprint());
        (fingerprint, u32::try_from(counted).unwrap_or(u32::MAX))
    }

    /// Calls `visit` with each distinct feature of a document, in the order of their first occurrences, whether it
    /// counts or not.
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

    /// The distinct features of a document, from which its fingerprint is made, in the order of their first occurrences.
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

    /// The features of a document that count, as a set.
    pub fn feature_set(&mut self, document: &str) -> FeatureSet {
        self.for_each_feature(document, &mut |_| ());
        let counted = self.weighed().filter(|(_, vote)| *vote > 0);
        FeatureSet::from_hashes(counted.map(|(entry, _)| entry.hash as u64).collect())
    }

    /// The cleaned and normalised text of a document, which the tokenizer cuts.
    pub fn text(&mut self, document: &str) -> &str {
        let text = self.stages.cleaner.clean(document);
        self.stages.normaliser.normalise(text)
    }

    /// The text of a document before it is normalised.
    pub(crate) fn cleaned<'t>(&'t mut self, document: &'t str) -> &'t str {
        self.stages.cleaner.clean(document)
    }

    /// Each feature in the tally, and its weight in units of 2^-16: 0 if it does not count.
    fn weighed(&self) -> impl Iterator<Item = (&Entry, u64)> {
        let options = &self.pipeline.options;
        let votes = self.tally.votes(options.weights, options.select);
        self.tally.entries().iter().zip(votes)
    }

    /// The fingerprint of the features in the tally; none if none counts.
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

/// The inverse document frequency of a feature, remembered where looking it up is dear.
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
