//! A set of features in a few bytes: a hash that equal sets share, and parities that bound the similarity of two sets.

use xxhash_rust::xxh3::xxh3_128;

/// Number of 32-bit numbers in the hash of a set. Among 10^9 sets, two have the same 96 bits with a probability of
/// 10^-11.
pub(super) const HASH_NUMBERS: usize = 3;

/// Appends the hash of a set with these bytes.
pub(super) fn append_hash(bytes: &[u8], out: &mut Vec<u32>) {
    let hash = xxh3_128(bytes);
    out.extend((0..HASH_NUMBERS).map(|i| (hash >> (32 * i)) as u32));
}

/// Bounds the similarity of a set to others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digest {
    /// Number of features.
    pub(super) len: u64,
    pub(super) parities: Parities,
}

/// For each of 128 classes of features, whether a set has an odd number of them.
///
/// With 64 classes, eight in ten compared pairs were not similar; with 128, two in ten (10^7 synthetic texts of 110
/// features on average).
pub(super) type Parities = [u64; 2];

/// Returns the parities of a set.
pub(super) fn parities(features: &[u64]) -> Parities {
    let mut parities = [0; 2];
    for feature in features {
        parities[(feature >> 63) as usize] ^= 1 << (feature >> 57 & 63);
    }
    parities
}

/// The digest of the text at a place, with the classes merged in pairs: a weaker bound, in 12 bytes instead of 24.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoldedDigest {
    pub(super) place: u32,
    pub(super) len: u32,
    pub(super) parities: u64,
}

impl Digest {
    /// Returns the folded digest, or `None` for 2^32 features or more.
    #[inline]
    pub(super) fn folded(self, place: u32) -> Option<FoldedDigest> {
        Some(FoldedDigest {
            place,
            len: u32::try_from(self.len).ok()?,
            parities: self.parities[0] ^ self.parities[1],
        })
    }

    /// Whether two sets may have at least this Jaccard similarity.
    #[inline(always)]
    pub(super) fn may_be_similar(self, other: Digest, least: f64) -> bool {
        let odd = |half: usize| (self.parities[half] ^ other.parities[half]).count_ones();
        are_bounded_by((self.len, other.len), odd(0) + odd(1), least)
    }
}

impl FoldedDigest {
    /// Whether two sets may have at least this Jaccard similarity.
    #[inline(always)]
    pub(super) fn may_be_similar(self, other: FoldedDigest, least: f64) -> bool {
        let odd = (self.parities ^ other.parities).count_ones();
        are_bounded_by((self.len.into(), other.len.into()), odd, least)
    }
}

/// Whether two sets of these lengths, whose parities differ in `odd` classes, may have at least this Jaccard
/// similarity.
///
/// It avoids divisions, because it runs for most of the pairs that share a key.
#[inline(always)]
fn are_bounded_by(lens: (u64, u64), odd: u32, least: f64) -> bool {
    // A margin for rounding errors.
    const MARGIN: f64 = 1.0 + 1e-9;
    let (both, union) = most_in_common(lens, odd);
    both as f64 * MARGIN >= least * union as f64
}

/// Returns the largest number of features that two sets can have in common, and the size of their union in that case.
///
/// Where parities differ, one of the sets has a feature that the other lacks.
#[inline(always)]
fn most_in_common((a, b): (u64, u64), odd: u32) -> (u64, u64) {
    let all = a + b;
    let in_one = u64::from(odd).max(a.abs_diff(b));
    // The parity of the difference is that of the sum, so the result is a whole number.
    let both = all.saturating_sub(in_one) / 2;
    (both, all - both)
}

/// Appends the texts at these places whose digests pass `is_wanted`.
///
/// The digests are anywhere in memory. Therefore no step depends on an earlier result, so that the processor can load
/// many at once.
#[inline]
pub(super) fn append_wanted<D>(
    others: impl Iterator<Item = (u32, D)>,
    is_wanted: impl Fn(D) -> bool,
    out: &mut Vec<u32>,
) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu::has_avx2_and_popcnt() {
        #[expect(unsafe_code, reason = "calls a function compiled for newer processors")]
        // SAFETY: this processor has POPCNT, which the function is compiled for.
        return unsafe { append_wanted_popcnt(others, is_wanted, out) };
    }
    append_each(others, is_wanted, out);
}

