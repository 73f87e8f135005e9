//! Copies some rows of Parquet files into a new file, with all their columns and optional new ones.
//!
//! Columns are copied value by value in their physical types, which preserves types that Arrow lacks.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Fields, Schema};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::arrays::{Choice, new_fields};
use super::check_new;
use super::parquet_file::{ParquetFile, guarded_read};
use super::parquet_out::zstd;
use super::watched::Watched;
use crate::new_fields::RowFate;
use crate::source::input_error;
use crate::{InputFile, NewField, Place, Result};

/// Number of rows of a column after which the kept ones are written.
const ROWS: usize = 1024;

/// The key of metadata that describes the columns in a form only for Arrow.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Copies the rows that `fate` does not drop, with new fields. See [`rewrite_records`](crate::rewrite_records).
pub(super) fn copy_rows(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RowFate<'_>,
) -> Result<()> {
    // Files are opened one at a time, because there may be more than the system lets a process open.
    let open = |input: &InputFile| ParquetFile::open(input.path());
    let Some((first, others)) = inputs.split_first() else {
        return Ok(());
    };
    let first = open(first)?;
    let schema = schema_of(&first);
    for other in others {
        let other = open(other)?;
        if schema_of(&other) != schema {
            let message = format!("has another schema than {}", first.name);
            return Err(input_error(&other.name, Place::File, message));
        }
    }
    let names = schema.get_fields().iter().map(|column| column.name());
    check_new(&first.name, names, fields)?;
    let blame = |message: String| first.failure(&message);
    let mut out = Watched::new(out);
    let writer = guarded_read(|| {
        let properties = properties(first.reader.metadata(), fields)?;
        let schema = with_columns(schema, fields)?;
        SerializedFileWriter::new(&mut out, schema, Arc::new(properties))
    });
    let copied = writer.map_err(blame).and_then(|mut writer| {
        let mut bytes_before = 0;
        for input in inputs {
            let file = open(input)?;
            let mut copy = |rows| fate(bytes_before + file.share(rows));
            copy_file(&file, fields, &mut writer, &mut copy)?;
            bytes_before += file.len;
        }
        guarded_read(|| writer.close()).map(drop).map_err(blame)
    });
    out.blame(copied)
}

fn schema_of(file: &ParquetFile) -> TypePtr {
    let data = file.reader.metadata().file_metadata();
    data.schema_descr().root_schema_ptr()
}

/// Returns a schema with the columns of new fields after its own.
fn with_columns(schema: TypePtr, fields: &[NewField]) -> Result<TypePtr, ParquetError> {
    if fields.is_empty() {
        return Ok(schema);
    }
    let new = Schema::new(new_fields(fields).collect::<Fields>());
    let new = ArrowSchemaConverter::new().convert(&new)?;
    let columns = [schema.get_fields(), new.root_schema().get_fields()].concat();
    let schema = Type::group_type_builder(schema.name()).with_fields(columns);
    Ok(Arc::new(schema.build()?))
}

/// Returns the properties that a file was written with, as far as its metadata contains them.
pub(super) fn properties(
    metadata: &ParquetMetaData,
    fields: &[NewField],
) -> Result<WriterProperties, ParquetError> {
    let mut pairs = metadata.file_metadata().key_value_metadata().cloned();
    if let (Some(pairs), false) = (&mut pairs, fields.is_empty()) {
        pairs.retain(|pair| pair.key != ARROW_SCHEMA);
    }
    let mut properties = WriterProperties::builder().set_key_value_metadata(pairs);
    if let Some(group) = metadata.row_groups().first() {
        for column in group.columns() {
            let path = column.column_path().clone();
            let compression = match column.compression() {
                Compression::ZSTD(_) => zstd()?,
                other => other,
            };
            properties = properties.set_column_compression(path, compression);
        }
    }
    Ok(properties.build())
}

fn copy_file(
    file: &ParquetFile,
    fields: &[NewField],
    writer: &mut SerializedFileWriter<&mut Watched<'_>>,
    fate: RowFate<'_>,
) -> Result<()> {
    let mut row = 0;
    for (number, group) in file.reader.metadata().row_groups().iter().enumerate() {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let choice = Choice::of(rows, fields, || {
            row += 1;
            fate(row)
        })?;
        if choice.keeps_any() {
            guarded_read(|| copy_group(&file.reader, number, &choice, writer))
                .map_err(|message| file.failure(&message))?;
        }
    }
    Ok(())
}

