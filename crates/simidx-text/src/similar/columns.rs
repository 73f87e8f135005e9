//! Numbers of all texts, a column for each band: in memory as long as they fit, otherwise in a temporary file.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::files::{NUMBER_LEN, TempFile};

/// Bytes of numbers that are written to a file together, at the most and at the least.
const WRITE_LEN: usize = 1 << 18;
const LEAST_WRITE_LEN: usize = 1 << 10;

/// Columns of equal length.
///
/// All share one file, however many there are, since processes may have few files open.
#[derive(Debug)]
pub(super) struct Columns {
    /// Bytes of memory for all of them.
    budget: u64,
    columns: Vec<Column>,
    len: usize,
    file: TempFile,
    /// Numbers in the file.
    file_len: u64,
}

#[derive(Debug, Default)]
struct Column {
    /// What is in the file, part after part.
    parts: Vec<Part>,
    /// What comes after it.
    rest: Vec<u32>,
}

/// A part of a column in the file.
#[derive(Debug)]
struct Part {
    /// The row of its first number.
    row: usize,
    /// Numbers in the file before it.
    start: u64,
    len: usize,
}

impl Column {
    /// Rows in the file.
    fn written(&self) -> usize {
        self.parts.last().map_or(0, |part| part.row + part.len)
    }
}

impl Columns {
    pub(super) fn new(count: usize, budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        Columns {
            budget: budget.unwrap_or(u64::MAX),
            columns: (0..count).map(|_| Column::default()).collect(),
            len: 0,
            file: TempFile::new(temp_dir),
            file_len: 0,
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of a column that are written together, so that what waits fits the memory.
    fn write_len(&self) -> usize {
        let share = self.budget / self.columns.len().max(1) as u64;
        (share as usize).clamp(LEAST_WRITE_LEN, WRITE_LEN)
    }

    /// Whether so many rows are more than there is memory for.
    fn is_over(&self, rows: usize) -> bool {
        (rows * NUMBER_LEN) as u64 * self.columns.len() as u64 > self.budget
    }

    /// Appends a row: a number for each column.
    pub(super) fn push(&mut self, row: &[u32]) -> io::Result<()> {
        self.len += 1;
        let is_over = self.is_over(self.len);
        let write_len = self.write_len();
        for (place, &number) in row.iter().enumerate() {
            let column = &mut self.columns[place];
            column.rest.push(number);
            if is_over && column.rest.len() * NUMBER_LEN >= write_len {
                let rest = std::mem::take(&mut column.rest);
                self.write(place, &rest)?;
            }
        }
        Ok(())
    }

    /// Appends numbers to the part of a column that is in the file.
    fn write(&mut self, column: usize, numbers: &[u32]) -> io::Result<()> {
        let part = Part {
            row: self.columns[column].written(),
            start: self.file_len,
            len: numbers.len(),
        };
        self.file.write_numbers(part.start, numbers)?;
        self.file_len += part.len as u64;
        self.columns[column].parts.push(part);
        Ok(())
    }

    /// Takes a column out; [`Columns::put`] fills it again.
    pub(super) fn take(&mut self, column: usize) -> io::Result<Vec<u32>> {
        let rest = std::mem::take(&mut self.columns[column].rest);
        if self.columns[column].parts.is_empty() {
            return Ok(rest);
        }
        let mut numbers = Vec::with_capacity(self.len);
        self.read(column, 0..self.columns[column].written(), &mut numbers)?;
        numbers.extend_from_slice(&rest);
        Ok(numbers)
    }

    /// Forgets a column.
    pub(super) fn clear(&mut self, column: usize) {
        self.columns[column] = Column::default();
    }

    /// Fills a column that was taken out. What is in the file stays where it is.
    pub(super) fn put(&mut self, column: usize, mut numbers: Vec<u32>) -> io::Result<()> {
        let parts = std::mem::take(&mut self.columns[column].parts);
        for part in &parts {
            let written = &numbers[part.row..part.row + part.len];
            self.file.write_numbers(part.start, written)?;
        }
        self.columns[column].parts = parts;
        let written = self.columns[column].written();
        if self.is_over(self.len) {
            return self.write(column, &numbers[written..]);
        }
        numbers.drain(..written);
        self.columns[column].rest = numbers;
        Ok(())
    }

    /// Appends a part of a column to `out`.
    pub(super) fn read(
        &self,
        column: usize,
        rows: Range<usize>,
        out: &mut Vec<u32>,
    ) -> io::Result<()> {
        let Column { parts, rest } = &self.columns[column];
        let first = parts.partition_point(|part| part.row + part.len <= rows.start);
        for part in parts[first..].iter().take_while(|part| part.row < rows.end) {
            let from = rows.start.max(part.row);
            let to = rows.end.min(part.row + part.len);
            for row in (from..to).step_by(WRITE_LEN) {
                let start = part.start + (row - part.row) as u64;
                let count = to.min(row + WRITE_LEN) - row;
                self.file.read_numbers(start, count, out)?;
            }
        }
        let written = self.columns[column].written();
        let in_rest = |row: usize| row.max(written) - written;
        out.extend_from_slice(&rest[in_rest(rows.start)..in_rest(rows.end)]);
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
            // What is put back differs from what was there, and stands in the same place.
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
