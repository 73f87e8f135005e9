//! Words in any script: UAX 29 for scripts with spaces, a dictionary or n-grams for the others.

use unicode_segmentation::UnicodeSegmentation;

use super::grams::each_gram;
#[cfg(feature = "jieba")]
use super::jieba::Jieba;
use super::word_boundaries::each_ascii_word;
use super::{Emit, Tokenize, untagged};
use crate::scripts::{Script, each_stretch, is_variation_selector};

/// Without the feature, the type has no values.
#[cfg(not(feature = "jieba"))]
type Jieba = std::convert::Infallible;

/// Words of UAX 29; Han characters by a dictionary, if there is one.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) han: Option<Jieba>,
}

impl Tokenize for Words {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        if text.is_ascii() {
            return each_ascii_word(text, |word| emit(untagged(word)));
        }
        each_stretch(text, |stretch, script| match (script, &mut self.han) {
            (Script::Spaced, _) => each_spaced_word(stretch, emit),
            #[cfg(feature = "jieba")]
            (Script::Han, Some(jieba)) => jieba.tokenize(stretch, emit),
            (Script::Han | Script::Kana, _) => each_overlap(stretch, 2, emit),
            (Script::SouthEastAsian, _) => each_overlap(stretch, 3, emit),
        });
    }
}

/// Emits the overlapping runs of `length` characters.
fn each_overlap(text: &str, length: usize, emit: Emit<'_>) {
    let counts = |c| !is_variation_selector(c);
    each_gram(text, length, counts, |gram| emit(untagged(gram)));
}

/// Emits the words of a text; ASCII runs do not need the Unicode tables.
fn each_spaced_word(text: &str, emit: Emit<'_>) {
    // The text between Han characters is usually punctuation.
    if text.chars().all(is_punctuation) {
        return;
    }
    let mut rest = text;
    while !rest.is_empty() {
        // White space is a boundary, whatever its neighbours are.
        let beyond = rest.bytes().position(|b| !b.is_ascii());
        let ascii_end = beyond.unwrap_or(rest.len());
        let cut = match beyond {
            Some(end) => last_space(&rest[..end]),
            None => ascii_end,
        };
        each_ascii_word(&rest[..cut], |word| emit(untagged(word)));
        rest = &rest[cut..];
        let space = rest[ascii_end - cut..]
            .bytes()
            .position(|b| b.is_ascii_whitespace());
        let end = space.map_or(rest.len(), |at| ascii_end - cut + at);
        rest[..end]
            .unicode_words()
            .for_each(|word| emit(untagged(word)));
        rest = &rest[end..];
    }
}

/// Whether a character is ASCII or Chinese punctuation that surrounds words and is not part of any.
fn is_punctuation(c: char) -> bool {
    match c {
        '\0'..='\x7f' => !c.is_ascii_alphanumeric(),
        _ => {
            matches!(c, '\u{2010}'..='\u{2027}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{301f}')
        }
    }
}

/// Returns the offset after the last white space of an ASCII text.
fn last_space(text: &str) -> usize {
    let space = text.bytes().rposition(|b| b.is_ascii_whitespace());
    space.map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::tokens;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_hold_letters_or_digits() {
        let text = "can't stop: 3.14 — naïve, well-known 👍 x_1";
        let words = ["can't", "stop", "3.14", "naïve", "well", "known", "x_1"];
        assert_eq!(tokens("words", text), words);
    }

    #[test]
    fn a_word_counts_each_time() {
        assert_eq!(tokens("words", "no no no"), ["no", "no", "no"]);
    }

    #[test]
    fn cjk_runs_give_pairs() {
        assert_eq!(tokens("words", "我爱你"), ["我爱", "爱你"]);
        assert_eq!(
            tokens("words", "カタカナとー"),
            ["カタ", "タカ", "カナ", "ナと", "とー"]
        );
        assert_eq!(tokens("words", "𠀀𠀁。"), ["𠀀𠀁"]);
    }

    #[test]
    fn a_cjk_character_alone_is_a_word() {
        assert_eq!(tokens("words", "我"), ["我"]);
        assert_eq!(tokens("words", "a,我,b"), ["a", "我", "b"]);
    }

    #[test]
    fn thai_runs_give_triples() {
        assert_eq!(tokens("words", "ไทยดี"), ["ไทย", "ทยด", "ยดี"]);
        assert_eq!(tokens("words", "ดี"), ["ดี"]);
    }

    #[test]
    fn scripts_are_separated_where_they_touch() {
        let mixed = tokens("words", "rust语言2024年 ok, 한국어 문장");
        assert_eq!(
            mixed,
            ["rust", "语言", "2024", "年", "ok", "한국어", "문장"]
        );
    }

    #[test]
    fn a_variation_selector_stays_with_its_character() {
        let text = "葛\u{e0100}城市";
        assert_eq!(tokens("words", text), ["葛\u{e0100}城", "城市"]);
        assert_eq!(tokens("words", "葛\u{e0100}"), ["葛\u{e0100}"]);
    }

    #[test]
    fn symbols_alone_give_no_word() {
        assert!(tokens("words", "👍🏽 ... !?").is_empty());
        assert!(tokens("words", "").is_empty());
    }

    #[test]
    fn punctuation_makes_no_word() {
        let marks: String = ('\0'..=char::MAX).filter(|&c| is_punctuation(c)).collect();
        assert_eq!(marks.chars().count(), 128 - 62 + 24 + 4 + 24);
        assert_eq!(marks.unicode_words().count(), 0);
        for c in marks.chars() {
            assert_eq!(c.to_string().unicode_words().count(), 0, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn the_path_of_ascii_changes_nothing(
            text in "[a1_:,.' \n\t\u{85}\u{a0}\u{2028}é\u{301}\u{200d}“’א\"한👍]{0,40}"
        ) {
            let expected: Vec<_> = text.unicode_words().collect();
            prop_assert_eq!(tokens("words", &text), expected);
        }
    }
}
