//! Whole sets: pairs, clusters, and what is left without near-duplicates.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simidx::Fingerprints;
use simidx::batch::{
    Decision, DedupOptions, Deduplicated, Deduplicator, Pair, PairFinder, PairOptions, row_pairs,
};

use crate::arrays::array;
use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::ids::{self, Ids};
use crate::index::PyIndex;
use crate::input;
use crate::keywords::Keywords;
use crate::opened::Opened;
use crate::options;
use crate::run::{How, Watch, run};
use crate::table;

/// Fingerprints that are handed over between two looks at whether to go on.
const PIECE: usize = 1 << 20;

/// What all functions on sets are given.
struct Given<'a, 'py> {
    keywords: Keywords<'a, 'py>,
    distance: u32,
    memory: Option<u64>,
    temp_dir: Option<PathBuf>,
    how: How,
}

/// The keyword arguments that all of them know.
const COMMON: [&str; 6] = [
    "width", "signed", "memory", "temp_dir", "threads", "progress",
];

impl<'a, 'py> Given<'a, 'py> {
    fn new(k: Option<&Bound<'py, PyAny>>, keywords: Keywords<'a, 'py>) -> PyResult<Self> {
        Ok(Given {
            distance: options::optional(k, "k", options::distance)?.unwrap_or(3),
            memory: keywords.memory()?,
            temp_dir: keywords.temp_dir()?,
            how: keywords.how()?,
            keywords,
        })
    }

    fn pairs(&self) -> PyResult<PairOptions> {
        let mut options = PairOptions::default();
        options.distance = self.distance;
        options.sorted = true;
        options.memory = self.memory;
        options.temp_dir = self.temp_dir.clone();
        let most = self.keywords.read("max_pairs", options::count)?;
        options.max_pairs = most.map(|most| most as u64);
        Ok(options)
    }

    fn dedup(&self) -> DedupOptions {
        let mut options = DedupOptions::default();
        options.distance = self.distance;
        options.memory = self.memory;
        options.temp_dir = self.temp_dir.clone();
        options
    }
}

/// These names beside the common ones.
fn known<'n>(more: &[&'n str]) -> Vec<&'n str> {
    [more, &COMMON].concat()
}

/// All pairs within `k` bits: `left, right, distance`. Of fingerprints each distinct one once, the smaller on the left; of
/// rows also those of equal fingerprints, the first on the left.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, **options), text_signature = "(fingerprints, k=3, *, rows=False, width=None, signed=False, max_pairs=None, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = Keywords::new(py, "pairs", options, &known(&["rows", "max_pairs"]))?;
    let given = Given::new(k, keywords)?;
    let options = given.pairs()?;
    let read = input::fingerprints(fingerprints, given.keywords.expected()?)?;
    match given.keywords.flag("rows")? {
        true => rows_of(py, &given.how, read, options),
        false => pairs_of(py, &given.how, read, options),
    }
}

fn pairs_of<'py>(
    py: Python<'py>,
    how: &How,
    read: input::Fingerprints,
    options: PairOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let (left, right, distances) = run(py, how, move |watch| {
        let width = read.column().width();
        let options = options.watch(watch.of_library());
        let mut finder = PairFinder::new(width, &options)?;
        for piece in read.column().chunks(PIECE) {
            finder.extend_from_slice(piece)?;
            watch.check()?;
        }
        watch.let_go(read);
        let [mut left, mut right] = [Fingerprints::new(width), Fingerprints::new(width)];
        let mut distances = Vec::new();
        let visit = |pair: Pair| {
            left.push(pair.smaller);
            right.push(pair.larger);
            distances.push(pair.distance as u8);
            watch.check()
        };
        finder.finish(visit)?;
        Ok((left, right, distances))
    })?;
    let distances = distances.into_pyarray(py).into_any();
    table::pairs(
        py,
        "Pairs",
        [array(py, left)?, array(py, right)?, distances],
    )
}

