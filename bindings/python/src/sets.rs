//! Whole sets: pairs, clusters, and deduplication.

use std::sync::Arc;

use numpy::{Element, IntoPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use simidx::Fingerprints;
use simidx::batch::{
    Decision, DedupOptions, Deduplicated, Deduplicator, Pair, PairFinder, PairOptions, row_pairs,
};

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::given::Given;
use crate::ids::{self, Ids};
use crate::index::PyIndex;
use crate::input;
use crate::opened::Opened;
use crate::options;
use crate::run::{How, Watch, run};

/// Fingerprints between two checks for cancellation.
const PIECE: usize = 1 << 20;

/// The default distance of pairs.
const DISTANCE: u32 = 3;

/// Three columns, with a row for each pair.
pub(crate) type Columns<'py> = [Bound<'py, PyAny>; 3];

/// Returns all pairs within `k` bits: left, right, distance. The pairs are of distinct fingerprints, with the smaller
/// on the left; or of rows, including those with equal fingerprints, with the first on the left.
#[pyfunction]
pub(crate) fn pairs(given: Given<'_>) -> PyResult<Columns<'_>> {
    let (py, how) = (given.py(), given.how()?);
    let mut options = PairOptions::default();
    options.distance = given.distance()?.unwrap_or(DISTANCE);
    options.sorted = true;
    options.memory = given.memory()?;
    options.temp_dir = given.temp_dir()?;
    let most = given.read("max_pairs", options::count)?;
    options.max_pairs = most.map(|most| most as u64);
    let rows = given.flag("rows")?;
    let read = input::fingerprints(&given.value("fingerprints")?, given.expected(None)?)?;
    match rows {
        true => rows_of(py, &how, read, options),
        false => pairs_of(py, &how, read, options),
    }
}

fn pairs_of<'py>(
    py: Python<'py>,
    how: &How,
    read: input::Fingerprints,
    options: PairOptions,
) -> PyResult<Columns<'py>> {
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
    Ok([array(py, left)?, array(py, right)?, distances])
}

fn rows_of<'py>(
    py: Python<'py>,
    how: &How,
    read: input::Fingerprints,
    options: PairOptions,
) -> PyResult<Columns<'py>> {
    let pairs = run(py, how, move |watch| {
        let pairs = row_pairs(read.column(), &options.watch(watch.of_library()))?;
        watch.let_go(read);
        let pairs = pairs.into_iter();
        Ok(pairs
            .map(|pair| (pair.first as i64, pair.second as i64, pair.distance as u8))
            .collect())
    })?;
    Ok(columns(py, pairs))
}

/// Converts pairs of rows to arrays.
pub(crate) fn columns<T: Element>(
    py: Python<'_>,
    (left, right, facts): (Vec<i64>, Vec<i64>, Vec<T>),
) -> Columns<'_> {
    [
        left.into_pyarray(py).into_any(),
        right.into_pyarray(py).into_any(),
        facts.into_pyarray(py).into_any(),
    ]
}

/// Returns the options that `clusters` and `dedup` share.
fn dedup_options(given: &Given<'_>) -> PyResult<DedupOptions> {
    let mut options = DedupOptions::default();
    options.distance = given.distance()?.unwrap_or(DISTANCE);
    options.memory = given.memory()?;
    options.temp_dir = given.temp_dir()?;
    Ok(options)
}

/// Returns for each row the first row of its cluster: `int64`. Two rows are in one cluster if steps of at most `k` bits
/// link them.
#[pyfunction]
pub(crate) fn clusters(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let options = dedup_options(&given)?;
    let read = input::fingerprints(&given.value("fingerprints")?, given.expected(None)?)?;
    let labels = run(given.py(), &given.how()?, move |watch| {
        let rows = read.column().len();
        let found = decide(read, options, None, watch)?;
        let label = |row: usize| match found.decision(row) {
            Decision::Duplicate { of, .. } => of as i64,
            _ => row as i64,
        };
        Ok((0..rows).map(label).collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(given.py()).into_any())
}

/// Returns which rows to keep so that one of each cluster is left: the first, or the one with the highest `priority`.
/// Rows near those of `against` are not kept.
#[pyfunction]
pub(crate) fn dedup(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let options = dedup_options(&given)?;
    let against = given.read("against", index_of)?;
    let expected = given.expected(against.as_ref().map(|opened| opened.width()))?;
    let read = input::fingerprints(&given.value("fingerprints")?, expected)?;
    let rows = read.column().len();
    // Lent memory is not needed after the fingerprints have been read.
    let priority = priorities(&given, rows)?;
    let mask = run(given.py(), &given.how()?, move |watch| {
        let mut found = decide(read, options, against, watch)?;
        if let Some(priority) = priority {
            found.keep_by(|row| priority[row]);
        }
        Ok((0..rows)
            .map(|row| found.is_kept(row))
            .collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(given.py()).into_any())
}

/// Returns the files of an open index.
fn index_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Arc<Opened>> {
    match object.cast::<PyIndex>() {
        Ok(index) => index.get().opened(object.py()),
        Err(_) => {
            let message = format!("{name}: an open index is expected, as simidx.open gives it");
            Err(Class::OptionType.error(object.py(), message))
        }
    }
}

/// Returns a number for each row: `priority`.
fn priorities(given: &Given<'_>, rows: usize) -> PyResult<Option<Vec<u64>>> {
    let (py, Some(priority)) = (given.py(), given.get("priority")?) else {
        return Ok(None);
    };
    let numbers = match ids::of_rows(Some(&priority)) {
        Ok(Ids::Numbers(numbers)) => numbers,
        // The messages about values that cannot be used speak of ids.
        Err(error) if !error.is_instance_of::<PyValueError>(py) => return Err(error),
        _ => {
            let message = "priority: whole numbers from 0 are expected, one for each fingerprint";
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
    Ok(Some(numbers.into_owned()))
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
