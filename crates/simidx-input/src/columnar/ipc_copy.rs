//! Copies some rows of Arrow files into a new file, with all their columns and optional new ones.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema};
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
    let mut out = Watched::new(out);
    let writer = guarded(|| Writer::new(&mut out, &schema, &first));
    let name = first.name().to_owned();
    let blame = |message: String| unreadable(&name, &message);
    let copied = writer.map_err(blame).and_then(|mut writer| {
        let (mut begun, mut bytes_before) = (Some((first, batch)), 0);
        for input in inputs {
            let (mut input, mut batch) = match begun.take() {
                Some(begun) => begun,
                None => {
                    let mut input = open(input)?;
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
                        let schema = Arc::clone(&schema);
                        writer.write(&RecordBatch::try_new_with_options(schema, columns, &count)?)
                    });
                    copied.map_err(|message| unreadable(input.name(), &message))?;
                }
                batch = input.next()?;
            }
            bytes_before += input.bytes_read();
        }
        guarded(|| writer.finish()).map_err(blame)
    });
    out.blame(copied)
}

/// A writer of a file or a stream.
enum Writer<'a, 'b> {
    File(FileWriter<&'a mut Watched<'b>>),
    Stream(StreamWriter<&'a mut Watched<'b>>),
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Creates a writer for rows of a schema, in the form of an input.
    fn new(
        out: &'a mut Watched<'b>,
        schema: &Schema,
        like: &ArrowBatches,
    ) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::default().try_with_compression(like.compression())?;
        Ok(match like.are_in_file() {
            true => Writer::File(FileWriter::try_new_with_options(out, schema, options)?),
            false => Writer::Stream(StreamWriter::try_new_with_options(out, schema, options)?),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Writer::File(writer) => writer.write(batch),
            Writer::Stream(writer) => writer.write(batch),
        }
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        match self {
            Writer::File(writer) => writer.finish(),
            Writer::Stream(writer) => writer.finish(),
        }
    }
}
