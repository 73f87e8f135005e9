//! Bit streams, most significant bit first (spec, section 3.2).

use crate::fingerprint::Fingerprint;

/// The most bits of one [`BitWriter::write`].
pub(crate) const MAX_WRITE_BITS: u32 = 57;

/// The bits of a [`window`] that are always filled from the stream.
pub(crate) const WINDOW_BITS: u32 = 57;

/// Appends bits to a byte vector; the first bit written is the top bit of the first byte.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    /// The stream up to the byte that is being filled, that byte, and arbitrary bytes after it.
    bytes: Vec<u8>,
    /// Number of whole bytes written.
    full: usize,
    /// The 0 to 7 bits after the whole bytes, at the top.
    open: u64,
    open_bits: u32,
}

/// Bytes that one write may touch.
const WORD_LEN: usize = 8;

impl BitWriter {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bits written.
    pub(crate) fn len_bits(&self) -> usize {
        self.full * 8 + self.open_bits as usize
    }

    /// Writes the low `bits` bits of `value`, at most [`MAX_WRITE_BITS`]; higher bits must be 0.
    #[inline(always)]
    pub(crate) fn write(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= MAX_WRITE_BITS && (value >> bits) == 0);
        if self.full + WORD_LEN > self.bytes.len() {
            self.grow();
        }
        // Two shifts, because one by the whole width would do nothing.
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

    /// Writes the low `bits` bits of a value of any width; higher bits must be 0.
    #[inline(always)]
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

    /// Writes the low `bits` bits of each value, like [`BitWriter::write_value`], but keeps its state in registers.
    /// Higher bits must be 0.
    #[inline(always)]
    pub(crate) fn write_all<F: Fingerprint>(
        &mut self,
        values: impl ExactSizeIterator<Item = F>,
        bits: u32,
    ) {
        if bits == 0 || bits > MAX_WRITE_BITS {
            values.for_each(|value| self.write_value(value, bits));
            return;
        }
        self.bytes.truncate(self.full);
        self.bytes
            .reserve(values.len() * bits as usize / 8 + 2 * WORD_LEN);
        let (mut open, mut open_bits) = (self.open, self.open_bits);
        for value in values {
            let value = value.to_u128() as u64;
            debug_assert!((value >> bits) == 0);
            let filled = open_bits + bits;
            if filled < 64 {
                open |= value << (64 - filled);
                open_bits = filled;
            } else {
                open_bits = filled - 64;
                let word = open | value >> open_bits;
                self.bytes.extend_from_slice(&word.to_be_bytes());
                open = (value << 1) << (63 - open_bits);
            }
        }
        self.full = self.bytes.len() + (open_bits / 8) as usize;
        self.bytes.extend_from_slice(&open.to_be_bytes());
        self.open = open << (open_bits / 8 * 8);
        self.open_bits = open_bits % 8;
    }

    /// Writes `len` bits. Those at the positions `ones`, counted from here, are 1, the others 0.
    #[inline(always)]
    pub(crate) fn write_ones(&mut self, len: usize, ones: impl Iterator<Item = usize>) {
        self.reserve(len);
        let start = self.len_bits();
        let end = start + len;
        self.bytes[self.full] = (self.open >> 56) as u8;
        self.bytes[self.full + 1..end / 8 + 1].fill(0);
        for one in ones {
            let at = start + one;
            self.bytes[at / 8] |= 0x80 >> (at % 8);
        }
        (self.full, self.open_bits) = (end / 8, (end % 8) as u32);
        self.open = u64::from(self.bytes[self.full]) << 56;
    }

    /// Reserves memory for `bits` bits and for the word that a write may touch after them.
    #[inline(always)]
    fn reserve(&mut self, bits: usize) {
        let needed = self.full + bits / 8 + 2 * WORD_LEN;
        if needed > self.bytes.len() {
            self.bytes.resize(needed, 0);
        }
    }

