//! Normalisation: drops control characters, applies NFKC, folds or lowers case, and folds or drops white space.

use std::fmt;
use std::str::FromStr;

use super::scripts::{is_cjk, is_variation_selector, plain_han_length};
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::{Error, Result};

/// The steps of normalisation, in this order. The text form is their names joined by `+`, or `none`.
///
/// Normalisation is idempotent.
///
/// ```
/// use simidx_text::stages::Normalise;
///
/// let steps: Normalise = "nfkc+case".parse()?;
/// assert!(steps.nfkc && steps.case && !steps.space);
/// assert_eq!(Normalise::ALL.to_string(), "controls+nfkc+case+space+cjk-space");
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Normalise {
    /// `controls`: drop control characters that are not white space, and invisible characters: soft hyphens, zero-width
    /// spaces and joiners, direction marks and byte order marks.
    pub controls: bool,
    /// `nfkc`: apply Unicode normalisation form KC, which replaces full-width and half-width forms, ligatures and
    /// similar characters by ordinary ones.
    pub nfkc: bool,
    /// `case`: map each character to lower case, then to upper case and to lower case again, by the full mappings: ß
    /// becomes ss, and both lower-case sigmas become one. With `nfkc`, NFKC is then restored.
    pub case: bool,
    /// `lower`: convert the text to lower case, as [`str::to_lowercase`] and Python's `str.lower` do: ß remains, and a
    /// sigma at the end of a word becomes ς. With `nfkc`, NFKC is then restored.
    pub lower: bool,
    /// `space`: replace each run of white space by one space, and drop it at both ends.
    pub space: bool,
    /// `cjk-space`: drop white space between two characters of Chinese or Japanese, which are written without spaces:
    /// there it is usually a line break.
    pub cjk_space: bool,
}

impl Default for Normalise {
    /// All steps except `lower`.
    fn default() -> Self {
        Self::ALL
    }
}

impl Normalise {
    /// All steps except `lower`, which has no effect after `case`.
    pub const ALL: Normalise = Normalise {
        controls: true,
        nfkc: true,
        case: true,
        lower: false,
        space: true,
        cjk_space: true,
    };
    /// No step: the text remains unchanged.
    pub const NONE: Normalise = Normalise {
        controls: false,
        nfkc: false,
        case: false,
        lower: false,
        space: false,
        cjk_space: false,
    };

    /// Returns only the steps on white space.
    pub(super) fn of_space(self) -> Self {
        Normalise {
            space: self.space,
            cjk_space: self.cjk_space,
            ..Normalise::NONE
        }
    }

    /// Returns all steps except those on white space.
    pub(super) fn but_space(self) -> Self {
        Normalise {
            space: false,
            cjk_space: false,
            ..self
        }
    }

    /// Returns the steps in order, with their names.
    fn steps(&mut self) -> [(&'static str, &mut bool); 6] {
        [
            ("controls", &mut self.controls),
            ("nfkc", &mut self.nfkc),
            ("case", &mut self.case),
            ("lower", &mut self.lower),
            ("space", &mut self.space),
            ("cjk-space", &mut self.cjk_space),
        ]
    }
}

impl fmt::Display for Normalise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = *self;
        let taken = steps.steps().into_iter().filter(|step| *step.1);
        let names: Vec<_> = taken.map(|step| step.0).collect();
        f.pad(
            match names.is_empty() {
                true => "none".to_owned(),
                false => names.join("+"),
            }
            .as_str(),
        )
    }
}

impl FromStr for Normalise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut steps = Normalise::NONE;
        if text == "none" {
            return Ok(steps);
        }
        for name in text.split('+') {
            let Some(step) = steps.steps().into_iter().find(|step| step.0 == name) else {
                let known = "use none, or controls, nfkc, case, lower, space and \
                             cjk-space joined by +";
                let clause = format!("unknown normalise {text:?}; {known}");
                return Err(Error::Pipeline(clause));
            };
            *step.1 = true;
        }
        Ok(steps)
    }
}

