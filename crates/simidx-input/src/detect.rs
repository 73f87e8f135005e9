//! Detects the format of an input from its path or its content.

use std::path::Path;

use serde::de::IgnoredAny;

use super::compression::split_suffix;
use super::digits::quote;
use super::fields::Holds;
use super::source::{SNIFFED, Source, file_name, input_error, is_folder, is_stdin, printable};
use super::{Format, ReadOptions, csv, encoding, kinds, npy_header};
use crate::{Place, Result};
use simidx::Width;

/// The first bytes of binary formats.
const PARQUET_MAGIC: &[u8] = b"PAR1";
pub(super) const ARROW_MAGIC: &[u8] = b"ARROW1";
const WARC_MAGIC: &[u8] = b"WARC/1.";

/// The first bytes of an Arrow message, before its length, and so of a stream of messages.
const ARROW_CONTINUATION: &[u8] = &[0xff; 4];

/// Largest size in bytes of the first message of an Arrow stream, the schema, for detection.
const ARROW_SCHEMA: u32 = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The information about the format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Surely(Format),
    /// A JSON format; this one, unless the content determines it.
    Json(Format),
    Nothing,
}

impl Told {
    /// Returns the format, if the content is not needed.
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Told::Surely(format) => Some(format),
            Told::Json(_) | Told::Nothing => None,
        }
    }

    /// Returns the format given by the user, otherwise the one that the path determines.
    pub(super) fn by(named: Option<Format>, path: &Path, width: Width) -> Result<Self> {
        if is_folder(path) {
            return Ok(Told::Surely(Format::Files));
        }
        if let Some(format) = named {
            return Ok(Told::Surely(format));
        }
        if let Some(told) = width_of(&extension(path)).filter(|&told| told != width) {
            let message = format!("the name says {told}-bit fingerprints, not {width}-bit ones");
            return Err(input_error(&printable(path), Place::File, message));
        }
        Ok(match Format::of_name(path) {
            Some(format @ (Format::Json | Format::Jsonl)) => Told::Json(format),
            Some(format) => Told::Surely(format),
            None => Told::Nothing,
        })
    }
}

/// Returns the extension of a file in lower case, before that of a compression.
fn extension(path: &Path) -> String {
    let name = match is_stdin(path) {
        true => String::new(),
        false => file_name(path),
    };
    let (name, _) = split_suffix(&name);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    extension.to_owned()
}

fn width_of(extension: &str) -> Option<Width> {
    match extension {
        "u32" => Some(Width::W32),
        "u64" => Some(Width::W64),
        "u128" => Some(Width::W128),
        _ => None,
    }
}

impl Format {
    /// Returns the format that the extension of a file names, before that of a compression.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use simidx_input::Format;
    ///
    /// assert_eq!(Format::of_name(Path::new("a.pq")), Some(Format::Parquet));
    /// assert_eq!(Format::of_name(Path::new("a.jsonl.gz")), Some(Format::Jsonl));
    /// assert_eq!(Format::of_name(Path::new("a.txt")), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<Self> {
        match &*extension(path) {
            "hex" => Some(Format::Hex),
            "dec" => Some(Format::Dec),
            "le" | "bin" | "u32" | "u64" | "u128" => Some(Format::Le),
            "tsv" => Some(Format::Tsv),
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "json" => Some(Format::Json),
            "npy" => Some(Format::Npy),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Format::Arrow),
            "warc" => Some(Format::Warc),
            _ => None,
        }
    }
}

