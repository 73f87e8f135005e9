//! The content id: a sum of digests of all records, independent of their order. Spec §10.3.

use std::fmt;

use crate::fingerprint::Fingerprint;

const SEED: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Identifies the contents of an index: its records, or its distinct fingerprints if it has no ids.
///
/// Two files with the same contents have the same id, whatever their tables, codecs and blocks, and however they were
/// made. The id of two sets without a common record is the sum of theirs. It detects accidents, not intent: two sets
/// with the same id can be constructed deliberately.
///
/// ```
/// use simidx::{BuildOptions, Codec, Index, IndexBuilder, Width};
///
/// let build = |codec, fingerprints: [u64; 2]| {
///     let mut options = BuildOptions::default();
///     options.codec = Some(codec);
///     let mut builder = IndexBuilder::new(Width::W64, options)?;
///     builder.extend_from_slice(&fingerprints)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let content_id = build(Codec::Gap, [7, 42])?.content_id();
/// assert_eq!(build(Codec::EliasFano, [42, 7])?.content_id(), content_id);
/// assert_ne!(build(Codec::Gap, [7, 43])?.content_id(), content_id);
/// assert_eq!(content_id.to_string().len(), 32);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentId(pub(crate) u128);

impl ContentId {
    /// Returns the id as a number.
    pub fn to_u128(self) -> u128 {
        self.0
    }

    /// Adds an item that is not yet part of the contents.
    #[inline]
    pub(crate) fn add(&mut self, item: u128) {
        self.0 = self.0.wrapping_add(item);
    }

    /// Returns the content id of fingerprints without ids.
    pub(crate) fn of_fingerprints<F: Fingerprint>(fingerprints: &[F]) -> Self {
        let mut sum = ContentId::default();
        for &fingerprint in fingerprints {
            sum.add(ItemDigest::new(fingerprint).finish());
        }
        sum
    }
}

/// Formats the id as 32 hexadecimal digits.
impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The digest of a record, during its computation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemDigest {
    /// Depends on every bit of every word, and is as good as random.
    mixed: u64,
    /// Distinguishes items that `mixed` alone would not.
    added: u64,
}

impl ItemDigest {
    /// Starts with the fingerprint.
    #[inline]
    pub(crate) fn new<F: Fingerprint>(fingerprint: F) -> Self {
        let mut digest = ItemDigest {
            mixed: SEED,
            added: 0,
        };
        let value = fingerprint.to_u128();
        digest.add_word(value as u64);
        if F::WIDTH > 64 {
            digest.add_word((value >> 64) as u64);
        }
        digest
    }

    /// Adds a number id, or a part of another id.
    ///
    /// Takes one multiplication, because a build of fingerprints without ids waits for little else.
    #[inline]
    pub(crate) fn add_word(&mut self, word: u64) {
        let product = u128::from(self.mixed ^ word) * u128::from(FACTOR);
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.mixed = high ^ low;
        self.added = (self.added ^ word).wrapping_add(high);
    }

    /// Adds a string id.
    #[inline]
    pub(crate) fn add_string(&mut self, id: &[u8]) {
        let (words, rest) = id.as_chunks::<8>();
        for &word in words {
            self.add_word(u64::from_le_bytes(word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add_word(u64::from_le_bytes(last));
        }
        self.add_word(id.len() as u64);
    }

    #[inline]
    pub(crate) fn finish(self) -> u128 {
        u128::from(self.added) << 64 | u128::from(self.mixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn records_that_differ_have_different_digests() {
        let mut seen = HashSet::new();
        let mut add = |digest: ItemDigest| assert!(seen.insert(digest.finish()));
        for bit in 0..64 {
            add(ItemDigest::new(1u64 << bit));
            let mut with_number = ItemDigest::new(7u64);
            with_number.add_word(1 << bit);
            add(with_number);
        }
        for id in ["", "a", "\0", "a\0", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaaab"] {
            let mut with_string = ItemDigest::new(7u64);
            with_string.add_string(id.as_bytes());
            add(with_string);
        }
        // The halves of a wide fingerprint cannot be exchanged.
        add(ItemDigest::new(1u128));
        add(ItemDigest::new(1u128 << 64));
    }

    #[test]
    fn the_order_does_not_count() {
        let forward: Vec<u32> = (0..1000).collect();
        let backward: Vec<u32> = (0..1000).rev().collect();
        let sum = ContentId::of_fingerprints(&forward);
        assert_eq!(sum, ContentId::of_fingerprints(&backward));
        assert_ne!(sum, ContentId::of_fingerprints(&forward[1..]));
    }
}
