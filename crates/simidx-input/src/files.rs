//! Documents in a file each: the format `files`.

use std::fs;
use std::io::Read;
use std::path::{MAIN_SEPARATOR, Path};

use walkdir::{DirEntry, WalkDir};

use super::encoding::{self, Decoded};
use super::source::{Source, input_error, io_error, is_stdin, printable};
use super::{MAX_DOCUMENT, Record, RecordReader, TextEncoding};
use crate::id;
use crate::{Error, Place, Result};
use simidx::IdBuf;

/// An open file with its id.
type Opened = Result<(Source, IdBuf)>;

/// Reads documents whose ids are their paths.
pub(super) struct FilesReader {
    /// The remaining files by their names.
    files: Box<dyn Iterator<Item = (String, Opened)> + Send>,
    /// The last file, or the opened path.
    name: String,
    /// Largest size of a document in bytes.
    limit: u64,
    encoding: TextEncoding,
    /// Number of bytes read of all files so far.
    bytes_read: u64,
}

impl FilesReader {
    /// Opens a file or a directory.
    pub(super) fn open(path: &Path, encoding: TextEncoding) -> Result<Self> {
        let name = printable(path);
        if is_stdin(path) {
            let message = "standard input cannot be read as files";
            return Err(input_error(&name, Place::File, message));
        }
        if !fs::metadata(path).map_err(|e| io_error(&name, e))?.is_dir() {
            path_id(path)?;
            return Ok(Self::single(Source::open(path)?, encoding));
        }
        // Otherwise the walk would report an unreadable root only with the first record.
        fs::read_dir(path).map_err(|e| io_error(&name, e))?;
        let walk = WalkDir::new(path).follow_links(false).sort_by_file_name();
        let is_wanted = |entry: &walkdir::Result<DirEntry>| match entry {
            Ok(entry) => entry.file_type().is_file(),
            Err(_) => true,
        };
        let mut files = walk.into_iter().filter(is_wanted).peekable();
        if files.peek().is_none() {
            return Err(input_error(&name, Place::File, "holds no files"));
        }
        let files = files.map(|entry| match entry {
            Ok(entry) => {
                let path = entry.path();
                let opened = path_id(path).and_then(|id| Ok((Source::open(path)?, id)));
                (printable(path), opened)
            }
            Err(error) => (walked(&error), Err(walk_error(error))),
        });
        Ok(Self::new(files, name, encoding))
    }

    /// Returns a reader of a single document, whose id is the name of the source.
    pub(super) fn single(source: Source, encoding: TextEncoding) -> Self {
        let name = source.name().to_owned();
        let id = id::from_text(&name);
        let id = id.map_err(|message| source.input_error(Place::File, message));
        let file = (name.clone(), id.map(|id| (source, id)));
        Self::new(std::iter::once(file), name, encoding)
    }

    fn new(
        files: impl Iterator<Item = (String, Opened)> + Send + 'static,
        name: String,
        encoding: TextEncoding,
    ) -> Self {
        FilesReader {
            files: Box::new(files),
            name,
            limit: MAX_DOCUMENT,
            encoding,
            bytes_read: 0,
        }
    }

    /// Opens the next file and returns the result of `make` for it and its id. An [`Error::Io`] ends the reading.
    fn next_with<T>(
        &mut self,
        make: impl FnOnce(&mut Self, Source, IdBuf) -> Result<T>,
    ) -> Option<Result<T>> {
        let (name, file) = self.files.next()?;
        self.name = name;
        let made = file.and_then(|(source, id)| make(self, source, id));
        if matches!(made, Err(Error::Io(_))) {
            self.files = Box::new(std::iter::empty());
        }
        Some(made)
    }

    /// Returns the path of the next document, in the form of its id.
    pub(super) fn next_path(&mut self) -> Option<Result<String>> {
        self.next_with(|_, _, id| Ok(id.to_string()))
    }
}

/// Reads the document in a file.
pub(super) fn read(source: &mut Source, limit: u64, encoding: TextEncoding) -> Result<Decoded> {
    let mut bytes = Vec::new();
    let read = source.reader().take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|e| source.io_error(e))?;
    if bytes.len() as u64 > limit {
        let message = format!("file is longer than {limit} bytes");
        return Err(source.input_error(Place::File, message));
    }
    let decoded = encoding::decode(bytes, None, encoding);
    decoded.map_err(|message| source.input_error(Place::File, message))
}

impl Iterator for FilesReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        self.next_with(|reader, mut source, id| {
            let decoded = read(&mut source, reader.limit, reader.encoding);
            reader.bytes_read += source.bytes_read();
            Ok(Record::decoded(decoded?, id))
        })
    }
}

impl RecordReader for FilesReader {
    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn place(&self) -> (&str, Place) {
        (&self.name, Place::File)
    }
}

/// Returns the id of a file: its path, with slashes on every system.
fn path_id(path: &Path) -> Result<IdBuf> {
    let id = match path.to_str() {
        Some(text) if MAIN_SEPARATOR == '/' => id::from_text(text),
        Some(text) => id::from_text(&text.replace(MAIN_SEPARATOR, "/")),
        None => Err("path is not valid UTF-8".into()),
    };
    // The message is about the path, because the user does not know that it becomes an id.
    id.map_err(|message| match message.strip_prefix("id ") {
        Some(rest) => input_error(&printable(path), Place::File, format!("path {rest}")),
        None => input_error(&printable(path), Place::File, message),
    })
}

