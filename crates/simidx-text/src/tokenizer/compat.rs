//! Tokenizers that are exactly compatible with other implementations.

use unicode_normalization::char::is_combining_mark;

use super::{Emit, GramLen, Grams, Tokenize, untagged};

/// Matches of `[\w']+(?:\://[\w\./]+){0,1}` with the `\w` of ASCII.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsciiWords;

impl Tokenize for AsciiWords {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let run = |at: usize, more: &[u8]| {
            let bytes = text.as_bytes()[at..].iter();
            bytes
                .take_while(|&&b| is_word(b) || more.contains(&b))
                .count()
        };
        let mut at = 0;
        while at < text.len() {
            let word = run(at, b"'");
            if word == 0 {
                at += 1;
                continue;
            }
            let start = at;
            at += word;
            if text[at..].starts_with("://") && run(at + 3, b"./") > 0 {
                at += 3 + run(at + 3, b"./");
            }
            emit(untagged(&text[start..at]));
        }
    }
}

/// Character n-grams of the letters, digits and `_` in a text.
#[derive(Clone, Debug)]
pub(crate) struct JoinedChars {
    length: GramLen,
    joined: String,
}

impl JoinedChars {
    pub(crate) fn new(length: GramLen) -> Self {
        JoinedChars {
            length,
            joined: String::new(),
        }
    }
}

impl Tokenize for JoinedChars {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        self.joined.clear();
        self.joined
            .extend(text.chars().filter(|&c| is_python_word(c)));
        if self.joined.is_empty() {
            return emit(untagged(""));
        }
        Grams(self.length).tokenize(&self.joined, emit);
    }
}

/// Runs of letters, digits and `_`, if there are enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRuns {
    /// A text with fewer runs has no token; if this is 0, a text without runs has an empty token.
    pub(crate) least: u16,
}

impl WordRuns {
    fn each(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c| !is_python_word(c))
            .filter(|run| !run.is_empty())
    }
}

impl Tokenize for WordRuns {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        let least = usize::from(self.least);
        if least > 1 && Self::each(text).take(least).count() < least {
            return;
        }
        let mut is_empty = true;
        for run in Self::each(text) {
            is_empty = false;
            emit(untagged(run));
        }
        if is_empty && least == 0 {
            emit(untagged(""));
        }
    }
}

/// Whether a character is a word character in Python's regular expressions: of general category L or N, or `_`.
fn is_python_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    // Circled letters and similar characters are alphabetic, but symbols.
    let is_circled = matches!(c,
        '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    let is_letter = c.is_alphabetic() && !is_combining_mark(c) && !is_circled;
    c == '_' || is_letter || c.is_numeric()
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::tests::tokens;

    #[test]
    fn ascii_words_keep_addresses_and_apostrophes() {
        let text = "it's http://a.b/c?d_1 é x:// y:///z";
        assert_eq!(
            tokens("ascii-words", text),
            ["it's", "http://a.b/c", "d_1", "x", "y:///z"]
        );
    }

    #[test]
    fn joined_grams_cross_what_is_dropped() {
        assert_eq!(tokens("joined-chars:3", "a-b c!d"), ["abc", "bcd"]);
        assert_eq!(tokens("joined-chars:4", "é\u{301}Ⓐ²_"), ["é²_"]);
        assert_eq!(tokens("joined-chars:4", "..."), [""]);
    }

    #[test]
    fn too_few_runs_are_none() {
        let text = "one, two_2  cafe\u{301} 四五";
        let runs = ["one", "two_2", "cafe", "四五"];
        for segment in ["word-runs:0", "word-runs:1", "word-runs:4"] {
            assert_eq!(tokens(segment, text), runs);
        }
        assert!(tokens("word-runs:5", text).is_empty());
        assert!(tokens("word-runs:1", "...").is_empty());
        assert_eq!(tokens("word-runs:0", "..."), [""]);
    }
}
