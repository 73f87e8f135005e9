//! Files that a pipeline depends on: user dictionaries, stop words, inverse document frequencies.
//!
//! The description of a pipeline names each file with the hash of its bytes, so that a different file cannot be used
//! instead.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::weights::parse_weight;
use crate::{Error, Result};

/// Largest number of characters of a word in a user dictionary. Longer words would slow down segmentation.
const MAX_WORD_LEN: usize = 64;

/// The name of a file and the hash of its bytes, as a description contains them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileId {
    name: String,
    #[serde(rename = "xxh3-128")]
    hash: String,
}

impl FileId {
    fn of(name: &str, bytes: &[u8]) -> Self {
        FileId {
            name: name.to_owned(),
            hash: format!("{:032x}", xxh3_128(bytes)),
        }
    }

    /// Whether two files have the same bytes, under any names.
    pub(super) fn is(&self, other: &FileId) -> bool {
        self.hash == other.hash
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of XXH3-128 {}", self.name, self.hash)
    }
}

macro_rules! file_type {
    ($(#[$doc:meta])* $name:ident, $content:ty, $parse:expr) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            id: FileId,
            content: Arc<$content>,
        }

        impl $name {
            /// Parses the bytes of such a file. `name` is its name in messages and descriptions, without folders.
            ///
            /// # Errors
            /// [`Error::Asset`], which names the first invalid line.
            pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
                let text = std::str::from_utf8(bytes).map_err(|error| {
                    let offset = error.valid_up_to();
                    Error::Asset(format!("{name}: offset {offset}: not UTF-8"))
                })?;
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                let content = $parse(name, text)?;
                let content = Arc::new(content);
                Ok($name { id: FileId::of(name, bytes), content })
            }

            pub(super) fn id(&self) -> &FileId {
                &self.id
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.id).finish()
            }
        }

        /// Equal if they have the same bytes and name.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.id == other.id
            }
        }
    };
}

file_type!(
    /// Words that are never features, one on each line. Blank lines and those that start with `#` are ignored.
    ///
    /// ```
    /// use simidx::Width;
    /// use simidx_text::{Pipeline, Preset};
    /// use simidx_text::assets::StopWords;
    ///
    /// let mut options = Preset::Short.options();
    /// options.stop_words = Some(StopWords::from_bytes("stop.txt", b"the\nof\n")?);
    /// let mut fingerprinter = Pipeline::new(options)?.fingerprinter(Width::W64)?;
    /// let lord = fingerprinter.fingerprint("The Lord of the Rings");
    /// assert_eq!(lord, fingerprinter.fingerprint("lord rings"));
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    StopWords,
    HashSet<String>,
    parse_stop_words
);

file_type!(
    /// Words that jieba knows in addition to its own: on each line a word and, optionally, its frequency and its part of
    /// speech, separated by spaces. A word without a frequency gets one that makes it a token.
    ///
    /// ```
    /// use simidx_text::PipelineOptions;
    /// use simidx_text::assets::UserDictionary;
    ///
    /// let words = "云计算 5 n\n石墨烯\n";
    /// let mut options: PipelineOptions = "news-zh,segment=auto".parse()?;
    /// options.user_dictionary = Some(UserDictionary::from_bytes("words.txt", words.as_bytes())?);
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    UserDictionary,
    Vec<UserWord>,
    parse_dictionary
);

file_type!(
    /// Inverse document frequencies: on each line a feature, a tab or space, and a decimal number from 0 to 2^20.
    ///
    /// A line `#default NUMBER` sets the value of all other features; by default it is the median of the table. Other
    /// lines that start with `#` are ignored. The `idf.txt` of jieba is such a file.
    ///
    /// ```
    /// use simidx_text::Preset;
    /// use simidx_text::assets::IdfTable;
    /// use simidx_text::stages::Idf;
    ///
    /// let table = IdfTable::from_bytes("idf.tsv", b"#default 2.5\nthe dog\t0.5\n")?;
    /// let mut options = Preset::Web.options();
    /// options.idf = Idf::Table(table);
    /// # Ok::<(), simidx_text::Error>(())
    /// ```
    IdfTable,
    Frequencies,
    parse_frequencies
);

