//! Blocks: fixed-size runs of ascending values, the last of which is the key (spec, section 7).

use super::bits::{BitWriter, window};
use super::delta::{self, DeltaBlock};
use super::elias_fano::{Cursor, Layout};
use super::span::{BlockError, Span};
use super::{MAX_BLOCK_SIZE, TableCode, Visit};
use crate::cpu::Cpu;
use crate::fingerprint::Fingerprint;

/// Bytes of the checksum at the start of a block (spec, section 7.1).
const CHECKSUM_LEN: usize = 4;

/// Returns the bits of the count at the start of a block's bit stream, which depend on the block size.
#[inline(always)]
fn count_bits(block_size: usize) -> u32 {
    block_size.ilog2() + 3
}

/// Returns the bits for values in a block of this size.
pub(crate) fn room_bits(block_size: usize) -> usize {
    (block_size - CHECKSUM_LEN) * 8 - count_bits(block_size) as usize
}

/// More values than a block can hold, since each but the last takes a bit.
pub(crate) const MAX_BLOCK_VALUES: usize = 8 * MAX_BLOCK_SIZE as usize;

/// Adjacent values of an Elias-Fano block that include those wanted, and perhaps a few others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberRange<F> {
    layout: Layout,
    base: F,
    cursor: Cursor,
    end_bucket: usize,
}

impl<F: Fingerprint> NumberRange<F> {
    /// Returns the bytes of the block with the low bits of the numbers, if there is one number in each bucket; on
    /// average there are seven for ten buckets.
    #[inline(always)]
    pub(crate) fn low_bytes(&self) -> std::ops::RangeInclusive<usize> {
        let first = self.layout.low_bit(self.cursor.index);
        let most = self
            .end_bucket
            .saturating_sub(self.layout.bucket_at(self.cursor));
        let last = first + most.min(self.layout.count) * self.layout.low_bits as usize;
        CHECKSUM_LEN + first / 8..=CHECKSUM_LEN + last / 8
    }

    /// Passes each value and its index in the block to the visitor.
    #[inline(always)]
    pub(crate) fn for_each(&self, stream: &[u8], visitor: &mut impl Visit<F>) {
        let base = self.base;
        let mut visitor = FromBase { base, visitor };
        self.layout
            .for_each_from(stream, self.cursor, self.end_bucket, &mut visitor);
    }
}

/// Turns numbers into values.
struct FromBase<'a, F, V> {
    base: F,
    visitor: &'a mut V,
}

impl<F: Fingerprint, V: Visit<F>> Visit<F> for FromBase<'_, F, V> {
    #[inline(always)]
    fn visit(&mut self, index: usize, number: F) {
        self.visitor.visit(index, self.base.wrapping_add(number));
    }
}

/// Starts the stream of a block, with room for the count that [`append`] fills in.
pub(crate) fn start_stream(stream: &mut BitWriter, block_size: usize) {
    stream.clear();
    stream.write(0, count_bits(block_size));
}

/// Appends a block of `count` values and this bit stream to `out`. Its checksum is not yet bound to the place of the
/// block: see [`bind`].
pub(crate) fn append(out: &mut Vec<u8>, block_size: usize, count: usize, stream: &BitWriter) {
    let start = out.len();
    let from = start + CHECKSUM_LEN;
    out.resize(from, 0);
    out.extend_from_slice(stream.as_bytes());
    out.resize(start + block_size, 0);
    let count = ((count - 1) as u16) << (16 - count_bits(block_size));
    for (byte, part) in out[from..].iter_mut().zip(count.to_be_bytes()) {
        *byte |= part;
    }
    let checksum = crc32fast::hash(&out[from..]);
    out[start..from].copy_from_slice(&checksum.to_le_bytes());
}

/// Binds the checksum of a block to `place`, the [`place_checksum`](crate::format::place_checksum) of its place.
pub(crate) fn bind(block: &mut [u8], place: u32) {
    for (byte, part) in block.iter_mut().zip(place.to_le_bytes()) {
        *byte ^= part;
    }
}

