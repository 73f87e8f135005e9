//! What collections answer, as Python has it.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};
use simidx::batch::{Answers, IdColumn, IdLists};
use simidx::{Fingerprints, Width};
use simidx_collection::{Near, Outcome};

use crate::arrays::array;
use crate::matches::{Match, Matches};

fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::New => "new",
        Outcome::Unchanged => "unchanged",
        Outcome::Replaced(_) => "replaced",
    }
}

/// Matches one by one.
pub(super) fn single(py: Python<'_>, width: Width, found: Vec<Near>) -> PyResult<Vec<Match>> {
    let found = found.into_iter();
    found
        .map(|near| {
            let ids = PyList::new(py, near.ids)?;
            Match::new(py, (near.fingerprint, width), near.distance as u8, -1, ids)
        })
        .collect()
}

/// The answers to many queries or additions.
pub(super) struct Columns {
    offsets: Vec<u64>,
    fingerprints: Fingerprints,
    distances: Vec<u8>,
    /// Where the ids of each match end, where each id ends, and all ids.
    list_ends: Vec<u64>,
    id_ends: Vec<u64>,
    text: String,
    pub(super) outcomes: Vec<&'static str>,
}

impl Columns {
    pub(super) fn new(width: Width) -> Self {
        Columns {
            offsets: vec![0],
            fingerprints: Fingerprints::new(width),
            distances: Vec::new(),
            list_ends: vec![0],
            id_ends: Vec::new(),
            text: String::new(),
            outcomes: Vec::new(),
        }
    }

    /// Adds the answer to a query.
    pub(super) fn push(&mut self, found: Vec<Near>) {
        for near in found {
            self.fingerprints.push(near.fingerprint);
            self.distances.push(near.distance as u8);
            for id in near.ids {
                self.text.push_str(&id);
                self.id_ends.push(self.text.len() as u64);
            }
            self.list_ends.push(self.id_ends.len() as u64);
        }
        self.offsets.push(self.fingerprints.len() as u64);
    }

    /// Adds the answer to an addition.
    pub(super) fn push_added(&mut self, added: simidx_collection::Added) {
        self.outcomes.push(name(&added.outcome));
        self.push(added.matches);
    }

    /// Whether each query has a match.
    pub(super) fn are_there(&self) -> Vec<bool> {
        let bounds = self.offsets.windows(2);
        bounds.map(|bounds| bounds[0] < bounds[1]).collect()
    }

    pub(super) fn into_matches(self, py: Python<'_>) -> PyResult<Matches> {
        let mut ids = IdLists::default();
        ids.offsets = self.list_ends;
        let (ends, text) = (self.id_ends, self.text);
        ids.ids = IdColumn::Strings { ends, text };
        let mut answers = Answers::new(self.fingerprints.width());
        answers.offsets = self.offsets;
        answers.fingerprints = self.fingerprints;
        answers.distances = self.distances;
        Matches::with_ids(py, answers, ids)
    }
}

/// The answer to an addition.
#[pyclass(frozen, module = "simidx")]
pub(crate) struct Added {
    fingerprint: Py<PyInt>,
    matches: Py<PyList>,
    /// `"new"`, `"unchanged"` or `"replaced"`: what became of the id.
    #[pyo3(get)]
    outcome: &'static str,
    replaced: Option<Py<PyInt>>,
}

impl Added {
    pub(super) fn new(
        py: Python<'_>,
        width: Width,
        fingerprint: u128,
        added: simidx_collection::Added,
    ) -> PyResult<Self> {
        let integer = |value: u128| Ok::<_, PyErr>(value.into_pyobject(py)?.unbind());
        let replaced = match added.outcome {
            Outcome::Replaced(old) => Some(integer(old)?),
            Outcome::New | Outcome::Unchanged => None,
        };
        Ok(Added {
            fingerprint: integer(fingerprint)?,
            outcome: name(&added.outcome),
            matches: PyList::new(py, single(py, width, added.matches)?)?.unbind(),
            replaced,
        })
    }
}

#[pymethods]
impl Added {
    /// The fingerprint that the record has now.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> Py<PyInt> {
        self.fingerprint.clone_ref(py)
    }

    /// What was near before, by distance, then by value. The record of the same id is left out.
    #[getter]
    fn matches(&self, py: Python<'_>) -> Py<PyList> {
        self.matches.clone_ref(py)
    }

    /// The fingerprint that the record had before, if it had another one.
    #[getter]
    fn replaced(&self, py: Python<'_>) -> Option<Py<PyInt>> {
        self.replaced.as_ref().map(|old| old.clone_ref(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let matches = self.matches.bind(py).repr()?;
        Ok(format!(
            "Added(outcome={:?}, matches={matches})",
            self.outcome
        ))
    }
}

/// The answers to additions.
#[pyclass(frozen, module = "simidx")]
pub(crate) struct Additions {
    fingerprints: Py<PyAny>,
    matches: Py<Matches>,
    outcomes: Py<PyList>,
}

impl Additions {
    pub(super) fn new(
        py: Python<'_>,
        fingerprints: Fingerprints,
        columns: Columns,
    ) -> PyResult<Self> {
        Ok(Additions {
            fingerprints: array(py, fingerprints)?.unbind(),
            outcomes: PyList::new(py, &columns.outcomes)?.unbind(),
            matches: Py::new(py, columns.into_matches(py)?)?,
        })
    }
}

#[pymethods]
impl Additions {
    /// The fingerprints of the records.
    #[getter]
    fn fingerprints(&self, py: Python<'_>) -> Py<PyAny> {
        self.fingerprints.clone_ref(py)
    }

    /// What was near to each before it was added, the records before it included.
    #[getter]
    fn matches(&self, py: Python<'_>) -> Py<Matches> {
        self.matches.clone_ref(py)
    }

    /// `"new"`, `"unchanged"` or `"replaced"` for each: what became of its id.
    #[getter]
    fn outcomes(&self, py: Python<'_>) -> Py<PyList> {
        self.outcomes.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.outcomes.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let found = self.matches.get().match_count();
        format!(
            "<simidx.Additions: {} records, {found} matches>",
            self.__len__(py)
        )
    }
}
