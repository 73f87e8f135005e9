//! The linear scan, the baseline of all: every fingerprint compared, by the fastest instructions at hand.

/// A way to scan: pushes every fingerprint within `distance` of `query`.
pub(crate) type Kernel = fn(&[u64], u64, u32, &mut Vec<u64>);

/// Number of fingerprints within `distance` of `query`.
pub(crate) fn popcount_scan(fingerprints: &[u64], query: u64, distance: u32) -> usize {
    let mut matches = Vec::new();
    fastest()(fingerprints, query, distance, &mut matches);
    matches.len()
}

/// The fastest kernel that this processor has.
pub(crate) fn fastest() -> Kernel {
    kernels().last().expect("there is a portable one").1
}

/// The kernels that this processor can run with their names, from slow to fast.
pub(crate) fn kernels() -> Vec<(&'static str, Kernel)> {
    let mut kernels: Vec<(&'static str, Kernel)> = vec![("portable", portable)];
    #[cfg(target_arch = "x86_64")]
    kernels.extend(x86::kernels());
    kernels
}

/// The reference for the other kernels.
#[inline(always)]
pub(crate) fn portable(fingerprints: &[u64], query: u64, distance: u32, matches: &mut Vec<u64>) {
    for &fingerprint in fingerprints {
        if (fingerprint ^ query).count_ones() <= distance {
            matches.push(fingerprint);
        }
    }
}

/// Compares every kernel with the portable one, also on lengths that fill no vector.
pub(crate) fn check_kernels(fingerprints: &[u64], queries: &[u64]) {
    let scan = |kernel: Kernel, part: &[u64], query, distance| {
        let mut matches = Vec::new();
        kernel(part, query, distance, &mut matches);
        matches
    };
    for (name, kernel) in kernels() {
        for (i, &query) in queries.iter().enumerate() {
            let part = &fingerprints[..fingerprints.len().min(500) - i % 70];
            for distance in [0, 3, 20, 32, 64] {
                let found = scan(kernel, part, query, distance);
                let expected = scan(portable, part, query, distance);
                assert_eq!(found, expected, "{name}: {query:x} within {distance}");
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernel, portable};

    pub(super) fn kernels() -> Vec<(&'static str, Kernel)> {
        let mut kernels: Vec<(&'static str, Kernel)> = Vec::new();
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the feature that the function is compiled for.
            kernels.push(("popcnt", |f, q, k, m| unsafe { popcnt(f, q, k, m) }));
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            kernels.push(("avx2", |f, q, k, m| unsafe { avx2(f, q, k, m) }));
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: as above.
            kernels.push(("avx512bw", |f, q, k, m| unsafe { avx512bw(f, q, k, m) }));
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: as above.
            kernels.push(("vpopcntdq", |f, q, k, m| unsafe { vpopcntdq(f, q, k, m) }));
        }
        kernels
    }

    #[target_feature(enable = "popcnt")]
    fn popcnt(fingerprints: &[u64], query: u64, distance: u32, matches: &mut Vec<u64>) {
        portable(fingerprints, query, distance, matches);
    }

    /// Fingerprints in a step of the vector kernels: enough that testing for a match costs little.
    const STEP: usize = 32;

    /// How far ahead of the step cache lines are asked for: beyond the page, where the processor's own
    /// prefetching stops.
    const AHEAD_LEN: usize = 4096;

    /// Compares vector by vector; `near` returns a bit for each fingerprint of a vector, set if it is near.
    #[inline(always)]
    fn scan_steps<const LANES: usize>(
        fingerprints: &[u64],
        query: u64,
        distance: u32,
        matches: &mut Vec<u64>,
        near: impl Fn(&[u64; LANES]) -> u32,
    ) {
        let (steps, rest) = fingerprints.as_chunks::<STEP>();
        for step in steps {
            let (vectors, _) = step.as_chunks::<LANES>();
            prefetch(step);
            let mut found = 0;
            for (i, vector) in vectors.iter().enumerate() {
                found |= near(vector) << (i * LANES);
            }
            while found != 0 {
                matches.push(step[found.trailing_zeros() as usize]);
                found &= found - 1;
            }
        }
        portable(rest, query, distance, matches);
    }

    #[inline(always)]
    fn prefetch(step: &[u64; STEP]) {
        for line in (0..size_of_val(step)).step_by(64) {
            let address = step.as_ptr().cast::<i8>().wrapping_add(AHEAD_LEN + line);
            // SAFETY: a prefetch is a hint and may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
    }

    /// Population counts of half-bytes by a shuffle, added up in words by a sum of absolute differences.
    #[target_feature(enable = "avx2")]
    fn avx2(fingerprints: &[u64], query: u64, distance: u32, matches: &mut Vec<u64>) {
        let counts = _mm256_broadcastsi128_si256(nibble_counts());
        let low = _mm256_set1_epi8(15);
        let asked = _mm256_set1_epi64x(query.cast_signed());
        let limit = _mm256_set1_epi64x(i64::from(distance));
        let near = |vector: &[u64; 4]| {
            // SAFETY: the load takes the 32 bytes of the array, at any alignment.
            let values = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            let bits = _mm256_xor_si256(values, asked);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bits), low);
            let bytes = _mm256_add_epi8(
                _mm256_shuffle_epi8(counts, _mm256_and_si256(bits, low)),
                _mm256_shuffle_epi8(counts, high),
            );
            let distances = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
            let far = _mm256_cmpgt_epi64(distances, limit);
            !_mm256_movemask_pd(_mm256_castsi256_pd(far)).cast_unsigned() & 15
        };
        scan_steps(fingerprints, query, distance, matches, near);
    }

    /// As [`avx2`], on twice the bits.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn avx512bw(fingerprints: &[u64], query: u64, distance: u32, matches: &mut Vec<u64>) {
        let counts = _mm512_broadcast_i32x4(nibble_counts());
        let low = _mm512_set1_epi8(15);
        let asked = _mm512_set1_epi64(query.cast_signed());
        let limit = _mm512_set1_epi64(i64::from(distance));
        let near = |vector: &[u64; 8]| {
            // SAFETY: the load takes the 64 bytes of the array, at any alignment.
            let values = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            let bits = _mm512_xor_si512(values, asked);
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bits), low);
            let bytes = _mm512_add_epi8(
                _mm512_shuffle_epi8(counts, _mm512_and_si512(bits, low)),
                _mm512_shuffle_epi8(counts, high),
            );
            let distances = _mm512_sad_epu8(bytes, _mm512_setzero_si512());
            u32::from(_mm512_cmple_epu64_mask(distances, limit))
        };
        scan_steps(fingerprints, query, distance, matches, near);
    }

    /// Population counts by an instruction of their own.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn vpopcntdq(fingerprints: &[u64], query: u64, distance: u32, matches: &mut Vec<u64>) {
        let asked = _mm512_set1_epi64(query.cast_signed());
        let limit = _mm512_set1_epi64(i64::from(distance));
        let near = |vector: &[u64; 8]| {
            // SAFETY: the load takes the 64 bytes of the array, at any alignment.
            let values = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            let distances = _mm512_popcnt_epi64(_mm512_xor_si512(values, asked));
            u32::from(_mm512_cmple_epu64_mask(distances, limit))
        };
        scan_steps(fingerprints, query, distance, matches, near);
    }

    /// The number of one bits in each half-byte from 0 to 15.
    #[target_feature(enable = "sse2")]
    fn nibble_counts() -> __m128i {
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)
    }
}
