//! A table of an open index in blocks: its keys, and its blocks, which are checked on first use.

use std::ops::Range;

use super::checked::CheckedSet;
use super::keys::Keys;
use super::table::ValuePlace;
use crate::codec::block::Block;
use crate::codec::delta::{self, DeltaRule, GapRule, LANES, LaneVisit, XorRule};
use crate::codec::huffman::Code;
use crate::codec::span::{BlockError, Span};
use crate::codec::{TableCode, Visit};
use crate::cpu::{Cpu, Work, dispatch};
use crate::design::{Permutation, Permuted};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, place_checksum};
use crate::memory::will_need;

/// Bytes to request ahead of reading.
const READ_AHEAD_LEN: usize = 1 << 21;

/// The number of blocks that a read of a whole table decodes together.
pub(super) const BLOCKS_READ_TOGETHER: usize = 16;

/// A table in blocks, without the bytes of its blocks.
#[derive(Debug)]
pub(super) struct BlockTable<F> {
    pub(super) number: usize,
    pub(super) permutation: Permutation<F>,
    pub(super) code: TableCode,
    /// The last value of each block.
    pub(super) keys: Keys<F>,
    /// The range of the file that holds the blocks.
    pub(super) blocks: Range<usize>,
    pub(super) block_size: usize,
    /// The range of the file that holds the block counts; only table 0 has them.
    pub(super) block_counts: Option<Range<usize>>,
    pub(super) checked: CheckedSet,
}

impl<F: Fingerprint> BlockTable<F> {
    pub(super) fn block_count(&self) -> usize {
        self.keys.len()
    }

    /// Returns the offset of a block in the file.
    #[inline(always)]
    pub(super) fn block_offset(&self, number: usize) -> usize {
        self.blocks.start + number * self.block_size
    }

    /// Returns the bounds of the values of a block, from its keys.
    #[inline(always)]
    pub(super) fn span(&self, number: usize) -> Span<F> {
        Span {
            previous: number.checked_sub(1).map(|n| self.keys.get(n)),
            key: self.keys.get(number),
        }
    }

    /// Returns a block that [`BlockTable::block`] has checked before.
    #[inline(always)]
    pub(super) fn checked_block<'a>(&'a self, file: &'a [u8], number: usize) -> Block<'a, F> {
        let start = self.block_offset(number);
        let bytes = &file[start..start + self.block_size];
        Block::new(bytes, &self.code, self.span(number))
    }

    /// Whether the block has passed its check.
    #[inline(always)]
    pub(super) fn is_checked(&self, number: usize) -> bool {
        self.checked.contains(number)
    }

    /// Returns a checked block: all its rules are checked on first use only.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    #[inline]
    pub(super) fn block<'a>(
        &'a self,
        file: &'a [u8],
        number: usize,
    ) -> Result<Block<'a, F>, FormatError> {
        let block = self.checked_block(file, number);
        if !self.is_checked(number) {
            self.check(file, block, number)?;
        }
        Ok(block)
    }

    /// Returns a block after checking all its rules, even if it has passed before, since a file may be overwritten
    /// while it is mapped. From then on no query uses the block if it breaks a rule.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    pub(super) fn block_checked_again<'a>(
        &'a self,
        file: &'a [u8],
        number: usize,
    ) -> Result<Block<'a, F>, FormatError> {
        let block = self.checked_block(file, number);
        let checked = self.check(file, block, number);
        checked.inspect_err(|_| self.checked.distrust(number))?;
        Ok(block)
    }

    #[cold]
    #[inline(never)]
    fn check(&self, file: &[u8], block: Block<'_, F>, number: usize) -> Result<(), FormatError> {
        let place = place_checksum(Kind::BLOCKS, self.number, number);
        block
            .validate(place)
            .map_err(|error| self.error(number, error))?;
        let counts = self.block_counts.clone().and_then(|range| file.get(range));
        let counted = counts.and_then(|counts| counts.as_chunks::<2>().0.get(number));
        let differs =
            |count: &[u8; 2]| usize::from(u16::from_le_bytes(*count)) + 1 != block.count();
        if counted.is_some_and(differs) {
            let message = "the block and the block counts disagree on its size";
            return Err(self.damaged(27, message, number));
        }
        self.checked.insert(number);
        Ok(())
    }

    /// Finds a value in block `number`, the first whose key is not below it.
    #[inline(never)]
    pub(super) fn locate_in(
        &self,
        file: &[u8],
        number: usize,
        wanted: F,
    ) -> Result<Option<ValuePlace>, FormatError> {
        if number == self.block_count() {
            return Ok(None);
        }
        let block = self.block(file, number)?;
        if block.span.key == wanted {
            let index = block.count() - 1;
            return Ok(Some(ValuePlace {
                part: number,
                index,
            }));
        }
        let index = dispatch(Locate { block, wanted });
        Ok(index.map(|index| ValuePlace {
            part: number,
            index,
        }))
    }

    /// Appends all values of the blocks `numbers`, up to four blocks in step.
    #[inline(never)]
    pub(super) fn read_blocks(
        &self,
        file: &[u8],
        numbers: Range<usize>,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        let mut next = numbers.start;
        while next < numbers.end {
            let lanes = LANES.min(numbers.end - next);
            let mut blocks = [self.block(file, next)?; LANES];
            for (i, block) in blocks.iter_mut().enumerate().take(lanes) {
                *block = self.block(file, next + i)?;
            }
            dispatch(Decode {
                blocks: &blocks[..lanes],
                out,
            });
            next += lanes;
        }
        Ok(())
    }

    /// [`BlockTable::read_blocks`], one value after the other.
    pub(super) fn read_blocks_plainly(
        &self,
        file: &[u8],
        numbers: Range<usize>,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        for number in numbers {
            let push = |value| {
                out.push(Permuted(value));
                true
            };
            let decoded = self.block(file, number)?.for_each(push);
            decoded.map_err(|error| self.error(number, error))?;
        }
        Ok(())
    }

    /// Requests the next blocks during a sequential read, about once for each [`READ_AHEAD_LEN`]; otherwise a mapping
    /// is read one page at a time.
    pub(super) fn read_ahead(&self, file: &[u8], number: usize) {
        let start = self.block_offset(number);
        let before = start.saturating_sub(BLOCKS_READ_TOGETHER * self.block_size);
        if number == 0 || start / READ_AHEAD_LEN != before / READ_AHEAD_LEN {
            let end = self.blocks.end.min(start + 2 * READ_AHEAD_LEN);
            will_need(&file[start..end]);
        }
    }

    #[cold]
    fn error(&self, block: usize, error: BlockError) -> FormatError {
        let (rule, message) = block_fault(error);
        self.damaged(rule, &message, block)
    }

    fn damaged(&self, rule: u8, message: &str, block: usize) -> FormatError {
        FormatError::damaged(rule, message)
            .in_table(self.number)
            .in_block(block)
            .at(self.block_offset(block) as u64)
    }
}

