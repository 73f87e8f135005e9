//! The keys by which documents are compared: fingerprints, or their bytes if they have no features.

use std::collections::HashMap;

use simidx::Fingerprint;
use simidx_text::ParallelFingerprinter;

/// The key by which a document is compared. Fingerprints are ordered first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Print {
    Fingerprint(u128),
    /// A document without features: a number that only equal documents share.
    Bytes(u32),
}

impl Print {
    /// The distance of two documents; none if they are not comparable and so not near each other.
    pub(super) fn distance(self, other: Self) -> Option<u32> {
        match (self, other) {
            (Print::Fingerprint(a), Print::Fingerprint(b)) => Some(a.distance(b)),
            (Print::Bytes(a), Print::Bytes(b)) if a == b => Some(0),
            _ => None,
        }
    }
}

/// Returns the keys of documents, in order.
pub(super) fn of(parallel: &ParallelFingerprinter, texts: &[String]) -> Vec<Print> {
    let mut numbers = HashMap::new();
    let found = parallel.fingerprints_if_any(texts).into_iter();
    let prints = found.zip(texts).map(|(found, text)| match found {
        Some(fingerprint) => Print::Fingerprint(fingerprint),
        None => {
            let next = numbers.len() as u32;
            Print::Bytes(*numbers.entry(text).or_insert(next))
        }
    });
    prints.collect()
}
