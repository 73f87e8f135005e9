//! Web archives: the format `warc`.

mod header;
mod response;

use std::io::{self, BufRead, ErrorKind, Read};

use super::encoding::{self, Decoded};
use super::source::Source;
use super::{MAX_DOCUMENT, Record, RecordReader, TextEncoding};
use crate::id;
use crate::{Error, Place, Result};
use header::MediaType;
use response::Response;
use simidx::IdBuf;

/// The greatest length of the header of a record, in bytes.
const MAX_HEADER: u64 = 1 << 20;

/// Number of bytes of a response that are read before it is known whether it is a document.
const RESPONSE_HEAD: u64 = 64 << 10;

/// Reads the documents among the records of an archive.
pub(super) struct WarcReader {
    source: Source,
    /// The offsets of the last record and of the next one in the decompressed archive.
    start: u64,
    position: u64,
    /// The header of the last record, including the empty line after it.
    header: Vec<u8>,
    block: Vec<u8>,
    /// Largest size of a document in bytes.
    limit: u64,
    encoding: TextEncoding,
    ended: bool,
}

/// The relevant contents of the header of a record.
struct Told {
    len: u64,
    kind: Kind,
}

/// The kind of the block of a record.
#[derive(Clone, Copy)]
enum Kind {
    Response,
    /// A bare text.
    Text,
    /// Anything that cannot be a document.
    Other,
}

/// A text and its id; `None` for a record that is not a document; or the problem with a document.
type Judged = Result<Option<(Decoded, IdBuf)>, String>;

/// Returns the message for a document that is too long.
fn too_long(limit: u64) -> String {
    format!("document is longer than {limit} bytes")
}

