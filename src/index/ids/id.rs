//! Ids as values.

use std::fmt;

/// The id of a record, lent.
///
/// Numbers are ordered by value, strings by their bytes.
///
/// ```
/// use simidx::Id;
///
/// assert_eq!(Id::Number(7).to_string(), "7");
/// assert_eq!(Id::String("page-7").to_string(), "page-7");
/// assert!(Id::Number(7) < Id::Number(10) && Id::String("7") > Id::String("10"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id<'a> {
    /// A number.
    Number(u64),
    /// A string.
    String(&'a str),
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::String(string) => string.fmt(f),
        }
    }
}

impl From<u64> for Id<'_> {
    fn from(number: u64) -> Self {
        Id::Number(number)
    }
}

impl<'a> From<&'a str> for Id<'a> {
    fn from(string: &'a str) -> Self {
        Id::String(string)
    }
}

/// The id of a record, owned; ordered as an [`Id`].
///
/// ```
/// use simidx::{Id, IdBuf};
///
/// let id = IdBuf::from(Id::String("page-7"));
/// assert_eq!(id.as_id(), Id::String("page-7"));
/// assert_eq!(id.to_string(), "page-7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdBuf {
    /// A number.
    Number(u64),
    /// A string.
    String(String),
}

impl IdBuf {
    /// The id, lent.
    pub fn as_id(&self) -> Id<'_> {
        match self {
            IdBuf::Number(number) => Id::Number(*number),
            IdBuf::String(string) => Id::String(string),
        }
    }

    /// Becomes this id; the memory of a string is used again.
    pub fn clone_from_id(&mut self, id: Id<'_>) {
        match (self, id) {
            (IdBuf::String(string), Id::String(id)) => {
                string.clear();
                string.push_str(id);
            }
            (this, id) => *this = id.into(),
        }
    }
}

impl fmt::Display for IdBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_id().fmt(f)
    }
}

impl From<Id<'_>> for IdBuf {
    fn from(id: Id<'_>) -> Self {
        match id {
            Id::Number(number) => IdBuf::Number(number),
            Id::String(string) => IdBuf::String(string.to_owned()),
        }
    }
}
