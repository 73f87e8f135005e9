//! Columns of numbers with a row for each text: in memory as long as they fit, otherwise in a temporary file.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::files::{NUMBER_LEN, TempFile};

/// Largest and smallest number of bytes of a column that are written to the file together.
const WRITE_LEN: u64 = 1 << 18;
const LEAST_WRITE_LEN: u64 = 1 << 10;

/// Columns of equal length.
///
/// All columns share one file, because processes may have few open files. The file consists of blocks of rows, each
/// with the numbers of one column after those of another.
#[derive(Debug)]
pub(super) struct Columns {
    /// Memory in bytes for all columns.
    budget: u64,
    /// The rows after the blocks, by column.
    rest: Vec<Vec<u32>>,
    /// Number of rows.
    len: usize,
    file: TempFile,
    /// Number of rows in a block, and number of written blocks.
    block_rows: usize,
    blocks: usize,
}

impl Columns {
    pub(super) fn new(count: usize, budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        let budget = budget.unwrap_or(u64::MAX);
        // The rows that wait to be written fit the memory.
        let write_len = (budget / count.max(1) as u64).clamp(LEAST_WRITE_LEN, WRITE_LEN);
        Columns {
            budget,
            rest: vec![Vec::new(); count],
            len: 0,
            file: TempFile::new(temp_dir),
            block_rows: write_len as usize / NUMBER_LEN,
            blocks: 0,
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of rows in the file.
    fn written(&self) -> usize {
        self.blocks * self.block_rows
    }

    /// Returns the number of numbers in the file before a column of a block.
    fn start(&self, block: usize, column: usize) -> u64 {
        (block * self.rest.len() + column) as u64 * self.block_rows as u64
    }

    /// Appends a row, which has a number for each column.
    pub(super) fn push(&mut self, row: &[u32]) -> io::Result<()> {
        for (rest, &number) in self.rest.iter_mut().zip(row) {
            rest.push(number);
        }
        self.len += 1;
        let waiting = self.len - self.written();
        let len = (self.len * NUMBER_LEN) as u64 * self.rest.len() as u64;
        match len > self.budget && waiting >= self.block_rows {
            true => self.write_blocks(),
            false => Ok(()),
        }
    }

    /// Writes the complete blocks of the waiting rows.
    fn write_blocks(&mut self) -> io::Result<()> {
        let blocks = (self.len - self.written()) / self.block_rows;
        for column in 0..self.rest.len() {
            let mut rest = std::mem::take(&mut self.rest[column]);
            let ready = rest.chunks_exact(self.block_rows);
            for (block, numbers) in (self.blocks..).zip(ready) {
                self.file
                    .write_numbers(self.start(block, column), numbers)?;
            }
            rest.drain(..blocks * self.block_rows);
            rest.shrink_to(self.block_rows);
            self.rest[column] = rest;
        }
        self.blocks += blocks;
        Ok(())
    }

    /// Takes a column out; [`Columns::put`] fills it again.
    pub(super) fn take(&mut self, column: usize) -> io::Result<Vec<u32>> {
        let rest = std::mem::take(&mut self.rest[column]);
        if self.blocks == 0 {
            return Ok(rest);
        }
        let mut numbers = Vec::with_capacity(self.len);
        self.read(column, 0..self.written(), &mut numbers)?;
        numbers.extend_from_slice(&rest);
        Ok(numbers)
    }

    /// Clears a column.
    pub(super) fn clear(&mut self, column: usize) {
        self.rest[column] = Vec::new();
    }

    /// Fills a column that was taken out. Its rows in the file are overwritten in place.
    pub(super) fn put(&mut self, column: usize, mut numbers: Vec<u32>) -> io::Result<()> {
        let in_file = numbers.chunks_exact(self.block_rows).take(self.blocks);
        for (block, numbers) in in_file.enumerate() {
            self.file
                .write_numbers(self.start(block, column), numbers)?;
        }
        if self.blocks > 0 {
            numbers = numbers.split_off(self.written());
        }
        self.rest[column] = numbers;
        Ok(())
    }

    /// Appends a part of a column to `out`.
    pub(super) fn read(
        &self,
        column: usize,
        rows: Range<usize>,
        out: &mut Vec<u32>,
    ) -> io::Result<()> {
        let written = self.written();
        let mut row = rows.start;
        while row < rows.end.min(written) {
            let (block, place) = (row / self.block_rows, row % self.block_rows);
            let count = (self.block_rows - place).min(rows.end - row);
            let start = self.start(block, column) + place as u64;
            self.file.read_numbers(start, count, out)?;
            row += count;
        }
        let in_rest = |row: usize| row.max(written) - written;
        out.extend_from_slice(&self.rest[column][in_rest(rows.start)..in_rest(rows.end)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_from_memory_and_from_the_file() {
        const ROWS: u32 = 200_000;
        for budget in [None, Some(0), Some(1 << 20)] {
            let mut columns = Columns::new(3, budget, None);
            for i in 0..ROWS {
                columns.push(&[i, 7 * i, !i]).unwrap();
            }
            assert_eq!(columns.file.is_there(), budget.is_some());
            let mut part = Vec::new();
            columns.read(2, 199_000..200_000, &mut part).unwrap();
            assert!(part.into_iter().eq((199_000..ROWS).map(|i| !i)));
            let expected: Vec<u32> = (0..ROWS).map(|i| 7 * i).collect();
            assert_eq!(columns.take(1).unwrap(), expected);
            // The new numbers differ from the old ones, in the same places.
            let expected: Vec<u32> = expected.iter().map(|number| !number).collect();
            columns.put(1, expected.clone()).unwrap();
            let mut whole = Vec::new();
            columns.read(1, 0..ROWS as usize, &mut whole).unwrap();
            assert_eq!(whole, expected);
            assert_eq!(columns.take(2).unwrap().len(), ROWS as usize);
            let mut part = Vec::new();
            columns.read(1, 5..70_000, &mut part).unwrap();
            assert_eq!(part, expected[5..70_000]);
            assert_eq!(columns.len(), ROWS as usize);
        }
    }
}