/// The normalising stage, with buffers that it reuses for each document.
#[derive(Clone, Debug)]
pub(super) struct Normaliser {
    steps: Normalise,
    out: Folded,
    piece: Piece,
    /// Largest length in bytes of the next normalised text.
    limit: usize,
}

impl Normaliser {
    pub(super) fn new(steps: Normalise) -> Self {
        Normaliser {
            steps,
            out: Folded::new(steps),
            piece: Piece::default(),
            limit: usize::MAX,
        }
    }

    /// Limits the length of the next text, and only that one. If it would exceed the limit, it becomes empty, and
    /// [`Normaliser::is_cut`] is true.
    ///
    /// A character may expand to eighteen, all of which the later stages have to process.
    pub(super) fn limit_next(&mut self, len: usize) {
        self.limit = len;
    }

    /// Whether the last text exceeded the limit.
    pub(super) fn is_cut(&self) -> bool {
        self.piece.is_cut
    }

    /// Returns the text after all steps, in time linear in its length.
    pub(super) fn normalise(&mut self, text: &str) -> &str {
        self.out.clear();
        self.piece.is_cut = false;
        let all_characters = Normalise {
            space: self.steps.space,
            cjk_space: self.steps.space && self.steps.cjk_space,
            ..Normalise::default()
        };
        if self.steps == all_characters {
            self.in_one_go(text);
        } else {
            self.piece.start(text);
            self.piece.normalise(self.steps, self.limit);
            self.out.push_any(&self.piece.text);
        }
        self.piece.is_cut |= self.out.text.len() > self.limit;
        if self.piece.is_cut {
            self.out.clear();
        }
        self.limit = usize::MAX;
        &self.out.text
    }

    /// Applies all steps, with or without those on white space. Plain runs are copied, and only the text between them
    /// passes through the Unicode tables, step by step.
    ///
    /// A text may be divided before and after every character that no step changes and that does not combine with
    /// others, and before an ASCII character, which does not combine with characters before it.
    fn in_one_go(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (plain, after) = rest.split_at(plain_end(rest.as_bytes()));
            self.out.push_plain(plain);
            let Some(next) = after.chars().next() else {
                return;
            };
            let after_next = &after[next.len_utf8()..];
            rest = match simple(next) {
                // Its normalised form may combine with the next character.
                Some(simple) if next.is_ascii() || !after_next.starts_with(|c| !is_boundary(c)) => {
                    self.out.push(simple);
                    after_next
                }
                _ => {
                    let end = after_next.find(is_boundary);
                    let end = next.len_utf8() + end.unwrap_or(after_next.len());
                    self.by_the_tables(&after[..end]);
                    if self.piece.is_cut || self.out.text.len() > self.limit {
                        return;
                    }
                    &after[end..]
                }
            };
        }
    }

    /// Normalises a text by the Unicode tables, together with the ASCII character before it, which it may combine with.
    fn by_the_tables(&mut self, text: &str) {
        self.piece.start("");
        self.piece.text.extend(self.out.pop_ascii());
        self.piece.text.push_str(text);
        self.piece.normalise(self.steps, self.limit);
        self.out.push_any(&self.piece.text);
    }
}

impl Default for Normaliser {
    fn default() -> Self {
        Self::new(Normalise::default())
    }
}

/// The normalised text. White space is folded as it is appended.
#[derive(Clone, Debug)]
struct Folded {
    text: String,
    /// Whether white space is folded.
    fold: bool,
    /// Whether folded white space is dropped between characters of Chinese or Japanese.
    join: bool,
    /// Whether white space is pending until more text follows.
    has_space: bool,
}

