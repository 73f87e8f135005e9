//! Reads fingerprints and texts from Python objects.

use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PySet, PyString,
};
use simidx::{Fingerprint, Width};

use crate::arrow;
use crate::column::{Column, TextChunk, Texts};
use crate::errors::Class;

/// The error message for floating-point fingerprints.
const ROUNDED: &str =
    "floating point rounds fingerprints; read them as uint64, or from hexadecimal strings";

/// Fingerprints of one of the three widths.
#[derive(Debug)]
pub(crate) enum Fingerprints {
    W32(Column<u32>),
    W64(Column<u64>),
    W128(Column<u128>),
}

impl Fingerprints {
    /// Returns the fingerprints as a column of the library.
    pub(crate) fn column(&self) -> simidx::Column<'_> {
        match self {
            Fingerprints::W32(column) => column[..].into(),
            Fingerprints::W64(column) => column[..].into(),
            Fingerprints::W128(column) => column[..].into(),
        }
    }

    /// Returns the fingerprints as an owned column of the library, copied if they are lent.
    pub(crate) fn into_owned(self) -> simidx::Fingerprints {
        match self {
            Fingerprints::W32(column) => column.into_owned().into(),
            Fingerprints::W64(column) => column.into_owned().into(),
            Fingerprints::W128(column) => column.into_owned().into(),
        }
    }
}

/// Properties of fingerprints that are known before they are read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected {
    /// Their bits.
    pub(crate) width: Option<Width>,
    /// Whether signed integers hold their bits.
    pub(crate) signed: bool,
}

impl Expected {
    /// Expects unsigned fingerprints of a width.
    pub(crate) fn of(width: Width) -> Self {
        Expected {
            width: Some(width),
            signed: false,
        }
    }

    fn check(self, py: Python<'_>, found: Width) -> PyResult<()> {
        match self.width {
            Some(width) if width != found => {
                let message = format!(
                    "these fingerprints have {found} bits, and {width} are expected: they cannot be compared"
                );
                Err(Class::Input.error(py, message))
            }
            _ => Ok(()),
        }
    }
}

/// Reads a column of fingerprints from any supported object.
pub(crate) fn fingerprints(
    object: &Bound<'_, PyAny>,
    expected: Expected,
) -> PyResult<Fingerprints> {
    let py = object.py();
    refuse_no_rows(object, "fingerprints")?;
    let read = read(object, expected)?;
    expected.check(py, read.column().width())?;
    Ok(read)
}

fn read(object: &Bound<'_, PyAny>, expected: Expected) -> PyResult<Fingerprints> {
    if object.is_instance_of::<PyUntypedArray>() {
        return of_numpy(object, expected);
    }
    if let Some(chunks) = arrow::column(object, "fingerprints")? {
        return of_arrow(object.py(), &chunks, expected);
    }
    if is_single(object) {
        let message = "fingerprints: this is one value; pass a list or an array of them";
        return Err(Class::InputType.error(object.py(), message));
    }
    if object.hasattr("__array__")? {
        let array = object
            .py()
            .import("numpy")?
            .call_method1("asarray", (object,))?;
        return of_numpy(&array, expected);
    }
    of_list(object, expected)
}

/// Refuses a set, whose order is not that of the rows.
pub(crate) fn refuse_unordered(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    if object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>() {
        let message =
            format!("{what}: a set has no order, by which the answer could be read; pass a list");
        return Err(Class::InputType.error(object.py(), message));
    }
    Ok(())
}

/// Refuses a masked array, whose masked values would be read too.
pub(crate) fn refuse_masked(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    match object.hasattr("mask")? {
        false => Ok(()),
        true => {
            let message = format!(
                "{what}: a masked array is not read; pass array.compressed(), or array.data"
            );
            Err(Class::InputType.error(object.py(), message))
        }
    }
}

/// Refuses a dict, whose keys would be read, and a lazy frame, which has no rows yet.
pub(crate) fn refuse_no_rows(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let given = type_name(object);
    let remedy = match given.as_str() {
        _ if object.is_instance_of::<PyDict>() => "pass one of its columns",
        "LazyFrame" => "it has no rows yet; pass a column of its collect()",
        _ => return Ok(()),
    };
    let message = format!("{what}: this is a {given}; {remedy}");
    Err(Class::InputType.error(object.py(), message))
}

fn is_single(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_none()
}

