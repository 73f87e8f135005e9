//! Errors in pipelines and in the files that they need.

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in a pipeline, in a file that it needs, or in a text.
///
/// ```
/// use simidx_text::assets::IdfTable;
/// use simidx_text::{Error, Preset};
///
/// let error = "wbe".parse::<Preset>().unwrap_err();
/// assert!(matches!(error, Error::Pipeline(_)));
///
/// let error = IdfTable::from_bytes("idf.tsv", b"the\t0.5\ncat\n").unwrap_err();
/// assert_eq!(error.to_string(), "idf.tsv:2: not a feature and a number");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An unknown name, value or description, or stages that do not fit together.
    #[error("text pipeline: {0}")]
    Pipeline(String),
    /// A file of stop words, of a user dictionary or of weights that cannot be used. The message names the file and the
    /// line.
    #[error("{0}")]
    Asset(String),
    /// A text that exceeds a length limit when it is normalised.
    #[error("the text becomes longer than {0} bytes when it is normalised")]
    TextTooLong(usize),
}