/// [`append_each`] with the instruction that counts bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn append_wanted_popcnt<D>(
    others: impl Iterator<Item = (u32, D)>,
    is_wanted: impl Fn(D) -> bool,
    out: &mut Vec<u32>,
) {
    append_each(others, is_wanted, out);
}

#[inline(always)]
fn append_each<D>(
    others: impl Iterator<Item = (u32, D)>,
    is_wanted: impl Fn(D) -> bool,
    out: &mut Vec<u32>,
) {
    let mut piece = [0; 256];
    let mut len = 0;
    for (place, digest) in others {
        piece[len] = place;
        len += usize::from(is_wanted(digest));
        if len == piece.len() {
            out.extend_from_slice(&piece);
            len = 0;
        }
    }
    out.extend_from_slice(&piece[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature_set::{FeatureSet, jaccard};

    #[test]
    fn no_two_sets_are_more_similar_than_their_digests_say() {
        let feature = |i: u64| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes());
        let (mut sum, mut bounds, mut folded_bounds) = (0.0, 0.0, 0.0);
        for (len, common, more) in [
            (1, 0, 0),
            (1, 1, 3),
            (10, 9, 0),
            (60, 40, 5),
            (500, 450, 20),
        ] {
            for start in (0..100).map(|pair| pair * 10_000) {
                let set = |range: std::ops::Range<u64>| {
                    FeatureSet::from_hashes(range.map(feature).collect())
                };
                let a = set(start..start + len);
                let b = set(start + len - common..start + 2 * len - common + more);
                let [x, y] = [&a, &b].map(|set| Digest {
                    len: set.hashes().len() as u64,
                    parities: parities(set.hashes()),
                });
                let real = jaccard(a.hashes(), b.hashes());
                assert!(x.may_be_similar(y, real), "{len} {common} {more}");
                let [x_folded, y_folded] = [x, y].map(|digest| digest.folded(0).unwrap());
                assert!(x_folded.may_be_similar(y_folded, real));
                let odd = |half: usize| (x.parities[half] ^ y.parities[half]).count_ones();
                let (both, union) = most_in_common((x.len, y.len), odd(0) + odd(1));
                let bound = both as f64 / union as f64;
                assert_eq!(x.may_be_similar(y, 0.7), bound >= 0.7);
                assert!(bound < 0.7 || x_folded.may_be_similar(y_folded, 0.7));
                if len == 60 {
                    (sum, bounds) = (sum + real, bounds + bound);
                    let odd = (x_folded.parities ^ y_folded.parities).count_ones();
                    let (both, union) = most_in_common((x.len, y.len), odd);
                    folded_bounds += both as f64 / union as f64;
                }
            }
        }
        // The bound is useful: for 40 common features of 85, its mean is below 0.7. The folded digest has a weaker
        // bound.
        assert!(bounds < 70.0 && sum < bounds, "{bounds} {sum}");
        assert!(bounds < folded_bounds, "{bounds} {folded_bounds}");
    }

    #[test]
    fn the_wanted_are_appended_in_their_order() {
        for count in [0, 1, 255, 256, 257, 1000] {
            for divisor in [1, 3, 5000] {
                let others = || (0..count).map(|place| (place, place));
                let is_wanted = |digest: u32| digest % divisor == divisor - 1;
                let mut expected = vec![7];
                expected.extend((0..count).filter(|&place| is_wanted(place)));
                let (mut found, mut each) = (vec![7], vec![7]);
                append_wanted(others(), is_wanted, &mut found);
                append_each(others(), is_wanted, &mut each);
                assert_eq!(
                    (found, each),
                    (expected.clone(), expected),
                    "{count} {divisor}"
                );
            }
        }
    }
}
