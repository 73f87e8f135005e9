//! Numbers of all texts, a column for each band: in memory as long as they fit, otherwise in temporary files.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::sets::read_at;

/// Bytes of a number.
const NUMBER_LEN: usize = 4;

/// Bytes of numbers that are written to a file together.
const WRITE_LEN: usize = 1 << 18;

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
    pub(super) fn new(count: usize, budget: Option<u64>, temp_dir: Option<PathBuf>) -> Self {
        Columns {
            folder: temp_dir.unwrap_or_else(std::env::temp_dir),
            budget: budget.unwrap_or(u64::MAX),
            columns: (0..count).map(|_| Column::default()).collect(),
            len: 0,
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of columns.
    pub(super) fn count(&self) -> usize {
        self.columns.len()
    }

    /// Whether so many rows are more than there is memory for.
    fn is_over(&self, rows: usize) -> bool {
        (rows * NUMBER_LEN) as u64 * self.columns.len() as u64 > self.budget
    }

    /// Appends a row: a number for each column.
    pub(super) fn push(&mut self, row: &[u32]) -> io::Result<()> {
        self.len += 1;
        let is_over = self.is_over(self.len);
        for (column, &number) in self.columns.iter_mut().zip(row) {
            column.rest.push(number);
            if is_over && column.rest.len() * NUMBER_LEN >= WRITE_LEN {
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
            Some(_) => Vec::new(),
        };
        let read = column.read(0..column.written, &mut numbers);
        read.map_err(|error| blame(&self.folder, error))?;
        numbers.extend_from_slice(&column.rest);
        Ok(numbers)
    }

    /// Fills a column.
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
        for numbers in self.rest.chunks(WRITE_LEN / NUMBER_LEN) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            file.write_all(&bytes)?;
        }
        self.written += self.rest.len();
        self.rest = Vec::new();
        Ok(())
    }

    fn read(&self, rows: Range<usize>, out: &mut Vec<u32>) -> io::Result<()> {
        let in_file = rows.start.min(self.written)..rows.end.min(self.written);
        if let (Some(file), false) = (&self.file, in_file.is_empty()) {
            let mut bytes = vec![0; in_file.len() * NUMBER_LEN];
            read_at(file, &mut bytes, (in_file.start * NUMBER_LEN) as u64)?;
            let (numbers, _) = bytes.as_chunks();
            out.extend(numbers.iter().map(|number| u32::from_le_bytes(*number)));
        }
        let rest = |row: usize| row.max(self.written) - self.written;
        out.extend_from_slice(&self.rest[rest(rows.start)..rest(rows.end)]);
        Ok(())
    }
}

fn blame(folder: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
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
            assert_eq!((columns.len(), columns.count()), (ROWS as usize, 3));
        }
    }
}