impl WarcReader {
    pub(super) fn new(source: Source, encoding: TextEncoding) -> Self {
        WarcReader {
            source,
            start: 0,
            position: 0,
            header: Vec::new(),
            block: Vec::new(),
            limit: MAX_DOCUMENT,
            encoding,
            ended: false,
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The raw bytes of the last returned record, in parts.
    pub(super) fn raw(&self) -> [&[u8]; 3] {
        [&self.header, &self.block, b"\r\n\r\n"]
    }

    /// Returns the next document with its id. Other records are skipped.
    pub(super) fn next_document(&mut self) -> Option<Result<(Decoded, IdBuf)>> {
        while !self.ended {
            match self.read_record() {
                Ok(Some(Ok(None))) => {}
                Ok(Some(Ok(Some(document)))) => return Some(Ok(document)),
                Ok(Some(Err(message))) => return Some(Err(self.refusal(message))),
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    let message = format!("offset {}: {error}", self.start);
                    let error = io::Error::new(error.kind(), message);
                    return Some(Err(self.source.io_error(error)));
                }
            }
        }
        None
    }

    fn refusal(&self, message: String) -> Error {
        self.source.input_error(Place::Offset(self.start), message)
    }

    /// Reads the next record, or returns `None` at the end. After an error, no further record can be found.
    fn read_record(&mut self) -> io::Result<Option<Judged>> {
        if !self.read_header()? {
            return Ok(None);
        }
        let told = told(&self.header)?;
        self.block.clear();
        let is_document = self.read_block(&told)?;
        Ok(Some(is_document.and_then(
            |is_document| match is_document {
                true => Ok(Some((self.text(told.kind)?, id_of(&self.header)?))),
                false => Ok(None),
            },
        )))
    }

    /// Reads the header of the next record; returns `false` at the end.
    fn read_header(&mut self) -> io::Result<bool> {
        self.header.clear();
        self.start = self.position;
        loop {
            let before = self.header.len();
            let room = MAX_HEADER - before as u64;
            let mut rest = self.source.reader().take(room);
            let length = rest.read_until(b'\n', &mut self.header)?;
            self.position += length as u64;
            let line = &self.header[before..];
            let is_blank = line.trim_ascii().is_empty();
            match (before, length) {
                (0, 0) => return Ok(false),
                (_, _) if length as u64 == room && !line.ends_with(b"\n") => {
                    return Err(damaged(format!("header is longer than {MAX_HEADER} bytes")));
                }
                (_, 0) => return Err(cut_off()),
                // Blank lines between records are skipped.
                (0, _) if is_blank => {
                    self.header.clear();
                    self.start = self.position;
                }
                (0, _) if !line.starts_with(b"WARC/") => {
                    let message = match b"WARC/".starts_with(line) {
                        true => return Err(cut_off()),
                        false => "no record of a web archive begins here",
                    };
                    return Err(damaged(message.into()));
                }
                (0, _) => {}
                _ if is_blank && line.ends_with(b"\n") => return Ok(true),
                _ => {}
            }
        }
    }

    /// Reads the block of a record, and stores it only if it is a document. Returns whether it is one.
    fn read_block(&mut self, told: &Told) -> io::Result<Result<bool, String>> {
        let mut left = told.len;
        let judged = match told.kind {
            Kind::Other => Ok(false),
            Kind::Text => Ok(true),
            Kind::Response => {
                let head = left.min(RESPONSE_HEAD);
                self.read_part(head)?;
                left -= head;
                Response::parse(&self.block).map(|response| response.is_document())
            }
        };
        let judged = match judged {
            Ok(true) if told.len > self.limit => Err(too_long(self.limit)),
            judged => judged,
        };
        match judged {
            Ok(true) => self.read_part(left)?,
            _ => self.pass_over(left)?,
        }
        Ok(judged)
    }

    fn read_part(&mut self, length: u64) -> io::Result<()> {
        let read = self
            .source
            .reader()
            .take(length)
            .read_to_end(&mut self.block)?;
        self.passed(read as u64, length)
    }

    fn pass_over(&mut self, length: u64) -> io::Result<()> {
        let read = io::copy(&mut self.source.reader().take(length), &mut io::sink())?;
        self.passed(read, length)
    }

    fn passed(&mut self, read: u64, length: u64) -> io::Result<()> {
        self.position += read;
        match read == length {
            true => Ok(()),
            false => Err(cut_off()),
        }
    }

    /// Returns the text of the block.
    fn text(&self, kind: Kind) -> Result<Decoded, String> {
        match kind {
            Kind::Response => {
                let response = Response::parse(&self.block)?;
                let declared = response.media_type().charset();
                encoding::decode(response.payload(self.limit)?, declared, self.encoding)
            }
            _ => {
                let declared = media_type(&self.header).charset();
                encoding::decode(self.block.clone(), declared, self.encoding)
            }
        }
    }
}

fn damaged(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

fn cut_off() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the record is cut off")
}

/// Parses a header, without which the next record cannot be found.
fn told(header: &[u8]) -> io::Result<Told> {
    let len = header::value(header, "content-length");
    let len = len.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let len = len.ok_or_else(|| damaged("the record has no valid Content-Length".into()))?;
    let name = header::value(header, "warc-type").unwrap_or_default();
    let media_type = media_type(header);
    let kind = match &name.to_ascii_lowercase()[..] {
        b"response" if media_type.is("application/http") => Kind::Response,
        b"resource" | b"conversion" if media_type.is_text() && !is_own(header) => Kind::Text,
        _ => Kind::Other,
    };
    Ok(Told { len, kind })
}

/// Whether the record is about the archive itself: wget stores its arguments and its log there.
fn is_own(header: &[u8]) -> bool {
    let uri = header::value(header, "warc-target-uri").unwrap_or_default();
    bare(uri).starts_with(b"metadata:")
}

fn media_type(header: &[u8]) -> MediaType<'_> {
    MediaType(header::value(header, "content-type").unwrap_or_default())
}

/// Returns the address of a record as an id.
fn id_of(header: &[u8]) -> Result<IdBuf, String> {
    let uri = header::value(header, "warc-target-uri").ok_or("has no WARC-Target-URI")?;
    let uri = std::str::from_utf8(bare(uri));
    id::from_text(uri.map_err(|_| "WARC-Target-URI is not valid UTF-8")?)
}

/// Returns an address without the angle brackets that some programs write around it.
fn bare(uri: &[u8]) -> &[u8] {
    let bare = uri
        .strip_prefix(b"<")
        .and_then(|uri| uri.strip_suffix(b">"));
    bare.unwrap_or(uri)
}

impl Iterator for WarcReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        let document = self.next_document()?;
        Some(document.map(|(decoded, id)| Record::decoded(decoded, id)))
    }
}

impl RecordReader for WarcReader {
    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn place(&self) -> (&str, Place) {
        (self.source.name(), Place::Offset(self.start))
    }
}

#[cfg(test)]
mod tests;
