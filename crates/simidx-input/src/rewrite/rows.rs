//! Inputs taken apart into rows of cells.

use super::{csv, json};
use crate::cells::{Cell, Columns, Rows};
use crate::copy::{self, readable};
use crate::json::Values;
use crate::line_source::LineSource;
use crate::{Format, InputFile, MAX_DOCUMENT, Result};

/// Opens an input whose records have fields. The columns are those of the inputs before it.
pub(super) fn open(input: &InputFile, columns: &mut Columns) -> Result<Box<dyn Rows>> {
    match input.format() {
        #[cfg(feature = "arrow")]
        Format::Parquet | Format::Arrow => {
            Ok(Box::new(crate::columnar::BatchRows::open(input, columns)?))
        }
        Format::Tsv => {
            let mut lines = copy::lines(input)?;
            lines.advance()?;
            if columns.names.is_empty() {
                *columns = Columns::of_table(lines.text()?.split('\t'));
            }
            Ok(Box::new(TableRows { lines }))
        }
        Format::Csv => {
            let rows = crate::csv::open_rows(input.text()?, &input.options)?;
            if columns.names.is_empty() {
                *columns = csv::columns(&rows).map_err(|message| rows.error(message))?;
            }
            Ok(Box::new(rows))
        }
        Format::Json => Ok(Box::new(Values::new(input.text()?, MAX_DOCUMENT))),
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
        readable(self.lines.advance())
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let line = self.lines.text().map_err(|error| error.to_string())?;
        json::take_apart(line, columns, row)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

/// Objects wherever their lines end.
impl Rows for Values {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(Values::advance(self))
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let object = self.text().map_err(|error| error.to_string())?;
        json::take_apart(object, columns, row)
    }

    fn bytes_read(&self) -> u64 {
        self.source().bytes_read()
    }
}

/// Cells between tabs.
struct TableRows {
    lines: LineSource,
}

impl Rows for TableRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.lines.advance())
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let line = self.lines.text().map_err(|error| error.to_string())?;
        row.extend(line.split('\t').map(|cell| Cell::Text(cell.to_owned())));
        check_width(columns, row)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

/// Values between delimiters.
impl Rows for crate::csv::Rows {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(crate::csv::Rows::advance(self))
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        for index in 0..self.len() {
            row.push(Cell::Text(self.value(index)?.to_owned()));
        }
        check_width(columns, row)
    }

    fn bytes_read(&self) -> u64 {
        self.source().bytes_read()
    }
}

fn check_width(columns: &Columns, row: &[Cell]) -> Result<(), String> {
    match row.len() == columns.names.len() {
        true => Ok(()),
        false => Err("has not as many columns as the table".into()),
    }
}
