//! Copies some rows of Arrow files into a new file, with all their columns and optional new ones.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions, RecordBatchWriter};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use super::arrays::{Choice, new_fields};
use super::ipc::{ArrowBatches, guarded};
use super::watched::Watched;
use super::{Batches, check_new, unreadable};
use crate::new_fields::RowFate;
use crate::source::input_error;
use crate::{InputFile, NewField, Place, Result};

/// Copies the rows that `fate` does not drop, with new fields. See [`rewrite_records`](crate::rewrite_records).
pub(super) fn copy_rows(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RowFate<'_>,
) -> Result<()> {
    // Files are opened one at a time, because there may be more than the system lets a process open.
    let open = |input: &InputFile| ArrowBatches::open(input.source()?);
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    let mut first = open(first)?;
    for other in others {
        let other = open(other)?;
        if other.schema().fields() != first.schema().fields() {
            let message = format!("has another schema than {}", first.name());
            return Err(input_error(other.name(), Place::File, message));
        }
    }
    let own = first.schema().fields().iter();
    check_new(
        first.name(),
        own.clone().map(|own| own.name().as_str()),
        fields,
    )?;
    let columns = own.cloned().chain(new_fields(fields).map(Arc::new));
    let metadata = first.schema().metadata().clone();
    let schema = Schema::new_with_metadata(columns.collect::<Vec<_>>(), metadata);
    let schema = Arc::new(schema);
    // The first batch determines the compression.
    let batch = first.next()?;
    let options = IpcWriteOptions::default().try_with_compression(first.compression());
    let is_file = first.are_in_file();
    let begun = (first, batch);
    let mut out = Watched::new(out);
    let copied = match is_file {
        true => {
            let writer = || FileWriter::try_new_with_options(&mut out, &schema, options?);
            copy_with(writer, &schema, begun, inputs, fields, fate)
        }
        false => {
            let writer = || StreamWriter::try_new_with_options(&mut out, &schema, options?);
            copy_with(writer, &schema, begun, inputs, fields, fate)
        }
    };
    out.blame(copied)
}

/// Copies the rows with a new writer. The first input has been opened, and its first batch has been read.
fn copy_with<W: RecordBatchWriter>(
    create: impl FnOnce() -> Result<W, ArrowError>,
    schema: &SchemaRef,
    first: (ArrowBatches, Option<RecordBatch>),
    inputs: &[InputFile],
    fields: &[NewField],
    fate: RowFate<'_>,
) -> Result<()> {
    let name = first.0.name().to_owned();
    let blame = |message: String| unreadable(&name, &message);
    let mut writer = guarded(create).map_err(blame)?;
    let (mut begun, mut bytes_before) = (Some(first), 0);
    for input in inputs {
        let (mut input, mut batch) = match begun.take() {
            Some(begun) => begun,
            None => {
                let mut input = ArrowBatches::open(input.source()?)?;
                let batch = input.next()?;
                (input, batch)
            }
        };
        while let Some(rows) = batch {
            let bytes = bytes_before + input.bytes_read();
            let choice = Choice::of(rows.num_rows(), fields, || fate(bytes))?;
            if choice.keeps_any() {
                let copied = guarded(|| {
                    let rows = filter_record_batch(&rows, &BooleanArray::from(choice.kept))?;
                    let columns = [rows.columns(), &choice.new[..]].concat();
                    let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                    let schema = Arc::clone(schema);
                    writer.write(&RecordBatch::try_new_with_options(schema, columns, &count)?)
                });
                copied.map_err(|message| unreadable(input.name(), &message))?;
            }
            batch = input.next()?;
        }
        bytes_before += input.bytes_read();
    }
    guarded(|| writer.close()).map_err(blame)
}
