//! Fields that are added to records when they are copied, and the fates of records.

#[cfg(feature = "arrow")]
use std::io;

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
