//! An open index: one or several files.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::PyList;
use simidx::index::WarmOptions;
use simidx::set::Exclusions;
use simidx::{Fingerprints, Id, IdKind};
use simidx_output::report;

use crate::arrays::array;
use crate::errors::{Class, raise};
use crate::exclusions::Excluded;
use crate::facts::list_of;
use crate::given::Given;
use crate::ids;
use crate::input::{self, Expected};
use crate::opened::Opened;
use crate::options;
use crate::records::{read, to_python};
use crate::run::{How, run, run_apart, run_short};

/// An open index: one or several files, searched as one.
#[pyclass(frozen, subclass, module = "simidx._simidx", name = "Index")]
pub(crate) struct PyIndex {
    opened: RwLock<Option<Arc<Opened>>>,
}

impl PyIndex {
    /// Returns the open files.
    pub(crate) fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let closed = || Class::Closed.error(py, "the index is closed; open it again");
        opened.clone().ok_or_else(closed)
    }

    /// Returns the files of the index whose method was called: `self`.
    pub(crate) fn of(given: &Given<'_>) -> PyResult<Arc<Opened>> {
        let index = given.value("self")?;
        index.cast::<PyIndex>()?.get().opened(given.py())
    }
}

#[pymethods]
impl PyIndex {
    /// Opens files, or excludes records from the index `self`.
    #[new]
    fn new(given: Given<'_>) -> PyResult<Self> {
        let opened = match given.raw("self")? {
            Some(_) => {
                given.only(&["self", "ids", "fingerprints", "signed", "file"])?;
                without(&given)?
            }
            None => {
                given.only(&["path", "in_memory", "warm"])?;
                let paths = options::paths(&given.value("path")?)?;
                let in_memory = given.flag("in_memory")?;
                // The caller warms the index.
                given.flag("warm")?;
                run_apart(given.py(), &How::default(), move |_| {
                    Ok(Opened::open(paths, in_memory)?)
                })?
            }
        };
        Ok(PyIndex {
            opened: RwLock::new(Some(Arc::new(opened))),
        })
    }

    /// Returns the fingerprints of the records with an id, in numeric order; empty if there is no such record.
    fn fingerprints_of<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened(py)?;
        let id = ids::one(id)?;
        let kind = opened.set.id_kind();
        let (given, fits) = match id.as_id() {
            Id::Number(_) => ("a number", kind == IdKind::Number),
            Id::String(_) => ("a string", kind == IdKind::String),
        };
        if !fits && !opened.set.is_empty() {
            let id = id.as_id();
            let message = format!(
                "the id {id} is {given}; the kind of the ids here is {}",
                kind.name()
            );
            return Err(Class::Option.error(py, message));
        }
        let found = run_apart(py, &How::default(), move |_| {
            let mut found = Fingerprints::new(opened.set.width());
            let values = opened.set.fingerprints_of_id(id.as_id())?;
            values.into_iter().for_each(|value| found.push(value));
            Ok(found)
        })?;
        array(py, found)
    }

    /// Closes the files. Other methods then raise `ClosedError`.
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
        Ok(self.opened(py)?.width().bits())
    }

    /// The distance that the tables were chosen for, and the default distance of queries.
    #[getter]
    fn k(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.opened(py)?.set.max_distance())
    }

    /// Number of records.
    #[getter]
    fn record_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.opened(py)?.set.record_count())
    }

    /// The kind of the ids: `"none"`, `"number"` or `"string"`.
    #[getter]
    fn id_kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.opened(py)?.set.id_kind().name())
    }

    /// The description of the pipeline, as in `Pipeline.description`, if the files record it.
    #[getter]
    fn pipeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.opened(py)?.set.pipeline().map(str::to_owned))
    }

    /// Returns the figures of the files, as `simidx info --json` prints them.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened(py)?;
        let figures = report::figures(&opened.set).map_err(|error| raise(py, &error))?;
        py.import("json")?
            .call_method1("loads", (figures.to_string(),))
    }

    /// Number of fingerprints in all files; one in several files counts for each.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.opened(py)?.fingerprint_count() as usize)
    }

    /// Returns whether the index holds exactly this fingerprint.
    fn __contains__(&self, py: Python<'_>, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        let opened = self.opened(py)?;
        let expected = Expected::of(opened.width());
        let value = input::fingerprint(fingerprint, expected)?;
        run_short(py, move || Ok(opened.set.contains(value)?))
    }

    /// Returns the arguments that open it again on another machine: its paths, and whether they are read into memory.
    fn pickled(&self, py: Python<'_>) -> PyResult<(Vec<PathBuf>, bool)> {
        let opened = self.opened(py)?;
        if opened.leaves_out {
            let message = "an index without some records cannot be pickled: pickle the whole one, and call without() there";
            return Err(Class::Input.error(py, message));
        }
        Ok((opened.absolute.clone(), opened.in_memory))
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

/// Returns all distinct fingerprints in numeric order.
#[pyfunction]
pub(crate) fn fingerprints(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let opened = PyIndex::of(&given)?;
    let values = run_apart(given.py(), &given.how()?, move |watch| {
        let mut values = Fingerprints::new(opened.set.width());
        for value in opened.set.fingerprints(0)? {
            if values.len().is_multiple_of(1 << 16) {
                watch.check()?;
            }
            values.push(value?);
        }
        Ok(values)
    })?;
    array(given.py(), values)
}

/// Returns all records: their fingerprints in numeric order, and their ids.
#[pyfunction]
pub(crate) fn records(given: Given<'_>) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let (py, opened) = (given.py(), PyIndex::of(&given)?);
    let (values, ids) = run_apart(py, &given.how()?, move |watch| read(&opened.set, watch))?;
    Ok((array(py, values)?, to_python(py, ids)?))
}

/// Returns the ids of the records with exactly this fingerprint.
#[pyfunction]
pub(crate) fn ids_of(given: Given<'_>) -> PyResult<Bound<'_, PyList>> {
    let (py, opened) = (given.py(), PyIndex::of(&given)?);
    let column = given.queries(opened.width())?;
    let lists = run_short(py, move || {
        Ok(opened.set.ids_of_all(&column, &simidx::Watch::default())?)
    })?;
    list_of(py, &lists, 0)
}

/// Returns the files of an index without some records.
fn without(given: &Given<'_>) -> PyResult<Opened> {
    let opened = PyIndex::of(given)?;
    let only = given.read("file", options::count)?;
    let excluded = Excluded::read(given, opened.width(), "ids", "fingerprints")?;
    run(given.py(), &How::default(), move |watch| {
        let mut exclusions = Exclusions::default();
        excluded.add_to(&mut exclusions, watch)?;
        Ok(opened.without(&exclusions, only)?)
    })
}

/// Loads the files into memory and checks each block once, so that the first queries are as fast as later ones.
#[pyfunction]
pub(crate) fn warm(given: Given<'_>) -> PyResult<()> {
    let (opened, how) = (PyIndex::of(&given)?, given.how()?);
    let count = how.threads.unwrap_or(0);
    run_apart(given.py(), &how, move |watch| {
        let options = WarmOptions::default().threads(count);
        opened.set.warm(&options.watch(watch.of_library()))?;
        Ok(())
    })
}

/// Checks every byte of the files. Raises `FormatError` if one is damaged.
#[pyfunction]
pub(crate) fn verify(given: Given<'_>) -> PyResult<()> {
    let opened = PyIndex::of(&given)?;
    run_apart(given.py(), &given.how()?, move |watch| {
        Ok(opened.set.verify(&watch.of_library())?)
    })
}
