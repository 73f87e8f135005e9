//! The set of features of a text, and the similarity of two sets.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::normalise::{Normalise, Normaliser, combines_with_none_before, inert_sign_length};
use super::scripts::{is_cjk, is_south_east_asian, plain_han_length, plain_han_start};

/// The distinct features of a text, as hashes of 64 bits. Memory: eight bytes for each feature.
///
/// Two features with the same hash count as one, which affects one in ten trillion pairs of sets of a thousand
/// features.
///
/// ```
/// use simidx_text::compare::FeatureSet;
///
/// let [a, b] = ["a b c d", "a b c e"].map(|text| FeatureSet::of_shingles(text, 3));
/// assert_eq!(a.jaccard(&b), 1.0 / 3.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {
    /// The distinct hashes, ascending.
    hashes: Vec<u64>,
}

impl FeatureSet {
    /// Returns all shingles of `length` words, at least 1. The words of a shorter text are a single shingle.
    ///
    /// The text is normalised first: control characters are dropped, NFKC is applied, and case is folded. A word is a
    /// run of letters and digits, or one character of a script that is written without spaces: Chinese, Japanese, Thai,
    /// Lao, Khmer and Burmese.
    pub fn of_shingles(text: &str, length: usize) -> Self {
        let words = word_hashes(text);
        let length = length.clamp(1, words.len().max(1));
        Self::of_runs(&words, length)
    }

    /// All runs of `length` words, at least 1, of the words with these hashes.
    fn of_runs(words: &[u64], length: usize) -> Self {
        Self::from_hashes(words.windows(length).map(hash_of_run).collect())
    }

    /// Creates the set of these hashes, which may be in any order and repeated.
    pub fn from_hashes(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        FeatureSet { hashes }
    }

    /// The hashes, ascending.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The Jaccard similarity, 0 to 1: the size of the intersection divided by the size of the union. It is 1 for two
    /// empty sets. The time is linear in the lengths.
    pub fn jaccard(&self, other: &FeatureSet) -> f64 {
        jaccard(&self.hashes, &other.hashes)
    }
}

fn hash(feature: &str) -> u64 {
    xxh3_64(feature.as_bytes())
}

/// The hashes of the words of a text, in order.
pub(super) fn word_hashes(text: &str) -> Vec<u64> {
    let lower = text.to_ascii_lowercase();
    let mut normaliser = Normaliser::default();
    let mut words = Vec::new();
    each_part(text, |part, is_word| match is_word {
        true => words.push(hash(&lower[part])),
        false => push_words(&text[part], &mut normaliser, &mut words),
    });
    words
}

/// Appends the hashes of the words in a part of a text. Each Han character is a word, and the text may be divided around it.
fn push_words(part: &str, normaliser: &mut Normaliser, words: &mut Vec<u64>) {
    let mut rest = part;
    while !rest.is_empty() {
        let (han, after) = rest.split_at(plain_han_length(rest.as_bytes()));
        let (han, _) = han.as_bytes().as_chunks::<3>();
        words.extend(han.iter().map(|character| xxh3_64(character)));
        let (others, next) = after.split_at(plain_han_start(after.as_bytes()));
        if !others.is_empty() {
            each_word(normaliser.normalise(others), |word| words.push(hash(word)));
        }
        rest = next;
    }
}

/// Where these words stand in the text, in bytes. It takes many times as long as [`word_hashes`] where a text is neither
/// ASCII nor Han.
pub(super) fn word_places(text: &str) -> Vec<Range<usize>> {
    let mut normaliser = Normaliser::new(Normalise::default().but_space());
    let mut places = Vec::new();
    each_part(text, |part, is_word| match is_word {
        true => places.push(part),
        false => places_by_the_tables(text, part, &mut normaliser, &mut places),
    });
    places
}

/// Appends the places of the words in a part of the text, each character normalised with those that combine with it.
fn places_by_the_tables(
    text: &str,
    part: Range<usize>,
    normaliser: &mut Normaliser,
    places: &mut Vec<Range<usize>>,
) {
    let (mut start, mut is_open) = (part.start, false);
    while start < part.end {
        let rest = &text[start..part.end];
        // Each is a word, but the last may combine with what follows.
        if let plain @ 6.. = plain_han_length(rest.as_bytes()) {
            let end = start + plain - 3;
            places.extend((start..end).step_by(3).map(|at| at..at + 3));
            (start, is_open) = (end, false);
            continue;
        }
        // Such a piece becomes what it becomes within the text.
        let mut after = rest.char_indices().skip(1);
        let next = after.find(|&(_, c)| combines_with_none_before(c));
        let end = next.map_or(part.end, |(len, _)| start + len);
        for c in normaliser.normalise(&text[start..end]).chars() {
            if !c.is_alphanumeric() {
                is_open = false;
                continue;
            }
            match places.last_mut() {
                Some(place) if is_open && !is_word(c) => place.end = end,
                _ => places.push(start..end),
            }
            is_open = !is_word(c);
        }
        start = end;
    }
}

