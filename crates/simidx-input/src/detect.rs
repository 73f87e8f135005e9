//! Telling the format of an input from its path or its content.

use std::path::Path;

use super::digits::quote;
use super::npy_header;
use super::source::{SNIFFED, Source, file_name, input_error, is_stdin, printable, split_suffix};
use super::{Format, TextEncoding, encoding};
use crate::{Place, Result};
use simidx::Fingerprint;

/// What a Parquet file starts with.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// What a web archive starts with.
const WARC_MAGIC: &[u8] = b"WARC/1.";

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The format that the path tells, if it tells any.
pub(super) fn by_path<F: Fingerprint>(path: &Path) -> Result<Option<Format>> {
    if is_stdin(path) {
        return Ok(None);
    }
    if path.is_dir() {
        return Ok(Some(Format::Files));
    }
    let name = file_name(path);
    let (name, _) = split_suffix(&name);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let told = match extension {
        "u32" => 32,
        "u64" => 64,
        "u128" => 128,
        _ => return Ok(by_extension(extension)),
    };
    if told != F::WIDTH {
        let message = format!(
            "the name tells {told}-bit fingerprints, not {}-bit ones",
            F::WIDTH
        );
        return Err(input_error(&printable(path), Place::File, message));
    }
    Ok(Some(Format::Le))
}

fn by_extension(extension: &str) -> Option<Format> {
    match extension {
        "hex" => Some(Format::Hex),
        "dec" => Some(Format::Dec),
        "le" | "bin" => Some(Format::Le),
        "tsv" => Some(Format::Tsv),
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        "npy" => Some(Format::Npy),
        "parquet" | "pq" => Some(Format::Parquet),
        "warc" => Some(Format::Warc),
        _ => None,
    }
}

/// The format that the first bytes tell, text being encoded as is chosen; they remain to be read.
pub(super) fn by_content<F: Fingerprint>(
    source: &mut Source,
    chosen: TextEncoding,
) -> Result<Format> {
    let head = source.peek(SNIFFED)?;
    let whole = (head.len() as u64) < SNIFFED;
    let guessed = match by_magic(&head) {
        Some(format) => Ok(format),
        None => match encoding::of_stream(&head, whole, chosen) {
            Some(encoding) => guess::<F>(encoding.decode(&head).0.as_bytes(), whole),
            None => guess::<F>(&head, whole),
        },
    };
    guessed.map_err(|(place, message)| source.input_error(place, message))
}

/// The format that is no text and starts so.
fn by_magic(head: &[u8]) -> Option<Format> {
    if head.starts_with(npy_header::MAGIC) {
        Some(Format::Npy)
    } else if head.starts_with(PARQUET_MAGIC) {
        Some(Format::Parquet)
    } else if head.starts_with(WARC_MAGIC) {
        Some(Format::Warc)
    } else {
        None
    }
}

/// The format of text that starts with `head`, or that `head` is the whole of, or else why it
/// cannot be told.
///
/// Lines after the first that are no fingerprints tell nothing: the reader reports them.
fn guess<F: Fingerprint>(head: &[u8], whole: bool) -> Result<Format, (Place, String)> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut lines = (1..)
        .zip(head.split(|&b| b == b'\n'))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| (Place::Line(number), line));
    let Some((place, line)) = lines.next() else {
        let message = "cannot tell the format from white space alone, name it with --input";
        return Err((Place::File, message.into()));
    };
    if line.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::Jsonl);
    }
    // What follows the last line end may go on beyond the head.
    let cut_off = |line: &[u8]| !whole && line.as_ptr_range().end == head.as_ptr_range().end;
    match digits::<F>(line) {
        _ if cut_off(line) => return Err((place, unknown(line))),
        Digits::Neither => return Err((place, unknown(line))),
        Digits::Only(format) => return Ok(format),
        Digits::Either => {}
    }
    let mut told = None;
    for (place, line) in lines.filter(|(_, line)| !cut_off(line)) {
        match (digits::<F>(line), told) {
            (Digits::Only(format), None) => told = Some(format),
            (Digits::Only(format), Some(other)) if format != other => {
                return Err((place, conflict(line, format, other)));
            }
            _ => {}
        }
    }
    told.ok_or_else(|| {
        let message = "every fingerprint may be hexadecimal or decimal, \
                       name the format with --input hex or --input dec";
        (Place::File, message.into())
    })
}

/// The formats in which the first column of a line is a fingerprint.
enum Digits {
    Neither,
    Either,
    Only(Format),
}

fn digits<F: Fingerprint>(line: &[u8]) -> Digits {
    let column = first_column(line);
    let Ok(column) = std::str::from_utf8(column) else {
        return Digits::Neither;
    };
    let hex = F::parse_hex(column).is_some();
    let dec = F::parse_dec(column).is_some();
    match (hex, dec) {
        (true, true) => Digits::Either,
        (true, false) => Digits::Only(Format::Hex),
        (false, true) => Digits::Only(Format::Dec),
        (false, false) => Digits::Neither,
    }
}

/// What stands before the first tab, or before the end of the line.
fn first_column(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.split(|&b| b == b'\t').next().unwrap_or_default()
}

#[cold]
fn unknown(line: &[u8]) -> String {
    let line = quote(String::from_utf8_lossy(line).trim_end());
    format!("cannot tell the format from {line}, name it with --input")
}

