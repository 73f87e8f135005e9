//! Signatures: the keys that candidates for similar texts are found by.

use xxhash_rust::xxh3::xxh3_64;

use super::{Banding, digest};
use crate::minhash::minima_of;

/// Returns the stored row of a set of feature hashes: the lower half of its [wide key](wide_keys) for each band, and
/// then its hash.
pub(super) fn row(banding: Banding, features: &[u64]) -> Box<[u32]> {
    let keys = wide_keys(banding, features).into_iter();
    let mut row: Vec<u32> = keys.map(|key| key as u32).collect();
    let bytes = features.iter().flat_map(|feature| feature.to_le_bytes());
    digest::append_hash(&bytes.collect::<Vec<u8>>(), &mut row);
    row.into_boxed_slice()
}

/// Returns a hash of the minima of each band of a set of feature hashes.
pub(super) fn wide_keys(banding: Banding, features: &[u64]) -> Vec<u64> {
    let rows = banding.row_count();
    let mut bytes = Vec::with_capacity(4 * rows);
    let key = |band: &[u32]| {
        bytes.clear();
        bytes.extend(band.iter().flat_map(|minimum| minimum.to_le_bytes()));
        xxh3_64(&bytes)
    };
    let minima = minima_of(banding.bands * banding.rows, features);
    minima.chunks_exact(rows).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two sets of 1000 features, of which `common` are common.
    fn sets(common: u64) -> [Vec<u64>; 2] {
        let feature = |i: u64| xxh3_64(&i.to_le_bytes());
        [0, 1000 - common].map(|start| (start..start + 1000).map(feature).collect())
    }

    #[test]
    fn bands_agree_as_often_as_the_model_says() {
        // Jaccard similarities of 600 / 1400 and 800 / 1200, in bands of two.
        for common in [600, 800] {
            let jaccard = common as f64 / (2000 - common) as f64;
            let banding = Banding {
                bands: 2000,
                rows: 2,
            };
            let [a, b] = sets(common).map(|set| row(banding, &set));
            let agree = a.iter().zip(&b).filter(|(a, b)| a == b).count();
            let expected = 2000.0 * jaccard * jaccard;
            // Five standard deviations.
            assert!(
                (agree as f64 - expected).abs() < 5.0 * expected.sqrt(),
                "{agree} of {expected}"
            );
        }
    }
}
