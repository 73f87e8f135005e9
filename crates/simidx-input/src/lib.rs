//! Readers of records, which are fingerprints or documents, from files in any of thirteen formats.
//!
//! [`open`] returns a [`RecordReader`] for a path, which is an iterator. [`open_with`] also takes the names of the
//! fields that contain texts, fingerprints and ids, the width of fingerprints and the encoding of texts. [`expand`]
//! lists the inputs of a pattern or a folder. Files compressed by gzip, Zstandard, bzip2, LZ4 or xz are decompressed.
//! They are recognised by their first bytes, except for [`Format::Le`], in which any bytes are valid, so that the
//! suffix of the name decides. Memory is bounded by the longest record, for [`Format::Parquet`] by the longest page,
//! for [`Format::Arrow`] by the longest record batch. A text may have at most 256 MiB.
//!
//! An unusable record is an [`Error::Input`]; the reader then continues with the next record, and the caller decides
//! whether to skip it. An [`Error::Io`] names its file and ends the reading. A line or value that is too long is an
//! [`Error::Input`]; if the caller continues and it does not end within 4 GiB, an [`Error::Io`] follows.
//!
//! ```
//! use simidx_input::{Content, open};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("documents.jsonl");
//! std::fs::write(&path, r#"{"id": "a", "text": "One document"}"#)?;
//! for record in open(&path, None)? {
//!     match record?.content {
//!         Content::Text(text) => assert_eq!(text, "One document"),
//!         Content::Fingerprint(_) => unreachable!("the file holds documents"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The feature `parquet` reads Apache Parquet files, `arrow` Apache Arrow files and streams, `warc` web archives;
//! `bzip2`, `lz4` and `xz` read through these compressions. Without its feature, an input is refused with an error that
//! names the feature.

#[cfg(feature = "arrow")]
mod columnar;
mod columns;
mod compression;
mod csv;
mod decoding;
mod detect;
mod digits;
mod encoding;
mod error;
mod escape;
mod fields;
mod files;
mod folder;
mod format;
mod id;
mod input_file;
mod items;
mod json;
mod kinds;
mod line_source;
mod members;
mod names;
mod new_fields;
mod npy_header;
mod options;
mod patterns;
mod plain_lines;
mod read_ahead;
mod rewrite;
mod source;
mod table;
mod text_encoding;
#[cfg(feature = "warc")]
mod warc;
mod words;

#[cfg(feature = "parquet")]
pub use columnar::ParquetOut;
pub use encoding::Decoded;
pub use error::{Error, InputError, Place, Result};
pub use escape::{BadEscape, Escaped, unescape};
pub use fields::Fields;
pub use format::{Format, UnknownFormat};
pub use input_file::InputFile;
pub use new_fields::{Fate, FieldKind, FieldValue, NewField};
pub use options::ReadOptions;
pub use patterns::expand;
pub use rewrite::{RecordFate, rewrite_records, write_csv_row};
pub use text_encoding::{TextEncoding, UnknownEncoding};

use std::path::Path;

use detect::Told;
use fields::{FoundId, Holds};
use items::{ItemReader, Items};
use line_source::LineSource;
use simidx::{Fingerprints, IdBuf};
use source::Source;

/// The greatest length in bytes of a document, and of a line that may contain one.
const MAX_DOCUMENT: u64 = 256 << 20;

/// The greatest length in bytes of a record that is too long, up to which a reader searches for its end.
const MAX_PASSED_OVER: u64 = 4 << 30;

/// The content of a record.
///
/// ```
/// use simidx_input::Content;
///
/// let content = Content::Text("a document".to_owned());
/// assert_ne!(content, Content::Fingerprint(0xff));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A fingerprint, in the low bits.
    Fingerprint(u128),
    /// A document, which is still to be fingerprinted.
    Text(String),
}

/// One record of an input.
///
/// ```
/// use simidx::IdBuf;
/// use simidx_input::{Content, open};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.tsv");
/// std::fs::write(&path, "00ff\tfirst\n")?;
/// let record = open(&path, None)?.next().expect("a record")?;
/// assert_eq!(record.content, Content::Fingerprint(0xff));
/// assert_eq!(record.id, Some(IdBuf::String("first".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The fingerprint or the document.
    pub content: Content,
    /// The id of the record, if the input has one.
    pub id: Option<IdBuf>,
    /// The problem with an id that is ignored; see [`Fields::odd_ids`].
    pub odd_id: Option<String>,
    /// Whether bytes that are invalid in their encoding were replaced by U+FFFD.
    pub has_faults: bool,
}