/// Detects the format from the first bytes, which can still be read. Text is decoded as the options choose.
pub(super) fn by_content(source: &mut Source, told: Told, options: &ReadOptions) -> Result<Format> {
    // A pipe is not waited for if its name is sufficient.
    if let (Told::Json(format), false) = (told, source.is_regular()) {
        return Ok(format);
    }
    let head = source.peek(SNIFFED)?;
    let whole = (head.len() as u64) < SNIFFED;
    if let Some(format) = told.format().or_else(|| by_magic(&head)) {
        return Ok(format);
    }
    let decoded = encoding::of_stream(&head, whole, options.encoding);
    let decoded = decoded.map(|encoding| encoding.decode(&head).0.into_owned());
    let text = decoded.as_ref().map_or(&head[..], String::as_bytes);
    if let Told::Json(format) = told {
        return Ok(json(text).unwrap_or(format));
    }
    if let Some(words) = kinds::words(&head) {
        return Err(source.input_error(Place::File, words));
    }
    let guessed = guess(text, whole, options);
    let guessed = guessed.or_else(|error| options.fallback.ok_or(error));
    guessed.map_err(|(place, message)| source.input_error(place, message))
}

/// Returns the binary format that begins with these bytes.
pub(super) fn by_magic(head: &[u8]) -> Option<Format> {
    if head.starts_with(npy_header::MAGIC) {
        Some(Format::Npy)
    } else if head.starts_with(PARQUET_MAGIC) {
        Some(Format::Parquet)
    } else if head.starts_with(WARC_MAGIC) {
        Some(Format::Warc)
    } else if head.starts_with(ARROW_MAGIC) || is_arrow_stream(head) {
        Some(Format::Arrow)
    } else {
        None
    }
}

/// Returns the format of records that is recognised by its first bytes, regardless of the name.
pub(super) fn records_by_magic(head: &[u8]) -> Option<Format> {
    by_magic(head).or_else(|| json(head))
}

/// Returns the format of records that text looks like, as a document may by chance.
pub(super) fn records_by_chance(head: &[u8], whole: bool) -> Option<Format> {
    let of_width = |width| guess(head, whole, &ReadOptions::default().width(width)).ok();
    let widths = [Width::W32, Width::W64, Width::W128];
    widths.into_iter().find_map(of_width)
}

fn is_arrow_stream(head: &[u8]) -> bool {
    let length = head
        .strip_prefix(ARROW_CONTINUATION)
        .and_then(<[u8]>::first_chunk);
    let length = length.map(|&length| u32::from_le_bytes(length));
    length.is_some_and(|length| length > 0 && length <= ARROW_SCHEMA && length.is_multiple_of(8))
}

/// Detects the format of text that starts with `head`, or is `head` if `whole` is set. The error describes why this is
/// not possible.
///
/// Invalid fingerprints after the first line are ignored: the reader reports them.
fn guess(head: &[u8], whole: bool, options: &ReadOptions) -> Result<Format, (Place, String)> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut lines = (1..)
        .zip(head.split(|&b| b == b'\n'))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| (Place::Line(number), line));
    let Some((place, line)) = lines.next() else {
        let message = match (head.is_empty(), whole) {
            (true, true) => "is empty",
            (_, true) => "holds nothing but white space",
            (_, false) => "begins with nothing but white space; name its format with --input",
        };
        return Err((Place::File, message.into()));
    };
    if let Some(format) = json(head) {
        return Ok(format);
    }
    if options.delimiter.is_some() {
        return Ok(Format::Csv);
    }
    // The text after the last line end may continue beyond the head.
    let cut_off = |line: &[u8]| !whole && line.as_ptr_range().end == head.as_ptr_range().end;
    match digits(line, options.width) {
        _ if cut_off(line) => return Err((place, unknown(line))),
        Digits::Neither => return table(line, options).ok_or_else(|| (place, unknown(line))),
        Digits::Only(format) => return Ok(format),
        Digits::Either => {}
    }
    let mut told = None;
    for (place, line) in lines.filter(|(_, line)| !cut_off(line)) {
        match (digits(line, options.width), told) {
            (Digits::Only(format), None) => told = Some(format),
            (Digits::Only(format), Some(other)) if format != other => {
                return Err((place, conflict(line, format, other)));
            }
            _ => {}
        }
    }
    told.ok_or_else(|| {
        let message = "every fingerprint may be hexadecimal or decimal; \
                       name the format with --input hex or --input dec";
        (Place::File, message.into())
    })
}

