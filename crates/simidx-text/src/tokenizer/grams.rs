//! Character n-grams.

use super::{Emit, GramLen, Tokenize, untagged};

/// All runs of a number of characters, or the whole text if it is shorter and not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grams(pub(crate) GramLen);

impl Tokenize for Grams {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        each_gram(
            text,
            self.0.get().into(),
            |_| true,
            |gram| emit(untagged(gram)),
        );
    }
}

/// Calls `emit` with the overlapping runs of `length` characters, or with the whole text if it is shorter. Ignored
/// characters belong to the character before them.
pub(super) fn each_gram<'t>(
    text: &'t str,
    length: usize,
    counts: impl Fn(char) -> bool + Copy,
    mut emit: impl FnMut(&'t str),
) {
    let starts = || {
        let counted = text.char_indices().filter(move |&(_, c)| counts(c));
        counted.map(|(at, _)| at)
    };
    // For a short text, only the end of the text remains, which makes one gram of the whole.
    let ends = starts().skip(length).chain(std::iter::once(text.len()));
    starts()
        .zip(ends)
        .for_each(|(start, end)| emit(&text[start..end]));
}

#[cfg(test)]
mod tests {
    use super::super::tests::tokens;

    #[test]
    fn grams_overlap_and_count_characters() {
        assert_eq!(tokens("chars:3", "aé b"), ["aé ", "é b"]);
        assert_eq!(tokens("chars:1", "aba"), ["a", "b", "a"]);
    }

    #[test]
    fn a_text_shorter_than_the_gram_is_one_token() {
        assert_eq!(tokens("chars:5", "aé"), ["aé"]);
        assert_eq!(tokens("chars:2", "aé"), ["aé"]);
        assert!(tokens("chars:5", "").is_empty());
    }
}
