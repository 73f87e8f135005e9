//! Cuts a text into sentences by punctuation.

use super::{Emit, Tokenize, untagged};
use crate::normalise::{Normalise, Normaliser};

/// A tokenizer of the text between ends of sentences and of lines.
#[derive(Clone, Debug)]
pub(super) struct Sentences {
    /// The steps on white space, which apply to each sentence.
    space: Normaliser,
}

impl Sentences {
    /// Creates a tokenizer that applies the steps on white space in `normalise`.
    pub(super) fn new(normalise: Normalise) -> Self {
        let space = Normaliser::new(normalise.of_space());
        Sentences { space }
    }

    fn give(&mut self, sentence: &str, emit: Emit<'_>) {
        let sentence = sentence.trim();
        if sentence.contains(char::is_alphanumeric) {
            emit(untagged(self.space.normalise(sentence)));
        }
    }
}

impl Tokenize for Sentences {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        let (mut start, mut before) = (0, None);
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|&(_, next)| next);
            if ends_sentence(before, c, next) {
                self.give(&text[start..at], emit);
                start = at + c.len_utf8();
            }
            before = Some(c);
        }
        self.give(&text[start..], emit);
    }
}

/// Whether a sentence ends at character `c` between its neighbours.
fn ends_sentence(before: Option<char>, c: char, next: Option<char>) -> bool {
    match c {
        // NFKC converts an ellipsis to three points.
        '.' if before == Some('.') || next == Some('.') => true,
        // Other points may be in a number, a name or an address.
        '.' => next.is_none_or(char::is_whitespace),
        '!' | '?' | ';' | '\n' | '\r' => true,
        '。' | '！' | '？' | '；' | '…' | '｡' | '\u{2028}' | '\u{2029}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tokens;

    #[test]
    fn sentences_end_at_their_punctuation() {
        assert_eq!(
            tokens(
                "sentences",
                "Pi is 3.14. Really? Yes!\nA line; more… 你好。世界！"
            ),
            [
                "Pi is 3.14",
                "Really",
                "Yes",
                "A line",
                "more",
                "你好",
                "世界"
            ]
        );
        assert!(tokens("sentences", " ... !? \n").is_empty());
        assert_eq!(tokens("sentences", "好...世界 v1.2"), ["好", "世界 v1.2"]);
        assert_eq!(tokens("sentences", "a \t b 中\u{3000}文"), ["a b 中文"]);
    }
}
