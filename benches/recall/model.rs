//! The model: each bit of two fingerprints differs independently, with a probability that follows from the similarity.

/// The probability that a bit of the one-bit MinHash differs.
pub(crate) fn minhash_bit(jaccard: f64) -> f64 {
    (1.0 - jaccard) / 2.0
}

/// The probability that a bit of the simhash differs.
pub(crate) fn simhash_bit(cosine: f64) -> f64 {
    cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
}

/// The probability that at most `k` of `width` bits differ.
pub(crate) fn within(width: u32, bit: f64, k: u32) -> f64 {
    // Bits differ with probability at most 1/2 here, so that no term vanishes before it counts.
    let mut term = (1.0 - bit).powi(width as i32);
    let mut sum = term;
    for i in 1..=k.min(width) {
        term *= f64::from(width - i + 1) / f64::from(i) * bit / (1.0 - bit);
        sum += term;
    }
    sum.min(1.0)
}
