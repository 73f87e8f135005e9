//! Record readers: fingerprints or documents, streamed from files in any of ten formats.
//!
//! [`open`] returns a [`RecordReader`] for a path. [`open_with`] also takes the names of the fields that hold texts and
//! ids, and the encoding of texts. Files compressed with gzip or Zstandard are decompressed: they are recognised by
//! their first bytes, except for [`Format::Le`], where any bytes are valid and the suffix `.gz` or `.zst` decides.
//! Memory is bounded by the longest record, and for [`Format::Parquet`] by the longest page.
//!
//! An unusable record is an [`Error::Input`]; the reader then continues with the next record, and the caller decides
//! whether to skip it. An [`Error::Io`] names its file and ends the reading.
//!
//! ```
//! use simidx_input::{Content, open};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("documents.jsonl");
//! std::fs::write(&path, r#"{"id": "a", "text": "One document"}"#)?;
//! let mut reader = open::<u64>(&path, None)?;
//! while let Some(record) = reader.next_record() {
//!     match record?.content {
//!         Content::Text(text) => assert_eq!(text, "One document"),
//!         Content::Fingerprint(_) => unreachable!("the file holds documents"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The feature `parquet` reads Apache Parquet files, the feature `warc` web archives. Without them these formats are
//! refused with an [`Error::Input`] that names the feature.

mod columns;
mod decoding;
mod detect;
mod digits;
mod encoding;
mod error;
mod fields;
mod files;
mod format;
mod id;
mod input_file;
mod jsonl;
mod le;
mod line_reader;
mod line_source;
mod lines;
mod npy;
mod npy_header;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod patterns;
mod plain_lines;
mod read_ahead;
mod source;
mod table;
mod text_encoding;
#[cfg(feature = "warc")]
mod warc;
mod words;

pub use encoding::Decoded;
pub use error::{Error, InputError, Place, Result};
pub use fields::Fields;
pub use format::{Format, UnknownFormat};
pub use id::RecordId;
pub use input_file::{InputFile, RecordPredicate, filter_records};
pub use options::ReadOptions;
pub use patterns::expand;
pub use text_encoding::{TextEncoding, UnknownEncoding};

use std::path::{Path, PathBuf};

use simidx::Fingerprint;
use source::Source;

/// The greatest length of a document, and of a line that may hold one, in bytes.
const MAX_DOCUMENT: u64 = 256 << 20;

/// What a record holds.
///
/// ```
/// use simidx_input::Content;
///
/// let content: Content<u64> = Content::Text("a document".to_owned());
/// assert_ne!(content, Content::Fingerprint(0xff));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<F> {
    /// A fingerprint.
    Fingerprint(F),
    /// A document, which still has to be fingerprinted.
    Text(String),
}

/// One record of an input.
///
/// ```
/// use simidx_input::{Content, RecordId, open};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.tsv");
/// std::fs::write(&path, "00ff\tfirst\n")?;
/// let record = open::<u64>(&path, None)?.next_record().expect("a record")?;
/// assert_eq!(record.content, Content::Fingerprint(0xff));
/// assert_eq!(record.id, Some(RecordId::Text("first".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<F> {
    /// The fingerprint or the document.
    pub content: Content<F>,
    /// The id of the record, if the input has one.
    pub id: Option<RecordId>,
    /// Whether bytes that are invalid in their encoding were replaced by U+FFFD.
    pub has_faults: bool,
}

impl<F> Record<F> {
    fn fingerprint(fingerprint: F, id: Option<RecordId>) -> Self {
        Record {
            content: Content::Fingerprint(fingerprint),
            id,
            has_faults: false,
        }
    }

    fn text(text: String, id: Option<RecordId>) -> Self {
        Record {
            content: Content::Text(text),
            id,
            has_faults: false,
        }
    }

    /// The record of a decoded document.
    fn decoded(decoded: Decoded, id: RecordId) -> Self {
        let mut record = Record::text(decoded.text, Some(id));
        record.has_faults = decoded.has_faults;
        record
    }
}

