//! Some rows of Parquet files copied into a new one, with all of their columns and maybe new ones.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::out::zstd;
use super::values::{self, Values};
use super::{ParquetReader, guarded, unreadable};
use crate::cells::{Cell, Kind};
use crate::new_fields::RowFate;
use crate::source::{input_error, printable};
use crate::watched::Watched;
use crate::{Error, Fate, InputFile, NewField, Place, Result};

/// Rows of a column that are decoded at a time.
const ROWS: usize = 1024;

/// Names of metadata that describe the columns in a form that only Arrow reads.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Copies the rows that `fate` does not drop, with new fields. See [`filter_records`](crate::filter_records).
pub(crate) fn copy_rows(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RowFate<'_>,
) -> Result<()> {
    let open = |input: &InputFile| ParquetReader::open(&input.path, &input.options);
    let readers = inputs.iter().map(open);
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let Some(first) = readers.first() else {
        return Ok(());
    };
    let schema = |reader: &ParquetReader| {
        let data = reader.parquet.metadata().file_metadata();
        data.schema_descr().root_schema_ptr()
    };
    if let Some(other) = readers
        .iter()
        .find(|reader| schema(reader) != schema(first))
    {
        let message = format!("has another schema than {}", first.name);
        return Err(input_error(&other.name, Place::File, message));
    }
    let names = schema(first);
    let has = |field: &&NewField| names.get_fields().iter().any(|c| c.name() == field.name);
    if let Some(field) = fields.iter().find(has) {
        let message = crate::cells::has_already(field);
        return Err(input_error(&first.name, Place::File, message));
    }
    let mut out = Watched::new(out);
    let copied = copy_all(inputs, &readers, &mut out, (fields, fate));
    out.blame(copied)
}

