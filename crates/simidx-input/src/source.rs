//! Byte sources: files or standard input, decompressed while they are read.

use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use encoding_rs::Encoding;

use super::compression::{Compression, Shortened, decompress, split_suffix};
use super::decoding::{Decoding, FaultyLines};
use super::id::breaks_line;
use super::text_encoding::Choice;
use super::{TextEncoding, encoding};
use crate::{Error, InputError, Place};

/// Number of decompressed bytes that are examined to detect a format or an encoding.
pub(super) const SNIFFED: u64 = 64 << 10;

/// A named stream of bytes.
pub(super) struct Source {
    name: String,
    reader: Box<dyn BufRead + Send>,
    /// Number of bytes read so far, before decompression.
    raw_bytes: Arc<AtomicU64>,
    /// Size of the file in bytes, if it is a regular one.
    file_len: Option<u64>,
    /// The faulty lines of a stream that is decoded.
    faulty_lines: Option<FaultyLines>,
    guessed_encoding: Option<&'static Encoding>,
}

impl Source {
    /// Opens a file, or standard input for `-`, and decompresses it as its first bytes indicate.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, Compression::by_magic)
    }

    /// Opens a file, and decompresses it as its name indicates, regardless of its first bytes.
    pub(super) fn open_by_name(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, |_| split_suffix(&file_name(path)).1)
    }

    fn open_as(path: &Path, compression: impl FnOnce(&[u8]) -> Compression) -> Result<Self, Error> {
        if is_stdin(path) {
            return Self::with("-".into(), stdin()?, None, compression);
        }
        let (name, file) = open_file(path)?;
        let len = regular_len(&file);
        Self::with(name, file, len, compression)
    }

    /// Creates a source of an open file from its current position, decompressed as its first bytes indicate.
    pub(super) fn of_file(name: &str, file: File) -> Result<Self, Error> {
        let len = regular_len(&file);
        Self::with(name.to_owned(), file, len, Compression::by_magic)
    }

    /// Creates a source from a stream, decompressed as its first bytes indicate.
    #[cfg(test)]
    pub(super) fn new(name: String, raw: impl Read + Send + 'static) -> Result<Self, Error> {
        Self::with(name, raw, None, Compression::by_magic)
    }

    /// Creates a source from a stream; `compression` determines how it is compressed from its first bytes.
    fn with(
        name: String,
        raw: impl Read + Send + 'static,
        file_len: Option<u64>,
        compression: impl FnOnce(&[u8]) -> Compression,
    ) -> Result<Self, Error> {
        let raw_bytes = Arc::new(AtomicU64::new(0));
        let mut raw = Counted {
            raw,
            bytes: Arc::clone(&raw_bytes),
            file_len,
        };
        let head = Compression::read_magic(&mut raw).map_err(|e| io_error(&name, e))?;
        let compression = compression(&head);
        match decompress(Cursor::new(head).chain(raw), compression) {
            Ok(reader) => Ok(Source {
                name,
                reader,
                raw_bytes,
                file_len,
                faulty_lines: None,
                guessed_encoding: None,
            }),
            Err(e) => Err(io_error(&name, e)),
        }
    }

    /// Decodes the source to UTF-8 if the chosen or detected encoding is another one.
    pub(super) fn decoded(mut self, chosen: TextEncoding) -> Result<Self, Error> {
        let encoding = match chosen.0 {
            Choice::Format => return Ok(self),
            Choice::Named(encoding) => encoding,
            Choice::Guess => {
                let head = self.peek(SNIFFED)?;
                let is_whole = (head.len() as u64) < SNIFFED;
                let Some(encoding) = encoding::of_stream(&head, is_whole, chosen) else {
                    return Ok(self);
                };
                let is_marked = Encoding::for_bom(&head).is_some();
                self.guessed_encoding = Some(encoding).filter(|_| !is_marked);
                encoding
            }
        };
        let (decoding, faulty_lines) = Decoding::new(self.reader, encoding);
        self.reader = Box::new(decoding);
        self.faulty_lines = Some(faulty_lines);
        Ok(self)
    }

    /// The name of the encoding that the stream is decoded from, if it was guessed.
    pub(super) fn guessed_encoding(&self) -> Option<&'static str> {
        self.guessed_encoding.map(Encoding::name)
    }

    /// Whether bytes of a line, counted from 1, were invalid and became U+FFFD. Lines must be queried in ascending
    /// order.
    pub(super) fn is_faulty(&self, line: u64) -> bool {
        let lines = self.faulty_lines.as_ref();
        lines.is_some_and(|lines| lines.holds(line))
    }

    /// Number of bytes read so far, before decompression.
    pub(super) fn bytes_read(&self) -> u64 {
        self.raw_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn reader(&mut self) -> &mut (dyn BufRead + Send) {
        &mut *self.reader
    }

    /// Returns the first bytes, up to `limit`, without consuming them.
    pub(super) fn peek(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let mut head = Vec::new();
        let mut start = (&mut self.reader).take(limit);
        start
            .read_to_end(&mut head)
            .map_err(|e| io_error(&self.name, e))?;
        self.put_back(head.clone());
        Ok(head)
    }

    /// Returns the first bytes up to the end of the first line, or up to `limit`, without consuming them.
    pub(super) fn peek_line(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let mut line = Vec::new();
        let mut start = (&mut self.reader).take(limit);
        start
            .read_until(b'\n', &mut line)
            .map_err(|e| io_error(&self.name, e))?;
        self.put_back(line.clone());
        Ok(line)
    }

    /// Skips bytes that have been peeked at.
    pub(super) fn pass_over(&mut self, count: usize) -> Result<(), Error> {
        let mut passed = self.reader().take(count as u64);
        let copied = io::copy(&mut passed, &mut io::sink());
        copied.map(drop).map_err(|e| io_error(&self.name, e))
    }

    fn put_back(&mut self, bytes: Vec<u8>) {
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(bytes).chain(rest));
    }

    /// Whether the source is a regular file, which can be examined without waiting.
    pub(super) fn is_regular(&self) -> bool {
        self.file_len.is_some()
    }

    /// Returns the error of a failed read from this source.
    pub(super) fn io_error(&self, error: io::Error) -> Error {
        io_error(&self.name, error)
    }

    /// Returns the error of an unusable record.
    pub(super) fn input_error(&self, place: Place, message: impl Into<String>) -> Error {
        input_error(&self.name, place, message)
    }
}

