//! Telling the format of an input from its path or its content.

use std::path::Path;

use super::Format;
use super::source::{Source, input_error, is_stdin, printable};
use crate::{Fingerprint, Place, Result};

/// Decompressed bytes looked at.
const SNIFFED: u64 = 64 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The format that the path tells, if it tells any.
pub(super) fn by_path<F: Fingerprint>(path: &Path) -> Result<Option<Format>> {
    if is_stdin(path) {
        return Ok(None);
    }
    if path.is_dir() {
        return Ok(Some(Format::Files));
    }
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    let name = name
        .strip_suffix(".gz")
        .or(name.strip_suffix(".zst"))
        .unwrap_or(&name);
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
        _ => None,
    }
}

/// The format that the first bytes tell; they remain to be read.
pub(super) fn by_content<F: Fingerprint>(source: &mut Source) -> Result<Format> {
    let head = source.peek(SNIFFED)?;
    let whole = (head.len() as u64) < SNIFFED;
    guess::<F>(&head, whole).map_err(|message| source.input_error(Place::File, message))
}

/// The format of content that starts with `head`, or that `head` is the whole of.
fn guess<F: Fingerprint>(head: &[u8], whole: bool) -> Result<Format, &'static str> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if head.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::Jsonl);
    }
    let complete = match head.iter().rposition(|&b| b == b'\n') {
        _ if whole => head,
        Some(end) => &head[..end],
        None => b"",
    };
    let lines = complete
        .split(|&b| b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let mut seen = Digits::default();
    lines.for_each(|line| seen.add(first_column(line)));
    seen.format(F::BYTES * 2)
}

/// What stands before the first tab, or before the end of the line.
fn first_column(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.split(|&b| b == b'\t').next().unwrap_or_default()
}

/// What the first columns have in common.
#[derive(Default)]
struct Digits {
    any: bool,
    longest: usize,
    letters: bool,
    others: bool,
}

impl Digits {
    fn add(&mut self, column: &[u8]) {
        self.any = true;
        self.longest = self.longest.max(column.len());
        self.others |= column.is_empty() || !column.iter().all(u8::is_ascii_hexdigit);
        self.letters |= column.iter().any(u8::is_ascii_alphabetic);
    }

    /// The format in which a fingerprint has at most `width` hexadecimal digits.
    fn format(&self, width: usize) -> Result<Format, &'static str> {
        let fits = self.longest <= width;
        match (self.any && !self.others, self.letters, fits) {
            (true, true, true) => Ok(Format::Hex),
            (true, false, false) => Ok(Format::Dec),
            (true, false, true) => Err("every fingerprint may be hexadecimal or decimal, \
                 name the format with --input hex or --input dec"),
            _ => Err("cannot tell the format, name it with --input"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: &str = "cannot tell the format, name it with --input";

    fn told(path: &str) -> Option<Format> {
        by_path::<u64>(Path::new(path)).unwrap()
    }

    fn guessed(text: &str) -> Result<Format, &'static str> {
        guess::<u64>(text.as_bytes(), true)
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
        let either = "every fingerprint may be hexadecimal or decimal, \
                      name the format with --input hex or --input dec";
        assert_eq!(guessed("12\n1234567890123456\tid\n"), Err(either));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "\n\n",
            "a line of text\n",
            "12\nxyz\n",
            "\t1",
            "1f\n12345678901234567",
            "[1]",
        ] {
            assert_eq!(guessed(text), Err(UNKNOWN), "{text:?}");
        }
    }

    #[test]
    fn a_line_cut_off_is_not_looked_at() {
        assert_eq!(guess::<u64>(b"1f\n12 cut", false), Ok(Format::Hex));
        assert_eq!(guess::<u64>(b"1f", false), Err(UNKNOWN));
    }
}
