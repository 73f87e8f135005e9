//! The description of a pipeline: one line of JSON in the index file (`pipeline-spec.md`, section 3).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::assets::{Assets, FileId, IdfTable, StopWords, UserDictionary, named};
use super::feature_hash::FeatureHash;
use super::options::{Idf, PipelineOptions};
use super::tokenizer::GramLen;
use crate::{Error, Result};

/// The versions of the description that this build reads. It writes the first that has all values of a pipeline, so that
/// a pipeline has one description.
const VERSIONS: RangeInclusive<u64> = 2..=3;

/// The description, its members in the order in which they are written.
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

/// Which inverse document frequencies.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum IdfId {
    /// A table that comes with the program, by its name.
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

/// The only member looked at before the version is known to be ours.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// The name of jieba's table of inverse document frequencies.
const JIEBA: &str = "jieba";

/// The dictionary that this build has.
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
            let clause = format!("a shingle of {} tokens, known are 1 to 16", self.shingle);
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

/// The first version that has all values of these stages.
fn version_of(options: &PipelineOptions) -> u64 {
    match options.normalise.cjk_space || options.feature_hash == FeatureHash::Python2 {
        true => 3,
        false => 2,
    }
}

/// The description of the pipeline of these stages.
pub(super) fn write(options: &PipelineOptions) -> String {
    serde_json::to_string(&Description::new(options))
        .expect("a struct of strings and integers has a JSON form")
}

/// The stages of the pipeline described.
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
mod tests {
    use super::*;

    const WORDS: &str = r#"{"version":2,"html":"no","normalise":"controls+nfkc+case+space","segment":"words","user_dictionary":null,"stop_words":null,"shingle":1,"weights":"count","idf":null,"parts":null,"select":"all","feature_hash":"xxh3-128","seed":0,"fingerprint":"simhash","ties":"clear","tables":{"nfkc":"15.1.0","case":"16.0.0","words":"17.0.0","jieba":null}}"#;

    fn read_plain(description: &str) -> Result<PipelineOptions> {
        read(description, &Assets::default())
    }

    fn error(description: &str) -> String {
        read_plain(description).unwrap_err().to_string()
    }

