//! Record readers: fingerprints or documents, streamed out of files in any of ten formats.
//!
//! [`open`] gives a [`RecordReader`] for a path, and [`open_with`] one that finds texts and ids in
//! other fields than `text` and `id` or reads text in another encoding. Files compressed with gzip
//! or Zstandard are read through. It knows them by their first bytes, except those of [`Format::Le`], which may hold any
//! bytes: there the suffix `.gz` or `.zst` tells. Memory stays bounded by the
//! longest record, and for [`Format::Parquet`] by the longest page.
//!
//! A record that cannot be used is reported as [`Error::Input`], after which
//! the reader goes on with the next one; the caller decides whether to skip it. An
//! [`Error::Io`], which names its file, ends the reading.

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

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<F> {
    /// A fingerprint, ready made.
    Fingerprint(F),
    /// A document, of which the fingerprint is still to be taken.
    Text(String),
}

/// One record of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<F> {
    /// The fingerprint or the document.
    pub content: Content<F>,
    /// What the input calls the record, where it calls it anything.
    pub id: Option<RecordId>,
    /// Whether bytes of it stood for nothing in their encoding and became U+FFFD.
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

    /// The record of a document in a file of its own, or a part of one.
    fn decoded(decoded: Decoded, id: RecordId) -> Self {
        let mut record = Record::text(decoded.text, Some(id));
        record.has_faults = decoded.has_faults;
        record
    }
}

/// A stream of records.
pub trait RecordReader<F> {
    /// The next record; `None` after the last one and after an [`Error::Io`].
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a record that cannot be used, after which the
    /// next call goes on behind it, and [`Error::Io`] if reading fails.
    fn next_record(&mut self) -> Option<Result<Record<F>>>;

    /// Appends the fingerprints of the next records to `out`, as long as those are fingerprints
    /// without ids, and returns how many: at most 2^20, many times faster than one by one.
    ///
    /// 0 says nothing of what comes next, be it an error or the end: [`RecordReader::next_record`]
    /// goes on from there. Both may be called in turn. The default never appends anything.
    fn read_fingerprints(&mut self, out: &mut Vec<F>) -> usize {
        let _ = out;
        0
    }

    /// Bytes read so far from the file, which for a compressed one are the compressed ones.
    fn bytes_read(&self) -> u64;

    /// The number of records that the input says it holds, before the first one is read, where it
    /// says so at all.
    fn expected_records(&self) -> Option<u64> {
        None
    }

    /// The name of the encoding, other than UTF-8, that all of an input made of lines was guessed to be in. None where
    /// there was nothing to guess: see [`TextEncoding::AUTO`].
    fn guessed_encoding(&self) -> Option<&'static str> {
        None
    }

    /// The file and the place in it of the record, or error, returned last.
    ///
    /// Before the first record the place is line 0, offset 0 or the path as a whole.
    fn place(&self) -> (&str, Place);
}

/// Opens a file, a directory or, as `-`, standard input.
///
/// Without a format it goes by the path, and failing that by the first 64 KiB: see [`Format`].
/// It never takes text for documents on its own account, unless the path is a directory.
///
/// # Errors
///
/// [`Error::Io`], naming the path, if it cannot be opened or its beginning not
/// be read, or if it is a directory and the format is not [`Format::Files`].
/// [`Error::Input`] if the format cannot be told or does not suit.
pub fn open<F: Fingerprint>(
    path: &Path,
    format: Option<Format>,
) -> Result<Box<dyn RecordReader<F> + Send>> {
    open_with(path, format, &ReadOptions::default())
}

/// The same with texts and ids in fields of these names, and in this encoding.
///
/// # Errors
///
/// As for [`open`]. [`Error::Input`] if the format has no fields or no encoding to name, or if the
/// file says which columns it has and these are not among them.
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

/// Reads one document, which a file or, as `-`, standard input holds, as those of [`Format::Files`] are read.
///
/// # Errors
///
/// [`Error::Io`] if it cannot be read, [`Error::Input`] if it is no text or
/// longer than 256 MiB; both name the path.
pub fn read_document(path: &Path, encoding: TextEncoding) -> Result<Decoded> {
    let mut source = Source::open(path)?;
    files::read(&mut source, MAX_DOCUMENT, encoding)
}

/// The number of records in all of these inputs, if each is a regular file that tells it without
/// being read through: `le`, `npy` and `parquet`, not compressed.
///
/// An input that cannot be opened tells nothing; [`open`] says why.
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
    let message = "Parquet files need a simidx built with its feature `parquet`";
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
    let message = "web archives need a simidx built with its feature `warc`";
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