/// Returns the place of an error of a walk, which may be unknown.
fn walked(error: &walkdir::Error) -> String {
    error.path().map_or_else(|| "-".into(), printable)
}

pub(super) fn walk_error(error: walkdir::Error) -> Error {
    let name = walked(&error);
    let message = error.to_string();
    let cause = error
        .into_io_error()
        .unwrap_or_else(|| std::io::Error::other(message));
    io_error(&name, cause)
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::{gzip, source, zstd};
    use super::super::tests::{Read, document, drain};
    use super::*;
    use std::fs::{create_dir, write};

    fn read(path: &Path) -> Read {
        drain(&mut FilesReader::open(path, TextEncoding::default()).unwrap())
    }

    fn names(read: &Read, root: &Path) -> Vec<String> {
        let start = format!("{}/", root.display());
        let ids = read.records().into_iter().flat_map(|record| record.id);
        ids.map(|id| id.to_string().strip_prefix(&start).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_directory_is_walked_in_order() {
        let dir = tempfile::tempdir().unwrap();
        create_dir(dir.path().join("b")).unwrap();
        create_dir(dir.path().join("empty")).unwrap();
        for name in ["c", "b/z", "b/a", ".hidden", "a"] {
            write(dir.path().join(name), name).unwrap();
        }
        let read = read(dir.path());
        assert_eq!(
            names(&read, dir.path()),
            [".hidden", "a", "b/a", "b/z", "c"]
        );
        let first = dir.path().join(".hidden");
        assert_eq!(read.records()[0], document(".hidden", first.to_str()));
    }

    #[test]
    fn one_file_is_one_document() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, "\u{feff}one\ntwo\n").unwrap();
        assert_eq!(
            read(&path).records(),
            [document("one\ntwo\n", path.to_str())]
        );
    }

    #[test]
    fn compressed_files_are_read_through() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a.gz"), gzip(b"one")).unwrap();
        write(dir.path().join("b"), zstd(b"two")).unwrap();
        let records = read(dir.path()).records();
        let [a, b] = ["a.gz", "b"].map(|name| dir.path().join(name));
        assert_eq!(
            records,
            [document("one", a.to_str()), document("two", b.to_str())]
        );
    }

    #[test]
    fn other_encodings_are_decoded() {
        let dir = tempfile::tempdir().unwrap();
        let text = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。";
        let (gbk, ..) = encoding_rs::GBK.encode(text);
        write(dir.path().join("a"), &gbk).unwrap();
        write(dir.path().join("b.gz"), gzip(&gbk)).unwrap();
        let read = read(dir.path());
        let [a, b] = ["a", "b.gz"].map(|name| dir.path().join(name));
        assert_eq!(
            read.records(),
            [document(text, a.to_str()), document(text, b.to_str())]
        );
    }

    #[test]
    fn binary_files_are_refused_and_the_next_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a"), b"\x89PNG\0\xff").unwrap();
        write(dir.path().join("b"), "ok").unwrap();
        let read = read(dir.path());
        let bad = dir.path().join("a");
        assert_eq!(
            read.errors(),
            [format!("{}: holds binary data", bad.display())]
        );
        assert_eq!(names(&read, dir.path()), ["b"]);
    }

    #[cfg(unix)]
    #[test]
    fn paths_that_cannot_be_ids_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a\tb"), "").unwrap();
        write(dir.path().join(std::ffi::OsStr::from_bytes(b"b\xff")), "").unwrap();
        let read = read(dir.path());
        let errors = read.errors();
        assert!(
            errors[0].ends_with(": path is not valid UTF-8"),
            "{errors:?}"
        );
        assert_eq!(names(&read, dir.path()), ["a\tb"]);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_inside_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a"), "").unwrap();
        std::os::unix::fs::symlink(dir.path().join("a"), dir.path().join("b")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("c")).unwrap();
        assert_eq!(names(&read(dir.path()), dir.path()), ["a"]);
    }

    #[test]
    fn a_file_too_long_is_refused() {
        let mut reader = FilesReader::single(source(b"12345"), TextEncoding::default());
        reader.limit = 4;
        let read = drain(&mut reader);
        assert_eq!(read.errors(), ["in: file is longer than 4 bytes"]);
    }

    #[test]
    fn a_damaged_file_ends_the_records() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a.gz"), &gzip(b"one")[..12]).unwrap();
        write(dir.path().join("b"), "two").unwrap();
        let mut reader = FilesReader::open(dir.path(), TextEncoding::default()).unwrap();
        let mut next = || reader.next();
        let error = next().unwrap().unwrap_err();
        let name = dir.path().join("a.gz").display().to_string();
        assert!(matches!(error, Error::Io(_)));
        assert!(error.to_string().starts_with(&name), "{error}");
        assert!(next().is_none());
    }

    #[test]
    fn a_folder_without_files_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let opened = FilesReader::open(dir.path(), TextEncoding::default());
        let message = format!("{}: holds no files", dir.path().display());
        assert_eq!(opened.err().unwrap().to_string(), message);
    }

    #[test]
    fn standard_input_is_no_files() {
        let error = FilesReader::open(Path::new("-"), TextEncoding::default())
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "-: standard input cannot be read as files"
        );
    }
}