fn of_numpy(object: &Bound<'_, PyAny>, expected: Expected) -> PyResult<Fingerprints> {
    let py = object.py();
    let array = object.cast::<PyUntypedArray>()?;
    let dtype = array.dtype();
    let (kind, size, shape) = (dtype.kind(), dtype.itemsize(), array.shape());
    let refuse = |message: &str| -> PyResult<Fingerprints> {
        let message = format!("fingerprints of dtype {dtype}: {message}");
        Err(Class::InputType.error(py, message))
    };
    refuse_masked(object, "fingerprints")?;
    let remedy = match (kind, size) {
        (b'u', 4 | 8) => None,
        (b'i', 4 | 8) if expected.signed => None,
        (b'i', 4 | 8) => Some(
            "they have a sign; pass signed=True if they hold the bits of unsigned ones, otherwise array.astype('uint64')",
        ),
        (b'u' | b'i', _) => Some(
            "the widths are 32, 64 and 128 bits; packed bits of 8 columns, the first bit the highest, become one fingerprint \
             by array.view('>u8').astype('uint64')[:, 0]",
        ),
        (b'f', _) => Some(ROUNDED),
        (b'b', _) => Some(
            "pack the 64 bits of each row, the first the highest, by \
             numpy.packbits(array, axis=1).view('>u8').astype('uint64')[:, 0]",
        ),
        (b'O' | b'U' | b'T', _) => return of_list(&object.call_method0("tolist")?, expected),
        _ => Some("pass uint32, uint64, or two columns of uint64 for 128 bits"),
    };
    if let Some(remedy) = remedy {
        return refuse(remedy);
    }
    match *shape {
        [_] => {}
        [_, 2] if size == 8 && kind == b'u' => return of_two_columns(object),
        [] => return refuse("this is one value; pass a list or an array of them"),
        _ => {
            let message = format!(
                "its shape is {shape:?}; pass one dimension, or (n, 2) of uint64 for 128 bits, the high half first"
            );
            return refuse(&message);
        }
    }
    let lent = |array: &Bound<'_, PyAny>| match (kind, size) {
        (b'u', 4) => Column::of_numpy::<u32>(array).map(Fingerprints::W32),
        (b'u', _) => Column::of_numpy::<u64>(array).map(Fingerprints::W64),
        (_, 4) => Column::of_numpy::<i32>(array).map(Fingerprints::W32),
        _ => Column::of_numpy::<i64>(array).map(Fingerprints::W64),
    };
    match in_one_piece(object, lent)? {
        Some(column) => Ok(column),
        None => refuse("it cannot be read in one piece; pass array.astype('uint64')"),
    }
}

/// Calls `read` with an array, or with a contiguous copy of it in native byte order.
fn in_one_piece<'py, T>(
    array: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>) -> Option<T>,
) -> PyResult<Option<T>> {
    let found = read(array);
    if found.is_some() {
        return Ok(found);
    }
    let dtype = array.getattr("dtype")?;
    let native = dtype.call_method1("newbyteorder", ("=",))?;
    Ok(read(&array.call_method1("astype", (native, "C"))?))
}

fn of_two_columns(array: &Bound<'_, PyAny>) -> PyResult<Fingerprints> {
    let words: Option<Column<u64>> = in_one_piece(array, Column::of_numpy::<u64>)?;
    let words = words.ok_or_else(|| {
        let message =
            "fingerprints: two columns that cannot be read in one piece; pass array.copy()";
        Class::InputType.error(array.py(), message)
    })?;
    let rows = words.as_chunks::<2>().0.iter();
    let values = rows.map(|&[high, low]| u128::from(high) << 64 | u128::from(low));
    Ok(Fingerprints::W128(Column::Owned(values.collect())))
}

