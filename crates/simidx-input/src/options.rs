//! Options for reading inputs.

use super::source::input_error;
use super::{Fields, Format, TextEncoding};
use crate::{Place, Result};
use simidx::Width;

/// Options for reading an input.
///
/// ```
/// use simidx_input::ReadOptions;
///
/// let mut options = ReadOptions::default().encoding("GBK".parse()?);
/// options.fields.text = vec!["body".to_owned()];
/// assert_eq!(options.encoding.to_string(), "GBK");
/// # Ok::<(), simidx_input::UnknownEncoding>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The fields that contain texts, fingerprints and ids.
    pub fields: Fields,
    /// The width of the fingerprints. Default: 64 bits.
    pub width: Width,
    /// The format of an input if neither the caller, nor its name, nor its first bytes determine one. By default, that
    /// is an error.
    pub fallback: Option<Format>,
    /// The encoding of texts. `le`, `npy`, `parquet` and `arrow` have none.
    pub encoding: TextEncoding,
    /// The byte that separates the values of `csv`, an ASCII character. By default, it is detected from the first row.
    pub delimiter: Option<u8>,
}

simidx::setters!(ReadOptions {
    fields(Fields)
    width(Width)
    fallback(Some(Format))
    encoding(TextEncoding)
    delimiter(Some(u8))
});

impl ReadOptions {
    /// Checks that a format supports these options.
    pub(super) fn check(&self, name: &str, format: Format) -> Result<()> {
        self.fields.check(name, format)?;
        let message = match (format, self.delimiter) {
            (Format::Le | Format::Npy | Format::Parquet | Format::Arrow, _)
                if !self.encoding.is_default() =>
            {
                format!("the format {format} has no encoding to name")
            }
            (Format::Csv, Some(b'"' | b'\r' | b'\n' | 0x80..)) => {
                "a delimiter is an ASCII character other than quotation marks and line ends".into()
            }
            (Format::Csv, _) | (_, None) => return Ok(()),
            _ => format!("the format {format} has no delimiter to name; only csv has one"),
        };
        Err(input_error(name, Place::File, message))
    }
}
