//! The error of an option that cannot be.

use std::fmt;

/// An option or argument that is out of its range, or that does not go with another.
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
    /// An error about the option with that name: what is wrong with it, one clause.
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        OptionsError { option, message }
    }

    /// Name of the field or argument, as in `block_size`.
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
