//! Processor instructions that are selected at run time, each with portable code as an alternative.

/// The gathering and scattering of bits that a [`Work`] may use. All implementations give the same results.
pub(crate) trait Cpu: Copy {
    /// Whether gathering and scattering take a loop, so that another way may be faster.
    const IS_PORTABLE: bool;

    /// Gathers the bits of `value` that are set in `mask` at the bottom, in order (PEXT).
    fn extract(self, value: u64, mask: u64) -> u64;

    /// Scatters the low bits of `value` to the bits set in `mask`, in order (PDEP).
    fn deposit(self, value: u64, mask: u64) -> u64;

    /// Returns the number of bits above the set bit number `rank` (from 0 to 63, counted from the bottom); 64 if there
    /// are fewer set bits.
    fn select(self, word: u64, rank: u32) -> u32;
}

/// Work to be compiled for each processor. `run` and its inner loops must be `#[inline(always)]`, because only then are
/// they compiled for that processor.
pub(crate) trait Work {
    type Output;

    fn run<C: Cpu>(self, cpu: C) -> Self::Output;
}

/// Runs the work with the best instructions of this processor.
///
/// `SIMIDX_SIMD=off` in the environment selects portable code, for tests and diagnosis.
#[inline]
pub(crate) fn dispatch<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = bmi2() {
        #[expect(unsafe_code, reason = "calls a function compiled for newer processors")]
        // SAFETY: only `bmi2` creates a `Bmi2`, if the processor and the system have all features that the function is
        // compiled for.
        return unsafe { run_bmi2(work, cpu) };
    }
    run_portable(work)
}

#[inline(never)]
fn run_portable<W: Work>(work: W) -> W::Output {
    work.run(Portable)
}

/// Returns the instruction set that this process uses: `x86-64-v3` if the processor has its instructions, unless
/// `SIMIDX_SIMD` is `off` in the environment; otherwise `portable`.
///
/// ```
/// assert!(["x86-64-v3", "portable"].contains(&simidx::index::instruction_set()));
/// ```
pub fn instruction_set() -> &'static str {
    struct Name;

    impl Work for Name {
        type Output = &'static str;

        #[inline(always)]
        fn run<C: Cpu>(self, _: C) -> &'static str {
            match C::IS_PORTABLE {
                true => "portable",
                false => "x86-64-v3",
            }
        }
    }

    dispatch(Name)
}

/// Returns whether special instructions may be used.
#[cfg(target_arch = "x86_64")]
fn is_allowed() -> bool {
    std::env::var_os("SIMIDX_SIMD").is_none_or(|value| value != "off")
}

/// Proof that the processor has BMI2, BMI1, LZCNT, POPCNT and AVX2 (x86-64-v3).
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bmi2(());

#[cfg(target_arch = "x86_64")]
#[inline]
fn bmi2() -> Option<Bmi2> {
    use std::sync::OnceLock;
    static FOUND: OnceLock<Option<Bmi2>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let found = is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("avx2");
        (found && is_allowed()).then_some(Bmi2(()))
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,bmi1,lzcnt,popcnt,avx2")]
#[inline(never)]
fn run_bmi2<W: Work>(work: W, cpu: Bmi2) -> W::Output {
    work.run(cpu)
}

#[cfg(target_arch = "x86_64")]
impl Cpu for Bmi2 {
    const IS_PORTABLE: bool = false;

    #[inline(always)]
    fn extract(self, value: u64, mask: u64) -> u64 {
        #[expect(unsafe_code, reason = "the instruction is not on every processor")]
        // SAFETY: `self` proves that this processor has the instruction.
        unsafe {
            std::arch::x86_64::_pext_u64(value, mask)
        }
    }

    #[inline(always)]
    fn deposit(self, value: u64, mask: u64) -> u64 {
        #[expect(unsafe_code, reason = "the instruction is not on every processor")]
        // SAFETY: `self` proves that this processor has the instruction.
        unsafe {
            std::arch::x86_64::_pdep_u64(value, mask)
        }
    }

    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        self.deposit(1u64.wrapping_shl(rank), word).leading_zeros()
    }
}

/// Portable code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

impl Cpu for Portable {
    const IS_PORTABLE: bool = true;

    #[inline]
    fn extract(self, value: u64, mask: u64) -> u64 {
        let (mut result, mut mask, mut at) = (0, mask, 0);
        while mask != 0 {
            result |= (value >> mask.trailing_zeros() & 1) << at;
            mask &= mask - 1;
            at += 1;
        }
        result
    }

    #[inline]
    fn deposit(self, value: u64, mask: u64) -> u64 {
        let (mut result, mut mask, mut value) = (0, mask, value);
        while mask != 0 {
            result |= (value & 1) << mask.trailing_zeros();
            mask &= mask - 1;
            value >>= 1;
        }
        result
    }

    #[inline]
    fn select(self, word: u64, rank: u32) -> u32 {
        let mut word = word;
        for _ in 0..rank {
            word &= word.wrapping_sub(1);
        }
        // The lowest remaining bit.
        (word & word.wrapping_neg()).leading_zeros()
    }
}

/// Bytes that a processor fetches together.
pub(crate) const CACHE_LINE: usize = 64;

/// Prefetches the cache line that holds item `at`. Does nothing for an item beyond the end.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the instruction takes a pointer")]
        // SAFETY: every x86-64 processor has the instruction. It accepts any address, and has no effect that a program
        // can observe.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct All(u64, u64, u32);

    impl Work for All {
        type Output = [u64; 3];

        #[inline(always)]
        fn run<C: Cpu>(self, cpu: C) -> [u64; 3] {
            [
                cpu.extract(self.0, self.1),
                cpu.deposit(self.0, self.1),
                cpu.select(self.0, self.2).into(),
            ]
        }
    }

    #[test]
    fn gathers_and_scatters() {
        assert_eq!(Portable.extract(0x1122_3344, 0x0000_ff00), 0x33);
        assert_eq!(Portable.deposit(0x33, 0x0000_ff00), 0x3300);
        assert_eq!(Portable.select(0b1011, 2), 60);
        assert_eq!(Portable.select(0b1011, 3), 64);
        assert_eq!(Portable.select(u64::MAX, 63), 0);
    }

    /// Otherwise the tests of both variants compare portable code with itself.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn special_instructions_are_used_where_they_are() {
        let found = is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("avx2");
        let forbidden = std::env::var("SIMIDX_SIMD").is_ok_and(|value| value == "off");
        let is_portable = instruction_set() == "portable";
        assert_eq!(is_portable, !found || forbidden);
        // Under Miri the processor has the features that the compiler was given.
        let told = cfg!(all(target_feature = "bmi2", target_feature = "avx2"));
        assert!(!is_portable || !told || forbidden);
    }

    proptest! {
        #[test]
        fn both_twins_agree(value in any::<u64>(), mask in any::<u64>(), rank in 0u32..64) {
            prop_assert_eq!(dispatch(All(value, mask, rank)), All(value, mask, rank).run(Portable));
        }
    }
}
