//! Feature hashes: a feature's UTF-8 bytes to the bits with which it votes.

use std::fmt;
use std::str::FromStr;

use md5::{Digest, Md5};

use crate::{Error, Result};

/// The function that hashes a feature. None of them may ever change.
///
/// A fingerprint of f bits takes the f low bits of a hash, so a hash must have that many.
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
}

impl FeatureHash {
    /// All of them, in the order in which they are listed to users.
    pub const ALL: [FeatureHash; 5] = [
        FeatureHash::Xxh3,
        FeatureHash::Md5,
        FeatureHash::Md5High,
        FeatureHash::Fnv1,
        FeatureHash::Jenkins,
    ];

    /// The name that a description of a pipeline gives it.
    pub fn name(self) -> &'static str {
        match self {
            FeatureHash::Xxh3 => "xxh3-128",
            FeatureHash::Md5 => "md5",
            FeatureHash::Md5High => "md5-high64",
            FeatureHash::Fnv1 => "fnv1-64",
            FeatureHash::Jenkins => "jenkins-64",
        }
    }

    /// Bits of a hash: the widest fingerprint that it serves.
    pub fn width(self) -> u32 {
        match self {
            FeatureHash::Xxh3 | FeatureHash::Md5 => 128,
            _ => 64,
        }
    }

    /// Whether the hash depends on the seed; for the others the seed is 0.
    pub fn is_seeded(self) -> bool {
        self == FeatureHash::Xxh3
    }

    /// The hash of a feature, in the low [`width`](Self::width) bits.
    #[inline]
    pub fn hash(self, feature: &[u8], seed: u64) -> u128 {
        match self {
            FeatureHash::Xxh3 => xxhash_rust::xxh3::xxh3_128_with_seed(feature, seed),
            FeatureHash::Md5 => md5(feature),
            FeatureHash::Md5High => md5(feature) >> 64,
            FeatureHash::Fnv1 => fnv1(feature).into(),
            FeatureHash::Jenkins => jenkins(feature).into(),
        }
    }
}

impl fmt::Display for FeatureHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FeatureHash {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|hash| hash.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Pipeline(format!("unknown feature_hash {name:?}, known are {known}"))
        })
    }
}

fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &b| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(b)
    })
}

/// Bob Jenkins, lookup3, `hashlittle2` with both initial values 0: three words are mixed for each 12 bytes.
fn jenkins(bytes: &[u8]) -> u64 {
    // A length of 2^32 and more counts modulo 2^32.
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let mut words = [start; 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        add(&mut words, &rest[..12]);
        mix(&mut words);
        rest = &rest[12..];
    }
    if !rest.is_empty() {
        add(&mut words, rest);
        finish(&mut words);
    }
    u64::from(words[2]) << 32 | u64::from(words[1])
}

/// Adds up to twelve bytes, little-endian, to three words.
fn add(words: &mut [u32; 3], bytes: &[u8]) {
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
        let value = bytes
            .iter()
            .rev()
            .fold(0, |v: u32, &b| v << 8 | u32::from(b));
        *word = word.wrapping_add(value);
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    for [x, y, z] in [[4, 6, 8], [16, 19, 4]] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(x);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(y);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(z);
        *b = b.wrapping_add(*a);
    }
}

fn finish([a, b, c]: &mut [u32; 3]) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_frozen() {
        // Published by the author of XXH3; the shorter hash shows that the crate is the real one.
        assert_eq!(xxhash_rust::xxh3::xxh3_64(b"hello"), 0x9555e8555c62dcfd);
        let xxh3 = |text: &str, seed| FeatureHash::Xxh3.hash(text.as_bytes(), seed);
        assert_eq!(xxh3("", 0), 0x99aa06d3014798d86001c324468d497f);
        assert_eq!(xxh3("a", 0), 0xa96faf705af16834e6c632b61e964e1f);
        assert_eq!(xxh3("hello", 0), 0xb5e9c1ad071b3e7fc779cfaa5e523818);
        assert_eq!(xxh3("我爱", 0), 0x14810dde69855abbb317a42bd644b587);
        assert_ne!(xxh3("a", 1), xxh3("a", 0));
        // RFC 1321, appendix A.5.
        let md5 = FeatureHash::Md5.hash(b"abc", 0);
        assert_eq!(md5, 0x900150983cd24fb0d6963f7d28e17f72);
        assert_eq!(FeatureHash::Md5High.hash(b"abc", 0), md5 >> 64);
        // Noll's table of FNV-1 test values.
        assert_eq!(FeatureHash::Fnv1.hash(b"", 0), 0xcbf29ce484222325);
        assert_eq!(FeatureHash::Fnv1.hash(b"a", 0), 0xaf63bd4c8601b7be);
        assert_eq!(FeatureHash::Fnv1.hash(b"foobar", 0), 0x340d8765a4dda9c2);
        // Published in the comments of lookup3.
        let jenkins = |text: &str| FeatureHash::Jenkins.hash(text.as_bytes(), 0);
        assert_eq!(jenkins(""), 0xdeadbeefdeadbeef);
        let score = "Four score and seven years ago";
        assert_eq!(jenkins(score), 0x17770551ce7226e6);
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
