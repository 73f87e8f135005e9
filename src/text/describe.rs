//! The description of a pipeline: one line of JSON that is kept in the index file.

use serde::{Deserialize, Serialize};

use super::Features;
use crate::{Error, Result};

/// The version of the description's own form.
const VERSION: u64 = 1;

/// The description, its members in the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    version: u64,
    normalise: String,
    features: String,
    weights: String,
    feature_hash: String,
    seed: u64,
    fingerprint: String,
    ties: String,
    unicode: UnicodeVersions,
}

/// The Unicode versions of the tables that each stage uses; they inform and decide nothing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnicodeVersions {
    nfkc: String,
    lowercase: String,
    words: String,
}

/// The only member looked at before the version is known to be ours.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

impl Description {
    fn new(features: Features) -> Self {
        Description {
            version: VERSION,
            normalise: "nfkc+lowercase".into(),
            features: features.to_string(),
            weights: "count".into(),
            feature_hash: "xxh3-128".into(),
            seed: 0,
            fingerprint: "simhash".into(),
            ties: "clear".into(),
            unicode: UnicodeVersions::of_this_build(),
        }
    }

    /// The members that have one value only, with their names.
    fn fixed(&self) -> [(&'static str, &str); 5] {
        [
            ("normalise", &self.normalise),
            ("weights", &self.weights),
            ("feature_hash", &self.feature_hash),
            ("fingerprint", &self.fingerprint),
            ("ties", &self.ties),
        ]
    }
}

impl UnicodeVersions {
    fn of_this_build() -> Self {
        let nfkc = unicode_normalization::UNICODE_VERSION;
        let lowercase = char::UNICODE_VERSION;
        let words = unicode_segmentation::UNICODE_VERSION;
        UnicodeVersions {
            nfkc: format!("{}.{}.{}", nfkc.0, nfkc.1, nfkc.2),
            lowercase: format!("{}.{}.{}", lowercase.0, lowercase.1, lowercase.2),
            words: format!("{}.{}.{}", words.0, words.1, words.2),
        }
    }

    fn check(&self) -> Result<()> {
        for version in [&self.nfkc, &self.lowercase, &self.words] {
            let mut parts = version.split('.');
            let numbers = parts.clone().count() == 3;
            if !numbers || !parts.all(|part| part.parse::<u32>().is_ok()) {
                return Err(Error::Pipeline(format!(
                    "{version:?} is not a unicode version"
                )));
            }
        }
        Ok(())
    }
}

/// The description of the pipeline with these features.
pub(super) fn write(features: Features) -> String {
    serde_json::to_string(&Description::new(features))
        .expect("a struct of strings and integers has a JSON form")
}

/// The features of the pipeline described; everything else must be as in this version.
pub(super) fn read(description: &str) -> Result<Features> {
    let Versioned { version } = from_json(description)?;
    if version != VERSION {
        let clause = format!("unknown version {version}, version {VERSION} is known");
        return Err(Error::Pipeline(clause));
    }
    let found: Description = from_json(description)?;
    let features = found.features.parse()?;
    let known = Description::new(features);
    for ((member, value), (_, only)) in found.fixed().into_iter().zip(known.fixed()) {
        if value != only {
            let clause = format!("unknown {member} {value:?}, {only:?} is known");
            return Err(Error::Pipeline(clause));
        }
    }
    if found.seed != known.seed {
        let clause = format!("unknown seed {}, {} is known", found.seed, known.seed);
        return Err(Error::Pipeline(clause));
    }
    found.unicode.check()?;
    Ok(features)
}

fn from_json<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T> {
    serde_json::from_str(json).map_err(|e| Error::Pipeline(format!("not a description: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r#"{"version":1,"normalise":"nfkc+lowercase","features":"words","weights":"count","feature_hash":"xxh3-128","seed":0,"fingerprint":"simhash","ties":"clear","unicode":{"nfkc":"15.1.0","lowercase":"16.0.0","words":"17.0.0"}}"#;

    fn error(description: &str) -> String {
        read(description).unwrap_err().to_string()
    }

    #[test]
    fn the_description_is_frozen() {
        let written = write(Features::Words);
        let (fixed, _) = WORDS.split_once(r#""nfkc""#).unwrap();
        let (ours, unicode) = written.split_once(r#""nfkc""#).unwrap();
        assert_eq!(ours, fixed);
        let versions = UnicodeVersions::of_this_build();
        let expected = format!(
            r#":"{}","lowercase":"{}","words":"{}"}}}}"#,
            versions.nfkc, versions.lowercase, versions.words
        );
        assert_eq!(unicode, expected);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for features in [Features::Words, Features::chars(4).unwrap()] {
            assert_eq!(read(&write(features)).unwrap(), features);
        }
    }

    #[test]
    fn other_unicode_versions_are_accepted() {
        assert_eq!(read(WORDS).unwrap(), Features::Words);
        assert_eq!(
            read(&WORDS.replace("15.1.0", "99.0.0")).unwrap(),
            Features::Words
        );
    }

    #[test]
    fn malformed_unicode_versions_are_refused() {
        for bad in ["", "15", "15.1", "15.1.x", "15.1.0.0"] {
            let clause = format!("text pipeline: {bad:?} is not a unicode version");
            assert_eq!(error(&WORDS.replace("15.1.0", bad)), clause);
        }
    }

    #[test]
    fn each_unknown_value_is_named() {
        for (from, to, clause) in [
            (
                "nfkc+lowercase",
                "nfc",
                r#"unknown normalise "nfc", "nfkc+lowercase" is known"#,
            ),
            (
                "count",
                "tf-idf",
                r#"unknown weights "tf-idf", "count" is known"#,
            ),
            (
                "xxh3-128",
                "fnv",
                r#"unknown feature_hash "fnv", "xxh3-128" is known"#,
            ),
            (
                "simhash",
                "minhash",
                r#"unknown fingerprint "minhash", "simhash" is known"#,
            ),
            ("clear", "set", r#"unknown ties "set", "clear" is known"#),
            (r#""seed":0"#, r#""seed":7"#, "unknown seed 7, 0 is known"),
            (
                r#""version":1"#,
                r#""version":2,"new":0"#,
                "unknown version 2, version 1 is known",
            ),
            (
                r#""words","#,
                r#""lines","#,
                r#"unknown features "lines", words and chars:1 to chars:16 are known"#,
            ),
        ] {
            assert_eq!(
                error(&WORDS.replacen(from, to, 1)),
                format!("text pipeline: {clause}")
            );
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
                WORDS.replace(r#""version":1,"#, ""),
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
