//! How inputs are read.

use super::source::input_error;
use super::{Fields, Format, TextEncoding};
use crate::{Place, Result};

/// How inputs of a format are read.
///
/// ```
/// use simidx_input::{ReadOptions, TextEncoding};
///
/// let mut options = ReadOptions::from("GBK".parse::<TextEncoding>()?);
/// options.fields.text = Some("body".to_owned());
/// assert_eq!(options.encoding.to_string(), "GBK");
/// # Ok::<(), simidx_input::UnknownEncoding>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The fields that hold texts and ids.
    pub fields: Fields,
    /// The encoding of texts. `le`, `npy` and `parquet` have none.
    pub encoding: TextEncoding,
}

impl From<Fields> for ReadOptions {
    fn from(fields: Fields) -> Self {
        ReadOptions {
            fields,
            ..ReadOptions::default()
        }
    }
}

impl From<TextEncoding> for ReadOptions {
    fn from(encoding: TextEncoding) -> Self {
        ReadOptions {
            encoding,
            ..ReadOptions::default()
        }
    }
}

impl ReadOptions {
    /// Checks that a format has what these options name.
    pub(super) fn check(&self, name: &str, format: Format) -> Result<()> {
        self.fields.check(name, format)?;
        match format {
            Format::Le | Format::Npy | Format::Parquet if !self.encoding.is_default() => {
                let message = format!("the format {format} has no encoding to name");
                Err(input_error(name, Place::File, message))
            }
            _ => Ok(()),
        }
    }
}
