//! The reordering of bits that brings the prefix of a table to the top (spec, section 5).

use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;
use crate::threads::map_parts_mut;

/// A fingerprint in the bit order of one table. It has its own type because comparing it with a plain fingerprint, or
/// with one of another table, would be meaningless.
///
/// ```
/// use simidx::design::{Permutation, Permuted};
///
/// assert_eq!(Permutation::new(0xffu32).apply(0x01), Permuted(0x0100_0000));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Permuted<F>(pub F);

/// The permutation defined by a prefix mask: the masked bits above the others, both in their old order. `apply` is
/// `pext(x, mask) << (f - p) | pext(x, !mask)`.
///
/// Bits that move equally far move together, so a design made of bands costs one mask and one rotation for each band.
///
/// ```
/// use simidx::design::Permutation;
///
/// let low_half_first = Permutation::new(0x0000_ffffu32);
/// let permuted = low_half_first.apply(0x1234_5678);
/// assert_eq!(permuted.0, 0x5678_1234);
/// assert_eq!(low_half_first.invert(permuted), 0x1234_5678);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation<F> {
    mask: F,
    moves: Vec<Move<F>>,
}

/// Bits that are all rotated left by the same count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move<F> {
    bits: F,
    rotation: u32,
}

impl<F: Fingerprint> Permutation<F> {
    /// Creates the permutation of a prefix mask. Any mask is valid, including none and all bits.
    #[inline(never)]
    pub fn new(mask: F) -> Self {
        let mut moves: Vec<Move<F>> = Vec::new();
        for (target, source) in target_order(mask).into_iter().enumerate() {
            let rotation = (target as u32 + F::WIDTH - source) % F::WIDTH;
            let bit = F::from_u128(1) << source;
            match moves.iter_mut().find(|m| m.rotation == rotation) {
                Some(group) => group.bits = group.bits | bit,
                None => moves.push(Move {
                    bits: bit,
                    rotation,
                }),
            }
        }
        Permutation { mask, moves }
    }

    /// Returns the bits that form the prefix.
    pub fn mask(&self) -> F {
        self.mask
    }

    /// Number of bits in the prefix, p.
    pub fn prefix_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Whether every bit stays in place, as in table 0.
    pub fn is_identity(&self) -> bool {
        self.moves.iter().all(|m| m.rotation == 0)
    }

    /// Converts permuted values of this table into those of another, on all threads of the current pool.
    pub(crate) fn rearrange_all(&self, to: &Self, values: &mut [F]) {
        map_parts_mut(values, PART_LEN, |_, values| {
            dispatch(RearrangeAll {
                from: self,
                to,
                values,
            });
        });
    }

    /// [`Permutation::apply`] with the instructions of one processor.
    #[inline(always)]
    pub(crate) fn apply_with<C: Cpu>(&self, cpu: C, fingerprint: F) -> Permuted<F> {
        if C::IS_PORTABLE {
            return self.apply(fingerprint);
        }
        let low = extract(cpu, fingerprint, !self.mask);
        let high = extract(cpu, fingerprint, self.mask);
        let low_bits = F::WIDTH - self.prefix_bits();
        // Two shifts, because an empty prefix would be shifted by the whole width.
        Permuted(((high << (low_bits / 2)) << (low_bits - low_bits / 2)) | low)
    }

    /// Returns the prefix as a number of at most 32 bits, with the instructions of one processor.
    #[inline(always)]
    pub(crate) fn prefix_with<C: Cpu>(&self, cpu: C, fingerprint: F) -> usize {
        if C::IS_PORTABLE {
            let value = self.apply(fingerprint).0.to_u128();
            return (value >> (F::WIDTH - self.prefix_bits()).min(127)) as usize
                & ((1 << self.prefix_bits()) - 1);
        }
        extract(cpu, fingerprint, self.mask).to_u128() as usize
    }

    /// [`Permutation::invert`] with the instructions of one processor.
    #[inline(always)]
    pub(crate) fn invert_with<C: Cpu>(&self, cpu: C, value: Permuted<F>) -> F {
        if C::IS_PORTABLE {
            return self.invert(value);
        }
        let low_bits = F::WIDTH - self.prefix_bits();
        let high = (value.0 >> (low_bits / 2)) >> (low_bits - low_bits / 2);
        deposit(cpu, high, self.mask) | deposit(cpu, value.0, !self.mask)
    }

    /// Brings a fingerprint into the bit order of the table.
    #[inline]
    pub fn apply(&self, fingerprint: F) -> Permuted<F> {
        Permuted(self.moves.iter().fold(F::ZERO, |value, m| {
            value | (fingerprint & m.bits).rotate_left(m.rotation)
        }))
    }

    /// Returns the fingerprint that `apply` turned into `value`.
    #[inline]
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.moves.iter().fold(F::ZERO, |fingerprint, m| {
            fingerprint | (value.0.rotate_right(m.rotation) & m.bits)
        })
    }

    /// Returns the smallest and the largest permuted value with the prefix of `value`.
    #[inline]
    pub fn prefix_range(&self, value: Permuted<F>) -> (Permuted<F>, Permuted<F>) {
        let tail = match self.prefix_bits() {
            0 => F::MAX,
            p if p == F::WIDTH => F::ZERO,
            p => F::MAX >> p,
        };
        (Permuted(value.0 & !tail), Permuted(value.0 | tail))
    }
}

