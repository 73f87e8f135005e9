//! The reordering of bits that brings the prefix of a table to the top (spec, section 5).

use crate::fingerprint::Fingerprint;

/// A fingerprint in the bit order of one table. Comparing it with a plain fingerprint, or with
/// one of another table, would be meaningless: hence a type of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Permuted<F>(pub F);

/// The permutation that a prefix mask stands for: the masked bits above the others, both in
/// their old order. `apply` is `pext(x, mask) << (f - p) | pext(x, !mask)`.
///
/// Bits that travel equally far move together, so that a design made of bands costs one
/// mask-and-rotate a band.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation<F> {
    mask: F,
    moves: Vec<Move<F>>,
}

/// The bits of `bits`, all rotated left by the same count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move<F> {
    bits: F,
    rotation: u32,
}

impl<F: Fingerprint> Permutation<F> {
    /// The permutation of a prefix mask. Any mask is valid, none and all bits included.
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

    /// The bits that form the prefix.
    pub fn mask(&self) -> F {
        self.mask
    }

    /// Number of bits in the prefix, p.
    pub fn prefix_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Whether every bit stays where it is, as in table 0.
    pub fn is_identity(&self) -> bool {
        self.moves.iter().all(|m| m.rotation == 0)
    }

    /// Brings a fingerprint into the order of the table.
    #[inline]
    pub fn apply(&self, fingerprint: F) -> Permuted<F> {
        Permuted(self.moves.iter().fold(F::ZERO, |value, m| {
            value | (fingerprint & m.bits).rotate_left(m.rotation)
        }))
    }

    /// The fingerprint that `apply` turned into `value`.
    #[inline]
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.moves.iter().fold(F::ZERO, |fingerprint, m| {
            fingerprint | (value.0.rotate_right(m.rotation) & m.bits)
        })
    }

    /// The smallest and the largest permuted value that share the prefix of `value`.
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

/// For each bit of the permuted value, from bit 0 up, the fingerprint bit that it holds.
fn target_order<F: Fingerprint>(mask: F) -> Vec<u32> {
    let in_mask = |bit: &u32| (mask >> *bit) & F::from_u128(1) != F::ZERO;
    let low = (0..F::WIDTH).filter(|bit| !in_mask(bit));
    let high = (0..F::WIDTH).filter(in_mask);
    low.chain(high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_the_masked_bits_to_the_top() {
        let permutation = Permutation::<u32>::new(0x0000_ff00);
        assert_eq!(permutation.apply(0x1122_3344), Permuted(0x3311_2244));
        assert_eq!(permutation.invert(Permuted(0x3311_2244)), 0x1122_3344);
        assert_eq!(permutation.prefix_bits(), 8);
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
