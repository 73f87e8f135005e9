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
    Asset(#[from] AssetError),
}

/// What is wrong with a file that a pipeline needs, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssetError {
    /// Name of the file.
    pub name: String,
    /// The place in it.
    pub place: AssetPlace,
    /// What is wrong, one clause.
    pub message: String,
}

/// A place in a file that a pipeline needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetPlace {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for AssetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AssetError { name, message, .. } = self;
        match self.place {
            AssetPlace::Line(line) => write!(f, "{name}:{line}: {message}"),
            AssetPlace::Offset(at) => write!(f, "{name}: offset {at}: {message}"),
            AssetPlace::File => write!(f, "{name}: {message}"),
        }
    }
}

impl std::error::Error for AssetError {}
