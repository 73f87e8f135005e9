//! The input formats and their names.

use simidx::named;

/// The format of an input.
///
/// The text form is the name in lower case. Line formats are `hex`, `dec`, `tsv`, `jsonl` and `lines`: a carriage
/// return before the end of a line and a byte order mark at the start of the input are ignored, and blank lines are
/// skipped. They, `csv` and `json` are UTF-8 unless [`ReadOptions::encoding`](super::ReadOptions) says otherwise.
///
/// If no format is given, the contents of a directory determine it: see [`expand`](super::expand). For a file, the
/// extension before that of a compression determines the format: `.hex`, `.dec`, `.le`, `.bin`, `.u32`, `.u64`,
/// `.u128`, `.tsv`, `.csv`, `.npy`, `.parquet`, `.pq`, `.arrow`, `.arrows`, `.feather`, `.ipc`, `.warc`. Files that end
/// in `.json`, `.jsonl` or `.ndjson` are `jsonl` if the first line is an object, otherwise `json` if they begin like
/// it. For other files, the content must begin like `npy`, `parquet`, `arrow`, `warc`, `json`, `jsonl`, `hex`, `dec`,
/// or like a `csv` or `tsv` whose first line has the named fields. `hex` and `dec` are distinguished by the first line
/// that can be only one of them.
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
    /// A fingerprint in hexadecimal digits on each line, optionally followed by a tab and an id, escaped as by
    /// [`Escaped`](super::Escaped).
    Hex,
    /// Like `hex`, with decimal digits.
    Dec,
    /// Fingerprints as little-endian words, without ids. Only the name of a file can mark it as compressed; standard
    /// input is never decompressed.
    Le,
    /// Like `hex`. If [`Fields`](super::Fields) names a text or a fingerprint, it is a table instead: a first line with
    /// the names of the columns, then a line with the same number of columns for each record, separated by tabs,
    /// without quoting.
    Tsv,
    /// A JSON object on each line with `"text"`, or with `"fingerprint"` as a string of hexadecimal digits or an
    /// unsigned integer below 2^64, and optionally `"id"`. Other members are ignored. [`Fields`](super::Fields) can
    /// change the names.
    Jsonl,
    /// Rows of comma-separated values after a row with the names of the columns. Quoted values may contain line ends. A
    /// column `text` contains documents, a column `fingerprint` hexadecimal digits, an optional column `id` the ids;
    /// [`Fields`](super::Fields) can change the names. Values are separated by
    /// [`ReadOptions::delimiter`](super::ReadOptions), by default the one of comma, semicolon, tab and `|` with which
    /// the first row has the columns.
    Csv,
    /// JSON objects as in `jsonl`, independent of line ends: consecutive objects, or elements of arrays.
    Json,
    /// A document on each line, without an id.
    Lines,
    /// Each regular file is a document, and its path is the id. Directories are walked in the order of file names,
    /// including hidden files; symbolic links are not followed. A file that is not UTF-8 is decoded by its UTF-16 byte
    /// order mark, by the encoding that HTML declares in its first 1024 bytes, or by a guess from its bytes; invalid
    /// bytes become U+FFFD. A file with a zero byte is not text.
    Files,
    /// A NumPy array without ids. Fingerprints of 32 and 64 bits are a one-dimensional array of signed or unsigned
    /// integers of that size, in either byte order; the sign bit is an ordinary bit. Fingerprints of 128 bits are an
    /// array of shape (n, 2) of 64-bit integers, a row for each, with its low word first.
    Npy,
    /// An Apache Parquet file. Reading it needs the feature `parquet`.
    ///
    /// The column `fingerprint` contains integers of the width, signed or unsigned (the sign bit is an ordinary bit);
    /// or `FIXED_LEN_BYTE_ARRAY`s of the width, the most significant byte first, so that their order is that of the
    /// numbers; or strings of hexadecimal digits. Alternatively, the column `text` contains documents. The optional
    /// column `id` contains strings or integers. If there are no columns with these names, the only other column of
    /// integers of the width is used, unless it is signed and a column of strings could contain documents.
    /// [`Fields`](super::Fields) can change the names.
    Parquet,
    /// A file or a stream of Apache Arrow record batches, such as a Feather file of version 2. Reading it needs the
    /// feature `arrow`.
    ///
    /// The columns are those of `parquet`, with any types of strings, binary data and integers, also as dictionaries.
    /// Memory: the largest record batch.
    Arrow,
    /// A web archive. Reading it needs the feature `warc`.
    ///
    /// Documents are the payloads of responses with status 200 and of `resource` and `conversion` records, if they are
    /// HTML or plain text; their ids are the addresses. All other records are ignored. Transfer encodings and the
    /// content encodings gzip, deflate, zstd and Brotli are decoded. Texts are decoded like those of `files`, and by
    /// the charset that the response declares. HTML remains HTML.
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
    /// Whether the whole input is text in one encoding.
    pub(super) fn is_text(self) -> bool {
        match self {
            Format::Hex | Format::Dec | Format::Tsv | Format::Csv => true,
            Format::Jsonl | Format::Json | Format::Lines => true,
            Format::Le | Format::Files | Format::Npy => false,
            Format::Parquet | Format::Arrow | Format::Warc => false,
        }
    }

    /// Whether records always have named fields. Records of `tsv` have them only if the user names them.
    pub(super) fn has_fields(self) -> bool {
        match self {
            Format::Csv | Format::Jsonl | Format::Json => true,
            Format::Parquet | Format::Arrow => true,
            Format::Hex | Format::Dec | Format::Le | Format::Tsv => false,
            Format::Lines | Format::Files | Format::Npy | Format::Warc => false,
        }
    }
}

/// The error for an unknown name of an input format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown input format {0:?}; use hex, dec, le, tsv, csv, jsonl, json, lines, files, npy, parquet, arrow or warc"
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
        let all = "hex, dec, le, tsv, csv, jsonl, json, lines, files, npy, parquet, arrow or warc";
        assert_eq!(error, format!("unknown input format \"Hex\"; use {all}"));
        assert!("".parse::<Format>().is_err());
    }
}
