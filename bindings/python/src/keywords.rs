//! Keyword arguments that several functions share.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::errors::Class;
use crate::input::Expected;
use crate::options;
use crate::run::How;

/// The keyword arguments of a call.
pub(crate) struct Keywords<'a, 'py> {
    py: Python<'py>,
    given: Option<&'a Bound<'py, PyDict>>,
}

impl<'a, 'py> Keywords<'a, 'py> {
    /// Those of a function, which knows no others than these.
    pub(crate) fn new(
        py: Python<'py>,
        function: &str,
        given: Option<&'a Bound<'py, PyDict>>,
        known: &[&str],
    ) -> PyResult<Self> {
        for (name, _) in given.into_iter().flatten() {
            let name = name.str()?.to_string();
            if !known.contains(&name.as_str()) {
                // As Python says it of its own functions.
                let message = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(message));
            }
        }
        Ok(Keywords { py, given })
    }

    /// The value of an argument if there is one, which may be `None`.
    pub(crate) fn raw(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.given {
            Some(given) => given.get_item(name),
            None => Ok(None),
        }
    }

    /// The value of an argument that is not `None`.
    pub(crate) fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.raw(name)?.filter(|value| !value.is_none()))
    }

    /// The same, read.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Bound<'_, PyAny>, &str) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        options::optional(self.get(name)?.as_ref(), name, read)
    }

    /// Yes or no; no if it is not said.
    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        let Some(value) = self.get(name)? else {
            return Ok(false);
        };
        match value.cast::<PyBool>() {
            Ok(value) => Ok(value.is_true()),
            Err(_) => {
                let message = format!("{name}={}: True or False is expected", value.repr()?);
                Err(Class::OptionType.error(self.py, message))
            }
        }
    }

    /// What is said of fingerprints: `width` and `signed`.
    pub(crate) fn expected(&self) -> PyResult<Expected> {
        let width = self.read("width", options::count)?;
        Ok(Expected {
            width: width.map(|width| u32::try_from(width).unwrap_or(u32::MAX)),
            signed: self.flag("signed")?,
        })
    }

    /// Bytes of memory: `memory`.
    pub(crate) fn memory(&self) -> PyResult<Option<u64>> {
        self.read("memory", options::bytes)
    }

    /// Where temporary files go: `temp_dir`.
    pub(crate) fn temp_dir(&self) -> PyResult<Option<PathBuf>> {
        self.read("temp_dir", options::temp_dir)
    }

    /// How work is done: `threads` and `progress`.
    pub(crate) fn how(&self) -> PyResult<How> {
        Ok(How {
            threads: self.read("threads", options::count)?,
            progress: options::progress(self.get("progress")?.as_ref())?,
        })
    }
}
