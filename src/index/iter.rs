//! Reading a table from its first value to its last.

use std::ops::Range;

use super::ids::Rank;
use super::{Ids, Index};
use crate::design::Permuted;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The fingerprints of a table in its order; made by [`Index::fingerprints`].
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
    /// The part that `values` starts with.
    first_part: usize,
    values: Vec<Permuted<F>>,
    /// Number in `values` of the value to give next.
    next_value: usize,
    plain: bool,
}

impl<'a, F: Fingerprint> Fingerprints<'a, F> {
    pub(super) fn new(index: &'a Index<F>, table: usize) -> Self {
        let blocks = 0..index.tables[table].part_count();
        Self::of_blocks(index, table, blocks)
    }

    /// The fingerprints of some blocks.
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

    /// Reads the next parts, up to the first bad one; fails, and steps over it, if that comes first. `None` at the end
    /// of the table.
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

    /// The value that a fingerprint has in this table.
    pub(crate) fn permute(&self, fingerprint: F) -> Permuted<F> {
        self.index.tables[self.table]
            .permutation()
            .apply(fingerprint)
    }

    /// The fingerprint that a permuted value of this table stands for.
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.index.tables[self.table].permutation().invert(value)
    }

    /// The rank of the fingerprint given last, where it is known: in table 0.
    pub(crate) fn rank(&self) -> Option<u64> {
        let last = self.next_value.checked_sub(1)?;
        let table = self.index.tables.first().filter(|_| self.table == 0)?;
        let ranks = self.index.block_ranks();
        let first = table.rank_of_part(self.index.bytes(), self.first_part, ranks);
        Some(first.ok()?? + last as u64)
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

impl<F: Fingerprint> Iterator for Fingerprints<'_, F> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
