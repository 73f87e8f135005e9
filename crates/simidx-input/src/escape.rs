//! Escapes ids for a column between tabs.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// A text, displayed with escapes so that it fits a column between tabs.
///
/// A backslash becomes `\\`, a tab `\t`, line ends `\n` and `\r`. Other control characters become escapes like `\x1b`,
/// with two hexadecimal digits of the code point. Line separators (U+2028, U+2029) and characters that change the
/// writing direction (U+202A to U+202E, U+2066 to U+2069) become escapes like `\u2028`, with four digits. [`unescape`]
/// is the inverse. The readers of `hex`, `dec` and `tsv` expect ids in this form.
///
/// ```
/// use simidx_input::Escaped;
///
/// assert_eq!(Escaped("a\tb\\c\u{1b}[0m").to_string(), r"a\tb\\c\x1b[0m");
/// assert_eq!(Escaped("https://example.org/ä").to_string(), "https://example.org/ä");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, c)) = first_to_escape(rest) {
            f.write_str(&rest[..at])?;
            match c {
                '\\' => f.write_str(r"\\")?,
                '\t' => f.write_str(r"\t")?,
                '\n' => f.write_str(r"\n")?,
                '\r' => f.write_str(r"\r")?,
                '\0'..='\u{ff}' => write!(f, r"\x{:02x}", u32::from(c))?,
                _ => write!(f, r"\u{:04x}", u32::from(c))?,
            }
            rest = &rest[at + c.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Returns the first character that needs an escape, and its offset.
fn first_to_escape(text: &str) -> Option<(usize, char)> {
    // Most ids are plain ASCII, which is checked by bytes.
    let start = text.bytes().position(|byte| !is_plain(byte))?;
    let mut found = text[start..].char_indices();
    let (at, c) = found.find(|&(_, c)| is_escaped(c))?;
    Some((start + at, c))
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'\\'
}

fn is_escaped(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c == '\\' || c.is_control() || separates || turns
}

/// Returns the text that [`Escaped`] displays in this form.
///
/// ```
/// use simidx_input::unescape;
///
/// assert_eq!(unescape(r"a\tb\\c\x1b[0m")?, "a\tb\\c\u{1b}[0m");
/// assert_eq!(unescape(r"C:\dir").unwrap_err().to_string(), r#"\d is not an escape; a backslash is written \\"#);
/// # Ok::<(), simidx_input::BadEscape>(())
/// ```
///
/// # Errors
/// A backslash that does not begin one of these escapes.
pub fn unescape(text: &str) -> Result<Cow<'_, str>, BadEscape> {
    let Some((head, mut rest)) = text.split_once('\\') else {
        return Ok(Cow::Borrowed(text));
    };
    let mut plain = head.to_owned();
    loop {
        let (c, after) = escaped(rest).ok_or_else(|| BadEscape::at(rest))?;
        plain.push(c);
        match after.split_once('\\') {
            Some((head, next)) => {
                plain.push_str(head);
                rest = next;
            }
            None => {
                plain.push_str(after);
                return Ok(Cow::Owned(plain));
            }
        }
    }
}

/// Parses an escape, without its backslash, at the start of a text. Returns its character, and the rest.
fn escaped(text: &str) -> Option<(char, &str)> {
    let mut rest = text.chars();
    let c = match rest.next()? {
        '\\' => '\\',
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'x' => return digits(rest.as_str(), 2),
        'u' => return digits(rest.as_str(), 4),
        _ => return None,
    };
    Some((c, rest.as_str()))
}

/// Parses a code point of `count` hexadecimal digits.
fn digits(text: &str, count: usize) -> Option<(char, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let code_point = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code_point)?, rest))
}

/// The error of [`unescape`]: a backslash that does not begin an escape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(r"{0} is not an escape; a backslash is written \\")]
pub struct BadEscape(String);

impl BadEscape {
    /// Creates the error for the text after a backslash.
    fn at(text: &str) -> Self {
        let len = match text.chars().next() {
            Some('x') => 3,
            Some('u') => 5,
            _ => 1,
        };
        let mut shown = String::from('\\');
        for c in text.chars().take(len) {
            // The character becomes part of a message.
            match c.is_control() {
                true => shown.extend(c.escape_default()),
                false => shown.push(c),
            }
        }
        if text.is_empty() {
            let _ = write!(shown, " at the end");
        }
        BadEscape(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_character_comes_back_and_none_breaks_a_line() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b");
            let shown = Escaped(&text).to_string();
            assert_eq!(unescape(&shown).unwrap(), text);
            assert!(!shown.contains(crate::id::breaks_line), "{c:?}");
            // Only characters that need an escape are escaped.
            assert!(is_escaped(c) || shown == text, "{c:?}");
        }
    }

    #[test]
    fn plain_texts_are_not_copied() {
        assert!(matches!(unescape("a b/ä"), Ok(Cow::Borrowed("a b/ä"))));
    }

    #[test]
    fn other_backslashes_are_refused() {
        for (text, shown) in [
            (r"\d", r"\d"),
            (r"a\", r"\ at the end"),
            (r"\\\", r"\ at the end"),
            (r"\x1", r"\x1"),
            (r"\xg0", r"\xg0"),
            (r"\x+1", r"\x+1"),
            (r"\ud800", r"\ud800"),
            (r"\u12", r"\u12"),
            (r"\é", r"\é"),
            ("\\\u{1b}", r"\\u{1b}"),
            (r"\X41", r"\X"),
            (r"\x1é", r"\x1é"),
        ] {
            let message = format!(r"{shown} is not an escape; a backslash is written \\");
            assert_eq!(unescape(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text: String) {
            let shown = Escaped(&text).to_string();
            prop_assert_eq!(unescape(&shown).unwrap(), text);
        }

        #[test]
        fn any_text_is_taken_or_refused(text in r"[\\xtu01aé]*") {
            if let Ok(plain) = unescape(&text) {
                let shown = Escaped(&plain).to_string();
                prop_assert_eq!(unescape(&shown).unwrap(), plain);
            }
        }
    }
}
