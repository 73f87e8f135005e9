//! Scripts that are written without spaces between words, by character ranges.
//!
//! The ranges are constants, not taken from a Unicode table, so that a new table cannot change the features of an old
//! index.

/// The script of a stretch of text, which determines how it is cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Only Han characters.
    Han,
    /// Japanese: kana, with or without Han characters.
    Kana,
    /// Thai, Lao, Khmer or Burmese.
    SouthEastAsian,
    /// All other scripts, which separate words by spaces or need no separation.
    Spaced,
}

/// Divides a text into maximal stretches of one script, and calls `visit` with each in order.
///
/// A variation selector belongs to the character before it. A run of Han characters and kana is a single stretch.
pub(super) fn each_stretch<'t>(text: &'t str, mut visit: impl FnMut(&'t str, Script)) {
    let mut rest = text;
    while !rest.is_empty() {
        let start = unspaced_start(rest);
        if start > 0 {
            visit(&rest[..start], Script::Spaced);
            rest = &rest[start..];
            continue;
        }
        let (end, script) = unspaced_run(rest);
        visit(&rest[..end], script);
        rest = &rest[end..];
    }
}

/// Returns the offset of the first character of a script without spaces, or the length of the text.
fn unspaced_start(text: &str) -> usize {
    // Each of these characters has at least three bytes, of which the first is at least E0.
    let Some(at) = text.bytes().position(|b| b >= 0xe0) else {
        return text.len();
    };
    let is_unspaced = |c| is_cjk(c) || is_south_east_asian(c);
    text[at..].find(is_unspaced).map_or(text.len(), |n| at + n)
}

/// Returns the length and the script of the run at the start of a text that begins with a character of such a script.
fn unspaced_run(text: &str) -> (usize, Script) {
    if !text.starts_with(is_cjk) {
        let belongs = |c| is_south_east_asian(c) || is_variation_selector(c);
        let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
        return (end, Script::SouthEastAsian);
    }
    let (mut end, mut script) = (0, Script::Han);
    loop {
        end += plain_han_length(&text.as_bytes()[end..]);
        let Some(next) = text[end..].chars().next() else {
            return (end, script);
        };
        match next {
            _ if is_kana(next) => script = Script::Kana,
            _ if is_cjk(next) || is_variation_selector(next) => {}
            _ => return (end, script),
        }
        end += next.len_utf8();
    }
}

/// Returns the number of bytes at the start of a text that are characters from U+4000 to U+9FFF without the hexagrams:
/// nearly all Han characters, identified by their first two bytes.
pub(super) fn plain_han_length(text: &[u8]) -> usize {
    3 * text.chunks_exact(3).take_while(|c| is_han(c)).count()
}

/// Returns the offset of the first such character in a text, or its length.
pub(super) fn plain_han_start(text: &[u8]) -> usize {
    text.windows(3).position(is_han).unwrap_or(text.len())
}

/// Whether three bytes of UTF-8 are such a character. The first of them is never another byte of a character.
fn is_han(bytes: &[u8]) -> bool {
    (0xe4..=0xe9).contains(&bytes[0]) && (bytes[0], bytes[1]) != (0xe4, 0xb7)
}

/// Whether a character is an everyday Han character. These have three bytes, and normalisation does not change them.
pub(super) fn is_plain_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Whether a character is Han, Hiragana or Katakana, or one of their iteration and sound marks.
pub(super) fn is_cjk(c: char) -> bool {
    is_plain_han(c)
        || is_kana(c)
        || matches!(c,
            '\u{2e80}'..='\u{2fdf}' // radicals
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3038}'..='\u{303c}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' // extensions B and later
        )
}

fn is_kana(c: char) -> bool {
    matches!(c,
        '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' // Katakana
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{1aff0}'..='\u{1b16f}' // supplements
    )
}

pub(super) fn is_south_east_asian(c: char) -> bool {
    matches!(c,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' // Thai, but for its signs and digits
        | '\u{e81}'..='\u{ece}' // Lao
        | '\u{edc}'..='\u{edf}'
        | '\u{1000}'..='\u{103f}' // Burmese
        | '\u{1050}'..='\u{108f}'
        | '\u{109a}'..='\u{109f}'
        | '\u{1780}'..='\u{17d3}' // Khmer
        | '\u{a9e0}'..='\u{a9ef}'
        | '\u{aa60}'..='\u{aa7f}'
    )
}

/// Whether a character selects a variant of the character before it.
pub(super) fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretches(text: &str) -> Vec<(&str, Script)> {
        let mut all = Vec::new();
        each_stretch(text, |stretch, script| all.push((stretch, script)));
        all
    }

    #[test]
    fn scripts_are_told_apart() {
        assert_eq!(
            stretches("rust语言 検索エンジン ภาษาไทย, 葛\u{e0100}城é"),
            [
                ("rust", Script::Spaced),
                ("语言", Script::Han),
                (" ", Script::Spaced),
                ("検索エンジン", Script::Kana),
                (" ", Script::Spaced),
                ("ภาษาไทย", Script::SouthEastAsian),
                (", ", Script::Spaced),
                ("葛\u{e0100}城", Script::Han),
                ("é", Script::Spaced),
            ]
        );
        assert_eq!(stretches(""), []);
    }

    #[test]
    fn plain_han_is_told_by_bytes() {
        for c in '\0'..=char::MAX {
            let text = format!("{c}中");
            let expected = match c {
                '\u{4000}'.. if is_plain_han(c) => 6,
                _ => 0,
            };
            assert_eq!(plain_han_length(text.as_bytes()), expected, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn stretches_make_up_the_text(text in "[aé 中文かなไท\u{fe00}𠀀,]{0,20}") {
            let all = stretches(&text);
            let joined: String = all.iter().map(|(stretch, _)| *stretch).collect();
            prop_assert_eq!(&joined, &text);
            prop_assert!(all.iter().all(|(stretch, _)| !stretch.is_empty()));
        }
    }
}
