//! The records of an input, one by one, as raw bytes and as cells.

use super::copier::Copier;
use super::{csv, json};
use crate::cells::{Cell, Columns, has_already};
#[cfg(feature = "arrow")]
use crate::columnar::BatchRows;
use crate::csv::Rows;
use crate::fields::Holds;
use crate::files::FilesReader;
use crate::items::Items;
use crate::json::Values;
use crate::line_source::LineSource;
use crate::new_fields::{Fate, FieldValue, NewField};
#[cfg(feature = "warc")]
use crate::warc::WarcReader;
use crate::{Error, Escaped, Format, InputFile, MAX_DOCUMENT, Result, columns};

/// The separator of columns in a table.
const TAB: char = '\t';

/// The records of an input.
pub(super) enum Records {
    /// A record on each line, of which only JSON objects have fields.
    Lines(LineSource),
    /// Objects independent of line ends, possibly elements of an array.
    Values(Values),
    /// Rows after a header, and the number of its columns.
    Tsv(LineSource, usize),
    Csv(Box<Rows>, usize),
    #[cfg(feature = "warc")]
    Warc(WarcReader),
    /// Documents, and the path of the last one.
    Files(FilesReader, String),
    #[cfg(feature = "arrow")]
    Batches(BatchRows),
}

impl Records {
    /// Opens an input that is neither Parquet nor Arrow.
    pub(super) fn open(input: &InputFile) -> Result<Self> {
        Ok(match input.format {
            Format::Files => {
                let files = FilesReader::open(&input.path, input.options.encoding)?;
                Records::Files(files, String::new())
            }
            #[cfg(feature = "warc")]
            Format::Warc => Records::Warc(WarcReader::new(input.source()?, input.options.encoding)),
            Format::Csv => {
                let rows = crate::csv::open_rows(input.text()?, &input.options)?;
                let width = rows.len();
                Records::Csv(Box::new(rows), width)
            }
            Format::Json => Records::Values(Values::new(input.text()?, MAX_DOCUMENT)),
            Format::Tsv if !input.header.is_empty() => {
                let mut lines = lines(input)?;
                lines.advance()?;
                let width = tab_cells(&lines).map_or(0, |cells| cells.len());
                Records::Tsv(lines, width)
            }
            _ => Records::Lines(lines(input)?),
        })
    }