fn rows_of<'py>(
    py: Python<'py>,
    how: &How,
    read: input::Fingerprints,
    options: PairOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let (left, right, distances) = run(py, how, move |watch| {
        let pairs = row_pairs(read.column(), &options.watch(watch.of_library()))?;
        let left: Vec<i64> = pairs.iter().map(|pair| pair.first as i64).collect();
        let right: Vec<i64> = pairs.iter().map(|pair| pair.second as i64).collect();
        let distances: Vec<u8> = pairs.iter().map(|pair| pair.distance as u8).collect();
        Ok((left, right, distances))
    })?;
    let (left, right) = (left.into_pyarray(py), right.into_pyarray(py));
    let distances = distances.into_pyarray(py).into_any();
    table::pairs(py, "Pairs", [left.into_any(), right.into_any(), distances])
}

/// For each row the first row of its cluster: `int64`. Two rows are in one cluster if steps of at most `k` bits lead from one
/// to the other.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, **options), text_signature = "(fingerprints, k=3, *, width=None, signed=False, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn clusters<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given::new(k, Keywords::new(py, "clusters", options, &known(&[]))?)?;
    let options = given.dedup();
    let read = input::fingerprints(fingerprints, given.keywords.expected()?)?;
    let labels = run(py, &given.how, move |watch| {
        let rows = read.column().len();
        let found = decide(read, options, None, watch)?;
        let label = |row: usize| match found.decision(row) {
            Decision::Duplicate { of, .. } => of as i64,
            _ => row as i64,
        };
        Ok((0..rows).map(label).collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(py).into_any())
}

/// Which rows to keep so that one of each cluster is left: the first, or that of the highest `priority`. Rows near to one of
/// `against` are not kept.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, **options), text_signature = "(fingerprints, k=3, *, against=None, priority=None, width=None, signed=False, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn dedup<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = Keywords::new(py, "dedup", options, &known(&["against", "priority"]))?;
    let given = Given::new(k, keywords)?;
    let options = given.dedup();
    let against = given.keywords.get("against")?;
    let against = against.map(|index| index_of(&index)).transpose()?;
    let mut expected = given.keywords.expected()?;
    if let Some(opened) = &against {
        expected.width = Some(opened.width());
    }
    let priority = given.keywords.get("priority")?;
    let read = input::fingerprints(fingerprints, expected)?;
    let rows = read.column().len();
    // What is lent is not needed after the fingerprints have been read.
    let priority = priorities(py, priority.as_ref(), rows)?.map(Column::into_owned);
    let mask = run(py, &given.how, move |watch| {
        let mut found = decide(read, options, against, watch)?;
        if let Some(priority) = priority {
            found.keep_by(|row| priority[row]);
        }
        Ok((0..rows)
            .map(|row| found.is_kept(row))
            .collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(py).into_any())
}

/// The files of an open index.
fn index_of(object: &Bound<'_, PyAny>) -> PyResult<Arc<Opened>> {
    match object.cast::<PyIndex>() {
        Ok(index) => index.get().opened(object.py()),
        Err(_) => {
            let message = "against: an open index is expected, as simidx.open gives it";
            Err(Class::OptionType.error(object.py(), message))
        }
    }
}

/// A number for each row.
pub(crate) fn priorities(
    py: Python<'_>,
    object: Option<&Bound<'_, PyAny>>,
    rows: usize,
) -> PyResult<Option<Column<u64>>> {
    let Some(object) = object else {
        return Ok(None);
    };
    let numbers = match ids::read(Some(object))? {
        Ids::Numbers(numbers) => numbers,
        _ => {
            let message = "priority: numbers from 0 are expected, one for each fingerprint";
            return Err(Class::InputType.error(py, message));
        }
    };
    if numbers.len() != rows {
        let message = format!(
            "there are {rows} fingerprints and {} priorities",
            numbers.len()
        );
        return Err(Class::Input.error(py, message));
    }
    Ok(Some(numbers))
}

fn decide(
    rows: input::Fingerprints,
    options: DedupOptions,
    against: Option<Arc<Opened>>,
    watch: &Watch,
) -> Result<Deduplicated, Failure> {
    let options = options.watch(watch.of_library());
    let mut documents = Deduplicator::new(rows.column().width(), &options);
    for piece in rows.column().chunks(PIECE) {
        documents.extend_from_slice(piece)?;
        watch.check()?;
    }
    watch.let_go(rows);
    if let Some(opened) = against {
        documents.exclude(&opened.set)?;
    }
    watch.check()?;
    Ok(documents.finish()?)
}
