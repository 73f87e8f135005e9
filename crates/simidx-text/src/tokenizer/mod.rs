//! Tokenizers, which cut normalised texts into tokens.

mod code;
#[cfg(feature = "compat")]
mod compat;
mod grams;
#[cfg(feature = "jieba")]
mod jieba;
mod sentences;
mod word_boundaries;
mod words;

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "compat")]
pub(crate) use grams::Grams;
#[cfg(feature = "jieba")]
use jieba::Jieba;
#[cfg(feature = "jieba")]
pub(super) use jieba::{Dictionary, inverse_document_frequency};

use crate::names::plain_number;
use crate::{Error, Pipeline, Result};

/// A token of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    /// The part of speech by the tags of jieba; empty if it was not requested.
    pub(crate) part: &'t str,
}

/// Receives tokens, in the order of the text.
pub(crate) type Emit<'e> = &'e mut dyn FnMut(Token<'_>);

/// Cuts normalised texts into tokens.
pub(crate) trait Tokenize: fmt::Debug + Send {
    /// Calls `emit` with each token of the text, in order.
    fn tokenize(&mut self, text: &str, emit: Emit<'_>);
}

/// The tokenizer of a pipeline.
///
/// The text form is the name at the start of each description below. `Auto` and `Jieba` need the feature `jieba`,
/// `AsciiWords`, `JoinedChars` and `WordRuns` the feature `compat`.
///
/// ```
/// use simidx_text::stages::Tokenizer;
///
/// assert_eq!("chars:4".parse(), Tokenizer::chars(4));
/// assert_eq!(Tokenizer::Words.to_string(), "words");
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `words`: the segments of UAX 29 that contain a letter or a digit.
    ///
    /// UAX 29 splits Han characters and Japanese kana mostly into single characters. A maximal run of them is cut into
    /// its overlapping pairs of characters instead, and a run of Thai, Lao, Khmer or Burmese into its overlapping
    /// triples; a shorter run is one token. A variation selector belongs to the character before it. Punctuation,
    /// symbols and emoji are not words.
    #[default]
    Words,
    /// `auto`: like `words`, but runs of Han characters without kana are cut by the dictionary of jieba (precise mode,
    /// with its model for unknown words).
    Auto,
    /// `jieba`: the tokens of jieba for the whole text that contain a letter or a digit.
    Jieba,
    /// `chars:N`: all runs of N characters, including spaces. A shorter text is one token.
    Chars(GramLen),
    /// `sentences`: the parts between full stops, question and exclamation marks, semicolons (also Chinese ones) and
    /// line ends, without white space at their ends, if they contain a letter or a digit. A point ends a sentence only
    /// before white space or another point.
    Sentences,
    /// `code`: like `words`, and between words each character that is not white space as a token of its own, so that
    /// operators and brackets count.
    Code,
    /// `ascii-words`: words of ASCII letters, digits, `_` and `'`; a URL is one word. It is compatible with the Go
    /// packages named simhash.
    AsciiWords,
    /// `joined-chars:N`: all runs of N letters, digits and `_`, after all other characters are dropped; a shorter text,
    /// even an empty one, is one token. It is compatible with the Python package simhash.
    JoinedChars(GramLen),
    /// `word-runs:N`: the runs of letters, digits and `_`, as in Python's regular expressions; a text with fewer than N
    /// runs has no token. With N = 0, a text without runs has one empty token. It is compatible with text-dedup.
    WordRuns(u16),
}

impl Tokenizer {
    /// Creates `Tokenizer::Chars` of `length` characters.
    ///
    /// # Errors
    /// [`Error::Pipeline`] unless `length` is 1 to [`GramLen::MAX`].
    pub fn chars(length: u8) -> Result<Self> {
        format!("chars:{length}").parse()
    }

    /// Whether tokens depend on the dictionary of jieba.
    pub fn needs_jieba(self) -> bool {
        matches!(self, Tokenizer::Auto | Tokenizer::Jieba)
    }

    /// Whether the tokenizer needs the feature `compat`.
    pub(super) fn needs_compat(self) -> bool {
        matches!(
            self,
            Tokenizer::AsciiWords | Tokenizer::JoinedChars(_) | Tokenizer::WordRuns(_)
        )
    }

    /// Whether the tokenizer must see the white space of the text, and applies the steps on white space itself.
    pub(super) fn needs_space(self) -> bool {
        self == Tokenizer::Sentences
    }
}

impl Pipeline {
    /// Returns the tokenizer of this pipeline. If it must see white space, it applies the steps on white space itself.
    pub(super) fn tokenizer(&self) -> Box<dyn Tokenize> {
        let options = &self.options;
        #[cfg(feature = "jieba")]
        let jieba = || Jieba::new(&self.dictionary, options.parts.is_some());
        match options.tokenizer {
            Tokenizer::Words => Box::new(words::Words { han: None }),
            #[cfg(feature = "jieba")]
            Tokenizer::Auto => Box::new(words::Words { han: Some(jieba()) }),
            #[cfg(feature = "jieba")]
            Tokenizer::Jieba => Box::new(jieba()),
            Tokenizer::Chars(length) => Box::new(grams::Grams(length)),
            Tokenizer::Code => Box::new(code::Code),
            Tokenizer::Sentences => Box::new(sentences::Sentences::new(options.normalise)),
            #[cfg(feature = "compat")]
            Tokenizer::AsciiWords => Box::new(compat::AsciiWords),
            #[cfg(feature = "compat")]
            Tokenizer::JoinedChars(length) => Box::new(compat::JoinedChars::new(length)),
            #[cfg(feature = "compat")]
            Tokenizer::WordRuns(least) => Box::new(compat::WordRuns { least }),
            #[cfg(not(all(feature = "jieba", feature = "compat")))]
            _ => unreachable!("no pipeline has it without its feature"),
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tokenizer::Words => f.pad("words"),
            Tokenizer::Auto => f.pad("auto"),
            Tokenizer::Jieba => f.pad("jieba"),
            Tokenizer::Chars(length) => write!(f, "chars:{}", length.get()),
            Tokenizer::Sentences => f.pad("sentences"),
            Tokenizer::Code => f.pad("code"),
            Tokenizer::AsciiWords => f.pad("ascii-words"),
            Tokenizer::JoinedChars(length) => write!(f, "joined-chars:{}", length.get()),
            Tokenizer::WordRuns(least) => write!(f, "word-runs:{least}"),
        }
    }
}

impl FromStr for Tokenizer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, length) = match text.split_once(':') {
            Some((name, length)) => (name, Some(length)),
            None => (text, None),
        };
        let tokenizer = match (name, length) {
            ("words", None) => Some(Tokenizer::Words),
            ("auto", None) => Some(Tokenizer::Auto),
            ("jieba", None) => Some(Tokenizer::Jieba),
            ("code", None) => Some(Tokenizer::Code),
            ("sentences", None) => Some(Tokenizer::Sentences),
            ("ascii-words", None) => Some(Tokenizer::AsciiWords),
            ("chars", Some(length)) => GramLen::parse(length).map(Tokenizer::Chars),
            ("joined-chars", Some(length)) => GramLen::parse(length).map(Tokenizer::JoinedChars),
            ("word-runs", Some(least)) => plain_number(least).map(Tokenizer::WordRuns),
            _ => None,
        };
        tokenizer.ok_or_else(|| {
            let known =
                "words, auto, jieba, chars:N, sentences, code, ascii-words, joined-chars:N or word-runs:N";
            let clause = format!(
                "unknown segment {text:?}; use {known} (N is 1 to 16; for word-runs 0 to 65535)"
            );
            Error::Pipeline(clause)
        })
    }
}

