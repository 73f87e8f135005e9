//! Errors as Python exceptions: the classes of `simidx._errors`.

use pyo3::prelude::*;
use pyo3::types::PyAny;
use simidx::Error;

/// A class of `simidx._errors`, whose name there ends with `Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Closed,
    File,
    FileMissing,
    Format,
    IdExists,
    Input,
    InputType,
    Internal,
    Limit,
    Locked,
    Option,
    OptionType,
}

impl Class {
    /// Creates an exception of this class.
    pub(crate) fn error(self, py: Python<'_>, message: impl Into<String>) -> PyErr {
        match self.instance(py, message.into()) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }

    fn instance<'py>(self, py: Python<'py>, message: String) -> PyResult<Bound<'py, PyAny>> {
        let classes = py.import("simidx._errors")?;
        let name = format!("{self:?}Error");
        classes.getattr(name.as_str())?.call1((message,))
    }
}

/// An error of work without the interpreter, which becomes an exception when the interpreter is attached again.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    /// The files are not index files.
    NotSimidx(String),
    Other(Class, String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Library(error.into())
    }
}

impl From<simidx_text::Error> for Failure {
    fn from(error: simidx_text::Error) -> Self {
        Failure::Other(Class::Option, error.to_string())
    }
}

impl From<simidx_collection::Error> for Failure {
    fn from(error: simidx_collection::Error) -> Self {
        use simidx_collection::Error as Kind;
        let class = match error {
            Kind::Io(error) => return error.into(),
            Kind::Index(error) => return error.into(),
            Kind::NotACollection { .. } => return Failure::NotSimidx(error.to_string()),
            Kind::Locked(_) => Class::Locked,
            Kind::Options(_) => Class::Option,
            Kind::IdExists(_) => Class::IdExists,
            Kind::BadId(_) => Class::Input,
            Kind::Unsealed(_) | Kind::Journal(_) => Class::File,
            _ => Class::Internal,
        };
        Failure::Other(class, error.to_string())
    }
}

impl Failure {
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Library(error) => raise(py, &error),
            Failure::NotSimidx(message) => {
                let exception = Class::Format.error(py, message);
                match exception.value(py).setattr("kind", "not-simidx") {
                    Ok(()) => exception,
                    Err(error) => error,
                }
            }
            Failure::Other(class, message) => class.error(py, message),
        }
    }
}

/// Converts an error of the library into an exception.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    let exception = match class_of(error).instance(py, message) {
        Ok(exception) => exception,
        Err(error) => return error,
    };
    match add_facts(&exception, error) {
        Ok(()) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

fn class_of(error: &Error) -> Class {
    match error {
        Error::Io(error) if error.kind() == std::io::ErrorKind::NotFound => Class::FileMissing,
        Error::Io(_) => Class::File,
        Error::Format(_) => Class::Format,
        Error::Options(_) => Class::Option,
        Error::Budget { .. } | Error::LimitReached { .. } => Class::Limit,
        Error::Segment { error, .. } => class_of(error),
        Error::WidthMismatch { .. }
        | Error::Build(_)
        | Error::Mismatch { .. }
        | Error::Manifest(_) => Class::Input,
        _ => Class::Internal,
    }
}

/// Adds the broken rule of a file and its place.
fn add_facts(exception: &Bound<'_, PyAny>, error: &Error) -> PyResult<()> {
    match error {
        Error::Segment { error, .. } => add_facts(exception, error),
        Error::Format(error) => {
            exception.setattr("rule", error.rule())?;
            exception.setattr("kind", error.class().name())?;
            exception.setattr("offset", error.offset())?;
            exception.setattr("table", error.table())?;
            exception.setattr("block", error.block())
        }
        Error::Options(error) => exception.setattr("option", error.option()),
        _ => Ok(()),
    }
}
