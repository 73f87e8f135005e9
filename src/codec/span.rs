//! The bounds of a block's values and its possible faults, shared by the block and its codes.

use super::elias_fano::Layout;
use crate::fingerprint::Fingerprint;

/// The reason why a block cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockError {
    /// The stored checksum does not match the bytes.
    Checksum { stored: u32, computed: u32 },
    /// Some bits do not start with a codeword.
    NoCodeword,
    /// The high bits of an Elias-Fano sequence do not match the number of its numbers.
    HighBits,
    /// The values run past the end of the block.
    Overrun,
    /// A value is not above the one before it.
    NotAscending,
    /// A value is not below the key of the block.
    AboveTheKey,
    /// A bit after the last value is set.
    Padding,
}

/// The bounds of a block's values according to the keys: above `previous`, and up to `key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<F> {
    /// The key of the block before; `None` for the first block.
    pub(crate) previous: Option<F>,
    /// The last value of the block.
    pub(crate) key: F,
}

impl<F: Fingerprint> Span<F> {
    /// Returns the smallest value that the block can hold.
    #[inline(always)]
    pub(crate) fn base(&self) -> F {
        match self.previous {
            Some(previous) => previous.wrapping_add(F::from_u128(1)),
            None => F::ZERO,
        }
    }

    /// Returns the layout of the `count` values below the key, as distances from the base, in an Elias-Fano sequence
    /// that starts at a bit of the stream.
    #[inline(always)]
    pub(crate) fn layout(&self, count: usize, start: usize) -> Option<Layout> {
        let room = self.key.wrapping_sub(self.base());
        if room == F::ZERO || self.previous.is_some_and(|p| p >= self.key) {
            return None;
        }
        Layout::new(start, count, room.wrapping_sub(F::from_u128(1)))
    }
}
