//! Normalisation: control characters dropped, NFKC, case folded, white space folded.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

use super::scripts::is_plain_han;
use crate::{Error, Result};

/// Which steps of normalisation are taken, in this order. As text the names of those taken, joined by `+`, or `none`.
///
/// Normalising twice changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Normalise {
    /// `controls`: control characters that are no white space go, and those that are not to be seen: soft hyphens,
    /// zero-width spaces and joiners, marks of direction, byte order marks.
    pub controls: bool,
    /// `nfkc`: Unicode normalisation form KC; full-width and half-width forms, ligatures and the like become the
    /// ordinary characters.
    pub nfkc: bool,
    /// `case`: each character is mapped to lower case, what comes of it to upper case and that to lower case again, by
    /// the full mappings: ß becomes ss, both lower sigmas become one. With `nfkc` that form is restored afterwards.
    pub case: bool,
    /// `space`: each run of white space becomes one space, and at both ends it goes.
    pub space: bool,
}

impl Default for Normalise {
    /// All steps.
    fn default() -> Self {
        Normalise {
            controls: true,
            nfkc: true,
            case: true,
            space: true,
        }
    }
}

impl Normalise {
    /// No step at all: the text stays as it is.
    pub const NONE: Normalise = Normalise {
        controls: false,
        nfkc: false,
        case: false,
        space: false,
    };

    fn steps(self) -> [(&'static str, bool); 4] {
        [
            ("controls", self.controls),
            ("nfkc", self.nfkc),
            ("case", self.case),
            ("space", self.space),
        ]
    }
}

impl fmt::Display for Normalise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let taken = self.steps().into_iter().filter(|step| step.1);
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
            let step = match name {
                "controls" => &mut steps.controls,
                "nfkc" => &mut steps.nfkc,
                "case" => &mut steps.case,
                "space" => &mut steps.space,
                _ => {
                    let known = "known are none, and controls, nfkc, case and space joined by +";
                    let clause = format!("unknown normalise {text:?}, {known}");
                    return Err(Error::Pipeline(clause));
                }
            };
            *step = true;
        }
        Ok(steps)
    }
}

/// The normalising stage with the buffers that it uses again for each document.
#[derive(Clone, Debug, Default)]
pub(super) struct Normaliser {
    steps: Normalise,
    texts: [String; 2],
}

impl Normaliser {
    pub(super) fn new(steps: Normalise) -> Self {
        Normaliser {
            steps,
            texts: Default::default(),
        }
    }

    /// The text after all steps, in time linear in its length.
    pub(super) fn normalise(&mut self, text: &str) -> &str {
        let steps = self.steps;
        let [a, b] = &mut self.texts;
        a.clear();
        b.clear();
        if text.is_ascii() {
            // NFKC changes no ASCII text.
            ascii(text, steps, a);
            return a;
        }
        // Each step reads one buffer and fills the other.
        a.push_str(text);
        let mut step = |taken: bool, work: &dyn Fn(&str, &mut String)| {
            if taken {
                b.clear();
                work(a, b);
                std::mem::swap(a, b);
            }
        };
        step(steps.controls, &drop_controls);
        step(steps.nfkc, &compose);
        step(steps.case, &fold_case);
        step(steps.nfkc && steps.case, &compose);
        step(steps.space, &fold_space);
        a
    }
}

/// All steps on a text of ASCII characters, in one go.
fn ascii(text: &str, steps: Normalise, out: &mut String) {
    out.reserve(text.len());
    if !steps.space {
        let kept = text.chars().filter(|&c| !(steps.controls && is_control(c)));
        out.extend(kept);
    } else if steps.controls
        && text
            .bytes()
            .any(|b| b < b' ' && is_control(b.into()) || b == 0x7f)
    {
        let visible: String = text.chars().filter(|&c| !is_control(c)).collect();
        fold_ascii_space(&visible, out);
    } else {
        fold_ascii_space(text, out);
    }
    if steps.case {
        out.make_ascii_lowercase();
    }
}

/// Whether a character is a control or is not to be seen, and is no white space.
fn is_control(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        _ => c.is_control() && !c.is_whitespace(),
    }
}

