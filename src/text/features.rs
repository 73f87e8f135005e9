//! Features: the pieces of a normalised text that vote on its fingerprint.

use std::fmt;
use std::iter;
use std::str::FromStr;

use unicode_segmentation::UnicodeSegmentation;

use crate::{Error, Result};

/// What counts as a feature of a document.
///
/// As text, `words` or `chars:N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// The words that UAX 29 finds, those segments that hold a letter or a digit.
    ///
    /// A maximal run of Han characters and Japanese kana, which UAX 29 splits for the most part
    /// into single characters, gives its overlapping pairs of characters instead; a run of one
    /// character gives that character. A variation selector belongs to the character before it.
    ///
    /// Punctuation, symbols and emoji are no features. In Thai, Lao, Khmer and Burmese, which are
    /// written without spaces too, UAX 29 finds single characters only: `Chars` suits them better.
    #[default]
    Words,
    /// All runs of so many characters, spaces included. A shorter text is one feature.
    Chars(GramLen),
}

impl Features {
    /// `Features::Chars` of `length` characters.
    ///
    /// ```
    /// use simidx::text::Features;
    /// assert_eq!(Features::chars(5)?.to_string(), "chars:5");
    /// assert!(Features::chars(17).is_err());
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`] unless `length` is 1 to [`GramLen::MAX`].
    pub fn chars(length: u8) -> Result<Self> {
        GramLen::new(length).map(Features::Chars).ok_or_else(|| {
            Error::Pipeline(format!("chars:{length} is not within chars:1 to chars:16"))
        })
    }

    /// Calls `vote` with every feature of a normalised text, once per occurrence.
    pub(super) fn each(self, text: &str, vote: impl FnMut(&str)) {
        match self {
            Features::Words => each_word(text, vote),
            Features::Chars(length) => each_gram(text, usize::from(length.get()), vote),
        }
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Features::Words => f.write_str("words"),
            Features::Chars(length) => write!(f, "chars:{}", length.get()),
        }
    }
}

impl FromStr for Features {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "words" {
            return Ok(Features::Words);
        }
        let length = text.strip_prefix("chars:").and_then(|digits| {
            let plain = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse().ok().filter(|_| plain).and_then(GramLen::new)
        });
        length.map(Features::Chars).ok_or_else(|| {
            let known = "words and chars:1 to chars:16 are known";
            Error::Pipeline(format!("unknown features {text:?}, {known}"))
        })
    }
}

/// The length of a character n-gram, 1 to 16 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GramLen(u8);

impl GramLen {
    /// The greatest length, 16 characters.
    pub const MAX: u8 = 16;

    /// A length in characters; `None` unless it is 1 to [`Self::MAX`].
    pub fn new(length: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&length).then_some(GramLen(length))
    }

    /// The length in characters.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// Words outside CJK runs, pairs of characters inside.
fn each_word(text: &str, mut vote: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = cjk_start(rest) {
        rest[..start].unicode_words().for_each(&mut vote);
        let length = rest[start..].find(|c| !is_cjk(c) && !is_variation_selector(c));
        let (run, after) = rest[start..].split_at(length.unwrap_or(rest.len() - start));
        each_pair(run, &mut vote);
        rest = after;
    }
    rest.unicode_words().for_each(&mut vote);
}

/// Where the first CJK character of `text` stands.
fn cjk_start(text: &str) -> Option<usize> {
    // No CJK character is shorter than three bytes, of which the first is at least E2.
    let at = text.bytes().position(|b| b >= 0xe2)?;
    text[at..].find(is_cjk).map(|after| at + after)
}

/// The overlapping pairs of characters of a CJK run, or its only character.
fn each_pair(run: &str, mut vote: impl FnMut(&str)) {
    let starts = || {
        run.char_indices()
            .filter(|&(_, c)| !is_variation_selector(c))
            .map(|(at, _)| at)
    };
    // Of a single character this makes one pair with the end of the run.
    let ends = starts().skip(2).chain(iter::once(run.len()));
    starts()
        .zip(ends)
        .for_each(|(start, end)| vote(&run[start..end]));
}

/// The overlapping runs of `length` characters, or the whole of a shorter text.
fn each_gram(text: &str, length: usize, mut vote: impl FnMut(&str)) {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, _)| at).skip(length);
    // Of a text too short only the last end is left, which makes a feature of the whole.
    let ends = ends.chain(iter::once(text.len()));
    starts
        .zip(ends)
        .for_each(|(start, end)| vote(&text[start..end]));
}

/// Han, Hiragana and Katakana with their iteration and sound marks.
///
/// The ranges are written out, not taken from a Unicode table, lest a new table change the
/// features of an old index.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}' // radicals
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}'
        | '\u{3038}'..='\u{303c}'
        | '\u{3041}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' // Katakana
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' // Han, extension A
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}'
        | '\u{1aff0}'..='\u{1b16f}' // kana, supplements
        | '\u{20000}'..='\u{3ffff}' // Han, extensions B and later
    )
}

/// Marks that choose among the shapes of the character before them.
fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(kind: &str, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let kind: Features = kind.parse().unwrap();
        kind.each(text, |feature| all.push(feature.to_owned()));
        all
    }

    #[test]
    fn words_hold_letters_or_digits() {
        let text = "can't stop: 3.14 — naïve, well-known 👍 x_1";
        let words = ["can't", "stop", "3.14", "naïve", "well", "known", "x_1"];
        assert_eq!(features("words", text), words);
    }

    #[test]
    fn a_word_counts_each_time() {
        assert_eq!(features("words", "no no no"), ["no", "no", "no"]);
    }

    #[test]
    fn cjk_runs_give_pairs() {
        assert_eq!(features("words", "我爱你"), ["我爱", "爱你"]);
        assert_eq!(
            features("words", "カタカナとー"),
            ["カタ", "タカ", "カナ", "ナと", "とー"]
        );
        assert_eq!(features("words", "𠀀𠀁。"), ["𠀀𠀁"]);
    }

    #[test]
    fn a_cjk_character_alone_is_a_feature() {
        assert_eq!(features("words", "我"), ["我"]);
        assert_eq!(features("words", "a,我,b"), ["a", "我", "b"]);
    }

    #[test]
    fn scripts_are_separated_where_they_touch() {
        let mixed = features("words", "rust语言2024年 ok, 한국어 문장");
        assert_eq!(
            mixed,
            ["rust", "语言", "2024", "年", "ok", "한국어", "문장"]
        );
    }

    #[test]
    fn a_variation_selector_stays_with_its_character() {
        let text = "葛\u{e0100}城市";
        assert_eq!(features("words", text), ["葛\u{e0100}城", "城市"]);
        assert_eq!(features("words", "葛\u{e0100}"), ["葛\u{e0100}"]);
    }

    #[test]
    fn symbols_alone_give_no_word() {
        assert!(features("words", "👍🏽 ... !?").is_empty());
        assert!(features("words", "").is_empty());
    }

    #[test]
    fn grams_overlap_and_count_characters() {
        assert_eq!(features("chars:3", "aé b"), ["aé ", "é b"]);
        assert_eq!(features("chars:1", "aba"), ["a", "b", "a"]);
    }

    #[test]
    fn a_text_shorter_than_the_gram_is_one_feature() {
        assert_eq!(features("chars:5", "aé"), ["aé"]);
        assert_eq!(features("chars:2", "aé"), ["aé"]);
        assert!(features("chars:5", "").is_empty());
    }

    #[test]
    fn names_are_read_and_written() {
        for name in ["words", "chars:1", "chars:16"] {
            assert_eq!(name.parse::<Features>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "word",
            "Words",
            "chars",
            "chars:",
            "chars:0",
            "chars:17",
            "chars:+3",
            "chars:03",
            "chars:999",
        ] {
            let error = name.parse::<Features>().unwrap_err().to_string();
            let clause = format!("text pipeline: unknown features {name:?}, ");
            assert_eq!(error, clause + "words and chars:1 to chars:16 are known");
        }
    }

    #[test]
    fn gram_lengths_are_checked() {
        assert_eq!(Features::chars(3).unwrap(), Features::Chars(GramLen(3)));
        let error = Features::chars(0).unwrap_err().to_string();
        assert_eq!(
            error,
            "text pipeline: chars:0 is not within chars:1 to chars:16"
        );
    }
}