impl Folded {
    fn new(steps: Normalise) -> Self {
        Folded {
            text: String::new(),
            fold: steps.space,
            join: steps.space && steps.cjk_space,
            has_space: false,
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.has_space = false;
    }

    /// Appends a text whose ASCII letters may still be upper case. It does not start with white space, and its white
    /// space is single, except that the last character may be the first of several.
    fn push_plain(&mut self, text: &str) {
        let kept = match text.strip_suffix(' ') {
            Some(kept) if self.fold => kept,
            _ => text,
        };
        if let Some(first) = kept.chars().next() {
            self.push_due_space(first);
            let start = self.text.len();
            self.text.push_str(kept);
            self.text[start..].make_ascii_lowercase();
        }
        self.has_space |= kept.len() < text.len();
    }

    fn push(&mut self, c: char) {
        if self.fold && c.is_whitespace() {
            self.has_space = true;
            return;
        }
        self.push_due_space(c);
        self.text.push(c);
    }

    /// Appends a text that needs only the folding of white space.
    fn push_any(&mut self, text: &str) {
        if !self.fold {
            return self.text.push_str(text);
        }
        self.has_space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.push_due_space(word.chars().next().unwrap_or(' '));
            self.text.push_str(word);
            self.has_space = true;
        }
        self.has_space &= text.is_empty() || text.ends_with(char::is_whitespace);
    }

    /// Appends the pending space before a character.
    fn push_due_space(&mut self, next: char) {
        if self.has_space && !self.text.is_empty() && !(self.join && is_joined(&self.text, next)) {
            self.text.push(' ');
        }
        self.has_space = false;
    }

    /// Removes and returns the last character if it is ASCII.
    fn pop_ascii(&mut self) -> Option<char> {
        let is_ascii = !self.has_space && self.text.as_bytes().last()?.is_ascii();
        is_ascii.then(|| self.text.pop()).flatten()
    }
}

/// A text that passes through the steps one by one, with a second buffer for their output.
#[derive(Clone, Debug, Default)]
struct Piece {
    text: String,
    other: String,
    /// Whether the text exceeded its limit.
    is_cut: bool,
}

impl Piece {
    fn start(&mut self, text: &str) {
        self.text.clear();
        self.text.push_str(text);
    }

    /// Applies the steps on characters. The steps on white space follow when the text is appended, if any of it is
    /// folded.
    fn normalise(&mut self, steps: Normalise, limit: usize) {
        if steps.controls {
            self.text.retain(|c| !is_control(c));
        }
        if steps.nfkc {
            self.compose(limit);
        }
        if steps.case {
            self.step(fold_case);
            if steps.nfkc {
                self.compose(limit);
            }
        }
        if steps.lower {
            match self.text.is_ascii() {
                true => self.text.make_ascii_lowercase(),
                false => self.text = self.text.to_lowercase(),
            }
            if steps.nfkc {
                self.compose(limit);
            }
        }
        if steps.cjk_space && !steps.space {
            self.step(join_cjk);
        }
    }

    fn step(&mut self, work: fn(&str, &mut String)) {
        self.other.clear();
        work(&self.text, &mut self.other);
        std::mem::swap(&mut self.text, &mut self.other);
    }

    /// Converts to NFKC, unless the text is known to be in it.
    fn compose(&mut self, limit: usize) {
        if is_nfkc_quick(self.text.chars()) == IsNormalized::Yes {
            return;
        }
        self.other.clear();
        for c in self.text.nfkc() {
            if self.other.len() >= limit {
                self.is_cut = true;
                break;
            }
            self.other.push(c);
        }
        std::mem::swap(&mut self.text, &mut self.other);
    }
}

/// Whether white space between a text and a character is dropped, as between two runs of Chinese or Japanese.
///
/// The two combining sound marks remain separate; otherwise, a second normalisation would combine them.
pub(super) fn is_joined(before: &str, next: char) -> bool {
    is_cjk(next)
        && !matches!(next, '\u{3099}' | '\u{309a}')
        && before
            .trim_end_matches(is_variation_selector)
            .ends_with(is_cjk)
}

/// Appends a text without the white space between runs of Chinese or Japanese.
fn join_cjk(text: &str, out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(word);
        rest = after.trim_start();
        if !rest.chars().next().is_some_and(|next| is_joined(out, next)) {
            out.push_str(&after[..after.len() - rest.len()]);
        }
    }
}

