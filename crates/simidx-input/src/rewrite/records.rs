//! Inputs gone through record by record, to be written as they are, with new fields, or as rows of cells.

use super::copier::Copier;
use super::{csv, json};
use crate::cells::{Cell, Columns, Rows, has_already};
use crate::fields::Holds;
use crate::files::FilesReader;
use crate::json::Values;
use crate::line_source::LineSource;
use crate::new_fields::{Fate, FieldValue, NewField};
#[cfg(feature = "warc")]
use crate::warc::WarcReader;
use crate::{Error, Escaped, Format, InputFile, MAX_DOCUMENT, Result, columns};

/// What stands between the columns of a table.
const TAB: char = '\t';

/// Records that are written in the format in which they are read.
pub(super) trait Records: Rows {
    /// The columns that the input names before its records.
    fn columns(&self) -> Result<Columns> {
        Ok(Columns::default())
    }

    /// Writes what names the columns, and those of new fields.
    fn write_header(&self, _: &mut Copier<'_>, _: &[NewField]) -> Result<()> {
        Ok(())
    }

    /// Writes the record with the values of its new fields, if there are such fields.
    fn write(&mut self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()>;

    /// Notes what is known at the end of the records only.
    fn end(&self, _: &mut Copier<'_>) {}
}

/// Opens an input that is neither Parquet nor Arrow.
pub(super) fn open(input: &InputFile) -> Result<Box<dyn Records>> {
    Ok(match input.format {
        Format::Files => Box::new(Paths {
            files: FilesReader::open(&input.path, input.options.encoding)?,
            path: Ok(String::new()),
        }),
        #[cfg(feature = "warc")]
        Format::Warc => Box::new(WarcReader::new(input.source()?, input.options.encoding)),
        Format::Csv => Box::new(Table::of(crate::csv::open_rows(
            input.text()?,
            &input.options,
        )?)),
        Format::Json => Box::new(Values::new(input.text()?, MAX_DOCUMENT)),
        Format::Tsv if !input.header.is_empty() => {
            let mut lines = lines(input)?;
            lines.advance()?;
            Box::new(Table::of(lines))
        }
        _ => Box::new(lines(input)?),
    })
}

/// The lines of an input, bounded as its reader bounds them.
fn lines(input: &InputFile) -> Result<LineSource> {
    let limit = match input.format {
        Format::Hex | Format::Dec => columns::MAX_LINE,
        Format::Tsv if input.options.fields.holds() == Holds::Either => columns::MAX_LINE,
        _ => MAX_DOCUMENT,
    };
    Ok(LineSource::new(input.text()?, limit))
}

/// Whether the next record can be read, given what came of going on to it; nothing at the end.
fn readable(advanced: Result<bool>) -> Result<Option<bool>> {
    match advanced {
        Ok(true) => Ok(Some(true)),
        Ok(false) => Ok(None),
        Err(Error::Input(_)) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// The new values of a record that gets some.
fn new_values<'f>(fields: &[NewField], fate: &'f Fate) -> Option<&'f [Option<FieldValue>]> {
    match fate {
        Fate::With(values) if !fields.is_empty() => Some(values),
        _ => None,
    }
}

/// A record on each line, of which only JSON objects have fields.
impl Rows for LineSource {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(LineSource::advance(self))
    }

    fn row(&mut self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let line = self.text().map_err(|error| error.to_string())?;
        json::take_apart(line, columns, row)
    }

    fn bytes_read(&self) -> u64 {
        LineSource::bytes_read(self)
    }
}

impl Records for LineSource {
    fn write(&mut self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        let Some(values) = new_values(fields, fate) else {
            return copier.write_raw(self.raw());
        };
        let object = json::with_members(self.text()?, fields, values);
        let object = object.map_err(|message| self.error(message))?;
        copier.write(&object, self.raw().1)
    }
}

/// Objects wherever their lines end, maybe elements of an array.
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

impl Records for Values {
    fn write(&mut self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        copier.note_array(self);
        let Some(values) = new_values(fields, fate) else {
            return copier.write_value(self.raw());
        };
        let object = json::with_members(self.text()?, fields, values);
        let object = object.map_err(|message| self.error(0, &message))?;
        copier.write_value(&object)
    }

    fn end(&self, copier: &mut Copier<'_>) {
        copier.note_array(self);
    }
}

/// Rows of cells between delimiters.
trait Delimited {
    fn advance(&mut self) -> Result<bool>;

    fn bytes_read(&self) -> u64;

    /// The row and what ends it, byte for byte.
    fn raw(&self) -> (&[u8], &'static [u8]);

    fn error(&self, message: String) -> Error;

    /// The cells of the row, or what is wrong with them.
    fn cells(&self) -> Result<Vec<&str>, String>;

    /// How many cells the row has; none if no others can follow them.
    fn len(&self) -> usize;

    /// Appends a cell to a row.
    fn append(&self, row: &mut Vec<u8>, cell: &str);
}

impl Delimited for LineSource {
    fn advance(&mut self) -> Result<bool> {
        LineSource::advance(self)
    }

    fn bytes_read(&self) -> u64 {
        LineSource::bytes_read(self)
    }

    fn raw(&self) -> (&[u8], &'static [u8]) {
        LineSource::raw(self)
    }

    fn error(&self, message: String) -> Error {
        LineSource::error(self, message)
    }

    fn cells(&self) -> Result<Vec<&str>, String> {
        let line = std::str::from_utf8(self.raw().0).map_err(|_| "not valid UTF-8")?;
        Ok(line.split(TAB).collect())
    }