/// A reader that counts bytes, and reports an error if a file has become shorter. It continues after interruptions,
/// which decoders would take for failures.
struct Counted<R> {
    raw: R,
    bytes: Arc<AtomicU64>,
    /// The size of a regular file when it was opened.
    file_len: Option<u64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = loop {
            match self.raw.read(out) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        let before = self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        if length == 0 && !out.is_empty() && self.file_len.is_some_and(|len| before < len) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, Shortened));
        }
        Ok(length)
    }
}

/// Returns the length of an open file, if it is a regular one.
fn regular_len(file: &File) -> Option<u64> {
    let data = file.metadata().ok()?;
    data.is_file().then_some(data.len())
}

/// Returns the last component of the path, in lower case.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

/// Whether the path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns standard input. Who opens it again would find nothing there.
pub(super) fn stdin() -> Result<io::Stdin, Error> {
    static IS_OPEN: AtomicBool = AtomicBool::new(false);
    match IS_OPEN.swap(true, Ordering::Relaxed) {
        false => Ok(io::stdin()),
        true => Err(input_error(
            "-",
            Place::File,
            "standard input is named twice",
        )),
    }
}

/// Whether the path is a directory.
pub(super) fn is_folder(path: &Path) -> bool {
    !is_stdin(path) && path.is_dir()
}

/// Returns the path for messages: on one line, with unreadable characters escaped or replaced.
pub(super) fn printable(path: &Path) -> String {
    let mut name = String::new();
    for c in path.to_string_lossy().chars() {
        if breaks_line(c) {
            name.extend(c.escape_default());
        } else {
            name.push(c);
        }
    }
    name
}

/// Prefixes an error of the system with the name of the file.
pub(super) fn io_error(name: &str, error: io::Error) -> Error {
    Error::Io(io::Error::new(error.kind(), format!("{name}: {error}")))
}

/// Returns an error in the named input.
pub(super) fn input_error(name: &str, place: Place, message: impl Into<String>) -> Error {
    Error::Input(InputError {
        source: name.to_owned(),
        place,
        message: message.into(),
    })
}