fn copy_all(
    inputs: &[InputFile],
    readers: &[ParquetReader],
    out: &mut Watched<'_>,
    (fields, fate): (&[NewField], RowFate<'_>),
) -> Result<()> {
    let first = &readers[0];
    let blame = |message: String| unreadable(&first.name, &message);
    let metadata = first.parquet.metadata();
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let schema = guarded(|| values::with_columns(schema, fields)).map_err(blame)?;
    let writer = guarded(|| {
        let properties = Arc::new(properties(metadata, fields)?);
        SerializedFileWriter::new(out, schema, properties)
    });
    let mut writer = writer.map_err(blame)?;
    let mut bytes_before = 0;
    for (reader, input) in readers.iter().zip(inputs) {
        let kinds: Vec<Kind> = fields
            .iter()
            .map(|field| values::kind(field.kind))
            .collect();
        copy_file(
            reader,
            &input.path,
            &mut writer,
            (&kinds, &mut |row| {
                let share = u128::from(reader.file_len) * u128::from(row);
                fate(bytes_before + (share / u128::from(reader.rows.max(1))) as u64)
            }),
        )?;
        bytes_before += reader.file_len;
    }
    guarded(|| writer.close()).map(drop).map_err(blame)
}

/// Writes as a file was written, as far as its metadata tell.
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
    reader: &ParquetReader,
    path: &Path,
    writer: &mut SerializedFileWriter<&mut Watched<'_>>,
    (kinds, fate): (&[Kind], RowFate<'_>),
) -> Result<()> {
    let name = printable(path);
    let mut row = 0;
    for number in 0..reader.parquet.num_row_groups() {
        let rows = reader.parquet.metadata().row_group(number).num_rows();
        let rows = u64::try_from(rows).unwrap_or(0);
        let mut chosen = Vec::new();
        let mut new: Vec<Values> = kinds.iter().map(|&kind| Values::new(kind)).collect();
        for _ in 0..rows {
            row += 1;
            let fate = fate(row)?;
            chosen.push(fate != Fate::Dropped);
            let cells = match fate {
                Fate::Dropped => continue,
                Fate::Copied => vec![Cell::Null; new.len()],
                Fate::With(values) => values.iter().map(Cell::of).collect(),
            };
            for (column, cell) in new.iter_mut().zip(&cells) {
                column.push(cell);
            }
        }
        if chosen.contains(&true) {
            let copied = guarded(|| copy_group(&reader.parquet, number, (&chosen, &new), writer));
            copied.map_err(|message| -> Error { unreadable(&name, &message) })?;
        }
    }
    Ok(())
}

fn copy_group(
    parquet: &SerializedFileReader<File>,
    number: usize,
    (chosen, new): (&[bool], &[Values]),
    writer: &mut SerializedFileWriter<&mut Watched<'_>>,
) -> Result<(), ParquetError> {
    let group = parquet.get_row_group(number)?;
    let mut copy = writer.next_row_group()?;
    for index in 0..group.num_columns() {
        copy_column(&*group, index, chosen, &mut copy)?;
    }
    for column in new {
        column.write(&mut copy)?;
    }
    copy.close().map(drop)
}

fn copy_column<W: Write + Send>(
    group: &dyn RowGroupReader,
    index: usize,
    chosen: &[bool],
    copy: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let descriptor = group.metadata().column(index).column_descr_ptr();
    let top = [descriptor.max_def_level(), descriptor.max_rep_level()];
    let mut reader = group.get_column_reader(index)?;
    let too_few = || ParquetError::General("a row group has too few columns".into());
    let mut writer = copy.next_column()?.ok_or_else(too_few)?;
    macro_rules! copy_values {
        ($($reader:ident to $writer:ident),*) => {
            match (&mut reader, writer.untyped()) {
                $((ColumnReader::$reader(r), ColumnWriter::$writer(w)) => copy_values(r, w, top, chosen)?,)*
                _ => return Err(ParquetError::General("a column changes its type".into())),
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

/// Copies the values of the rows that are chosen; `top` is the greatest definition level, which a value has that is
/// there, and the greatest repetition level.
fn copy_values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    top: [i16; 2],
    chosen: &[bool],
) -> Result<(), ParquetError> {
    let [mut definitions, mut repetitions] = [Vec::new(), Vec::new()];
    let mut values = Vec::new();
    for chosen in chosen.chunks(ROWS) {
        definitions.clear();
        repetitions.clear();
        values.clear();
        let rows = chosen.len();
        let read = reader.read_records(
            rows,
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        let mut levels = Levels {
            top,
            definitions: std::mem::take(&mut definitions),
            repetitions: std::mem::take(&mut repetitions),
        };
        let there = levels.filter(chosen, read.2, values.len());
        let there = there
            .filter(|_| read.0 == rows)
            .ok_or_else(|| ParquetError::General("a column ends before its rows".into()))?;
        let mut there = there.into_iter();
        values.retain(|_| there.next().unwrap_or(false));
        let [definitions_of, repetitions_of] = [0, 1].map(|i| top[i] > 0);
        writer.write_batch(
            &values,
            definitions_of.then_some(&levels.definitions[..]),
            repetitions_of.then_some(&levels.repetitions[..]),
        )?;
        (definitions, repetitions) = (levels.definitions, levels.repetitions);
    }
    Ok(())
}

/// How the values of some rows nest, as Dremel has it.
struct Levels {
    top: [i16; 2],
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Levels {
    /// Leaves the levels of chosen rows; returns of each value whether its row is chosen, or nothing if the levels and
    /// the values do not fit each other.
    fn filter(
        &mut self,
        chosen: &[bool],
        level_count: usize,
        value_count: usize,
    ) -> Option<Vec<bool>> {
        let [top_definition, top_repetition] = self.top;
        let mut kept_values = Vec::with_capacity(value_count);
        let (mut rows, mut kept) = (0, 0);
        for i in 0..level_count {
            let starts = top_repetition == 0 || *self.repetitions.get(i)? == 0;
            rows += usize::from(starts);
            let is_chosen = *chosen.get(rows.checked_sub(1)?)?;
            if top_definition == 0 || *self.definitions.get(i)? == top_definition {
                kept_values.push(is_chosen);
            }
            if is_chosen {
                for levels in [&mut self.definitions, &mut self.repetitions] {
                    if let Some(&level) = levels.get(i) {
                        levels[kept] = level;
                    }
                }
                kept += 1;
            }
        }
        self.definitions.truncate(kept);
        self.repetitions.truncate(kept);
        (rows == chosen.len() && kept_values.len() == value_count).then_some(kept_values)
    }
}
