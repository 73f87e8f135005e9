//! Errors in pipelines and in the files that they need.

use std::fmt;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in a pipeline, in a file that it needs, or in a text.
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
    /// A name, value or description that this build does not know, or stages that do not fit together.
    #[error("text pipeline: {0}")]
    Pipeline(String),
    /// A file of stop words, of a user dictionary or of weights cannot be used.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A text that becomes longer than it may by normalisation.
    #[error("the text becomes longer than {0} bytes when it is normalised")]
    TextTooLong(usize),
}

/// An error in a file that a pipeline needs.
///
/// ```
/// use simidx_text::Error;
/// use simidx_text::assets::{AssetPlace, IdfTable};
///
/// let Err(Error::Asset(error)) = IdfTable::from_bytes("idf.tsv", b"the\t0.5\ncat\n") else {
///     panic!("the second line has no number")
/// };
/// assert_eq!(error.place, AssetPlace::Line(2));
/// assert_eq!(error.to_string(), "idf.tsv:2: not a feature and a number");
/// ```
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
///
/// ```
/// use simidx_text::Error;
/// use simidx_text::assets::{AssetPlace, StopWords};
///
/// let Err(Error::Asset(error)) = StopWords::from_bytes("stop.txt", b"a\xff") else {
///     panic!("the file is not UTF-8")
/// };
/// assert_eq!(error.place, AssetPlace::Offset(1));
/// ```
#[non_exhaustive]
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
