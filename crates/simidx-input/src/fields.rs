//! The names of the fields in which records have their texts and ids.

use super::Format;
use super::source::input_error;
use crate::{Place, Result};

/// Names of the members, or columns, that hold texts and ids.
///
/// In [`Format::Jsonl`] and [`Format::Parquet`] a path such as `meta.url` names a member of a member, unless there is
/// one with the name `meta.url`. [`Format::Tsv`] has named columns too, the other formats have no named fields.
///
/// ```
/// use simidx_input::{Fields, ReadOptions};
///
/// let mut fields = Fields::default();
/// fields.text = Some("content".to_owned());
/// fields.id = Some("meta.url".to_owned());
/// let options = ReadOptions::from(fields);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The field with the text of each document. Every record must then have it, and a field `fingerprint` is ignored; a
    /// [`Format::Tsv`] then holds documents. By default a record has `text` or `fingerprint`.
    pub text: Option<String>,
    /// The field with the id. Every record must then have it. By default a field `id` is the id, if there is one.
    pub id: Option<String>,
}

/// The name of the id where none is given.
const ID: &str = "id";

impl Fields {
    /// Whether both names are the default ones.
    pub(super) fn are_default(&self) -> bool {
        self.text.is_none() && self.id.is_none()
    }

    /// The name of the text.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("text")
    }

    /// The name of the id.
    pub(super) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or(ID)
    }

    /// Checks that records of the format can have these fields.
    pub(super) fn check(&self, name: &str, format: Format) -> Result<()> {
        let message = match format {
            _ if self.are_default() => return Ok(()),
            _ if self.text() == self.id() => {
                format!("the text and the id cannot both be {:?}", self.text())
            }
            Format::Jsonl | Format::Parquet => return Ok(()),
            Format::Tsv if self.text.is_some() => return Ok(()),
            Format::Tsv => {
                "tsv without a text field holds fingerprints, whose id has no name".into()
            }
            _ => format!("the format {format} has no fields to name"),
        };
        Err(input_error(name, Place::File, message))
    }
}
