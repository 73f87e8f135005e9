//! What a block can hold, and what can be wrong with it: shared by the block and the codes inside.

use super::elias_fano::Layout;
use crate::fingerprint::Fingerprint;

/// Why a block does not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockError {
    /// The stored checksum is not that of the bytes.
    Checksum { stored: u32, computed: u32 },
    /// Bits with which no codeword starts.
    NoCodeword,
    /// The high bits of an Elias-Fano sequence do not count its numbers.
    HighBits,
    /// The values run past the end of the block.
    Overrun,
    /// A value is not above the one before it.
    NotAscending,
    /// A value is not below the key of the block.
    AboveTheKey,
    /// A bit behind the last value is set.
    Padding,
}

/// What the keys tell about a block: its values lie above the one and go up to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<F> {
    /// The key of the block before; `None` for the first block.
    pub(crate) previous: Option<F>,
    /// The last value of the block.
    pub(crate) key: F,
}

impl<F: Fingerprint> Span<F> {
    /// The smallest value that the block can hold.
    #[inline(always)]
    pub(crate) fn base(&self) -> F {
        match self.previous {
            Some(previous) => previous.wrapping_add(F::from_u128(1)),
            None => F::ZERO,
        }
    }

    /// The layout of the `count` values below the key, as distances from the base, in an Elias-Fano sequence that
    /// starts at a bit of its stream.
    #[inline(always)]
    pub(crate) fn layout(&self, count: usize, start: usize) -> Option<Layout> {
        let room = self.key.wrapping_sub(self.base());
        if room == F::ZERO || self.previous.is_some_and(|p| p >= self.key) {
            return None;
        }
        Layout::new(start, count, room.wrapping_sub(F::from_u128(1)))
    }
}