fn of_arrow(py: Python<'_>, chunks: &[ArrayRef], expected: Expected) -> PyResult<Fingerprints> {
    let Some(first) = chunks.first() else {
        return Ok(none_of(expected));
    };
    let kind = first.data_type();
    let refuse = |message: &str| -> PyResult<Fingerprints> {
        let message = format!("fingerprints of the Arrow type {kind}: {message}");
        Err(Class::InputType.error(py, message))
    };
    match kind {
        DataType::UInt64 => Ok(Fingerprints::W64(joined(chunks, |chunk| {
            chunk.as_primitive::<UInt64Type>().values().clone()
        }))),
        DataType::UInt32 => Ok(Fingerprints::W32(joined(chunks, |chunk| {
            chunk.as_primitive::<UInt32Type>().values().clone()
        }))),
        DataType::Int64 if expected.signed => Ok(Fingerprints::W64(joined(chunks, |chunk| {
            let values = chunk.as_primitive::<Int64Type>().values().clone();
            ScalarBuffer::from(values.into_inner())
        }))),
        DataType::Int32 if expected.signed => Ok(Fingerprints::W32(joined(chunks, |chunk| {
            let values = chunk.as_primitive::<Int32Type>().values().clone();
            ScalarBuffer::from(values.into_inner())
        }))),
        DataType::Int64 | DataType::Int32 => refuse(
            "they have a sign; pass signed=True if they hold the bits of unsigned ones, otherwise cast to uint64",
        ),
        DataType::FixedSizeBinary(16) => {
            let chunks = chunks.iter().map(|chunk| chunk.as_fixed_size_binary());
            let values = chunks.flat_map(|chunk| chunk.iter().flatten().map(of_bytes));
            Ok(Fingerprints::W128(Column::Owned(values.collect())))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let mut values = Values::new(expected);
            for (row, text) in texts_of(chunks).all().into_iter().enumerate() {
                values.push_hex(py, row, text)?;
            }
            values.finish(py)
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => refuse(ROUNDED),
        _ => refuse("pass uint32, uint64, binary of 16 bytes for 128 bits, or hexadecimal strings"),
    }
}

/// Converts 16 bytes to a value, most significant first.
fn of_bytes(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Joins chunks: a single chunk is lent, several are copied.
pub(crate) fn joined<T: arrow_buffer::ArrowNativeType>(
    chunks: &[ArrayRef],
    values: impl Fn(&ArrayRef) -> ScalarBuffer<T>,
) -> Column<T> {
    match chunks {
        [one] => Column::of_arrow(values(one)),
        several => {
            let mut all = Vec::with_capacity(several.iter().map(|chunk| chunk.len()).sum());
            for chunk in several {
                all.extend_from_slice(&values(chunk));
            }
            Column::Owned(all)
        }
    }
}

fn none_of(expected: Expected) -> Fingerprints {
    of_values(expected.width.unwrap_or_default(), Vec::new())
}

fn of_list(object: &Bound<'_, PyAny>, expected: Expected) -> PyResult<Fingerprints> {
    let py = object.py();
    let mut values = Values::new(expected);
    for (row, item) in iterate(object, "fingerprints")?.enumerate() {
        let item = item?;
        if let Ok(text) = item.cast::<PyString>() {
            let text = unicode(text, format_args!("fingerprints[{row}]"))?;
            values.push_hex(py, row, &text)?;
        } else {
            values.push_number(row, &item)?;
        }
    }
    values.finish(py)
}

pub(crate) fn iterate<'py>(
    object: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
    object.try_iter().map_err(|_| {
        let given = type_name(object);
        let message = format!("{what}: {given} is neither an array nor a list");
        Class::InputType.error(object.py(), message)
    })
}

pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "this".to_owned(), |name| name.to_string())
}

/// Collects fingerprints one by one.
struct Values {
    expected: Expected,
    /// The width of fingerprints in hexadecimal digits.
    digits: Option<Width>,
    values: Vec<u128>,
}

impl Values {
    fn new(expected: Expected) -> Self {
        Values {
            expected,
            digits: None,
            values: Vec::new(),
        }
    }

    fn width(&self) -> Width {
        self.expected.width.or(self.digits).unwrap_or_default()
    }

    fn push_hex(&mut self, py: Python<'_>, row: usize, text: &str) -> PyResult<()> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let count = digits.len();
        let mut widths = Width::ALL.into_iter();
        let width = widths.find(|width| width.bits() as usize / 4 == count);
        let width = width.filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(width) = width else {
            let message = format!(
                "fingerprints[{row}]: {text:?} is not a fingerprint of 8, 16 or 32 hexadecimal digits"
            );
            return Err(Class::Input.error(py, message));
        };
        let first = *self.digits.get_or_insert(width);
        if first != width {
            let first = first.bits() / 4;
            let message = format!(
                "fingerprints[{row}]: {text:?} has {count} digits, those before it {first}"
            );
            return Err(Class::Input.error(py, message));
        }
        let value = u128::from_str_radix(digits, 16).unwrap_or_default();
        self.values.push(value);
        Ok(())
    }

    fn push_number(&mut self, row: usize, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = item.py();
        let is_integer = !item.is_instance_of::<PyBool>() && item.hasattr("__index__")?;
        if !is_integer {
            let given = type_name(item);
            let remedy = match given.as_str() {
                "float" | "float64" => "floating point rounds fingerprints",
                "NoneType" => "drop or fill missing ones first",
                "ImageHash" => "pass str() of each",
                _ => "fingerprints are integers or hexadecimal strings",
            };
            let message = format!("fingerprints[{row}] is of type {given}: {remedy}");
            return Err(Class::InputType.error(py, message));
        }
        let item = item.call_method0("__index__")?;
        let width = self.width();
        let limit = width.max();
        let value = match item.extract::<u128>() {
            Ok(value) => Some(value).filter(|&value| value <= limit),
            Err(_) if self.expected.signed => {
                let value = item.extract::<i128>().ok();
                let least = i128::MIN >> (128 - width.bits());
                value
                    .filter(|&v| v >= least)
                    .map(|value| value as u128 & limit)
            }
            Err(_) => None,
        };
        let Some(value) = value else {
            let remedy = match item.lt(0)? {
                true if !self.expected.signed => {
                    "; pass signed=True if it holds the bits of an unsigned one"
                }
                false if self.expected.width.is_none() => "; pass width=128 for wider ones",
                _ => "",
            };
            let message =
                format!("fingerprints[{row}]: {item} is not a number of {width} bits{remedy}");
            return Err(Class::Input.error(py, message));
        };
        self.values.push(value);
        Ok(())
    }

