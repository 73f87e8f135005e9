//! New fields for records that are lines: members of JSON objects, columns of tables.

use std::io::Write;

use super::cells::{Cell, Columns, has_already};
use super::{Fate, FieldValue, NewField, RecordFate, json};
use crate::InputFile;
use crate::copy::{Copier, lines};
use crate::line_source::LineSource;
use crate::{Error, Result};

/// What stands between the columns of a table.
const TAB: char = '\t';

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
        let mut lines = lines(input)?;
        let table = match input.header.is_empty() {
            true => None,
            false => Some(copy_header(&mut copier, &mut lines, fields)?),
        };
        while let Some(is_line) = advance(&mut lines)? {
            let fate = fate(number, copier.bytes_before + lines.bytes_read())?;
            number += 1;
            if fate == Fate::Dropped {
                continue;
            }
            if !is_line {
                lost += 1;
                continue;
            }
            let edited = match table {
                None => object(&lines, fields, &fate)?,
                Some(columns) => row(&lines, columns, fields, &fate),
            };
            match edited {
                None => copier.write_record(&lines)?,
                Some(edited) => copier.write(&edited, lines.raw().1)?,
            }
        }
        copier.bytes_before += lines.bytes_read();
        input.check_unchanged()?;
    }
    Ok(lost)
}

/// Goes on to the next line; says whether it can be read, and nothing at the end.
pub(super) fn advance(lines: &mut LineSource) -> Result<Option<bool>> {
    match lines.advance() {
        Ok(true) => Ok(Some(true)),
        Ok(false) => Ok(None),
        Err(Error::Input(_)) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// Reads the names of the columns, and writes them with those of the new ones for the first input; returns their number.
fn copy_header(
    copier: &mut Copier<'_>,
    lines: &mut LineSource,
    fields: &[NewField],
) -> Result<usize> {
    lines.advance()?;
    let header = lines.text()?;
    let columns = Columns::of_table(header.split(TAB));
    if let Some(field) = columns.clash(fields) {
        return Err(lines.error(has_already(field)));
    }
    if !std::mem::replace(&mut copier.has_header, true) {
        let names = fields.iter().map(|field| field.name.as_str());
        let names = with_cells(header, names);
        let end = match lines.raw().1 {
            b"" => b"\n",
            end => end,
        };
        copier.write(&names, end)?;
    }
    Ok(columns.names.len())
}

/// A JSON object with new members.
fn object(lines: &LineSource, fields: &[NewField], fate: &Fate) -> Result<Option<Vec<u8>>> {
    let Fate::With(values) = fate else {
        return Ok(None);
    };
    let object = json::with_members(lines.text()?, fields, values);
    object.map(Some).map_err(|message| lines.error(message))
}

/// A row of a table with new cells. One that has not as many as the table has no place for them.
fn row(lines: &LineSource, columns: usize, fields: &[NewField], fate: &Fate) -> Option<Vec<u8>> {
    let line = lines.text().ok()?;
    if line.split(TAB).count() != columns {
        return None;
    }
    let none = vec![None::<FieldValue>; fields.len()];
    let values = match fate {
        Fate::With(values) => values,
        _ => &none,
    };
    let cells: Vec<Cell> = values.iter().map(Cell::of).collect();
    let texts = cells.iter().map(|cell| cell.text().unwrap_or_default());
    Some(with_cells(line, texts))
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
