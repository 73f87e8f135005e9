//! Kinds of files that hold no records as they are, known by their first bytes.

/// Bytes at the start of a file that tell its kind.
pub(super) const HEAD: u64 = 512;

/// A kind of files.
struct Kind {
    /// Where in the file the magic bytes are.
    offset: usize,
    magic: &'static [u8],
    /// What the file is, and what to do.
    words: &'static str,
}

const fn kind(magic: &'static [u8], words: &'static str) -> Kind {
    Kind {
        offset: 0,
        magic,
        words,
    }
}

const KINDS: [Kind; 31] = [
    kind(b"PK\x03\x04", "is a zip archive; unpack it first"),
    kind(b"PK\x05\x06", "is an empty zip archive"),
    Kind {
        offset: 257,
        magic: b"ustar",
        words: "is a tar archive; unpack it first",
    },
    kind(b"7z\xbc\xaf\x27\x1c", "is a 7z archive; unpack it first"),
    kind(b"Rar!\x1a\x07", "is a rar archive; unpack it first"),
    kind(b"!<arch>\n", "is an ar archive; unpack it first"),
    kind(b"LZIP\x01", "is compressed by lzip; decompress it first"),
    kind(
        b"\x89LZO\0\r\n\x1a\n",
        "is compressed by lzop; decompress it first",
    ),
    kind(
        b"\x02\x21\x4c\x18",
        "is compressed by lz4 in its legacy format; decompress it first",
    ),
    kind(
        b"\xff\x06\0\0sNaPpY",
        "is compressed by snappy; decompress it first",
    ),
    kind(b"]\0\0\x80\0", "is compressed by lzma; decompress it first"),
    kind(
        b"\x1f\x9d",
        "is compressed by compress; decompress it first",
    ),
    kind(
        b"SQLite format 3\0",
        "is an SQLite database; export a table as CSV first",
    ),
    kind(b"%PDF-", "is a PDF document; extract its text first"),
    kind(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "is an old Office document; export it as text or CSV first",
    ),
    kind(b"{\\rtf", "is an RTF document; convert it to text first"),
    kind(b"Obj\x01", "is an Avro file; convert it to Parquet first"),
    kind(b"ORC", "is an ORC file; convert it to Parquet first"),
    kind(
        b"FEA1",
        "is a Feather file of version 1; write it again as version 2",
    ),
    kind(
        b"\x89HDF\r\n\x1a\n",
        "is an HDF5 file; convert it to Parquet first",
    ),
    kind(b"\x80\x02", PICKLE),
    kind(b"\x80\x03", PICKLE),
    kind(b"\x80\x04", PICKLE),
    kind(b"\x80\x05", PICKLE),
    kind(
        b"\x89SIMIDX\n",
        "is an index, where fingerprints or documents are wanted",
    ),
    kind(b"\x89PNG\r\n\x1a\n", "is a PNG image"),
    kind(b"\xff\xd8\xff", "is a JPEG image"),
    kind(b"GIF8", "is a GIF image"),
    kind(b"\x7fELF", "is a program"),
    kind(b"MZ\x90\0", "is a program"),
    kind(b"\xca\xfe\xba\xbe", "is a program"),
];

const PICKLE: &str = "is a Python pickle; write it as Parquet or JSON lines first";

/// Magic bytes that text may begin with too count where a zero byte follows, which text has none of.
const TEXT_LIKE: usize = 5;

/// What a file that begins so is, and what to do about it, if it is of a kind that holds no records.
pub(super) fn words(head: &[u8]) -> Option<&'static str> {
    let has_zeros = head.contains(&0);
    let is_sure = |magic: &[u8]| {
        has_zeros || magic.len() >= TEXT_LIKE || magic.iter().any(|b| !b.is_ascii_graphic())
    };
    let is_of = |kind: &&Kind| {
        let rest = head.get(kind.offset..).unwrap_or_default();
        rest.starts_with(kind.magic) && is_sure(kind.magic)
    };
    KINDS.iter().find(is_of).map(|kind| kind.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        assert_eq!(
            words(b"PK\x03\x04.."),
            Some("is a zip archive; unpack it first")
        );
        let tar = [&[b'a'; 257][..], b"ustar\x0000"].concat();
        assert_eq!(words(&tar), Some("is a tar archive; unpack it first"));
        assert!(
            words(b"%PDF-1.7\n")
                .unwrap()
                .starts_with("is a PDF document")
        );
        assert!(words(b"ORC\x82\0").unwrap().starts_with("is an ORC file"));
    }

    #[test]
    fn text_is_of_no_such_kind() {
        for text in [
            "",
            "PK",
            "ORCA is a whale",
            "GIF89a is a format",
            "FEA1",
            "7z",
            "{\"a\": 1}",
        ] {
            assert_eq!(words(text.as_bytes()), None, "{text}");
        }
    }
}
