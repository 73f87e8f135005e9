//! Source code: words, and the marks between them.

use super::words::Words;
use super::{Emit, Tokenize, untagged};

/// The tokens of [`Words`], and between them each character that is not white space as a token of its own.
#[derive(Debug)]
pub(super) struct Code;

impl Tokenize for Code {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        let mut end = 0;
        Words { han: None }.tokenize(text, &mut |word| {
            // Every word is a part of the text.
            let start = word.text.as_ptr().addr() - text.as_ptr().addr();
            // Words of scripts without spaces overlap.
            if start > end {
                each_mark(&text[end..start], emit);
            }
            emit(word);
            end = start + word.text.len();
        });
        each_mark(&text[end..], emit);
    }
}

/// Emits the characters of a text between words.
fn each_mark(text: &str, emit: Emit<'_>) {
    let marks = text
        .split_inclusive(|_| true)
        .filter(|mark| !mark.trim().is_empty());
    marks.for_each(|mark| emit(untagged(mark)));
}

#[cfg(test)]
mod tests {
    use super::super::tests::tokens;

    #[test]
    fn operators_and_brackets_are_tokens() {
        let tokens_of = |text| tokens("code", text);
        assert_eq!(tokens_of("x += y;"), ["x", "+", "=", "y", ";"]);
        assert_eq!(
            tokens_of("f(a, b[0])\n\t!g"),
            ["f", "(", "a", ",", "b", "[", "0", "]", ")", "!", "g"]
        );
        assert_eq!(tokens_of("# 加一行 →é"), ["#", "加一", "一行", "→", "é"]);
        assert_eq!(tokens_of("=>"), ["=", ">"]);
        assert!(tokens_of(" \n").is_empty());
    }
}
