//! Looks up the ranks of all matches of a query in table 0 together, so that their cache misses overlap.

use super::blocks::BlockTable;
use super::lines::LineTable;
use super::probe::{BATCH_LEN, Found, Target};
use super::query::Match;
use super::table::{Table, ValuePlace};
use crate::codec::lines::LINE_LEN;
use crate::cpu::prefetch;
use crate::fingerprint::Fingerprint;
use crate::memory::will_need;

impl<F: Fingerprint> Target<'_, F> {
    /// Returns the rank of a value of table 0, if matches get ranks.
    #[inline]
    pub(super) fn rank(&self, place: ValuePlace) -> Option<u64> {
        let table = self.tables.first().filter(|_| self.is_ranked)?;
        let first = table.rank_of_part(self.file, place.part, self.block_ranks);
        Some(first.ok()?? + place.index as u64)
    }

    /// Looks up missing ranks. A match stays without one if table 0 does not hold it or is damaged: the answer is valid
    /// without it, and reading its ids returns the error.
    pub(super) fn rank_all(&self, found: &mut [Found<F>]) {
        if !self.is_ranked {
            return;
        }
        for batch in found.chunks_mut(BATCH_LEN) {
            match self.tables.first() {
                Some(Table::Blocks(table)) => self.rank_batch(table, batch),
                Some(Table::Lines(table)) => self.rank_in_lines(table, batch),
                None => {}
            }
        }
    }

    #[inline(never)]
    fn rank_batch(&self, table: &BlockTable<F>, batch: &mut [Found<F>]) {
        for found in unranked(batch) {
            table.keys.prefetch_bucket(found.fingerprint);
        }
        for found in unranked(batch) {
            table.keys.prefetch_keys(found.fingerprint);
        }
        // Table 0 is in numeric order, so a fingerprint is its own value there.
        let mut blocks = [0; BATCH_LEN];
        for (found, block) in unranked(batch).zip(&mut blocks) {
            *block = table.keys.first_at_least(found.fingerprint);
            if *block == table.block_count() {
                continue;
            }
            let start = table.block_offset(*block);
            prefetch(self.file, start);
            if self.cold || !table.is_checked(*block) {
                will_need(&self.file[start..start + table.block_size]);
            }
        }
        for (found, &block) in unranked(batch).zip(&blocks) {
            let place = table.locate_in(self.file, block, found.fingerprint);
            found.rank = place.ok().flatten().and_then(|place| self.rank(place));
        }
    }

    #[inline(never)]
    fn rank_in_lines(&self, table: &LineTable<F>, batch: &mut [Found<F>]) {
        for found in unranked(batch) {
            let line = table.part_of(found.fingerprint);
            prefetch(self.file, table.lines.start() + line * LINE_LEN);
        }
        for found in unranked(batch) {
            let place = table.locate(self.file, found.fingerprint);
            found.rank = place.ok().flatten().and_then(|place| self.rank(place));
        }
    }
}

/// Returns the matches without a rank.
fn unranked<F>(batch: &mut [Found<F>]) -> impl Iterator<Item = &mut Match<F>> {
    let matches = batch.iter_mut().map(|found| &mut found.found);
    matches.filter(|found| found.rank.is_none())
}