fn drop_controls(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(is_control) {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches(is_control);
    }
    out.push_str(rest);
}

/// Appends the NFKC form of `text` to `out`.
fn compose(text: &str, out: &mut String) {
    let mut rest = text;
    // A text may be cut on both sides of a common Han character or ideographic stop, which combines with nothing, and
    // in front of an ASCII character, which combines with nothing before it. What lies between needs the tables, with
    // the ASCII character before it.
    loop {
        let at = end_of_inert(rest);
        let (inert, after) = rest.split_at(at);
        let end = after.find(|c: char| c.is_ascii() || is_inert(c));
        let (piece, after) = after.split_at(end.unwrap_or(after.len()));
        if piece.is_empty() {
            out.push_str(inert);
            return;
        }
        let starts_with_ascii = inert.as_bytes().last().is_some_and(u8::is_ascii);
        let start = inert.len() - usize::from(starts_with_ascii);
        out.push_str(&inert[..start]);
        out.extend(rest[start..at + piece.len()].nfkc());
        rest = after;
    }
}

/// Bytes of ASCII and of inert characters at the start of a text.
fn end_of_inert(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            at += 1;
        } else if (0xe3..=0xe9).contains(&bytes[at]) && text[at..].starts_with(is_inert) {
            at += 3;
        } else {
            break;
        }
    }
    at
}

/// Three-byte characters that NFKC leaves alone whatever stands beside them.
fn is_inert(c: char) -> bool {
    is_plain_han(c) || matches!(c, '\u{3001}' | '\u{3002}')
}

/// Appends the lower case of the upper case of the lower case of each character to `out`.
fn fold_case(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\0'..='\x7f' => out.push(c.to_ascii_lowercase()),
            // No letter of these has a case: kana, Han, Yi, and the syllables of Korean.
            '\u{3000}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}' => out.push(c),
            _ => {
                let upper = c.to_lowercase().flat_map(char::to_uppercase);
                out.extend(upper.flat_map(char::to_lowercase));
            }
        }
    }
}

/// The same as [`fold_space`] for a text of ASCII characters.
fn fold_ascii_space(text: &str, out: &mut String) {
    // White space of Unicode, which is one more than the method of `u8` knows.
    let is_space = |b: &u8| matches!(b, b'\t'..=b'\r' | b' ');
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(skipped) = bytes[at..].iter().position(|b| !is_space(b)) {
        let start = at + skipped;
        // Single spaces are copied along with the words around them.
        let mut end = start;
        while end < bytes.len() {
            if is_space(&bytes[end]) {
                let next = bytes.get(end + 1);
                if bytes[end] != b' ' || next.is_none_or(is_space) {
                    break;
                }
            }
            end += 1;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&text[start..end]);
        at = end;
    }
}

/// Appends `text` to `out` with single spaces for white space inside and none at the ends.
fn fold_space(text: &str, out: &mut String) {
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalise(text: &str) -> String {
        Normaliser::default().normalise(text).to_owned()
    }

    /// The definition, without short cuts.
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
        if steps.space {
            text = text.split_whitespace().collect::<Vec<_>>().join(" ");
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
            ("controls+nfkc+case+space", "a b"),
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

    /// Every character there is, alone and between others, is normalised for good.
    #[test]
    fn normalising_any_character_twice_changes_nothing() {
        for c in '\0'..=char::MAX {
            let text = format!("{c}a{c}\u{301}");
            let once = normalise(&text);
            assert_eq!(normalise(&once), once, "{text:?}");
        }
    }

    prop_compose! {
        fn any_steps()(controls: bool, nfkc: bool, case: bool, space: bool) -> Normalise {
            Normalise { controls, nfkc, case, space }
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
            text in "[aE Σσ\u{301}\u{323}\u{345}\u{1100}-\u{1105}\u{1161}-\u{1165}ﾊﾞ゛\u{3099}か中、，\u{338}<\0]{0,12}"
        ) {
            prop_assert_eq!(normalise(&text), oracle(&text, Normalise::default()));
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
