//! Facts of matches in addition to their fingerprints: ids and ranks.

use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use simidx::batch::{Answers, IdColumn, IdLists, positions_of_all};
use simidx::{Fingerprints, Id, IdKind, Set};

use crate::arrays::array;
use crate::arrow::ArrowColumn;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::opened::Opened;
use crate::run::{How, run_apart, run_short};
use crate::table;

/// The number of fingerprints whose ids and ranks are read on the caller's thread.
const FEW: usize = 256;

/// The source of the ids and ranks of matches.
enum Source {
    /// Files, from which they are read on access.
    Files(Arc<Opened>),
    /// Answers that include the ids of each match: those of a collection, and unpickled ones.
    Answers(Arc<IdLists>, IdKind),
}

/// The facts of the matches of a call.
#[pyclass(frozen, module = "simidx._simidx")]
pub(crate) struct Facts {
    source: Source,
}

/// The arguments of `simidx.Matches`: offsets, fingerprints, distances, and further facts.
pub(crate) type Found<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Facts,
);

/// Converts answers to Python.
pub(crate) fn found(py: Python<'_>, answers: Answers, facts: Facts) -> PyResult<Found<'_>> {
    let offsets: Vec<i64> = answers.offsets.into_iter().map(|o| o as i64).collect();
    Ok((
        offsets.into_pyarray(py).into_any(),
        array(py, answers.fingerprints)?,
        answers.distances.into_pyarray(py).into_any(),
        facts,
    ))
}

impl Facts {
    /// Creates the facts of matches in files.
    pub(crate) fn of_files(opened: Arc<Opened>) -> Self {
        let source = Source::Files(opened);
        Facts { source }
    }

    /// Creates the facts of matches in a collection.
    pub(crate) fn of_ids(ids: IdLists) -> Self {
        let source = Source::Answers(Arc::new(ids), IdKind::String);
        Facts { source }
    }

    fn kind(&self) -> IdKind {
        match &self.source {
            Source::Files(opened) => opened.set.id_kind(),
            Source::Answers(_, kind) => *kind,
        }
    }

    fn id_lists(&self, fingerprints: &Bound<'_, PyAny>) -> PyResult<Arc<IdLists>> {
        match &self.source {
            Source::Answers(ids, _) => Ok(Arc::clone(ids)),
            Source::Files(opened) => {
                let lists = over(opened, fingerprints, |set, found, watch| {
                    set.ids_of_all(found, watch)
                });
                lists.map(Arc::new)
            }
        }
    }
}

/// Calls `work` with fingerprints, on a thread that suits their number.
fn over<T: Send + 'static>(
    opened: &Opened,
    fingerprints: &Bound<'_, PyAny>,
    work: impl FnOnce(&Set, &Fingerprints, &simidx::Watch) -> simidx::Result<T> + Send + 'static,
) -> PyResult<T> {
    let py = fingerprints.py();
    let expected = Expected::of(opened.width());
    let found = input::fingerprints(fingerprints, expected)?.into_owned();
    let set = opened.set.clone();
    let few = found.len() <= FEW;
    let work = move |watch: &simidx::Watch| Ok::<T, Failure>(work(&set, &found, watch)?);
    match few {
        true => run_short(py, || work(&simidx::Watch::default())),
        false => run_apart(py, &How::default(), |watch| work(&watch.of_library())),
    }
}

/// Converts an id to Python.
pub(crate) fn to_python<'py>(py: Python<'py>, id: Id<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match id {
        Id::Number(number) => number.into_pyobject(py)?.into_any(),
        Id::String(text) => text.into_pyobject(py)?.into_any(),
    })
}

/// Converts one of the lists to Python; empty if it does not exist.
pub(crate) fn list_of<'py>(
    py: Python<'py>,
    lists: &IdLists,
    number: usize,
) -> PyResult<Bound<'py, PyList>> {
    let bounds = lists.offsets.get(number..number + 2);
    let bounds = bounds.map_or(0..0, |bounds| bounds[0]..bounds[1]);
    let ids = bounds.filter_map(|i| lists.ids.get(i as usize));
    let ids: Vec<_> = ids.map(|id| to_python(py, id)).collect::<PyResult<_>>()?;
    PyList::new(py, ids)
}

/// The fields of pickled facts: kind, offsets, numbers, ends, text.
type Pickled = (String, Vec<u64>, Vec<u64>, Vec<u64>, String);

#[pymethods]
impl Facts {
    /// Restores pickled facts.
    #[new]
    fn new(py: Python<'_>, fields: Pickled) -> PyResult<Self> {
        let (kind, offsets, numbers, ends, text) = fields;
        let kind = IdKind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = kind.ok_or_else(|| Class::Internal.error(py, "ids of no kind"))?;
        let mut ids = IdLists::new(kind);
        ids.offsets = offsets;
        ids.ids = match kind {
            IdKind::String => IdColumn::Strings { ends, text },
            _ => IdColumn::Numbers(numbers),
        };
        let source = Source::Answers(Arc::new(ids), kind);
        Ok(Facts { source })
    }

    /// The kind of the ids: `"none"`, `"number"` or `"string"`.
    #[getter]
    fn id_kind(&self) -> &'static str {
        self.kind().name()
    }

    /// Returns the ranks of fingerprints.
    fn ranks<'py>(&self, fingerprints: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let ranks = match &self.source {
            Source::Files(opened) => {
                let ranks = over(opened, fingerprints, |set, found, watch| {
                    positions_of_all(set, found, watch)
                })?;
                let ranks = ranks.into_iter().map(|rank| rank.map_or(-1, |r| r as i64));
                ranks.collect()
            }
            // Records of a collection change, and have no ranks.
            Source::Answers(..) => vec![-1; fingerprints.len()?],
        };
        Ok(ranks.into_pyarray(fingerprints.py()).into_any())
    }

    /// Returns a list of the ids of each fingerprint. `first` is the number of the first one's match.
    fn ids<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
        first: usize,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        let (py, lists) = (fingerprints.py(), self.id_lists(fingerprints)?);
        let first = match &self.source {
            Source::Files(_) => 0,
            Source::Answers(..) => first,
        };
        let numbers = first..first + fingerprints.len()?;
        numbers.map(|number| list_of(py, &lists, number)).collect()
    }

    /// Returns the ids of the first matches, which have these fingerprints, as an Arrow column of lists.
    fn ids_arrow(&self, fingerprints: &Bound<'_, PyAny>) -> PyResult<ArrowColumn> {
        let lists = self.id_lists(fingerprints)?;
        let array = table::lists(fingerprints.py(), Arc::unwrap_or_clone(lists))?;
        let array = array.slice(0, fingerprints.len()?);
        Ok(ArrowColumn { array })
    }

    /// Returns the arguments that restore the facts of these fingerprints without the index.
    fn pickled<'py>(&self, fingerprints: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = fingerprints.py();
        let lists = Arc::unwrap_or_clone(self.id_lists(fingerprints)?);
        let (numbers, ends, text) = match lists.ids {
            IdColumn::Numbers(numbers) => (numbers, Vec::new(), String::new()),
            IdColumn::Strings { ends, text } => (Vec::new(), ends, text),
        };
        let offsets = lists.offsets.into_pyarray(py);
        let (numbers, ends) = (numbers.into_pyarray(py), ends.into_pyarray(py));
        (self.id_kind(), offsets, numbers, ends, text).into_pyobject(py)
    }
}
