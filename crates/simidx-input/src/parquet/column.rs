//! The values of one column, some rows at a time.

use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use simidx::{Fingerprint, Fingerprints};

/// A column of an open row group.
pub(super) struct Column {
    reader: ColumnReader,
    /// The level of a value that is there; 0 if no row can be null, and then there are no levels.
    top: i16,
    levels: Vec<i16>,
    /// Whether a row may have several values; then each of them has a level that is 0 for the first one.
    is_list: bool,
    repetitions: Vec<i16>,
    values: Values,
    /// Rows that are decoded, and those of them that have been taken; of lists, the levels.
    rows: usize,
    row: usize,
    /// Values that have been taken.
    value: usize,
}

/// Decoded values, without the nulls among them.
enum Values {
    Small(Vec<i32>),
    Large(Vec<i64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// The value of one row.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Small(i32),
    Large(i64),
    Bytes(&'a [u8]),
}

impl Cell<'_> {
    /// The bits of a number; those of bytes of which the first is the most significant.
    pub(super) fn to_fingerprint(self) -> u128 {
        match self {
            Cell::Small(number) => number.cast_unsigned().into(),
            Cell::Large(number) => number.cast_unsigned().into(),
            Cell::Bytes(bytes) => from_bytes(bytes),
        }
    }
}

fn from_bytes(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |all, &b| all << 8 | u128::from(b))
}

fn append<F: Fingerprint>(values: &[FixedLenByteArray], out: &mut Vec<F>) {
    let values = values.iter().map(|value| from_bytes(value.data()));
    out.extend(values.map(F::from_u128));
}

impl Column {
    pub(super) fn new(group: &dyn RowGroupReader, index: usize) -> Result<Self, ParquetError> {
        let reader = group.get_column_reader(index)?;
        let values = match reader {
            ColumnReader::Int32ColumnReader(_) => Values::Small(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Large(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Fixed(Vec::new()),
            _ => Values::Bytes(Vec::new()),
        };
        let column = group.metadata().column(index);
        let column = column.column_descr();
        Ok(Column {
            reader,
            top: column.max_def_level(),
            levels: Vec::new(),
            is_list: column.max_rep_level() > 0,
            repetitions: Vec::new(),
            values,
            rows: 0,
            row: 0,
            value: 0,
        })
    }

    /// Decodes the next rows in the place of those before.
    pub(super) fn load(&mut self, rows: usize) -> Result<(), ParquetError> {
        let (levels, repetitions) = (&mut self.levels, &mut self.repetitions);
        levels.clear();
        repetitions.clear();
        macro_rules! read {
            ($reader:expr, $values:expr) => {{
                $values.clear();
                let repetitions = self.is_list.then_some(&mut *repetitions);
                $reader
                    .read_records(rows, Some(levels), repetitions, $values)?
                    .0
            }};
        }
        let read = match (&mut self.reader, &mut self.values) {
            (ColumnReader::Int32ColumnReader(r), Values::Small(v)) => read!(r, v),
            (ColumnReader::Int64ColumnReader(r), Values::Large(v)) => read!(r, v),
            (ColumnReader::ByteArrayColumnReader(r), Values::Bytes(v)) => read!(r, v),
            (ColumnReader::FixedLenByteArrayColumnReader(r), Values::Fixed(v)) => read!(r, v),
            _ => return Err(ParquetError::General("a column changes its type".into())),
        };
        let there = match self.top {
            0 => rows,
            top => levels.iter().filter(|&&level| level == top).count(),
        };
        let begun = match (self.is_list, self.top) {
            (true, _) if repetitions.len() != levels.len() => 0,
            (true, _) => repetitions.iter().filter(|&&level| level == 0).count(),
            (false, 0) => rows,
            (false, _) => levels.len(),
        };
        if read != rows || begun != rows || self.values.len() != there {
            return Err(ParquetError::General(
                "a column ends before its rows".into(),
            ));
        }
        (self.rows, self.row, self.value) = (rows, 0, 0);
        Ok(())
    }

    /// The value of the next row, if it is there and not null.
    pub(super) fn next(&mut self) -> Option<Cell<'_>> {
        self.row += 1;
        if self.top > 0 && self.levels.get(self.row - 1) != Some(&self.top) {
            return None;
        }
        self.value += 1;
        let at = self.value - 1;
        match &self.values {
            Values::Small(values) => values.get(at).map(|&value| Cell::Small(value)),
            Values::Large(values) => values.get(at).map(|&value| Cell::Large(value)),
            Values::Bytes(values) => values.get(at).map(|value| Cell::Bytes(value.data())),
            Values::Fixed(values) => values.get(at).map(|value| Cell::Bytes(value.data())),
        }
    }

    /// Hands on the values in the list of the next row that are there and not null; returns whether there is a list,
    /// which it has from a level on.
    pub(super) fn next_list(&mut self, list_level: i16, mut each: impl FnMut(Cell<'_>)) -> bool {
        let mut has_list = false;
        loop {
            let Some(&level) = self.levels.get(self.row) else {
                return has_list;
            };
            has_list |= level >= list_level;
            match level == self.top {
                true => self.next().into_iter().for_each(&mut each),
                false => self.row += 1,
            }
            if self
                .repetitions
                .get(self.row)
                .is_none_or(|&level| level == 0)
            {
                return has_list;
            }
        }
    }

    /// Appends the values of the decoded rows up to the next null, and returns how many.
    pub(super) fn take_many(&mut self, out: &mut Fingerprints) -> usize {
        let rest = self.levels.get(self.row..).unwrap_or_default();
        let count = match self.top {
            0 => self.rows - self.row,
            top => rest.iter().take_while(|&&level| level == top).count(),
        };
        let range = self.value..self.value + count;
        match (&self.values, out) {
            (Values::Small(values), Fingerprints::W32(out)) => {
                out.extend(values[range].iter().map(|value| value.cast_unsigned()));
            }
            (Values::Large(values), Fingerprints::W64(out)) => {
                out.extend(values[range].iter().map(|value| value.cast_unsigned()));
            }
            (Values::Fixed(values), Fingerprints::W32(out)) => append(&values[range], out),
            (Values::Fixed(values), Fingerprints::W64(out)) => append(&values[range], out),
            (Values::Fixed(values), Fingerprints::W128(out)) => append(&values[range], out),
            _ => return 0,
        }
        self.row += count;
        self.value += count;
        count
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Small(values) => values.len(),
            Values::Large(values) => values.len(),
            Values::Bytes(values) => values.len(),
            Values::Fixed(values) => values.len(),
        }
    }
}
