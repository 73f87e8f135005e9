//! Inputs that can be read repeatedly, and whose records can be filtered.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::detect::Told;
use super::fields::Holds;
use super::files::FilesReader;
use super::items::Items;
use super::source::{
    Source, input_error, io_error, is_folder, is_stdin, open_file, printable, stdin,
};
use super::{Format, ReadOptions, RecordReader, csv, detect, folder, open_parquet, reader, table};
use crate::{Place, Result};

/// A file, a directory or standard input that can be read several times and filtered.
///
/// Standard input and pipes can be read only once, so they are first copied, without decompression, to an unnamed
/// temporary file. A change of a file is detected by its length and modification time.
///
/// ```
/// use simidx_input::{Fate, InputFile, rewrite_records};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("texts.jsonl");
/// std::fs::write(&path, "{\"text\": \"one\"}\n{\"text\": \"two\"}\n")?;
/// let input = InputFile::open(&path, None, None)?;
///
/// // First pass: which records are to stay?
/// let mut fates = Vec::new();
/// for record in input.records()? {
///     let is_wanted = format!("{:?}", record?.content).contains("two");
///     fates.push(if is_wanted { Fate::Copied } else { Fate::Dropped });
/// }
///
/// // Second pass: copies them.
/// let mut out = Vec::new();
/// let mut fate = |number: u64, _| Ok(fates[number as usize].clone());
/// rewrite_records(&[input], &mut out, &[], &mut fate)?;
/// assert_eq!(out, b"{\"text\": \"two\"}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InputFile {
    pub(super) path: PathBuf,
    name: String,
    pub(super) format: Format,
    pub(super) options: ReadOptions,
    /// The line, or row, with the names of the columns, if there is one.
    pub(super) header: Vec<u8>,
    /// A copy of an input that can be read only once.
    copy: Option<File>,
    stamp: Option<Stamp>,
}

/// The properties that detect a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl InputFile {
    /// Opens an input like [`open`](super::open). Temporary files go to `temp_dir`, by default to the folder of the
    /// system.
    ///
    /// # Errors
    /// The errors of [`open`](super::open). [`Error::Io`](crate::Error::Io) if a temporary file cannot be written.
    pub fn open(path: &Path, format: Option<Format>, temp_dir: Option<&Path>) -> Result<Self> {
        Self::open_with(path, format, &ReadOptions::default(), temp_dir)
    }

    /// Opens an input like [`open_with`](super::open_with).
    ///
    /// # Errors
    /// The errors of [`InputFile::open`] and [`open_with`](super::open_with).
    pub fn open_with(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
        temp_dir: Option<&Path>,
    ) -> Result<Self> {
        if is_folder(path) && folder::expand(path, format)? != [path] {
            let message = "is a folder of shards, of which each is an input";
            return Err(input_error(&printable(path), Place::File, message));
        }
        let told = Told::by(format, path, options.width)?;
        let mut input = InputFile {
            path: path.to_owned(),
            name: printable(path),
            format: told.format().unwrap_or(Format::Lines),
            options: options.clone(),
            header: Vec::new(),
            copy: None,
            stamp: None,
        };
        if !matches!(told.format(), Some(Format::Files | Format::Parquet)) {
            input.make_readable(temp_dir)?;
        }
        input.stamp = input.stamp_now()?;
        if told.format().is_none() {
            let source = &mut input.source()?;
            input.format = detect::by_content(source, told, options)?;
        }
        options.check(&input.name, input.format)?;
        match input.format {
            Format::Tsv if options.fields.holds() != Holds::Either => {
                let table = table::reader(input.text()?, options)?;
                input.header = table.items().raw().0.to_owned();
                Ok(input)
            }
            Format::Csv => {
                let rows = csv::open_rows(input.text()?, options)?;
                input.header = rows.raw().0.to_owned();
                Ok(input)
            }
            _ => Ok(input),
        }
    }

    /// Checks that records can be copied one by one, as those of the formats `le` and `npy` cannot.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if they cannot.
    pub fn check_copyable(&self) -> Result<()> {
        match self.format {
            Format::Le | Format::Npy => {
                let format = self.format.name();
                let message = format!("records of the format {format} cannot be copied one by one");
                Err(input_error(&self.name, Place::File, message))
            }
            _ => Ok(()),
        }
    }

    /// Copies an input that is not a regular file.
    fn make_readable(&mut self, temp_dir: Option<&Path>) -> Result<()> {
        if is_stdin(&self.path) {
            self.copy = Some(spool(&self.name, stdin()?, temp_dir)?);
            return Ok(());
        }
        let (name, file) = open_file(&self.path)?;
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            self.copy = Some(spool(&name, file, temp_dir)?);
        }
        Ok(())
    }

    /// The format, given or detected.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The path that the input was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the input in errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether records have named fields, so that [`rewrite_records`](super::rewrite_records) can add more.
    pub fn has_fields(&self) -> bool {
        self.format.has_fields() || (self.format == Format::Tsv && !self.header.is_empty())
    }

    /// Size of the input in bytes, before decompression; `None` for a directory.
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

    /// Reads the records from the first one on.
    ///
    /// # Errors
    /// The errors of [`open`](super::open), and a file that has changed.
    pub fn records(&self) -> Result<Box<dyn RecordReader>> {
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
    /// [`Error::Io`](crate::Error::Io) if it has changed or its metadata cannot be read.
    pub fn check_unchanged(&self) -> Result<()> {
        if self.stamp_now()? == self.stamp {
            return Ok(());
        }
        let message = "has changed while it was read";
        let error = io::Error::new(io::ErrorKind::InvalidData, message);
        Err(io_error(&self.name, error))
    }

    /// Returns the contents of the input from the start.
    pub(super) fn source(&self) -> Result<Source> {
        let Some(copy) = &self.copy else {
            return Source::open(&self.path);
        };
        let file = copy.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        Source::of_file(&self.name, file.map_err(|e| io_error(&self.name, e))?)
    }

    /// Returns the contents of the input as UTF-8.
    pub(super) fn text(&self) -> Result<Source> {
        self.source()?.decoded(self.options.encoding)
    }

    /// Returns the current stamp; `None` if the input is not a single file.
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

/// Copies `from` to a temporary file.
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
