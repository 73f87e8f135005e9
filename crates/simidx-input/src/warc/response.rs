//! HTTP responses in archives.

use std::borrow::Cow;
use std::io::{self, Read};

use brotli_decompressor::BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use zstd::stream::read::Decoder as ZstdDecoder;

use super::header::{self, MediaType};

/// Size in bytes of the input buffer of a decoder.
const BUFFER: usize = 4 << 10;

/// A response, and its header.
#[derive(Clone, Copy)]
pub(super) struct Response<'a> {
    header: &'a [u8],
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Parses a response, or the beginning of one that includes the header.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        if !bytes.starts_with(b"HTTP/") {
            return Err("is not an HTTP response".into());
        }
        let length = header::length(bytes).ok_or("has no end of its HTTP header")?;
        let (header, body) = bytes.split_at(length);
        Ok(Response { header, body })
    }

    /// Whether the response is a successful page or text.
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

    /// Returns the decoded body of at most `limit` bytes.
    ///
    /// Some archives contain decoded bodies with the original headers, so a body that is obviously not encoded is
    /// returned unchanged.
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
        let decoded = match (&coding[..], &body[..]) {
            (b"" | b"identity" | b"none", _) => return Ok(body.into_owned()),
            (b"gzip" | b"x-gzip", [0x1f, 0x8b, ..]) => {
                let decoder = MultiGzDecoder::new(&body[..]);
                read("gzip", decoder, |d| !d.get_ref().is_empty(), limit)
            }
            (b"deflate", [first, second, ..]) if is_zlib(*first, *second) => {
                let decoder = ZlibDecoder::new(&body[..]);
                read("deflate", decoder, |d| !d.get_ref().is_empty(), limit)
            }
            (b"deflate", _) => {
                let decoder = DeflateDecoder::new(&body[..]);
                read("deflate", decoder, |d| !d.get_ref().is_empty(), limit)
            }
            (b"br", _) => {
                // Only a read after the end fails because of the remaining bytes in the buffer.
                let has_rest = |d: &mut Decompressor<&[u8]>| {
                    d.read(&mut [0]).is_err() || !d.get_ref().is_empty()
                };
                read("br", brotli_decoder(&body), has_rest, limit)
            }
            (b"zstd", [0x28, 0xb5, 0x2f, 0xfd, ..]) => ZstdDecoder::with_buffer(&body[..])
                .map_err(|e| Refusal::coding("zstd", &e))
                .and_then(|decoder| read("zstd", decoder, |d| !d.get_ref().is_empty(), limit)),
            (b"gzip" | b"x-gzip" | b"zstd", _) => return Ok(body.into_owned()),
            _ => {
                let coding = String::from_utf8_lossy(&coding);
                return Err(format!("content encoding {coding:?} is not known"));
            }
        };
        match decoded {
            // An encoding cannot be recognised reliably, so a body that is text and cannot be decoded counts as not
            // encoded.
            Err(Refusal::Coding(_)) if std::str::from_utf8(&body).is_ok() => Ok(body.into_owned()),
            Err(Refusal::Coding(message) | Refusal::TooLong(message)) => Err(message),
            Ok(bytes) => Ok(bytes),
        }
    }
}

/// The reason why a body is not decoded.
enum Refusal {
    /// The body is not valid in this coding.
    Coding(String),
    TooLong(String),
}

impl Refusal {
    fn coding(coding: &str, error: &io::Error) -> Self {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        Refusal::Coding(format!("body is not valid {coding}: {line}"))
    }
}

/// Creates a decoder of Brotli without the large-window extension, whose windows may take 1 GiB.
fn brotli_decoder(body: &[u8]) -> Decompressor<&[u8]> {
    let mut decoder = Decompressor::new(body, BUFFER);
    decoder.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    decoder
}

