//! A living collection: records come and go, and are searched meanwhile.

mod answers;
mod live;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use simidx::set::Question;
use simidx::{Fingerprints, Width};
use simidx_collection::Collection;

use crate::errors::{Class, Failure};
use crate::ids::{self, Ids};
use crate::input::{self, Expected, type_name};
use crate::keywords::Keywords;
use crate::matches::{Match, Matches};
use crate::options;
use crate::run::{How, run_apart, run_aside, run_here};
use crate::search::how;
use crate::texts::telling_fingerprints;
pub(crate) use answers::{Added, Additions};
use answers::{Columns, single};
use live::{Live, Settings};

/// The keyword arguments of what opens a collection.
const OPTIONS: [&str; 7] = [
    "k",
    "width",
    "pipeline",
    "sync",
    "replace",
    "seal_records",
    "threads",
];

/// Records that come and go in a folder: a fingerprint with an id, a string, each. All answers are exact at any time.
#[pyclass(frozen, module = "simidx", name = "Collection")]
pub(crate) struct PyCollection {
    path: PathBuf,
    live: RwLock<Option<Arc<Live>>>,
}

impl PyCollection {
    fn start(
        path: &Bound<'_, PyAny>,
        function: &str,
        given: Option<&Bound<'_, PyDict>>,
        open: fn(&PathBuf, Settings) -> simidx_collection::Result<Collection>,
    ) -> PyResult<Self> {
        let py = path.py();
        let path = options::path(path)?;
        let keywords = Keywords::new(py, function, given, &OPTIONS)?;
        let settings = Settings::read(py, &keywords)?;
        let of_work = path.clone();
        let live = run_aside(py, &How::default(), move |_| {
            Live::start(settings, |settings| open(&of_work, settings))
        })?;
        Ok(PyCollection {
            path,
            live: RwLock::new(Some(Arc::new(live))),
        })
    }

    /// The open collection.
    fn live(&self, py: Python<'_>) -> PyResult<Arc<Live>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let Some(live) = &*live else {
            return Err(Class::Closed.error(py, "the collection is closed; open it again"));
        };
        if !live.is_of_this_process() {
            let message = "the collection was opened before a fork, by the process that forked; close it there, and open it here";
            return Err(Class::Closed.error(py, message));
        }
        Ok(Arc::clone(live))
    }
}

#[pymethods]
impl PyCollection {
    /// Opens the collection of a folder, or makes one where there is none.
    #[new]
    #[pyo3(signature = (path, **options), text_signature = "(path, *, k=None, width=None, pipeline=None, sync='always', replace=True, seal_records=None, threads=None)")]
    fn new(path: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::start(path, "Collection", options, |path, settings| {
            Collection::open_or_create(path, settings.width_of_new(), settings.options)
        })
    }

    /// Opens the collection of a folder.
    #[staticmethod]
    #[pyo3(signature = (path, **options), text_signature = "(path, *, k=None, width=None, pipeline=None, sync='always', replace=True, seal_records=None, threads=None)")]
    fn open(path: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::start(path, "open", options, |path, settings| {
            Collection::open(path, settings.options)
        })
    }

    /// Makes an empty collection in a folder, which is made too, or is empty.
    #[staticmethod]
    #[pyo3(signature = (path, **options), text_signature = "(path, *, k=None, width=None, pipeline=None, sync='always', replace=True, seal_records=None, threads=None)")]
    fn create(path: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::start(path, "create", options, |path, settings| {
            Collection::create(path, settings.width_of_new(), settings.options)
        })
    }

