//! Presets: named pipelines for a purpose, the starting points of all options.

use std::str::FromStr;

use super::clean::Html;
use super::feature_hash::FeatureHash;
use super::normalise::Normalise;
use super::options::{Idf, PipelineOptions, Sketch};
use super::simhash::TieRule;
use super::tokenizer::{GramLen, Tokenizer};
use super::weights::{FeatureSelection, Weights};
use crate::names::named;
use crate::{Error, Result};

/// A named pipeline for a purpose. The presets `compat-*` need the feature `compat`, and `compat-yanyiwu` also `jieba`.
///
/// ```
/// use simidx_text::{Pipeline, Preset};
///
/// let preset: Preset = "short".parse()?;
/// let pipeline = Pipeline::new(preset.options())?;
/// assert_eq!(pipeline.options().html, simidx_text::stages::Html::No);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// `web`: pages and documents in any language. Pairs of words by MinHash.
    #[default]
    Web,
    /// `news-zh`: Chinese prose. Single words, which are pairs of Chinese characters, by MinHash. It has a higher
    /// recall than `web`, and low precision if texts share a template.
    NewsZh,
    /// `code`: source code. Like `web`, but operators and brackets are tokens, case matters, and documents are never
    /// HTML.
    Code,
    /// `short`: titles, messages, search queries. Single words by MinHash, and documents are never HTML.
    Short,
    /// `compat-1e0ng`: the Python package simhash by Liang Sun, with its default features.
    Compat1e0ng,
    /// `compat-mfonda`: the Go packages simhash by mfonda and go-dedup, with their word features.
    CompatMfonda,
    /// `compat-simhashcjk`: simhashCJK of the Go package by go-dedup.
    CompatSimhashCjk,
    /// `compat-yanyiwu`: the C++ library simhash by Yanyi Wu with its five best keywords. It uses jieba-rs instead of
    /// cppjieba, with the same dictionary but some different decisions, so most fingerprints are equal, but not all.
    CompatYanyiwu,
    /// `compat-text-dedup`: the Python package text-dedup, with the defaults of its simhash. Fingerprints of 128 bits
    /// need the hash `xxh3-128`.
    CompatTextDedup,
}

named!(
    Preset,
    "pipeline",
    Web = "web",
    NewsZh = "news-zh",
    Code = "code",
    Short = "short",
    Compat1e0ng = "compat-1e0ng",
    CompatMfonda = "compat-mfonda",
    CompatSimhashCjk = "compat-simhashcjk",
    CompatYanyiwu = "compat-yanyiwu",
    CompatTextDedup = "compat-text-dedup"
);

impl Preset {
    /// The stages of the preset.
    pub fn options(self) -> PipelineOptions {
        match self {
            Preset::Web => PipelineOptions {
                html: Html::Auto,
                shingle: length(2),
                sketch: Sketch::MinHash,
                ..PipelineOptions::PLAIN
            },
            // Pairs of characters, the words of Chinese without a dictionary, discriminate better than runs of them.
            Preset::NewsZh => PipelineOptions {
                shingle: GramLen::ONE,
                ..Preset::Web.options()
            },
            // Source code is never HTML, even if it contains some, and case and operators matter.
            Preset::Code => PipelineOptions {
                html: Html::No,
                tokenizer: Tokenizer::Code,
                normalise: Normalise {
                    case: false,
                    ..Normalise::default()
                },
                ..Preset::Web.options()
            },
            Preset::Short => PipelineOptions {
                html: Html::No,
                ..Preset::NewsZh.options()
            },
            Preset::Compat1e0ng => PipelineOptions {
                normalise: LOWER,
                tokenizer: Tokenizer::JoinedChars(length(4)),
                feature_hash: FeatureHash::Md5,
                ..PipelineOptions::PLAIN
            },
            Preset::CompatMfonda => PipelineOptions {
                normalise: LOWER,
                tokenizer: Tokenizer::AsciiWords,
                feature_hash: FeatureHash::Fnv1,
                ties: TieRule::Set,
                ..PipelineOptions::PLAIN
            },
            Preset::CompatSimhashCjk => PipelineOptions {
                normalise: Normalise::NONE,
                tokenizer: Tokenizer::Chars(GramLen::ONE),
                feature_hash: FeatureHash::Fnv1,
                ties: TieRule::Set,
                ..PipelineOptions::PLAIN
            },
            Preset::CompatYanyiwu => PipelineOptions {
                normalise: Normalise::NONE,
                tokenizer: Tokenizer::Jieba,
                idf: Idf::Jieba,
                select: FeatureSelection::Top(std::num::NonZeroU32::MIN.saturating_add(4)),
                feature_hash: FeatureHash::Jenkins,
                ..PipelineOptions::PLAIN
            },
            // Each distinct shingle of three words has one vote.
            Preset::CompatTextDedup => PipelineOptions {
                normalise: Normalise {
                    lower: true,
                    ..Normalise::NONE
                },
                tokenizer: Tokenizer::WordRuns(5),
                shingle: length(3),
                weights: Weights::Uniform,
                feature_hash: FeatureHash::Xxh3Of64,
                seed: 42,
                ..PipelineOptions::PLAIN
            },
        }
    }
}

/// The only step of the packages in other languages.
const LOWER: Normalise = Normalise {
    case: true,
    ..Normalise::NONE
};

fn length(length: u8) -> GramLen {
    GramLen::new(length).unwrap_or_default()
}

impl Default for PipelineOptions {
    /// The stages of the default preset, [`Preset::Web`].
    fn default() -> Self {
        Preset::default().options()
    }
}

impl FromStr for PipelineOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',');
        let preset: Preset = parts.next().unwrap_or_default().parse()?;
        let mut options = preset.options();
        for part in parts {
            let Some((stage, value)) = part.split_once('=') else {
                return Err(Error::Pipeline(format!("{part:?} is not STAGE=VALUE")));
            };
            options.set(stage, value)?;
        }
        Ok(options)
    }
}
