//! Identifies documents without features, which only their bytes distinguish.

use xxhash_rust::xxh3::xxh3_128;

/// Returns a hash of all bytes of a document: the identity of a document without features, for
/// [`Deduplicator::push_without_fingerprint`](simidx::batch::Deduplicator::push_without_fingerprint). Two different
/// documents have the same hash with a probability of 2^-128, unless they were made to collide.
pub fn content_identity(document: &str) -> u128 {
    xxh3_128(document.as_bytes())
}

/// Finds documents that are equal byte for byte, by their [`content_identity`]. It serves documents without features,
/// which fingerprints cannot compare. Memory: 32 bytes for each document.
///
/// ```
/// use simidx_text::dedup::{EqualTexts, content_identity};
///
/// let mut texts = EqualTexts::default();
/// for (number, text) in (0..).zip(["👍", "?!", "👍", "…"]) {
///     texts.push(number, content_identity(text));
/// }
/// assert_eq!(texts.count(), 4);
/// assert_eq!(texts.into_groups(2), [[0, 2]]);
/// ```
#[derive(Debug, Default)]
pub struct EqualTexts {
    texts: Vec<(u128, u64)>,
}

impl EqualTexts {
    /// Adds a document with a number.
    pub fn push(&mut self, number: u64, identity: u128) {
        self.texts.push((identity, number));
    }

    /// Number of added documents.
    pub fn count(&self) -> u64 {
        self.texts.len() as u64
    }

    /// Returns the groups of at least `least` equal documents. Each group lists its numbers in ascending order. The
    /// largest groups come first; among groups of equal size, the one with the smallest number comes first.
    pub fn into_groups(mut self, least: u64) -> Vec<Vec<u64>> {
        self.texts.sort_unstable();
        let same = self.texts.chunk_by(|a, b| a.0 == b.0);
        let mut groups: Vec<Vec<u64>> = same
            .filter(|same| same.len() as u64 >= least)
            .map(|same| same.iter().map(|&(_, number)| number).collect())
            .collect();
        groups.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        groups
    }
}