    /// Checks and adds a record in one step: answers what was near before, and from then on every query finds it.
    #[pyo3(signature = (id, fingerprint=None, *, text=None, signed=false))]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        fingerprint: Option<&Bound<'_, PyAny>>,
        text: Option<&Bound<'_, PyAny>>,
        signed: bool,
    ) -> PyResult<Added> {
        let (live, id) = (self.live(py)?, string(id, "id")?);
        let text = text.map(|text| string(text, "text")).transpose()?;
        let width = live.collection().width();
        let value = fingerprint.map(|value| input::fingerprint(value, width.bits(), signed));
        let value = value.transpose()?;
        let (value, added) = run_here(py, || {
            let value = match (value, text) {
                (Some(value), None) => value,
                (None, Some(text)) => live.fingerprint(&text)?,
                _ => return Err(one_of("a fingerprint", "a text")),
            };
            Ok((value, live.collection().add(&id, value)?))
        })?;
        Added::new(py, width, value, added)
    }

    /// Adds records one after the other, each checked against those before it, and waits for the disk once.
    #[pyo3(signature = (ids, fingerprints=None, *, texts=None, signed=false, threads=None, progress=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of a function of Python"
    )]
    fn add_many(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        fingerprints: Option<&Bound<'_, PyAny>>,
        texts: Option<&Bound<'_, PyAny>>,
        signed: bool,
        threads: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Additions> {
        let (live, how) = (self.live(py)?, how(threads, progress)?);
        let ids = match ids::read(Some(ids))? {
            Ids::Strings(ids) => ids,
            Ids::Numbers(numbers) if numbers.is_empty() => Default::default(),
            _ => {
                let message = "ids: those of a collection are strings; pass map(str, ids)";
                return Err(Class::InputType.error(py, message));
            }
        };
        let width = live.collection().width();
        let values = match (fingerprints, texts) {
            (Some(values), None) => fingerprints_of(values, width, signed)?,
            (None, Some(texts)) => {
                let (texts, live) = (input::texts(texts)?, Arc::clone(&live));
                run_apart(py, &how, move |watch| {
                    telling_fingerprints(live.pipeline()?, width, &texts.all(), watch)
                })?
            }
            _ => return Err(one_of("fingerprints", "texts").raise(py)),
        };
        let (values, columns, failed) = run_aside(py, &how, move |watch| {
            let (columns, failed) = live.add_many(&ids.all(), &values, watch)?;
            Ok((values, columns, failed))
        })?;
        match failed {
            None => Additions::new(py, values, columns),
            Some(failure) => {
                let exception = failure.raise(py);
                exception
                    .value(py)
                    .setattr("added", columns.outcomes.len())?;
                Err(exception)
            }
        }
    }

    /// Removes the record of an id; whether there was one.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (live, id) = (self.live(py)?, string(id, "id")?);
        run_here(py, || Ok(live.collection().delete(&id)?))
    }

    /// The fingerprint of the record with an id, if there is one.
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyInt>>> {
        let (live, id) = (self.live(py)?, string(id, "id")?);
        let found = run_here(py, || Ok(live.collection().get(&id)?))?;
        found.map(|value| Ok(value.into_pyobject(py)?)).transpose()
    }

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
        let (live, how) = (self.live(py)?, how(threads, progress)?);
        let k = options::optional(k, "k", options::distance)?;
        let question = Question::Within(k.unwrap_or_else(|| live.collection().max_distance()));
        let queries = fingerprints_of(fingerprints, live.collection().width(), signed)?;
        search(py, live, queries, question, &how)?.into_matches(py)
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
        let live = self.live(py)?;
        let k = options::optional(k, "k", options::distance)?;
        let k = k.unwrap_or_else(|| live.collection().max_distance());
        let width = live.collection().width();
        let query = input::fingerprint(fingerprint, width.bits(), signed)?;
        let found = run_here(py, || Ok(live.collection().query(query, k)?))?;
        single(py, width, found)
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
        let (live, how) = (self.live(py)?, how(threads, progress)?);
        let farthest = options::optional(max_distance, "max_distance", options::distance)?;
        let question = Question::Nearest {
            count: options::optional(n, "n", options::count)?.unwrap_or(1),
            max_distance: farthest.unwrap_or(live.collection().width().bits()),
        };
        let queries = fingerprints_of(fingerprints, live.collection().width(), signed)?;
        search(py, live, queries, question, &how)?.into_matches(py)
    }

    /// Whether a fingerprint within `k` bits of each query is there.
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
        let (live, how) = (self.live(py)?, how(threads, progress)?);
        let k = options::optional(k, "k", options::distance)?;
        let question = Question::Within(k.unwrap_or_else(|| live.collection().max_distance()));
        let queries = fingerprints_of(fingerprints, live.collection().width(), signed)?;
        let mask = search(py, live, queries, question, &how)?.are_there();
        Ok(mask.into_pyarray(py).into_any())
    }

    /// Waits until all changes so far are on disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let live = self.live(py)?;
        run_aside(py, &How::default(), move |_| {
            Ok(live.collection().sync()?)
        })
    }

    /// Seals all recent records into index files, while changes and queries go on.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        let live = self.live(py)?;
        run_aside(py, &How::default(), move |watch| {
            Ok(live.collection().seal(&watch.of_library())?)
        })
    }

    /// Merges all index files into one, without what was removed, while changes and queries go on.
    fn merge(&self, py: Python<'_>) -> PyResult<()> {
        let live = self.live(py)?;
        run_aside(py, &How::default(), move |watch| {
            Ok(live.collection().merge(&watch.of_library())?)
        })
    }

    /// The figures of the collection, by the names of the library.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.live(py)?.collection().stats();
        let figures = PyDict::new(py);
        figures.set_item("record_count", stats.record_count)?;
        figures.set_item("recent_count", stats.recent_count)?;
        figures.set_item("segment_count", stats.segment_count)?;
        figures.set_item("segment_bytes", stats.segment_bytes)?;
        figures.set_item("deleted_count", stats.deleted_count)?;
        figures.set_item("seal_count", stats.seal_count)?;
        figures.set_item("merge_count", stats.merge_count)?;
        figures.set_item("background_error", stats.background_error)?;
        figures.set_item("journal_error", stats.journal_error)?;
        Ok(figures)
    }

    /// Brings all changes to disk and lets go of the folder, once the calls of other threads have ended.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // The lock is not held while others end their calls.
        let live = self
            .live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match live {
            Some(live) => run_aside(py, &How::default(), move |_| Live::close(live)),
            None => Ok(()),
        }
    }

    /// Whether the collection has been closed.
    #[getter]
    fn closed(&self) -> bool {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.is_none()
    }

    /// The folder.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.path.as_path().into_pyobject(py)?.into_any())
    }

    /// Bits of a fingerprint: 32, 64 or 128.
    #[getter]
    fn width(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.live(py)?.collection().width().bits())
    }

    /// The distance within which additions look for near-duplicates, and that queries have if no other is given.
    #[getter]
    fn k(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.live(py)?.collection().max_distance())
    }

    /// How texts become fingerprints, as `Pipeline.description` says it, if the collection records it.
    #[getter]
    fn pipeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.live(py)?.collection().pipeline().map(str::to_owned))
    }

    /// Number of changes since the collection was made. While it stays open, equal numbers mean equal records.
    #[getter]
    fn change_count(&self, py: Python<'_>) -> PyResult<u64> {
        let live = self.live(py)?;
        Ok(py.detach(|| live.collection().change_count()))
    }

    /// Number of records.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let live = self.live(py)?;
        Ok(py.detach(|| live.collection().len() as usize))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (exc_type=None, exc_value=None, traceback=None))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exc_type: Option<&Bound<'_, PyAny>>,
        exc_value: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (exc_type, exc_value, traceback);
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.closed() {
            return Ok("<simidx.Collection, closed>".to_owned());
        }
        let (path, len) = (&self.path, self.__len__(py)?);
        let (width, k) = (self.width(py)?, self.k(py)?);
        Ok(format!(
            "<simidx.Collection {path:?}: {len} records of {width} bits, k={k}>"
        ))
    }
}

/// A string of a caller.
fn string(object: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(text) => Ok(text.to_cow()?.into_owned()),
        Err(_) => {
            let message = format!("{what} of type {}: a string is expected", type_name(object));
            Err(Class::InputType.error(object.py(), message))
        }
    }
}

fn one_of(this: &str, that: &str) -> Failure {
    let message = format!("either {this} or {that} is expected");
    Failure::Other(Class::InputType, message)
}

/// Fingerprints of the width of a collection.
fn fingerprints_of(
    object: &Bound<'_, PyAny>,
    width: Width,
    signed: bool,
) -> PyResult<Fingerprints> {
    let expected = Expected {
        width: Some(width.bits()),
        signed,
    };
    Ok(input::fingerprints(object, expected)?.into_owned())
}

/// The answers to queries, on all threads.
fn search(
    py: Python<'_>,
    live: Arc<Live>,
    queries: Fingerprints,
    question: Question,
    how: &How,
) -> PyResult<Columns> {
    run_apart(py, how, move |watch| live.search(&queries, question, watch))
}