/// Divides a text without its normalisation, next to inert signs and in front of ASCII characters, with which no character
/// before them combines. Calls `visit` with each word of ASCII, and `true`; and with each part with other characters between
/// two such signs or characters that end words, and `false`. Such a part has the sign before it too, which may combine.
fn each_part(text: &str, mut visit: impl FnMut(Range<usize>, bool)) {
    let bytes = text.as_bytes();
    let class = |at: usize| bytes.get(at).map_or(Class::Break, |&b| CLASSES[b as usize]);
    // The length of a character that ends words.
    let break_length = |at: usize| match class(at) {
        Class::Break => 1,
        Class::Other => inert_sign_length(&bytes[at..]),
        _ => 0,
    };
    let (mut at, mut before) = (0, 0);
    loop {
        while at < bytes.len()
            && let length @ 1.. = break_length(at)
        {
            (before, at) = (at, at + length);
        }
        if at == bytes.len() {
            return;
        }
        let start = at;
        at += word_length(&bytes[at..]);
        if break_length(at) > 0 {
            visit(start..at, true);
            continue;
        }
        let start = if at == start { before } else { start };
        while break_length(at) == 0 {
            at += if class(at) == Class::Han { 3 } else { 1 };
        }
        visit(start..at, false);
    }
}

/// Returns the number of ASCII letters and digits at the start of a text, eight bytes at a time: most words end within them.
fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(eight) = text[length..].first_chunk() {
        let others = !word_bits(u64::from_le_bytes(*eight)) & HIGH_BITS;
        if others != 0 {
            return length + others.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = text[length..].iter();
    let is_word = |byte: &&u8| CLASSES[usize::from(**byte)] == Class::Word;
    length + rest.take_while(is_word).count()
}

/// The highest bit of each of eight bytes.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Sets the highest bit of each of eight bytes that is an ASCII letter or digit.
fn word_bits(bytes: u64) -> u64 {
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    let low = bytes & !HIGH_BITS;
    // A sum of seven bits each reaches the highest bit from the first of the range on, and another one after the last.
    let are_in =
        |low: u64, first: u8, last: u8| (low + each(0x80 - first)) & !(low + each(0x7f - last));
    (are_in(low | each(0x20), b'a', b'z') | are_in(low, b'0', b'9')) & !bytes
}

/// The effect of a byte on the words of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// An ASCII letter or digit.
    Word,
    /// Other ASCII, which ends words.
    Break,
    /// The first of three bytes of a character from U+4000 to U+9FFF, of which each Han character is a word.
    Han,
    /// A control character, which normalisation drops, or not ASCII.
    Other,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => Class::Word,
            b'\t'..=b'\r' | b' '..=b'~' => Class::Break,
            0xe4..=0xe9 => Class::Han,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
}

/// Calls `visit` with the words of a normalised text.
fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = match rest.starts_with(is_word) {
            true => first,
            false => rest
                .find(|c| is_word(c) || !c.is_alphanumeric())
                .unwrap_or(rest.len()),
        };
        visit(&rest[..end]);
        rest = &rest[end..];
    }
}

/// Whether a character is a word by itself.
fn is_word(c: char) -> bool {
    c >= '\u{e01}' && (is_cjk(c) || is_south_east_asian(c))
}

/// Returns the hash of a shingle from the hashes of its words.
pub(super) fn hash_of_run(words: &[u64]) -> u64 {
    words.iter().fold(0, |before, word| {
        let product = u128::from(before ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03;
        (product >> 64) as u64 ^ product as u64
    })
}

/// Returns the Jaccard similarity of two ascending lists of hashes.
pub(super) fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    // A similarity is never below 0.
    jaccard_if(a, b, 0.0).unwrap_or_default()
}

/// Number of features between two checks of [`jaccard_if`] whether the threshold can still be reached.
const STRIDE: usize = 32;

