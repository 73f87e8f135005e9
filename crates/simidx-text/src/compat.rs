//! The feature hashes of other libraries, bit for bit.

/// Returns the MD5 digest as a number; its first byte is the most significant.
pub(crate) fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(md5::compute(bytes).0)
}

/// Returns the 64-bit FNV-1 hash.
pub(crate) fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &b| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(b)
    })
}

/// Returns Bob Jenkins's lookup3 hash, `hashlittle2` with both initial values 0, which mixes three words for each 12
/// bytes.
pub(crate) fn jenkins(bytes: &[u8]) -> u64 {
    // Lengths of 2^32 and more are taken modulo 2^32.
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

/// Adds up to twelve bytes to three little-endian words.
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

/// Returns the hash of strings of Python 2, modulo 2^128.
pub(crate) fn python2(text: &str) -> u128 {
    let first = text.chars().next().map_or(0, u128::from) << 7;
    let mixed = text.chars().fold(first, |hash: u128, c| {
        hash.wrapping_mul(1_000_003) ^ u128::from(c)
    });
    mixed ^ text.chars().count() as u128
}

#[cfg(test)]
mod tests {
    use crate::Pipeline;
    use crate::feature_hash::FeatureHash;
    use simidx::{Fingerprint, Width};

    #[test]
    fn the_hashes_are_frozen() {
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
        // Results of 64-bit Python 2, which returns signed numbers.
        let python2 = |text: &str| FeatureHash::Python2.hash(text.as_bytes(), 0);
        assert_eq!(python2(""), 0);
        assert_eq!(python2("a"), 12_416_037_344);
        assert_eq!(python2("hello") as u64 as i64, 840_651_671_246_116_861);
        assert_eq!(python2("我爱"), 0x2c988032b4442ac0);
    }

    /// The listings print these distances between 128-bit simhashes.
    #[test]
    fn the_listings_of_simhash_are_reproduced() {
        let options = "short,normalise=none,segment=word-runs:1,hash=python2-128,fingerprint=simhash,ties=set";
        let pipeline = Pipeline::new(options.parse().unwrap()).unwrap();
        let texts = [
            "This is a test string for testing",
            "This is a test string for testing also",
            "nai nai ge xiong cao",
            "This is a test string for testing als",
        ];
        let [first, others @ ..] =
            texts.map(|text| pipeline.fingerprint(text, Width::W128).unwrap());
        assert_eq!(others.map(|other| other.distance(first)), [12, 37, 4]);
    }
}