/// A stream of records; made by [`open`], [`open_with`] and [`InputFile::records`].
///
/// ```
/// use simidx_input::{Place, open};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.hex");
/// std::fs::write(&path, "00ff\n00fe\n")?;
/// let mut reader = open::<u64>(&path, None)?;
///
/// // Plain fingerprints can be read many at a time.
/// let mut fingerprints = Vec::new();
/// while reader.read_fingerprints(&mut fingerprints) > 0 {}
/// assert_eq!(fingerprints, [0xff, 0xfe]);
/// assert!(reader.next_record().is_none());
/// assert_eq!(reader.place().1, Place::Line(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RecordReader<F> {
    /// The next record; `None` after the last one and after an [`Error::Io`].
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for an unusable record, after which the next call returns the record after it, and
    /// [`Error::Io`] if reading fails.
    fn next_record(&mut self) -> Option<Result<Record<F>>>;

    /// Appends the fingerprints of the next records to `out`, as long as they have no ids, and returns their number, at
    /// most 2^20. This is many times faster than record by record.
    ///
    /// 0 means that [`RecordReader::next_record`] must be asked: the next item may be another record, an error or the
    /// end. Both methods may be called in turn. The default appends nothing.
    fn read_fingerprints(&mut self, out: &mut Vec<F>) -> usize {
        let _ = out;
        0
    }

    /// Bytes read from the file so far; of a compressed file, compressed bytes.
    fn bytes_read(&self) -> u64;

    /// The number of records that the input declares, if it declares one and none has been read yet.
    fn expected_records(&self) -> Option<u64> {
        None
    }

    /// The encoding that was guessed for a line format, unless it is UTF-8 or [`TextEncoding::AUTO`] was not asked for.
    fn guessed_encoding(&self) -> Option<&'static str> {
        None
    }

    /// The file, and the place in it of the last record or error.
    ///
    /// Before the first record it is line 0, offset 0 or the whole file.
    fn place(&self) -> (&str, Place);
}

/// Opens a file, a directory or, as `-`, standard input.
///
/// Without a format, the path decides, and otherwise the first 64 KiB: see [`Format`]. Text is never taken for
/// documents by itself, unless the path is a directory.
///
/// # Errors
///
/// [`Error::Io`], naming the path, if it cannot be opened or its beginning cannot be read, or if it is a directory and
/// the format is not [`Format::Files`]. [`Error::Input`] if the format cannot be recognised or does not fit.
pub fn open<F: Fingerprint>(
    path: &Path,
    format: Option<Format>,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    open_with(path, format, &ReadOptions::default())
}

/// The same with the names of fields and the encoding of texts.
///
/// ```
/// use simidx_input::{Content, ReadOptions, open_with};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.jsonl");
/// std::fs::write(&path, r#"{"url": "example.org", "page": {"body": "Text"}}"#)?;
/// let mut options = ReadOptions::default();
/// options.fields.text = Some("page.body".to_owned());
/// options.fields.id = Some("url".to_owned());
/// let record = open_with::<u64>(&path, None, &options)?.next_record().expect("a record")?;
/// assert_eq!(record.content, Content::Text("Text".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`open`]. [`Error::Input`] if the format has no named fields or no encoding, or if the file lists its columns
/// and these are not among them.
pub fn open_with<F: Fingerprint>(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    let format = match format {
        Some(format) => Some(format),
        None => detect::by_path::<F>(path)?,
    };
    match format {
        Some(Format::Files) => {
            options.check(&source::printable(path), Format::Files)?;
            let files = files::FilesReader::open(path, options.encoding)?;
            return Ok(Box::new(files));
        }
        Some(Format::Parquet) => return open_parquet(path, options),
        _ => {}
    }
    let mut source = match format {
        Some(Format::Le) => Source::open_by_name(path)?,
        _ => Source::open(path)?,
    };
    let format = match format {
        Some(format) => format,
        None => detect::by_content::<F>(&mut source, options.encoding)?,
    };
    match format {
        Format::Parquet => open_parquet(path, options),
        _ => reader(source, format, options),
    }
}