    fn len(&self) -> usize {
        self.cells().map_or(0, |cells| cells.len())
    }

    /// What ends a cell or a row becomes a space.
    fn append(&self, row: &mut Vec<u8>, cell: &str) {
        let shown = cell.chars().map(|c| if c.is_control() { ' ' } else { c });
        row.push(TAB as u8);
        row.extend(shown.collect::<String>().into_bytes());
    }
}

impl Delimited for crate::csv::Rows {
    fn advance(&mut self) -> Result<bool> {
        crate::csv::Rows::advance(self)
    }

    fn bytes_read(&self) -> u64 {
        self.source().bytes_read()
    }

    fn raw(&self) -> (&[u8], &'static [u8]) {
        crate::csv::Rows::raw(self)
    }

    fn error(&self, message: String) -> Error {
        crate::csv::Rows::error(self, message)
    }

    fn cells(&self) -> Result<Vec<&str>, String> {
        (0..self.len()).map(|index| self.value(index)).collect()
    }

    fn len(&self) -> usize {
        crate::csv::Rows::len(self)
    }

    fn append(&self, row: &mut Vec<u8>, cell: &str) {
        row.push(self.delimiter());
        csv::push_cell(row, cell, self.delimiter());
    }
}

/// Rows after one that names the columns.
struct Table<R> {
    rows: R,
    /// How many columns there are.
    width: usize,
}

impl<R: Delimited> Table<R> {
    /// The rows after the one that has been read.
    fn of(rows: R) -> Self {
        let width = rows.len();
        Table { rows, width }
    }

    /// The row with further cells.
    fn with_cells<'c>(&self, cells: impl Iterator<Item = &'c str>) -> Vec<u8> {
        let mut row = self.rows.raw().0.to_owned();
        cells.for_each(|cell| self.rows.append(&mut row, cell));
        row
    }
}

impl<R: Delimited> Rows for Table<R> {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.rows.advance())
    }

    fn row(&mut self, _: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let cells = self.rows.cells()?.into_iter();
        row.extend(cells.map(|cell| Cell::Text(cell.to_owned())));
        match row.len() == self.width {
            true => Ok(()),
            false => Err("has not as many columns as the table".into()),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }
}

impl<R: Delimited> Records for Table<R> {
    fn columns(&self) -> Result<Columns> {
        let names = self.rows.cells();
        let names = names.map_err(|message| self.rows.error(message))?;
        Ok(Columns::of_table(names.into_iter()))
    }

    fn write_header(&self, copier: &mut Copier<'_>, fields: &[NewField]) -> Result<()> {
        let (row, end) = self.rows.raw();
        let is_first = !std::mem::replace(&mut copier.has_header, true);
        if fields.is_empty() {
            return match is_first {
                true => copier.write_raw((row, end)),
                false => Ok(()),
            };
        }
        if let Some(field) = self.columns()?.clash(fields) {
            return Err(self.rows.error(has_already(field)));
        }
        if !is_first {
            return Ok(());
        }
        let row = self.with_cells(fields.iter().map(|field| field.name.as_str()));
        // Others follow it.
        let end: &[u8] = if end.is_empty() { b"\n" } else { end };
        copier.write_raw((&row, end))
    }

    fn write(&mut self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        let (row, end) = self.rows.raw();
        // A row of another length has no place for new cells.
        if fields.is_empty() || self.rows.len() != self.width {
            return copier.write_raw((row, end));
        }
        let cells: Vec<Cell> = match new_values(fields, fate) {
            Some(values) => values.iter().map(Cell::of).collect(),
            None => vec![Cell::Null; fields.len()],
        };
        let row = self.with_cells(cells.iter().map(|cell| cell.text().unwrap_or_default()));
        copier.write_raw((&row, end))
    }
}

/// The documents of a web archive.
#[cfg(feature = "warc")]
impl Rows for WarcReader {
    fn advance(&mut self) -> Result<Option<bool>> {
        let document = self.next_document();
        readable(document.map_or(Ok(false), |document| document.map(|_| true)))
    }

    fn row(&mut self, _: &mut Columns, _: &mut Vec<Cell>) -> Result<(), String> {
        Err("has no fields".into())
    }

    fn bytes_read(&self) -> u64 {
        WarcReader::bytes_read(self)
    }
}

#[cfg(feature = "warc")]
impl Records for WarcReader {
    fn write(&mut self, copier: &mut Copier<'_>, _: &[NewField], _: &Fate) -> Result<()> {
        copier.write_parts(self.raw())
    }
}

/// The paths of documents.
struct Paths {
    files: FilesReader,
    /// The path, or why there is none.
    path: Result<String>,
}

impl Rows for Paths {
    fn advance(&mut self) -> Result<Option<bool>> {
        let Some(path) = self.files.next_path() else {
            return Ok(None);
        };
        let is_record = !matches!(path, Ok(None));
        self.path = path.map(Option::unwrap_or_default);
        Ok(Some(is_record))
    }

    fn row(&mut self, _: &mut Columns, _: &mut Vec<Cell>) -> Result<(), String> {
        Err("has no fields".into())
    }

    fn bytes_read(&self) -> u64 {
        0
    }
}

impl Records for Paths {
    fn write(&mut self, copier: &mut Copier<'_>, _: &[NewField], _: &Fate) -> Result<()> {
        let path = std::mem::replace(&mut self.path, Ok(String::new()))?;
        copier.write(Escaped(&path).to_string().as_bytes(), b"\n")
    }
}
