//! Reads Parquet files by columns.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};

use super::leaves::leaves;
use super::schema::Leaf;
use super::{Batches, guarded, unreadable};
use crate::compression::Compression;
use crate::source::{input_error, io_error, is_stdin, open_file, printable};
use crate::{Error, MAX_DOCUMENT, Place, Result, kinds};

/// The bytes at the start and the end of a file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Default number of rows that are decoded at a time.
const ROWS: usize = 64;

/// Largest number of bytes of fixed-length values that are decoded at a time.
const MAX_FIXED: u64 = 64 << 20;

/// An open file.
pub(super) struct ParquetFile {
    pub(super) name: String,
    /// A second handle of the file, to find the reason of a failure.
    file: File,
    pub(super) len: u64,
    pub(super) reader: SerializedFileReader<File>,
    /// Number of rows in all row groups.
    pub(super) rows: u64,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = printable(path);
        let refuse = |message: &str| input_error(&name, Place::File, message);
        if is_stdin(path) {
            return Err(refuse("a Parquet file cannot be read from standard input"));
        }
        let (_, mut file) = open_file(path)?;
        let data = file.metadata().map_err(|e| io_error(&name, e))?;
        if !data.is_file() {
            return Err(refuse("a Parquet file cannot be read from a stream"));
        }
        let mut head = Vec::new();
        let read = (&mut file).take(kinds::HEAD).read_to_end(&mut head);
        read.and_then(|_| file.rewind())
            .map_err(|e| io_error(&name, e))?;
        if Compression::by_magic(&head) != Compression::None {
            return Err(refuse("a Parquet file cannot be read through compression"));
        }
        if !head.starts_with(&MAGIC) {
            return Err(refuse(match head.is_empty() {
                true => "is empty",
                false => kinds::words(&head).unwrap_or("is not a Parquet file"),
            }));
        }
        let other = file.try_clone().map_err(|e| io_error(&name, e))?;
        let reader = guarded_read(|| SerializedFileReader::new(other));
        let reader = reader.map_err(|message| unreadable(&name, &message))?;
        let groups = reader.metadata().row_groups().iter();
        let rows = groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        Ok(ParquetFile {
            rows: rows.fold(0, u64::saturating_add),
            name,
            file,
            len: data.len(),
            reader,
        })
    }

    /// Returns the number of bytes of the file that corresponds to a number of rows.
    pub(super) fn share(&self, rows: u64) -> u64 {
        let share = u128::from(self.len) * u128::from(rows.min(self.rows));
        (share / u128::from(self.rows.max(1))) as u64
    }

    /// Returns the error of a file that could not be read further.
    pub(super) fn failure(&self, message: &str) -> Error {
        match self.file.metadata() {
            Ok(data) if data.len() < self.len => {
                unreadable(&self.name, "is shorter than when it was opened")
            }
            _ => unreadable(&self.name, message),
        }
    }
}

/// The rows of a file.
pub(crate) struct ParquetBatches {
    file: ParquetFile,
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
    /// The decoded columns, and the number of rows at a time.
    mask: ProjectionMask,
    rows: usize,
    /// The reader of a row group, and its number of remaining rows. A reader of several groups would continue with the
    /// next group where a column ends, independently of the declared number of rows.
    reader: Option<ParquetRecordBatchReader>,
    rows_left: u64,
    next_group: usize,
    rows_read: u64,
    has_ended: bool,
}

impl ParquetBatches {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = ParquetFile::open(path)?;
        let metadata = guarded_read(|| arrow_metadata(file.reader.metadata(), file.rows));
        let metadata = metadata.map_err(|message| file.failure(&message))?;
        Ok(ParquetBatches {
            schema: Arc::clone(metadata.schema()),
            file,
            metadata,
            mask: ProjectionMask::all(),
            rows: ROWS,
            reader: None,
            rows_left: 0,
            next_group: 0,
            rows_read: 0,
            has_ended: false,
        })
    }

    /// Creates a reader of some row groups.
    fn start(&self, groups: Vec<usize>) -> Result<ParquetRecordBatchReader> {
        let (name, metadata) = (&self.file.name, self.metadata.clone());
        let rows = self.rows_at_a_time()?;
        let file = self.file.file.try_clone().map_err(|e| io_error(name, e))?;
        let reader = guarded_read(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
                .with_projection(self.mask.clone())
                .with_row_groups(groups)
                .with_batch_size(rows)
                .build()
        });
        reader.map_err(|message| self.file.failure(&message))
    }

    /// Returns the number of rows to decode at a time. The library allocates memory for all fixed-length values in
    /// advance, including nulls.
    fn rows_at_a_time(&self) -> Result<usize> {
        let columns = self.metadata.parquet_schema().columns().iter().enumerate();
        let decoded = columns.filter(|&(leaf, _)| self.mask.leaf_included(leaf));
        let fixed = decoded.filter(|(_, c)| c.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY);
        let lengths = fixed.map(|(_, column)| u64::try_from(column.type_length()).unwrap_or(0));
        let length = lengths.fold(0, u64::saturating_add);
        if length > MAX_DOCUMENT {
            let message = format!("the arrays of a row are longer than {MAX_DOCUMENT} bytes");
            return Err(input_error(&self.file.name, Place::File, message));
        }
        let most = MAX_FIXED / length.max(1);
        Ok(self.rows.min(most as usize).max(1))
    }

    /// Returns the next batch of the open row group; `None` at its end.
    fn next_of_group(&mut self) -> Result<Option<RecordBatch>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let batch = guarded_read(|| reader.next().transpose());
        let batch = batch.map_err(|message| self.file.failure(&message))?;
        let rows = batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        match (self.rows_left.checked_sub(rows), &batch) {
            (Some(left), Some(_)) => self.rows_left = left,
            (Some(0), None) => self.reader = None,
            (Some(_), None) => return Err(self.file.failure("a column ends before its rows")),
            (None, _) => return Err(self.file.failure("a column goes on after its rows")),
        }
        self.rows_read += rows;
        Ok(batch)
    }
}