/// Returns the JSON format of text that starts with these bytes, if it is JSON.
fn json(head: &[u8]) -> Option<Format> {
    let head = head
        .strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(head)
        .trim_ascii_start();
    let first = |text: &[u8]| text.trim_ascii_start().first().copied();
    match head {
        // An array whose elements are not objects does not contain records.
        [b'[', rest @ ..] => match first(rest) {
            None | Some(b'{' | b']') => Some(Format::Json),
            Some(_) => None,
        },
        [b'{', ..] => {
            let mut lines = head.splitn(2, |&b| b == b'\n');
            let (line, rest) = (lines.next()?, lines.next());
            let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
            let is_object = values.next().is_some_and(|value| value.is_ok());
            let after = line.get(values.byte_offset()..).unwrap_or_default();
            // A damaged first line is followed by other objects.
            let goes_on = rest.is_some_and(|rest| !matches!(first(rest), None | Some(b'{')));
            match is_object && first(after) == Some(b'{') || !is_object && goes_on {
                true => Some(Format::Json),
                false => Some(Format::Jsonl),
            }
        }
        _ => None,
    }
}

/// Returns the format of a table whose first line names the columns of the fields.
fn table(line: &[u8], options: &ReadOptions) -> Option<Format> {
    let is_quoted = line.contains(&b'"');
    match csv::in_header(line, options)? {
        b'\t' if !is_quoted && options.fields.holds() != Holds::Either => Some(Format::Tsv),
        _ => Some(Format::Csv),
    }
}

/// The formats in which the first column of a line is a fingerprint.
enum Digits {
    Neither,
    Either,
    Only(Format),
}

fn digits(line: &[u8], width: Width) -> Digits {
    let column = first_column(line);
    let Ok(column) = std::str::from_utf8(column) else {
        return Digits::Neither;
    };
    let hex = width.parse_hex(column).is_some();
    let dec = width.parse_dec(column).is_some();
    match (hex, dec) {
        (true, true) => Digits::Either,
        (true, false) => Digits::Only(Format::Hex),
        (false, true) => Digits::Only(Format::Dec),
        (false, false) => Digits::Neither,
    }
}

/// Returns the text before the first tab, or the whole line.
fn first_column(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.split(|&b| b == b'\t').next().unwrap_or_default()
}

#[cold]
fn unknown(line: &[u8]) -> String {
    if line.contains(&0) {
        return "holds binary data of no known format; name it with --input".into();
    }
    let line = quote(String::from_utf8_lossy(line).trim_end());
    format!(
        "cannot tell the format from {line}; name it with --input, as files if the file is one document or as lines \
         if each line is one"
    )
}

