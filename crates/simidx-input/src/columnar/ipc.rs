//! Reads record batches from a stream of Arrow messages. An Arrow file is such a stream between two magic strings.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::{MessageBuffer, try_fb_to_schema};
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{CompressionType, Message, MessageHeader};
use arrow_schema::{ArrowError, SchemaRef};

use super::leaves::leaves;
use super::{Batches, unreadable};
use crate::detect::ARROW_MAGIC;
use crate::kinds;
use crate::source::Source;
use crate::{Place, Result};

/// A file begins with a magic string, padded by zeros to a multiple of this many bytes; some writers pad to 64.
const FILE_HEAD: usize = 8;

/// The first bytes of a message since version 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Memory reserved for a message before its bytes have arrived.
const ROOM: u64 = 1 << 20;

/// Largest size of a buffer, in bytes and relative to its compressed length.
const MAX_BUFFER: u64 = 4 << 30;
const MAX_RATIO: u64 = 1 << 15;

/// A stream of record batches.
pub(crate) struct ArrowBatches {
    source: Source,
    /// All columns, and the decoded columns.
    whole: SchemaRef,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The decoded columns, ascending; `None` for all.
    projection: Option<Vec<usize>>,
    is_file: bool,
    /// The compression of the buffers in the last batch.
    compression: Option<CompressionType>,
    ended: bool,
}

/// A message, and the bytes of its body.
struct Parts {
    message: MessageBuffer,
    body: Buffer,
}

impl ArrowBatches {
    /// Reads the schema of a stream or a file.
    pub(crate) fn open(mut source: Source) -> Result<Self> {
        let head = source.peek(kinds::HEAD)?;
        if head.is_empty() {
            return Err(source.input_error(Place::File, "is empty"));
        }
        let is_file = head.starts_with(ARROW_MAGIC);
        if is_file {
            let zeros = head
                .iter()
                .skip(ARROW_MAGIC.len())
                .take_while(|&&b| b == 0)
                .count();
            source.pass_over((ARROW_MAGIC.len() + zeros) / FILE_HEAD * FILE_HEAD)?;
        } else if let Some(words) = kinds::words(&head) {
            return Err(source.input_error(Place::File, words));
        }
        let read = read_parts(source.reader());
        let parts = match read {
            Ok(Some(parts)) => parts,
            Ok(None) => return Err(source.input_error(Place::File, "is not an Arrow file")),
            Err(_) if !is_file && !head.starts_with(&CONTINUATION) => {
                return Err(source.input_error(Place::File, "is not an Arrow file"));
            }
            Err(error) => return Err(source.io_error(error)),
        };
        let schema = guarded(|| schema_of(&parts));
        let schema = schema.map_err(|message| unreadable(source.name(), &message))?;
        Ok(ArrowBatches {
            source,
            whole: SchemaRef::clone(&schema),
            schema,
            dictionaries: HashMap::new(),
            projection: None,
            is_file,
            compression: None,
            ended: false,
        })
    }

    /// Whether the batches come from a file, which has a footer.
    pub(super) fn are_in_file(&self) -> bool {
        self.is_file
    }

    pub(super) fn compression(&self) -> Option<CompressionType> {
        self.compression
    }

    /// Decodes the batch in a message; returns `None` for a message of another type.
    fn decode(&mut self, parts: &Parts) -> Result<Option<RecordBatch>, ArrowError> {
        let message = parts.message.as_ref();
        let (body, version) = (&parts.body, message.version());
        let absent = || ArrowError::IpcError("a message lacks its header".into());
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(absent)?;
                check_lengths(&batch, body)?;
                self.compression = batch.compression().map(|compression| compression.codec());
                let schema = SchemaRef::clone(&self.whole);
                let decoder =
                    RecordBatchDecoder::try_new(body, batch, schema, &self.dictionaries, &version)?
                        .with_projection(self.projection.as_deref());
                decoder.read_record_batch().map(Some)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or_else(absent)?;
                if let Some(batch) = dictionary.data() {
                    check_lengths(&batch, body)?;
                }
                let dictionaries = &mut self.dictionaries;
                read_dictionary(body, dictionary, &self.whole, dictionaries, &version)?;
                Ok(None)
            }
            MessageHeader::NONE => Ok(None),
            other => Err(ArrowError::IpcError(format!(
                "a message of the kind {other:?} is not expected here"
            ))),
        }
    }

    /// Checks that a file continues to its closing magic string.
    fn check_end(&mut self) -> Result<()> {
        if !self.is_file {
            return Ok(());
        }
        let mut end = Vec::new();
        let read = self.source.reader().read_to_end(&mut end);
        read.map_err(|error| self.source.io_error(error))?;
        match end.ends_with(ARROW_MAGIC) {
            true => Ok(()),
            false => Err(unreadable(self.source.name(), "the Arrow file is cut off")),
        }
    }
}

