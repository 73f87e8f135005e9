//! How inputs are read.

use super::source::input_error;
use super::{Fields, Format, TextEncoding};
use crate::{Place, Result};

/// What is to be known of inputs beside their format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Where records have their texts and ids.
    pub fields: Fields,
    /// What characters the bytes of texts stand for. Fingerprints in binary formats, and Parquet files, have none.
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
    /// Says whether an input of this name can be read so in a format.
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
