//! HTTP responses as archives hold them.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use zstd::stream::read::Decoder as ZstdDecoder;

use super::header::{self, MediaType};

/// Bytes of a body that a decoder takes at a time.
const BUFFER: usize = 4 << 10;

/// A response and the part of it that is known to be its header.
#[derive(Clone, Copy)]
pub(super) struct Response<'a> {
    header: &'a [u8],
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Takes a response apart, or as much of its beginning as holds the header, or says what is wrong with it.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        if !bytes.starts_with(b"HTTP/") {
            return Err("is no HTTP response".into());
        }
        let length = header::length(bytes).ok_or("has no end of its HTTP header")?;
        let (header, body) = bytes.split_at(length);
        Ok(Response { header, body })
    }

    /// Whether it is a page or a text that was asked for.
    pub(super) fn is_document(&self) -> bool {
        self.status() == Some(b"200") && self.media_type().is_text()
    }

    fn status(&self) -> Option<&'a [u8]> {
        let line = self.header.split(|&b| b == b'\n').next()?;
        line.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .nth(1)
    }

    pub(super) fn media_type(&self) -> MediaType<'a> {
        MediaType(header::value(self.header, "content-type").unwrap_or_default())
    }

    /// The body of at most `limit` bytes without its codings, or what is wrong with it.
    ///
    /// Some archives hold bodies decoded and headers as they were: what is obviously not coded is left alone.
    pub(super) fn payload(&self, limit: u64) -> Result<Vec<u8>, String> {
        let coded = |name| {
            header::value(self.header, name)
                .unwrap_or_default()
                .to_ascii_lowercase()
        };
        let body = match coded("transfer-encoding").ends_with(b"chunked") {
            true => unchunked(self.body)?,
            false => Cow::Borrowed(self.body),
        };
        let coding = coded("content-encoding");
        match (&coding[..], &body[..]) {
            (b"" | b"identity" | b"none", _) => Ok(body.into_owned()),
            (b"gzip" | b"x-gzip", [0x1f, 0x8b, ..]) => {
                read("gzip", MultiGzDecoder::new(&body[..]), limit)
            }
            (b"deflate", [first, second, ..]) if is_zlib(*first, *second) => {
                read("deflate", ZlibDecoder::new(&body[..]), limit)
            }
            (b"deflate", _) => {
                let decoded = read("deflate", DeflateDecoder::new(&body[..]), limit);
                unless_plain(decoded, body)
            }
            (b"br", _) => {
                let decoder = brotli_decompressor::Decompressor::new(&body[..], BUFFER);
                unless_plain(read("br", decoder, limit), body)
            }
            (b"zstd", [0x28, 0xb5, 0x2f, 0xfd, ..]) => {
                let decoder = ZstdDecoder::with_buffer(&body[..]);
                read("zstd", decoder.map_err(|e| fault("zstd", &e))?, limit)
            }
            (b"gzip" | b"x-gzip" | b"zstd", _) => Ok(body.into_owned()),
            _ => {
                let coding = String::from_utf8_lossy(&coding);
                Err(format!("content encoding {coding:?} is not known"))
            }
        }
    }
}

/// What was made of a body that nothing tells from one that is not coded: what cannot be decoded and is text is not.
fn unless_plain(decoded: Result<Vec<u8>, String>, body: Cow<'_, [u8]>) -> Result<Vec<u8>, String> {
    match decoded {
        Err(_) if std::str::from_utf8(&body).is_ok() => Ok(body.into_owned()),
        decoded => decoded,
    }
}