    fn finish(self, py: Python<'_>) -> PyResult<Fingerprints> {
        let width = self.width();
        if let Some(of_digits) = self.digits {
            self.expected.check(py, of_digits)?;
        }
        if let Some(row) = self.values.iter().position(|&value| value > width.max()) {
            let message = format!("fingerprints[{row}] is not a number of {width} bits");
            return Err(Class::Input.error(py, message));
        }
        Ok(of_values(width, self.values))
    }
}

fn of_values(width: Width, values: Vec<u128>) -> Fingerprints {
    match width {
        Width::W32 => Fingerprints::W32(narrowed(&values)),
        Width::W64 => Fingerprints::W64(narrowed(&values)),
        Width::W128 => Fingerprints::W128(Column::Owned(values)),
    }
}

fn narrowed<F: Fingerprint>(values: &[u128]) -> Column<F> {
    Column::Owned(values.iter().map(|&value| F::from_u128(value)).collect())
}

/// Reads a single fingerprint of a known width: an integer or hexadecimal digits.
pub(crate) fn fingerprint(object: &Bound<'_, PyAny>, expected: Expected) -> PyResult<u128> {
    let mut values = Values::new(expected);
    match object.cast::<PyString>() {
        Ok(text) => {
            let text = unicode(text, "fingerprint")?;
            values.push_hex(object.py(), 0, &text)?;
        }
        Err(_) => values.push_number(0, object)?,
    }
    let value = values.finish(object.py())?.column().iter().next();
    Ok(value.unwrap_or_default())
}

pub(crate) fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Returns the texts of chunks of a text type.
pub(crate) fn texts_of(chunks: &[ArrayRef]) -> Texts {
    let mut texts = Texts::default();
    for chunk in chunks {
        texts.push(match chunk.data_type() {
            DataType::Utf8 => TextChunk::Utf8(chunk.as_string::<i32>().clone()),
            DataType::LargeUtf8 => TextChunk::Large(chunk.as_string::<i64>().clone()),
            _ => TextChunk::View(chunk.as_string_view().clone()),
        });
    }
    texts
}

/// Reads a column of texts from any supported object.
pub(crate) fn texts(object: &Bound<'_, PyAny>) -> PyResult<Texts> {
    let py = object.py();
    if is_single(object) {
        let message = format!(
            "texts: this is one {}; pass a list of texts",
            type_name(object)
        );
        return Err(Class::InputType.error(py, message));
    }
    refuse_no_rows(object, "texts")?;
    refuse_unordered(object, "texts")?;
    if let Some(chunks) = arrow::column(object, "texts")? {
        let kinds = chunks.iter().map(|chunk| chunk.data_type());
        if let Some(kind) = kinds.into_iter().find(|kind| !is_text(kind)) {
            let message = format!("texts of the Arrow type {kind}: pass a column of strings");
            return Err(Class::InputType.error(py, message));
        }
        return Ok(texts_of(&chunks));
    }
    let mut list = Vec::new();
    for (row, item) in iterate(object, "texts")?.enumerate() {
        let item = item?;
        let Ok(text) = item.cast::<PyString>() else {
            let message = format!(
                "texts[{row}] is of type {}: pass strings, and fill or drop missing ones first",
                type_name(&item)
            );
            return Err(Class::InputType.error(py, message));
        };
        list.push(unicode(text, format_args!("texts[{row}]"))?);
    }
    Ok(list.into())
}

/// Reads a string. `name` says in messages which it is.
pub(crate) fn string(object: &Bound<'_, PyAny>, name: &str) -> PyResult<PyBackedStr> {
    let text = object.cast::<PyString>().map_err(|_| {
        let message = format!("{name} of type {}: a string is expected", type_name(object));
        Class::InputType.error(object.py(), message)
    })?;
    unicode(text, name)
}

/// Returns a string as UTF-8, which has no lone surrogates.
pub(crate) fn unicode(text: &Bound<'_, PyString>, name: impl Display) -> PyResult<PyBackedStr> {
    PyBackedStr::try_from(text.clone()).map_err(|error| {
        let message =
            format!("{name} is not valid Unicode ({error}); read it with errors=\"replace\"");
        Class::Input.error(text.py(), message)
    })
}
