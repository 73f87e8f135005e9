//! Some rows of Arrow files copied into a new one, with all of their columns.

use std::io::Write;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use arrow_select::filter::filter_record_batch;

use super::batches::{Batches, guarded};
use super::unreadable;
use crate::source::input_error;
use crate::watched::Watched;
use crate::{InputFile, Place, RecordPredicate, Result};

/// Copies the rows that `keep` chooses. See [`filter_records`](crate::filter_records).
pub(crate) fn copy_rows(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    keep: RecordPredicate<'_>,
) -> Result<()> {
    // One at a time, since there may be more of them than files can be open.
    let open = |input: &InputFile| Batches::open(input.source()?);
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    let mut first = open(first)?;
    for other in others {
        let other = open(other)?;
        if other.schema().fields() != first.schema().fields() {
            let message = format!("has another schema than {}", first.source().name());
            return Err(input_error(other.source().name(), Place::File, message));
        }
    }
    // What it is compressed by is told by its first batch.
    let batch = first.next()?;
    let mut out = Watched::new(out);
    let writer = guarded(|| Writer::new(&mut out, &first));
    let copied = match writer {
        Err(message) => Err(unreadable(first.source().name(), &message)),
        Ok(writer) => {
            let copy = Copy {
                writer,
                keep,
                bytes_before: 0,
            };
            copy.all(first, batch, others.iter().map(open))
        }
    };
    out.blame(copied)
}

/// Copies the rows of one input after another.
struct Copy<'a, 'b> {
    writer: Writer<'a, 'b>,
    keep: RecordPredicate<'a>,
    /// Bytes of the inputs that have been read to their ends.
    bytes_before: u64,
}

impl Copy<'_, '_> {
    /// Copies the first input, of which a batch has been read, and the others.
    fn all(
        mut self,
        first: Batches,
        batch: Option<RecordBatch>,
        others: impl Iterator<Item = Result<Batches>>,
    ) -> Result<()> {
        let name = first.source().name().to_owned();
        self.input(first, batch)?;
        for other in others {
            let mut other = other?;
            let batch = other.next()?;
            self.input(other, batch)?;
        }
        guarded(|| self.writer.finish()).map_err(|message| unreadable(&name, &message))
    }

    fn input(&mut self, mut input: Batches, mut batch: Option<RecordBatch>) -> Result<()> {
        while let Some(rows) = batch {
            let bytes = self.bytes_before + input.source().bytes_read();
            let chosen: Vec<bool> = (0..rows.num_rows()).map(|_| (self.keep)(bytes)).collect();
            if chosen.contains(&true) {
                let copied = guarded(|| {
                    let chosen = BooleanArray::from(chosen);
                    self.writer.write(&filter_record_batch(&rows, &chosen)?)
                });
                copied.map_err(|message| unreadable(input.source().name(), &message))?;
            }
            batch = input.next()?;
        }
        self.bytes_before += input.source().bytes_read();
        Ok(())
    }
}

/// A writer of a file or a stream.
enum Writer<'a, 'b> {
    File(FileWriter<&'a mut Watched<'b>>),
    Stream(StreamWriter<&'a mut Watched<'b>>),
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Writes as an input was written.
    fn new(out: &'a mut Watched<'b>, like: &Batches) -> Result<Self, ArrowError> {
        let schema: &Schema = like.schema();
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