fn is_zlib(first: u8, second: u8) -> bool {
    first & 15 == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

fn fault(coding: &str, error: &std::io::Error) -> String {
    let message = error.to_string();
    let line = message.lines().next().unwrap_or_default();
    format!("body is not valid {coding}: {line}")
}

fn read(coding: &str, decoder: impl Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = decoder.take(limit + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length as u64 > limit => Err(super::too_long(limit)),
        Ok(_) => Ok(bytes),
        Err(error) => Err(fault(coding, &error)),
    }
}

/// The chunks of a body together; the body as it is if it does not begin with a chunk.
fn unchunked(body: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let (mut all, mut rest) = (Vec::new(), body);
    if chunk_len(body).is_none() {
        return Ok(Cow::Borrowed(body));
    }
    loop {
        let (length, chunk) = chunk_len(rest).ok_or("body has a bad chunk")?;
        if length == 0 {
            return Ok(Cow::Owned(all));
        }
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length <= chunk.len());
        let (chunk, more) = chunk.split_at(length.ok_or("body is cut off within a chunk")?);
        all.extend_from_slice(chunk);
        rest = more.strip_prefix(b"\r").unwrap_or(more);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
}

/// The length of a chunk and what follows the line that tells it.
fn chunk_len(body: &[u8]) -> Option<(u64, &[u8])> {
    /// More bytes tell a length with an extension that nobody writes.
    const MAX_LINE: usize = 1024;
    let end = body.iter().take(MAX_LINE).position(|&b| b == b'\n')?;
    let digits = body[..end].split(|&b| b == b';').next()?.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let length = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((length, &body[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::source::tests::{gzip, zstd};
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        let mut encoder = brotli::CompressorWriter::new(&mut body, 4096, 9, 22);
        encoder.write_all(bytes).unwrap();
        drop(encoder);
        body
    }

    fn payload(header: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        let bytes = [b"HTTP/1.1 200 OK\r\n", header.as_bytes(), b"\r\n", body].concat();
        Response::parse(&bytes)?.payload(20)
    }

    #[test]
    fn chunks_are_put_together() {
        let chunked = "Transfer-Encoding: chunked\r\n";
        let body = b"3\r\nabc\r\n0A; x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
        assert_eq!(payload(chunked, body).unwrap(), b"abc0123456789");
        assert_eq!(payload(chunked, b"<p>\r\n").unwrap(), b"<p>\r\n");
        let cut = "body is cut off within a chunk";
        assert_eq!(payload(chunked, b"fff\r\nabc").unwrap_err(), cut);
        assert_eq!(
            payload(chunked, b"ffffffffffffffff\r\nabc").unwrap_err(),
            cut
        );
        assert_eq!(
            payload(chunked, b"3\r\nabcdef").unwrap_err(),
            "body has a bad chunk"
        );
    }

    #[test]
    fn content_encodings_are_undone() {
        let text = b"twelve bytes";
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(text).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).unwrap();
        for (coding, body) in [
            ("gzip", gzip(text)),
            ("X-GZIP", gzip(text)),
            ("gzip", text.to_vec()),
            ("deflate", raw.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", text.to_vec()),
            ("zstd", zstd(text)),
            ("br", brotli(text)),
            ("BR", text.to_vec()),
            ("identity", text.to_vec()),
        ] {
            let header = format!("content-encoding: {coding}\r\n");
            assert_eq!(payload(&header, &body).unwrap(), text, "{coding}");
        }
        let both = "Content-Encoding: gzip\nTransfer-Encoding: chunked\n";
        let gzipped = gzip(text);
        let chunked = [
            format!("{:x}\r\n", gzipped.len()).as_bytes(),
            &gzipped,
            b"\r\n0\r\n\r\n",
        ]
        .concat();
        assert_eq!(payload(both, &chunked).unwrap(), text);
    }

    #[test]
    fn bodies_that_cannot_be_decoded_are_refused() {
        let refusal = |coding: &str, body: &[u8]| {
            payload(&format!("Content-Encoding: {coding}\r\n"), body).unwrap_err()
        };
        assert_eq!(
            refusal("lzma", b"abc"),
            "content encoding \"lzma\" is not known"
        );
        assert_eq!(
            refusal("gzip", &gzip(&[b'a'; 21])),
            "document is longer than 20 bytes"
        );
        assert_eq!(
            refusal("br", &brotli(&[b'a'; 21])),
            "document is longer than 20 bytes"
        );
        let bodies = [
            ("gzip", gzip(b"abc")),
            ("zstd", zstd(b"abc")),
            ("br", brotli("ä".as_bytes())),
        ];
        for (coding, body) in bodies {
            let message = refusal(coding, &body[..body.len() - 1]);
            assert!(
                message.starts_with(&format!("body is not valid {coding}: ")),
                "{message}"
            );
        }
        assert!(refusal("deflate", b"\xff\xff").starts_with("body is not valid deflate: "));
    }

    #[test]
    fn no_more_is_decoded_than_a_document_may_have() {
        // It would be 64 MiB, out of a body of a few bytes.
        let bomb = brotli(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1000, "{}", bomb.len());
        let message = payload("content-encoding: br\n", &bomb).unwrap_err();
        assert_eq!(message, "document is longer than 20 bytes");
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_another_text(
            text in "[a-zä ]{0,20}",
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = brotli(text.as_bytes());
            prop_assume!(text.len() <= 20);
            prop_assert_eq!(payload("content-encoding: br\n", &whole).unwrap(), text.as_bytes());
            let mut damaged = whole.clone();
            edits.iter().for_each(|(place, byte)| *place.get_mut(&mut damaged) = *byte);
            for body in [&damaged[..], &whole[..cut.index(whole.len())]] {
                if let Ok(decoded) = payload("content-encoding: br\n", body) {
                    prop_assert!(decoded.len() <= 20 || decoded == body);
                }
            }
        }
    }

    #[test]
    fn pages_that_were_found_are_documents() {
        for (bytes, is_document) in [
            (
                &b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"[..],
                true,
            ),
            (b"HTTP/2 200\nContent-Type: TEXT/plain; charset=x\n\n", true),
            (
                b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n",
                false,
            ),
            (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n", false),
            (b"HTTP/1.1 200 OK\r\n\r\n", false),
            (b"HTTP/1.1\r\n\r\n", false),
        ] {
            assert_eq!(Response::parse(bytes).unwrap().is_document(), is_document);
        }
        assert!(Response::parse(b"<html>\n\n").is_err());
        assert!(Response::parse(b"HTTP/1.1 200 OK\r\nContent-Type: te").is_err());
    }
}