/// Refuses a path that is a URL. The caller has found no such file.
pub(super) fn refuse_url(path: &Path) -> Result<(), Error> {
    let text = path.to_string_lossy();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|scheme| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.len() > 1 && scheme.chars().all(is_part)
    });
    match is_url {
        true => {
            let message = "is a URL, and URLs are not read; \
                           fetch the file first, or pipe it in with - as the input";
            Err(input_error(&printable(path), Place::File, message))
        }
        false => Ok(()),
    }
}

/// Opens anything except a directory, which some systems would open and then fail to read.
pub(super) fn open_file(path: &Path) -> Result<(String, File), Error> {
    let name = printable(path);
    let file = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "is a directory",
            ));
        }
        Ok(file)
    });
    match file {
        Ok(file) => Ok((name, file)),
        Err(e) => {
            if e.kind() == io::ErrorKind::NotFound {
                refuse_url(path)?;
            }
            Err(io_error(&name, e))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// Returns a source named `in` of these bytes.
    pub(crate) fn source(bytes: &[u8]) -> Source {
        Source::new("in".into(), Cursor::new(bytes.to_vec())).unwrap()
    }

    /// Returns a source of which at most `piece` bytes can be read at a time.
    pub(crate) fn pieces(bytes: &[u8], piece: usize) -> Source {
        struct Pieces(Cursor<Vec<u8>>, usize);
        impl Read for Pieces {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let length = out.len().min(self.1);
                self.0.read(&mut out[..length])
            }
        }
        Source::new("in".into(), Pieces(Cursor::new(bytes.to_vec()), piece)).unwrap()
    }

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).unwrap()
    }

    /// Reads a source of these bytes to its end.
    pub(crate) fn read(bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let mut source = source(bytes);
        let mut all = Vec::new();
        match source.reader().read_to_end(&mut all) {
            Ok(_) => Ok(all),
            Err(e) => Err(source.io_error(e)),
        }
    }

    /// Returns numbers that compress to more than a few bytes.
    pub(crate) fn sample() -> Vec<u8> {
        (0u32..200_000)
            .flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes())
            .collect()
    }

    #[test]
    fn other_streams_are_left_alone() {
        for plain in [
            &b""[..],
            b"\x1f",
            b"\x1f\x8b\x07\x00",
            b"\x1f\x8b\x08\xff",
            b"(",
            b"(\xb5/?",
        ] {
            assert_eq!(read(plain).unwrap(), plain);
        }
    }

    #[test]
    fn what_is_peeked_at_is_still_read() {
        let mut source = source(b"abcdef");
        assert_eq!(source.peek(4).unwrap(), b"abcd");
        let mut all = Vec::new();
        source.reader().read_to_end(&mut all).unwrap();
        assert_eq!(all, b"abcdef");
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let sample = sample();
        for (name, bytes) in [
            ("plain", sample.clone()),
            ("x.gz", gzip(&sample)),
            ("x.zst", zstd(&sample)),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let mut source = Source::open(&path).unwrap();
            source.reader().read_exact(&mut [0; 1000]).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(bytes.len() as u64 - 1).unwrap();
            let error = source.reader().read_to_end(&mut Vec::new()).unwrap_err();
            let message = source.io_error(error).to_string();
            let end = format!("{name}: is shorter than when it was opened");
            assert!(message.ends_with(&end), "{message}");
        }
    }

    #[test]
    fn a_file_that_grows_is_read_as_far_as_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "12345").unwrap();
        let mut source = Source::open(&path).unwrap();
        std::fs::write(&path, "123456").unwrap();
        let mut all = Vec::new();
        source.reader().read_to_end(&mut all).unwrap();
        assert_eq!(all, b"123456");
    }

    #[test]
    fn bytes_are_counted_as_they_lie_on_the_disk() {
        let bytes = gzip(&sample());
        let mut source = source(&bytes);
        assert_eq!(source.peek(100).unwrap().len(), 100);
        let begun = source.bytes_read();
        assert!((100..bytes.len() as u64).contains(&begun), "{begun}");
        source.reader().read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(source.bytes_read(), bytes.len() as u64);
    }

    #[test]
    fn names_fit_on_a_line() {
        assert_eq!(printable(Path::new("a\nb\u{2028} é")), "a\\nb\\u{2028} é");
    }
}