/// Returns the rule that a block breaks, and a message.
pub(super) fn block_fault(error: BlockError) -> (u8, String) {
    let (rule, message) = match error {
        BlockError::Checksum { stored, computed } => {
            let message = format!("the block checksum is {stored:08x}, should be {computed:08x}");
            return (21, message);
        }
        BlockError::NoCodeword => (22, "bits without a codeword"),
        BlockError::HighBits => (22, "the high bits of the block do not count its values"),
        BlockError::Overrun => (23, "values run past the end of the block"),
        BlockError::NotAscending => (24, "the values of the block do not ascend"),
        BlockError::AboveTheKey => (25, "a value of the block is not below its key"),
        BlockError::Padding => (26, "a bit after the last value of the block is set"),
    };
    (rule, message.to_owned())
}

/// Finds the number of a value in a checked block whose key is at least the value.
struct Locate<'a, F> {
    block: Block<'a, F>,
    wanted: F,
}

impl<F: Fingerprint> Work for Locate<'_, F> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Option<usize> {
        let mut found = None;
        if let TableCode::EliasFano = self.block.code {
            let range = self.block.seek(cpu, self.wanted, self.wanted)?;
            range.for_each(self.block.stream(), &mut |index, value: F| {
                if value == self.wanted {
                    found = Some(index);
                }
            });
            return found;
        }
        let mut index = 0;
        // A checked block has no faults.
        let _ = self.block.for_each(|value| {
            if value == self.wanted {
                found = Some(index);
            }
            index += 1;
            value < self.wanted
        });
        found
    }
}

/// Decodes all values of at most four checked blocks of one table, block after block.
pub(crate) struct Decode<'a, 'b, F> {
    pub(crate) blocks: &'a [Block<'b, F>],
    pub(crate) out: &'a mut Vec<Permuted<F>>,
}

impl<F: Fingerprint> Work for Decode<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        match self.blocks[0].code {
            TableCode::Xor(code) => decode_in_step(self.blocks, &XorRule, code, self.out),
            TableCode::Gap(code) => decode_in_step(self.blocks, &GapRule, code, self.out),
            TableCode::EliasFano => {
                for block in self.blocks {
                    let mut append = Append(&mut *self.out);
                    if let Some(range) = block.all_numbers() {
                        range.for_each(block.stream(), &mut append);
                    }
                    append.visit(block.count() - 1, block.span.key);
                }
            }
        }
    }
}

struct Append<'a, F>(&'a mut Vec<Permuted<F>>);

impl<F: Fingerprint> Visit<F> for Append<'_, F> {
    #[inline(always)]
    fn visit(&mut self, _index: usize, value: F) {
        self.0.push(Permuted(value));
    }
}

#[inline(always)]
fn decode_in_step<F: Fingerprint, R: DeltaRule>(
    blocks: &[Block<'_, F>],
    rule: &R,
    code: &Code,
    out: &mut Vec<Permuted<F>>,
) {
    if blocks.len() < LANES {
        for block in blocks {
            // A checked block has no faults.
            let _ = block.for_each(|value| {
                out.push(Permuted(value));
                true
            });
        }
        return;
    }
    // The counts are read only once, since a file that is overwritten meanwhile may have others later.
    let deltas: [_; LANES] = std::array::from_fn(|lane| blocks[lane].deltas());
    // Each lane fills its own part after the existing values.
    let mut next = [out.len(); LANES];
    for lane in 1..LANES {
        next[lane] = next[lane - 1] + deltas[lane - 1].count;
    }
    out.resize(next[LANES - 1] + deltas[LANES - 1].count, Permuted(F::ZERO));
    delta::for_each_in_step(deltas, rule, [code; LANES], &mut Store { out, next });
}

/// Stores the values of each lane one after the other.
struct Store<'a, F> {
    out: &'a mut [Permuted<F>],
    next: [usize; LANES],
}

impl<F: Fingerprint> LaneVisit<F> for Store<'_, F> {
    #[inline(always)]
    fn visit(&mut self, lane: usize, values: &[F]) {
        let start = self.next[lane];
        self.next[lane] += values.len();
        for (to, &value) in self.out[start..self.next[lane]].iter_mut().zip(values) {
            *to = Permuted(value);
        }
    }

    #[inline(always)]
    fn is_done(&self, _lane: usize, _value: F) -> bool {
        false
    }
}