/// Returns the Jaccard similarity of two ascending lists of hashes if it is at least `least`. Stops early if it cannot
/// reach that.
pub(super) fn jaccard_if(a: &[u64], b: &[u64], least: f64) -> Option<f64> {
    let all = a.len() + b.len();
    let jaccard = |both: usize| match all - both {
        0 => 1.0,
        either => both as f64 / either as f64,
    };
    let (mut i, mut j, mut both) = (0, 0, 0);
    loop {
        let most = both + (a.len() - i).min(b.len() - j);
        if jaccard(most) < least {
            return None;
        }
        let end = STRIDE.min(a.len() - i).min(b.len() - j);
        if end == 0 {
            return Some(jaccard(both));
        }
        for _ in 0..end {
            let (x, y) = (a[i], b[j]);
            both += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The words of the whole text, normalised at once.
    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut normaliser = Normaliser::default();
        each_word(normaliser.normalise(text), |word| {
            words.push(word.to_owned())
        });
        words
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_or_han_characters() {
        let text = "\u{ff21}b_c1—x 2  汉字 a汉b, ÉTÉ カナ";
        let expected = [
            "ab", "c1", "x", "2", "汉", "字", "a", "汉", "b", "été", "カ", "ナ",
        ];
        assert_eq!(words(text), expected);
        assert!(words(" \t…!").is_empty());
    }

    #[test]
    fn the_places_of_words_are_those_in_the_text() {
        let text = "\u{ff21}b_c1—x 2 汉字 ½ e\u{301}té\u{301}! ﬁn so\u{ad}ft カ\u{3099}";
        let found = word_places(text).into_iter().map(|place| &text[place]);
        let expected = [
            "\u{ff21}b",
            "c1",
            "x",
            "2",
            "汉",
            "字",
            "½",
            "½",
            "e\u{301}té\u{301}",
            "ﬁn",
            "so\u{ad}ft",
            "カ\u{3099}",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        // As many as there are words, whatever the characters.
        let alphabet: Vec<char> = "aZ 1_<.'\0é\u{301}\u{323}ßςΣ½ﬁ汉カ\u{3099}ｶﾞ한\u{1100}\u{1161}ก\u{e33}\u{200b}\u{345}αन\u{93c}\u{fdfa}"
            .chars()
            .collect();
        let mut state = 1u64;
        for length in 0..3000 {
            let text = (0..length % 40).map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                alphabet[(state >> 33) as usize % alphabet.len()]
            });
            let text: String = text.collect();
            let places = word_places(&text);
            assert_eq!(places, places_by_one_part(&text), "{text:?}");
            let hashes: Vec<u64> = words(&text).iter().map(|word| hash(word)).collect();
            assert_eq!(word_hashes(&text), hashes, "{text:?}");
            assert_eq!(places.len(), hashes.len(), "{text:?}");
            assert!(places.is_sorted_by_key(|place| (place.start, place.end)));
            assert!(places.iter().all(|place| text.get(place.clone()).is_some()));
        }
    }

    #[test]
    fn words_of_ascii_end_at_any_other_byte() {
        for length in 0..20 {
            for end in 0..=u8::MAX {
                let text = [&b"aZ09zA".repeat(4)[..length], &[end], b"word and others"].concat();
                let found = word_length(&text);
                match end.is_ascii_alphanumeric() {
                    true => assert_eq!(found, length + 5, "{end}"),
                    false => assert_eq!(found, length, "{end}"),
                }
            }
        }
    }

    /// The places of the words of a text that is one part.
    fn places_by_one_part(text: &str) -> Vec<Range<usize>> {
        let mut normaliser = Normaliser::new(Normalise::default().but_space());
        let mut places = Vec::new();
        places_by_the_tables(text, 0..text.len(), &mut normaliser, &mut places);
        places
    }

    proptest! {
        #[test]
        fn parts_change_no_word(
            text in prop_oneof![
                any::<String>(),
                "[aZ9 _<=.•—─、\\n\\x00\\x1c\u{7f}\u{ad}\u{301}\u{338}\u{345}\u{5b0}éß’汉字カ\u{3099}ｶﾞＡ\u{3000}\u{e0100}½İı\u{1100}\u{1161}]{0,24}",
            ]
        ) {
            let hashes: Vec<u64> = words(&text).iter().map(|word| hash(word)).collect();
            prop_assert_eq!(word_hashes(&text), hashes);
            prop_assert_eq!(word_places(&text), places_by_one_part(&text));
        }
    }

    #[test]
    fn shingles_are_runs_of_words() {
        let set = |text| FeatureSet::of_shingles(text, 3);
        assert_eq!(set("a b c d").hashes().len(), 2);
        assert_eq!(set("A, b; c!"), set("a b c"));
        assert_ne!(set("a b c"), set("ab c"));
        assert_eq!(set("a b").hashes().len(), 1);
        assert_ne!(set("a b"), set("b a"));
        assert!(set("…").hashes().is_empty());
        assert_eq!(set("a a a a a").hashes().len(), 1);
        assert_eq!(FeatureSet::of_shingles("a b a", 1).hashes().len(), 2);
    }

    #[test]
    fn jaccard_is_what_sets_have_in_common() {
        let numbers = |seed: u64| -> Vec<u64> { (0..60).map(|i| i * seed % 37).collect() };
        for (a, b) in [(1, 1), (3, 7), (5, 1 << 40), (37, 2)] {
            let (a, b) = (numbers(a), numbers(b));
            let [x, y] = [&a, &b].map(|list| list.iter().copied().collect::<BTreeSet<u64>>());
            let expected = x.intersection(&y).count() as f64 / x.union(&y).count() as f64;
            let found = FeatureSet::from_hashes(a).jaccard(&FeatureSet::from_hashes(b));
            assert_eq!(found, expected);
            let [x, y] = [x, y].map(|set| set.into_iter().collect::<Vec<_>>());
            for least in [0.0, 0.3, 0.7, 1.0, expected, expected + 1e-9] {
                let met = Some(expected).filter(|&expected| expected >= least);
                assert_eq!(jaccard_if(&x, &y, least), met, "{least}");
            }
        }
        let empty = FeatureSet::default();
        assert_eq!(empty.jaccard(&empty), 1.0);
        assert_eq!(empty.jaccard(&FeatureSet::from_hashes(vec![1])), 0.0);
        let [four, five] = [4, 5].map(|count| FeatureSet::from_hashes((0..count).collect()));
        assert!(four.jaccard(&five) >= 0.8);
    }
}
