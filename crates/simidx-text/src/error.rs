//! Errors: a pipeline that cannot be carried out, a file that it needs and cannot use.

use std::fmt;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can be wrong with a pipeline or with the files that it needs.
///
/// ```
/// use simidx_text::{Error, Preset};
///
/// let error = "wbe".parse::<Preset>().unwrap_err();
/// assert!(matches!(error, Error::Pipeline(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a value or a description that this version does not know, or stages that do not fit together.
    #[error("text pipeline: {0}")]
    Pipeline(String),
    /// A file of stop words, of a user dictionary or of weights cannot be used.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}

/// What is wrong with a file that a pipeline needs, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceError {
    /// Name of the file.
    pub name: String,
    /// The place in it.
    pub place: ResourcePlace,
    /// What is wrong, one clause.
    pub message: String,
}

/// A place in a file that a pipeline needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourcePlace {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResourceError { name, message, .. } = self;
        match self.place {
            ResourcePlace::Line(line) => write!(f, "{name}:{line}: {message}"),
            ResourcePlace::Offset(at) => write!(f, "{name}: offset {at}: {message}"),
            ResourcePlace::File => write!(f, "{name}: {message}"),
        }
    }
}

impl std::error::Error for ResourceError {}
