//! The description of a pipeline: one line of JSON in the index file (`pipeline-spec.md`, section 3).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::assets::{Assets, FileId, IdfTable, StopWords, UserDictionary, named};
use super::feature_hash::FeatureHash;
use super::options::{Idf, PipelineOptions};
use super::tokenizer::{GramLen, Tokenizer};
use crate::{Error, Result};

/// The versions of the description that this build reads. A pipeline is written in the first version that has all its
/// values, so that it has only one description.
const VERSIONS: RangeInclusive<u64> = 2..=3;

/// The description, with its members in output order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    version: u64,
    html: String,
    normalise: String,
    segment: String,
    user_dictionary: Option<FileId>,
    stop_words: Option<FileId>,
    shingle: u8,
    weights: String,
    idf: Option<IdfId>,
    parts: Option<String>,
    select: String,
    feature_hash: String,
    seed: u64,
    fingerprint: String,
    ties: String,
    tables: Versions,
}

/// The source of the inverse document frequencies.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum IdfId {
    /// A built-in table, by its name.
    BuiltIn(String),
    Table(FileId),
}

/// The versions of the tables that each stage uses, for information (`pipeline-spec.md`, section 11).
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Versions {
    nfkc: String,
    case: String,
    words: String,
    jieba: Option<String>,
}

/// The only member that is read before the version is known to be supported.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// The name of the inverse document frequencies of jieba.
const JIEBA: &str = "jieba";

/// The version of the dictionary in this build.
const JIEBA_VERSION: &str = "jieba-rs 0.11";

impl Description {
    fn new(options: &PipelineOptions) -> Self {
        let needs_jieba = options.tokenizer.needs_jieba() || options.idf == Idf::Jieba;
        Description {
            version: version_of(options),
            html: options.html.to_string(),
            normalise: options.normalise.to_string(),
            segment: options.tokenizer.to_string(),
            user_dictionary: options
                .user_dictionary
                .as_ref()
                .map(|file| file.id().clone()),
            stop_words: options.stop_words.as_ref().map(|file| file.id().clone()),
            shingle: options.shingle.get(),
            weights: options.weights.to_string(),
            idf: match &options.idf {
                Idf::None => None,
                Idf::Jieba => Some(IdfId::BuiltIn(JIEBA.into())),
                Idf::Table(table) => Some(IdfId::Table(table.id().clone())),
            },
            parts: options.parts.as_ref().map(|parts| parts.to_string()),
            select: options.select.to_string(),
            feature_hash: options.feature_hash.to_string(),
            seed: options.seed,
            fingerprint: options.sketch.to_string(),
            ties: options.ties.to_string(),
            tables: Versions::of_this_build(needs_jieba),
        }
    }

    fn options(self, assets: &Assets) -> Result<PipelineOptions> {
        let shingle = GramLen::new(self.shingle).ok_or_else(|| {
            let clause = format!("a shingle of {} tokens; use 1 to 16", self.shingle);
            Error::Pipeline(clause)
        })?;
        let dictionary = assets.user_dictionary.as_ref();
        let stop_words = assets.stop_words.as_ref();
        Ok(PipelineOptions {
            html: self.html.parse()?,
            normalise: self.normalise.parse()?,
            tokenizer: self.segment.parse()?,
            user_dictionary: named(
                "user dictionary",
                self.user_dictionary.as_ref(),
                dictionary,
                UserDictionary::id,
            )?,
            stop_words: named(
                "stop words",
                self.stop_words.as_ref(),
                stop_words,
                StopWords::id,
            )?,
            shingle,
            weights: self.weights.parse()?,
            idf: idf(self.idf, assets.idf.as_ref())?,
            parts: self.parts.map(|parts| parts.parse()).transpose()?,
            select: self.select.parse()?,
            feature_hash: self.feature_hash.parse()?,
            seed: self.seed,
            sketch: self.fingerprint.parse()?,
            ties: self.ties.parse()?,
        })
    }
}

fn idf(wanted: Option<IdfId>, given: Option<&IdfTable>) -> Result<Idf> {
    match wanted {
        None => Ok(Idf::None),
        Some(IdfId::BuiltIn(name)) if name == JIEBA => Ok(Idf::Jieba),
        Some(IdfId::BuiltIn(name)) => Err(Error::Pipeline(format!(
            "unknown idf {name:?}, {JIEBA:?} is known"
        ))),
        Some(IdfId::Table(id)) => {
            let table = named(
                "inverse document frequencies",
                Some(&id),
                given,
                IdfTable::id,
            )?;
            Ok(table.map_or(Idf::None, Idf::Table))
        }
    }
}

impl Versions {
    fn of_this_build(needs_jieba: bool) -> Self {
        let text = |(major, minor, patch): (u64, u64, u64)| format!("{major}.{minor}.{patch}");
        let nfkc = unicode_normalization::UNICODE_VERSION;
        let case = char::UNICODE_VERSION;
        Versions {
            nfkc: text((nfkc.0.into(), nfkc.1.into(), nfkc.2.into())),
            case: text((case.0.into(), case.1.into(), case.2.into())),
            words: text(unicode_segmentation::UNICODE_VERSION),
            jieba: needs_jieba.then(|| JIEBA_VERSION.into()),
        }
    }
}

/// Returns the first version that has all values of these stages.
fn version_of(options: &PipelineOptions) -> u64 {
    let has_new = options.normalise.cjk_space
        || options.tokenizer == Tokenizer::Code
        || options.feature_hash == FeatureHash::Python2;
    if has_new { 3 } else { 2 }
}

/// Returns the description of the pipeline with these stages.
pub(super) fn write(options: &PipelineOptions) -> String {
    serde_json::to_string(&Description::new(options))
        .expect("a struct of strings and integers has a JSON form")
}

/// Parses a description into the stages of its pipeline.
pub(super) fn read(description: &str, assets: &Assets) -> Result<PipelineOptions> {
    let Versioned { version } = from_json(description)?;
    if !VERSIONS.contains(&version) {
        let clause = format!("unknown version {version}, versions 2 and 3 are known");
        return Err(Error::Pipeline(clause));
    }
    let options = from_json::<Description>(description)?.options(assets)?;
    let needed = version_of(&options);
    if version < needed {
        let clause = format!("version {version} has a value that only version {needed} knows");
        return Err(Error::Pipeline(clause));
    }
    Ok(options)
}

fn from_json<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T> {
    serde_json::from_str(json).map_err(|e| Error::Pipeline(format!("not a description: {e}")))
}

#[cfg(test)]
mod tests;
