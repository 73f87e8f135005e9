//! Identifies documents without features, which only their bytes distinguish.

use xxhash_rust::xxh3::xxh3_128;

/// Returns a hash of all bytes of a document: the identity of a document without features, for
/// [`Deduplicator::push_without_fingerprint`](simidx::batch::Deduplicator::push_without_fingerprint). Two different
/// documents have the same hash with a probability of 2^-128, unless they were made to collide.
pub fn content_identity(document: &str) -> u128 {
    xxh3_128(document.as_bytes())
}