impl Record {
    fn new(content: Content, (id, odd_id): FoundId) -> Self {
        Record {
            content,
            id,
            odd_id,
            has_faults: false,
        }
    }

    fn fingerprint(fingerprint: u128, id: Option<IdBuf>) -> Self {
        Record::new(Content::Fingerprint(fingerprint), (id, None))
    }

    fn text(text: String, id: Option<IdBuf>) -> Self {
        Record::new(Content::Text(text), (id, None))
    }

    /// Creates the record of a decoded document.
    fn decoded(decoded: Decoded, id: IdBuf) -> Self {
        let mut record = Record::text(decoded.text, Some(id));
        record.has_faults = decoded.has_faults;
        record
    }
}

/// A stream of records, as [`open`], [`open_with`] and [`InputFile::records`] return it.
///
/// The iterator returns the records one by one, and ends after the last one or an [`Error::Io`]. After an
/// [`Error::Input`] for an unusable record, it continues with the next record.
///
/// ```
/// use simidx::{Fingerprints, Width};
/// use simidx_input::{Place, open};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.hex");
/// std::fs::write(&path, "00ff\n00fe\n")?;
/// let mut reader = open(&path, None)?;
///
/// // Plain fingerprints can be read many at a time.
/// let mut fingerprints = Fingerprints::new(Width::W64);
/// while reader.read_fingerprints(&mut fingerprints) > 0 {}
/// assert_eq!(fingerprints, Fingerprints::W64(vec![0xff, 0xfe]));
/// assert!(reader.next().is_none());
/// assert_eq!(reader.place().1, Place::Line(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RecordReader: Iterator<Item = Result<Record>> + Send {
    /// Appends the fingerprints of the next records to `out`, as long as they have no ids, and returns their number, at
    /// most 2^20. This is many times faster than the iterator.
    ///
    /// After 0, the iterator must be used: the next item may be another record, an error or the end. Both methods may
    /// be mixed. Nothing is appended to a column of another width than the reader was opened with, nor by the default
    /// implementation.
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let _ = out;
        0
    }

    /// Number of bytes read from the file so far, before decompression.
    fn bytes_read(&self) -> u64;

    /// The encoding that was guessed for a line format with [`TextEncoding::AUTO`], unless it is UTF-8.
    fn guessed_encoding(&self) -> Option<&'static str> {
        None
    }

    /// The file, and the place in it of the last record or error.
    ///
    /// Before the first record, it is line 0, offset 0 or the whole file.
    fn place(&self) -> (&str, Place);
}

/// Opens a file, a directory or, for `-`, standard input.
///
/// If no format is given, the path determines it, otherwise the first 64 KiB: see [`Format`]. A file of text is not
/// detected as a document, except in a directory. The shards in a directory, see [`expand`], are read consecutively.
/// Fingerprints have 64 bits.
///
/// # Errors
/// [`Error::Io`], which names the path, if it cannot be opened or its beginning cannot be read. [`Error::Input`] if the
/// format cannot be detected or does not fit, for a file that cannot contain records, such as an archive, and for a
/// directory with files of several formats.
pub fn open(path: &Path, format: Option<Format>) -> Result<Box<dyn RecordReader>> {
    open_with(path, format, &ReadOptions::default())
}