/// A block in a file. Whatever the bytes, decoding ends and stays within them; only [`Block::validate`] shows whether
/// the result is the original values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a, F> {
    bytes: &'a [u8],
    pub(crate) code: &'a TableCode,
    pub(crate) span: Span<F>,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Creates a view of `bytes`, a whole block of at least 128 bytes.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], code: &'a TableCode, span: Span<F>) -> Self {
        Block { bytes, code, span }
    }

    /// Returns the number of values that the block claims to hold.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        let first = u16::from_be_bytes([self.bytes[CHECKSUM_LEN], self.bytes[CHECKSUM_LEN + 1]]);
        usize::from(first >> (16 - count_bits(self.bytes.len()))) + 1
    }

    /// Returns the bit stream: everything after the checksum.
    #[inline(always)]
    pub(crate) fn stream(&self) -> &'a [u8] {
        &self.bytes[CHECKSUM_LEN..]
    }

    /// Returns the bit of the stream at which the values start, after the count.
    #[inline(always)]
    pub(crate) fn values_start(&self) -> usize {
        count_bits(self.bytes.len()) as usize
    }

    /// Returns the block as the Huffman codecs need it.
    #[inline(always)]
    pub(crate) fn deltas(&self) -> DeltaBlock<'a, F> {
        DeltaBlock {
            stream: self.stream(),
            start: self.values_start(),
            count: self.count(),
            span: self.span,
        }
    }

    #[inline(always)]
    fn layout(&self) -> Option<Layout> {
        self.span.layout(self.count() - 1, self.values_start())
    }

    /// Calls `visit` with each value in order until it returns `false`. This is the plain decoder, which detects every
    /// fault and with which the fast ones are compared.
    ///
    /// Returns the bit of the stream after the last decoded value.
    ///
    /// # Errors
    /// An invalid codeword, or values beyond the end of the block. Order and checksum are not checked.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(F) -> bool) -> Result<usize, BlockError> {
        let mut go_on = true;
        let visit_below = |value| {
            go_on = visit(value);
            go_on
        };
        let end = match self.code {
            TableCode::Xor(code) => {
                delta::for_each(&self.deltas(), &delta::XorRule, code, visit_below)?
            }
            TableCode::Gap(code) => {
                delta::for_each(&self.deltas(), &delta::GapRule, code, visit_below)?
            }
            TableCode::EliasFano => self.for_each_number(visit_below)?,
        };
        if go_on {
            visit(self.span.key);
        }
        Ok(end)
    }

    /// Decodes the values below the key of an Elias-Fano block.
    fn for_each_number(&self, mut visit: impl FnMut(F) -> bool) -> Result<usize, BlockError> {
        if self.count() == 1 {
            return Ok(self.values_start());
        }
        let layout = self.layout().ok_or(BlockError::HighBits)?;
        if !layout.counts_its_numbers(self.stream()) {
            return Err(BlockError::HighBits);
        }
        let room = self.stream().len() * 8;
        let end = layout.end_bit().filter(|&end| end <= room);
        let end = end.ok_or(BlockError::Overrun)?;
        let (base, mut go_on) = (self.span.base(), true);
        layout.for_each(self.stream(), &mut |_, number: F| {
            go_on = go_on && visit(base.wrapping_add(number));
        });
        Ok(end)
    }

    /// Returns the place of the values from `low` to `high` that are below the key in a checked Elias-Fano block;
    /// `None` if there cannot be any.
    #[inline(always)]
    pub(crate) fn seek<C: Cpu>(&self, cpu: C, low: F, high: F) -> Option<NumberRange<F>> {
        let base = self.span.base();
        let layout = self.layout()?;
        if low >= self.span.key || high < base {
            return None;
        }
        let first = if low > base { low } else { base }.wrapping_sub(base);
        let last = if high < self.span.key {
            high
        } else {
            self.span.key
        }
        .wrapping_sub(base);
        Some(NumberRange {
            layout,
            base,
            cursor: layout.seek(cpu, self.stream(), layout.bucket(first)),
            end_bucket: layout.bucket(last) + 1,
        })
    }

    /// Returns all values of a checked Elias-Fano block except the key.
    #[inline(always)]
    pub(crate) fn all_numbers(&self) -> Option<NumberRange<F>> {
        let layout = self.layout()?;
        Some(NumberRange {
            layout,
            base: self.span.base(),
            cursor: layout.first(),
            end_bucket: usize::MAX,
        })
    }

    /// Checks every rule of a block at its place, given by its place checksum: checksum, codewords, strictly ascending
    /// values above the previous key and below the key, zero bits after them.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    pub(crate) fn validate(&self, place: u32) -> Result<(), BlockError> {
        self.check_checksum(place)?;
        // Elias-Fano numbers are compared as they are stored, because their sum with the base may exceed 2^f.
        let (base, mut previous) = match self.code {
            TableCode::EliasFano => (self.span.base(), None),
            _ => (F::ZERO, self.span.previous),
        };
        let key = self.span.key.wrapping_sub(base);
        let (mut ascending, mut above_key) = (true, false);
        let mut left = self.count();
        let end = self.for_each(|value| {
            // There are more values than counted if the file is overwritten meanwhile.
            left = left.saturating_sub(1);
            if left > 0 {
                let number = value.wrapping_sub(base);
                ascending &= previous.is_none_or(|p| p < number);
                above_key |= number >= key;
                previous = Some(number);
            }
            true
        })?;
        if let (true, TableCode::EliasFano) = (above_key, self.code) {
            ascending &= self.last_numbers_ascend();
        }
        // Gaps are positive, so a sum that seems to descend has exceeded 2^f, and thus the key.
        if !ascending && !matches!(self.code, TableCode::Gap(_)) {
            return Err(BlockError::NotAscending);
        }
        if !ascending || above_key {
            return Err(BlockError::AboveTheKey);
        }
        self.check_padding(end)
    }

    /// Returns whether the Elias-Fano numbers after the greatest bucket, which decoding skips as too large, ascend.
    #[cold]
    fn last_numbers_ascend(&self) -> bool {
        let layout = self.layout();
        layout.is_none_or(|layout| layout.last_numbers_ascend::<F>(self.stream()))
    }

    fn check_checksum(&self, place: u32) -> Result<(), BlockError> {
        let stored =
            u32::from_le_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]]);
        let computed = crc32fast::hash(self.stream()) ^ place;
        if stored == computed {
            Ok(())
        } else {
            Err(BlockError::Checksum { stored, computed })
        }
    }

    fn check_padding(&self, end: usize) -> Result<(), BlockError> {
        let rest = self.stream().get(end / 8 + 1..).unwrap_or_default();
        let first = window(self.stream(), end) >> (56 + end % 8);
        if first == 0 && rest.iter().all(|&byte| byte == 0) {
            Ok(())
        } else {
            Err(BlockError::Padding)
        }
    }
}
