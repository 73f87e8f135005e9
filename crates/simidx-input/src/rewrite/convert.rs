//! Converts records from one format to another.

use std::io::Write;

use super::records::Records;
use super::{RecordFate, csv};
use crate::InputFile;
use crate::cells::{Cell, Columns, Kind, fit, has_already, write_object};
#[cfg(feature = "parquet")]
use crate::columnar::ParquetOut;
use crate::new_fields::{Fate, NewField};
use crate::source::input_error;
use crate::{Format, Place, Result};

/// Receives rows: the columns, the cells of a record, and those of its new fields.
type Take<'a> = &'a mut dyn FnMut(&mut Columns, &[Cell], &[Cell]) -> Result<()>;

/// See [`rewrite_records`](super::rewrite_records).
pub(super) fn convert(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    (format, fields): (Format, &[NewField]),
    fate: RecordFate<'_>,
) -> Result<u64> {
    if format == Format::Jsonl {
        let mut columns = Columns::default();
        let mut line = Vec::new();
        return each_row(
            inputs,
            &mut columns,
            fields,
            fate,
            &mut |columns, row, new| {
                line.clear();
                write_line(columns, row, (fields, new), &mut line);
                Ok(out.write_all(&line)?)
            },
        );
    }
    let mut columns = columns(inputs, fields, fate)?;
    match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let mut writer = ParquetOut::new(out, &columns, fields)?;
            let lost = each_row(inputs, &mut columns, fields, fate, &mut |_, row, new| {
                writer.row(row, new)
            })?;
            writer.finish()?;
            Ok(lost)
        }
        Format::Csv => {
            let names = columns.names.iter().chain(fields.iter().map(|f| &f.name));
            csv::write_csv_row(out, names.map(String::as_str))?;
            let width = columns.names.len();
            each_row(inputs, &mut columns, fields, fate, &mut |_, row, new| {
                // The last members of an object may be missing.
                let own = (0..width).map(|i| row.get(i).unwrap_or(&Cell::Missing));
                let cells = own.chain(new).map(|cell| cell.text().unwrap_or_default());
                Ok(csv::write_csv_row(out, cells)?)
            })
        }
        _ => {
            let message = match format {
                Format::Parquet => "Parquet files need a simidx-input with its feature `parquet`",
                _ => "records become jsonl, csv or parquet",
            };
            Err(input_error(inputs[0].name(), Place::File, message))
        }
    }
}

/// Returns the columns of all records that are not dropped.
fn columns(inputs: &[InputFile], fields: &[NewField], fate: RecordFate<'_>) -> Result<Columns> {
    let mut columns = Columns::default();
    let is_json = |input: &InputFile| matches!(input.format(), Format::Jsonl | Format::Json);
    if inputs.iter().any(is_json) {
        // Opening an input may determine the kinds of the columns.
        let mut kinds = Vec::new();
        each_row(inputs, &mut columns, fields, fate, &mut |_, row, _| {
            fit(&mut kinds, row);
            Ok(())
        })?;
        kinds.resize(columns.names.len(), Kind::Unknown);
        columns.kinds = kinds;
    } else if let Some(first) = inputs.first() {
        open(first, &mut columns)?;
        check(first, &columns, fields)?;
    }
    Ok(columns)
}

/// Opens an input whose records have fields. `columns` are those of the inputs before it.
fn open(input: &InputFile, columns: &mut Columns) -> Result<Records> {
    #[cfg(feature = "arrow")]
    if matches!(input.format(), Format::Parquet | Format::Arrow) {
        return Ok(Records::Batches(crate::columnar::BatchRows::open(
            input, columns,
        )?));
    }
    let records = Records::open(input)?;
    if columns.names.is_empty() {
        *columns = records.columns()?;
    }
    Ok(records)
}

fn check(input: &InputFile, columns: &Columns, fields: &[NewField]) -> Result<()> {
    match columns.clash(fields) {
        Some(field) => Err(input_error(input.name(), Place::File, has_already(field))),
        None => Ok(()),
    }
}

/// Calls `take` with the records that are not dropped. Returns how many cannot be converted.
fn each_row(
    inputs: &[InputFile],
    columns: &mut Columns,
    fields: &[NewField],
    fate: RecordFate<'_>,
    take: Take<'_>,
) -> Result<u64> {
    let none = vec![Cell::Null; fields.len()];
    let (mut number, mut bytes_before, mut lost) = (0, 0, 0);
    let mut row = Vec::new();
    for input in inputs {
        input.check_unchanged()?;
        let mut rows = open(input, columns)?;
        while let Some(is_record) = rows.advance()? {
            let fate = fate(number, bytes_before + rows.bytes_read())?;
            number += 1;
            if fate == Fate::Dropped {
                continue;
            }
            row.clear();
            if !is_record || rows.row(columns, &mut row).is_err() {
                lost += 1;
                continue;
            }
            check(input, columns, fields)?;
            match fate {
                Fate::With(values) => {
                    let new: Vec<Cell> = values.iter().map(Cell::of).collect();
                    take(columns, &row, &new)?;
                }
                _ => take(columns, &row, &none)?,
            }
        }
        bytes_before += rows.bytes_read();
        input.check_unchanged()?;
    }
    Ok(lost)
}

/// Appends a line of JSON.
fn write_line(
    columns: &Columns,
    row: &[Cell],
    (fields, new): (&[NewField], &[Cell]),
    line: &mut Vec<u8>,
) {
    let own = columns.names.iter().zip(row);
    let new = fields.iter().map(|field| &field.name).zip(new);
    let members = own.chain(new).filter(|(_, cell)| **cell != Cell::Missing);
    write_object(members.map(|(name, cell)| (name.as_str(), cell)), line);
    line.push(b'\n');
}