/// Opens an input like [`open`], with the names of fields, the width of fingerprints and the encoding of texts.
///
/// ```
/// use simidx_input::{Content, ReadOptions, open_with};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.jsonl");
/// std::fs::write(&path, r#"{"url": "example.org", "page": {"body": "Text"}}"#)?;
/// let mut options = ReadOptions::default();
/// options.fields.text = vec!["page.body".to_owned()];
/// options.fields.id = Some("url".to_owned());
/// let record = open_with(&path, None, &options)?.next().expect("a record")?;
/// assert_eq!(record.content, Content::Text("Text".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The errors of [`open`]. [`Error::Input`] if the format has no named fields or no encoding, or if the file lists its
/// columns without the named ones.
pub fn open_with(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<Box<dyn RecordReader>> {
    if source::is_folder(path)
        && let Some(shards) = folder::ShardsReader::open(path, format, options)?
    {
        return Ok(Box::new(shards));
    }
    let told = Told::by(format, path, options.width)?;
    let mut source = match told.format() {
        Some(Format::Files) => {
            options.check(&source::printable(path), Format::Files)?;
            let files = files::FilesReader::open(path, options.encoding)?;
            return Ok(Box::new(files));
        }
        Some(Format::Parquet) => return open_parquet(path, options),
        Some(Format::Le) => Source::open_by_name(path)?,
        _ => Source::open(path)?,
    };
    let format = match told.format() {
        Some(format) => format,
        None => detect::by_content(&mut source, told, options)?,
    };
    match format {
        Format::Parquet => open_parquet(path, options),
        _ => reader(source, format, options),
    }
}

/// Reads a whole file, or standard input for `-`, as one document like those of [`Format::Files`].
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Input`] if it is not text or longer than 256 MiB; both name the path.
pub fn read_document(path: &Path, encoding: TextEncoding) -> Result<Decoded> {
    let mut source = Source::open(path)?;
    files::read(&mut source, MAX_DOCUMENT, encoding)
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path, options: &ReadOptions) -> Result<Box<dyn RecordReader>> {
    options.check(&source::printable(path), Format::Parquet)?;
    let rows = Box::new(columnar::ParquetBatches::open(path)?);
    Ok(Box::new(columnar::Records::open(rows, options)?))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path, _: &ReadOptions) -> Result<Box<dyn RecordReader>> {
    let message = "Parquet files need a simidx-input with its feature `parquet`";
    let name = source::printable(path);
    Err(source::input_error(&name, Place::File, message))
}

/// Returns the reader of an open source in a format other than `Files`.
fn reader(source: Source, format: Format, options: &ReadOptions) -> Result<Box<dyn RecordReader>> {
    options.check(source.name(), format)?;
    let (width, encoding) = (options.width, options.encoding);
    let source = match format.is_text() {
        true => text(source, encoding)?,
        false => source,
    };
    Ok(match format {
        Format::Tsv if options.fields.holds() != Holds::Either => {
            Box::new(table::reader(source, options)?)
        }
        Format::Hex | Format::Dec | Format::Tsv => Box::new(columns::reader(source, format, width)),
        Format::Csv => Box::new(csv::reader(source, options)?),
        Format::Le => Box::new(words::WordReader::le(source, width)),
        Format::Jsonl => Box::new(json::line_reader(source, options)),
        Format::Json => Box::new(json::reader(source, options)),
        Format::Lines => {
            let lines = LineSource::new(source, MAX_DOCUMENT);
            Box::new(ItemReader::new(lines, |line, _| {
                Ok(Record::text(line.text()?.to_owned(), None))
            }))
        }
        Format::Files => Box::new(files::FilesReader::single(source, encoding)),
        Format::Npy => Box::new(words::WordReader::npy(source, width)?),
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            let rows = Box::new(columnar::ArrowBatches::open(source)?);
            Box::new(columnar::Records::open(rows, options)?)
        }
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => {
            let message = "Arrow files need a simidx-input with its feature `arrow`";
            return Err(source.input_error(Place::File, message));
        }
        #[cfg(feature = "warc")]
        Format::Warc => Box::new(warc::WarcReader::new(source, encoding)),
        #[cfg(not(feature = "warc"))]
        Format::Warc => {
            let message = "web archives need a simidx-input with its feature `warc`";
            return Err(source.input_error(Place::File, message));
        }
        Format::Parquet => {
            let message = "a Parquet file cannot be read as a stream";
            return Err(source.input_error(Place::File, message));
        }
    })
}

/// Returns a source of text as UTF-8; a file of another kind is refused.
fn text(mut source: Source, encoding: TextEncoding) -> Result<Source> {
    // Lines that are available in a pipe must not wait for more.
    if source.is_regular() {
        let head = source.peek(kinds::HEAD)?;
        let words = kinds::words(&head).or_else(|| {
            let format = detect::by_magic(&head)?;
            Some(match format {
                Format::Npy => "is a NumPy array; read it with --input npy",
                Format::Parquet => "is a Parquet file; read it with --input parquet",
                Format::Arrow => "is an Arrow file; read it with --input arrow",
                _ => return None,
            })
        });
        if let Some(words) = words {
            return Err(source.input_error(Place::File, words));
        }
    }
    source.decoded(encoding)
}

#[cfg(test)]
mod tests;
