//! The kinds of ids.

use crate::named;
use crate::options_error::OptionsError;

/// The kind of the ids of an index. Spec §9.
///
/// ```
/// use simidx::IdKind;
///
/// let kind: IdKind = "number".parse()?;
/// assert_eq!((kind, kind.to_string()), (IdKind::Number, "number".to_owned()));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdKind {
    /// No ids: the file is a plain set of fingerprints.
    #[default]
    None,
    /// Unsigned 64-bit numbers.
    Number,
    /// UTF-8 strings of at most 65,535 bytes.
    String,
}

named!(
    IdKind,
    OptionsError,
    |name| OptionsError::new(
        "ids",
        format!("{name:?} is not a kind of ids: none, number or string")
    ),
    None = "none",
    Number = "number",
    String = "string",
);

impl IdKind {
    /// Returns the name of the ids in the plural.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            IdKind::None => "nothing",
            IdKind::Number => "numbers",
            IdKind::String => "strings",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            IdKind::None => 0,
            IdKind::Number => 1,
            IdKind::String => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        IdKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}
