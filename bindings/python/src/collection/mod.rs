//! A collection that changes while it is searched.

mod columns;
mod live;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};
use simidx_collection::Collection;

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::facts::{Facts, Found, found};
use crate::given::Given;
use crate::ids::{self, Ids};
use crate::input::{self, string};
use crate::options;
use crate::run::{How, run_apart, run_aside, run_here};
use crate::texts::telling_fingerprints;
use columns::Columns;
pub(crate) use live::Live;
use live::Settings;

/// A collection of records in a folder, each a fingerprint with a string id. Records come and go, and all answers are
/// exact at any time.
#[pyclass(frozen, subclass, module = "simidx._simidx", name = "Collection")]
pub(crate) struct PyCollection {
    path: PathBuf,
    live: RwLock<Option<Arc<Live>>>,
}

impl PyCollection {
    /// Returns the open collection.
    pub(crate) fn live(&self, py: Python<'_>) -> PyResult<Arc<Live>> {
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

    /// Returns the collection whose method was called.
    fn of(given: &Given<'_>) -> PyResult<Arc<Live>> {
        let collection = given.value("self")?;
        collection.cast::<PyCollection>()?.get().live(given.py())
    }

    /// Runs work that waits for the disk.
    fn aside(
        &self,
        py: Python<'_>,
        work: fn(&Collection, &simidx::Watch) -> simidx_collection::Result<()>,
    ) -> PyResult<()> {
        let live = self.live(py)?;
        run_aside(py, &How::default(), move |watch| {
            Ok(work(live.collection(), &watch.of_library())?)
        })
    }
}

#[pymethods]
impl PyCollection {
    /// Opens the collection of a folder or creates one, as `way` says; by default whichever is possible.
    #[new]
    fn new(path: &Bound<'_, PyAny>, way: &str, given: Given<'_>) -> PyResult<Self> {
        let path = options::path(path)?;
        let settings = Settings::read(&given)?;
        let (of_work, way) = (path.clone(), way.to_owned());
        let live = run_aside(given.py(), &How::default(), move |_| {
            Live::start(settings, |settings| {
                let (width, options) = (settings.width_of_new(), settings.options);
                match way.as_str() {
                    "open" => Collection::open(of_work, options),
                    "create" => Collection::create(of_work, width, options),
                    _ => Collection::open_or_create(of_work, width, options),
                }
            })
        })?;
        Ok(PyCollection {
            path,
            live: RwLock::new(Some(Arc::new(live))),
        })
    }

    /// Removes the record with an id. Returns whether there was one.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (live, id) = (self.live(py)?, string(id, "id")?);
        run_here(py, || Ok(live.collection().delete(&id)?))
    }

    /// Returns the fingerprint of the record with an id, if there is one.
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyInt>>> {
        let (live, id) = (self.live(py)?, string(id, "id")?);
        let found = run_here(py, || Ok(live.collection().get(&id)?))?;
        found.map(|value| Ok(value.into_pyobject(py)?)).transpose()
    }

    /// Waits until all changes so far are on disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.aside(py, |collection, _| collection.sync())
    }

    /// Seals all recent records into index files, while changes and queries go on.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        self.aside(py, Collection::seal)
    }

    /// Merges all index files into one, without removed records, while changes and queries go on.
    fn merge(&self, py: Python<'_>) -> PyResult<()> {
        self.aside(py, Collection::merge)
    }

    /// Returns the figures of the collection, named as in the library.
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

    /// Syncs all changes to disk and releases the folder, once the calls of other threads have ended.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // The lock is released while others end their calls.
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

    /// The distance of near-duplicates of additions, and the default distance of queries.
    #[getter]
    fn k(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.live(py)?.collection().max_distance())
    }

    /// The description of the pipeline, as in `Pipeline.description`, if the collection records it.
    #[getter]
    fn pipeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.live(py)?.collection().pipeline().map(str::to_owned))
    }

    /// Number of changes since the collection was created. While it is open, equal numbers mean equal records.
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

/// The result of an addition: its fingerprint, its outcome, the fingerprint that it replaced, and the earlier matches.
type Addition<'py> = (u128, &'static str, Option<u128>, Found<'py>);

/// Checks and adds a record in one step. Returns the earlier matches; every later query finds the record.
#[pyfunction]
pub(crate) fn add(given: Given<'_>) -> PyResult<Addition<'_>> {
    let (py, live) = (given.py(), PyCollection::of(&given)?);
    let (id, text) = (
        string(&given.value("id")?, "id")?,
        given.read("text", string)?,
    );
    let width = live.collection().width();
    let expected = given.expected(Some(width))?;
    let value = given.read("fingerprint", |value, _| {
        input::fingerprint(value, expected)
    })?;
    let (value, replaced, columns) = run_here(py, || {
        let value = match (value, text) {
            (Some(value), None) => value,
            (None, Some(text)) => live.fingerprint(&text)?,
            _ => return Err(one_of("a fingerprint", "a text")),
        };
        let mut columns = Columns::new(width);
        let replaced = columns.push_added(live.collection().add(&id, value)?);
        Ok((value, replaced, columns))
    })?;
    let near = found(py, columns.answers, Facts::of_ids(columns.ids))?;
    Ok((value, columns.outcomes[0], replaced, near))
}

/// The results of additions: their fingerprints, their outcomes, and the earlier matches.
type Additions<'py> = (Bound<'py, PyAny>, Vec<&'static str>, Found<'py>);

/// Adds records in order, each checked against those before it, and waits for the disk once.
#[pyfunction]
pub(crate) fn add_many(given: Given<'_>) -> PyResult<Additions<'_>> {
    let (py, live, how) = (given.py(), PyCollection::of(&given)?, given.how()?);
    let ids = match ids::of_rows(Some(&given.value("ids")?))? {
        Ids::Strings(ids) => ids,
        Ids::Numbers(numbers) if numbers.is_empty() => Default::default(),
        _ => {
            let message = "ids: those of a collection are strings; pass map(str, ids)";
            return Err(Class::InputType.error(py, message));
        }
    };
    let width = live.collection().width();
    let values = match (given.get("fingerprints")?, given.get("texts")?) {
        (Some(_), None) => given.queries(width)?,
        (None, Some(texts)) => {
            let (texts, live) = (input::texts(&texts)?, Arc::clone(&live));
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
    if let Some(failure) = failed {
        let exception = failure.raise(py);
        let count = columns.outcomes.len();
        exception.value(py).setattr("added", count)?;
        return Err(exception);
    }
    let near = found(py, columns.answers, Facts::of_ids(columns.ids))?;
    Ok((array(py, values)?, columns.outcomes, near))
}

fn one_of(this: &str, that: &str) -> Failure {
    let message = format!("either {this} or {that} is expected");
    Failure::Other(Class::InputType, message)
}