#[cold]
fn conflict(line: &[u8], format: Format, other: Format) -> String {
    let column = quote(&String::from_utf8_lossy(first_column(line)));
    format!(
        "{column} can only be {format}, but a line before it only {other}, name the format with --input"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> Option<Format> {
        by_path::<u64>(Path::new(path)).unwrap()
    }

    fn guess_head(head: &str, whole: bool) -> Result<Format, String> {
        let guessed = guess::<u64>(head.as_bytes(), whole);
        guessed.map_err(|(place, message)| input_error("in", place, message).to_string())
    }

    fn guessed(text: &str) -> Result<Format, String> {
        guess_head(text, true)
    }

    #[test]
    fn extensions_tell_the_format() {
        for (path, format) in [
            ("x.hex", Format::Hex),
            ("dir.tsv/x.DEC.gz", Format::Dec),
            ("x.le.zst", Format::Le),
            ("x.bin", Format::Le),
            ("x.u64", Format::Le),
            ("x.tsv", Format::Tsv),
            ("x.jsonl.gz", Format::Jsonl),
            ("x.ndjson", Format::Jsonl),
            ("x.npy.gz", Format::Npy),
            ("x.parquet", Format::Parquet),
            ("x.PQ", Format::Parquet),
            ("x.warc.gz", Format::Warc),
        ] {
            assert_eq!(told(path), Some(format), "{path}");
        }
    }

    #[test]
    fn other_names_tell_nothing() {
        for path in ["-", "x", "x.txt", "x.gz", "hex", "x.hex.bak", ""] {
            assert_eq!(told(path), None, "{path}");
        }
    }

    #[test]
    fn a_directory_is_read_as_files() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(by_path::<u64>(dir.path()).unwrap(), Some(Format::Files));
    }

    #[test]
    fn an_extension_of_another_width_is_refused() {
        let error = by_path::<u64>(Path::new("x.u32.gz"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "x.u32.gz: the name tells 32-bit fingerprints, not 64-bit ones"
        );
        assert_eq!(
            by_path::<u128>(Path::new("x.u128")).unwrap(),
            Some(Format::Le)
        );
    }

    #[test]
    fn a_brace_tells_jsonl() {
        assert_eq!(guessed("\n {\"text\":1}\n"), Ok(Format::Jsonl));
        assert_eq!(guessed("\u{feff}{"), Ok(Format::Jsonl));
    }

    #[test]
    fn magic_bytes_tell_binary_files() {
        assert_eq!(by_magic(b"\x93NUMPY\x01\0"), Some(Format::Npy));
        assert_eq!(by_magic(b"PAR1"), Some(Format::Parquet));
        assert_eq!(by_magic(b"WARC/1.0\r\n"), Some(Format::Warc));
        assert_eq!(by_magic(b"PAR"), None);
    }

    #[test]
    fn a_letter_among_digits_tells_hex() {
        assert_eq!(guessed("12\n\n1f\tid g\r\n34"), Ok(Format::Hex));
        assert_eq!(guessed("ABCDEF"), Ok(Format::Hex));
    }

    #[test]
    fn many_decimal_digits_tell_dec() {
        assert_eq!(guessed("1\tid\r\n12345678901234567\n"), Ok(Format::Dec));
    }

    #[test]
    fn digits_that_may_be_either_are_refused() {
        let either = "in: every fingerprint may be hexadecimal or decimal, \
                      name the format with --input hex or --input dec";
        for text in ["12\n1234567890123456\tid\n", "12\nxyz\n"] {
            assert_eq!(guessed(text), Err(either.into()));
        }
    }

    #[test]
    fn malformed_lines_after_the_first_are_left_to_the_reader() {
        for (text, format) in [
            ("1f\nxyz\n\t1\n", Format::Hex),
            ("1f\n12345678901234567\n", Format::Hex),
            ("12\nxyz\n\u{e9}\n1f\n123456789012345678901\n", Format::Hex),
            ("12345678901234567\nff\n", Format::Dec),
            ("12\n12345678901234567\nfff12345678901234567\n", Format::Dec),
        ] {
            assert_eq!(guessed(text), Ok(format), "{text:?}");
        }
    }

    #[test]
    fn lines_that_contradict_one_another_are_refused() {
        let message = "in:3: \"12345678901234567\" can only be dec, but a line before it only hex, \
                       name the format with --input";
        assert_eq!(guessed("12\n1f\n12345678901234567\n"), Err(message.into()));
    }

    #[test]
    fn anything_else_is_refused_with_its_first_line() {
        for (text, place, quoted) in [
            ("a line of text\n1f\n", "in:1", "a line of text"),
            ("\n \nhash\tid\r\n1f\tx\n", "in:3", "hash\\tid"),
            ("\t1", "in:1", "\\t1"),
            ("[1]", "in:1", "[1]"),
            ("\u{feff}xyz", "in:1", "xyz"),
            ("123456789012345678901", "in:1", "123456789012345678901"),
        ] {
            let message =
                format!("{place}: cannot tell the format from \"{quoted}\", name it with --input");
            assert_eq!(guessed(text), Err(message), "{text:?}");
        }
        for text in ["", "\n \n"] {
            let message = "in: cannot tell the format from white space alone, name it with --input";
            assert_eq!(guessed(text), Err(message.into()), "{text:?}");
        }
    }

    #[test]
    fn a_line_cut_off_is_not_looked_at() {
        assert_eq!(
            guess_head("12\n1f\n1234567890123456 cut", false),
            Ok(Format::Hex)
        );
        assert!(guess_head("12\n1f", false).is_err());
        assert_eq!(guess_head("12\n1f\n", false), Ok(Format::Hex));
        let error = guess_head("1f", false).unwrap_err();
        assert!(error.starts_with("in:1: cannot tell"), "{error}");
    }
}
