//! Inputs that are read more than once and whose records are filtered.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::FilesReader;
use super::line_source::{BYTE_ORDER_MARK, LineSource};
use super::source::{Source, input_error, io_error, is_stdin, open_file, printable};
use super::table::Table;
#[cfg(feature = "warc")]
use super::warc::WarcReader;
use super::{
    Fields, Format, MAX_DOCUMENT, ReadOptions, RecordReader, columns, detect, open_parquet, reader,
};
use crate::{Error, Place, Result};
use simidx::Fingerprint;

/// A file, a directory or standard input that can be read several times and filtered.
///
/// Standard input and pipes can be read only once, so they are first copied to a temporary file without a name; what is
/// compressed stays compressed. A file that changes meanwhile is detected by its length and modification time.
///
/// ```
/// use simidx_input::{InputFile, filter_records};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("texts.jsonl");
/// std::fs::write(&path, "{\"text\": \"one\"}\n{\"text\": \"two\"}\n")?;
/// let input = InputFile::open::<u64>(&path, None, None)?;
///
/// // First pass: which records are to stay?
/// let mut keeps = Vec::new();
/// let mut records = input.records::<u64>()?;
/// while let Some(record) = records.next_record() {
///     keeps.push(format!("{:?}", record?.content).contains("two"));
/// }
///
/// // Second pass: copies them.
/// let (mut out, mut keeps) = (Vec::new(), keeps.into_iter());
/// filter_records::<u64>(&[input], &mut out, &mut |_| keeps.next() == Some(true))?;
/// assert_eq!(out, b"{\"text\": \"two\"}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    name: String,
    format: Format,
    options: ReadOptions,
    /// The line with the names of the columns, if there is one.
    header: Vec<u8>,
    /// A copy of an input that can be read only once.
    copy: Option<File>,
    stamp: Option<Stamp>,
}

/// How a change of a file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl InputFile {
    /// Opens an input as [`open`](super::open) does. Temporary files go to `temp_dir`, by default to the folder of the
    /// system.
    ///
    /// # Errors
    ///
    /// As for [`open`](super::open). [`Error::Input`] for the formats `le` and `npy`, which cannot be filtered.
    /// [`Error::Io`] if a temporary file cannot be written.
    pub fn open<F: Fingerprint>(
        path: &Path,
        format: Option<Format>,
        temp_dir: Option<&Path>,
    ) -> Result<Self> {
        Self::open_with::<F>(path, format, &ReadOptions::default(), temp_dir)
    }

    /// The same for [`open_with`](super::open_with).
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn open_with<F: Fingerprint>(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
        temp_dir: Option<&Path>,
    ) -> Result<Self> {
        let format = match format {
            Some(format) => Some(format),
            None => detect::by_path::<F>(path)?,
        };
        let mut input = InputFile {
            path: path.to_owned(),
            name: printable(path),
            format: format.unwrap_or(Format::Lines),
            options: options.clone(),
            header: Vec::new(),
            copy: None,
            stamp: None,
        };
        if !matches!(format, Some(Format::Files | Format::Parquet)) {
            input.make_readable(temp_dir)?;
        }
        input.stamp = input.stamp_now()?;
        if format.is_none() {
            let source = &mut input.source()?;
            input.format = detect::by_content::<F>(source, options.encoding)?;
        }
        options.check(&input.name, input.format)?;
        match input.format {
            Format::Tsv if options.fields.text.is_some() => {
                let table = Table::open(input.text()?, &options.fields)?.into_format();
                input.header = table.into_header();
                Ok(input)
            }
            Format::Le | Format::Npy => {
                let message = format!(
                    "records of the format {} cannot be copied one by one",
                    input.format.name()
                );
                Err(input_error(&input.name, Place::File, message))
            }
            _ => Ok(input),
        }
    }

    /// Copies an input that is not a regular file.
    fn make_readable(&mut self, temp_dir: Option<&Path>) -> Result<()> {
        if is_stdin(&self.path) {
            self.copy = Some(spool(&self.name, io::stdin(), temp_dir)?);
            return Ok(());
        }
        let (name, file) = open_file(&self.path)?;
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            self.copy = Some(spool(&name, file, temp_dir)?);
        }
        Ok(())
    }

    /// The format, as given or recognised.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the input, compressed bytes if it is compressed. None for a directory.
    pub fn byte_count(&self) -> Option<u64> {
        let len = |file: &File| file.metadata().ok().map(|data| data.len());
        match (&self.copy, self.stamp) {
            (Some(copy), _) => len(copy),
            (None, stamp) => stamp.map(|stamp| stamp.len),
        }
    }

    /// Whether records of this input can be appended to those of another.
    pub fn goes_with(&self, other: &InputFile) -> bool {
        let kind = |format| match format {
            Format::Tsv => Format::Hex,
            other => other,
        };
        kind(self.format) == kind(other.format) && self.header == other.header
    }

    /// Reads the records, from the first one.
    ///
    /// # Errors
    ///
    /// As for [`open`](super::open), and a file that has changed.
    pub fn records<F: Fingerprint>(&self) -> Result<Box<dyn RecordReader<F> + Send>> {
        self.check_unchanged()?;
        match self.format {
            Format::Files => Ok(Box::new(FilesReader::open(
                &self.path,
                self.options.encoding,
            )?)),
            Format::Parquet => open_parquet(&self.path, &self.options),
            format => reader(self.source()?, format, &self.options),
        }
    }

    /// Checks that the file has the length and modification time that it had when it was opened.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it has changed or its metadata cannot be read.
    pub fn check_unchanged(&self) -> Result<()> {
        match self.stamp_now()? == self.stamp {
            true => Ok(()),
            false => Err(self.changed()),
        }
    }

    /// The error of an input that has changed.
    pub fn changed(&self) -> Error {
        let message = "has changed while it was read";
        io_error(
            &self.name,
            io::Error::new(io::ErrorKind::InvalidData, message),
        )
    }

    fn source(&self) -> Result<Source> {
        let Some(copy) = &self.copy else {
            return Source::open(&self.path);
        };
        let file = copy.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        Source::of_file(&self.name, file.map_err(|e| io_error(&self.name, e))?)
    }

    /// The lines that the input is made of, as UTF-8.
    fn text(&self) -> Result<Source> {
        self.source()?.decoded(self.options.encoding)
    }

    /// None of what is not a file by itself.
    fn stamp_now(&self) -> Result<Option<Stamp>> {
        if self.copy.is_some() || is_stdin(&self.path) {
            return Ok(None);
        }
        let data = fs::metadata(&self.path).map_err(|e| io_error(&self.name, e))?;
        Ok(data.is_file().then(|| Stamp {
            len: data.len(),
            modified: data.modified().ok(),
        }))
    }
}