impl StopWords {
    pub(super) fn words(&self) -> &HashSet<String> {
        &self.content
    }
}

/// A word of a [`UserDictionary`]; only the feature `jieba` uses it.
#[derive(Debug)]
#[cfg_attr(not(feature = "jieba"), allow(dead_code))]
pub(super) struct UserWord {
    pub(super) text: String,
    pub(super) frequency: Option<usize>,
    pub(super) part: Option<String>,
}

impl UserDictionary {
    #[cfg_attr(not(feature = "jieba"), allow(dead_code))]
    pub(super) fn words(&self) -> &[UserWord] {
        &self.content
    }
}

/// The content of an [`IdfTable`].
#[derive(Debug)]
pub(super) struct Frequencies {
    of_features: HashMap<String, f64>,
    default: f64,
}

impl IdfTable {
    /// Returns the inverse document frequency of a feature.
    pub(super) fn get(&self, feature: &str) -> f64 {
        let found = self.content.of_features.get(feature);
        found.copied().unwrap_or(self.content.default)
    }

    /// The smallest value of all features.
    pub(super) fn least(&self) -> f64 {
        let values = self.content.of_features.values().copied();
        values.fold(self.content.default, f64::min)
    }
}

/// Returns the lines that are not blank, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let numbered = (1..).zip(text.lines());
    numbered.filter(|(_, line)| !line.trim().is_empty())
}

fn parse_stop_words(_: &str, text: &str) -> Result<HashSet<String>> {
    let words = lines(text).filter(|(_, line)| !line.starts_with('#'));
    Ok(words.map(|(_, line)| line.trim().to_owned()).collect())
}

fn parse_dictionary(name: &str, text: &str) -> Result<Vec<UserWord>> {
    let word = |(number, line): (u64, &str)| {
        let error = |message: String| Err(Error::Asset(format!("{name}:{number}: {message}")));
        let mut columns = line.split_whitespace();
        let text = columns.next().unwrap_or_default().to_owned();
        if text.chars().nth(MAX_WORD_LEN).is_some() {
            return error(format!("a word of more than {MAX_WORD_LEN} characters"));
        }
        let second = columns.next();
        // The part of speech may directly follow the word.
        let is_number = |column: &&str| column.bytes().all(|b| b.is_ascii_digit());
        let frequency = match second.filter(is_number) {
            Some(digits) => match digits.parse::<u32>() {
                Ok(frequency) if frequency > 0 => Some(frequency as usize),
                _ => {
                    return error(format!(
                        "the frequency {digits} is not within 1 to 2^32 - 1"
                    ));
                }
            },
            None => None,
        };
        let part = match frequency {
            Some(_) => columns.next(),
            None => second,
        };
        if columns.next().is_some() {
            return error("more than a word, a frequency and a part of speech".into());
        }
        let part = part.map(str::to_owned);
        Ok(UserWord {
            text,
            frequency,
            part,
        })
    };
    lines(text).map(word).collect()
}

fn parse_frequencies(name: &str, text: &str) -> Result<Frequencies> {
    let mut of_features = HashMap::new();
    let mut default = None;
    for (number, line) in lines(text) {
        let error = |message: String| Err(Error::Asset(format!("{name}:{number}: {message}")));
        let stated = line.strip_prefix("#default ");
        if line.starts_with("#default\t") {
            return error("not #default, a space and a number".into());
        }
        if line.starts_with('#') && stated.is_none() {
            continue;
        }
        let (feature, value) = match stated {
            Some(value) => (None, value),
            None => match line.rsplit_once(['\t', ' ']) {
                Some((feature, value)) if !feature.is_empty() => (Some(feature), value),
                _ => return error("not a feature and a number".into()),
            },
        };
        let Some(value) = parse_weight(value.trim()) else {
            return error(format!("{value:?} is not a number from 0 to 2^20"));
        };
        match feature {
            None => default = Some(value),
            Some(feature) => {
                of_features.insert(feature.to_owned(), value);
            }
        }
    }
    let default = default.unwrap_or_else(|| median(of_features.values().copied().collect()));
    Ok(Frequencies {
        of_features,
        default,
    })
}

