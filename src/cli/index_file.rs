//! Opening the index that a command names.

use std::path::PathBuf;

use simidx::{AnyIndex, Error, FormatClass};

use super::failure::Failure;

/// The index to open; shared by the commands that read one.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct IndexArgs {
    /// The index file
    #[arg(value_name = "INDEX")]
    pub(super) index: PathBuf,
    /// Read the whole file into memory instead of mapping it
    #[arg(long)]
    pub(super) no_mmap: bool,
}

impl IndexArgs {
    /// Opens the index.
    ///
    /// # Errors
    /// Whatever keeps it from being opened, the file named.
    pub(super) fn open(&self) -> Result<AnyIndex, Failure> {
        self.any_index().map_err(|error| self.open_failure(error))
    }

    /// Opens the index; a damaged one is an answer here and not an error.
    ///
    /// # Errors
    /// A file that cannot be read, is no index or needs a newer reader.
    pub(super) fn open_or_damaged(&self) -> Result<Result<AnyIndex, simidx::FormatError>, Failure> {
        match self.any_index() {
            Ok(index) => Ok(Ok(index)),
            Err(Error::Format(error)) if error.class == FormatClass::Damaged => Ok(Err(error)),
            Err(error) => Err(self.open_failure(error)),
        }
    }

    /// The failure that an error of the index is, the file named.
    pub(super) fn blame(&self, error: impl Into<Failure>) -> Failure {
        error.into().about(self.index.display())
    }

    fn any_index(&self) -> Result<AnyIndex, Error> {
        if self.no_mmap {
            AnyIndex::open_in_memory(&self.index)
        } else {
            AnyIndex::open(&self.index)
        }
    }

    /// The failure to open the index; what the operating system reports names the file already.
    fn open_failure(&self, error: Error) -> Failure {
        match error {
            Error::Io(_) => error.into(),
            error => self.blame(error),
        }
    }
}

/// Runs an expression on an [`AnyIndex`] with the index bound at its own width.
macro_rules! with_index {
    ($any:expr, $index:ident => $body:expr) => {
        match $any {
            simidx::AnyIndex::W32($index) => $body,
            simidx::AnyIndex::W64($index) => $body,
            simidx::AnyIndex::W128($index) => $body,
        }
    };
}
pub(super) use with_index;

/// Runs an expression with a type bound to the fingerprint of a width given as text.
macro_rules! with_width {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            "32" => {
                type $F = u32;
                $body
            }
            "128" => {
                type $F = u128;
                $body
            }
            _ => {
                type $F = u64;
                $body
            }
        }
    };
}
pub(super) use with_width;
