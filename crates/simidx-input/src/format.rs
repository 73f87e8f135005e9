//! The names of the input formats.

use simidx::named;

/// The format of an input.
///
/// As text it is its name in lower case. Line formats are `hex`, `dec`, `tsv`, `jsonl` and `lines`: a carriage return
/// before the end of a line and a byte order mark at the start of the input are ignored, and blank lines are skipped.
/// They, `csv` and `json` are UTF-8 unless [`ReadOptions::encoding`](super::ReadOptions) says otherwise.
///
/// If no format is given, a directory is read by what is in it: see [`expand`](super::expand). Otherwise the extension,
/// the one before that of a compression, decides: `.hex`, `.dec`, `.le`, `.bin`, `.u32`, `.u64`, `.u128`, `.tsv`, `.csv`,
/// `.npy`, `.parquet`, `.pq`, `.arrow`, `.arrows`, `.feather`, `.ipc`, `.warc`. Files that end in `.json`, `.jsonl` or
/// `.ndjson` are `jsonl` if the first line is an object, and otherwise `json` if they begin so. Otherwise the content must
/// begin like `npy`, `parquet`, `arrow`, `warc`, `json`, `jsonl`, `hex`, `dec`, or like a `csv` or `tsv` whose first line
/// has the named fields. For `hex` and `dec` the first line that is not blank decides; if it could be either, the first
/// line that can be only one of them.
///
/// ```
/// use simidx_input::Format;
///
/// assert_eq!("jsonl".parse(), Ok(Format::Jsonl));
/// assert_eq!(Format::Npy.to_string(), "npy");
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A fingerprint on each line in hexadecimal digits, optionally followed by a tab and an id, which is escaped as by
    /// [`Escaped`](super::Escaped).
    Hex,
    /// The same with decimal digits.
    Dec,
    /// Fingerprints as little-endian words, without ids. Only a file whose name says so counts as compressed; standard
    /// input never does.
    Le,
    /// The same as `hex`. If [`Fields`](super::Fields) name a text or a fingerprint it is a table instead: a first line
    /// with the names of the columns, then a line of as many columns for each record, separated by tabs, without quoting.
    Tsv,
    /// A JSON object on each line: `"text"`, or `"fingerprint"` as a string of hexadecimal digits
    /// or an unsigned integer below 2^64, and optionally `"id"`. Other members are ignored.
    /// [`Fields`](super::Fields) can give other names.
    Jsonl,
    /// Rows of comma-separated values after a row with the names of the columns. Values may be in quotation marks and
    /// then hold line ends. A column `text` holds documents, a column `fingerprint` hexadecimal digits, an optional column
    /// `id` the ids; [`Fields`](super::Fields) can give other names. What separates values is
    /// [`ReadOptions::delimiter`](super::ReadOptions), or else the one of comma, semicolon, tab and `|` with which the first
    /// row has the columns.
    Csv,
    /// JSON objects as in `jsonl`, wherever their lines end: one after another, or as the elements of arrays.
    Json,
    /// A document on each line, without an id.
    Lines,
    /// Each regular file is a document, and its path is the id. Directories are walked in the order of file names,
    /// including hidden files; symbolic links are not followed. A file that is not UTF-8 is decoded by its byte order
    /// mark of UTF-16, by the encoding that HTML declares in its first 1024 bytes, or by a guess from its bytes; invalid
    /// bytes become U+FFFD. A file with a zero byte is not text.
    Files,
    /// A NumPy array without ids. Fingerprints of 32 and 64 bits are an array of one dimension of
    /// signed or unsigned integers of that size, the bits taken as they are, in either byte order.
    /// Those of 128 bits are an array of shape (n, 2) of 64-bit integers: a row for each, its low
    /// word first.
    Npy,
    /// An Apache Parquet file. Reading it needs the feature `parquet`.
    ///
    /// The column `fingerprint` holds integers of the width, signed or unsigned, the bits taken as
    /// they are; or `FIXED_LEN_BYTE_ARRAY`s of the width, the most significant byte first, as their
    /// order is that of the numbers; or strings of hexadecimal digits. The column `text` holds
    /// documents instead. The optional column `id` holds strings or integers. If there are no columns of these names, the
    /// only other column of integers of the width is taken, unless it is signed and there are strings that could be the
    /// documents. [`Fields`](super::Fields) can give other names.
    Parquet,
    /// A file or a stream of Apache Arrow record batches, such as a Feather file of version 2. Reading it needs the feature
    /// `arrow`.
    ///
    /// The columns are those of `parquet`, of any types of strings, of binary data and of integers, also as dictionaries.
    /// Memory: the longest record batch.
    Arrow,
    /// A web archive. Reading it needs the feature `warc`.
    ///
    /// Documents are the payloads of responses with status 200 and of `resource` and `conversion` records, if they are
    /// HTML or plain text; their ids are the addresses. All other records are ignored. Transfer codings and the content
    /// encodings gzip, deflate, zstd and Brotli are undone. Texts are decoded like those of `files`, and by the encoding
    /// that the response declares. HTML stays HTML.
    Warc,
}

named!(
    Format,
    UnknownFormat,
    |name| UnknownFormat(name.to_owned()),
    Hex = "hex",
    Dec = "dec",
    Le = "le",
    Tsv = "tsv",
    Csv = "csv",
    Jsonl = "jsonl",
    Json = "json",
    Lines = "lines",
    Files = "files",
    Npy = "npy",
    Parquet = "parquet",
    Arrow = "arrow",
    Warc = "warc",
);

impl Format {
    /// Whether the whole input is text, in one encoding.
    pub(super) fn is_text(self) -> bool {
        match self {
            Format::Hex | Format::Dec | Format::Tsv | Format::Csv => true,
            Format::Jsonl | Format::Json | Format::Lines => true,
            Format::Le | Format::Files | Format::Npy => false,
            Format::Parquet | Format::Arrow | Format::Warc => false,
        }
    }

    /// Whether records always have named fields. Those of `tsv` have them if the user names them.
    pub(super) fn has_fields(self) -> bool {
        match self {
            Format::Csv | Format::Jsonl | Format::Json => true,
            Format::Parquet | Format::Arrow => true,
            Format::Hex | Format::Dec | Format::Le | Format::Tsv => false,
            Format::Lines | Format::Files | Format::Npy | Format::Warc => false,
        }
    }
}

/// A name that no input format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no input format, those are hex, dec, le, tsv, csv, jsonl, json, lines, files, npy, parquet, arrow and warc"
)]
pub struct UnknownFormat(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn other_names_are_refused() {
        let error = "Hex".parse::<Format>().unwrap_err().to_string();
        let all = "hex, dec, le, tsv, csv, jsonl, json, lines, files, npy, parquet, arrow and warc";
        assert_eq!(
            error,
            format!("\"Hex\" is no input format, those are {all}")
        );
        assert!("".parse::<Format>().is_err());
    }
}
