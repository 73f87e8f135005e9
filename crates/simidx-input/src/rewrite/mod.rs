//! Copies records, with further fields if they are to get some.

mod copier;
mod csv;
mod json;
mod records;

use std::io::{self, Write};

use copier::Copier;
pub use csv::write_csv_row;
use records::Records;

use super::input_file::InputFile;
use super::new_fields::{Fate, NewField};
use super::source::input_error;
use super::{Format, Place};
use crate::Result;

/// Decides the fate of a record, given its number among those of all inputs, from 0, and the number of bytes read so
/// far from all inputs.
pub type RecordFate<'a> = &'a mut dyn FnMut(u64, u64) -> io::Result<Fate>;

/// Writes the records that `fate` does not drop to `out`, in order, with these new fields. The output of compressed
/// inputs is not compressed. Returns how many of these records could not be written because they cannot be read, for
/// example lines that are too long.
///
/// Without new fields, records are copied byte for byte, except that decoded lines are written in UTF-8. For an
/// example, see [`InputFile`].
///
/// - Line formats: a record is its line with its end. A last line without an end gets one if another record follows. A
///   first record that begins with a byte order mark gets another, because readers ignore one at the start of a file.
///   The header of a `tsv` is copied once. Lines without a record are left out.
/// - `csv`: a record is its row with its end, in the same way. The row with the names of the columns is copied once.
/// - `json`: the output is an array if the first input begins with one; otherwise, each value begins on a new line.
///   Text between values is not copied.
/// - `files`: a record is written as its path on a line.
/// - `warc`: a record is written with its header; records that are not documents are left out. `out` is flushed after
///   each, so that it may compress each by itself, as other readers of compressed archives expect.
/// - `parquet`: rows are written with all columns, and with the schema, the metadata and the compression of the first
///   file; the others must have the same schema.
/// - `arrow`: like `parquet`; the output is a file or a stream, like the first input.
///
/// Only records with fields, see [`InputFile::has_fields`], can get new fields. A JSON object is copied unchanged, with
/// the new members at its end. So is a row of a table or of comma-separated values, with the same delimiter; a row with
/// another number of columns than the first gets no new ones. Parquet and Arrow files are encoded anew. With new fields, the metadata of Arrow in Parquet files, which would be incorrect, is left out.
///
/// ```
/// use simidx_input::{Fate, FieldKind, FieldValue, InputFile, NewField, rewrite_records};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("texts.jsonl");
/// std::fs::write(&path, "{\"text\": \"one\"}\n{\"text\": \"two\"}\n")?;
/// let input = InputFile::open(&path, None, None)?;
/// let fields = [NewField::new("length", FieldKind::Number)];
/// let mut out = Vec::new();
/// rewrite_records(&[input], &mut out, &fields, &mut |number, _| Ok(match number {
///     0 => Fate::With(vec![Some(FieldValue::Number(3))]),
///     _ => Fate::Dropped,
/// }))?;
/// assert_eq!(out, b"{\"text\": \"one\",\"length\":3}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// An input that cannot be read or has changed since it was opened, Parquet or Arrow files that differ in their
/// schemas, inputs whose records have no fields, a record that already has a new field, and any error of `out` and
/// `fate`.
pub fn rewrite_records(
    inputs: &[InputFile],
    mut out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RecordFate<'_>,
) -> Result<u64> {
    let Some(first) = inputs.first() else {
        return Ok(0);
    };
    inputs.iter().try_for_each(InputFile::check_copyable)?;
    if !fields.is_empty() {
        check_fields(inputs)?;
    }
    check_features(inputs)?;
    inputs.iter().try_for_each(InputFile::check_unchanged)?;
    let lost = match first.format() {
        // These columnar files are copied by rows.
        #[cfg(feature = "arrow")]
        Format::Parquet | Format::Arrow => {
            let mut number = 0;
            crate::columnar::copy_rows(inputs, out, fields, &mut |bytes| {
                number += 1;
                fate(number - 1, bytes)
            })?;
            0
        }
        _ => copy_records(inputs, &mut out, fields, fate)?,
    };
    inputs.iter().try_for_each(InputFile::check_unchanged)?;
    Ok(lost)
}

/// Records without named fields cannot get new ones.
fn check_fields(inputs: &[InputFile]) -> Result<()> {
    let Some(input) = inputs.iter().find(|input| !input.has_fields()) else {
        return Ok(());
    };
    let message = format!("records read as {} have no named fields", input.format());
    Err(input_error(input.name(), Place::File, message))
}

/// Opening a file whose feature is missing fails, with an error that names the feature.
fn check_features(inputs: &[InputFile]) -> Result<()> {
    let needs_feature = |input: &&InputFile| match input.format() {
        Format::Parquet => !cfg!(feature = "parquet"),
        Format::Arrow => !cfg!(feature = "arrow"),
        _ => false,
    };
    let mut inputs = inputs.iter().filter(needs_feature);
    inputs.try_for_each(|input| input.records().map(drop))
}

/// Copies records one by one.
fn copy_records(
    inputs: &[InputFile],
    out: &mut dyn Write,
    fields: &[NewField],
    fate: RecordFate<'_>,
) -> Result<u64> {
    let mut copier = Copier::new(out);
    let (mut number, mut bytes_before, mut lost) = (0, 0, 0);
    for input in inputs {
        let mut records = Records::open(input)?;
        records.write_header(&mut copier, fields)?;
        while let Some(is_record) = records.advance()? {
            let fate = fate(number, bytes_before + records.bytes_read())?;
            number += 1;
            match (fate, is_record) {
                (Fate::Dropped, _) => {}
                (_, false) => lost += 1,
                (fate, true) => records.write(&mut copier, fields, &fate)?,
            }
        }
        records.end(&mut copier);
        bytes_before += records.bytes_read();
    }
    copier.finish()?;
    Ok(lost)
}

#[cfg(test)]
mod tests;