/// Reads a whole file, or standard input as `-`, as one document, like those of [`Format::Files`].
///
/// # Errors
///
/// [`Error::Io`] if it cannot be read, [`Error::Input`] if it is not text or longer than 256 MiB; both name the path.
pub fn read_document(path: &Path, encoding: TextEncoding) -> Result<Decoded> {
    let mut source = Source::open(path)?;
    files::read(&mut source, MAX_DOCUMENT, encoding)
}

/// The number of records in all of these inputs, if each is a regular file that shows it without being read: `le`,
/// `npy` and `parquet`, not compressed.
///
/// None if any of them cannot be opened; [`open`] says why.
pub fn expected_records<F: Fingerprint>(paths: &[PathBuf], format: Option<Format>) -> Option<u64> {
    expected_records_with::<F>(paths, format, &ReadOptions::default())
}

/// The same for [`open_with`].
pub fn expected_records_with<F: Fingerprint>(
    paths: &[PathBuf],
    format: Option<Format>,
    options: &ReadOptions,
) -> Option<u64> {
    let expected = |path: &PathBuf| {
        // Opening a pipe would take something of it away.
        if !path.metadata().is_ok_and(|data| data.is_file()) {
            return None;
        }
        open_with::<F>(path, format, options)
            .ok()?
            .expected_records()
    };
    let counts = paths.iter().map(expected);
    counts.reduce(|sum, count| sum?.checked_add(count?))?
}

#[cfg(feature = "parquet")]
fn open_parquet<F: Fingerprint>(
    path: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    options.check(&source::printable(path), Format::Parquet)?;
    let fields = &options.fields;
    Ok(Box::new(parquet::ParquetReader::open::<F>(path, fields)?))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet<F: Fingerprint>(
    path: &Path,
    _: &ReadOptions,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    let message = "Parquet files need a simidx-input with its feature `parquet`";
    let name = source::printable(path);
    Err(source::input_error(&name, Place::File, message))
}

#[cfg(feature = "warc")]
fn open_warc<F: Fingerprint>(
    source: Source,
    encoding: TextEncoding,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    Ok(Box::new(warc::WarcReader::new(source, encoding)))
}

#[cfg(not(feature = "warc"))]
fn open_warc<F: Fingerprint>(
    source: Source,
    _: TextEncoding,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    let message = "web archives need a simidx-input with its feature `warc`";
    Err(source::input_error(source.name(), Place::File, message))
}

/// The reader of an open source in a format other than `Files`.
fn reader<F: Fingerprint>(
    source: Source,
    format: Format,
    options: &ReadOptions,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    use columns::{Columns, Radix};
    options.check(source.name(), format)?;
    let (fields, encoding) = (&options.fields, options.encoding);
    let source = match format.is_lines() {
        true => source.decoded(encoding)?,
        false => source,
    };
    Ok(match format {
        Format::Tsv if fields.text.is_some() => Box::new(table::Table::open(source, fields)?),
        Format::Hex | Format::Tsv => Box::new(Columns::reader(source, Radix::Hex)),
        Format::Dec => Box::new(Columns::reader(source, Radix::Dec)),
        Format::Le => Box::new(le::LeReader::new(source)),
        Format::Jsonl => Box::new(jsonl::Jsonl::reader(source, fields)),
        Format::Lines => Box::new(lines::Lines::reader(source)),
        Format::Files => Box::new(files::FilesReader::single(source, encoding)),
        Format::Npy => Box::new(npy::NpyReader::new::<F>(source)?),
        Format::Warc => return open_warc(source, encoding),
        Format::Parquet => {
            let message = "a Parquet file cannot be read as a stream";
            return Err(source.input_error(Place::File, message));
        }
    })
}

#[cfg(test)]
mod tests;
