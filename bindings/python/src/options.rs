//! Options of several functions: distances, sizes, paths.

use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};
use simidx::Width;

use crate::errors::Class;

/// Reads a distance in bits.
pub(crate) fn distance(object: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
    let number = integer(object).filter(|&number| number <= 128);
    let what = "a distance is a number of bits from 0 to 128";
    number.ok_or_else(|| refused(by_kind(object), object, name, what))
}

/// Reads a count.
pub(crate) fn count(object: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    let what = "a number from 0 is expected";
    integer(object).ok_or_else(|| refused(by_kind(object), object, name, what))
}

/// Reads a width of fingerprints.
pub(crate) fn width(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Width> {
    let bits = count(object, name)?;
    let width = u32::try_from(bits).ok().and_then(Width::from_bits);
    width.ok_or_else(|| {
        let message = format!("fingerprints have 32, 64 or 128 bits, not {bits}");
        Class::Option.error(object.py(), message)
    })
}

/// Reads a similarity, whatever its value.
pub(crate) fn similarity(object: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    let number = match object.is_instance_of::<PyBool>() {
        true => None,
        false => object.extract::<f64>().ok(),
    };
    number.ok_or_else(|| refused(Class::OptionType, object, name, "a number is expected"))
}

/// Returns an integer of Python or NumPy, if it is one in this range.
pub(crate) fn integer<'py, T: FromPyObjectOwned<'py>>(object: &Bound<'py, PyAny>) -> Option<T> {
    match is_number(object) {
        true => object.extract::<T>().ok(),
        false => None,
    }
}

/// Returns whether an object is an integer of Python or NumPy.
fn is_number(object: &Bound<'_, PyAny>) -> bool {
    !object.is_instance_of::<PyBool>() && object.hasattr("__index__").unwrap_or(false)
}

/// Returns whether an object that is not a valid number has a wrong value or a wrong type.
fn by_kind(object: &Bound<'_, PyAny>) -> Class {
    match is_number(object) {
        true => Class::Option,
        false => Class::OptionType,
    }
}

/// Returns the exception for the value of an argument: what is expected, or what is wrong with it.
pub(crate) fn refused(class: Class, object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyErr {
    class.error(object.py(), format!("{name}={}: {what}", shown(object)))
}

fn shown(object: &Bound<'_, PyAny>) -> String {
    let shown = object.repr().map(|text| text.to_string());
    shown.unwrap_or_else(|_| "?".to_owned())
}

/// Reads a number of bytes, optionally with a unit as in `"4GB"`, where units are powers of 1024.
pub(crate) fn bytes(object: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    let of_text = || {
        let text = object.cast::<PyString>().ok()?.to_string();
        let text = text.trim().to_ascii_uppercase();
        let text = text.trim_end_matches("IB").trim_end_matches('B');
        let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
        let power = match &text[digits.len()..] {
            "" => 0,
            "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            _ => return None,
        };
        let number: f64 = digits.trim().parse().ok()?;
        let bytes = number * 1024f64.powi(power);
        (bytes >= 0.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
    };
    let number = match is_number(object) {
        true => integer(object),
        false => of_text(),
    };
    let class = match object.is_instance_of::<PyString>() {
        true => Class::Option,
        false => by_kind(object),
    };
    let what = "pass bytes as a number, or with a unit as in \"4GB\"";
    number.ok_or_else(|| refused(class, object, name, what))
}

/// Reads the path of a file: a string or a path-like object.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    if !object.is_instance_of::<PyBytes>()
        && let Ok(path) = object.extract::<PathBuf>()
    {
        return Ok(path);
    }
    let message = format!("{} is not a path", shown(object));
    Err(Class::InputType.error(object.py(), message))
}

/// Reads the path of a folder for temporary files. It must exist, because it may be used only after hours.
pub(crate) fn temp_dir(object: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    let path = path(object)?;
    match path.is_dir() {
        true => Ok(path),
        false => Err(refused(
            Class::FileMissing,
            object,
            name,
            "there is no such folder",
        )),
    }
}

/// Reads the paths of one or several files.
pub(crate) fn paths(object: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let is_list = !object.is_instance_of::<PyString>()
        && !object.is_instance_of::<PyBytes>()
        && !object.hasattr("__fspath__")?;
    if is_list && let Ok(items) = object.try_iter() {
        let paths: Vec<PathBuf> = items.map(|item| path(&item?)).collect::<PyResult<_>>()?;
        return match paths.is_empty() {
            true => Err(Class::Option.error(object.py(), "there is no file to open")),
            false => Ok(paths),
        };
    }
    Ok(vec![path(object)?])
}

/// Reads a progress function.
pub(crate) fn progress(object: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    match object.is_callable() {
        true => Ok(object.clone().unbind()),
        false => {
            let message = "progress: a function of (stage, done, total) is expected";
            Err(Class::InputType.error(object.py(), message))
        }
    }
}
