//! The reason why a command failed, as one line for the user.

use std::fmt;
use std::io;
use std::path::Path;

use simidx::Error;
use simidx::builder::OptionsError;
use simidx::format::FormatError;
use simidx_input::{InputError, RecordReader};
use simidx_output::one_line;

/// An error that ends a command, with its message for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    broken_pipe: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure {
            message: message.into(),
            broken_pipe: false,
        }
    }

    /// Prefixes the message with the name of its subject.
    pub(crate) fn about(mut self, name: impl fmt::Display) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// Converts an error of the operating system to a failure that names the file; for `map_err`.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
        move |error| Failure::from(error).about(path.display())
    }

    /// Creates the failure of the last record that was read.
    pub(crate) fn of_record(reader: &dyn RecordReader, message: impl Into<String>) -> Self {
        let (source, place) = reader.place();
        InputError::new(source, place, message).into()
    }

    /// Converts the failure of an output that is useless unless it is complete, such as an index: a reader that closed
    /// it is then an error.
    pub(crate) fn of_whole(mut self) -> Self {
        self.broken_pipe = false;
        self
    }

    /// Whether the reader of the output closed it, which counts as success without a message.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.message))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure {
            broken_pipe: error.kind() == io::ErrorKind::BrokenPipe,
            message: error.to_string(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error.into(),
            Error::Budget { .. } => Failure::new(format!("{error}; raise --memory")),
            other => Failure::new(other.to_string()),
        }
    }
}

impl From<simidx_input::Error> for Failure {
    fn from(error: simidx_input::Error) -> Self {
        match error {
            simidx_input::Error::Io(error) => error.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

/// Converts an error of the library to one of the operating system.
pub(crate) fn into_io(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// Errors that only need their message.
macro_rules! from_message {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new(error.to_string())
            }
        }
    )*};
}

from_message!(FormatError, InputError, OptionsError, simidx_text::Error);