    /// Advances to the next record. Returns whether it can be read, or `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<bool>> {
        let advanced = match self {
            Records::Lines(lines) | Records::Tsv(lines, _) => lines.advance(),
            Records::Values(values) => values.advance(),
            Records::Csv(rows, _) => rows.advance(),
            #[cfg(feature = "warc")]
            Records::Warc(warc) => warc.next_document().map_or(Ok(false), |d| d.map(|_| true)),
            Records::Files(files, path) => files.next_path().map_or(Ok(false), |next| {
                *path = next?;
                Ok(true)
            }),
            #[cfg(feature = "arrow")]
            // An error in a batch is an error of the file.
            Records::Batches(batches) => return Ok(batches.advance()?.then_some(true)),
        };
        match advanced {
            Ok(is_record) => Ok(is_record.then_some(true)),
            Err(Error::Input(_)) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Records::Lines(lines) | Records::Tsv(lines, _) => lines.source().bytes_read(),
            Records::Values(values) => values.source().bytes_read(),
            Records::Csv(rows, _) => rows.source().bytes_read(),
            #[cfg(feature = "warc")]
            Records::Warc(warc) => warc.bytes_read(),
            Records::Files(..) => 0,
            #[cfg(feature = "arrow")]
            Records::Batches(batches) => batches.bytes_read(),
        }
    }

    /// Appends the cells of the record, each in its column.
    pub(super) fn row(&self, columns: &mut Columns, row: &mut Vec<Cell>) -> Result<(), String> {
        let (cells, width) = match self {
            Records::Lines(lines) => return take_apart(lines, columns, row),
            Records::Values(values) => return take_apart(values, columns, row),
            Records::Tsv(lines, width) => (tab_cells(lines)?, *width),
            Records::Csv(rows, width) => (rows.values()?, *width),
            #[cfg(feature = "arrow")]
            Records::Batches(batches) => return batches.row(row),
            _ => return Err("has no fields".into()),
        };
        row.extend(cells.iter().map(|&cell| Cell::Text(cell.to_owned())));
        match cells.len() == width {
            true => Ok(()),
            false => Err("has not as many columns as the table".into()),
        }
    }

    /// The columns in the header of a table; none for other inputs.
    pub(super) fn columns(&self) -> Result<Columns> {
        match self {
            Records::Tsv(lines, _) => columns_of(lines, tab_cells(lines)),
            Records::Csv(rows, _) => columns_of(&**rows, rows.values()),
            _ => Ok(Columns::default()),
        }
    }

    /// Writes the header of a table, with the names of new fields.
    pub(super) fn write_header(&self, copier: &mut Copier<'_>, fields: &[NewField]) -> Result<()> {
        let (row, end) = match self {
            Records::Tsv(lines, _) => lines.raw(),
            Records::Csv(rows, _) => rows.raw(),
            _ => return Ok(()),
        };
        let is_first = !std::mem::replace(&mut copier.has_header, true);
        if fields.is_empty() {
            return match is_first {
                true => copier.write_raw((row, end)),
                false => Ok(()),
            };
        }
        if let Some(field) = self.columns()?.clash(fields) {
            return Err(match self {
                Records::Csv(rows, _) => rows.error(has_already(field)),
                Records::Tsv(lines, _) => lines.error(has_already(field)),
                _ => unreachable!("only tables have a header"),
            });
        }
        if !is_first {
            return Ok(());
        }
        let row = self.with_cells(row, fields.iter().map(|field| field.name.as_str()));
        // Other records follow the header.
        let end: &[u8] = if end.is_empty() { b"\n" } else { end };
        copier.write_raw((&row, end))
    }

    /// Writes the record with the values of its new fields, if there are such fields.
    pub(super) fn write(
        &self,
        copier: &mut Copier<'_>,
        fields: &[NewField],
        fate: &Fate,
    ) -> Result<()> {
        let values = match fate {
            Fate::With(values) if !fields.is_empty() => Some(&values[..]),
            _ => None,
        };
        match self {
            Records::Lines(lines) => match values {
                None => copier.write_raw(lines.raw()),
                Some(values) => copier.write(&with_members(lines, fields, values)?, lines.raw().1),
            },
            Records::Values(json) => {
                copier.note_array(json);
                match values {
                    None => copier.write_value(json.raw().0),
                    Some(values) => copier.write_value(&with_members(json, fields, values)?),
                }
            }
            // A row of another length cannot have new cells.
            Records::Tsv(lines, width) => {
                let is_whole = |cells: Vec<&str>| cells.len() == *width;
                let grows = !fields.is_empty() && tab_cells(lines).is_ok_and(is_whole);
                self.write_row(
                    copier,
                    lines.raw(),
                    grows.then(|| new_cells(fields, values)),
                )
            }
            Records::Csv(rows, width) => {
                let grows = !fields.is_empty() && rows.len() == *width;
                self.write_row(copier, rows.raw(), grows.then(|| new_cells(fields, values)))
            }
            #[cfg(feature = "warc")]
            Records::Warc(warc) => copier.write_parts(warc.raw()),
            Records::Files(_, path) => copier.write(Escaped(path).to_string().as_bytes(), b"\n"),
            #[cfg(feature = "arrow")]
            Records::Batches(_) => unreachable!("rows of these files are copied together"),
        }
    }

    /// Records properties that are known only at the end of the records.
    pub(super) fn end(&self, copier: &mut Copier<'_>) {
        if let Records::Values(values) = self {
            copier.note_array(values);
        }
    }

    /// Writes a row of a table, with optional further cells.
    fn write_row(
        &self,
        copier: &mut Copier<'_>,
        (row, end): (&[u8], &[u8]),
        cells: Option<Vec<Cell>>,
    ) -> Result<()> {
        let Some(cells) = cells else {
            return copier.write_raw((row, end));
        };
        let cells = cells.iter().map(|cell| cell.text().unwrap_or_default());
        copier.write_raw((&self.with_cells(row, cells), end))
    }

    /// Returns a row with further cells. In a tab-separated table, line ends and tabs in them become spaces.
    fn with_cells<'c>(&self, row: &[u8], cells: impl Iterator<Item = &'c str>) -> Vec<u8> {
        let mut row = row.to_owned();
        for cell in cells {
            if let Records::Csv(rows, _) = self {
                row.push(rows.delimiter());
                csv::push_cell(&mut row, cell, rows.delimiter());
                continue;
            }
            let shown = cell.chars().map(|c| if c.is_control() { ' ' } else { c });
            row.push(TAB as u8);
            row.extend(shown.collect::<String>().into_bytes());
        }
        row
    }
}

/// Returns the cells of new fields, which may have no values in a record.
fn new_cells(fields: &[NewField], values: Option<&[Option<FieldValue>]>) -> Vec<Cell> {
    match values {
        Some(values) => values.iter().map(Cell::of).collect(),
        None => vec![Cell::Null; fields.len()],
    }
}

/// Returns the lines of an input, with the limit of its reader.
fn lines(input: &InputFile) -> Result<LineSource> {
    let limit = match input.format {
        Format::Hex | Format::Dec => columns::MAX_LINE,
        Format::Tsv if input.options.fields.holds() == Holds::Either => columns::MAX_LINE,
        _ => MAX_DOCUMENT,
    };
    Ok(LineSource::new(input.text()?, limit))
}

/// Returns the cells of a tab-separated line.
fn tab_cells(lines: &LineSource) -> Result<Vec<&str>, String> {
    let line = std::str::from_utf8(lines.raw().0).map_err(|_| "not valid UTF-8")?;
    Ok(line.split(TAB).collect())
}

fn columns_of(row: &impl Items, names: Result<Vec<&str>, String>) -> Result<Columns> {
    let names = names.map_err(|message| row.error(message))?;
    Ok(Columns::of_table(names.into_iter()))
}

/// Converts an object to the cells of a row.
fn take_apart(
    object: &impl Items,
    columns: &mut Columns,
    row: &mut Vec<Cell>,
) -> Result<(), String> {
    let text = object.text().map_err(|error| error.to_string())?;
    json::take_apart(text, columns, row)
}

/// Returns an object with further members at its end.
fn with_members(
    object: &impl Items,
    fields: &[NewField],
    values: &[Option<FieldValue>],
) -> Result<Vec<u8>> {
    let object_with = json::with_members(object.text()?, fields, values);
    object_with.map_err(|message| object.error(message))
}