/// Returns the lower median; 1 for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(1.0)
}

/// The files that a pipeline needs, as its description names them.
///
/// ```
/// use simidx_text::{Pipeline, Preset};
/// use simidx_text::assets::{Assets, StopWords};
///
/// let mut options = Preset::Short.options();
/// options.stop_words = Some(StopWords::from_bytes("stop.txt", b"the\nof\n")?);
/// let pipeline = Pipeline::new(options.clone())?;
///
/// let description = pipeline.describe();
/// assert!(Pipeline::parse(&description, &Assets::default()).is_err());
/// let mut assets = Assets::default();
/// assets.stop_words = options.stop_words;
/// assert_eq!(Pipeline::parse(&description, &assets)?, pipeline);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Assets {
    /// Stop words.
    pub stop_words: Option<StopWords>,
    /// A user dictionary.
    pub user_dictionary: Option<UserDictionary>,
    /// Inverse document frequencies.
    pub idf: Option<IdfTable>,
}

/// Returns the file that a description names, if it was given.
pub(super) fn named<T: Clone>(
    what: &str,
    wanted: Option<&FileId>,
    given: Option<&T>,
    id: impl Fn(&T) -> &FileId,
) -> Result<Option<T>> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    match given {
        Some(given) if id(given).is(wanted) => Ok(Some(given.clone())),
        Some(given) => Err(Error::Pipeline(format!(
            "needs the {what} {wanted}, not {}",
            id(given)
        ))),
        None => Err(Error::Pipeline(format!("needs the {what} {wanted}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T>(result: Result<T>) -> String {
        result.err().unwrap().to_string()
    }

    #[test]
    fn stop_words_are_lines() {
        let stop =
            StopWords::from_bytes("s", "\u{feff}the\n\n# no\r\n 的 \r\n".as_bytes()).unwrap();
        let expected = ["the", "的"].map(str::to_owned);
        assert_eq!(stop.words(), &HashSet::from(expected));
        assert_eq!(
            error(StopWords::from_bytes("s", b"a\xff")),
            "s: offset 1: not UTF-8"
        );
    }

    #[test]
    fn dictionary_words_have_two_optional_columns() {
        let text = "云计算 5 n\n石墨烯\n凱特琳 nz\n";
        let dictionary = UserDictionary::from_bytes("d", text.as_bytes()).unwrap();
        let words = dictionary.words().iter();
        let words: Vec<_> = words
            .map(|w| (w.text.as_str(), w.frequency, w.part.as_deref()))
            .collect();
        assert_eq!(
            words,
            [
                ("云计算", Some(5), Some("n")),
                ("石墨烯", None, None),
                ("凱特琳", None, Some("nz"))
            ]
        );
        let bad = |text: &str| error(UserDictionary::from_bytes("d", text.as_bytes()));
        assert_eq!(
            bad("a\nb 99999999999"),
            "d:2: the frequency 99999999999 is not within 1 to 2^32 - 1"
        );
        let long = "长".repeat(65);
        assert_eq!(bad(&long), "d:1: a word of more than 64 characters");
        assert_eq!(
            bad("a 1 n x"),
            "d:1: more than a word, a frequency and a part of speech"
        );
    }

    #[test]
    fn frequencies_have_a_default() {
        let table = |text: &str| IdfTable::from_bytes("i", text.as_bytes());
        let stated = table("#default 9.5\na b\t2.5\n#x\n云 3\n").unwrap();
        let values = ["a b", "云", "c"].map(|feature| stated.get(feature));
        assert_eq!(values, [2.5, 3.0, 9.5]);
        assert_eq!(table("a 1\nb 4\nc 2\nd 3").unwrap().get("e"), 2.0);
        assert_eq!(table("").unwrap().get("e"), 1.0);
        for bad in [
            "a",
            "a\tx",
            "a -1",
            "a nan",
            "a inf",
            "a 1e300",
            "\t1",
            "#default\t1",
        ] {
            let error = error(table(bad));
            assert!(error.starts_with("i:1: "), "{error}");
        }
    }
}
