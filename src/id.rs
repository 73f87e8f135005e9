//! Ids of records.

use std::fmt;

/// A borrowed id of a record.
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

impl<'a> Id<'a> {
    /// Returns the number; `None` for a string.
    pub fn as_number(self) -> Option<u64> {
        match self {
            Id::Number(number) => Some(number),
            Id::String(_) => None,
        }
    }

    /// Returns the string; `None` for a number.
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Id::Number(_) => None,
            Id::String(string) => Some(string),
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

impl<'a> From<&'a String> for Id<'a> {
    fn from(string: &'a String) -> Self {
        Id::String(string)
    }
}

impl<'a> From<&'a IdBuf> for Id<'a> {
    fn from(id: &'a IdBuf) -> Self {
        id.as_id()
    }
}

/// An owned id of a record, ordered like an [`Id`].
///
/// ```
/// use simidx::{Id, IdBuf};
///
/// let id = IdBuf::from(Id::String("page-7"));
/// assert_eq!(id.as_id(), Id::String("page-7"));
/// assert_eq!(id.to_string(), "page-7");
/// assert_eq!(IdBuf::from(7_u64).as_number(), Some(7));
/// assert!(IdBuf::from("page-7") == *"page-7" && id.as_str() == Some("page-7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdBuf {
    /// A number.
    Number(u64),
    /// A string.
    String(String),
}

impl IdBuf {
    /// Returns the borrowed id.
    pub fn as_id(&self) -> Id<'_> {
        match self {
            IdBuf::Number(number) => Id::Number(*number),
            IdBuf::String(string) => Id::String(string),
        }
    }

    /// Returns the number; `None` for a string.
    pub fn as_number(&self) -> Option<u64> {
        self.as_id().as_number()
    }

    /// Returns the string; `None` for a number.
    pub fn as_str(&self) -> Option<&str> {
        self.as_id().as_str()
    }

    /// Replaces the id, reusing the memory of a string.
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

impl PartialEq<str> for IdBuf {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl From<u64> for IdBuf {
    fn from(number: u64) -> Self {
        IdBuf::Number(number)
    }
}

impl From<String> for IdBuf {
    fn from(string: String) -> Self {
        IdBuf::String(string)
    }
}

impl From<&str> for IdBuf {
    fn from(string: &str) -> Self {
        IdBuf::String(string.to_owned())
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
