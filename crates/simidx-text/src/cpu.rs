//! Detects processor instructions for functions that are also compiled for newer processors.

use std::sync::OnceLock;

/// Whether the processor has AVX2 and POPCNT. `SIMIDX_SIMD=off` in the environment disables them, so that the portable
/// code runs.
pub(crate) fn has_avx2_and_popcnt() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let forbidden = std::env::var_os("SIMIDX_SIMD").is_some_and(|value| value == "off");
        !forbidden && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
    })
}
