//! Answers: the matches of many queries in arrays, and single matches.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, LargeListArray, UInt64Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PySlice, PyTuple};
use simidx::batch::{Answers, IdColumn, IdLists, ids_of_all, positions_of_all};
use simidx::segments::Segments;
use simidx::{Fingerprint, Id};

use crate::arrow::ArrowColumn;
use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::opened::Opened;
use crate::records;
use crate::run::{How, run_apart, run_short};
use crate::width::{Width, by_width, width_of};

/// Fingerprints whose ids and positions are read without a thread of their own.
const FEW: usize = 256;

/// The matches of many queries: those of query `i` are at `offsets[i]:offsets[i + 1]` of the other arrays.
#[pyclass(frozen, module = "simidx")]
pub(crate) struct Matches {
    opened: Arc<Opened>,
    offsets: Py<PyAny>,
    fingerprints: Py<PyAny>,
    distances: Py<PyAny>,
    positions: OnceLock<Py<PyAny>>,
    query_count: usize,
    match_count: usize,
}

impl Matches {
    pub(crate) fn new<F: Width>(
        py: Python<'_>,
        opened: Arc<Opened>,
        answers: Answers<F>,
    ) -> PyResult<Self> {
        let (query_count, match_count) = (answers.query_count(), answers.fingerprints.len());
        let offsets: Vec<i64> = answers.offsets.into_iter().map(|o| o as i64).collect();
        Ok(Matches {
            opened,
            offsets: offsets.into_pyarray(py).into_any().unbind(),
            fingerprints: F::array(py, answers.fingerprints)?.unbind(),
            distances: answers.distances.into_pyarray(py).into_any().unbind(),
            positions: OnceLock::new(),
            query_count,
            match_count,
        })
    }

    /// The fingerprints as the library sees them.
    fn found<F: Width>(&self, py: Python<'_>) -> PyResult<Column<F>> {
        let expected = Expected {
            width: Some(F::WIDTH),
            signed: false,
        };
        let found = input::fingerprints(self.fingerprints.bind(py), expected)?;
        F::column(found).ok_or_else(|| Class::Internal.error(py, "a mix of widths"))
    }

    fn read_positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let positions = by_width!(width_of(&self.opened.segments), F => {
            let found = self.found::<F>(py)?;
            positions::<F>(py, &self.opened, found)?
        });
        Ok(positions.into_pyarray(py).into_any().unbind())
    }

    fn lists(&self, py: Python<'_>) -> PyResult<IdLists> {
        by_width!(width_of(&self.opened.segments), F => {
            let found = self.found::<F>(py)?;
            id_lists::<F>(py, &self.opened, found)
        })
    }
}

/// Lets `work` work on fingerprints, in a way that suits their number.
fn over<F: Width, T: Send + 'static>(
    py: Python<'_>,
    opened: &Arc<Opened>,
    found: Column<F>,
    work: impl FnOnce(
        &Segments<F>,
        &[F],
        &mut dyn FnMut(usize) -> simidx::Result<()>,
    ) -> simidx::Result<T>
    + Send
    + 'static,
) -> PyResult<T> {
    let opened = Arc::clone(opened);
    let few = found.len() <= FEW;
    let found = found.into_owned();
    let work = move |report: &mut dyn FnMut(usize) -> simidx::Result<()>| {
        let segments = opened.of::<F>()?;
        Ok::<T, Failure>(work(segments, &found, report)?)
    };
    let how = How::default();
    match few {
        true => run_short(py, &how, || work(&mut |_| Ok(()))),
        false => run_apart(py, &how, |watch| work(&mut |_| watch.check())),
    }
}

fn positions<F: Width>(
    py: Python<'_>,
    opened: &Arc<Opened>,
    found: Column<F>,
) -> PyResult<Vec<i64>> {
    let positions = over(py, opened, found, |segments, found, report| {
        positions_of_all(segments, found, report)
    })?;
    Ok(positions
        .into_iter()
        .map(|p| p.map_or(-1, |p| p as i64))
        .collect())
}

fn id_lists<F: Width>(py: Python<'_>, opened: &Arc<Opened>, found: Column<F>) -> PyResult<IdLists> {
    over(py, opened, found, |segments, found, report| {
        ids_of_all(segments, found, report)
    })
}

/// An id as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, id: Id<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match id {
        Id::Number(number) => number.into_pyobject(py)?.into_any(),
        Id::String(text) => text.into_pyobject(py)?.into_any(),
    })
}

/// Lists of ids as Python has them.
fn to_lists<'py>(py: Python<'py>, lists: &IdLists) -> PyResult<Vec<Bound<'py, PyList>>> {
    let list = |bounds: &[u64]| {
        let ids = (bounds[0]..bounds[1]).filter_map(|i| lists.ids.get(i as usize));
        let ids: Vec<_> = ids.map(|id| to_python(py, id)).collect::<PyResult<_>>()?;
        PyList::new(py, ids)
    };
    lists.offsets.windows(2).map(list).collect()
}

/// The same as a list column of Arrow.
fn to_arrow(py: Python<'_>, lists: IdLists) -> PyResult<ArrowColumn> {
    let refused = |error: &dyn std::fmt::Display| Class::Internal.error(py, error.to_string());
    let signed =
        |offsets: Vec<u64>| -> Vec<i64> { offsets.into_iter().map(|o| o as i64).collect() };
    let values: ArrayRef = match lists.ids {
        IdColumn::Numbers(numbers) => Arc::new(UInt64Array::from(numbers)),
        IdColumn::Strings { ends, text } => records::strings(py, ends, text)?,
    };
    let kind: DataType = values.data_type().clone();
    let field = Arc::new(Field::new("id", kind, false));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(signed(lists.offsets)));
    let array = LargeListArray::try_new(field, offsets, values, None);
    let array = array.map_err(|error| refused(&error))?;
    Ok(ArrowColumn {
        array: Arc::new(array),
    })
}

