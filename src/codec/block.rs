//! Blocks: fixed-size runs of ascending values in the `xor` code (spec, section 7).

use std::ops::ControlFlow;

use super::bits::{BitWriter, MAX_WRITE_BITS, WINDOW_BITS, read_value, window};
use super::huffman::{Code, DecodeTable};
use crate::fingerprint::Fingerprint;

/// Bytes of the block header: checksum and count (spec, section 7.1).
pub(crate) const BLOCK_HEADER_LEN: usize = 6;

/// Most values in one block: what its count field can say.
pub(crate) const MAX_BLOCK_VALUES: usize = 1 << 16;

/// Where the checksummed part of a block starts.
const CHECKED_FROM: usize = 4;

/// Why a block does not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockError {
    /// The stored checksum is not that of the bytes.
    Checksum { stored: u32, computed: u32 },
    /// Bits with which no codeword starts.
    NoCodeword,
    /// The values run past the end of the block.
    Overrun,
    /// A value is not above the one before it.
    NotAscending,
    /// The last value is not the key of the block.
    NotTheKey,
    /// A bit behind the last value is set.
    Padding,
}

/// The delta position of two ascending values: the number of the highest bit in which they differ.
#[inline]
pub(crate) fn delta_position<F: Fingerprint>(previous: F, value: F) -> u32 {
    F::WIDTH - 1 - (previous ^ value).leading_zeros()
}

/// Packs ascending values into one block after the other.
pub(crate) struct BlockEncoder<'a, F> {
    code: &'a Code,
    block_size: usize,
    writer: BitWriter,
    last: F,
    count: usize,
}

impl<'a, F: Fingerprint> BlockEncoder<'a, F> {
    /// An encoder of empty blocks. `code` must have a codeword for each delta position.
    pub(crate) fn new(code: &'a Code, block_size: usize) -> Self {
        BlockEncoder {
            code,
            block_size,
            writer: BitWriter::new(),
            last: F::ZERO,
            count: 0,
        }
    }

    /// Adds a value above all before it; `false` if the block is full and must be taken first.
    #[inline]
    pub(crate) fn push(&mut self, value: F) -> bool {
        if self.count == 0 {
            self.writer.write_value(value, F::WIDTH);
        } else {
            let position = delta_position(self.last, value);
            let (word, len) = self.code.codeword(position);
            let end = self.writer.len_bits() + (len + position) as usize;
            if end > self.stream_bits() || self.count == MAX_BLOCK_VALUES {
                return false;
            }
            let tail = value & !(F::MAX << position);
            if len + position <= MAX_WRITE_BITS {
                let tail = tail.to_u128() as u64;
                self.writer
                    .write(u64::from(word) << position | tail, len + position);
            } else {
                self.writer.write(u64::from(word), len);
                self.writer.write_value(tail, position);
            }
        }
        self.last = value;
        self.count += 1;
        true
    }

    /// Number of values in the open block.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The last value added: the key of the open block.
    pub(crate) fn key(&self) -> F {
        self.last
    }

    /// Appends the finished block to `out` and starts an empty one. The block must hold a value.
    pub(crate) fn take_block(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; CHECKED_FROM]);
        out.extend_from_slice(&((self.count - 1) as u16).to_le_bytes());
        out.extend_from_slice(self.writer.as_bytes());
        self.writer.clear();
        out.resize(start + self.block_size, 0);
        let checksum = crc32fast::hash(&out[start + CHECKED_FROM..]);
        out[start..start + CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
        self.count = 0;
    }

    fn stream_bits(&self) -> usize {
        (self.block_size - BLOCK_HEADER_LEN) * 8
    }
}

/// A block as it lies in the file. Whatever the bytes, decoding ends and stays inside them; only
/// [`Block::validate`] tells whether what comes out is what was put in.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    bytes: &'a [u8],
    table: &'a DecodeTable,
}

impl<'a> Block<'a> {
    /// A view of `bytes`, a whole block of at least 128 bytes.
    pub(crate) fn new(bytes: &'a [u8], code: &'a Code) -> Self {
        Block {
            bytes,
            table: code.decode_table(),
        }
    }

    /// Number of values that the block says it holds.
    pub(crate) fn count(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[4], self.bytes[5]])) + 1
    }

    /// Calls `visit` with each value in order until it breaks.
    ///
    /// # Errors
    /// Bits that are no codeword, or values that run past the end of the block. Order and
    /// checksum are not looked at.
    #[inline]
    pub(crate) fn for_each<F: Fingerprint>(
        &self,
        mut visit: impl FnMut(F) -> ControlFlow<()>,
    ) -> Result<(), BlockError> {
        self.decode(&mut visit).map(|_| ())
    }

    /// Decodes as [`Block::for_each`] does and returns the bit behind the last value decoded.
    #[inline]
    fn decode<F: Fingerprint>(
        &self,
        visit: &mut impl FnMut(F) -> ControlFlow<()>,
    ) -> Result<usize, BlockError> {
        let stream = &self.bytes[BLOCK_HEADER_LEN..];
        let mut value: F = read_value(stream, 0, F::WIDTH);
        let mut at = F::WIDTH as usize;
        if visit(value).is_break() {
            return Ok(at);
        }
        for _ in 1..self.count() {
            let bits = window(stream, at);
            let (position, len) = self.table.look_up(bits);
            if len == 0 || position >= F::WIDTH {
                return Err(BlockError::NoCodeword);
            }
            let tail = if len + position <= WINDOW_BITS && F::WIDTH <= 64 {
                // Two shifts: a tail of no bits would shift by the whole width.
                F::from_u128(u128::from(((bits << len) >> 1) >> (63 - position)))
            } else {
                read_value(stream, at + len as usize, position)
            };
            at += (len + position) as usize;
            if at > stream.len() * 8 {
                return Err(BlockError::Overrun);
            }
            // The bits above the position stay, the bit at it turns from 0 to 1.
            value = (((value >> position) | F::from_u128(1)) << position) | tail;
            if visit(value).is_break() {
                return Ok(at);
            }
        }
        Ok(at)
    }

    /// Checks everything that makes the block a good one: checksum, codewords, strictly ascending
    /// values above `previous_key`, the last of them `key`, zero bits behind it.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    pub(crate) fn validate<F: Fingerprint>(
        &self,
        previous_key: Option<F>,
        key: F,
    ) -> Result<(), BlockError> {
        self.check_checksum()?;
        let mut previous = previous_key;
        let mut ascending = true;
        let end = self.decode(&mut |value: F| {
            ascending &= previous.is_none_or(|p| p < value);
            previous = Some(value);
            ControlFlow::Continue(())
        })?;
        if !ascending {
            return Err(BlockError::NotAscending);
        }
        if previous != Some(key) {
            return Err(BlockError::NotTheKey);
        }
        self.check_padding(end)
    }

    fn check_checksum(&self) -> Result<(), BlockError> {
        let stored =
            u32::from_le_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]]);
        let computed = crc32fast::hash(&self.bytes[CHECKED_FROM..]);
        if stored == computed {
            Ok(())
        } else {
            Err(BlockError::Checksum { stored, computed })
        }
    }

    fn check_padding(&self, end: usize) -> Result<(), BlockError> {
        let stream = &self.bytes[BLOCK_HEADER_LEN..];
        let first = stream.get(end / 8).map_or(0, |byte| byte << (end % 8));
        let rest = stream.get(end / 8 + 1..).unwrap_or_default();
        if first == 0 && rest.iter().all(|&byte| byte == 0) {
            Ok(())
        } else {
            Err(BlockError::Padding)
        }
    }
}
