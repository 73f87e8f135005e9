//! A set of features in a few bytes: a hash that equal sets share, and parities that bound the similarity of two sets.

use xxhash_rust::xxh3::xxh3_128;

/// Numbers in which the hash of a set is stored. Of 10^9 sets two have the same 96 bits with a probability of 10^-11.
pub(super) const HASH_NUMBERS: usize = 3;

/// Appends the hash of the set of which these are the bytes.
pub(super) fn append_hash(bytes: &[u8], out: &mut Vec<u32>) {
    let hash = xxh3_128(bytes);
    out.extend((0..HASH_NUMBERS).map(|i| (hash >> (32 * i)) as u32));
}

/// What bounds the similarity of a set with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digest {
    /// Number of features.
    pub(super) len: u64,
    pub(super) parities: u64,
}

/// For each of 64 classes of features whether the set has an odd number of them.
pub(super) fn parities(features: &[u64]) -> u64 {
    features
        .iter()
        .fold(0, |parities, f| parities ^ 1 << (f >> 58))
}

/// Whether two sets may have at least this Jaccard similarity, by their lengths and parities.
///
/// It divides nothing, since it is asked for most of the pairs that have a key in common.
#[inline]
pub(super) fn may_be_similar(a: Digest, b: Digest, least: f64) -> bool {
    // What rounding may take away is given first.
    const MARGIN: f64 = 1.0 + 1e-9;
    let (both, union) = most_in_common(a, b);
    both as f64 * MARGIN >= least * union as f64
}

/// Features that two sets have in common at the most, and those of their union then.
///
/// Where parities differ, one of the sets has a feature that the other lacks.
#[inline]
fn most_in_common(a: Digest, b: Digest) -> (u64, u64) {
    let all = a.len + b.len;
    let odd = u64::from((a.parities ^ b.parities).count_ones());
    let in_one = odd.max(a.len.abs_diff(b.len));
    // The parity of the difference is that of the sum, so that this is a whole number.
    let both = all.saturating_sub(in_one) / 2;
    (both, all - both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature_set::{FeatureSet, jaccard};

    #[test]
    fn no_two_sets_are_more_similar_than_their_digests_say() {
        let feature = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (mut sum, mut bounds) = (0.0, 0.0);
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
                assert!(may_be_similar(x, y, real), "{len} {common} {more}");
                let (both, union) = most_in_common(x, y);
                let bound = both as f64 / union as f64;
                assert_eq!(may_be_similar(x, y, 0.7), bound >= 0.7);
                if len == 60 {
                    (sum, bounds) = (sum + real, bounds + bound);
                }
            }
        }
        // It says something, too: for 40 common ones of 85 the mean bound is below 0.7.
        assert!(bounds < 70.0 && sum < bounds, "{bounds} {sum}");
    }
}