impl Batches for ArrowBatches {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn decode_only(&mut self, chosen: &BTreeSet<usize>, _: usize) -> Result<Vec<usize>> {
        let (_, routes) = leaves(&self.whole);
        let columns: BTreeSet<usize> = chosen.iter().map(|&leaf| routes[leaf].0).collect();
        let columns: Vec<usize> = columns.into_iter().collect();
        let decoded = guarded(|| self.whole.project(&columns));
        let decoded = decoded.map_err(|message| unreadable(self.source.name(), &message))?;
        self.schema = SchemaRef::new(decoded);
        let is_decoded = |&leaf: &usize| columns.contains(&routes[leaf].0);
        let leaves = (0..routes.len()).filter(is_decoded).collect();
        self.projection = Some(columns);
        Ok(leaves)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        while !self.ended {
            // The stream ends after every failure.
            self.ended = true;
            let parts = read_parts(self.source.reader());
            let Some(parts) = parts.map_err(|error| self.source.io_error(error))? else {
                self.check_end()?;
                break;
            };
            let batch = guarded(|| self.decode(&parts));
            let batch = batch.map_err(|message| unreadable(self.source.name(), &message))?;
            self.ended = false;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}

/// Reads the next message with its body; returns `None` at the end.
fn read_parts(stream: &mut dyn io::BufRead) -> io::Result<Option<Parts>> {
    if stream.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut word = read_word(stream)?;
    if word == CONTINUATION {
        word = read_word(stream)?;
    }
    let length = u32::from_le_bytes(word);
    if length == 0 {
        return Ok(None);
    }
    let message = Buffer::from_vec(read_bytes(stream, length.into())?);
    let message = guarded(|| MessageBuffer::try_new(message)).map_err(invalid)?;
    let length = message.as_ref().bodyLength();
    let length = u64::try_from(length).map_err(|_| invalid("a message has a negative length"))?;
    let body = Buffer::from_vec(read_bytes(stream, length)?);
    Ok(Some(Parts { message, body }))
}

fn read_word(stream: &mut dyn io::BufRead) -> io::Result<[u8; 4]> {
    let mut word = [0; 4];
    stream
        .read_exact(&mut word)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => cut_off(),
            _ => error,
        })?;
    Ok(word)
}

/// Reads `length` bytes. Memory grows as they arrive.
fn read_bytes(stream: &mut dyn io::BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length.min(ROOM) as usize);
    let read = stream.take(length).read_to_end(&mut bytes)?;
    match read as u64 == length {
        true => Ok(bytes),
        false => Err(cut_off()),
    }
}

fn cut_off() -> io::Error {
    invalid("the Arrow data are cut off")
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

fn schema_of(parts: &Parts) -> Result<SchemaRef, ArrowError> {
    let message: Message<'_> = parts.message.as_ref();
    let schema = message.header_as_schema();
    let schema = schema.ok_or_else(|| ArrowError::IpcError("it begins without a schema".into()))?;
    if !schema.endianness().equals_to_target_endianness() {
        let message = "it has the byte order of another kind of machine";
        return Err(ArrowError::IpcError(message.into()));
    }
    Ok(SchemaRef::new(try_fb_to_schema(schema)?))
}

/// Checks the declared lengths of compressed buffers, for which memory is allocated in advance.
fn check_lengths(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<(), ArrowError> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let length = u64::try_from(buffer.length()).unwrap_or(0);
        let start = usize::try_from(buffer.offset()).ok();
        // An empty buffer has the offset of the next one.
        let start = start.filter(|_| length > 0);
        let bytes = start
            .and_then(|start| body.get(start..))
            .unwrap_or_default();
        let said = bytes
            .first_chunk()
            .map_or(0, |said| i64::from_le_bytes(*said));
        let most = length.saturating_mul(MAX_RATIO).min(MAX_BUFFER);
        if said > 0 && said.cast_unsigned() > most {
            let message = format!("a buffer of {length} bytes is said to hold {said}");
            return Err(ArrowError::IpcError(message));
        }
    }
    Ok(())
}

/// Calls the library; see [`guarded`](super::guarded).
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    super::guarded("Arrow", call)
}
