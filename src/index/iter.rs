//! Reading a table from its first value to its last.

use std::ops::Range;

use super::ids::Rank;
use super::table::BLOCKS_READ_TOGETHER;
use super::{Ids, Index};
use crate::design::Permuted;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The fingerprints of a table in its order; made by [`Index::fingerprints`].
///
/// Memory: a few decoded blocks.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # for fingerprint in [42, 7] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64, _>::from_bytes(file)?;
/// for table in 0..index.table_count() {
///     let mut fingerprints = index.fingerprints(table)?.collect::<simidx::Result<Vec<u64>>>()?;
///     fingerprints.sort();
///     assert_eq!(fingerprints, [7, 42]); // each table holds all, in an order of its own
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Fingerprints<'a, F, D> {
    index: &'a Index<F, D>,
    table: usize,
    next_block: usize,
    end_block: usize,
    /// The block that `values` starts with.
    first_block: usize,
    values: Vec<Permuted<F>>,
    /// Number in `values` of the value to give next.
    next_value: usize,
    plain: bool,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Fingerprints<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>, table: usize) -> Self {
        let blocks = 0..index.tables[table].block_count();
        Self::of_blocks(index, table, blocks)
    }

    /// The fingerprints of some blocks.
    pub(super) fn of_blocks(index: &'a Index<F, D>, table: usize, blocks: Range<usize>) -> Self {
        Fingerprints {
            index,
            table,
            next_block: blocks.start,
            end_block: blocks.end,
            first_block: blocks.start,
            values: Vec::new(),
            next_value: 0,
            plain: false,
        }
    }

    /// Decodes value after value instead of several blocks in step: what tests and benchmarks compare with.
    #[doc(hidden)]
    pub fn decode_plainly(mut self) -> Self {
        self.plain = true;
        self
    }

    /// The permuted values that come next, as many as are decoded together: what is left of the last such chunk, or a new
    /// one. The quickest way to read a table, about 3 ns a value.
    ///
    /// # Errors
    /// As for [`Fingerprints::next_permuted`].
    pub fn next_chunk(&mut self) -> Option<Result<&[Permuted<F>]>> {
        if self.next_value == self.values.len() {
            match self.read_on() {
                None => return None,
                Some(Err(error)) => return Some(Err(error.into())),
                Some(Ok(())) => {}
            }
        }
        let chunk = &self.values[self.next_value..];
        self.next_value = self.values.len();
        Some(Ok(chunk))
    }

    /// The next permuted value; see [`Iterator::next`] for the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration goes on with the block behind it.
    pub fn next_permuted(&mut self) -> Option<Result<Permuted<F>>> {
        while self.next_value == self.values.len() {
            if let Err(error) = self.read_on()? {
                return Some(Err(error.into()));
            }
        }
        let value = self.values[self.next_value];
        self.next_value += 1;
        Some(Ok(value))
    }

    /// Reads the next blocks, up to the first bad one; fails, and steps over it, if that comes first. `None` at the end
    /// of the table.
    #[inline(never)]
    fn read_on(&mut self) -> Option<Result<(), FormatError>> {
        let table = &self.index.tables[self.table];
        let file = self.index.bytes();
        self.values.clear();
        self.next_value = 0;
        if self.next_block >= self.end_block {
            return None;
        }
        self.first_block = self.next_block;
        self.next_block += 1;
        table.read_ahead(file, self.first_block);
        if let Err(error) = table.block(file, self.first_block) {
            return Some(Err(error));
        }
        let end = self.end_block.min(self.first_block + BLOCKS_READ_TOGETHER);
        while self.next_block < end && table.block(file, self.next_block).is_ok() {
            self.next_block += 1;
        }
        let numbers = self.first_block..self.next_block;
        Some(if self.plain {
            table.read_blocks_plainly(file, numbers, &mut self.values)
        } else {
            table.read_blocks(file, numbers, &mut self.values)
        })
    }

    /// The fingerprint that a permuted value of this table stands for.
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.index.tables[self.table].permutation.invert(value)
    }

    /// The rank of the fingerprint given last, where it is known: in table 0.
    pub(crate) fn rank(&self) -> Option<u64> {
        let last = self.next_value.checked_sub(1)?;
        let first = self.index.block_ranks().get(self.first_block)?;
        (self.table == 0).then_some(first + last as u64)
    }

    /// The ids of the fingerprint given last, in order. For table 0 this needs no look-up.
    ///
    /// # Errors
    /// A damaged block or page, or a fingerprint that table 0 lacks.
    pub fn ids(&self) -> Result<Ids<'a>> {
        let (Some(_), Some(last)) = (&self.index.ids, self.next_value.checked_sub(1)) else {
            return Ok(Ids::none());
        };
        match self.rank() {
            Some(rank) => self.index.ids_of_rank(Rank(rank)),
            None => self.index.ids_of_member(self.invert(self.values[last])),
        }
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Iterator for Fingerprints<'_, F, D> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
