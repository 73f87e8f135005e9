//! One table of an open index: its keys, and its blocks checked when first used.

use std::ops::{ControlFlow, Range};

use super::checked::CheckedSet;
use crate::codec::block::{Block, BlockError};
use crate::codec::huffman::Code;
use crate::design::{Permutation, Permuted};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;

/// Everything about a table but the bytes of its blocks.
#[derive(Debug)]
pub(super) struct Table<F> {
    pub(super) number: usize,
    pub(super) permutation: Permutation<F>,
    pub(super) code: Code,
    /// The last value of each block, ascending.
    pub(super) keys: Vec<Permuted<F>>,
    /// Where the blocks lie in the file.
    pub(super) blocks: Range<usize>,
    pub(super) block_size: usize,
    /// Number of values of each block minus 1, where the file says it (table 0 of one with ids).
    pub(super) block_counts: Option<Vec<u16>>,
    pub(super) checked: CheckedSet,
}

/// Where a value stands in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValuePlace {
    pub(super) block: usize,
    /// Number of the value in its block, from 0.
    pub(super) index: usize,
}

impl<F: Fingerprint> Table<F> {
    pub(super) fn block_count(&self) -> usize {
        self.keys.len()
    }

    /// The first block that can hold a value of at least `low`; the block count if none can.
    #[inline]
    pub(super) fn first_block(&self, low: Permuted<F>) -> usize {
        self.keys.partition_point(|&key| key < low)
    }

    /// A block known to be good: on its first use all its rules are checked, later none.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    #[inline]
    pub(super) fn block<'a>(
        &'a self,
        file: &'a [u8],
        number: usize,
    ) -> Result<Block<'a>, FormatError> {
        let start = self.blocks.start + number * self.block_size;
        let bytes = file.get(start..start + self.block_size);
        let block = bytes.map(|bytes| Block::new(bytes, &self.code));
        match block {
            Some(block) if self.checked.contains(number) => Ok(block),
            Some(block) => self.check(block, number),
            None => Err(self.error(number, BlockError::Overrun)),
        }
    }

    #[cold]
    fn check<'a>(&'a self, block: Block<'a>, number: usize) -> Result<Block<'a>, FormatError> {
        let previous = number.checked_sub(1).map(|n| self.keys[n].0);
        block
            .validate(previous, self.keys[number].0)
            .map_err(|error| self.error(number, error))?;
        let counted = self.block_counts.as_ref().map(|counts| counts[number]);
        if counted.is_some_and(|count| usize::from(count) + 1 != block.count()) {
            let message = "the block and the block counts disagree on its size";
            return Err(self.damaged(27, message, number));
        }
        self.checked.insert(number);
        Ok(block)
    }

    /// Calls `visit` with each value within `range` until it breaks; returns the number of blocks read.
    #[inline]
    pub(super) fn for_each_in(
        &self,
        file: &[u8],
        (low, high): (Permuted<F>, Permuted<F>),
        mut visit: impl FnMut(Permuted<F>, ValuePlace) -> ControlFlow<()>,
    ) -> Result<usize, FormatError> {
        let first = self.first_block(low);
        for number in first..self.block_count() {
            let block = self.block(file, number)?;
            let mut index = 0;
            let mut done = self.keys[number] >= high;
            block
                .for_each(|value: F| {
                    let value = Permuted(value);
                    if value > high {
                        return ControlFlow::Break(());
                    }
                    let place = ValuePlace {
                        block: number,
                        index,
                    };
                    index += 1;
                    if value >= low && visit(value, place).is_break() {
                        done = true;
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })
                .map_err(|error| self.error(number, error))?;
            if done {
                return Ok(number + 1 - first);
            }
        }
        Ok(self.block_count() - first)
    }

    /// Where the fingerprint stands in this table, if it does.
    pub(super) fn locate(
        &self,
        file: &[u8],
        fingerprint: F,
    ) -> Result<Option<ValuePlace>, FormatError> {
        let value = self.permutation.apply(fingerprint);
        let mut found = None;
        self.for_each_in(file, (value, value), |_, place| {
            found = Some(place);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Appends all values of a block.
    pub(super) fn read_block(
        &self,
        file: &[u8],
        number: usize,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        self.block(file, number)?
            .for_each(|value| {
                out.push(Permuted(value));
                ControlFlow::Continue(())
            })
            .map_err(|error| self.error(number, error))
    }

    #[cold]
    fn error(&self, block: usize, error: BlockError) -> FormatError {
        let (rule, message) = match error {
            BlockError::Checksum { stored, computed } => {
                let message =
                    format!("the block checksum is {stored:08x}, should be {computed:08x}");
                return self.damaged(21, &message, block);
            }
            BlockError::NoCodeword => (22, "bits that are no codeword"),
            BlockError::Overrun => (23, "values run past the end of the block"),
            BlockError::NotAscending => (24, "the values of the block do not ascend"),
            BlockError::NotTheKey => (25, "the last value of the block is not its key"),
            BlockError::Padding => (26, "a bit behind the last value of the block is set"),
        };
        self.damaged(rule, message, block)
    }

    fn damaged(&self, rule: u8, message: &str, block: usize) -> FormatError {
        FormatError::damaged(rule, message)
            .in_table(self.number)
            .in_block(block)
            .at((self.blocks.start + block * self.block_size) as u64)
    }
}
