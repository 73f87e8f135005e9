//! Answers: the matches of many queries in arrays, and single matches.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyInt, PyList, PySlice, PyTuple};
use simidx::batch::{Answers, IdColumn, IdLists, ids_of_all, positions_of_all};
use simidx::{Fingerprints, Id, IdKind, Set, Width};

use crate::arrays::array;
use crate::arrow::{self, ArrowColumn};
use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::opened::Opened;
use crate::run::{How, run_apart, run_short};
use crate::table;

/// Fingerprints whose ids and positions are read without a thread of their own.
const FEW: usize = 256;

/// Where the ids of matches come from.
enum Source {
    /// Files, from which ids and positions are read when they are asked for.
    Files(Arc<Opened>),
    /// Answers that bring the ids of each match: those of a collection, and those that were pickled.
    Answers(Arc<IdLists>, IdKind),
}

/// The matches of many queries: those of query `i` are at `offsets[i]:offsets[i + 1]` of the other arrays.
#[pyclass(frozen, module = "simidx")]
pub(crate) struct Matches {
    source: Source,
    width: u32,
    offsets: Py<PyAny>,
    fingerprints: Py<PyAny>,
    distances: Py<PyAny>,
    positions: OnceLock<Py<PyAny>>,
    query_count: usize,
    match_count: usize,
}

impl Matches {
    /// Those in files.
    pub(crate) fn new(py: Python<'_>, opened: Arc<Opened>, answers: Answers) -> PyResult<Self> {
        Self::of_source(py, Source::Files(opened), answers)
    }

    /// Those in a collection, with the ids of each.
    pub(crate) fn with_ids(py: Python<'_>, answers: Answers, ids: IdLists) -> PyResult<Self> {
        Self::of_source(py, Source::Answers(Arc::new(ids), IdKind::String), answers)
    }

    fn of_source(py: Python<'_>, source: Source, answers: Answers) -> PyResult<Self> {
        let (query_count, match_count) = (answers.query_count(), answers.fingerprints.len());
        let offsets: Vec<i64> = answers.offsets.into_iter().map(|o| o as i64).collect();
        Ok(Matches {
            source,
            width: answers.fingerprints.width().bits(),
            offsets: offsets.into_pyarray(py).into_any().unbind(),
            fingerprints: array(py, answers.fingerprints)?.unbind(),
            distances: answers.distances.into_pyarray(py).into_any().unbind(),
            positions: OnceLock::new(),
            query_count,
            match_count,
        })
    }

    fn fingerprints_now(&self, py: Python<'_>) -> PyResult<input::Fingerprints> {
        let expected = Expected {
            width: Some(self.width),
            signed: false,
        };
        input::fingerprints(self.fingerprints.bind(py), expected)
    }

    fn read_positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let positions = match &self.source {
            Source::Files(opened) => {
                positions(py, opened, self.fingerprints_now(py)?.into_owned())?
            }
            // They come and go, and have none.
            Source::Answers(..) => vec![-1; self.match_count],
        };
        Ok(positions.into_pyarray(py).into_any().unbind())
    }

    fn id_kind(&self) -> IdKind {
        match &self.source {
            Source::Files(opened) => opened.set.id_kind(),
            Source::Answers(_, kind) => *kind,
        }
    }

    fn lists(&self, py: Python<'_>) -> PyResult<IdLists> {
        let mut lists = match &self.source {
            Source::Files(opened) => id_lists(py, opened, self.fingerprints_now(py)?.into_owned())?,
            Source::Answers(ids, _) => IdLists::clone(ids),
        };
        // Where there are none, they are of the kind that they would have.
        if lists.ids.is_empty() && self.id_kind() == IdKind::String {
            let (ends, text) = Default::default();
            lists.ids = IdColumn::Strings { ends, text };
        }
        Ok(lists)
    }

    fn schema(&self) -> Schema {
        table::of_matches(self.width, self.id_kind())
    }

    /// All in one table.
    fn table(&self, py: Python<'_>) -> PyResult<RecordBatch> {
        let internal = |message: String| Class::Internal.error(py, message);
        let numbers = |array: &Bound<'_, PyAny>| match Column::<i64>::of_numpy::<i64>(array) {
            Some(values) => Ok(table::numbers(&values)),
            None => Err(internal("numbers are expected".to_owned())),
        };
        let distances = Column::<u8>::of_numpy::<u8>(self.distances.bind(py));
        let distances = distances.ok_or_else(|| internal("distances are expected".to_owned()))?;
        let mut columns = vec![
            numbers(&self.queries(py)?)?,
            numbers(self.positions(py)?.bind(py))?,
            table::fingerprints(py, &self.fingerprints_now(py)?)?,
            table::bytes(&distances),
        ];
        if self.id_kind() != IdKind::None {
            columns.push(table::lists(py, self.lists(py)?)?);
        }
        let batch = RecordBatch::try_new(Arc::new(self.schema()), columns);
        batch.map_err(|error| internal(error.to_string()))
    }
}

