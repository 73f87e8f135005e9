//! Reads ids from Python objects.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_schema::DataType;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;
use simidx::Id;

use crate::arrow;
use crate::column::{Column, Texts};
use crate::errors::Class;
use crate::input::{
    is_text, iterate, joined, refuse_masked, refuse_no_rows, refuse_unordered, texts_of, type_name,
    unicode,
};
use crate::options;

/// The ids of records.
#[derive(Debug)]
pub(crate) enum Ids {
    None,
    /// The row numbers.
    Rows,
    Numbers(Column<u64>),
    Strings(Texts),
}

/// Reads ids of rows: [`read`], in their order.
pub(crate) fn of_rows(object: Option<&Bound<'_, PyAny>>) -> PyResult<Ids> {
    object.map_or(Ok(()), |ids| refuse_unordered(ids, "ids"))?;
    read(object)
}

/// Reads a column of ids from any supported object.
pub(crate) fn read(object: Option<&Bound<'_, PyAny>>) -> PyResult<Ids> {
    let Some(object) = object else {
        return Ok(Ids::None);
    };
    let py = object.py();
    if let Ok(text) = object.cast::<PyString>() {
        if text == "rows" {
            return Ok(Ids::Rows);
        }
        let message =
            format!("ids={text:?}: pass a list of ids, or \"rows\" for the numbers of the rows");
        return Err(Class::InputType.error(py, message));
    }
    refuse_no_rows(object, "ids")?;
    if object.is_instance_of::<PyUntypedArray>() {
        return numpy_ids(object);
    }
    if let Some(chunks) = arrow::column(object, "ids")? {
        return arrow_ids(py, &chunks);
    }
    if object.hasattr("__array__")? {
        let array = py.import("numpy")?.call_method1("asarray", (object,))?;
        return numpy_ids(&array);
    }
    list_ids(object)
}

fn numpy_ids(object: &Bound<'_, PyAny>) -> PyResult<Ids> {
    let py = object.py();
    let array = object.cast::<PyUntypedArray>()?;
    let dtype = array.dtype();
    refuse_masked(object, "ids")?;
    if array.ndim() != 1 {
        let message = format!("ids of shape {:?}; pass one dimension", array.shape());
        return Err(Class::InputType.error(py, message));
    }
    match dtype.kind() {
        b'u' | b'i' => {
            let is_negative =
                dtype.kind() == b'i' && array.len() > 0 && object.call_method0("min")?.lt(0)?;
            if is_negative {
                let message = "ids: a number is negative; ids are numbers from 0, or strings";
                return Err(Class::Input.error(py, message));
            }
            let words = object.call_method1("astype", ("uint64", "C"))?;
            let words = Column::of_numpy::<u64>(&words);
            Ok(Ids::Numbers(words.unwrap_or(Column::Owned(Vec::new()))))
        }
        b'O' | b'U' | b'T' => list_ids(&object.call_method0("tolist")?),
        _ => {
            let message = format!("ids of dtype {dtype}: ids are integers or strings");
            Err(Class::InputType.error(py, message))
        }
    }
}

fn arrow_ids(py: Python<'_>, chunks: &[ArrayRef]) -> PyResult<Ids> {
    let Some(first) = chunks.first() else {
        return Ok(Ids::Numbers(Column::Owned(Vec::new())));
    };
    let kind = first.data_type();
    if is_text(kind) {
        return Ok(Ids::Strings(texts_of(chunks)));
    }
    if *kind == DataType::UInt64 {
        return Ok(Ids::Numbers(joined(chunks, |chunk| {
            chunk.as_primitive::<UInt64Type>().values().clone()
        })));
    }
    let mut numbers = Vec::new();
    for chunk in chunks {
        numbers.reserve(chunk.len());
        downcast_integer_array!(
            chunk => for &number in chunk.values() {
                let number = u64::try_from(i128::from(number));
                numbers.push(number.map_err(|_| {
                    let message = "ids: a number is negative; ids are numbers from 0, or strings";
                    Class::Input.error(py, message)
                })?);
            },
            kind => {
                let message = format!("ids of the Arrow type {kind}: ids are integers or strings");
                return Err(Class::InputType.error(py, message));
            }
        );
    }
    Ok(Ids::Numbers(Column::Owned(numbers)))
}

fn list_ids(object: &Bound<'_, PyAny>) -> PyResult<Ids> {
    let py = object.py();
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    for (row, item) in iterate(object, "ids")?.enumerate() {
        let item = item?;
        if let Ok(text) = item.cast::<PyString>() {
            strings.push(unicode(text, format_args!("ids[{row}]"))?);
        } else {
            let Some(number) = options::integer(&item) else {
                let message = format!(
                    "ids[{row}] of type {}: ids are numbers from 0 to 2^64 - 1, or strings",
                    type_name(&item)
                );
                return Err(Class::InputType.error(py, message));
            };
            numbers.push(number);
        }
        if !numbers.is_empty() && !strings.is_empty() {
            let message =
                format!("ids[{row}]: some ids are numbers and some strings; make all of one kind");
            return Err(Class::Input.error(py, message));
        }
    }
    Ok(match strings.is_empty() {
        true => Ids::Numbers(Column::Owned(numbers)),
        false => Ids::Strings(strings.into()),
    })
}

/// Reads a single id.
pub(crate) fn one(object: &Bound<'_, PyAny>) -> PyResult<simidx::IdBuf> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Id::String(&unicode(text, "id")?).into());
    }
    let number = options::integer(object).map(|number| Id::Number(number).into());
    number.ok_or_else(|| {
        let message = "an id is a number from 0 to 2^64 - 1, or a string";
        Class::InputType.error(object.py(), message)
    })
}