impl Batches for ParquetBatches {
    fn name(&self) -> &str {
        &self.file.name
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn correct(&self, leaves: &mut [Leaf]) {
        let columns = self.metadata.parquet_schema().columns();
        for (leaf, column) in leaves.iter_mut().zip(columns) {
            leaf.other_name = column.path().string();
            let is_plain = matches!(column.logical_type_ref(), None | Some(LogicalType::Enum))
                && matches!(
                    column.converted_type(),
                    ConvertedType::NONE | ConvertedType::ENUM
                );
            if column.physical_type() == Physical::BYTE_ARRAY && !is_plain {
                leaf.kind = None;
            }
        }
    }

    fn decode_only(&mut self, chosen: &BTreeSet<usize>, rows: usize) -> Result<Vec<usize>> {
        // The library reads maps only as a whole.
        let (_, routes) = leaves(&self.schema);
        let columns = chosen.iter().map(|&leaf| routes[leaf].0);
        let whole = columns.filter(|&column| has_map(self.schema.field(column).data_type()));
        let whole: BTreeSet<usize> = whole.collect();
        let is_decoded = |leaf: &usize| chosen.contains(leaf) || whole.contains(&routes[*leaf].0);
        let decoded: Vec<usize> = (0..routes.len()).filter(is_decoded).collect();
        self.mask = ProjectionMask::leaves(self.metadata.parquet_schema(), decoded.iter().copied());
        self.rows = rows;
        self.schema = self.start(Vec::new())?.schema();
        Ok(decoded)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.has_ended {
            return Ok(None);
        }
        // The file ends after every failure.
        self.has_ended = true;
        let mut batch = self.next_of_group()?;
        while batch.is_none() {
            let Some(group) = self.metadata.metadata().row_groups().get(self.next_group) else {
                return Ok(None);
            };
            self.rows_left = u64::try_from(group.num_rows()).unwrap_or(0);
            self.reader = Some(self.start(vec![self.next_group])?);
            self.next_group += 1;
            batch = self.next_of_group()?;
        }
        self.has_ended = false;
        Ok(batch)
    }

    fn bytes_read(&self) -> u64 {
        self.file.share(self.rows_read)
    }
}

/// Calls the library; see [`guarded`].
pub(super) fn guarded_read<T, E: ToString>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    guarded("Parquet", call)
}

/// Reads the metadata and chooses the types of columns. Strings are read as bytes that remain in their pages without a
/// copy, so that invalid UTF-8 affects only its own row.
fn arrow_metadata(
    metadata: &ParquetMetaData,
    rows: u64,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let own = metadata.file_metadata();
    let schema = SchemaDescriptor::new(without_strings(own.schema_descr().root_schema_ptr())?);
    let own = FileMetaData::new(
        own.version(),
        // The library decodes at most this many rows at a time; with 0, it decodes none.
        i64::try_from(rows.max(1)).unwrap_or(i64::MAX),
        None,
        None,
        Arc::new(schema),
        None,
    );
    let metadata = Arc::new(ParquetMetaData::new(own, metadata.row_groups().to_vec()));
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new())?;
    let mut columns = plain.parquet_schema().columns().iter();
    let fields = plain.schema().fields().iter();
    let fields = fields.map(|field| with_views(field, &mut columns));
    let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
    ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(schema))
}

/// Returns a type with bytes instead of strings.
fn without_strings(column: TypePtr) -> Result<TypePtr, ParquetError> {
    if let Type::GroupType { basic_info, fields } = &*column {
        let fields = fields.iter().cloned().map(without_strings);
        return Ok(Arc::new(Type::GroupType {
            basic_info: basic_info.clone(),
            fields: fields.collect::<Result<_, _>>()?,
        }));
    }
    let info = column.get_basic_info();
    let is_text = matches!(
        info.logical_type_ref(),
        Some(LogicalType::String | LogicalType::Json)
    ) || matches!(
        info.converted_type(),
        ConvertedType::UTF8 | ConvertedType::JSON
    );
    if !is_text {
        return Ok(column);
    }
    let bytes = Type::primitive_type_builder(info.name(), Physical::BYTE_ARRAY)
        .with_repetition(info.repetition());
    Ok(Arc::new(bytes.build()?))
}

/// Returns a field whose bytes remain in their pages, and whose legacy timestamps have a unit that fits their range of
/// years.
fn with_views<'c>(field: &Field, columns: &mut impl Iterator<Item = &'c ColumnDescPtr>) -> Field {
    let data_type = match field.data_type() {
        DataType::Struct(members) => {
            let members = members.iter().map(|member| with_views(member, columns));
            DataType::Struct(members.collect())
        }
        DataType::List(element) => DataType::List(Arc::new(with_views(element, columns))),
        DataType::Map(entry, sorted) => {
            DataType::Map(Arc::new(with_views(entry, columns)), *sorted)
        }
        leaf => match columns.next().map(|column| column.physical_type()) {
            Some(Physical::BYTE_ARRAY) if *leaf == DataType::Binary => DataType::BinaryView,
            Some(Physical::INT96) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            _ => leaf.clone(),
        },
    };
    field.clone().with_data_type(data_type)
}

fn has_map(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) => true,
        DataType::List(element) => has_map(element.data_type()),
        DataType::Struct(members) => members.iter().any(|member| has_map(member.data_type())),
        _ => false,
    }
}
