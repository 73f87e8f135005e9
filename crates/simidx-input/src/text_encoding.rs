//! The names of the encodings of texts.

use std::fmt;
use std::str::FromStr;

use encoding_rs::Encoding;

/// The encoding of texts.
///
/// By default, line formats are UTF-8, and an invalid line is an error. Texts of
/// [`Format::Files`](super::Format::Files) and [`Format::Warc`](super::Format::Warc) have the encoding that they
/// declare, or a guessed one. A value parsed from a name is the encoding of all texts; every name in the Encoding
/// Standard of the web is accepted. A byte order mark takes precedence. Invalid bytes become U+FFFD, which
/// [`Record::has_faults`](super::Record::has_faults) reports.
///
/// ```
/// use simidx_input::TextEncoding;
///
/// let encoding: TextEncoding = "gb2312".parse()?;
/// assert_eq!(encoding.to_string(), "GBK");
/// assert_eq!("auto".parse(), Ok(TextEncoding::AUTO));
/// # Ok::<(), simidx_input::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextEncoding(pub(super) Choice);

/// The source of the encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    /// The default of the format.
    #[default]
    Format,
    /// A guess from the first bytes.
    Guess,
    Named(&'static Encoding),
}

/// The name of the guess.
const AUTO: &str = "auto";

/// The names of all encodings, except the one that refuses all texts.
const KNOWN: &str = "\
    UTF-8, UTF-16LE, UTF-16BE, GBK, gb18030, Big5, EUC-JP, ISO-2022-JP, Shift_JIS, EUC-KR, IBM866, \
    ISO-8859-2, ISO-8859-3, ISO-8859-4, ISO-8859-5, ISO-8859-6, ISO-8859-7, ISO-8859-8, ISO-8859-8-I, \
    ISO-8859-10, ISO-8859-13, ISO-8859-14, ISO-8859-15, ISO-8859-16, KOI8-R, KOI8-U, macintosh, \
    windows-874, windows-1250, windows-1251, windows-1252, windows-1253, windows-1254, windows-1255, \
    windows-1256, windows-1257, windows-1258, x-mac-cyrillic, x-user-defined";

impl TextEncoding {
    /// Guesses the encoding of line formats too, from the first 64 KiB: by a byte order mark, or as UTF-8 if almost all
    /// of it is valid, or from its bytes. UTF-8 is then read as by default.
    pub const AUTO: TextEncoding = TextEncoding(Choice::Guess);

    /// Whether the format determines the encoding.
    pub(super) fn is_default(self) -> bool {
        self.0 == Choice::Format
    }

    /// The encoding that the user named.
    pub(super) fn named(self) -> Option<&'static Encoding> {
        match self.0 {
            Choice::Named(encoding) => Some(encoding),
            Choice::Format | Choice::Guess => None,
        }
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.0 {
            Choice::Format => "that of the format",
            Choice::Guess => AUTO,
            Choice::Named(encoding) => encoding.name(),
        })
    }
}

impl FromStr for TextEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        if name == AUTO {
            return Ok(TextEncoding::AUTO);
        }
        match Encoding::for_label_no_replacement(name.as_bytes()) {
            Some(encoding) => Ok(TextEncoding(Choice::Named(encoding))),
            None => Err(UnknownEncoding(name.to_owned())),
        }
    }
}

/// The error for an unknown name of an encoding; it lists the known ones.
///
/// ```
/// use simidx_input::TextEncoding;
///
/// let error = "latin-9000".parse::<TextEncoding>().unwrap_err();
/// assert!(error.to_string().starts_with(r#""latin-9000" is not an encoding"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an encoding; known are {AUTO}, {KNOWN} and their other names on the web")]
pub struct UnknownEncoding(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let names: Vec<&str> = KNOWN.split(", ").collect();
        assert_eq!(names.len(), 39);
        for name in names {
            let parsed: TextEncoding = name.parse().unwrap();
            assert_eq!(parsed.named(), Encoding::for_label(name.as_bytes()));
            assert_eq!(parsed.to_string(), name);
        }
        assert_eq!("auto".parse(), Ok(TextEncoding::AUTO));
        let other_name: TextEncoding = "GB2312".parse().unwrap();
        assert_eq!(other_name.to_string(), "GBK");
    }

    #[test]
    fn other_names_are_refused_with_those_that_are_known() {
        for name in ["latin-9000", "", "replacement", "hz-gb-2312"] {
            let error = name.parse::<TextEncoding>().unwrap_err().to_string();
            let start = format!("{name:?} is not an encoding; known are auto, UTF-8, UTF-16LE, ");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.contains(KNOWN));
        }
    }
}