/// Lets `work` work on fingerprints, in a way that suits their number.
fn over<T: Send + 'static>(
    py: Python<'_>,
    opened: &Opened,
    found: Fingerprints,
    work: impl FnOnce(&Set, &Fingerprints, &simidx::Watch) -> simidx::Result<T> + Send + 'static,
) -> PyResult<T> {
    let set = opened.set.clone();
    let few = found.len() <= FEW;
    let work = move |watch: &simidx::Watch| Ok::<T, Failure>(work(&set, &found, watch)?);
    let how = How::default();
    match few {
        true => run_short(py, &how, || work(&simidx::Watch::default())),
        false => run_apart(py, &how, |watch| work(&watch.of_library())),
    }
}

fn positions(py: Python<'_>, opened: &Opened, found: Fingerprints) -> PyResult<Vec<i64>> {
    let positions = over(py, opened, found, |set, found, watch| {
        positions_of_all(set, found, watch)
    })?;
    Ok(positions
        .into_iter()
        .map(|p| p.map_or(-1, |p| p as i64))
        .collect())
}

fn id_lists(py: Python<'_>, opened: &Opened, found: Fingerprints) -> PyResult<IdLists> {
    over(py, opened, found, |set, found, watch| {
        ids_of_all(set, found, watch)
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
    let count = lists.offsets.len() - 1;
    (0..count)
        .map(|number| list_of(py, lists, number))
        .collect()
}

/// One of the lists; an empty one if there are not so many.
fn list_of<'py>(py: Python<'py>, lists: &IdLists, number: usize) -> PyResult<Bound<'py, PyList>> {
    let bounds = lists.offsets.get(number..number + 2);
    let bounds = bounds.map_or(0..0, |bounds| bounds[0]..bounds[1]);
    let ids = bounds.filter_map(|i| lists.ids.get(i as usize));
    let ids: Vec<_> = ids.map(|id| to_python(py, id)).collect::<PyResult<_>>()?;
    PyList::new(py, ids)
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
    pub(crate) fn match_count(&self) -> usize {
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
        let array = table::lists(py, self.lists(py)?)?;
        Ok(ArrowColumn { array })
    }

    /// All matches in a table, a row for each: `query`, `position`, `fingerprint`, `distance`, and `ids` if there are ids.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may give its own types where it cannot give those that are asked for.
        drop(requested_schema);
        arrow::stream(py, self.table(py)?)
    }

    /// What the columns of that table are.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.schema())
    }

    /// The same table for pyarrow.
    fn to_arrow(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        this.py().import("pyarrow")?.call_method1("table", (this,))
    }

    /// The same table for polars.
    fn to_polars(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        this.py()
            .import("polars")?
            .call_method1("DataFrame", (this,))
    }

    /// The same table for pandas.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns = PyDict::new(py);
        columns.set_item("query", self.queries(py)?)?;
        columns.set_item("position", self.positions(py)?)?;
        columns.set_item("fingerprint", &self.fingerprints)?;
        columns.set_item("distance", &self.distances)?;
        if self.id_kind() != IdKind::None {
            columns.set_item("ids", self.ids(py)?)?;
        }
        table::to_pandas(&columns)
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
        let expected = Expected {
            width: Some(self.width),
            signed: false,
        };
        let found = input::fingerprints(&found, expected)?.into_owned();
        match &self.source {
            Source::Files(opened) => matches_of(py, opened, found, &distances),
            Source::Answers(ids, _) => {
                let first = bound(number)? as usize;
                let lists = (first..first + found.len()).map(|number| list_of(py, ids, number));
                let lists: Vec<_> = lists.collect::<PyResult<_>>()?;
                let positions = self.positions(py)?;
                let positions: Vec<i64> = positions.bind(py).get_item(&range)?.extract()?;
                singly(py, &found, &distances, &positions, lists)
            }
        }
    }

    /// What makes it anew from what is known of the matches, without the index: positions and ids are read for it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let lists = self.lists(py)?;
        let (numbers, ends, text) = match lists.ids {
            IdColumn::Numbers(numbers) => (numbers, Vec::new(), String::new()),
            IdColumn::Strings { ends, text } => (Vec::new(), ends, text),
        };
        let arrays = (
            &self.offsets,
            &self.fingerprints,
            &self.distances,
            self.positions(py)?,
        );
        let ids = (
            self.id_kind().name(),
            lists.offsets.into_pyarray(py),
            numbers.into_pyarray(py),
            ends.into_pyarray(py),
            text,
        );
        let make = py.import("simidx._simidx")?.getattr("_matches")?;
        (make, (self.width, arrays, ids)).into_pyobject(py)
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

