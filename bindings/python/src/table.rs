//! Answers as tables: columns with names, for Arrow, pandas and polars.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array, LargeListArray, LargeStringArray,
    RecordBatch, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use simidx::IdKind;
use simidx::batch::{IdColumn, IdLists};

use crate::arrow;
use crate::column::Column;
use crate::errors::Class;
use crate::input::{self, Expected, Fingerprints, type_name};

fn refused(py: Python<'_>) -> impl Fn(ArrowError) -> PyErr {
    move |error| Class::Internal.error(py, error.to_string())
}

/// Numbers of rows, or places.
pub(crate) fn numbers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Distances.
pub(crate) fn bytes(values: &[u8]) -> ArrayRef {
    Arc::new(UInt8Array::from(values.to_vec()))
}

/// Fingerprints: unsigned integers, or binary of 16 bytes with the highest first.
pub(crate) fn fingerprints(py: Python<'_>, values: &Fingerprints) -> PyResult<ArrayRef> {
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

/// Strings.
pub(crate) fn strings(py: Python<'_>, ends: Vec<u64>, text: String) -> PyResult<ArrayRef> {
    let bytes = Buffer::from_vec(text.into_bytes());
    let strings = LargeStringArray::try_new(offsets(&[&[0], &ends[..]].concat()), bytes, None);
    Ok(Arc::new(strings.map_err(refused(py))?))
}

/// Lists of ids.
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

/// What the columns of matches are.
pub(crate) fn of_matches(width: u32, ids: IdKind) -> Schema {
    let column = |name: &str, kind: DataType| Field::new(name, kind, false);
    let mut columns = vec![
        column("query", DataType::Int64),
        column("position", DataType::Int64),
        column("fingerprint", of_width(width)),
        column("distance", DataType::UInt8),
    ];
    let id = match ids {
        IdKind::None => return Schema::new(columns),
        IdKind::Number => DataType::UInt64,
        IdKind::String => DataType::LargeUtf8,
    };
    columns.push(column(
        "ids",
        DataType::LargeList(Arc::new(column("id", id))),
    ));
    Schema::new(columns)
}

fn of_width(width: u32) -> DataType {
    match width {
        32 => DataType::UInt32,
        64 => DataType::UInt64,
        _ => DataType::FixedSizeBinary(16),
    }
}

/// Columns for any library that reads tables of Arrow.
#[pyclass(frozen, module = "simidx", name = "_Table")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// Of arrays by their names.
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

    /// The table as a capsule of Arrow's interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may give its own types where it cannot give those that are asked for.
        drop(requested_schema);
        arrow::stream(py, self.0.clone())
    }
}

/// An array of NumPy, copied: numbers, or fingerprints.
fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
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

/// The same columns as a table of pandas, which is imported for it.
pub(crate) fn to_pandas<'py>(columns: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let tables = columns.py().import("simidx._tables")?;
    tables.call_method1("to_pandas", (columns,))
}

/// Columns of pairs as a class of `simidx._tables`.
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    class: &str,
    columns: [Bound<'py, PyAny>; 3],
) -> PyResult<Bound<'py, PyAny>> {
    py.import("simidx._tables")?
        .getattr(class)?
        .call1(PyTuple::new(py, columns)?)
}
