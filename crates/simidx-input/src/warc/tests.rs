//! Archives written record by record, then read, truncated at any byte and read again.

use proptest::prelude::*;

use super::super::source::tests::{gzip, source, zstd};
use super::super::tests::{Read, document, drain};
use super::*;

/// Returns a record with these header lines in addition to its type, media type and length.
pub(super) fn record(kind: &str, media_type: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let header = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\n{more}Content-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn response(uri: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let block = [b"HTTP/1.1 200 OK\r\n", header.as_bytes(), b"\r\n", body].concat();
    let uri = format!("WARC-Target-URI: {uri}\r\n");
    record(
        "response",
        "application/http; msgtype=response",
        &uri,
        &block,
    )
}

const HTML: &str = "Content-Type: text/html\r\n";

/// Returns records of many kinds. Those with `d` in their addresses are documents.
fn records() -> Vec<Vec<u8>> {
    let target = |name: &str| format!("WARC-Target-URI: http://{name}/\r\n");
    let (gbk, ..) = encoding_rs::GBK.encode("中文");
    vec![
        record(
            "warcinfo",
            "application/warc-fields",
            "",
            b"software: none\r\n",
        ),
        record(
            "request",
            "application/http; msgtype=request",
            &target("a"),
            b"GET / HTTP/1.1\r\n\r\n",
        ),
        response("http://d1/", HTML, b"<p>one</p>\r\n\r\n"),
        response("http://i/", "Content-Type: image/png\r\n", &[0; 100]),
        response(
            "<http://d2/>",
            "Content-Type: text/html; charset=gb2312\r\n",
            &gbk,
        ),
        record(
            "response",
            "application/http",
            &target("n"),
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\nno",
        ),
        record(
            "response",
            "text/dns",
            &target("n"),
            b"20240101\nexample. 1 IN A 127.0.0.1",
        ),
        record("metadata", "text/plain", &target("n"), b"x: y"),
        record("revisit", "application/http", &target("n"), b""),
        record(
            "conversion",
            "text/plain",
            &target("d3"),
            "Übung".as_bytes(),
        ),
        record("resource", "text/html; charset=utf-8", &target("d4"), b""),
        record(
            "resource",
            "text/plain",
            "WARC-Target-URI: metadata://gnu.org/wget.log\r\n",
            b"log",
        ),
        record("resource", "application/pdf", &target("n"), b"%PDF"),
    ]
}

fn expected() -> [Record; 4] {
    [
        document("<p>one</p>\r\n\r\n", Some("http://d1/")),
        document("中文", Some("http://d2/")),
        document("Übung", Some("http://d3/")),
        document("", Some("http://d4/")),
    ]
}

fn read(bytes: &[u8]) -> Read {
    drain(&mut WarcReader::new(source(bytes), TextEncoding::default()))
}

#[test]
fn documents_are_found_among_records_compressed_or_not() {
    let records = records();
    for archive in [
        records.concat(),
        gzip(&records.concat()),
        records.iter().flat_map(|record| gzip(record)).collect(),
        records.iter().flat_map(|record| zstd(record)).collect(),
        // Without the empty lines at the end.
        records.concat().trim_ascii_end().to_vec(),
    ] {
        let read = read(&archive);
        assert_eq!(read.errors(), Vec::<String>::new());
        assert_eq!(read.records(), expected());
    }
    assert!(read(b"").records().is_empty());
}

#[test]
fn bad_documents_are_named_and_the_next_one_is_read() {
    let good = response("http://d1/", HTML, b"<p>one</p>\r\n\r\n");
    let no_header = [&b"HTTP/1.1 200 OK\r\nX: "[..], &[b'y'; 100_000]].concat();
    for (bad, message) in [
        (
            response("http://x/", HTML, b"\x89PNG\0\xff"),
            "holds binary data",
        ),
        (response("", HTML, b"x"), "id is empty"),
        (
            record("conversion", "text/plain", "", b"x"),
            "has no WARC-Target-URI",
        ),
        (
            record(
                "conversion",
                "text/plain",
                "WARC-Target-URI: http://x\r\n",
                &[b'x'; 200_001],
            ),
            "document is longer than 200000 bytes",
        ),
        (
            response("http://x/", HTML, &[b'x'; 200_001]),
            "document is longer than 200000 bytes",
        ),
        (
            response(
                "http://x/",
                &format!("{HTML}Content-Encoding: lzma\r\n"),
                b"x",
            ),
            "content encoding \"lzma\" is not known",
        ),
        (
            record("response", "application/http", "", b"<html>"),
            "is not an HTTP response",
        ),
        (
            record("response", "application/http", "", &no_header),
            "has no end of its HTTP header",
        ),
    ] {
        let archive = [&good[..], &bad, &good].concat();
        let mut reader = WarcReader::new(source(&archive), TextEncoding::default());
        reader.limit = 200_000;
        let read = drain(&mut reader);
        assert_eq!(
            read.errors(),
            [format!("in: offset {}: {message}", good.len())]
        );
        assert_eq!(
            read.records(),
            [expected()[0].clone(), expected()[0].clone()]
        );
    }
    // The size of other records is not limited.
    let image = response("http://x/", "Content-Type: image/png\r\n", &[b'x'; 200_001]);
    let mut reader = WarcReader::new(
        source(&[&image[..], &good].concat()),
        TextEncoding::default(),
    );
    reader.limit = 200_000;
    assert_eq!(drain(&mut reader).errors(), Vec::<String>::new());
}

#[test]
fn damage_ends_the_records_and_is_named() {
    let good = response("http://d1/", HTML, b"<p>one</p>\r\n\r\n");
    let length = |length: &str| {
        format!(
            "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let endless = format!("WARC/1.0\r\nX: {}", "y".repeat(MAX_HEADER as usize));
    for (bad, message) in [
        ("<html>", "no record of a web archive begins here"),
        ("WARC/1.0\r\n\r\n", "the record has no valid Content-Length"),
        (&length("-1"), "the record has no valid Content-Length"),
        (
            &length("18446744073709551616"),
            "the record has no valid Content-Length",
        ),
        // Declared lengths do not reserve memory.
        (&length("18446744073709551615"), "the record is cut off"),
        (&length("200000000"), "the record is cut off"),
        ("WARC/1.0\r\nWARC-Type: resource", "the record is cut off"),
        (&endless, "header is longer than 1048576 bytes"),
    ] {
        let archive = [&good, bad.as_bytes()].concat();
        let read = read(&archive);
        assert_eq!(
            read.errors(),
            [format!("in: offset {}: {message}", good.len())]
        );
        assert_eq!(read.records(), [expected()[0].clone()]);
    }
}

#[test]
fn an_archive_may_be_cut_off_anywhere() {
    let records = records();
    let whole = records.concat();
    let ends: Vec<usize> = records
        .iter()
        .scan(0, |end, record| {
            *end += record.len();
            Some(*end)
        })
        .collect();
    for length in 0..whole.len() {
        let read = read(&whole[..length]);
        // The four bytes after a record are optional.
        let is_whole = length == 0 || ends.iter().any(|end| (end - 4..=*end).contains(&length));
        let start = ends.iter().rev().find(|end| **end - 4 <= length).copied();
        match is_whole {
            true => assert!(read.errors().is_empty(), "{length}: {:?}", read.errors()),
            false => {
                let start = format!("in: offset {}: the record is cut off", start.unwrap_or(0));
                assert_eq!(read.errors(), [start], "{length}");
            }
        }
        assert!(expected().starts_with(&read.records()), "{length}");
    }
    for whole in [gzip(&whole), zstd(&whole)] {
        for length in 1..whole.len() {
            let read = read_all(&whole[..length]);
            assert!(read.is_none_or(|read| read.errors().len() == 1), "{length}");
        }
    }
}

/// Reads records from bytes, which may be too short to be opened.
fn read_all(bytes: &[u8]) -> Option<Read> {
    let opened = Source::new("in".into(), std::io::Cursor::new(bytes.to_vec()));
    Some(drain(&mut WarcReader::new(
        opened.ok()?,
        TextEncoding::default(),
    )))
}

#[test]
fn a_record_is_what_was_read() {
    let records = records();
    let mut reader = WarcReader::new(source(&records.concat()), TextEncoding::default());
    let mut copied = Vec::new();
    while let Some(Ok(_)) = reader.next_document() {
        copied.push(reader.raw().concat());
    }
    assert_eq!(
        copied,
        [2, 4, 9, 10].map(|number: usize| records[number].clone())
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        text in "(WARC/1\\.0\r\n|WARC-Type: (response|conversion)\r\n|Content-Type: (application/http|text/html)\r\n|Content-Length: [0-9]{1,3}\r\n|\r\n|HTTP/1\\.1 200 OK\r\n|Transfer-Encoding: chunked\r\n|Content-Encoding: (gzip|deflate|zstd)\r\n|WARC-Target-URI: x\r\n|[0-9a-f]{1,3}\r\n){0,30}",
        tail in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut reader = WarcReader::new(source(&[text.as_bytes(), &tail].concat()), TextEncoding::default());
        let read = drain(&mut reader);
        prop_assert!(read.errors().len() + read.records().len() <= 31);
        prop_assert!(reader.next_document().is_none());
    }

    #[test]
    fn flipped_bits_are_records_or_errors(at in 0usize..2000, bit in 0u8..8) {
        let mut whole = records().concat();
        let at = at % whole.len();
        whole[at] ^= 1 << bit;
        let mut reader = WarcReader::new(source(&whole), TextEncoding::default());
        let read = drain(&mut reader);
        prop_assert!(!read.records().is_empty() || !read.errors().is_empty());
    }
}