/// The length of an n-gram, 1 to 16 characters or tokens.
///
/// ```
/// use simidx_text::stages::GramLen;
///
/// assert_eq!("3".parse().ok(), GramLen::new(3));
/// assert!(GramLen::new(0).is_none() && "17".parse::<GramLen>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GramLen(u8);

impl GramLen {
    /// The smallest length, 1.
    pub const ONE: GramLen = GramLen(1);
    /// The largest length, 16.
    pub const MAX: u8 = 16;

    /// Creates a length; `None` unless it is 1 to [`Self::MAX`].
    pub fn new(length: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&length).then_some(GramLen(length))
    }

    /// The length.
    pub fn get(self) -> u8 {
        self.0
    }

    fn parse(digits: &str) -> Option<Self> {
        plain_number(digits).and_then(Self::new)
    }
}

impl Default for GramLen {
    fn default() -> Self {
        Self::ONE
    }
}

impl FromStr for GramLen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let clause = || format!("{text:?} is not a length from 1 to {}", Self::MAX);
        Self::parse(text).ok_or_else(|| Error::Pipeline(clause()))
    }
}

/// Returns a token without a part of speech.
pub(crate) fn untagged(text: &str) -> Token<'_> {
    Token { text, part: "" }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::PipelineOptions;

    /// Returns the tokens of a tokenizer without a dictionary.
    pub(crate) fn tokens(tokenizer: &str, text: &str) -> Vec<String> {
        let tokenizer: Tokenizer = tokenizer.parse().unwrap();
        let mut tokens = Vec::new();
        let mut emit = |token: Token<'_>| tokens.push(token.text.to_owned());
        let options = PipelineOptions::PLAIN.tokenizer(tokenizer);
        let pipeline = Pipeline::new(options).unwrap();
        pipeline.tokenizer().tokenize(text, &mut emit);
        tokens
    }

    #[test]
    fn names_are_read_and_written() {
        for name in [
            "words",
            "auto",
            "jieba",
            "chars:1",
            "chars:16",
            "sentences",
            "code",
            "ascii-words",
            "joined-chars:4",
            "word-runs:0",
            "word-runs:65535",
        ] {
            assert_eq!(name.parse::<Tokenizer>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_are_refused() {
        let bad = ["", "word", "Words", "words:2", "chars", "chars:", "chars:0"];
        for name in bad
            .into_iter()
            .chain(["chars:17", "chars:+3", "chars:03", "chars:999"])
            .chain(["word-runs", "word-runs:05", "word-runs:65536"])
        {
            let error = name.parse::<Tokenizer>().unwrap_err().to_string();
            let start = format!("text pipeline: unknown segment {name:?}; use ");
            assert!(error.starts_with(&start), "{error}");
        }
        assert!(Tokenizer::chars(0).is_err());
        assert_eq!(Tokenizer::chars(3).unwrap(), Tokenizer::Chars(GramLen(3)));
    }
}
