//! Answers as tables: named columns for Arrow, pandas and polars.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array, LargeListArray, LargeStringArray,
    RecordBatch, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use simidx::batch::{IdColumn, IdLists};

use crate::arrow::{self, ArrowColumn};
use crate::column::Column;
use crate::errors::Class;
use crate::input::{self, Expected, Fingerprints, type_name};

fn refused(py: Python<'_>) -> impl Fn(ArrowError) -> PyErr {
    move |error| Class::Internal.error(py, error.to_string())
}

/// Converts row numbers or places.
fn numbers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Converts distances.
fn bytes(values: &[u8]) -> ArrayRef {
    Arc::new(UInt8Array::from(values.to_vec()))
}

/// Converts fingerprints: to unsigned integers, or to binary of 16 bytes with the highest first.
fn fingerprints(py: Python<'_>, values: &Fingerprints) -> PyResult<ArrayRef> {
    Ok(match values {
        Fingerprints::W32(values) => Arc::new(UInt32Array::from(values.to_vec())),
        Fingerprints::W64(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Fingerprints::W128(values) => {
            let bytes = values.iter().flat_map(|value| value.to_be_bytes());
            let bytes = Buffer::from_vec(bytes.collect::<Vec<u8>>());
            let array = FixedSizeBinaryArray::try_new(16, bytes, None);
            Arc::new(array.map_err(refused(py))?)
        }
    })
}

/// Converts strings.
pub(crate) fn strings(py: Python<'_>, ends: Vec<u64>, text: String) -> PyResult<ArrayRef> {
    let bytes = Buffer::from_vec(text.into_bytes());
    let strings = LargeStringArray::try_new(offsets(&[&[0], &ends[..]].concat()), bytes, None);
    Ok(Arc::new(strings.map_err(refused(py))?))
}

/// Converts lists of ids.
pub(crate) fn lists(py: Python<'_>, lists: IdLists) -> PyResult<ArrayRef> {
    let ids: ArrayRef = match lists.ids {
        IdColumn::Numbers(numbers) => Arc::new(UInt64Array::from(numbers)),
        IdColumn::Strings { ends, text } => strings(py, ends, text)?,
    };
    let field = Arc::new(Field::new("id", ids.data_type().clone(), false));
    let array = LargeListArray::try_new(field, offsets(&lists.offsets), ids, None);
    Ok(Arc::new(array.map_err(refused(py))?))
}

fn offsets(values: &[u64]) -> OffsetBuffer<i64> {
    let values = values.iter().map(|&value| value as i64);
    OffsetBuffer::new(ScalarBuffer::from(values.collect::<Vec<i64>>()))
}

/// Columns for any library that reads Arrow tables.
#[pyclass(frozen, module = "simidx._simidx", name = "Table")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// Creates a table of arrays by name.
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, column) in columns {
            let array = array(&column)?;
            let kind = array.data_type().clone();
            fields.push(Field::new(name.extract::<String>()?, kind, false));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        Ok(Table(batch.map_err(refused(py))?))
    }

    /// Returns the table as a capsule of the Arrow interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may give its own types if it cannot give the requested ones.
        drop(requested_schema);
        arrow::stream(py, self.0.clone())
    }

    /// Returns the types of the columns as a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.0.schema())
    }
}

/// Returns an Arrow column as it is, or copies a NumPy array: numbers or fingerprints.
fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(column) = object.cast::<ArrowColumn>() {
        return Ok(column.get().array.clone());
    }
    if let Some(values) = Column::<i64>::of_numpy::<i64>(object) {
        return Ok(numbers(&values));
    }
    if let Some(values) = Column::<u8>::of_numpy::<u8>(object) {
        return Ok(bytes(&values));
    }
    if let Some(values) = Column::<f64>::of_numpy::<f64>(object) {
        return Ok(Arc::new(Float64Array::from(values.to_vec())));
    }
    if object.hasattr("dtype")? {
        let values = input::fingerprints(object, Expected::default())?;
        return fingerprints(object.py(), &values);
    }
    let message = format!(
        "a column of type {}: an array is expected",
        type_name(object)
    );
    Err(Class::InputType.error(object.py(), message))
}
