//! The Arrow C data interface: columns in and out as capsules, without copies.

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator, StructArray, make_array,
};
use arrow_schema::{DataType, Schema};
use pyo3::exceptions::{PyException, PyImportError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

use crate::errors::Class;

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// Returns the chunks of a column, which must not have nulls. `None` if the object does not support Arrow. For a table,
/// returns its only column.
pub(crate) fn column(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Vec<ArrayRef>>> {
    let Some(chunks) = chunks(object, what)? else {
        return Ok(None);
    };
    let py = object.py();
    let mut row = 0;
    let mut columns = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        // A row of a table may be null, or its value.
        let of_rows = first_null(&chunk);
        let chunk = only_column(py, chunk, what)?;
        let nulls = of_rows.into_iter().chain(first_null(&chunk));
        if let Some(first) = nulls.min() {
            let row = row + first;
            let message = format!("{what}: row {row} is null; drop or fill the nulls first");
            return Err(Class::Input.error(py, message));
        }
        row += chunk.len();
        // A column of the type of nulls has no rows here.
        if *chunk.data_type() != DataType::Null {
            columns.push(chunk);
        }
    }
    Ok(Some(columns))
}

/// Returns the first row without a value.
fn first_null(chunk: &ArrayRef) -> Option<usize> {
    let nulls = chunk.logical_nulls()?;
    match nulls.null_count() {
        0 => None,
        _ => (0..nulls.len()).find(|&row| nulls.is_null(row)),
    }
}

fn only_column(py: Python<'_>, chunk: ArrayRef, what: &str) -> PyResult<ArrayRef> {
    let Some(table) = chunk.as_any().downcast_ref::<StructArray>() else {
        return Ok(chunk);
    };
    match table.columns() {
        [column] => Ok(column.clone()),
        columns => {
            let names = table.column_names().join(", ");
            let message = format!(
                "{what}: a table with {} columns ({names}); pass one of them",
                columns.len()
            );
            Err(Class::InputType.error(py, message))
        }
    }
}

fn chunks(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Vec<ArrayRef>>> {
    let py = object.py();
    let refused =
        |error: &dyn std::fmt::Display| Class::Input.error(py, format!("{what}: {error}"));
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = match object.call_method0("__arrow_c_stream__") {
            Ok(capsule) => capsule,
            Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
            // Some libraries have the method but need another library for it, or cannot convert all their columns.
            Err(_) if object.hasattr("__array__")? => return Ok(None),
            Err(error) if error.is_instance_of::<PyImportError>(py) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        let stream: NonNull<FFI_ArrowArrayStream> = pointer(&capsule, STREAM)?;
        #[expect(unsafe_code, reason = "Arrow's interface is one of C")]
        // SAFETY: the capsule has the name that Arrow gives to those that hold a stream, and is not dropped before the
        // stream has been moved out of it. The producer's data are trusted, as by every library of Arrow.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) };
        let reader = reader.map_err(|error| refused(&error))?;
        let is_of_nulls = *reader.field().data_type() == DataType::Null;
        let chunks: Result<Vec<_>, _> = reader.collect();
        return match chunks {
            Ok(chunks) => Ok(Some(chunks)),
            // An object without rows may have a type that cannot be read, such as that of nulls.
            Err(_) if object.len().is_ok_and(|rows| rows == 0) => Ok(Some(Vec::new())),
            Err(_) if is_of_nulls => Err(refused(&"row 0 is null; drop or fill the nulls first")),
            Err(error) => Err(refused(&error)),
        };
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let schema: NonNull<FFI_ArrowSchema> = pointer(&schema, SCHEMA)?;
        let array: NonNull<FFI_ArrowArray> = pointer(&array, ARRAY)?;
        #[expect(unsafe_code, reason = "Arrow's interface is one of C")]
        // SAFETY: as above, for capsules that hold a schema and an array. Both are moved out.
        let data = unsafe {
            let schema = FFI_ArrowSchema::from_raw(schema.as_ptr());
            from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), &schema)
        };
        let data = data.map_err(|error| refused(&error))?;
        return Ok(Some(vec![make_array(data)]));
    }
    Ok(None)
}

/// Returns the contents of a capsule with this name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

/// Returns a table as an Arrow stream with one batch.
pub(crate) fn stream(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batch.schema();
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
}

/// Returns the columns of a table as an Arrow schema.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema)
        .map_err(|error| Class::Internal.error(py, error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A column for any library that reads Arrow: ``pyarrow.array(column)``, ``polars.Series(column)``.
#[pyclass(frozen, module = "simidx")]
#[derive(Debug)]
pub(crate) struct ArrowColumn {
    pub(crate) array: ArrayRef,
}

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<simidx.ArrowColumn of {} {}>",
            self.array.len(),
            self.array.data_type()
        )
    }

    /// Returns the schema and the array as capsules of the Arrow interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // A producer may give its own type if it cannot give the requested one.
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.array.to_data())
            .map_err(|error| Class::Internal.error(py, error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        PyTuple::new(py, [schema, array])
    }
}
