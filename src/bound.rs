//! The information bound: how small any code for a set of fingerprints can be on average.

/// The least number of bits a fingerprint that a code for a random set of `count` distinct values needs:
/// log2(C(2^width, count)) / count. 0 if there are no fingerprints.
pub(crate) fn bound_bits(width: u32, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let n = count as f64;
    let fraction = n / 2f64.powi(width as i32);
    if fraction >= 1.0 {
        return 0.0;
    }
    // ln C(N, n) = n ln N - (N - n) ln(1 - n/N) - n - ln(1 - n/N) / 2 - ln n!, by Stirling's series
    // for the large factorials; with q = n/N the second term is n (1 - q) / q * ln(1 - q).
    let log_rest = (-fraction).ln_1p();
    let per_fingerprint = f64::from(width) * std::f64::consts::LN_2
        - (1.0 - fraction) / fraction * log_rest
        - 1.0
        - log_rest / (2.0 * n)
        - ln_factorial(n) / n;
    (per_fingerprint / std::f64::consts::LN_2).max(0.0)
}

/// ln n! by Stirling's series; its error is below 1e-9 from n = 10 on, and small n are summed.
fn ln_factorial(n: f64) -> f64 {
    if n < 10.0 {
        return (2..=n as u64).map(|i| (i as f64).ln()).sum();
    }
    n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)
        - 1.0 / (360.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fingerprint_takes_its_width() {
        for width in [32, 64, 128] {
            assert!((bound_bits(width, 1) - f64::from(width)).abs() < 1e-6);
        }
    }

    #[test]
    fn agrees_with_the_exact_sum_for_small_sets() {
        let n = 1000u64;
        let exact: f64 = (0..n)
            .map(|i| ((2f64.powi(32) - i as f64) / (i + 1) as f64).log2())
            .sum();
        assert!((bound_bits(32, n) - exact / n as f64).abs() < 1e-6);
    }

    #[test]
    fn gives_the_known_figures_for_ten_million_and_for_full_sets() {
        assert!((bound_bits(64, 10_000_000) - 42.19).abs() < 0.005);
        assert_eq!(bound_bits(32, 1 << 32), 0.0);
        assert!((bound_bits(32, 1 << 31) - 2.0).abs() < 1e-3);
        assert_eq!(bound_bits(64, 0), 0.0);
    }
}
