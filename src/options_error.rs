//! The error of an invalid option.

use std::fmt;

/// An option or argument that is out of its range, or conflicts with another.
///
/// ```
/// use simidx::Codec;
///
/// let error = "zip".parse::<Codec>().unwrap_err();
/// assert_eq!(error.option(), "codec");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionsError {
    option: &'static str,
    message: String,
}

impl OptionsError {
    /// Creates an error about the option `option`; the message describes its fault in one clause.
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        OptionsError { option, message }
    }

    /// Returns the name of the field or argument, such as `block_size`.
    pub fn option(&self) -> &'static str {
        self.option
    }
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OptionsError {}
