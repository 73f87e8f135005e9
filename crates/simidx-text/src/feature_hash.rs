//! Feature hashes.

#[cfg(feature = "compat")]
use crate::compat::{fnv1, jenkins, md5, python2};
#[cfg(feature = "compat")]
use xxhash_rust::xxh3::xxh3_64_with_seed;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::names::named;

/// The function that hashes the UTF-8 bytes of a feature. All but XXH3 of 128 bits need the feature `compat`.
///
/// A fingerprint of f bits uses the f low bits of a hash, so the hash must have at least f bits.
///
/// ```
/// use simidx_text::stages::FeatureHash;
///
/// let hash: FeatureHash = "fnv1-64".parse()?;
/// assert_eq!((hash, hash.width()), (FeatureHash::Fnv1, 64));
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeatureHash {
    /// `xxh3-128`: XXH3 of 128 bits, with a seed.
    #[default]
    Xxh3,
    /// `md5`: the digest as a number of 128 bits; its first byte is the most significant. The Python package simhash
    /// uses its low 64 bits.
    Md5,
    /// `md5-high64`: the first eight bytes of the MD5 digest, as the Python package of seomoz uses them.
    Md5High,
    /// `fnv1-64`: FNV-1 (not FNV-1a) of 64 bits.
    Fnv1,
    /// `jenkins-64`: the two words of Bob Jenkins's lookup3 (`hashlittle2`, both initial values 0); the primary word is
    /// the high one.
    Jenkins,
    /// `xxh3-64`: XXH3 of 64 bits, with a seed, as the Python package text-dedup uses it.
    Xxh3Of64,
    /// `python2-128`: the hash of strings of Python 2, but of 128 bits instead of a machine word, as in the widely
    /// copied listings of simhash in Python and Java. Its low bits equal those of a narrower hash. It mixes poorly: the
    /// high bits of short words are 0.
    Python2,
}

named!(
    FeatureHash,
    "feature_hash",
    Xxh3 = "xxh3-128",
    Md5 = "md5",
    Md5High = "md5-high64",
    Fnv1 = "fnv1-64",
    Jenkins = "jenkins-64",
    Xxh3Of64 = "xxh3-64",
    Python2 = "python2-128"
);

impl FeatureHash {
    /// Number of bits of a hash, and thus of the widest fingerprint that it supports.
    pub fn width(self) -> u32 {
        match self {
            FeatureHash::Xxh3 | FeatureHash::Md5 | FeatureHash::Python2 => 128,
            _ => 64,
        }
    }

    /// Whether the hash depends on the seed. For the other hashes, the seed must be 0.
    pub fn is_seeded(self) -> bool {
        matches!(self, FeatureHash::Xxh3 | FeatureHash::Xxh3Of64)
    }

    /// Whether the bits of the hash are sufficiently random, and sufficient in number, for MinHash.
    pub(super) fn serves_minhash(self) -> bool {
        matches!(self, FeatureHash::Xxh3 | FeatureHash::Md5)
    }

    /// Whether the hash needs the feature `compat`.
    pub(super) fn needs_compat(self) -> bool {
        self != FeatureHash::Xxh3
    }

    /// Returns the hash of a feature, in the low [`width`](Self::width) bits.
    #[cfg(feature = "compat")]
    #[inline]
    pub(super) fn hash(self, feature: &[u8], seed: u64) -> u128 {
        match self {
            FeatureHash::Xxh3 => xxh3_128_with_seed(feature, seed),
            FeatureHash::Md5 => md5(feature),
            FeatureHash::Md5High => md5(feature) >> 64,
            FeatureHash::Fnv1 => fnv1(feature).into(),
            FeatureHash::Jenkins => jenkins(feature).into(),
            FeatureHash::Xxh3Of64 => xxh3_64_with_seed(feature, seed).into(),
            FeatureHash::Python2 => python2(&String::from_utf8_lossy(feature)),
        }
    }

    /// Returns the hash of a feature by XXH3 of 128 bits, the only one without the feature `compat`.
    #[cfg(not(feature = "compat"))]
    #[inline]
    pub(super) fn hash(self, feature: &[u8], seed: u64) -> u128 {
        debug_assert_eq!(self, FeatureHash::Xxh3);
        xxh3_128_with_seed(feature, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xxh3_is_frozen() {
        // Published by the author of XXH3. The 64-bit hash shows that the crate is the original algorithm.
        assert_eq!(xxhash_rust::xxh3::xxh3_64(b"hello"), 0x9555e8555c62dcfd);
        let xxh3 = |text: &str, seed| FeatureHash::Xxh3.hash(text.as_bytes(), seed);
        assert_eq!(xxh3("", 0), 0x99aa06d3014798d86001c324468d497f);
        assert_eq!(xxh3("a", 0), 0xa96faf705af16834e6c632b61e964e1f);
        assert_eq!(xxh3("hello", 0), 0xb5e9c1ad071b3e7fc779cfaa5e523818);
        assert_eq!(xxh3("我爱", 0), 0x14810dde69855abbb317a42bd644b587);
        assert_ne!(xxh3("a", 1), xxh3("a", 0));
    }

    #[test]
    fn names_are_read_back() {
        for hash in FeatureHash::ALL {
            assert_eq!(hash.to_string().parse::<FeatureHash>().unwrap(), hash);
        }
        let error = "md4".parse::<FeatureHash>().unwrap_err().to_string();
        assert!(error.contains(r#"unknown feature_hash "md4""#), "{error}");
    }
}
