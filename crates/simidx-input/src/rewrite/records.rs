//! The records of an input, one by one, as raw bytes.

use std::borrow::Cow;

use super::copier::Copier;
use super::{csv, json};
use crate::fields::Holds;
use crate::files::FilesReader;
use crate::items::Items;
use crate::json::Values;
use crate::line_source::LineSource;
use crate::new_fields::{Fate, FieldValue, NewField, has_already};
#[cfg(feature = "warc")]
use crate::warc::WarcReader;
use crate::{Error, Escaped, Format, InputFile, MAX_DOCUMENT, Result, columns};

/// The records of an input.
pub(super) enum Records {
    /// Lines, rows or values.
    Items(Box<dyn Items>, Shape),
    #[cfg(feature = "warc")]
    Warc(WarcReader),
    /// Documents, and the path of the last one.
    Files(FilesReader, String),
}

/// The shape of items.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A record on each line, of which only JSON objects have fields.
    Line,
    /// A JSON object independent of line ends, possibly an element of an array.
    Value,
    /// A row after a header, which has this many columns.
    Row {
        width: usize,
        /// The delimiter of comma-separated values; `None` in a table without quoting.
        delimiter: Option<u8>,
    },
}

impl Records {
    /// Opens an input that is neither Parquet nor Arrow.
    pub(super) fn open(input: &InputFile) -> Result<Self> {
        let (items, shape): (Box<dyn Items>, _) = match input.format {
            Format::Files => {
                let files = FilesReader::open(&input.path, input.options.encoding)?;
                return Ok(Records::Files(files, String::new()));
            }
            #[cfg(feature = "warc")]
            Format::Warc => {
                let warc = WarcReader::new(input.source()?, input.options.encoding);
                return Ok(Records::Warc(warc));
            }
            Format::Csv => {
                let rows = crate::csv::open_rows(input.text()?, &input.options)?;
                let (width, delimiter) = (rows.cell_count(), Some(rows.delimiter()));
                (Box::new(rows), Shape::Row { width, delimiter })
            }
            Format::Json => {
                let values = Values::new(input.text()?, MAX_DOCUMENT);
                (Box::new(values), Shape::Value)
            }
            Format::Tsv if !input.header.is_empty() => {
                let (mut lines, delimiter) = (lines(input)?, None);
                lines.advance()?;
                let width = lines.cell_count();
                (Box::new(lines), Shape::Row { width, delimiter })
            }
            _ => (Box::new(lines(input)?), Shape::Line),
        };
        Ok(Records::Items(items, shape))
    }

    /// Advances to the next record. Returns whether it can be read, or `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<bool>> {
        let advanced = match self {
            Records::Items(items, _) => items.advance(),
            #[cfg(feature = "warc")]
            Records::Warc(warc) => warc.next_document().map_or(Ok(false), |d| d.map(|_| true)),
            Records::Files(files, path) => files.next_path().map_or(Ok(false), |next| {
                *path = next?;
                Ok(true)
            }),
        };
        match advanced {
            Ok(is_record) => Ok(is_record.then_some(true)),
            Err(Error::Input(_)) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Records::Items(items, _) => items.source().bytes_read(),
            #[cfg(feature = "warc")]
            Records::Warc(warc) => warc.bytes_read(),
            Records::Files(..) => 0,
        }
    }

    /// Writes the header of a table, with the names of new fields.
    pub(super) fn write_header(&self, copier: &mut Copier<'_>, fields: &[NewField]) -> Result<()> {
        let Records::Items(header, Shape::Row { delimiter, .. }) = self else {
            return Ok(());
        };
        let (row, end) = header.raw();
        let is_first = !std::mem::replace(&mut copier.has_header, true);
        if fields.is_empty() {
            return match is_first {
                true => copier.write_raw((row, end)),
                false => Ok(()),
            };
        }
        let columns = header.cells();
        let columns = columns.map_err(|message| header.error_at(0, message))?;
        if let Some(field) = fields
            .iter()
            .find(|new| columns.contains(&new.name.as_str()))
        {
            return Err(header.error_at(0, has_already(field)));
        }
        if !is_first {
            return Ok(());
        }
        let names = fields.iter().map(|field| field.name.as_str());
        // Other records follow the header.
        let end: &[u8] = if end.is_empty() { b"\n" } else { end };
        copier.write_raw((&with_cells(row, *delimiter, names), end))
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
        let (items, shape) = match self {
            Records::Items(items, shape) => (&**items, *shape),
            #[cfg(feature = "warc")]
            Records::Warc(warc) => return copier.write_parts(warc.raw()),
            Records::Files(_, path) => {
                return copier.write(Escaped(path).to_string().as_bytes(), b"\n");
            }
        };
        let (raw, end) = items.raw();
        match (shape, values) {
            (Shape::Line, None) => copier.write_raw((raw, end)),
            (Shape::Line, Some(values)) => copier.write(&with_members(items, fields, values)?, end),
            (Shape::Value, _) => {
                copier.note_array(items);
                match values {
                    None => copier.write_value(raw),
                    Some(values) => copier.write_value(&with_members(items, fields, values)?),
                }
            }
            (Shape::Row { width, delimiter }, _) => {
                // A row of another length cannot have new cells.
                if fields.is_empty() || items.cell_count() != width {
                    return copier.write_raw((raw, end));
                }
                let cells = new_cells(fields, values);
                let cells = cells.iter().map(|cell| &**cell);
                copier.write_raw((&with_cells(raw, delimiter, cells), end))
            }
        }
    }

    /// Records properties that are known only at the end of the records.
    pub(super) fn end(&self, copier: &mut Copier<'_>) {
        if let Records::Items(items, Shape::Value) = self {
            copier.note_array(&**items);
        }
    }
}

/// Returns a row with further cells. In a table without quoting, line ends and tabs in them become spaces.
fn with_cells<'c>(
    row: &[u8],
    delimiter: Option<u8>,
    cells: impl Iterator<Item = &'c str>,
) -> Vec<u8> {
    let mut row = row.to_owned();
    for cell in cells {
        row.push(delimiter.unwrap_or(b'\t'));
        match delimiter {
            Some(delimiter) => csv::push_cell(&mut row, cell, delimiter),
            None => {
                let shown = cell.chars().map(|c| if c.is_control() { ' ' } else { c });
                row.extend(shown.collect::<String>().into_bytes());
            }
        }
    }
    row
}

/// Returns the cells of new fields, which may have no values in a record.
fn new_cells<'v>(
    fields: &[NewField],
    values: Option<&'v [Option<FieldValue>]>,
) -> Vec<Cow<'v, str>> {
    let Some(values) = values else {
        return vec![Cow::default(); fields.len()];
    };
    let texts = values
        .iter()
        .map(|value| value.as_ref().map(FieldValue::text));
    texts.map(Option::unwrap_or_default).collect()
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

/// Returns an object with further members at its end.
fn with_members(
    object: &dyn Items,
    fields: &[NewField],
    values: &[Option<FieldValue>],
) -> Result<Vec<u8>> {
    let object_with = json::with_members(object.text()?, fields, values);
    object_with.map_err(|message| object.error_at(0, message))
}
