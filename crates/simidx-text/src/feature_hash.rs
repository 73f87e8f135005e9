//! Feature hashes.

#[cfg(feature = "compat")]
use crate::compat::{fnv1, jenkins, md5, python2};
#[cfg(feature = "compat")]
use xxhash_rust::xxh3::xxh3_64_with_seed;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::names::named;

/// The function that hashes the UTF-8 bytes of a feature. All but XXH3 of 128 bits need the feature `compat`.
///
/// A fingerprint of f bits takes the f low bits of a hash, so the hash must have at least that many.
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
    /// `md5`: the digest as a number of 128 bits, its first byte the most significant. The low 64 bits are what
    /// the Python package simhash takes.
    Md5,
    /// `md5-high64`: the first eight bytes of that digest, as the Python package of seomoz takes them.
    Md5High,
    /// `fnv1-64`: FNV-1 (not FNV-1a) of 64 bits.
    Fnv1,
    /// `jenkins-64`: the two words of Bob Jenkins's lookup3 (`hashlittle2`, both initial values 0), the primary one
    /// above the other.
    Jenkins,
    /// `xxh3-64`: XXH3 of 64 bits, with a seed, as the Python package text-dedup takes it.
    Xxh3Of64,
    /// `python2-128`: the hash of strings of Python 2, with 128 bits in place of those of a machine word, as the widely
    /// copied listings of simhash in Python and Java have it. Its low bits are those of a narrower one. It mixes badly:
    /// of short words the high bits are 0.
    Python2,
}

named!(
    FeatureHash,
    "feature_hash",
    ", ",
    Xxh3 = "xxh3-128",
    Md5 = "md5",
    Md5High = "md5-high64",
    Fnv1 = "fnv1-64",
    Jenkins = "jenkins-64",
    Xxh3Of64 = "xxh3-64",
    Python2 = "python2-128"
);

impl FeatureHash {
    /// Bits of a hash: the widest fingerprint that it serves.
    pub fn width(self) -> u32 {
        match self {
            FeatureHash::Xxh3 | FeatureHash::Md5 | FeatureHash::Python2 => 128,
            _ => 64,
        }
    }

    /// Whether the hash depends on the seed; for the others the seed is 0.
    pub fn is_seeded(self) -> bool {
        matches!(self, FeatureHash::Xxh3 | FeatureHash::Xxh3Of64)
    }

    /// Whether its bits are even enough, and enough, for MinHash.
    pub(super) fn serves_minhash(self) -> bool {
        matches!(self, FeatureHash::Xxh3 | FeatureHash::Md5)
    }

    /// Whether only other libraries use it, so that it needs the feature `compat`.
    pub(super) fn needs_compat(self) -> bool {
        self != FeatureHash::Xxh3
    }

    /// The hash of a feature, in the low [`width`](Self::width) bits.
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

    /// The hash of a feature by XXH3 of 128 bits: without the feature `compat` no pipeline has another.
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
        // Published by the author of XXH3; the shorter hash shows that the crate is the real one.
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