#[cold]
fn conflict(line: &[u8], format: Format, other: Format) -> String {
    let column = quote(&String::from_utf8_lossy(first_column(line)));
    format!(
        "{column} can only be {format}, but a line before it only {other}; name the format with --input"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> Told {
        Told::by(None, Path::new(path), Width::W64).unwrap()
    }

    fn guess_head(head: &str, whole: bool) -> Result<Format, String> {
        let guessed = guess(head.as_bytes(), whole, &ReadOptions::default());
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
            ("x.csv.xz", Format::Csv),
            ("x.npy.gz", Format::Npy),
            ("x.parquet", Format::Parquet),
            ("x.PQ", Format::Parquet),
            ("x.feather", Format::Arrow),
            ("x.arrow.lz4", Format::Arrow),
            ("x.warc.gz", Format::Warc),
        ] {
            assert_eq!(told(path), Told::Surely(format), "{path}");
        }
        for (path, format) in [
            ("x.jsonl.gz", Format::Jsonl),
            ("x.ndjson", Format::Jsonl),
            ("x.json.bz2", Format::Json),
        ] {
            assert_eq!(told(path), Told::Json(format), "{path}");
        }
    }

    #[test]
    fn other_names_tell_nothing() {
        for path in ["-", "x", "x.txt", "x.gz", "hex", "x.hex.bak", ""] {
            assert_eq!(told(path), Told::Nothing, "{path}");
        }
    }

    #[test]
    fn an_extension_of_another_width_is_refused() {
        let error = Told::by(None, Path::new("x.u32.gz"), Width::W64)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "x.u32.gz: the name says 32-bit fingerprints, not 64-bit ones"
        );
        assert_eq!(
            Told::by(None, Path::new("x.u128"), Width::W128).unwrap(),
            Told::Surely(Format::Le)
        );
    }

    #[test]
    fn a_brace_tells_jsonl() {
        assert_eq!(guessed("\n {\"text\":1}\n"), Ok(Format::Jsonl));
        assert_eq!(guessed("\u{feff}{"), Ok(Format::Jsonl));
    }

    #[test]
    fn brackets_and_lines_within_objects_tell_json() {
        for text in [
            "[{\"text\"",
            " [\n\n {",
            "[]",
            "[",
            "{\n  \"text\": 1\n}\n",
            "{\"a\": {\n\"text\": 1}}",
            "{\"text\": 1} {\"text\": 2}",
        ] {
            assert_eq!(guessed(text), Ok(Format::Json), "{text}");
        }
        for text in [
            "{\"text\": 1}\n{\"text\": 2}",
            "{\"text\": 1} x\n{}",
            "{\"text\": \"cut o\n{\"text\": 1}\n",
            "{\"text\": \"cut o",
        ] {
            assert_eq!(guessed(text), Ok(Format::Jsonl), "{text}");
        }
    }

    #[test]
    fn a_first_line_with_the_columns_tells_a_table() {
        assert_eq!(guessed("id,text\n"), Ok(Format::Csv));
        assert_eq!(guessed("\u{feff}id;text\r\n1;x\r\n"), Ok(Format::Csv));
        assert_eq!(guessed("id\ttext\n"), Ok(Format::Csv));
        let guess = |options: &ReadOptions| guess(b"url\tbody\n", true, options).ok();
        assert_eq!(
            guess(&crate::tests::fields("body", "").into()),
            Some(Format::Tsv)
        );
        assert_eq!(guess(&ReadOptions::default()), None);
        let options = ReadOptions {
            delimiter: Some(b'\t'),
            ..ReadOptions::default()
        };
        assert_eq!(guess(&options), Some(Format::Csv));
    }

    #[test]
    fn magic_bytes_tell_binary_files() {
        assert_eq!(by_magic(b"\x93NUMPY\x01\0"), Some(Format::Npy));
        assert_eq!(by_magic(b"PAR1"), Some(Format::Parquet));
        assert_eq!(by_magic(b"WARC/1.0\r\n"), Some(Format::Warc));
        assert_eq!(by_magic(b"PAR"), None);
        assert_eq!(by_magic(b"ARROW1\0\0"), Some(Format::Arrow));
        assert_eq!(
            by_magic(b"\xff\xff\xff\xff\x10\x01\0\0"),
            Some(Format::Arrow)
        );
        assert_eq!(by_magic(b"\xff\xff\xff\xff\x11\x01\0\0"), None);
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
        let either = "in: every fingerprint may be hexadecimal or decimal; \
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
        let message = "in:3: \"12345678901234567\" can only be dec, but a line before it only hex; \
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
            let error = guessed(text).unwrap_err();
            let start = format!(
                "{place}: cannot tell the format from \"{quoted}\"; name it with --input, "
            );
            assert!(error.starts_with(&start), "{error}");
        }
        for (text, message) in [
            ("", "in: is empty"),
            ("\n \n", "in: holds nothing but white space"),
            (
                "\0\u{1}",
                "in:1: holds binary data of no known format; name it with --input",
            ),
        ] {
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