    /// Returns the bytes of the stream; the last is padded with zero bits.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len_bits().div_ceil(8)]
    }

    /// Returns the bytes of the stream, consuming the writer.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len_bits().div_ceil(8));
        self.bytes
    }

    /// Passes the whole bytes written so far to `take` and removes them; an incomplete byte stays.
    pub(crate) fn drain<E>(&mut self, take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let full = std::mem::take(&mut self.full);
        take(&self.bytes[..full])?;
        if let Some(first) = self.bytes.first_mut() {
            *first = (self.open >> 56) as u8;
        }
        Ok(())
    }

    /// Starts an empty stream in the same memory.
    pub(crate) fn clear(&mut self) {
        (self.full, self.open, self.open_bits) = (0, 0, 0);
    }
}

/// Returns the bits from `at` on, left-aligned. At least [`WINDOW_BITS`] of them are from the stream; bits beyond its
/// end are 0.
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

/// Returns the `bits` bits from `at` on as a number; bits beyond the end of the stream are 0.
#[inline(always)]
pub(crate) fn read_value<F: Fingerprint>(bytes: &[u8], at: usize, bits: u32) -> F {
    if (1..=WINDOW_BITS.min(F::WIDTH - 1)).contains(&bits) {
        return F::from_u128((window(bytes, at) >> (64 - bits)).into());
    }
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

/// Returns the number of bits of a number: 0 for 0.
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
    fn a_stream_can_be_drained_at_any_bit() {
        for every in 1..9 {
            let (mut whole, mut drained, mut bytes) =
                (BitWriter::new(), BitWriter::new(), Vec::new());
            for i in 0..100 {
                let bits = i % 23;
                let value = (u64::from(i) * 0x9e37_79b9) & ((1 << bits) - 1);
                whole.write(value, bits);
                drained.write(value, bits);
                if i % every == 0 {
                    let take = |full: &[u8]| {
                        bytes.extend_from_slice(full);
                        Ok::<(), ()>(())
                    };
                    drained.drain(take).unwrap();
                }
            }
            bytes.extend(drained.finish());
            assert_eq!(bytes, whole.finish());
        }
    }

    #[test]
    fn reads_zeros_behind_the_end() {
        assert_eq!(read_value::<u64>(&[0xff], 4, 8), 0xf0);
        assert_eq!(read_value::<u128>(&[], 1000, 128), 0);
        assert_eq!(window(&[0xff], 0), 0xff << 56);
    }

    proptest! {
        #[test]
        fn many_values_are_written_as_one_after_the_other(
            head in 0u32..20, bits in 0u32..=64, values in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let low = |value: u64| value & u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let (mut one, mut all) = (BitWriter::new(), BitWriter::new());
            one.write(1, head + 1);
            all.write(1, head + 1);
            values.iter().for_each(|&value| one.write_value(low(value), bits));
            all.write_all(values.iter().map(|&value| low(value)), bits);
            prop_assert_eq!(one.len_bits(), all.len_bits());
            one.write(5, 3);
            all.write(5, 3);
            prop_assert_eq!(one.finish(), all.finish());
        }

        #[test]
        fn ones_are_set_where_they_are_wanted(
            head in 0u32..20, dirt in 0usize..600, ones in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let (mut one, mut all) = (BitWriter::new(), BitWriter::new());
            // The contents of an earlier stream in the same memory must not show.
            all.write_ones(dirt, 0..dirt);
            all.clear();
            one.write(1, head + 1);
            all.write(1, head + 1);
            ones.iter().for_each(|&bit| one.write(bit.into(), 1));
            let places = ones.iter().enumerate().filter(|(_, bit)| **bit).map(|(i, _)| i);
            all.write_ones(ones.len(), places);
            prop_assert_eq!(one.len_bits(), all.len_bits());
            one.write(5, 3);
            all.write(5, 3);
            prop_assert_eq!(one.finish(), all.finish());
        }

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