fn copy_group<W: Write + Send>(
    parquet: &SerializedFileReader<File>,
    number: usize,
    choice: &Choice,
    writer: &mut SerializedFileWriter<W>,
) -> Result<(), ParquetError> {
    let group = parquet.get_row_group(number)?;
    let mut copy = writer.next_row_group()?;
    for index in 0..group.num_columns() {
        copy_column(&*group, index, &choice.kept, &mut copy)?;
    }
    for column in &choice.new {
        write_column(column, &mut copy)?;
    }
    copy.close().map(drop)
}

fn general(message: &str) -> ParquetError {
    ParquetError::General(message.into())
}

/// Writes the values of a new field.
fn write_column<W: Write + Send>(
    array: &ArrayRef,
    copy: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let too_few = || general("a row group has too few columns");
    let mut writer = copy.next_column()?.ok_or_else(too_few)?;
    let levels: Vec<i16> = (0..array.len())
        .map(|row| i16::from(array.is_valid(row)))
        .collect();
    let levels = Some(&levels[..]);
    match writer.untyped() {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values = array.as_primitive::<UInt64Type>().iter().flatten();
            let values: Vec<i64> = values.map(u64::cast_signed).collect();
            writer.write_batch(&values, levels, None)?
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values = array.as_primitive::<Float64Type>().iter().flatten();
            writer.write_batch(&values.collect::<Vec<f64>>(), levels, None)?
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let values = array.as_string::<i32>().iter().flatten();
            let values: Vec<ByteArray> = values.map(ByteArray::from).collect();
            writer.write_batch(&values, levels, None)?
        }
        _ => return Err(general("a column changes its type")),
    };
    writer.close()
}

fn copy_column<W: Write + Send>(
    group: &dyn RowGroupReader,
    index: usize,
    kept: &[bool],
    copy: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let column = group.metadata().column(index).column_descr();
    let has_levels = [column.max_def_level() > 0, column.max_rep_level() > 0];
    let mut reader = group.get_column_reader(index)?;
    let too_few = || general("a row group has too few columns");
    let mut writer = copy.next_column()?.ok_or_else(too_few)?;
    macro_rules! copy_values {
        ($($reader:ident to $writer:ident),*) => {
            match (&mut reader, writer.untyped()) {
                $((ColumnReader::$reader(r), ColumnWriter::$writer(w)) => copy_values(r, w, has_levels, kept)?,)*
                _ => return Err(general("a column changes its type")),
            }
        };
    }
    copy_values!(
        BoolColumnReader to BoolColumnWriter,
        Int32ColumnReader to Int32ColumnWriter,
        Int64ColumnReader to Int64ColumnWriter,
        Int96ColumnReader to Int96ColumnWriter,
        FloatColumnReader to FloatColumnWriter,
        DoubleColumnReader to DoubleColumnWriter,
        ByteArrayColumnReader to ByteArrayColumnWriter,
        FixedLenByteArrayColumnReader to FixedLenByteArrayColumnWriter
    );
    writer.close()
}

/// Copies the values of the kept rows, with definition levels and repetition levels if the column has them.
fn copy_values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    has_levels: [bool; 2],
    kept: &[bool],
) -> Result<(), ParquetError> {
    let [mut definitions, mut repetitions] = [Vec::new(), Vec::new()];
    let mut values = Vec::new();
    let mut held = 0;
    let runs = kept.chunk_by(|row, next| row == next);
    let mut runs = runs.flat_map(|run| run.chunks(ROWS)).peekable();
    while let Some(run) = runs.next() {
        let (rows, is_kept) = (run.len(), run[0]);
        let passed = match is_kept {
            true => {
                let levels = [&mut definitions, &mut repetitions].map(Some);
                let [definitions, repetitions] = levels;
                reader
                    .read_records(rows, definitions, repetitions, &mut values)?
                    .0
            }
            false => reader.skip_records(rows)?,
        };
        if passed != rows {
            return Err(general("a column ends before its rows"));
        }
        // Values of kept rows keep their pages in memory, which also hold dropped rows.
        held += rows;
        if held >= ROWS || runs.peek().is_none() {
            writer.write_batch(
                &values,
                has_levels[0].then_some(&definitions[..]),
                has_levels[1].then_some(&repetitions[..]),
            )?;
            definitions.clear();
            repetitions.clear();
            values.clear();
            held = 0;
        }
    }
    Ok(())
}
