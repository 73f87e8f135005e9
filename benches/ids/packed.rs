//! Arrays of numbers with as many bits each as the largest one needs. Dictionaries in sorted order need them in
//! addition, so that records may be numbered in another order.

/// An array of numbers.
pub(crate) struct Packed {
    bits: usize,
    bytes: Vec<u8>,
}

impl Packed {
    /// Numbers that are at most `largest`.
    pub(crate) fn new(numbers: impl ExactSizeIterator<Item = usize>, largest: usize) -> Self {
        let bits = (usize::BITS - largest.leading_zeros()) as usize;
        // A word is read at any byte.
        let mut bytes = vec![0; (numbers.len() * bits).div_ceil(8) + 8];
        for (i, number) in numbers.enumerate() {
            let word = &mut bytes[i * bits / 8..][..8];
            let old = u64::from_le_bytes(word.try_into().expect("it has eight bytes"));
            let new = old | (number as u64) << (i * bits % 8);
            word.copy_from_slice(&new.to_le_bytes());
        }
        Packed { bits, bytes }
    }

    /// Number `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> usize {
        let word = &self.bytes[i * self.bits / 8..][..8];
        let word = u64::from_le_bytes(word.try_into().expect("it has eight bytes"));
        (word >> (i * self.bits % 8)) as usize & ((1 << self.bits) - 1)
    }

    pub(crate) fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }
}
