//! The ranges that a query probes in a table: its prefix, and its prefix with few bits flipped.

use crate::design::TableProbes;
use crate::fingerprint::Fingerprint;

/// Iterates over the ranges that the probes of a table read, as their lowest and highest values. The addresses of a
/// range differ from that of the query in at most a few bits, and the equal address comes first. This is a plain struct
/// instead of an iterator chain, because the inner loops of queries are compiled for each processor (`cpu`) and have no
/// closures.
#[derive(Debug, Clone)]
pub(super) struct Ranges<F> {
    value: F,
    /// The bits below the address.
    tail: F,
    /// The bits below the flipped part of the address.
    joined_tail: F,
    /// Number of leading bits of the address that may be flipped.
    flipped_bits: u32,
    most_flips: u32,
    flips: u32,
    /// The bits to flip next, as a number of `flipped_bits` bits.
    pattern: F,
    done: bool,
}

/// Returns a mask of all bits after the leading ones.
#[inline(always)]
fn below<F: Fingerprint>(leading: u32) -> F {
    if leading == F::WIDTH {
        F::ZERO
    } else {
        F::MAX >> leading
    }
}

impl<F: Fingerprint> Ranges<F> {
    #[inline(always)]
    pub(super) fn new(value: F, probes: &TableProbes) -> Self {
        let address_bits = probes.address_bits.min(F::WIDTH);
        let flipped_bits = address_bits - probes.range_bits.min(address_bits);
        Ranges {
            value,
            tail: below(address_bits),
            joined_tail: below(flipped_bits),
            flipped_bits,
            most_flips: probes.flips,
            flips: 0,
            pattern: F::ZERO,
            done: false,
        }
    }

    /// Returns the next range.
    #[inline(always)]
    pub(super) fn next_range(&mut self) -> Option<(F, F)> {
        if self.done {
            return None;
        }
        let unflipped_bits = F::WIDTH - self.flipped_bits;
        // Two shifts, because one shift by the whole width would overflow.
        let half = unflipped_bits / 2;
        let address = self.value ^ ((self.pattern << half) << (unflipped_bits - half));
        let tail = if self.flips < self.most_flips {
            self.joined_tail
        } else {
            self.tail
        };
        self.advance();
        Some((address & !tail, address | tail))
    }

    /// Moves to the next larger pattern with the same number of ones (R. W. Gosper, HAKMEM item 175), or to the
    /// smallest with one more.
    #[inline(always)]
    fn advance(&mut self) {
        if self.flips > 0 {
            let lowest = self.pattern.trailing_zeros();
            let carried = self.pattern.wrapping_add(F::from_u128(1) << lowest);
            let fits = self.flipped_bits == F::WIDTH || carried >> self.flipped_bits == F::ZERO;
            if carried > self.pattern && fits {
                // All but one of the ones that the carry cleared move to the bottom.
                let moved = ((self.pattern ^ carried) >> lowest) >> 2;
                self.pattern = carried | moved;
                return;
            }
        }
        self.done = self.flips == self.most_flips.min(self.flipped_bits);
        self.flips += 1;
        let ones = self.flips.min(self.flipped_bits);
        self.pattern = if ones == 0 {
            F::ZERO
        } else {
            F::MAX >> (F::WIDTH - ones)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn all<F: Fingerprint>(value: F, address_bits: u32, flips: u32) -> Vec<(F, F)> {
        joined(value, address_bits, flips, 0)
    }

    fn joined<F: Fingerprint>(
        value: F,
        address_bits: u32,
        flips: u32,
        range_bits: u32,
    ) -> Vec<(F, F)> {
        let probes = TableProbes {
            table: 0,
            address_bits,
            flips,
            range_bits,
            prefix_bits: address_bits,
        };
        let mut ranges = Ranges::new(value, &probes);
        std::iter::from_fn(|| ranges.next_range()).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn joined_addresses_hold_all_those_of_few_flips_once() {
        let value = 0xdead_beefu32;
        for (bits, flips, range_bits) in [(10, 1, 3), (10, 2, 4), (6, 5, 4), (3, 2, 3), (8, 3, 8)] {
            let ranges = joined(value, bits, flips, range_bits);
            let holders = |address: u32| {
                let holds = |r: &&(u32, u32)| (r.0..=r.1).contains(&(address << (32 - bits)));
                ranges.iter().filter(holds).count()
            };
            for address in 0..1u32 << bits {
                let distance = (address ^ value >> (32 - bits)).count_ones();
                let found = holders(address);
                assert!(
                    found <= 1 && (distance > flips || found == 1),
                    "{bits} {address:b}"
                );
            }
            assert!(ranges.len() < all(value, bits, flips).len());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn flips_every_pattern_of_few_bits_once() {
        for (bits, flips, count) in [
            (0, 1, 1),
            (10, 2, 56),
            (32, 2, 529),
            (1, 1, 2),
            (3, 9, 8),
            (20, 3, 1351),
        ] {
            let lows: Vec<u32> = all(0xdead_beefu32, bits, flips)
                .iter()
                .map(|r| r.0)
                .collect();
            assert_eq!(lows.len(), count, "{bits} bits, {flips} flips");
            assert_eq!(lows.iter().collect::<HashSet<_>>().len(), count);
            let tail = u32::MAX.checked_shr(bits).unwrap_or(0);
            assert_eq!(lows[0], 0xdead_beef & !tail);
            let near = |low: &u32| low & tail == 0 && (low ^ lows[0]).count_ones() <= flips;
            assert!(lows.iter().all(near));
        }
        assert_eq!(all(7u64, 64, 2).len(), 1 + 64 + 64 * 63 / 2);
        assert_eq!(all(7u128, 128, 2).len(), 1 + 128 + 128 * 127 / 2);
    }

    #[test]
    fn ranges_hold_the_values_of_each_address() {
        let halves = [(0x8000_0000, u32::MAX), (0, 0x7fff_ffff)];
        assert_eq!(all(0x8000_1234u32, 1, 1), halves);
        assert_eq!(all(7u32, 0, 5), [(0, u32::MAX)]);
        assert_eq!(all(7u32, 32, 0), [(7, 7)]);
        assert_eq!(all(7u32, 40, 0), [(7, 7)]);
    }
}
