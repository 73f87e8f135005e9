//! Fields that are added to records when they are copied, and the fates of records.

use std::borrow::Cow;
#[cfg(feature = "arrow")]
use std::io;

use serde_json::Value;

/// A field that is added to records.
///
/// ```
/// use simidx_input::{FieldKind, NewField};
///
/// assert_eq!(NewField::new("distance", FieldKind::Number).name, "distance");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewField {
    /// The name of the field, which must not exist in any record.
    pub name: String,
    /// The kind of the values.
    pub kind: FieldKind,
}

impl NewField {
    /// Creates a field.
    pub fn new(name: impl Into<String>, kind: FieldKind) -> Self {
        let name = name.into();
        NewField { name, kind }
    }
}

/// The kind of the values of a new field, which determines the type of its column in a Parquet file.
///
/// ```
/// use simidx_input::{FieldKind, NewField};
///
/// let of = NewField::new("duplicate_of", FieldKind::Text);
/// assert_ne!(of.kind, FieldKind::Number);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Strings, including formatted numbers.
    Text,
    /// Unsigned integers below 2^64.
    Number,
    /// Finite numbers of double precision.
    Real,
}

/// The value of a new field.
///
/// ```
/// use simidx_input::{Fate, FieldValue};
///
/// let similarity = FieldValue::Real(0.875);
/// let fate = Fate::With(vec![Some(similarity)]);
/// assert_ne!(fate, Fate::Dropped);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldValue {
    /// A string.
    Text(String),
    /// An unsigned integer.
    Number(u64),
    /// A finite number.
    Real(f64),
}

impl FieldValue {
    /// The value in the cell of a table. A real number has a point or an exponent, which distinguishes it from an integer.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            FieldValue::Text(text) => text.into(),
            FieldValue::Number(number) => number.to_string().into(),
            FieldValue::Real(number) => format!("{number:?}").into(),
        }
    }

    /// The value in a JSON object.
    pub(super) fn json(&self) -> Value {
        match self {
            FieldValue::Text(text) => text.as_str().into(),
            &FieldValue::Number(number) => number.into(),
            &FieldValue::Real(number) => number.into(),
        }
    }
}

/// The fate of a record.
///
/// ```
/// use simidx_input::{Fate, FieldValue};
///
/// let fate = Fate::With(vec![Some(FieldValue::Number(7)), None]);
/// assert_ne!(fate, Fate::Copied);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// The record is left out.
    Dropped,
    /// The record is copied unchanged. If all records have the same columns, its new ones are empty.
    Copied,
    /// The record is written with a value, or `None`, for each new field.
    With(Vec<Option<FieldValue>>),
}

/// Decides the fate of a row, given the number of bytes read so far.
#[cfg(feature = "arrow")]
pub(super) type RowFate<'a> = &'a mut dyn FnMut(u64) -> io::Result<Fate>;

/// Returns the message for a record, or a file, that already has a new field.
pub(super) fn has_already(field: &NewField) -> String {
    format!(
        "has a field {:?} already; give the new ones other names",
        field.name
    )
}
