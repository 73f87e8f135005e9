//! Inputs taken apart into rows of cells.

use super::cells::{Cell, Columns};
use super::{json, lines};
use crate::InputFile;
use crate::copy;
use crate::line_source::LineSource;
use crate::{Format, Result};

/// The rows of an input.
pub(crate) trait Rows {
    /// Goes on to the next record; says whether it can be read, and nothing at the end.
    fn advance(&mut self) -> Result<Option<bool>>;

    /// The cells of the record, each in its column, or what is wrong with it.
    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String>;

    fn bytes_read(&self) -> u64;
}

/// Opens an input whose records have fields. The columns are those of the inputs before it.
pub(super) fn open(input: &InputFile, columns: &mut Columns) -> Result<Box<dyn Rows>> {
    match input.format() {
        #[cfg(feature = "parquet")]
        Format::Parquet => Ok(Box::new(crate::parquet::ParquetRows::open(
            input.path(),
            columns,
        )?)),
        Format::Tsv => {
            let mut lines = copy::lines(input)?;
            lines.advance()?;
            if columns.names.is_empty() {
                *columns = Columns::of_table(lines.text()?.split('\t'));
            }
            Ok(Box::new(TableRows { lines }))
        }
        _ => Ok(Box::new(JsonRows {
            lines: copy::lines(input)?,
        })),
    }
}

/// A JSON object on each line.
struct JsonRows {
    lines: LineSource,
}

impl Rows for JsonRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        lines::advance(&mut self.lines)
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let line = self.lines.text().map_err(|error| error.to_string())?;
        json::take_apart(line, columns, row)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

/// Cells between tabs.
struct TableRows {
    lines: LineSource,
}

impl Rows for TableRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        lines::advance(&mut self.lines)
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let line = self.lines.text().map_err(|error| error.to_string())?;
        row.extend(line.split('\t').map(|cell| Cell::Text(cell.to_owned())));
        match row.len() == columns.names.len() {
            true => Ok(()),
            false => Err("has not as many columns as the table".into()),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
