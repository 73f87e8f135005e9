//! The rows of a Parquet file, taken apart into cells.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};

use super::{guarded, unreadable};
use crate::cells::{Cell, Columns, Rows, bytes, list, object, real};
use crate::source::{io_error, open_file};
use crate::{Place, Result};

/// The rows of a file.
pub(crate) struct ParquetRows {
    name: String,
    rows: RowIter<'static>,
    row: Option<Row>,
    file_len: u64,
    count: u64,
    passed: u64,
}

impl ParquetRows {
    /// Opens a file. Its columns are those of the files before it.
    pub(crate) fn open(path: &Path, columns: &mut Columns) -> Result<Self> {
        let (name, file) = open_file(path)?;
        let data = file.metadata().map_err(|e| io_error(&name, e))?;
        let open = |file: File| {
            let reader = SerializedFileReader::new(file)?;
            let count: i64 = reader
                .metadata()
                .row_groups()
                .iter()
                .map(|g| g.num_rows())
                .sum();
            let schema = reader
                .metadata()
                .file_metadata()
                .schema_descr()
                .root_schema_ptr();
            let names: Vec<String> = schema
                .get_fields()
                .iter()
                .map(|f| f.name().into())
                .collect();
            let rows = RowIter::from_file_into(Box::new(reader));
            Ok((rows, names, u64::try_from(count).unwrap_or(0)))
        };
        let opened = guarded(|| open(file));
        let (rows, names, count) = opened.map_err(|message| unreadable(&name, &message))?;
        let before = columns.names.len();
        for column in &names {
            columns.number(column);
        }
        if before > 0 && columns.names != names {
            let message = "has other columns than the files before it";
            return Err(crate::source::input_error(&name, Place::File, message));
        }
        Ok(ParquetRows {
            name,
            rows,
            row: None,
            file_len: data.len(),
            count,
            passed: 0,
        })
    }
}

impl Rows for ParquetRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        let rows = &mut self.rows;
        let next = guarded(|| rows.next().transpose());
        self.row = next.map_err(|message| unreadable(&self.name, &message))?;
        self.passed += 1;
        Ok(self.row.is_some().then_some(true))
    }

    fn row(&mut self, _: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let columns = self.row.take().map(Row::into_columns).unwrap_or_default();
        row.extend(columns.into_iter().map(|(_, field)| cell(field)));
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        let share = u128::from(self.file_len) * u128::from(self.passed.min(self.count));
        (share / u128::from(self.count.max(1))) as u64
    }
}

/// The cell that a value is.
fn cell(field: Field) -> Cell {
    match field {
        Field::Null => Cell::Null,
        Field::Bool(value) => Cell::Bool(value),
        Field::Byte(value) => Cell::Number(value.to_string()),
        Field::Short(value) => Cell::Number(value.to_string()),
        Field::Int(value) => Cell::Number(value.to_string()),
        Field::Long(value) => Cell::Number(value.to_string()),
        Field::UByte(value) => Cell::Number(value.to_string()),
        Field::UShort(value) => Cell::Number(value.to_string()),
        Field::UInt(value) => Cell::Number(value.to_string()),
        Field::ULong(value) => Cell::Number(value.to_string()),
        Field::Float16(value) => real(value.to_f64(), value.to_f32()),
        Field::Float(value) => real(value.into(), value),
        Field::Double(value) => real(value, value),
        Field::Str(text) => Cell::Text(text),
        Field::Bytes(value) => bytes(value.data()),
        Field::Group(row) => {
            let members = row.into_columns().into_iter();
            let members = members.map(|(name, field)| (name, cell(field)));
            object(&members.collect::<Vec<_>>())
        }
        Field::MapInternal(map) => {
            let members = map.entries().iter().cloned();
            let members = members.map(|(key, value)| {
                let key = cell(key).text().unwrap_or("null").to_owned();
                (key, cell(value))
            });
            object(&members.collect::<Vec<_>>())
        }
        Field::ListInternal(elements) => list(elements.elements().iter().cloned().map(cell)),
        // Decimals, dates and times.
        other => Cell::Text(other.to_string()),
    }
}