#[pymethods]
impl Matches {
    /// Where the matches of each query start, and where all end: `int64`, one more than there are queries.
    #[getter]
    fn offsets(&self, py: Python<'_>) -> Py<PyAny> {
        self.offsets.clone_ref(py)
    }

    /// The fingerprints that were found.
    #[getter]
    fn fingerprints(&self, py: Python<'_>) -> Py<PyAny> {
        self.fingerprints.clone_ref(py)
    }

    /// Number of bits in which each differs from its query: `uint8`.
    #[getter]
    fn distances(&self, py: Python<'_>) -> Py<PyAny> {
        self.distances.clone_ref(py)
    }

    /// The place of each in the numeric order of the fingerprints of its file, counted on through several files: `int64`.
    /// Read when it is first asked for.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(positions) = self.positions.get() {
            return Ok(positions.clone_ref(py));
        }
        let positions = self.read_positions(py)?;
        Ok(self.positions.get_or_init(|| positions).clone_ref(py))
    }

    /// Number of queries.
    #[getter]
    fn query_count(&self) -> usize {
        self.query_count
    }

    /// Number of matches of all queries.
    #[getter]
    fn match_count(&self) -> usize {
        self.match_count
    }

    /// Number of matches of each query: `int64`.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("diff", (&self.offsets,))
    }

    /// The number of the query of each match: `int64`.
    #[getter]
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let queries = numpy.call_method1("arange", (self.query_count,))?;
        numpy.call_method1("repeat", (queries, self.counts(py)?))
    }

    /// The ids of each match: a list for each, empty in an index without ids.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyList>>> {
        to_lists(py, &self.lists(py)?)
    }

    /// The ids of each match as a column of lists for Arrow.
    fn ids_arrow(&self, py: Python<'_>) -> PyResult<ArrowColumn> {
        let lists = self.lists(py)?;
        to_arrow(py, lists)
    }

    /// The matches of query `query`, with their ids.
    fn of(&self, py: Python<'_>, query: isize) -> PyResult<Vec<Match>> {
        let count = self.query_count as isize;
        let number = if query < 0 { query + count } else { query };
        if !(0..count).contains(&number) {
            let message = format!("there is no query {query}, only {count}");
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        let offsets = self.offsets.bind(py);
        let bound = |number: isize| offsets.get_item(number)?.extract::<isize>();
        let range = PySlice::new(py, bound(number)?, bound(number + 1)?, 1);
        let found = self.fingerprints.bind(py).get_item(&range)?;
        let distances: Vec<u8> = self.distances.bind(py).get_item(&range)?.extract()?;
        by_width!(width_of(&self.opened.segments), F => {
            let expected = Expected { width: Some(F::WIDTH), signed: false };
            let found = F::column(input::fingerprints(&found, expected)?);
            let found = found.map(|found| found.to_vec()).unwrap_or_default();
            matches_of::<F>(py, &self.opened, &found, &distances)
        })
    }

    /// `offsets, distances, positions`: faiss's `lims, D, I`.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let positions = self.positions(py)?;
        let triple = PyTuple::new(py, [&self.offsets, &self.distances, &positions])?;
        Ok(triple.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        let Matches {
            query_count,
            match_count,
            ..
        } = self;
        format!("<simidx.Matches: {match_count} matches of {query_count} queries>")
    }
}

/// Matches one by one.
pub(crate) fn matches_of<F: Width>(
    py: Python<'_>,
    opened: &Arc<Opened>,
    found: &[F],
    distances: &[u8],
) -> PyResult<Vec<Match>> {
    let positions = positions(py, opened, Column::Owned(found.to_vec()))?;
    let lists = id_lists(py, opened, Column::Owned(found.to_vec()))?;
    let lists = to_lists(py, &lists)?;
    let columns = found.iter().zip(distances).zip(positions).zip(lists);
    columns
        .map(|(((&fingerprint, &distance), position), ids)| {
            Ok(Match {
                fingerprint: fingerprint.to_u128().into_pyobject(py)?.unbind(),
                distance,
                position,
                ids: ids.unbind(),
                digits: F::WIDTH as usize / 4,
            })
        })
        .collect()
}

/// A fingerprint near a query.
#[pyclass(frozen, module = "simidx")]
pub(crate) struct Match {
    fingerprint: Py<PyInt>,
    #[pyo3(get)]
    distance: u8,
    #[pyo3(get)]
    position: i64,
    ids: Py<PyList>,
    digits: usize,
}

#[pymethods]
impl Match {
    /// The fingerprint found.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> Py<PyInt> {
        self.fingerprint.clone_ref(py)
    }

    /// The ids of its records.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<PyList> {
        self.ids.clone_ref(py)
    }

    /// The fingerprint in hexadecimal, as the program prints it.
    #[getter]
    fn hex(&self, py: Python<'_>) -> PyResult<String> {
        let value: u128 = self.fingerprint.extract(py)?;
        Ok(format!("{value:0digits$x}", digits = self.digits))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ids = self.ids.bind(py).repr()?;
        let (hex, distance) = (self.hex(py)?, self.distance);
        Ok(format!(
            "Match(fingerprint=0x{hex}, distance={distance}, ids={ids})"
        ))
    }
}
