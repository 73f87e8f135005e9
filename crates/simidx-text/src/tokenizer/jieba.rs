//! Chinese words by the dictionary and model of jieba.

use std::fmt;
use std::sync::{Arc, LazyLock};

use jieba_rs::{Jieba as Cutter, KeywordExtract, KeywordExtractConfig, TfIdf};

use super::{Emit, Token, Tokenize, untagged};
use crate::assets::UserDictionary;
use crate::normalise::Normaliser;
use crate::scripts::is_plain_han;

static BUILT_IN: LazyLock<Arc<Cutter>> = LazyLock::new(|| Arc::new(Cutter::new()));

/// The built-in inverse document frequencies, for all words without exception.
static FREQUENCIES: LazyLock<TfIdf> = LazyLock::new(|| {
    let mut table = TfIdf::default();
    let config = KeywordExtractConfig::builder()
        .set_stop_words(Default::default())
        .min_keyword_length(1);
    *table.config_mut() = config.build();
    table
});

/// The value of the built-in table for unknown words.
static MEDIAN: LazyLock<f64> = LazyLock::new(|| inverse_document_frequency("simidx"));

/// Number of characters of the longest word in tables and dictionaries. Longer tokens are not looked up, because the
/// time grows with the square of their length.
pub(crate) const LONGEST_WORD: usize = 64;

/// A dictionary, shared by all its tokenizers.
#[derive(Clone, Default)]
pub(crate) struct Dictionary {
    /// The user's dictionary; `None` for the built-in one.
    own: Option<Arc<Cutter>>,
}

impl Dictionary {
    /// Creates the built-in dictionary with additional words of a user, normalised like texts. Loading takes about a
    /// tenth of a second.
    pub(crate) fn with(words: &UserDictionary, normaliser: &mut Normaliser) -> Self {
        let mut cutter = Cutter::new();
        for word in words.words() {
            let text = normaliser.normalise(&word.text);
            cutter.add_word(text, word.frequency, word.part.as_deref());
        }
        Dictionary {
            own: Some(Arc::new(cutter)),
        }
    }

    fn cutter(&self) -> Arc<Cutter> {
        Arc::clone(self.own.as_ref().unwrap_or(&BUILT_IN))
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.is_some();
        f.debug_struct("Dictionary").field("own", &own).finish()
    }
}

/// A tokenizer that uses a dictionary, in jieba's precise mode with its model for unknown words.
pub(crate) struct Jieba {
    cutter: Arc<Cutter>,
    parts: bool,
}

impl Jieba {
    /// Creates a tokenizer. With `parts`, it assigns parts of speech and takes a third longer.
    pub(crate) fn new(dictionary: &Dictionary, parts: bool) -> Self {
        Jieba {
            cutter: dictionary.cutter(),
            parts,
        }
    }
}

impl fmt::Debug for Jieba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jieba").field("parts", &self.parts).finish()
    }
}

impl Tokenize for Jieba {
    fn tokenize(&mut self, text: &str, emit: Emit<'_>) {
        if self.parts {
            for tag in self.cutter.tag(text, true) {
                if is_word(tag.word) {
                    let (text, part) = (tag.word, tag.tag);
                    emit(Token { text, part });
                }
            }
            return;
        }
        for token in self.cutter.cut(text, true) {
            if is_word(token.word) {
                emit(untagged(token.word));
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    // Most tokens begin with a letter that is recognised without the Unicode tables.
    token.starts_with(is_plain_han) || token.chars().any(char::is_alphanumeric)
}

/// Returns the inverse document frequency of a word in the built-in table, or the median of the table for unknown
/// words. It takes microseconds.
pub(crate) fn inverse_document_frequency(word: &str) -> f64 {
    if word.chars().nth(LONGEST_WORD).is_some() {
        return *MEDIAN;
    }
    let mut cutter = Cutter::empty();
    cutter.add_word(word, Some(1), None);
    // The weight of a keyword is its share of the text, here 1, times the inverse document frequency.
    let keywords = FREQUENCIES.extract_keywords(&cutter, word, 2, Vec::new());
    match &keywords[..] {
        [keyword] if keyword.keyword == word => keyword.weight,
        // Only a word that is a single token for jieba can be looked up.
        _ => *MEDIAN,
    }
}
