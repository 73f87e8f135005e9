//! Shingles: runs of tokens, joined by spaces, as features.

use super::tokenizer::{GramLen, Token};

/// The last tokens, from which the next shingle is made.
#[derive(Clone, Debug)]
pub(super) struct Shingles {
    length: usize,
    /// The tokens that the next shingles may contain, each followed by a space.
    text: String,
    /// The offsets of the tokens in `text`, then the offset after the last one.
    starts: Vec<usize>,
}

impl Shingles {
    pub(super) fn new(length: GramLen) -> Self {
        Shingles {
            length: length.get().into(),
            text: String::new(),
            starts: vec![0],
        }
    }

    /// Whether each token is a shingle.
    pub(super) fn are_tokens(&self) -> bool {
        self.length == 1
    }

    /// Adds a token, and emits the shingle that ends with it, if there are enough tokens.
    pub(super) fn push(&mut self, token: Token<'_>, emit: &mut dyn FnMut(Token<'_>)) {
        if self.are_tokens() {
            return emit(token);
        }
        if self.starts.len() > self.length {
            self.drop_first();
        }
        self.text.push_str(token.text);
        self.text.push(' ');
        self.starts.push(self.text.len());
        if self.starts.len() > self.length {
            emit(self.all());
        }
    }

    /// Ends a document. A document with fewer tokens than a shingle emits one of all its tokens.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(Token<'_>)) {
        let count = self.starts.len() - 1;
        if self.length > 1 && (1..self.length).contains(&count) {
            emit(self.all());
        }
        self.text.clear();
        self.starts.truncate(1);
        self.starts[0] = 0;
    }

    fn all(&self) -> Token<'_> {
        let text = &self.text[self.starts[0]..self.text.len() - 1];
        Token { text, part: "" }
    }

    fn drop_first(&mut self) {
        self.starts.remove(0);
        // The text is moved down only occasionally, so that tokens do not cause a copy each.
        if self.starts[0] > 4096 + (self.text.len() - self.starts[0]) {
            let start = self.starts[0];
            self.text.drain(..start);
            self.starts.iter_mut().for_each(|at| *at -= start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shingles(length: u8, tokens: &[&str]) -> Vec<String> {
        let mut shingles = Shingles::new(GramLen::new(length).unwrap());
        let mut all = Vec::new();
        // Twice, to check that a document does not depend on the one before it.
        for _ in 0..2 {
            all.clear();
            let mut emit = |token: Token<'_>| all.push(token.text.to_owned());
            for text in tokens {
                shingles.push(Token { text, part: "" }, &mut emit);
            }
            shingles.finish(&mut emit);
        }
        all
    }

    #[test]
    fn shingles_overlap() {
        assert_eq!(shingles(2, &["a", "b", "c"]), ["a b", "b c"]);
        assert_eq!(shingles(3, &["a", "b", "c"]), ["a b c"]);
        assert_eq!(shingles(1, &["a", "b"]), ["a", "b"]);
    }

    #[test]
    fn few_tokens_are_one_shingle() {
        assert_eq!(shingles(3, &["a", "b"]), ["a b"]);
        assert_eq!(shingles(3, &["a"]), ["a"]);
        assert!(shingles(3, &[]).is_empty());
    }

    #[test]
    fn long_documents_agree_with_windows() {
        let tokens: Vec<String> = (0..5000).map(|n| format!("token{n}")).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let expected: Vec<String> = tokens.windows(4).map(|four| four.join(" ")).collect();
        assert_eq!(shingles(4, &tokens), expected);
    }
}
