//! An open index: one file, or several as one.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use simidx::Fingerprints;
use simidx::batch::{JoinOptions, ids_of_all};
use simidx::index::WarmOptions;
use simidx::set::{Exclusions, Question};

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::exclusions::Excluded;
use crate::ids;
use crate::input;
use crate::matches::{Match, Matches, to_python};
use crate::opened::{Opened, info};
use crate::options;
use crate::records;
use crate::run::{How, run, run_apart, run_short};
use crate::search::{answer, contains, distance_or, how, join, one, queries};

/// An index that is open: one file, or several that are searched as one.
#[pyclass(frozen, module = "simidx", name = "Index")]
pub(crate) struct PyIndex {
    opened: RwLock<Option<Arc<Opened>>>,
}

impl PyIndex {
    pub(crate) fn new(opened: Opened) -> Self {
        PyIndex {
            opened: RwLock::new(Some(Arc::new(opened))),
        }
    }

    /// The open files.
    pub(crate) fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let closed = || Class::Closed.error(py, "the index is closed; open it again");
        opened.clone().ok_or_else(closed)
    }
}

#[pymethods]
impl PyIndex {
    /// All fingerprints within `k` bits of each query.
    #[pyo3(signature = (fingerprints, k=None, *, signed=false, threads=None, progress=None))]
    fn query(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<&Bound<'_, PyAny>>,
        signed: bool,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Matches> {
        let opened = self.opened(py)?;
        let question = Question::Within(distance_or(&opened, k)?);
        let queries = queries(fingerprints, &opened, signed)?;
        answer(py, opened, queries, question, &how(threads, progress)?)
    }

    /// All fingerprints within `k` bits of one, with their ids.
    #[pyo3(signature = (fingerprint, k=None, *, signed=false))]
    fn query_one(
        &self,
        py: Python<'_>,
        fingerprint: &Bound<'_, PyAny>,
        k: Option<&Bound<'_, PyAny>>,
        signed: bool,
    ) -> PyResult<Vec<Match>> {
        let opened = self.opened(py)?;
        let distance = distance_or(&opened, k)?;
        let query = input::fingerprint(fingerprint, opened.width(), signed)?;
        one(py, opened, query, distance)
    }

    /// The `n` fingerprints nearest to each query.
    #[pyo3(signature = (fingerprints, n=None, *, max_distance=None, signed=false, threads=None, progress=None), text_signature = "(self, fingerprints, n=1, *, max_distance=None, signed=False, threads=None, progress=None)")]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of a function of Python"
    )]
    fn nearest(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        n: Option<&Bound<'_, PyAny>>,
        max_distance: Option<&Bound<'_, PyAny>>,
        signed: bool,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Matches> {
        let opened = self.opened(py)?;
        let queries = queries(fingerprints, &opened, signed)?;
        let farthest = options::optional(max_distance, "max_distance", options::distance)?;
        let question = Question::Nearest {
            count: options::optional(n, "n", options::count)?.unwrap_or(1),
            max_distance: farthest.unwrap_or(opened.width()),
        };
        answer(py, opened, queries, question, &how(threads, progress)?)
    }

    /// Whether the index holds a fingerprint within `k` bits of each query.
    #[pyo3(signature = (fingerprints, k=None, *, signed=false, threads=None, progress=None))]
    fn contains<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        k: Option<&Bound<'py, PyAny>>,
        signed: bool,
        threads: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened(py)?;
        let distance = distance_or(&opened, k)?;
        let queries = queries(fingerprints, &opened, signed)?;
        let mask = contains(py, opened, queries, distance, &how(threads, progress)?)?;
        Ok(mask.into_pyarray(py).into_any())
    }

    /// The answers of `query` for very many queries, found by one pass over the files where that is quicker.
    #[pyo3(signature = (fingerprints, k=None, *, signed=false, memory=None, temp_dir=None, threads=None, progress=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of a function of Python"
    )]
    fn join(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<&Bound<'_, PyAny>>,
        signed: bool,
        memory: Option<&Bound<'_, PyAny>>,
        temp_dir: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Matches> {
        let opened = self.opened(py)?;
        let mut options = JoinOptions::default();
        options.distance = distance_or(&opened, k)?;
        options.memory = options::optional(memory, "memory", options::bytes)?;
        options.temp_dir = temp_dir.map(options::path).transpose()?;
        let queries = queries(fingerprints, &opened, signed)?;
        join(py, opened, queries, options, &how(threads, progress)?)
    }

    /// All fingerprints in numeric order, each once.
    #[pyo3(signature = (*, threads=None))]
    fn fingerprints<'py>(
        &self,
        py: Python<'py>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened(py)?;
        let values = run_apart(py, &how(threads, None)?, move |watch| {
            let mut values = Fingerprints::new(opened.set.width());
            for value in opened.set.fingerprints(0)? {
                if values.len().is_multiple_of(1 << 16) {
                    watch.check()?;
                }
                values.push(value?);
            }
            Ok(values)
        })?;
        array(py, values)
    }

    /// All records: their fingerprints in numeric order, and their ids.
    #[pyo3(signature = (*, progress=None))]
    fn records<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let opened = self.opened(py)?;
        let (values, ids) = run_apart(py, &how(None, progress)?, move |watch| {
            records::read(&opened.set, watch)
        })?;
        Ok((array(py, values)?, records::to_python(py, ids)?))
    }

    /// The ids of the records that have this very fingerprint.
    #[pyo3(signature = (fingerprint, *, signed=false))]
    fn ids_of<'py>(
        &self,
        py: Python<'py>,
        fingerprint: &Bound<'py, PyAny>,
        signed: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let opened = self.opened(py)?;
        let value = input::fingerprint(fingerprint, opened.width(), signed)?;
        let lists = run_short(py, &How::default(), move || {
            let mut column = Fingerprints::new(opened.set.width());
            column.push(value);
            Ok(ids_of_all(&opened.set, &column, &simidx::Watch::default())?)
        })?;
        let ids = (0..lists.ids.len()).filter_map(|number| lists.ids.get(number));
        let ids: Vec<_> = ids.map(|id| to_python(py, id)).collect::<PyResult<_>>()?;
        PyList::new(py, ids)
    }

    /// The fingerprints of the records that have an id, in numeric order; none if there is no such record.
    fn fingerprints_of<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened(py)?;
        let id = ids::one(id)?;
        let found = run_apart(py, &How::default(), move |_| {
            let mut found = Fingerprints::new(opened.set.width());
            let values = opened.set.fingerprints_of_id(id.as_id())?;
            values.into_iter().for_each(|value| found.push(value));
            Ok(found)
        })?;
        array(py, found)
    }

    /// The same index without some records: the files stay as they are, and no answer has these records.
    #[pyo3(signature = (ids=None, *, fingerprints=None, signed=false, file=None))]
    fn without(
        &self,
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        fingerprints: Option<&Bound<'_, PyAny>>,
        signed: bool,
        file: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let opened = self.opened(py)?;
        let only = options::optional(file, "file", options::count)?;
        let excluded = Excluded::read(py, opened.width(), ids, fingerprints, signed)?;
        let without = run(py, &How::default(), move |watch| {
            let mut exclusions = Exclusions::default();
            excluded.add_to(&mut exclusions, watch)?;
            Ok(opened.without(&exclusions, only)?)
        })?;
        Ok(PyIndex::new(without))
    }

    /// Brings the files to memory and checks each block once, so that the first queries are as quick as later ones.
    #[pyo3(signature = (*, threads=None, progress=None))]
    fn warm(
        &self,
        py: Python<'_>,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let opened = self.opened(py)?;
        let how = how(threads, progress)?;
        let count = how.threads.unwrap_or(0);
        run_apart(py, &how, move |watch| {
            let options = WarmOptions::default().threads(count);
            opened.set.warm(&options.watch(watch.of_library()))?;
            Ok(())
        })
    }

    /// Checks every byte of the files. Raises `FormatError` if one is damaged.
    #[pyo3(signature = (*, threads=None, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let opened = self.opened(py)?;
        run_apart(py, &how(threads, progress)?, move |watch| {
            Ok(opened.set.verify(&watch.of_library())?)
        })
    }

    /// Lets go of the files. What else is asked of the index raises `ClosedError`.
    fn close(&self) {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        *opened = None;
    }

    /// Whether the index has been closed.
    #[getter]
    fn closed(&self) -> bool {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.is_none()
    }

    /// The paths of the files.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let opened = self.opened(py)?;
        let paths = opened.paths.iter();
        paths
            .map(|path| Ok(path.into_pyobject(py)?.into_any()))
            .collect()
    }

    /// Bits of a fingerprint: 32, 64 or 128.
    #[getter]
    fn width(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.opened(py)?.width())
    }

    /// The distance for which the tables were chosen, and that queries have if no other is given.
    #[getter]
    fn k(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.opened(py)?.set.max_distance())
    }

    /// Number of records.
    #[getter]
    fn record_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.opened(py)?.set.record_count())
    }

    /// What the ids are: `"none"`, `"number"` or `"string"`.
    #[getter]
    fn id_kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.opened(py)?.set.id_kind().name())
    }

    /// How texts became fingerprints, as `Pipeline.description` says it, if the file records it.
    #[getter]
    fn pipeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.opened(py)?.set.pipeline().map(str::to_owned))
    }

    /// Figures of each file, by the names of `simidx info --json`.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        info(py, &*self.opened(py)?)
    }

    /// Number of fingerprints of all files; one that several files hold counts for each.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.opened(py)?.fingerprint_count() as usize)
    }

    /// Whether the index holds this very fingerprint.
    fn __contains__(&self, py: Python<'_>, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        let opened = self.opened(py)?;
        let value = input::fingerprint(fingerprint, opened.width(), false)?;
        run_short(py, &How::default(), move || {
            Ok(opened.set.contains(value)?)
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (exc_type=None, exc_value=None, traceback=None))]
    fn __exit__(
        &self,
        exc_type: Option<&Bound<'_, PyAny>>,
        exc_value: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) {
        let _ = (exc_type, exc_value, traceback);
        self.close();
    }

    /// Pickled by its paths, and opened again where it is read.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let opened = self.opened(py)?;
        if opened.leaves_out {
            let message = "an index without some records cannot be pickled: pickle the whole one, and call without() there";
            return Err(Class::Input.error(py, message));
        }
        let open = py.import("simidx._simidx")?.getattr("_reopen")?;
        let paths = opened.paths.iter().map(std::path::absolute);
        let paths: Result<Vec<PathBuf>, _> = paths.collect();
        let paths = paths.map_err(|error| Failure::from(error).raise(py))?;
        (open, (paths, opened.in_memory)).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.closed() {
            return Ok("<simidx.Index, closed>".to_owned());
        }
        let opened = self.opened(py)?;
        let names = match &*opened.paths {
            [one] => format!("{one:?}"),
            several => format!("{} files", several.len()),
        };
        let (len, width) = (self.__len__(py)?, self.width(py)?);
        let (k, ids) = (self.k(py)?, self.id_kind(py)?);
        let left_out = if opened.leaves_out {
            ", some left out"
        } else {
            ""
        };
        Ok(format!(
            "<simidx.Index {names}: {len} fingerprints of {width} bits, k={k}, ids={ids}{left_out}>"
        ))
    }
}

/// Opens one file, or several that are searched as one.
#[pyfunction]
#[pyo3(signature = (path, *, in_memory=false, warm=false))]
pub(crate) fn open(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    in_memory: bool,
    warm: bool,
) -> PyResult<PyIndex> {
    let index = _reopen(py, options::paths(path)?, in_memory)?;
    if warm {
        index.warm(py, None, None)?;
    }
    Ok(index)
}

/// Opens files as a pickled index says.
#[pyfunction]
pub(crate) fn _reopen(py: Python<'_>, paths: Vec<PathBuf>, in_memory: bool) -> PyResult<PyIndex> {
    let opened = run_apart(py, &How::default(), move |_| {
        Ok(Opened::open(paths, in_memory)?)
    })?;
    Ok(PyIndex::new(opened))
}
