//! Sequential reading of a table.

use std::ops::Range;

use super::ids::Rank;
use super::{Ids, Index};
use crate::design::Permuted;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The fingerprints of a table in its order. Created by [`Index::fingerprints`].
///
/// Memory: a few decoded blocks.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # for fingerprint in [42_u64, 7] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?;
/// for table in 0..index.table_count() {
///     let mut fingerprints = index.fingerprints(table)?.collect::<simidx::Result<Vec<u64>>>()?;
///     fingerprints.sort();
///     assert_eq!(fingerprints, [7, 42]); // each table holds all, in an order of its own
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Fingerprints<'a, F> {
    index: &'a Index<F>,
    table: usize,
    next_part: usize,
    end_part: usize,
    /// The part at the start of `values`.
    first_part: usize,
    values: Vec<Permuted<F>>,
    /// The number in `values` of the next value to return.
    next_value: usize,
    plain: bool,
}

impl<'a, F: Fingerprint> Fingerprints<'a, F> {
    pub(super) fn new(index: &'a Index<F>, table: usize) -> Self {
        let blocks = 0..index.tables[table].part_count();
        Self::of_blocks(index, table, blocks)
    }

    /// Returns the fingerprints of some blocks.
    pub(super) fn of_blocks(index: &'a Index<F>, table: usize, blocks: Range<usize>) -> Self {
        Fingerprints {
            index,
            table,
            next_part: blocks.start,
            end_part: blocks.end,
            first_part: blocks.start,
            values: Vec::new(),
            next_value: 0,
            plain: false,
        }
    }

    /// Decodes one value after the other instead of several blocks in step. Tests and benchmarks compare with this.
    #[doc(hidden)]
    pub fn decode_plainly(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Returns the next permuted values, as many as are decoded together, or those that are left of the last such
    /// chunk. This is the fastest way to read a table, about 3 ns a value.
    ///
    /// # Errors
    /// The errors of [`Fingerprints::next_permuted`].
    #[doc(hidden)]
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

    /// Returns the next permuted value; [`Iterator::next`] returns the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration then continues with the next block.
    #[doc(hidden)]
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

    /// Reads the next parts up to the first damaged one. If that comes first, skips it and returns its error. Returns
    /// `None` at the end of the table.
    fn read_on(&mut self) -> Option<Result<(), FormatError>> {
        let table = &self.index.tables[self.table];
        let file = self.index.bytes();
        self.values.clear();
        self.next_value = 0;
        if self.next_part >= self.end_part {
            return None;
        }
        self.first_part = self.next_part;
        self.next_part += 1;
        table.read_ahead(file, self.first_part);
        table.check_again(file, self.first_part);
        let parts = self.first_part..self.end_part;
        match table.read_good_parts(file, parts, self.plain, &mut self.values) {
            Ok(next) => {
                self.next_part = next;
                Some(Ok(()))
            }
            Err(error) => {
                self.values.clear();
                Some(Err(error))
            }
        }
    }

    /// Returns the value of a fingerprint in this table.
    pub(crate) fn permute(&self, fingerprint: F) -> Permuted<F> {
        self.index.tables[self.table]
            .permutation()
            .apply(fingerprint)
    }

    /// Returns the fingerprint of a permuted value of this table.
    #[doc(hidden)]
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.index.tables[self.table].permutation().invert(value)
    }

    /// Returns the rank of the last fingerprint if it is known: in table 0.
    pub(crate) fn rank(&self) -> Option<u64> {
        let last = self.next_value.checked_sub(1)?;
        let table = self.index.tables.first().filter(|_| self.table == 0)?;
        let ranks = self.index.block_ranks();
        let first = table.rank_of_part(self.index.bytes(), self.first_part, ranks);
        Some(first.ok()?? + last as u64)
    }

    /// Returns the ids of the last fingerprint, in order. Table 0 needs no look-up for this.
    ///
    /// # Errors
    /// A damaged block or page, or a fingerprint that is not in table 0.
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

impl<F: Fingerprint> Iterator for Fingerprints<'_, F> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