fn is_zlib(first: u8, second: u8) -> bool {
    first & 15 == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Decodes a whole body, which must end at the end of the encoded data, because plain text may begin like a short
/// encoded one. `has_rest` returns whether more bytes follow the end of a decoder.
fn read<D: Read>(
    coding: &str,
    mut decoder: D,
    has_rest: impl Fn(&mut D) -> bool,
    limit: u64,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = decoder.by_ref().take(limit + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length as u64 > limit => Err(Refusal::TooLong(super::too_long(limit))),
        Ok(_) if has_rest(&mut decoder) => {
            let message = format!("body is not valid {coding}: bytes follow its end");
            Err(Refusal::Coding(message))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(Refusal::coding(coding, &error)),
    }
}

/// Joins the chunks of a body; returns the body unchanged if it does not begin with a chunk.
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

/// Parses the length of a chunk. Returns it with the bytes after its line.
fn chunk_len(body: &[u8]) -> Option<(u64, &[u8])> {
    /// A longer line would have an extension, which servers do not use.
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
    use crate::source::tests::{gzip, zstd};
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

    /// Returns the bytes in all codings, each with its name.
    fn coded(bytes: &[u8]) -> [(&'static str, Vec<u8>); 5] {
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(bytes).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(bytes).unwrap();
        [
            ("gzip", gzip(bytes)),
            ("deflate", raw.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("zstd", zstd(bytes)),
            ("br", brotli(bytes)),
        ]
    }

    fn payload(header: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        payload_within(20, header, body)
    }

    fn payload_within(limit: u64, header: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        let bytes = [b"HTTP/1.1 200 OK\r\n", header.as_bytes(), b"\r\n", body].concat();
        Response::parse(&bytes)?.payload(limit)
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
        let others = [
            ("X-GZIP", gzip(text)),
            ("gzip", text.to_vec()),
            ("deflate", text.to_vec()),
            ("BR", text.to_vec()),
            ("identity", text.to_vec()),
        ];
        for (coding, body) in coded(text).into_iter().chain(others) {
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
    fn plain_bodies_may_begin_with_anything() {
        // Some bytes are by themselves an empty body in Brotli.
        for first in 0..128 {
            let plain = "ine text, such as archives hold it decoded\n".as_bytes();
            for body in [
                &[&[first], plain].concat()[..],
                &[&[first; 2], plain].concat(),
            ] {
                for coding in ["br", "deflate"] {
                    let header = format!("content-encoding: {coding}\n");
                    let decoded = payload_within(1 << 30, &header, body);
                    assert_eq!(decoded.unwrap(), body, "{coding}");
                }
            }
        }
        // The text looks like the header of zlib.
        assert_eq!(
            payload_within(1 << 30, "content-encoding: deflate\n", b"x^2 + y").unwrap(),
            b"x^2 + y"
        );
    }

    #[test]
    fn what_is_too_long_is_not_taken_for_plain() {
        // Uncompressed Brotli: 16 window bits, 21 literal bytes, then the end.
        let stored = |count: u8| {
            let start = [(count - 1) << 4, (count - 1) >> 4, 0x10];
            [&start[..], &vec![b'a'; count.into()], &[3]].concat()
        };
        let header = "content-encoding: br\n";
        assert_eq!(payload(header, &stored(20)).unwrap(), [b'a'; 20]);
        assert!(std::str::from_utf8(&stored(21)).is_ok());
        let message = payload(header, &stored(21)).unwrap_err();
        assert_eq!(message, "document is longer than 20 bytes");
    }

    #[test]
    fn large_windows_are_refused() {
        // An empty stream of 30 window bits, and one of 16.
        let header = "content-encoding: br\n";
        let message = payload(header, &[0x11, 0xde]).unwrap_err();
        assert!(message.starts_with("body is not valid br: "), "{message}");
        assert_eq!(payload(header, &[0x06]).unwrap(), b"");
    }

    #[test]
    fn no_more_is_decoded_than_a_document_may_have() {
        // A body of a few bytes that would decode to 64 MiB.
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

        #[test]
        fn what_is_not_the_whole_of_a_stream_is_not_taken_for_it(
            text in "[a-zä ]{0,10}",
            cut in any::<prop::sample::Index>(),
            rubbish in prop::collection::vec(any::<u8>(), 1..5000),
        ) {
            let (coded, text) = (coded(text.as_bytes()), text.as_bytes());
            for (coding, whole) in coded {
                let header = format!("content-encoding: {coding}\n");
                prop_assert_eq!(&payload(&header, &whole).unwrap()[..], text, "{}", coding);
                let beginning = &whole[..cut.index(whole.len())];
                if let Ok(decoded) = payload(&header, beginning) {
                    prop_assert_eq!(&decoded[..], beginning, "{}", coding);
                }
                let longer = [&whole[..], &rubbish].concat();
                if let Ok(decoded) = payload(&header, &longer) {
                    prop_assert_eq!(decoded, longer, "{}", coding);
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
