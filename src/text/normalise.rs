//! Normalisation: NFKC, lower case, white space folded.

use unicode_normalization::UnicodeNormalization;

/// The normalising stage with the buffers that it uses again for each document.
#[derive(Clone, Debug, Default)]
pub(super) struct Normaliser {
    composed: String,
    normalised: String,
}

impl Normaliser {
    /// The text in NFKC, then in lower case, then with single spaces for white space inside and
    /// none at the ends.
    pub(super) fn normalise(&mut self, text: &str) -> &str {
        self.normalised.clear();
        if text.is_ascii() {
            // NFKC changes no ASCII text.
            fold(text, &mut self.normalised, |word, out| out.push_str(word));
            self.normalised.make_ascii_lowercase();
            return &self.normalised;
        }
        self.composed.clear();
        compose(text, &mut self.composed);
        if self.composed.contains('Σ') {
            // The only letter whose lower case depends on its neighbours, which `str` looks at.
            let lower = self.composed.to_lowercase();
            fold(&lower, &mut self.normalised, |word, out| out.push_str(word));
        } else {
            fold(&self.composed, &mut self.normalised, lower_into);
        }
        &self.normalised
    }
}

/// Appends the NFKC form of `text` to `out`.
fn compose(text: &str, out: &mut String) {
    let mut rest = text;
    // An ASCII character combines with nothing before it, so that texts may be cut in front of
    // any. What is ASCII up to the next ASCII character needs no table at all.
    while let Some(at) = rest.bytes().position(|b| !b.is_ascii()) {
        let start = at.saturating_sub(1);
        let end = rest.bytes().skip(at).position(|b| b.is_ascii());
        let (piece, after) = rest.split_at(end.map_or(rest.len(), |length| at + length));
        out.push_str(&piece[..start]);
        out.extend(piece[start..].nfkc());
        rest = after;
    }
    out.push_str(rest);
}

/// Appends what `append` makes of each word of `text`, with a space between any two.
fn fold(text: &str, out: &mut String, append: impl Fn(&str, &mut String)) {
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        append(word, out);
    }
}

/// Appends the lower case of each character on its own.
fn lower_into(word: &str, out: &mut String) {
    for c in word.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.extend(c.to_lowercase());
        }
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
    fn oracle(text: &str) -> String {
        let lower = text.nfkc().collect::<String>().to_lowercase();
        lower.split_whitespace().collect::<Vec<_>>().join(" ")
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
    }

    #[test]
    fn a_mark_combines_with_the_letter_before_it() {
        assert_eq!(normalise("Cafe\u{301}s e\u{301}"), "cafés é");
        assert_eq!(normalise("caf\u{e9}s \u{e9}"), "cafés é");
    }

    #[test]
    fn a_final_sigma_is_told_from_an_inner_one() {
        assert_eq!(normalise("ΟΔΥΣΣΕΥΣ ΣΑΣ"), "οδυσσευς σας");
    }

    #[test]
    fn one_letter_may_become_two() {
        assert_eq!(normalise("İ"), "i\u{307}");
    }

    #[test]
    fn buffers_are_cleared_between_documents() {
        let mut normaliser = Normaliser::default();
        normaliser.normalise("LONG É document");
        assert_eq!(normaliser.normalise("é"), "é");
        assert_eq!(normaliser.normalise("x"), "x");
        assert_eq!(normaliser.normalise(""), "");
    }

    proptest! {
        #[test]
        fn short_cuts_change_nothing(text in any::<String>()) {
            prop_assert_eq!(normalise(&text), oracle(&text));
        }

        #[test]
        fn short_cuts_change_nothing_among_marks(
            text in "[aE Σσ\u{301}\u{323}\u{345}\u{1100}-\u{1105}\u{1161}-\u{1165}ﾊﾞ゛\u{3099}か]{0,12}"
        ) {
            prop_assert_eq!(normalise(&text), oracle(&text));
        }
    }
}
