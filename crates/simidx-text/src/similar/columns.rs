//! Numbers of all texts, a column for each band: in memory as long as they fit, otherwise in temporary files.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::files::{NUMBER_LEN, blame, bytes_of, read_numbers};

/// Bytes of numbers that are written to a file together, at the most and at the least.
const WRITE_LEN: usize = 1 << 18;
const LEAST_WRITE_LEN: usize = 1 << 10;

/// Columns of equal length.
#[derive(Debug)]
pub(super) struct Columns {
    folder: PathBuf,
    /// Bytes of memory for all of them.
    budget: u64,
    columns: Vec<Column>,
    len: usize,
}

#[derive(Debug, Default)]
struct Column {
    file: Option<File>,
    /// Numbers in the file.
    written: usize,
    /// What comes after them.
    rest: Vec<u32>,
}

impl Columns {
    pub(super) fn new(count: usize, budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        Columns {
            folder: temp_dir.map_or_else(std::env::temp_dir, Path::to_owned),
            budget: budget.unwrap_or(u64::MAX),
            columns: (0..count).map(|_| Column::default()).collect(),
            len: 0,
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
        for (column, &number) in self.columns.iter_mut().zip(row) {
            column.rest.push(number);
            if is_over && column.rest.len() * NUMBER_LEN >= write_len {
                let written = column.write(&self.folder);
                written.map_err(|error| blame(&self.folder, error))?;
            }
        }
        Ok(())
    }

    /// Takes a column out; [`Columns::put`] fills it again.
    pub(super) fn take(&mut self, column: usize) -> io::Result<Vec<u32>> {
        let column = std::mem::take(&mut self.columns[column]);
        let mut numbers = match column.file {
            None => return Ok(column.rest),
            Some(_) => Vec::with_capacity(column.written + column.rest.len()),
        };
        let read = column.read(0..column.written, &mut numbers);
        read.map_err(|error| blame(&self.folder, error))?;
        numbers.extend_from_slice(&column.rest);
        Ok(numbers)
    }

    /// Forgets a column.
    pub(super) fn clear(&mut self, column: usize) {
        self.columns[column] = Column::default();
    }

    /// Fills a column that was taken out.
    pub(super) fn put(&mut self, column: usize, numbers: Vec<u32>) -> io::Result<()> {
        let is_over = self.is_over(self.len);
        let column = &mut self.columns[column];
        column.rest = numbers;
        match is_over {
            true => {
                let written = column.write(&self.folder);
                written.map_err(|error| blame(&self.folder, error))
            }
            false => Ok(()),
        }
    }

    /// Appends a part of a column to `out`.
    pub(super) fn read(
        &self,
        column: usize,
        rows: Range<usize>,
        out: &mut Vec<u32>,
    ) -> io::Result<()> {
        let read = self.columns[column].read(rows, out);
        read.map_err(|error| blame(&self.folder, error))
    }
}

impl Column {
    /// Moves all numbers to the file.
    fn write(&mut self, folder: &Path) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(tempfile::tempfile_in(folder)?),
        };
        let mut bytes = Vec::new();
        for numbers in self.rest.chunks(WRITE_LEN / NUMBER_LEN) {
            bytes_of(numbers, &mut bytes);
            file.write_all(&bytes)?;
        }
        self.written += self.rest.len();
        self.rest = Vec::new();
        Ok(())
    }

    fn read(&self, rows: Range<usize>, out: &mut Vec<u32>) -> io::Result<()> {
        let in_file = rows.start.min(self.written)..rows.end.min(self.written);
        if let (Some(file), false) = (&self.file, in_file.is_empty()) {
            for start in in_file.clone().step_by(WRITE_LEN) {
                let end = in_file.end.min(start + WRITE_LEN);
                read_numbers(file, start as u64, end - start, out)?;
            }
        }
        let rest = |row: usize| row.max(self.written) - self.written;
        out.extend_from_slice(&self.rest[rest(rows.start)..rest(rows.end)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_from_memory_and_from_files() {
        const ROWS: u32 = 200_000;
        for budget in [None, Some(0), Some(1 << 20)] {
            let mut columns = Columns::new(3, budget, None);
            for i in 0..ROWS {
                columns.push(&[i, 7 * i, !i]).unwrap();
            }
            assert_eq!(columns.columns[0].file.is_some(), budget.is_some());
            let mut part = Vec::new();
            columns.read(2, 199_000..200_000, &mut part).unwrap();
            assert!(part.into_iter().eq((199_000..ROWS).map(|i| !i)));
            let expected: Vec<u32> = (0..ROWS).map(|i| 7 * i).collect();
            assert_eq!(columns.take(1).unwrap(), expected);
            columns.put(1, expected.clone()).unwrap();
            let mut part = Vec::new();
            columns.read(1, 5..70_000, &mut part).unwrap();
            assert_eq!(part, expected[5..70_000]);
            assert_eq!(columns.len(), ROWS as usize);
        }
    }
}
