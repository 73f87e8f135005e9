//! Parquet files, read by columns.

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
use super::{Batches, guarded, unreadable};
use crate::compression::Compression;
use crate::source::{input_error, io_error, is_stdin, open_file, printable};
use crate::{Error, Place, Result, kinds};

/// What a file starts and ends with.
const MAGIC: [u8; 4] = *b"PAR1";

/// Rows that are decoded at a time where nothing else is asked for.
const ROWS: usize = 64;

/// An open file.
pub(super) struct ParquetFile {
    pub(super) name: String,
    /// Another handle of the file, to see what became of it.
    file: File,
    pub(super) len: u64,
    pub(super) reader: SerializedFileReader<File>,
    /// Rows of all row groups.
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

    /// The bytes of the file that a number of rows stand for.
    pub(super) fn share(&self, rows: u64) -> u64 {
        let share = u128::from(self.len) * u128::from(rows.min(self.rows));
        (share / u128::from(self.rows.max(1))) as u64
    }

    /// The error of a file that could not be read on.
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
    /// None before the first batch, if nothing is known of what is to be decoded.
    reader: Option<ParquetRecordBatchReader>,
    rows_read: u64,
    has_ended: bool,
}

impl ParquetBatches {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = ParquetFile::open(path)?;
        let metadata = guarded_read(|| arrow_metadata(file.reader.metadata()));
        let metadata = metadata.map_err(|message| file.failure(&message))?;
        Ok(ParquetBatches {
            schema: Arc::clone(metadata.schema()),
            file,
            metadata,
            reader: None,
            rows_read: 0,
            has_ended: false,
        })
    }

    fn start(&self, mask: ProjectionMask, rows: usize) -> Result<ParquetRecordBatchReader> {
        let (name, metadata) = (&self.file.name, self.metadata.clone());
        let file = self.file.file.try_clone().map_err(|e| io_error(name, e))?;
        let reader = guarded_read(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
                .with_projection(mask)
                .with_batch_size(rows)
                .build()
        });
        reader.map_err(|message| self.file.failure(&message))
    }
}

impl Batches for ParquetBatches {
    fn name(&self) -> &str {
        &self.file.name
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn other_names(&self) -> Vec<String> {
        let columns = self.metadata.parquet_schema().columns().iter();
        columns.map(|column| column.path().string()).collect()
    }

    fn decode_only(&mut self, chosen: &BTreeSet<usize>, rows: usize) -> Result<Vec<usize>> {
        // The library reads maps as a whole only.
        let (_, routes) = leaves(&self.schema);
        let columns = chosen.iter().map(|&leaf| routes[leaf].0);
        let whole = columns.filter(|&column| has_map(self.schema.field(column).data_type()));
        let whole: BTreeSet<usize> = whole.collect();
        let is_decoded = |leaf: &usize| chosen.contains(leaf) || whole.contains(&routes[*leaf].0);
        let decoded: Vec<usize> = (0..routes.len()).filter(is_decoded).collect();
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), decoded.iter().copied());
        let reader = self.start(mask, rows)?;
        self.schema = reader.schema();
        self.reader = Some(reader);
        Ok(decoded)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.has_ended {
            return Ok(None);
        }
        // Every failure is the end.
        self.has_ended = true;
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.start(ProjectionMask::all(), ROWS)?,
        };
        let batch = guarded_read(|| reader.next().transpose());
        let batch = batch.map_err(|message| self.file.failure(&message))?;
        match &batch {
            Some(batch) => self.rows_read += batch.num_rows() as u64,
            None if self.rows_read < self.file.rows => {
                return Err(self.file.failure("a column ends before its rows"));
            }
            None => return Ok(None),
        }
        (self.reader, self.has_ended) = (Some(reader), false);
        Ok(batch)
    }

    fn bytes_read(&self) -> u64 {
        self.file.share(self.rows_read)
    }

    fn declared_rows(&self) -> Option<u64> {
        Some(self.file.rows)
    }
}

/// What the library returns; see [`guarded`].
pub(super) fn guarded_read<T, E: ToString>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    guarded("Parquet", call)
}

/// How the columns are decoded. Strings are bytes in the pages that they lie in: these are not copied, and one that is
/// not UTF-8 spoils its own row only.
fn arrow_metadata(metadata: &ParquetMetaData) -> Result<ArrowReaderMetadata, ParquetError> {
    let own = metadata.file_metadata();
    let schema = SchemaDescriptor::new(without_strings(own.schema_descr().root_schema_ptr())?);
    let own = FileMetaData::new(
        own.version(),
        own.num_rows(),
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

/// A type with bytes in the place of strings.
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

/// A field whose bytes stay in their pages, and whose old timestamps have the unit that all of their years fit.
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