    #[test]
    fn the_description_is_frozen() {
        let written = write(&words_of_version_2());
        let (fixed, _) = WORDS.split_once(r#""tables""#).unwrap();
        let (ours, tables) = written.split_once(r#""tables""#).unwrap();
        assert_eq!(ours, fixed);
        let versions = Versions::of_this_build(false);
        let expected = format!(
            r#":{{"nfkc":"{}","case":"{}","words":"{}","jieba":null}}}}"#,
            versions.nfkc, versions.case, versions.words
        );
        assert_eq!(tables, expected);
    }

    /// The stages of a description of version 2 that files may hold.
    fn words_of_version_2() -> PipelineOptions {
        PipelineOptions {
            normalise: "controls+nfkc+case+space".parse().unwrap(),
            ..PipelineOptions::PLAIN
        }
    }

    #[test]
    fn a_pipeline_has_the_first_version_that_knows_its_values() {
        let version = |options| {
            let written: Versioned = from_json(&write(&options)).unwrap();
            written.version
        };
        assert_eq!(version(words_of_version_2()), 2);
        assert_eq!(version(PipelineOptions::PLAIN), 3);
        let python2 = PipelineOptions {
            feature_hash: FeatureHash::Python2,
            ..words_of_version_2()
        };
        assert_eq!(version(python2), 3);
        assert_eq!(read_plain(WORDS).unwrap(), words_of_version_2());
        let later = WORDS.replacen("2", "3", 1);
        assert_eq!(read_plain(&later).unwrap(), words_of_version_2());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let options = PipelineOptions {
            normalise: "nfkc+space".parse().unwrap(),
            tokenizer: "jieba".parse().unwrap(),
            stop_words: Some(StopWords::from_bytes("s.txt", b"a").unwrap()),
            user_dictionary: Some(UserDictionary::from_bytes("d.txt", b"a 1 n").unwrap()),
            weights: "capped:4".parse().unwrap(),
            idf: Idf::Table(IdfTable::from_bytes("i.txt", b"a 1").unwrap()),
            parts: Some("n:2/*:1".parse().unwrap()),
            select: "top:20".parse().unwrap(),
            seed: (1 << 53) - 1,
            ..PipelineOptions::PLAIN
        };
        let Idf::Table(idf) = options.idf.clone() else {
            unreachable!("it is one");
        };
        let mut assets = Assets {
            stop_words: options.stop_words.clone(),
            user_dictionary: options.user_dictionary.clone(),
            idf: Some(idf),
        };
        let description = write(&options);
        assert_eq!(read(&description, &assets).unwrap(), options);
        assets.stop_words = Some(StopWords::from_bytes("t.txt", b"b").unwrap());
        let error = read(&description, &assets).unwrap_err().to_string();
        let start = "text pipeline: needs the stop words s.txt of XXH3-128 a96faf705af16834e6c632b61e964e1f, not t.txt of XXH3-128 ";
        assert!(error.starts_with(start), "{error}");
        assets.stop_words = None;
        let error = read(&description, &assets).unwrap_err().to_string();
        assert!(error.ends_with("61e964e1f"), "{error}");
    }

    #[test]
    fn other_versions_of_tables_are_accepted() {
        let options = words_of_version_2();
        assert_eq!(read_plain(WORDS).unwrap(), options);
        assert_eq!(read_plain(&WORDS.replace("15.1.0", "99")).unwrap(), options);
    }

    #[test]
    fn each_unknown_value_is_named() {
        for (from, to, clause) in [
            (
                "+nfkc",
                "+nfc",
                r#"unknown normalise "controls+nfc+case+space""#,
            ),
            ("count", "tf-idf", r#"unknown weights "tf-idf""#),
            ("xxh3-128", "fnv", r#"unknown feature_hash "fnv""#),
            ("simhash", "bloom", r#"unknown fingerprint "bloom""#),
            (r#""clear""#, r#""toss""#, r#"unknown ties "toss""#),
            (
                r#""version":2"#,
                r#""version":4,"new":0"#,
                "unknown version 4, versions 2 and 3 are known",
            ),
            (
                "case+space",
                "case+space+cjk-space",
                "version 2 has a value that only version 3 knows",
            ),
            (
                "xxh3-128",
                "python2-128",
                "version 2 has a value that only version 3 knows",
            ),
            (r#""words","#, r#""lines","#, r#"unknown segment "lines""#),
            (
                r#""shingle":1"#,
                r#""shingle":17"#,
                "a shingle of 17 tokens",
            ),
            (
                r#""idf":null"#,
                r#""idf":"mine""#,
                r#"unknown idf "mine", "jieba" is known"#,
            ),
            (
                r#""parts":null"#,
                r#""parts":"n""#,
                r#""n" is not TAG:FACTOR"#,
            ),
            (r#""all""#, r#""some""#, r#"unknown select "some""#),
            (r#""no""#, r#""maybe""#, r#"unknown html "maybe""#),
        ] {
            let start = format!("text pipeline: {clause}");
            let error = error(&WORDS.replacen(from, to, 1));
            assert!(error.starts_with(&start), "{error}");
        }
    }

    #[test]
    fn missing_unknown_and_repeated_members_are_refused() {
        let cases = [
            (WORDS.replace(r#""seed":0,"#, ""), "missing field `seed`"),
            (
                WORDS.replace(r#""seed":0"#, r#""seed":0,"stem":1"#),
                "unknown field `stem`",
            ),
            (
                WORDS.replace(r#""seed":0"#, r#""seed":0,"seed":0"#),
                "duplicate field `seed`",
            ),
            (
                WORDS.replace(r#""version":2,"#, ""),
                "missing field `version`",
            ),
            ("words".to_owned(), "expected value"),
            (String::new(), "EOF"),
        ];
        for (description, clause) in cases {
            let start = format!("text pipeline: not a description: {clause}");
            let error = error(&description);
            assert!(error.starts_with(&start), "{error}");
        }
    }
}
