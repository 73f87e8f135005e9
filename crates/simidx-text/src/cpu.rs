//! Whether this processor has instructions that not every one has: those that a function is compiled for a second time.

use std::sync::OnceLock;

/// Whether it has AVX2 and POPCNT. `SIMIDX_SIMD=off` in the environment says no, so that the portable code is run.
pub(crate) fn has_avx2_and_popcnt() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let forbidden = std::env::var_os("SIMIDX_SIMD").is_some_and(|value| value == "off");
        !forbidden && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
    })
}