/// Whether a character is a control or invisible character, but not white space.
fn is_control(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        _ => c.is_control() && !c.is_whitespace(),
    }
}

/// The class of a character by its first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// ASCII that is copied, or converted to lower case.
    Kept,
    Space,
    /// The first of three bytes of nearly all Han characters, see [`plain_han_length`].
    Han,
    /// The first of two or three bytes, of which the others determine the class.
    Mixed,
    Other,
}

const LEADS: [Lead; 256] = leads();

const fn leads() -> [Lead; 256] {
    let mut leads = [Lead::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        leads[byte] = match byte as u8 {
            b'!'..=b'~' => Lead::Kept,
            b' ' => Lead::Space,
            0xe4..=0xe9 => Lead::Han,
            0xc2 | 0xe2 | 0xe3 => Lead::Mixed,
            _ => Lead::Other,
        };
        byte += 1;
    }
    leads
}

/// Returns the number of bytes at the start of a text that normalisation keeps, except for the case of ASCII letters:
/// printable ASCII, inert characters, and single spaces after ASCII. A space may be the last of them, but not the
/// first.
fn plain_end(bytes: &[u8]) -> usize {
    let lead = |at: usize| bytes.get(at).map_or(Lead::Other, |&b| LEADS[b as usize]);
    let mut at = 0;
    loop {
        match lead(at) {
            Lead::Kept => at += 1,
            Lead::Space if at > 0 && matches!(bytes[at - 1], b'!'..=b'~') => at += 1,
            Lead::Han => match plain_han_length(&bytes[at..]) {
                0 => return at,
                length => at += length,
            },
            Lead::Mixed => match inert_length(&bytes[at..]) {
                0 => return at,
                length => at += length,
            },
            _ => return at,
        }
    }
}

/// Returns the length in bytes of the first character if it is inert, else 0.
fn inert_length(bytes: &[u8]) -> usize {
    match *bytes {
        [0xe3, 0x90..=0xbf, ..] => 3, // U+3400 to U+3FFF
        [0xe4, 0xb7, ..] => 0,        // U+4DC0 to U+4DFF, the hexagrams
        [0xe4..=0xe9, ..] => 3,       // U+4000 to U+9FFF
        _ => inert_sign_length(bytes),
    }
}

/// Returns the length in bytes of the first character if it is inert and neither a letter nor a digit, else 0.
pub(super) fn inert_sign_length(bytes: &[u8]) -> usize {
    match *bytes {
        [0xc2, 0xb7, ..] => 2,                                          // U+00B7
        [0xe2, 0x80, 0x93 | 0x94 | 0x98 | 0x99 | 0x9c | 0x9d, ..] => 3, // U+2013 to U+201D
        [0xe2, 0x80, 0xa2, ..] | [0xe2, 0x94 | 0x95, ..] => 3,          // U+2022, U+2500 to U+257F
        [0xe3, 0x80, 0x81 | 0x82 | 0x88..=0x91 | 0x94..=0x9b, ..] => 3, // U+3001 to U+301B
        _ => 0,
    }
}

/// Whether a text may be divided before a character.
fn is_boundary(c: char) -> bool {
    c.is_ascii() && !is_control(c) || inert_length(c.encode_utf8(&mut [0; 4]).as_bytes()) > 0
}

/// Returns whether no step combines a character with one before it, even if that character changes: a text may be cut in
/// front of it. Slower than [`is_boundary`], and true of many more.
pub(super) fn combines_with_none_before(c: char) -> bool {
    let mut decomposed = std::iter::once(c).nfkd();
    !is_control(c)
        && decomposed.next().is_none_or(|first| {
            let is_normal = is_nfkc_quick(std::iter::once(first)) == IsNormalized::Yes;
            is_normal && canonical_combining_class(first) == 0
        })
}

