//! New fields for records that are copied otherwise: members of JSON objects, columns of tables.

use std::io::Write;

use super::{RecordFate, csv, json};
use crate::cells::{Cell, Columns, has_already};
use crate::copy::{Copier, lines, readable};
use crate::json::Values;
use crate::line_source::LineSource;
use crate::new_fields::{Fate, FieldValue, NewField};
use crate::{Format, InputFile, MAX_DOCUMENT, Result};

/// What stands between the columns of a table.
const TAB: char = '\t';

/// Records that can be written with new fields.
trait Records {
    /// Goes on to the next record; says whether it can be read, and nothing at the end.
    fn advance(&mut self) -> Result<Option<bool>>;

    /// Writes the record with the values of its new fields.
    fn write(&self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()>;

    fn bytes_read(&self) -> u64;

    /// Notes what is known at the end of the records only.
    fn end(&self, _: &mut Copier<'_>) {}
}

/// See [`rewrite_records`](super::rewrite_records).
pub(super) fn add_fields(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RecordFate<'_>,
) -> Result<u64> {
    let mut out = out;
    let mut copier = Copier::new(&mut out);
    let (mut number, mut lost) = (0, 0);
    for input in inputs {
        input.check_unchanged()?;
        let mut records = open(input, &mut copier, fields)?;
        while let Some(is_record) = records.advance()? {
            let fate = fate(number, copier.bytes_before + records.bytes_read())?;
            number += 1;
            match (fate, is_record) {
                (Fate::Dropped, _) => {}
                (_, false) => lost += 1,
                (fate, true) => records.write(&mut copier, fields, &fate)?,
            }
        }
        records.end(&mut copier);
        copier.bytes_before += records.bytes_read();
        input.check_unchanged()?;
    }
    copier.finish()?;
    Ok(lost)
}

/// Opens an input; the names of the columns are written for the first one.
fn open(
    input: &InputFile,
    copier: &mut Copier<'_>,
    fields: &[NewField],
) -> Result<Box<dyn Records>> {
    Ok(match input.format() {
        Format::Csv => Box::new(CsvRows::open(input, copier, fields)?),
        Format::Json => Box::new(Elements(Values::new(input.text()?, MAX_DOCUMENT))),
        Format::Tsv => Box::new(TableRows::open(input, copier, fields)?),
        _ => Box::new(Objects(lines(input)?)),
    })
}

/// The values of the new cells of a row.
fn new_cells(fields: &[NewField], fate: &Fate) -> Vec<Cell> {
    match fate {
        Fate::With(values) => values.iter().map(Cell::of).collect(),
        _ => vec![Cell::of(&None::<FieldValue>); fields.len()],
    }
}

/// A JSON object on each line.
struct Objects(LineSource);

impl Records for Objects {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.0.advance())
    }

    fn write(&self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        let Fate::With(values) = fate else {
            return copier.write_raw(self.0.raw());
        };
        let object = json::with_members(self.0.text()?, fields, values);
        let object = object.map_err(|message| self.0.error(message))?;
        copier.write(&object, self.0.raw().1)
    }

    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }
}

/// Objects wherever their lines end, maybe elements of an array.
struct Elements(Values);

impl Records for Elements {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.0.advance())
    }

    fn write(&self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        copier.note_array(&self.0);
        let Fate::With(values) = fate else {
            return copier.write_value(self.0.raw());
        };
        let object = json::with_members(self.0.text()?, fields, values);
        let object = object.map_err(|message| self.0.error(0, &message))?;
        copier.write_value(&object)
    }

    fn bytes_read(&self) -> u64 {
        self.0.source().bytes_read()
    }

    fn end(&self, copier: &mut Copier<'_>) {
        copier.note_array(&self.0);
    }
}

/// Cells between tabs, after a line of names.
struct TableRows {
    lines: LineSource,
    columns: usize,
}

impl TableRows {
    fn open(input: &InputFile, copier: &mut Copier<'_>, fields: &[NewField]) -> Result<Self> {
        let mut lines = lines(input)?;
        lines.advance()?;
        let header = lines.text()?;
        let columns = Columns::of_table(header.split(TAB));
        if let Some(field) = columns.clash(fields) {
            return Err(lines.error(has_already(field)));
        }
        if !std::mem::replace(&mut copier.has_header, true) {
            let names = fields.iter().map(|field| field.name.as_str());
            copier.write(&with_cells(header, names), line_end(lines.raw().1))?;
        }
        let columns = columns.names.len();
        Ok(TableRows { lines, columns })
    }
}

impl Records for TableRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.lines.advance())
    }

    fn write(&self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        let (line, end) = self.lines.raw();
        match self.lines.text() {
            Ok(row) if row.split(TAB).count() == self.columns => {
                let cells = new_cells(fields, fate);
                let texts = cells.iter().map(|cell| cell.text().unwrap_or_default());
                copier.write(&with_cells(row, texts), end)
            }
            // It has no place for them.
            _ => copier.write_raw((line, end)),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

/// A row with further cells. What ends a cell or a row becomes a space.
fn with_cells<'a>(row: &str, cells: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut row = row.to_owned();
    for cell in cells {
        row.push(TAB);
        row.extend(cell.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }
    row.into_bytes()
}

/// The end of a first line, which others follow.
fn line_end(end: &'static [u8]) -> &'static [u8] {
    match end {
        b"" => b"\n",
        end => end,
    }
}

/// Values between delimiters, some in quotation marks, after a row of names.
struct CsvRows {
    rows: crate::csv::Rows,
    columns: usize,
}

impl CsvRows {
    fn open(input: &InputFile, copier: &mut Copier<'_>, fields: &[NewField]) -> Result<Self> {
        let rows = crate::csv::open_rows(input.text()?, &input.options)?;
        let columns = csv::columns(&rows).map_err(|message| rows.error(message))?;
        if let Some(field) = columns.clash(fields) {
            return Err(rows.error(has_already(field)));
        }
        if !std::mem::replace(&mut copier.has_header, true) {
            let names = fields.iter().map(|field| field.name.as_str());
            let (row, end) = rows.raw();
            let row = csv::with_cells(row, rows.delimiter(), names);
            copier.write_raw((&row, line_end(end)))?;
        }
        let columns = columns.names.len();
        Ok(CsvRows { rows, columns })
    }
}

impl Records for CsvRows {
    fn advance(&mut self) -> Result<Option<bool>> {
        readable(self.rows.advance())
    }

    fn write(&self, copier: &mut Copier<'_>, fields: &[NewField], fate: &Fate) -> Result<()> {
        let (row, end) = self.rows.raw();
        // Others have no place for new cells.
        if self.rows.len() != self.columns {
            return copier.write_raw((row, end));
        }
        let cells = new_cells(fields, fate);
        let texts = cells.iter().map(|cell| cell.text().unwrap_or_default());
        let row = csv::with_cells(row, self.rows.delimiter(), texts);
        copier.write_raw((&row, end))
    }

    fn bytes_read(&self) -> u64 {
        self.rows.source().bytes_read()
    }
}