/// Writes all that `from` holds to a temporary file.
fn spool(name: &str, mut from: impl Read, temp_dir: Option<&Path>) -> Result<File> {
    let folder = temp_dir.map_or_else(std::env::temp_dir, Path::to_owned);
    let blame_folder = |e| io_error(&printable(&folder), e);
    let mut file = tempfile::tempfile_in(&folder).map_err(blame_folder)?;
    let mut block = vec![0; 1 << 20];
    loop {
        let length = match from.read(&mut block) {
            Ok(0) => return Ok(file),
            Ok(length) => length,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(io_error(name, e)),
        };
        file.write_all(&block[..length]).map_err(blame_folder)?;
    }
}

/// Decides for each record, in the order of all inputs, whether to keep it. The argument is the number of bytes of all
/// inputs that have been read so far.
pub type RecordPredicate<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Copies the records that `keep` accepts to `out`, in order and byte for byte, except that decoded lines are written in
/// UTF-8. For an example see [`InputFile`].
///
/// - Line formats: a record is its line with its end. A last line without an end gets one if another record follows. A
///   first record that begins with a byte order mark gets another, because readers ignore one at the start of a file.
///   The header of a `tsv` is copied once. Lines without a record are left out.
/// - `files`: a record is written as its path on a line.
/// - `warc`: a record is written with its header; records that are not documents are left out.
/// - `parquet`: rows are written with all columns, and with the schema, the metadata and the compression of the first
///   file; the others must have the same schema.
///
/// The output of compressed inputs is not compressed.
///
/// # Errors
///
/// An input that cannot be read or has changed since it was opened, Parquet files that differ in
/// their schemas, and what `out` reports.
pub fn filter_records<F: Fingerprint>(
    inputs: &[InputFile],
    mut out: &mut (dyn Write + Send),
    keep: RecordPredicate<'_>,
) -> Result<()> {
    if inputs
        .first()
        .is_some_and(|input| input.format == Format::Parquet)
    {
        let paths = inputs
            .iter()
            .map(|input| (input.path.as_path(), &input.options));
        let paths: Vec<_> = paths.collect();
        inputs.iter().try_for_each(InputFile::check_unchanged)?;
        copy_parquet::<F>(&paths, out, keep)?;
        return inputs.iter().try_for_each(InputFile::check_unchanged);
    }
    let mut copier = Copier {
        out: &mut out,
        is_empty: true,
        open_line: false,
        has_header: false,
        bytes_before: 0,
    };
    for input in inputs {
        input.check_unchanged()?;
        match input.format {
            Format::Files => {
                let files = FilesReader::open(&input.path, input.options.encoding)?;
                copier.copy_paths(files, keep)?;
            }
            #[cfg(feature = "warc")]
            Format::Warc => {
                let archive = WarcReader::new(input.source()?, input.options.encoding);
                copier.copy_archived(archive, keep)?;
            }
            format => {
                let mut lines = lines(input.text()?, format, &input.options.fields);
                copier.copy_header(&mut lines, &input.header)?;
                copier.copy_lines(lines, keep)?;
            }
        }
        input.check_unchanged()?;
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn copy_parquet<F: Fingerprint>(
    inputs: &[(&Path, &ReadOptions)],
    out: &mut (dyn Write + Send),
    keep: RecordPredicate<'_>,
) -> Result<()> {
    let inputs: Vec<(&Path, &Fields)> = inputs
        .iter()
        .map(|(path, options)| (*path, &options.fields))
        .collect();
    super::parquet::copy_rows::<F>(&inputs, out, keep)
}

#[cfg(not(feature = "parquet"))]
fn copy_parquet<F: Fingerprint>(
    inputs: &[(&Path, &ReadOptions)],
    _: &mut (dyn Write + Send),
    _: RecordPredicate<'_>,
) -> Result<()> {
    inputs
        .iter()
        .try_for_each(|(path, options)| open_parquet::<F>(path, options).map(drop))
}

/// The lines of a source, bounded as its reader bounds them.
fn lines(source: Source, format: Format, fields: &Fields) -> LineSource {
    let limit = match format {
        Format::Hex | Format::Dec => columns::MAX_LINE,
        Format::Tsv if fields.text.is_none() => columns::MAX_LINE,
        _ => MAX_DOCUMENT,
    };
    LineSource::new(source, limit)
}

/// Copies the lines of several inputs.
struct Copier<'a> {
    out: &'a mut dyn Write,
    /// Whether no line has been written.
    is_empty: bool,
    /// Whether the line written last has no end.
    open_line: bool,
    /// Whether the names of the columns have been written.
    has_header: bool,
    bytes_before: u64,
}

impl Copier<'_> {
    fn copy_lines(&mut self, mut lines: LineSource, keep: RecordPredicate<'_>) -> Result<()> {
        loop {
            let advanced = lines.advance();
            match advanced {
                Ok(false) => break,
                Ok(true) | Err(Error::Input(_)) => {}
                Err(error) => return Err(error),
            }
            let chosen = keep(self.bytes_before + lines.bytes_read());
            if chosen && advanced.is_ok() {
                self.write_record(&lines)?;
            }
        }
        self.bytes_before += lines.bytes_read();
        Ok(())
    }

    /// Skips the line with the names of the columns, if there is one, and copies that of the first input.
    fn copy_header(&mut self, lines: &mut LineSource, header: &[u8]) -> Result<()> {
        if header.is_empty() {
            return Ok(());
        }
        lines.advance()?;
        if !std::mem::replace(&mut self.has_header, true) {
            self.write_record(lines)?;
        }
        Ok(())
    }

    /// Writes the current line such that it will be read as it is.
    fn write_record(&mut self, lines: &LineSource) -> Result<()> {
        let (line, end) = lines.raw();
        if self.is_empty && line.starts_with(BYTE_ORDER_MARK) {
            self.out.write_all(BYTE_ORDER_MARK)?;
        }
        self.is_empty = false;
        self.write(line, end)
    }

    #[cfg(feature = "warc")]
    fn copy_archived(&mut self, mut records: WarcReader, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(record) = records.next_document() {
            let is_record = match record {
                Err(error @ Error::Io(_)) => return Err(error),
                record => record.is_ok(),
            };
            if keep(self.bytes_before + records.bytes_read()) && is_record {
                for part in records.raw() {
                    self.out.write_all(part)?;
                }
            }
        }
        self.bytes_before += records.bytes_read();
        Ok(())
    }

    fn copy_paths(&mut self, mut files: FilesReader, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(path) = files.next_path() {
            if keep(self.bytes_before)
                && let Some(path) = path?
            {
                self.write(path.as_bytes(), b"\n")?;
            }
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8], end: &[u8]) -> Result<()> {
        if std::mem::replace(&mut self.open_line, !end.ends_with(b"\n")) {
            self.out.write_all(b"\n")?;
        }
        self.out.write_all(line)?;
        Ok(self.out.write_all(end)?)
    }
}