/// Returns the result of all steps on a character if it is a single ASCII character or white space.
fn simple(c: char) -> Option<char> {
    match c {
        '\u{3000}' => Some(' '),
        // The full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            let ascii = u8::try_from(u32::from(c) - 0xff01 + 0x21).ok()?;
            Some(ascii.to_ascii_lowercase().into())
        }
        '\t'..='\r' | ' ' => Some(c),
        _ => None,
    }
}

/// Maps each character to lower case, then to upper case and to lower case again, and appends it to `out`.
fn fold_case(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\0'..='\x7f' => out.push(c.to_ascii_lowercase()),
            // These scripts have no case: kana, Han, Yi, and the syllables of Korean.
            '\u{3000}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}' => out.push(c),
            _ => {
                let upper = c.to_lowercase().flat_map(char::to_uppercase);
                out.extend(upper.flat_map(char::to_lowercase));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_normalization::char::canonical_combining_class;

    fn normalise(text: &str) -> String {
        Normaliser::default().normalise(text).to_owned()
    }

    #[test]
    fn a_text_that_becomes_too_long_is_cut_and_the_next_is_not() {
        let without_case = Normalise {
            case: false,
            ..Normalise::ALL
        };
        for steps in [Normalise::ALL, without_case] {
            let mut normaliser = Normaliser::new(steps);
            for text in ["\u{fdfa}", "a\u{fdfa}b", "\u{fdfa}a".repeat(9).as_str()] {
                let whole = normaliser.normalise(text).to_owned();
                assert!(!normaliser.is_cut() && whole.len() > text.len());
                normaliser.limit_next(whole.len());
                assert_eq!(normaliser.normalise(text), whole);
                assert!(!normaliser.is_cut());
                normaliser.limit_next(whole.len() - 1);
                assert_eq!(normaliser.normalise(text), "");
                assert!(normaliser.is_cut());
                assert_eq!(normaliser.normalise(text), whole);
                assert!(!normaliser.is_cut());
            }
        }
    }

    /// The definition, without shortcuts.
    fn oracle(text: &str, steps: Normalise) -> String {
        let mut text = text.to_owned();
        if steps.controls {
            text.retain(|c| !is_control(c));
        }
        if steps.nfkc {
            text = text.nfkc().collect();
        }
        if steps.case {
            let lower = text.chars().flat_map(char::to_lowercase);
            let upper = lower.flat_map(char::to_uppercase);
            text = upper.flat_map(char::to_lowercase).collect();
        }
        if steps.nfkc {
            text = text.nfkc().collect();
        }
        if steps.lower {
            text = text.to_lowercase();
        }
        if steps.nfkc {
            text = text.nfkc().collect();
        }
        if steps.space {
            text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if steps.cjk_space {
            let chars: Vec<char> = text.chars().collect();
            let stays = |&at: &usize| {
                let before: String = chars[..at].iter().collect();
                let before = before.trim_end().trim_end_matches(is_variation_selector);
                let after = chars[at..].iter().find(|c| !c.is_whitespace());
                let is_between = before.ends_with(is_cjk)
                    && after.is_some_and(|&c| is_cjk(c) && !"\u{3099}\u{309a}".contains(c));
                !(chars[at].is_whitespace() && is_between)
            };
            text = (0..chars.len()).filter(stays).map(|at| chars[at]).collect();
        }
        text
    }

    #[test]
    fn white_space_is_folded_and_trimmed() {
        assert_eq!(normalise(" a\t\r\n\u{b}b\u{a0}\u{3000}C \u{2028}"), "a b c");
        assert_eq!(normalise("\n a \u{b}\tb\n"), "a b");
        assert_eq!(normalise(" \u{3000}\n"), "");
    }

    #[test]
    fn white_space_between_characters_of_chinese_goes() {
        assert_eq!(
            normalise("战争/经\n济 游\u{3000}\u{3000}\r\n戏"),
            "战争/经济游戏"
        );
        assert_eq!(normalise("漢字 かな カナ"), "漢字かなカナ");
        assert_eq!(normalise("葛\u{e0100}\n城"), "葛\u{e0100}城");
        // Elsewhere, white space is folded as usual.
        assert_eq!(normalise("中 a\n文。\n 中 1 한 글"), "中 a 文。 中 1 한 글");
        // Characters that would combine remain separate.
        assert_eq!(normalise("か \u{3099}"), "か \u{3099}");
        let unfolded = "normalise=cjk-space: 中\n \n文  a  b".to_owned();
        let mut alone = Normaliser::new("cjk-space".parse().unwrap());
        assert_eq!(
            alone.normalise(&unfolded),
            "normalise=cjk-space: 中文  a  b"
        );
    }

    #[test]
    fn compatibility_forms_become_the_ordinary_ones() {
        assert_eq!(normalise("Ｆｕｌｌ　ｗｉｄｔｈ ﬁ ①…"), "full width fi 1...");
        assert_eq!(normalise("ｶﾞｷﾞ"), "ガギ");
        assert_eq!(normalise("你好，世界！"), "你好,世界!");
    }

    #[test]
    fn a_mark_combines_with_the_letter_before_it() {
        assert_eq!(normalise("Cafe\u{301}s e\u{301}"), "cafés é");
        assert_eq!(normalise("caf\u{e9}s \u{e9}"), "cafés é");
    }

    #[test]
    fn all_forms_of_a_letter_are_one() {
        assert_eq!(normalise("ΟΔΥΣΣΕΥΣ ΣΑΣ"), normalise("οδυσσευς σας"));
        assert_eq!(normalise("Straße"), "strasse");
        assert_eq!(normalise("İ"), "i\u{307}");
    }

    #[test]
    fn what_is_not_seen_goes() {
        assert_eq!(normalise("a\u{ad}b\u{200b}c\u{feff}d\0e\u{7f}"), "abcde");
        assert_eq!(normalise("\0\u{1}a"), "a");
        assert_eq!(normalise("é\u{200d}\0"), "é");
    }

    #[test]
    fn each_step_can_be_switched_off() {
        let text = "Ａ\u{ad} \n B";
        for (steps, expected) in [
            ("none", "Ａ\u{ad} \n B"),
            ("controls", "Ａ \n B"),
            ("nfkc", "A\u{ad} \n B"),
            ("case", "ａ\u{ad} \n b"),
            ("space", "Ａ\u{ad} B"),
            ("controls+nfkc+case+space+cjk-space", "a b"),
        ] {
            let parsed: Normalise = steps.parse().unwrap();
            assert_eq!(parsed.to_string(), steps);
            assert_eq!(Normaliser::new(parsed).normalise(text), expected, "{steps}");
        }
        let error = "nfkc+trim".parse::<Normalise>().unwrap_err().to_string();
        assert!(
            error.contains(r#"unknown normalise "nfkc+trim""#),
            "{error}"
        );
    }

    #[test]
    fn buffers_are_cleared_between_documents() {
        let mut normaliser = Normaliser::default();
        normaliser.normalise("LONG É document");
        assert_eq!(normaliser.normalise("é"), "é");
        assert_eq!(normaliser.normalise("x"), "x");
        assert_eq!(normaliser.normalise(""), "");
    }

    /// Normalises every character, alone and between others.
    #[test]
    fn normalising_any_character_twice_changes_nothing() {
        for c in '\0'..=char::MAX {
            let text = format!("{c}a{c}\u{301}");
            let once = normalise(&text);
            assert_eq!(normalise(&once), once, "{text:?}");
        }
    }

    /// Checks that texts may be divided before and after inert characters, whatever the neighbouring characters are.
    #[test]
    fn inert_characters_combine_with_nothing() {
        let is_inert = |c: &char| inert_length(c.encode_utf8(&mut [0; 4]).as_bytes()) > 0;
        let inert: Vec<char> = ('\0'..=char::MAX).filter(is_inert).collect();
        // Han characters without the hexagrams, 28 punctuation marks, and lines of boxes.
        assert_eq!(inert.len(), 0x6c00 - 64 + 1 + 7 + 20 + 128);
        for &c in &inert {
            assert_eq!(oracle(&c.to_string(), Normalise::default()), c.to_string());
        }
        let restless =
            ('\0'..=char::MAX).filter(|&c| is_nfkc_quick([c].into_iter()) != IsNormalized::Yes);
        let marks = ('\0'..=char::MAX).filter(|&c| canonical_combining_class(c) != 0);
        let others: Vec<char> = restless.chain(marks).collect();
        assert!(others.len() > 5_000);
        let some_inert = inert.iter().filter(|&&c| match c {
            '\u{2500}'..='\u{257f}' => u32::from(c) % 32 == 0,
            _ => u32::from(c) < 0x3400 || u32::from(c) % 4096 == 0,
        });
        for &c in some_inert {
            for &other in &others {
                for text in [format!("{c}{other}"), format!("{other}{c}")] {
                    assert_eq!(
                        normalise(&text),
                        oracle(&text, Normalise::default()),
                        "{text:?}"
                    );
                }
            }
        }
    }

    /// Combines an ASCII character and its full-width form with every combining character.
    #[test]
    fn ascii_combines_with_what_follows() {
        let marks: Vec<char> = ('\u{80}'..=char::MAX)
            .filter(|&c| is_nfkc_quick([c].into_iter()) != IsNormalized::Yes)
            .collect();
        for ascii in (0..0x80_u8).map(char::from) {
            let wide = char::from_u32(u32::from(ascii) + 0xfee0).filter(|_| ascii > ' ');
            for first in [Some(ascii), wide].into_iter().flatten() {
                for &mark in &marks {
                    let text = format!("x{first}{mark}y");
                    assert_eq!(
                        normalise(&text),
                        oracle(&text, Normalise::default()),
                        "{text:?}"
                    );
                }
            }
        }
    }

    prop_compose! {
        fn any_steps()(
            controls: bool, nfkc: bool, case: bool, lower: bool, space: bool, cjk_space: bool,
        ) -> Normalise {
            Normalise { controls, nfkc, case, lower, space, cjk_space }
        }
    }

    proptest! {
        #[test]
        fn the_path_of_ascii_changes_nothing(text in "[ab\\x09-\\x0d\\x1c-\\x1f  A\0]{0,24}", steps in any_steps()) {
            let mut normaliser = Normaliser::new(steps);
            prop_assert_eq!(normaliser.normalise(&text), oracle(&text, steps));
        }

        #[test]
        fn short_cuts_change_nothing(text in any::<String>(), steps in any_steps()) {
            let mut normaliser = Normaliser::new(steps);
            prop_assert_eq!(normaliser.normalise(&text), oracle(&text, steps));
        }

        #[test]
        fn short_cuts_change_nothing_among_marks(
            text in "[aE  Σσ\u{301}\u{323}\u{345}\u{1100}-\u{1105}\u{1161}-\u{1165}ﾊﾞ゛\u{3099}か中、，Ａ…“\u{3000}\u{a0}\u{ad}\n\u{338}<\0]{0,12}"
        ) {
            prop_assert_eq!(normalise(&text), oracle(&text, Normalise::default()));
        }

        #[test]
        fn white_space_of_chinese_goes_by_any_path(
            text in "[ab中文かな゛\u{3099}\u{fe00}\u{e0100}。，ｶ\u{f900} \n\u{3000}\u{ad}é]{0,14}", steps in any_steps()
        ) {
            let mut normaliser = Normaliser::new(steps);
            let once = normaliser.normalise(&text).to_owned();
            prop_assert_eq!(&once, &oracle(&text, steps));
            prop_assert_eq!(normaliser.normalise(&once), &once);
        }

        #[test]
        fn normalising_twice_changes_nothing(text in any::<String>()) {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn normalising_marks_twice_changes_nothing(
            text in "[aEIİıßſΣσΐΰ\u{1f80}-\u{1faf}\u{301}\u{307}\u{308}\u{323}\u{345}\u{1e9e}ﬃŉǰ ]{0,10}"
        ) {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once);
        }
    }
}
