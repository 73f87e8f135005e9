//! A table of an open index, in blocks or in lines.

use std::ops::Range;

use super::blocks::{BLOCKS_READ_TOGETHER, BlockTable};
use super::lines::LineTable;
use crate::codec::Codec;
use crate::design::{Permutation, Permuted};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;

/// The number of parts that a read of a whole table decodes together.
pub(super) const PARTS_READ_TOGETHER: usize = BLOCKS_READ_TOGETHER;

/// A table, whose values are divided into parts: blocks, or lines that the leading bits select.
#[derive(Debug)]
pub(super) enum Table<F> {
    Blocks(BlockTable<F>),
    Lines(LineTable<F>),
}

/// The place of a value in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValuePlace {
    pub(super) part: usize,
    /// The number of the value in its part, from 0.
    pub(super) index: usize,
}

impl<F: Fingerprint> Table<F> {
    #[inline(always)]
    pub(super) fn permutation(&self) -> &Permutation<F> {
        match self {
            Table::Blocks(table) => &table.permutation,
            Table::Lines(table) => &table.permutation,
        }
    }

    /// Returns the codec, and the address bits of a table in lines.
    pub(super) fn codec(&self) -> (Codec, u32) {
        match self {
            Table::Blocks(table) => (table.code.codec(), 0),
            Table::Lines(table) => (Codec::Lines, table.address_bits),
        }
    }

    pub(super) fn part_count(&self) -> usize {
        match self {
            Table::Blocks(table) => table.block_count(),
            Table::Lines(table) => table.part_count(),
        }
    }

    /// Returns the greatest value that a part can hold.
    pub(super) fn last_of_part(&self, part: usize) -> F {
        match self {
            Table::Blocks(table) => table.keys.get(part),
            Table::Lines(table) => table.last_of_part(part),
        }
    }

    /// Finds a value in this table; `None` if the table does not hold it.
    ///
    /// # Errors
    /// Any broken rule on the way.
    pub(super) fn locate(
        &self,
        file: &[u8],
        fingerprint: F,
    ) -> Result<Option<ValuePlace>, FormatError> {
        let value = self.permutation().apply(fingerprint).0;
        match self {
            Table::Blocks(table) => table.locate_in(file, table.keys.first_at_least(value), value),
            Table::Lines(table) => table.locate(file, value),
        }
    }

    /// Appends all values of some parts.
    ///
    /// # Errors
    /// The first broken rule.
    pub(super) fn read_parts(
        &self,
        file: &[u8],
        parts: Range<usize>,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        match self {
            Table::Blocks(table) => table.read_blocks(file, parts, out),
            Table::Lines(table) => table.read_parts(file, parts, out),
        }
    }

    /// Appends the values of the valid parts from `parts.start` on, at most [`PARTS_READ_TOGETHER`] of them. Returns
    /// the part after them.
    ///
    /// # Errors
    /// The first of the parts is damaged.
    pub(super) fn read_good_parts(
        &self,
        file: &[u8],
        parts: Range<usize>,
        plainly: bool,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<usize, FormatError> {
        let end = parts.end.min(parts.start + PARTS_READ_TOGETHER);
        match self {
            Table::Blocks(table) => {
                table.block(file, parts.start)?;
                let is_good = |&part: &usize| table.block(file, part).is_ok();
                let others = (parts.start + 1..end).take_while(is_good).count();
                let good = parts.start..parts.start + 1 + others;
                match plainly {
                    true => table.read_blocks_plainly(file, good.clone(), out)?,
                    false => table.read_blocks(file, good.clone(), out)?,
                }
                Ok(good.end)
            }
            Table::Lines(table) => {
                table.read_parts(file, parts.start..parts.start + 1, out)?;
                for part in parts.start + 1..end {
                    let before = out.len();
                    if table.read_parts(file, part..part + 1, out).is_err() {
                        out.truncate(before);
                        return Ok(part);
                    }
                }
                Ok(end)
            }
        }
    }

    /// Requests the next parts during a sequential read.
    pub(super) fn read_ahead(&self, file: &[u8], part: usize) {
        match self {
            Table::Blocks(table) => table.read_ahead(file, part),
            Table::Lines(table) => table.read_ahead(file, part),
        }
    }

    /// Checks the next parts again during a sequential read, if their values alone would not show that they were
    /// overwritten.
    pub(super) fn check_again(&self, file: &[u8], part: usize) {
        if let Table::Lines(table) = self {
            table.check_again(file, part);
        }
    }

    /// Returns the number of values before a part. For a table in blocks, it is already known.
    ///
    /// # Errors
    /// A damaged part.
    pub(super) fn rank_of_part(
        &self,
        file: &[u8],
        part: usize,
        block_ranks: &[u64],
    ) -> Result<Option<u64>, FormatError> {
        match self {
            Table::Blocks(_) => Ok(block_ranks.get(part).copied()),
            Table::Lines(table) => table.rank_of_part(file, part).map(Some),
        }
    }
}
