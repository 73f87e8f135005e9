//! What `--verify` compares: the texts of candidates, held since the first pass or read in another one.

use indicatif::ProgressBar;
use simidx::batch::{Deduplicated, Deduplicator, Verifier};
use simidx_input::InputFile;
use simidx_text::dedup::TextVerifier;

use crate::support::failure::Failure;
use crate::support::positions::Positions;
use crate::support::progress::ProgressMode;
use crate::support::reread::each_text;

/// Comparisons after which the progress bar is told.
const TOLD_EVERY: u64 = 1 << 10;

/// Bytes that a text takes beside its own: where it is, and what the allocator adds.
const TEXT_LEN: u64 = 32;

/// The texts of all documents, for as long as they fit their share of the memory.
#[derive(Debug)]
pub(super) struct HeldTexts {
    /// None of them if they do not fit.
    texts: Option<Vec<Box<str>>>,
    /// Bytes of memory that are left.
    budget: u64,
}

impl HeldTexts {
    /// No texts, and so many bytes of memory for those to come.
    pub(super) fn new(budget: u64) -> Self {
        HeldTexts {
            texts: Some(Vec::new()),
            budget,
        }
    }

    /// Whether all texts so far have been held.
    pub(super) fn are_complete(&self) -> bool {
        self.texts.is_some()
    }

    /// Holds the text of the next document.
    pub(super) fn push(&mut self, text: Option<String>) {
        let needed = text.as_ref().map(|text| text.len() as u64 + TEXT_LEN);
        let left = needed.and_then(|needed| self.budget.checked_sub(needed));
        match (&mut self.texts, text, left) {
            (Some(texts), Some(text), Some(left)) => {
                texts.push(text.into_boxed_str());
                self.budget = left;
            }
            _ => self.texts = None,
        }
    }
}

/// Gives the verifier the texts of the candidates.
///
/// # Errors
/// An input that cannot be read again or has changed, and what the verifier reports.
pub(super) fn give(
    verifier: &mut TextVerifier,
    held: HeldTexts,
    candidates: &[bool],
    (originals, positions): (&[InputFile], &Positions),
    mode: ProgressMode,
) -> Result<(), Failure> {
    let Some(texts) = held.texts else {
        let bar = mode.reading("documents").doing("reading candidates");
        let wanted = |document: usize| candidates.get(document) == Some(&true);
        return each_text(
            &wanted,
            (originals, positions),
            bar,
            &mut |document, text| Ok(verifier.push(document, text)?),
        );
    };
    for ((document, text), _) in (0..)
        .zip(texts)
        .zip(candidates)
        .filter(|(_, is_candidate)| **is_candidate)
    {
        verifier.push(document, text)?;
    }
    Ok(())
}

/// Which documents to keep, if the verifier compares their texts.
///
/// # Errors
/// What the search or the verifier reports.
pub(super) fn verified(
    deduplicator: Deduplicator,
    verifier: &mut TextVerifier,
    mode: ProgressMode,
) -> Result<Deduplicated, Failure> {
    let bar = mode.counter("texts");
    bar.set_message("comparing");
    let mut watched = Watched {
        verifier,
        compared: 0,
        bar: &bar,
    };
    let found = deduplicator.finish(Some(&mut watched))?;
    bar.finish_and_clear();
    Ok(found)
}

/// A verifier whose comparisons are shown.
struct Watched<'a> {
    verifier: &'a mut TextVerifier,
    compared: u64,
    bar: &'a ProgressBar,
}

impl Verifier for Watched<'_> {
    fn identity(&mut self, document: usize) -> simidx::Result<u64> {
        self.verifier.identity(document)
    }

    fn is_duplicate(&mut self, a: usize, b: usize) -> simidx::Result<bool> {
        self.compared += 1;
        if self.compared.is_multiple_of(TOLD_EVERY) {
            self.bar.set_position(self.compared);
        }
        self.verifier.is_duplicate(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_held_while_they_fit() {
        let text = "x".repeat(100);
        let mut held = HeldTexts::new(3 * (100 + TEXT_LEN));
        for _ in 0..3 {
            held.push(Some(text.clone()));
            assert!(held.are_complete());
        }
        held.push(Some(String::new()));
        assert!(!held.are_complete());
        let mut held = HeldTexts::new(u64::MAX);
        held.push(None);
        held.push(Some(text));
        assert!(!held.are_complete());
    }
}
