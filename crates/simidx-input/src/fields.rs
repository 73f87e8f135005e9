//! The names of the fields in which records have their texts and ids.

use super::Format;
use super::source::input_error;
use crate::{Place, Result};

/// Names of the members, or columns, that hold texts and ids.
///
/// A member of [`Format::Jsonl`] may be named by a path of members within each other, as in `meta.url`, unless the
/// object has a member of that very name; so may a column of [`Format::Parquet`]. Other formats than these two and
/// [`Format::Tsv`] have no fields to name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The field with the text of each document. Every record must have it, and `fingerprint` is a field as any other;
    /// of [`Format::Tsv`] it makes documents. By default records have `text` or `fingerprint`.
    pub text: Option<String>,
    /// The field with the id, which every record must have. By default `id` is the id of a record that has it.
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

    /// Says whether records of the format can have these fields.
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
