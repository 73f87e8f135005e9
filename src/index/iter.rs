//! Reading a table from its first value to its last.

use super::{Id, Index};
use crate::design::Permuted;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The fingerprints of a table in its order; made by [`Index::fingerprints`].
///
/// Memory: one decoded block.
#[derive(Debug)]
pub struct Fingerprints<'a, F, D> {
    index: &'a Index<F, D>,
    table: usize,
    next_block: usize,
    values: Vec<Permuted<F>>,
    /// Number in `values` of the value to give next.
    next_value: usize,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> Fingerprints<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>, table: usize) -> Self {
        Fingerprints {
            index,
            table,
            next_block: 0,
            values: Vec::new(),
            next_value: 0,
        }
    }

    /// The next permuted value; see [`Iterator::next`] for the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration goes on with the block behind it.
    pub fn next_permuted(&mut self) -> Option<Result<Permuted<F>>> {
        let table = &self.index.tables[self.table];
        while self.next_value == self.values.len() {
            if self.next_block == table.block_count() {
                return None;
            }
            self.values.clear();
            self.next_value = 0;
            let block = self.next_block;
            self.next_block += 1;
            if let Err(error) = table.read_block(self.index.bytes(), block, &mut self.values) {
                self.values.clear();
                return Some(Err(error.into()));
            }
        }
        let value = self.values[self.next_value];
        self.next_value += 1;
        Some(Ok(value))
    }

    /// The fingerprint that a permuted value of this table stands for.
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.index.tables[self.table].permutation.invert(value)
    }

    /// Calls `visit` with each id of the fingerprint given last. For table 0 this needs no look-up.
    ///
    /// # Errors
    /// A damaged block or page.
    pub fn for_each_id(&self, visit: impl FnMut(Id<'_>)) -> Result<()> {
        let (Some(ids), Some(last)) = (&self.index.ids, self.next_value.checked_sub(1)) else {
            return Ok(());
        };
        if self.table == 0 {
            let place = super::table::ValuePlace {
                block: self.next_block - 1,
                index: last,
            };
            return Ok(ids.for_each(self.index.bytes(), ids.rank(place), visit)?);
        }
        self.index
            .for_each_id(self.invert(self.values[last]), visit)
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Iterator for Fingerprints<'_, F, D> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
