//! Bit streams, most significant bit first (spec, section 3.2).

use crate::fingerprint::Fingerprint;

/// Most bits that one [`BitWriter::write`] takes.
pub(crate) const MAX_WRITE_BITS: u32 = 57;

/// Bits of a [`window`] that are always filled from the stream.
pub(crate) const WINDOW_BITS: u32 = 57;

/// Appends bits to a byte vector; the first bit written is the top bit of the first byte.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    /// The stream up to the byte that is being filled, that byte, and whatever was there before.
    bytes: Vec<u8>,
    /// Whole bytes written.
    full: usize,
    /// The bits behind them, at the top: 0 to 7.
    open: u64,
    open_bits: u32,
}

/// Bytes that one write may touch.
const WORD_LEN: usize = 8;

impl BitWriter {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Bits written so far.
    pub(crate) fn len_bits(&self) -> usize {
        self.full * 8 + self.open_bits as usize
    }

    /// Writes the low `bits` bits of `value`, at most [`MAX_WRITE_BITS`]; higher ones must be 0.
    #[inline]
    pub(crate) fn write(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= MAX_WRITE_BITS && (value >> bits) == 0);
        if self.full + WORD_LEN > self.bytes.len() {
            self.grow();
        }
        // Shifts by the whole width do nothing, hence two of half the count.
        let room = 64 - self.open_bits - bits;
        let word = self.open | (value << (room / 2)) << (room - room / 2);
        let target: &mut [u8; WORD_LEN] = (&mut self.bytes[self.full..self.full + WORD_LEN])
            .try_into()
            .expect("the slice has eight bytes");
        *target = word.to_be_bytes();
        let filled = self.open_bits + bits;
        self.full += (filled / 8) as usize;
        self.open_bits = filled % 8;
        self.open = (word << (filled / 8 * 4)) << (filled / 8 * 4);
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.bytes.len() * 2).max(256);
        self.bytes.resize(len, 0);
    }

    /// Writes the low `bits` bits of a value of any width; higher ones must be 0.
    #[inline]
    pub(crate) fn write_value<F: Fingerprint>(&mut self, value: F, bits: u32) {
        let mut left = bits;
        while left > MAX_WRITE_BITS {
            let take = MAX_WRITE_BITS.min(left - 1);
            left -= take;
            let part = (value >> left).to_u128() as u64 & ((1 << take) - 1);
            self.write(part, take);
        }
        if left > 0 {
            self.write(value.to_u128() as u64 & ((1 << left) - 1), left);
        }
    }

    /// Writes so many zero bits.
    #[inline]
    pub(crate) fn write_zeros(&mut self, count: usize) {
        let mut left = count;
        while left > MAX_WRITE_BITS as usize {
            self.write(0, MAX_WRITE_BITS);
            left -= MAX_WRITE_BITS as usize;
        }
        self.write(0, left as u32);
    }

    /// The bytes of the stream, its last one filled with zero bits.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len_bits().div_ceil(8)]
    }

    /// Gives the bytes of the stream away.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len_bits().div_ceil(8));
        self.bytes
    }

    /// Starts an empty stream in the same memory.
    pub(crate) fn clear(&mut self) {
        (self.full, self.open, self.open_bits) = (0, 0, 0);
    }
}

/// The bits from `at` on, left-aligned; at least [`WINDOW_BITS`] of them are from the stream, and
/// zeros stand for what lies behind its end.
#[inline(always)]
pub(crate) fn window(bytes: &[u8], at: usize) -> u64 {
    let start = at / 8;
    let word = match bytes.get(start..start + 8) {
        Some(eight) => u64::from_be_bytes(eight.try_into().expect("the slice has eight bytes")),
        None => tail_word(bytes, start),
    };
    word << (at % 8)
}

#[cold]
fn tail_word(bytes: &[u8], start: usize) -> u64 {
    let mut word = [0; 8];
    let rest = bytes.get(start..).unwrap_or_default();
    let count = rest.len().min(8);
    word[..count].copy_from_slice(&rest[..count]);
    u64::from_be_bytes(word)
}

/// The `bits` bits from `at` on as a number; zeros stand for what lies behind the end.
#[inline(always)]
pub(crate) fn read_value<F: Fingerprint>(bytes: &[u8], at: usize, bits: u32) -> F {
    let mut value = F::ZERO;
    let (mut at, mut left) = (at, bits);
    while left > 0 {
        let take = left.min(WINDOW_BITS).min(F::WIDTH - 1);
        let part = window(bytes, at) >> (64 - take);
        value = (value << take) | F::from_u128(u128::from(part));
        at += take as usize;
        left -= take;
    }
    value
}

/// Number of bits that the number needs: 0 for 0.
pub(crate) fn bit_length(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitvec::prelude::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_bit_is_the_top_bit_of_the_first_byte() {
        let mut writer = BitWriter::new();
        writer.write(1, 1);
        writer.write(0b01, 2);
        writer.write(0b1_0000_0001, 9);
        assert_eq!(writer.len_bits(), 12);
        assert_eq!(writer.finish(), [0b1011_0000, 0b0001_0000]);
    }

    #[test]
    fn reads_zeros_behind_the_end() {
        assert_eq!(read_value::<u64>(&[0xff], 4, 8), 0xf0);
        assert_eq!(read_value::<u128>(&[], 1000, 128), 0);
        assert_eq!(window(&[0xff], 0), 0xff << 56);
    }

    proptest! {
        #[test]
        fn agrees_with_bitvec(values in prop::collection::vec((any::<u128>(), 0u32..=128), 0..60)) {
            let mut writer = BitWriter::new();
            let mut reference: BitVec<u8, Msb0> = BitVec::new();
            for &(value, bits) in &values {
                let low = if bits == 128 { value } else { value & ((1 << bits) - 1) };
                writer.write_value(low, bits);
                reference.extend((0..bits).rev().map(|i| low >> i & 1 == 1));
            }
            prop_assert_eq!(writer.len_bits(), reference.len());
            let bytes = writer.finish();
            reference.set_uninitialized(false);
            prop_assert_eq!(&bytes, &reference.into_vec());
            let mut at = 0;
            for &(value, bits) in &values {
                let low = if bits == 128 { value } else { value & ((1 << bits) - 1) };
                prop_assert_eq!(read_value::<u128>(&bytes, at, bits), low);
                at += bits as usize;
            }
        }
    }
}
