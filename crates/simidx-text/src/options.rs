//! The stages of a pipeline, and their valid combinations.

use super::assets::{IdfTable, StopWords, UserDictionary};
use super::clean::Html;
use super::feature_hash::FeatureHash;
use super::normalise::Normalise;
use super::simhash::TieRule;
use super::tokenizer::{GramLen, Tokenizer};
use super::weights::{FeatureSelection, PartOfSpeechWeights, Weights};
use crate::names::named;
use crate::{Error, Result};
use simidx::Fingerprint;

/// The method that computes a fingerprint from the hashes of features.
///
/// ```
/// use simidx_text::stages::Sketch;
///
/// assert_eq!("minhash".parse(), Ok(Sketch::MinHash));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sketch {
    /// `simhash` (Charikar, STOC 2002): each bit is a vote of all features by their weights. The distance estimates the
    /// angle between the two documents as vectors of weights.
    #[default]
    SimHash,
    /// `minhash`: each bit is the lowest bit of the smallest value of a hash function over the features that count. The
    /// distance estimates the Jaccard similarity of the sets of features.
    MinHash,
}

named!(
    Sketch,
    "fingerprint",
    SimHash = "simhash",
    MinHash = "minhash"
);

/// The source of the inverse document frequencies that weights are multiplied by.
///
/// ```
/// use simidx_text::Preset;
/// use simidx_text::assets::IdfTable;
/// use simidx_text::stages::Idf;
///
/// let mut options = Preset::Web.options();
/// options.idf = Idf::Table(IdfTable::from_bytes("idf.tsv", b"the dog\t0.5\n")?);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Idf {
    /// Every feature has the factor 1.
    #[default]
    None,
    /// The built-in table of jieba, for Chinese words.
    Jieba,
    /// A table of the user.
    Table(IdfTable),
}

/// The stages of a pipeline. Start from a [`Preset`](super::Preset), by default [`Preset::Web`](super::Preset::Web),
/// and change stages; [`Pipeline::new`](super::Pipeline::new) refuses stages that do not fit together.
///
/// The text form is the name of a preset followed by changes: `web,segment=chars:4,shingle=1`. The stages are `html`,
/// `normalise`, `segment`, `shingle`, `weights`, `idf` (`none` or `jieba`), `parts`, `select`, `hash`, `seed`,
/// `fingerprint` and `ties`.
///
/// ```
/// use simidx_text::{Pipeline, PipelineOptions};
/// use simidx_text::stages::Tokenizer;
///
/// let options: PipelineOptions = "short,segment=words,shingle=2".parse()?;
/// assert_eq!(options.tokenizer, Tokenizer::Words);
/// let pipeline = Pipeline::new(options)?;
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PipelineOptions {
    /// Whether documents are HTML.
    pub html: Html,
    /// The steps of normalisation.
    pub normalise: Normalise,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// Words that jieba knows in addition to its own.
    pub user_dictionary: Option<UserDictionary>,
    /// Tokens to drop. They are normalised like the text.
    pub stop_words: Option<StopWords>,
    /// Number of tokens in a feature: each run of this number of tokens is a feature. A document with fewer tokens has
    /// one feature of all of them.
    pub shingle: GramLen,
    /// The weight of a feature by its number of occurrences.
    pub weights: Weights,
    /// The inverse document frequencies that weights are multiplied by.
    pub idf: Idf,
    /// Factors by part of speech that the weights of jieba's tokens are multiplied by.
    pub parts: Option<PartOfSpeechWeights>,
    /// The selection of the features that count.
    pub select: FeatureSelection,
    /// The hash of a feature.
    pub feature_hash: FeatureHash,
    /// The seed of the hash, at most 2^53 - 1, because some JSON readers round larger numbers.
    pub seed: u64,
    /// The method that computes a fingerprint from hashes.
    pub sketch: Sketch,
    /// The value of a bit on which the votes balance.
    pub ties: TieRule,
}

simidx::setters!(PipelineOptions {
    html(Html)
    normalise(Normalise)
    tokenizer(Tokenizer)
    user_dictionary(Some(UserDictionary))
    stop_words(Some(StopWords))
    shingle(GramLen)
    weights(Weights)
    idf(Idf)
    parts(Some(PartOfSpeechWeights))
    select(FeatureSelection)
    feature_hash(FeatureHash)
    seed(u64)
    sketch(Sketch)
    ties(TieRule)
});

