//! Fields that records get when they are copied, and what becomes of each record.

#[cfg(feature = "arrow")]
use std::io;

/// A field that records get beside their own.
///
/// ```
/// use simidx_input::{FieldKind, NewField};
///
/// assert_eq!(NewField::new("distance", FieldKind::Number).name, "distance");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewField {
    /// Its name, which no record may have already.
    pub name: String,
    /// What its values are.
    pub kind: FieldKind,
}

impl NewField {
    /// A field of a name.
    pub fn new(name: impl Into<String>, kind: FieldKind) -> Self {
        let name = name.into();
        NewField { name, kind }
    }
}

/// What the values of a new field are: the type of its column in a Parquet file.
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
    /// Strings, numbers written out among them.
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

/// What becomes of a record.
///
/// ```
/// use simidx_input::{Fate, FieldValue};
///
/// let fate = Fate::With(vec![Some(FieldValue::Number(7)), None]);
/// assert_ne!(fate, Fate::Copied);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It is left out.
    Dropped,
    /// It is written as it is. Where all records have the same columns, its new ones are empty.
    Copied,
    /// It is written with a value, or none, for each new field.
    With(Vec<Option<FieldValue>>),
}

/// What becomes of a row, given the bytes that have been read so far.
#[cfg(feature = "arrow")]
pub(super) type RowFate<'a> = &'a mut dyn FnMut(u64) -> io::Result<Fate>;
