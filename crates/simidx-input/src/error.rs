//! Errors of inputs and of single records, with their places.

use std::fmt;
use std::io;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a record, or an input as a whole, cannot be read.
///
/// ```
/// use simidx_input::{Error, Place, open};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("fingerprints.hex");
/// std::fs::write(&path, "00ff\nno hex\n")?;
/// let mut records = open(&path, None)?;
/// assert!(records.next().is_some_and(|record| record.is_ok()));
/// match records.next() {
///     Some(Err(Error::Input(error))) => assert_eq!(error.place, Place::Line(2)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the operating system. The message names the file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An unusable record. The reader continues with the next one.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// The problem with an unusable record, and its place.
///
/// ```
/// use simidx_input::{InputError, Place};
///
/// let error = InputError::new("a.hex", Place::Line(7), "id is empty");
/// assert_eq!(error.to_string(), "a.hex:7: id is empty");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputError {
    /// The file, or `-` for standard input.
    pub source: String,
    /// The place of the record.
    pub place: Place,
    /// The description of the problem, one clause.
    pub message: String,
}

impl InputError {
    /// Creates an error at a place of a source.
    pub fn new(source: impl Into<String>, place: Place, message: impl Into<String>) -> Self {
        InputError {
            source: source.into(),
            place,
            message: message.into(),
        }
    }
}

/// A place in an input.
///
/// ```
/// use simidx_input::{InputError, Place};
///
/// let error = InputError::new("a.le", Place::Offset(16), "5 bytes are left over");
/// assert_eq!(error.to_string(), "a.le: offset 16: 5 bytes are left over");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// A row of a table, counted from 1.
    Row(u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "{}:{line}: {}", self.source, self.message),
            Place::Offset(at) => write!(f, "{}: offset {at}: {}", self.source, self.message),
            Place::Row(row) => write!(f, "{}: row {row}: {}", self.source, self.message),
            Place::File => write!(f, "{}: {}", self.source, self.message),
        }
    }
}

impl std::error::Error for InputError {}