fn built_in_idf(name: &str) -> Result<Idf> {
    match name {
        "none" => Ok(Idf::None),
        "jieba" => Ok(Idf::Jieba),
        _ => Err(Error::Pipeline(format!(
            "unknown idf {name:?}; use none or jieba"
        ))),
    }
}

/// The largest seed, 2^53 - 1. JSON readers of other languages may round larger numbers, and would then compute other
/// fingerprints for the same description.
const MAX_SEED: u64 = (1 << 53) - 1;

fn seed(digits: &str) -> Result<u64> {
    let seed = u64::parse_dec(digits).filter(|&seed| seed <= MAX_SEED);
    seed.ok_or_else(|| {
        let clause = format!("the seed {digits:?} is not a number from 0 to {MAX_SEED}");
        Error::Pipeline(clause)
    })
}

impl PipelineOptions {
    /// The simplest value of each stage: the simhash of single words. Presets are defined as changes to it.
    pub(super) const PLAIN: PipelineOptions = PipelineOptions {
        html: Html::No,
        normalise: Normalise::ALL,
        tokenizer: Tokenizer::Words,
        user_dictionary: None,
        stop_words: None,
        shingle: GramLen::ONE,
        weights: Weights::Count,
        idf: Idf::None,
        parts: None,
        select: FeatureSelection::All,
        feature_hash: FeatureHash::Xxh3,
        seed: 0,
        sketch: Sketch::SimHash,
        ties: TieRule::Clear,
    };

    /// Sets a stage by its name.
    pub(super) fn set(&mut self, stage: &str, value: &str) -> Result<()> {
        match stage {
            "html" => self.html = value.parse()?,
            "normalise" => self.normalise = value.parse()?,
            "segment" => self.tokenizer = value.parse()?,
            "shingle" => self.shingle = value.parse()?,
            "weights" => self.weights = value.parse()?,
            "idf" => self.idf = built_in_idf(value)?,
            "parts" => self.parts = Some(value.parse()?),
            "select" => self.select = value.parse()?,
            "hash" => self.feature_hash = value.parse()?,
            "seed" => self.seed = seed(value)?,
            "fingerprint" => self.sketch = value.parse()?,
            "ties" => self.ties = value.parse()?,
            _ => {
                let known = "html, normalise, segment, shingle, weights, idf, parts, select, hash, \
                             seed, fingerprint or ties";
                let clause = format!("unknown stage {stage:?}; use {known}");
                return Err(Error::Pipeline(clause));
            }
        }
        Ok(())
    }

