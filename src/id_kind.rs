//! The kinds of ids.

use std::fmt;
use std::str::FromStr;

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

impl IdKind {
    /// All kinds.
    pub const ALL: [IdKind; 3] = [IdKind::None, IdKind::Number, IdKind::String];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            IdKind::None => "none",
            IdKind::Number => "number",
            IdKind::String => "string",
        }
    }

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

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for IdKind {
    type Err = OptionsError;

    /// Reads a name as [`IdKind::name`] gives it.
    fn from_str(name: &str) -> Result<Self, OptionsError> {
        let found = IdKind::ALL.into_iter().find(|value| value.name() == name);
        found.ok_or_else(|| {
            OptionsError::new(
                "ids",
                format!("{name:?} is not a kind of ids: none, number or string"),
            )
        })
    }
}
