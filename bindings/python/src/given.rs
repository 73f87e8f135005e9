//! The arguments of a function of the package by name, as `locals()` returns them when the function starts.
//!
//! All signatures, with their defaults and types, are in the package; here values are read on demand.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simidx::{Fingerprints, Width};

use crate::errors::Class;
use crate::input::{self, Expected};
use crate::options;
use crate::run::How;

/// The arguments of a call.
#[derive(FromPyObject)]
pub(crate) struct Given<'py>(Bound<'py, PyDict>);

impl<'py> Given<'py> {
    pub(crate) fn py(&self) -> Python<'py> {
        self.0.py()
    }

    /// Refuses other names, for functions without a signature that does.
    pub(crate) fn only(&self, names: &[&str]) -> PyResult<()> {
        for name in self.0.keys() {
            let name = name.str()?.to_string();
            if !names.contains(&name.as_str()) {
                let message = format!("got an unexpected argument '{name}'");
                return Err(PyTypeError::new_err(message));
            }
        }
        Ok(())
    }

    /// Returns the value of an argument, if there is one; it may be `None`.
    pub(crate) fn raw(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get_item(name)
    }

    /// Returns the value of an argument, or `None`.
    pub(crate) fn value(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let none = || self.py().None().into_bound(self.py());
        Ok(self.raw(name)?.unwrap_or_else(none))
    }

    /// Returns the value of an argument that is not `None`.
    pub(crate) fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.raw(name)?.filter(|value| !value.is_none()))
    }

    /// Returns the value of an argument that is not `None`, converted by `read`.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Bound<'_, PyAny>, &str) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.get(name)?.map(|value| read(&value, name)).transpose()
    }

    /// Returns a boolean argument; false if it is not given.
    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        let Some(value) = self.get(name)? else {
            return Ok(false);
        };
        // Also accepts a boolean of NumPy.
        let flag = value.extract::<bool>();
        let what = "True or False is expected";
        flag.map_err(|_| options::refused(Class::OptionType, &value, name, what))
    }

    /// Returns the distance in bits: `k`.
    pub(crate) fn distance(&self) -> PyResult<Option<u32>> {
        self.read("k", options::distance)
    }

    /// Returns what is known about fingerprints before they are read: their width, or else `width`; and `signed`.
    pub(crate) fn expected(&self, width: Option<Width>) -> PyResult<Expected> {
        let given = match width {
            Some(_) => width,
            None => self.read("width", options::width)?,
        };
        Ok(Expected {
            width: given,
            signed: self.flag("signed")?,
        })
    }

    /// Returns the queries of a width: `fingerprints`, or a single `fingerprint`. They are copied, which is cheap
    /// compared to answering them, because a search may read them for a long time between two checks for cancellation.
    pub(crate) fn queries(&self, width: Width) -> PyResult<Fingerprints> {
        let expected = self.expected(Some(width))?;
        let Some(one) = self.raw("fingerprint")? else {
            return Ok(input::fingerprints(&self.value("fingerprints")?, expected)?.into_owned());
        };
        let mut column = Fingerprints::new(width);
        column.push(input::fingerprint(&one, expected)?);
        Ok(column)
    }

    /// Returns the bytes of memory: `memory`.
    pub(crate) fn memory(&self) -> PyResult<Option<u64>> {
        self.read("memory", options::bytes)
    }

    /// Returns the folder for temporary files: `temp_dir`.
    pub(crate) fn temp_dir(&self) -> PyResult<Option<PathBuf>> {
        self.read("temp_dir", options::temp_dir)
    }

    /// Returns how to run work: `threads` and `progress`.
    pub(crate) fn how(&self) -> PyResult<How> {
        Ok(How {
            threads: self.read("threads", options::count)?,
            progress: self.read("progress", |given, _| options::progress(given))?,
        })
    }
}
