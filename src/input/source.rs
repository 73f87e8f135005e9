//! Byte sources: a file or standard input, decompressed on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::id::breaks_line;
use crate::{Error, InputError, Place};

/// Bytes read at a time, and kept decompressed.
const BUFFER: usize = 64 << 10;

/// Bytes looked at to know a compressed stream.
const MAGIC: usize = 4;

/// A named stream of bytes.
pub(super) struct Source {
    name: String,
    reader: Box<dyn BufRead + Send>,
}

impl Source {
    /// Opens a file, or standard input for `-`, decompressed if its first bytes say so.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        if is_stdin(path) {
            return Self::new("-".into(), io::stdin());
        }
        let (name, file) = open_file(path)?;
        Self::new(name, file)
    }

    /// The same, decompressed if the name of the file says so, whatever its first bytes are.
    pub(super) fn open_by_name(path: &Path) -> Result<Self, Error> {
        if is_stdin(path) {
            return Self::with("-".into(), io::stdin(), Compression::None);
        }
        let (name, file) = open_file(path)?;
        Self::with(name, file, split_suffix(&file_name(path)).1)
    }

    /// A source of what `raw` holds, decompressed if it is a gzip or a Zstandard stream.
    pub(super) fn new(name: String, mut raw: impl Read + Send + 'static) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(MAGIC);
        let read = raw.by_ref().take(MAGIC as u64).read_to_end(&mut head);
        read.map_err(|e| io_error(&name, e))?;
        let compression = Compression::by_magic(&head);
        Self::with(name, Cursor::new(head).chain(raw), compression)
    }

    /// A source of what `raw` holds, compressed in this way.
    fn with(
        name: String,
        raw: impl Read + Send + 'static,
        compression: Compression,
    ) -> Result<Self, Error> {
        match decompress(raw, compression) {
            Ok(reader) => Ok(Source { name, reader }),
            Err(e) => Err(io_error(&name, e)),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn reader(&mut self) -> &mut (dyn BufRead + Send) {
        &mut *self.reader
    }

    /// The first bytes, up to `limit` of them, which remain to be read.
    pub(super) fn peek(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let mut head = Vec::new();
        let mut start = (&mut self.reader).take(limit);
        start
            .read_to_end(&mut head)
            .map_err(|e| io_error(&self.name, e))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(head.clone()).chain(rest));
        Ok(head)
    }

    /// The error of a failed read from this source.
    pub(super) fn io_error(&self, error: io::Error) -> Error {
        io_error(&self.name, error)
    }

    /// The error of a record that cannot be used.
    pub(super) fn input_error(&self, place: Place, message: impl Into<String>) -> Error {
        input_error(&self.name, place, message)
    }
}

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn by_magic(head: &[u8]) -> Self {
        if is_gzip(head) {
            Compression::Gzip
        } else if is_zstd(head) {
            Compression::Zstd
        } else {
            Compression::None
        }
    }
}

/// The last part of the path, in lower case.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

/// A file name in lower case without its `.gz` or `.zst`, and what that tells.
pub(super) fn split_suffix(name: &str) -> (&str, Compression) {
    if let Some(rest) = name.strip_suffix(".gz") {
        (rest, Compression::Gzip)
    } else if let Some(rest) = name.strip_suffix(".zst") {
        (rest, Compression::Zstd)
    } else {
        (name, Compression::None)
    }
}

/// Whether the path stands for standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The path as messages show it: on one line, with anything unreadable escaped or replaced.
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

/// An error of the system, with the name of the file in front.
pub(super) fn io_error(name: &str, error: io::Error) -> Error {
    Error::Io(io::Error::new(error.kind(), format!("{name}: {error}")))
}

/// An error in the named input.
pub(super) fn input_error(name: &str, place: Place, message: impl Into<String>) -> Error {
    Error::Input(InputError {
        source: name.to_owned(),
        place,
        message: message.into(),
    })
}

/// Opens anything but a directory, which some systems would open and only then refuse to read.
fn open_file(path: &Path) -> Result<(String, File), Error> {
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
        Err(e) => Err(io_error(&name, e)),
    }
}

fn decompress(
    raw: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn BufRead + Send>> {
    let raw = BufReader::with_capacity(BUFFER, raw);
    Ok(match compression {
        Compression::None => Box::new(raw),
        Compression::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw))),
        Compression::Zstd => Box::new(BufReader::with_capacity(
            BUFFER,
            ZstdDecoder::with_buffer(raw)?,
        )),
    })
}

/// Whether a stream that starts so is a gzip one, be it cut off within the first bytes.
///
/// The method, always 8, and the reserved flags count too.
fn is_gzip(head: &[u8]) -> bool {
    match head {
        [0x1f, 0x8b] | [0x1f, 0x8b, 8] => true,
        [0x1f, 0x8b, 8, flags] => flags & 0xe0 == 0,
        _ => false,
    }
}

/// Whether a stream that starts so is a Zstandard one, be it cut off within the first bytes.
fn is_zstd(head: &[u8]) -> bool {
    head.len() >= 2 && [0x28, 0xb5, 0x2f, 0xfd].starts_with(head)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// A source named `in` of these bytes.
    pub(in crate::input) fn source(bytes: &[u8]) -> Source {
        Source::new("in".into(), Cursor::new(bytes.to_vec())).unwrap()
    }

    pub(in crate::input) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(in crate::input) fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let mut source = source(bytes);
        let mut all = Vec::new();
        match source.reader().read_to_end(&mut all) {
            Ok(_) => Ok(all),
            Err(e) => Err(source.io_error(e)),
        }
    }

    /// Numbers that compress to more than a few bytes.
    fn sample() -> Vec<u8> {
        (0u32..200_000)
            .flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes())
            .collect()
    }

    #[test]
    fn compressed_streams_are_read_through() {
        let sample = sample();
        assert_eq!(read(&gzip(&sample)).unwrap(), sample);
        assert_eq!(read(&zstd(&sample)).unwrap(), sample);
        assert_eq!(read(&sample).unwrap(), sample);
    }

    #[test]
    fn concatenated_streams_are_read_as_one() {
        assert_eq!(
            read(&[gzip(b"one "), gzip(b"two")].concat()).unwrap(),
            b"one two"
        );
        assert_eq!(
            read(&[zstd(b"one "), zstd(b"two")].concat()).unwrap(),
            b"one two"
        );
    }

    #[test]
    fn truncated_streams_are_errors_that_name_the_file() {
        for whole in [gzip(&sample()), zstd(&sample())] {
            for length in [2, 3, 4, 5, whole.len() / 2, whole.len() - 1] {
                let error = read(&whole[..length]).unwrap_err();
                assert!(matches!(error, Error::Io(_)), "{error:?}");
                assert!(error.to_string().starts_with("in: "), "{error}");
            }
        }
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        let mut damaged = gzip(&sample());
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        assert!(matches!(read(&damaged), Err(Error::Io(_))));
        let trailing = [gzip(b"one"), b"garbage".to_vec()].concat();
        assert!(matches!(read(&trailing), Err(Error::Io(_))));
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
    fn names_fit_on_a_line() {
        assert_eq!(printable(Path::new("a\nb\u{2028} é")), "a\\nb\\u{2028} é");
    }
}