/// Matches in files one by one.
pub(crate) fn matches_of(
    py: Python<'_>,
    opened: &Opened,
    found: Fingerprints,
    distances: &[u8],
) -> PyResult<Vec<Match>> {
    let positions = positions(py, opened, found.clone())?;
    let lists = id_lists(py, opened, found.clone())?;
    singly(py, &found, distances, &positions, to_lists(py, &lists)?)
}

/// Matches one by one, of columns.
fn singly(
    py: Python<'_>,
    found: &Fingerprints,
    distances: &[u8],
    positions: &[i64],
    lists: Vec<Bound<'_, PyList>>,
) -> PyResult<Vec<Match>> {
    let columns = found.iter().zip(distances).zip(positions).zip(lists);
    columns
        .map(|(((fingerprint, &distance), &position), ids)| {
            Match::new(py, (fingerprint, found.width()), distance, position, ids)
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

impl Match {
    pub(crate) fn new(
        py: Python<'_>,
        (fingerprint, width): (u128, Width),
        distance: u8,
        position: i64,
        ids: Bound<'_, PyList>,
    ) -> PyResult<Self> {
        Ok(Match {
            fingerprint: fingerprint.into_pyobject(py)?.unbind(),
            distance,
            position,
            ids: ids.unbind(),
            digits: width.bits() as usize / 4,
        })
    }
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("simidx._simidx")?.getattr("_match")?;
        let (distance, position) = (self.distance, self.position);
        let facts = (
            &self.fingerprint,
            distance,
            position,
            &self.ids,
            self.digits,
        );
        (make, facts).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ids = self.ids.bind(py).repr()?;
        let (hex, distance) = (self.hex(py)?, self.distance);
        Ok(format!(
            "Match(fingerprint=0x{hex}, distance={distance}, ids={ids})"
        ))
    }
}

/// The match that was pickled.
#[pyfunction]
pub(crate) fn _match(
    fingerprint: Py<PyInt>,
    distance: u8,
    position: i64,
    ids: Py<PyList>,
    digits: usize,
) -> Match {
    Match {
        fingerprint,
        distance,
        position,
        ids,
        digits,
    }
}

/// The arrays of matches that were pickled, and their ids.
type Arrays = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);
type Ids = (String, Vec<u64>, Vec<u64>, Vec<u64>, String);

/// The matches that were pickled.
#[pyfunction]
pub(crate) fn _matches(py: Python<'_>, width: u32, arrays: Arrays, ids: Ids) -> PyResult<Matches> {
    let (offsets, fingerprints, distances, positions) = arrays;
    let (kind, id_offsets, numbers, ends, text) = ids;
    let kind = IdKind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = kind.ok_or_else(|| Class::Internal.error(py, "ids of no kind"))?;
    let mut ids = IdLists::default();
    ids.offsets = id_offsets;
    ids.ids = match kind {
        IdKind::String => IdColumn::Strings { ends, text },
        _ => IdColumn::Numbers(numbers),
    };
    let match_count = distances.bind(py).len()?;
    let query_count = offsets.bind(py).len()?.saturating_sub(1);
    Ok(Matches {
        source: Source::Answers(Arc::new(ids), kind),
        width,
        offsets,
        fingerprints,
        distances,
        positions: OnceLock::from(positions),
        query_count,
        match_count,
    })
}
