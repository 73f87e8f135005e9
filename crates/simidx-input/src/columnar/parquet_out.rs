//! Writes a Parquet file row by row.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::arrays::{Column, MAX_TEXT, new_fields};
use super::parquet_file::guarded_read;
use super::watched::Watched;
use crate::source::input_error;
use crate::{Error, FieldValue, NewField, Place, Result};

/// Largest number of rows in a row group, and of bytes of text in it.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_LEN: usize = 64 << 20;

/// The level of Zstandard. A file does not record its level.
const ZSTD_LEVEL: i32 = 3;

/// Returns Zstandard at the level of written files.
pub(super) fn zstd() -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
}

/// Writes rows to a Parquet file, compressed by Zstandard. They are buffered until a row group is full. All columns
/// may have nulls.
///
/// ```
/// use simidx_input::{FieldKind, FieldValue, NewField, ParquetOut};
///
/// let mut file = Vec::new();
/// let columns = [NewField::new("distance", FieldKind::Number)];
/// let mut out = ParquetOut::of_fields(&mut file, &columns)?;
/// out.write(&[Some(FieldValue::Number(3))])?;
/// out.finish()?;
/// assert!(file.starts_with(b"PAR1"));
/// # Ok::<(), simidx_input::Error>(())
/// ```
pub struct ParquetOut<'a> {
    writer: ArrowWriter<Watched<'a>>,
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    len: usize,
}

impl<'a> ParquetOut<'a> {
    /// Creates a file with these columns.
    ///
    /// # Errors
    ///
    /// Any error of `out`.
    pub fn of_fields(out: &'a mut (dyn Write + Send), fields: &[NewField]) -> Result<Self> {
        let schema = Arc::new(Schema::new(new_fields(fields).collect::<Vec<_>>()));
        let writer = guarded_read(|| {
            let properties = WriterProperties::builder().set_compression(zstd()?).build();
            let options = ArrowWriterOptions::new()
                .with_properties(properties)
                .with_schema_root("schema".into())
                .with_skip_arrow_metadata(true);
            ArrowWriter::try_new_with_options(Watched::new(out), Arc::clone(&schema), options)
        });
        Ok(ParquetOut {
            writer: writer.map_err(failure)?,
            schema,
            columns: fields.iter().map(Column::new).collect(),
            rows: 0,
            len: 0,
        })
    }

    /// Adds a row: a value, or none, for each field.
    ///
    /// # Errors
    ///
    /// A value longer than 1 GiB, and any error of the output.
    pub fn write(&mut self, values: &[Option<FieldValue>]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            if let Some(FieldValue::Text(text)) = value
                && text.len() > MAX_TEXT
            {
                return Err(failure("a value is longer than 1 GiB".into()));
            }
            self.len += column.push(value.as_ref());
        }
        self.rows += 1;
        match self.rows >= GROUP_ROWS || self.len >= GROUP_LEN {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn write_group(&mut self) -> Result<()> {
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        let written = guarded_read(|| {
            let count = RecordBatchOptions::new().with_row_count(Some(self.rows));
            let schema = Arc::clone(&self.schema);
            let batch = RecordBatch::try_new_with_options(schema, columns, &count)?;
            self.writer.write(&batch)?;
            self.writer.flush()
        });
        (self.rows, self.len) = (0, 0);
        written.map_err(|message| self.failure(message))
    }

    /// Writes the buffered rows and the footer.
    ///
    /// # Errors
    ///
    /// Any error of the output.
    pub fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let written = guarded_read(|| self.writer.finish());
        written.map(drop).map_err(|message| self.failure(message))
    }

    /// The failure of the output if there was one, else that of the rows.
    fn failure(&mut self, message: String) -> Error {
        let of_output = self.writer.inner_mut().take_failure();
        of_output.map_or_else(|| failure(message), Error::from)
    }
}

/// Returns the error of rows that Parquet cannot store.
fn failure(message: String) -> Error {
    let message = message.replace("cannot be read as Parquet", "cannot be written as Parquet");
    input_error("the output", Place::File, message)
}