/// Fingerprints that one task permutes.
const PART_LEN: usize = 1 << 16;

struct RearrangeAll<'a, F> {
    from: &'a Permutation<F>,
    to: &'a Permutation<F>,
    values: &'a mut [F],
}

impl<F: Fingerprint> Work for RearrangeAll<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        for value in self.values {
            let fingerprint = self.from.invert_with(cpu, Permuted(*value));
            *value = self.to.apply_with(cpu, fingerprint).0;
        }
    }
}

/// Returns both halves of a value of any width.
#[inline(always)]
fn halves<F: Fingerprint>(value: F) -> (u64, u64) {
    let value = value.to_u128();
    (value as u64, (value >> 64) as u64)
}

/// Gathers the bits of `value` that are set in `mask` at the bottom.
#[inline(always)]
fn extract<F: Fingerprint, C: Cpu>(cpu: C, value: F, mask: F) -> F {
    let ((low, high), (low_mask, high_mask)) = (halves(value), halves(mask));
    let low = u128::from(cpu.extract(low, low_mask));
    if F::WIDTH <= 64 {
        return F::from_u128(low);
    }
    let high = u128::from(cpu.extract(high, high_mask));
    F::from_u128(high << low_mask.count_ones() | low)
}

/// Scatters the low bits of `value` to the bits set in `mask`.
#[inline(always)]
fn deposit<F: Fingerprint, C: Cpu>(cpu: C, value: F, mask: F) -> F {
    let (low_mask, high_mask) = halves(mask);
    let low = u128::from(cpu.deposit(halves(value).0, low_mask));
    if F::WIDTH <= 64 {
        return F::from_u128(low);
    }
    let rest = (value.to_u128() >> low_mask.count_ones()) as u64;
    let high = u128::from(cpu.deposit(rest, high_mask));
    F::from_u128(high << 64 | low)
}

/// Returns the fingerprint bit in each bit of the permuted value, from bit 0 up.
fn target_order<F: Fingerprint>(mask: F) -> Vec<u32> {
    let in_mask = |bit: &u32| (mask >> *bit) & F::from_u128(1) != F::ZERO;
    let low = (0..F::WIDTH).filter(|bit| !in_mask(bit));
    let high = (0..F::WIDTH).filter(in_mask);
    low.chain(high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moves_the_masked_bits_to_the_top() {
        let permutation = Permutation::<u32>::new(0x0000_ff00);
        assert_eq!(permutation.apply(0x1122_3344), Permuted(0x3311_2244));
        assert_eq!(permutation.invert(Permuted(0x3311_2244)), 0x1122_3344);
        assert_eq!(permutation.prefix_bits(), 8);
    }

    struct Both<'a, F>(&'a Permutation<F>, F);

    impl<F: Fingerprint> Work for Both<'_, F> {
        type Output = (Permuted<F>, F);

        #[inline(always)]
        fn run<C: Cpu>(self, cpu: C) -> Self::Output {
            let value = self.0.apply_with(cpu, self.1);
            (value, self.0.invert_with(cpu, value))
        }
    }

    fn special_instructions_agree<F: Fingerprint>(mask: F, fingerprint: F) {
        let permutation = Permutation::new(mask);
        let value = permutation.apply(fingerprint);
        assert_eq!(
            dispatch(Both(&permutation, fingerprint)),
            (value, fingerprint)
        );
        let (mut values, identity) = ([fingerprint; 3], Permutation::new(F::MAX));
        identity.rearrange_all(&permutation, &mut values);
        assert_eq!(values, [value.0; 3]);
        permutation.rearrange_all(&identity, &mut values);
        assert_eq!(values, [fingerprint; 3]);
    }

    proptest! {
        #[test]
        fn every_way_of_permuting_agrees(mask in any::<u128>(), fingerprint in any::<u128>()) {
            special_instructions_agree(mask as u32, fingerprint as u32);
            special_instructions_agree(mask as u64, fingerprint as u64);
            special_instructions_agree(mask, fingerprint);
        }
    }

    #[test]
    fn empty_and_full_masks_permute_nothing() {
        for mask in [0, u128::MAX, u128::MAX << 64, u128::MAX >> 64] {
            special_instructions_agree(mask as u32, 0x0123_4567);
            special_instructions_agree(mask as u64, 0x0123_4567_89ab_cdef);
            special_instructions_agree(mask, 0x0123_4567_89ab_cdef << 60);
        }
    }

    #[test]
    fn a_mask_of_leading_bits_is_the_identity() {
        for p in 0..=64 {
            let mask = u64::MAX.checked_shl(64 - p).unwrap_or(0);
            assert!(Permutation::new(mask).is_identity(), "p = {p}");
        }
        assert!(!Permutation::<u64>::new(0xff).is_identity());
    }

    #[test]
    fn prefix_range_spans_the_bits_outside_the_mask() {
        let range = |mask: u32| Permutation::new(mask).prefix_range(Permuted(0xabcd_1234));
        assert_eq!(range(0xffff_0000).0, Permuted(0xabcd_0000));
        assert_eq!(range(0xffff_0000).1, Permuted(0xabcd_ffff));
        assert_eq!(range(0), (Permuted(0), Permuted(u32::MAX)));
        assert_eq!(
            range(u32::MAX),
            (Permuted(0xabcd_1234), Permuted(0xabcd_1234))
        );
    }
}