    /// Returns the names of stages whose weights have no effect, because MinHash ignores weights.
    ///
    /// A factor of 0 has an effect, because its feature does not count.
    ///
    /// ```
    /// use simidx_text::PipelineOptions;
    ///
    /// let options: PipelineOptions = "web,weights=log2".parse()?;
    /// assert_eq!(options.idle_weights(), ["weights"]);
    /// let options: PipelineOptions = "web,weights=log2,fingerprint=simhash".parse()?;
    /// assert!(options.idle_weights().is_empty());
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    pub fn idle_weights(&self) -> Vec<&'static str> {
        if self.sketch == Sketch::SimHash || matches!(self.select, FeatureSelection::Top(_)) {
            return Vec::new();
        }
        // The product of two such factors is not rounded to 0.
        let is_idle = |least: f64| least >= 1.0 / 256.0;
        let idf = match &self.idf {
            Idf::None => false,
            Idf::Jieba => true,
            Idf::Table(table) => is_idle(table.least()),
        };
        let parts = self.parts.as_ref();
        let stages = [
            ("weights", self.weights != Weights::Count),
            ("idf", idf),
            ("parts", parts.is_some_and(|parts| is_idle(parts.least()))),
        ];
        let idle = stages.into_iter().filter(|stage| stage.1);
        idle.map(|stage| stage.0).collect()
    }

    /// Checks that these stages fit together.
    pub(super) fn check(&self) -> Result<()> {
        if self.seed > MAX_SEED {
            let clause = format!("the seed {} is above {MAX_SEED}", self.seed);
            return Err(Error::Pipeline(clause));
        }
        let clause = if self.user_dictionary.is_some() && !self.tokenizer.needs_jieba() {
            "a user dictionary needs segment=auto or segment=jieba"
        } else if self.parts.is_some() && !self.tokenizer.needs_jieba() {
            "parts needs segment=auto or segment=jieba"
        } else if self.parts.is_some() && self.shingle != GramLen::ONE {
            "parts needs shingle=1"
        } else if self.idf == Idf::Jieba && self.shingle != GramLen::ONE {
            "idf=jieba needs shingle=1"
        } else if self.seed != 0 && !self.feature_hash.is_seeded() {
            "this feature hash takes no seed"
        } else if self.sketch == Sketch::MinHash && self.ties != TieRule::Clear {
            "ties=set needs fingerprint=simhash"
        } else if self.sketch == Sketch::MinHash && !self.feature_hash.serves_minhash() {
            "MinHash needs the feature hash xxh3-128 or md5"
        } else {
            return self.check_features();
        };
        Err(Error::Pipeline(clause.into()))
    }

    /// Refuses stages that this build leaves out, and names the first one.
    fn check_features(&self) -> Result<()> {
        let (tokenizer, hash) = (self.tokenizer, self.feature_hash);
        let missing = if self.html != Html::No && !cfg!(feature = "html") {
            (format!("html={}", self.html), "html")
        } else if tokenizer.needs_jieba() && !cfg!(feature = "jieba") {
            (format!("segment={tokenizer}"), "jieba")
        } else if self.idf == Idf::Jieba && !cfg!(feature = "jieba") {
            ("idf=jieba".into(), "jieba")
        } else if tokenizer.needs_compat() && !cfg!(feature = "compat") {
            (format!("segment={tokenizer}"), "compat")
        } else if hash.needs_compat() && !cfg!(feature = "compat") {
            (format!("hash={hash}"), "compat")
        } else {
            return Ok(());
        };
        let (stage, feature) = missing;
        let clause = format!("{stage} needs a simidx-text with its feature `{feature}`");
        Err(Error::Pipeline(clause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn stages_are_set_by_name() {
        let text = "web,html=no,normalise=nfkc,segment=chars:4,shingle=2,weights=uniform,idf=none,\
            select=top:9,hash=md5,seed=0,fingerprint=minhash,ties=clear";
        let options: PipelineOptions = text.parse().unwrap();
        let expected = PipelineOptions {
            normalise: "nfkc".parse().unwrap(),
            tokenizer: Tokenizer::chars(4).unwrap(),
            shingle: GramLen::new(2).unwrap(),
            weights: Weights::Uniform,
            select: "top:9".parse().unwrap(),
            feature_hash: FeatureHash::Md5,
            sketch: Sketch::MinHash,
            ..PipelineOptions::PLAIN
        };
        assert_eq!(options, expected);
        let seeded: PipelineOptions = "web,seed=7,parts=n:2".parse().unwrap();
        assert_eq!((seeded.seed, seeded.parts.unwrap().get("ns")), (7, 2.0));
    }

    #[test]
    fn weights_are_idle_if_no_feature_can_cease_to_count() {
        for (text, idle) in [
            ("web", &[][..]),
            ("web,weights=capped:2", &["weights"]),
            ("web,segment=auto,shingle=1,idf=jieba", &["idf"]),
            ("web,segment=auto,shingle=1,parts=n:3/*:1", &["parts"]),
            ("web,segment=auto,shingle=1,parts=n:3", &[]),
            ("web,segment=auto,shingle=1,parts=n:3/w:0/*:1", &[]),
            ("web,weights=uniform,select=top:9", &[]),
            ("web,weights=uniform,select=longest:9", &["weights"]),
            ("web,weights=uniform,fingerprint=simhash", &[]),
        ] {
            let options: PipelineOptions = text.parse().unwrap();
            assert_eq!(options.idle_weights(), idle, "{text}");
        }
        for (file, idle) in [("a 1.5\nb 2", &["idf"][..]), ("a 1.5\nb 0", &[])] {
            let mut options = Preset::Web.options();
            options.idf = Idf::Table(IdfTable::from_bytes("i.txt", file.as_bytes()).unwrap());
            assert_eq!(options.idle_weights(), idle, "{file}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, clause) in [
            ("", r#"unknown pipeline """#),
            ("books", r#"unknown pipeline "books""#),
            ("web,words", r#""words" is not STAGE=VALUE"#),
            ("web,stem=yes", r#"unknown stage "stem""#),
            ("web,idf=mine", r#"unknown idf "mine""#),
            ("web,seed=-1", r#"the seed "-1" is not a number"#),
            (
                "web,seed=9007199254740992",
                r#"the seed "9007199254740992" is not a number from 0 to 9007199254740991"#,
            ),
            ("web,shingle=0", r#""0" is not a length from 1 to 16"#),
        ] {
            let error = text.parse::<PipelineOptions>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("text pipeline: {clause}")),
                "{error}"
            );
        }
    }
}
