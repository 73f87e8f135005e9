//! Whole sets: pairs, clusters, and what is left without near-duplicates.

use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use simidx::batch::{
    Decision, DedupOptions, Deduplicated, Deduplicator, PairFinder, PairOptions, row_pairs,
};

use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::index::{Opened, PyIndex};
use crate::input::{self, Expected, Ids};
use crate::options;
use crate::run::{How, Watch, run};
use crate::width::{Width, by_width};

/// Fingerprints that are handed over between two looks at whether to go on.
const PIECE: usize = 1 << 20;

/// Options that all functions on sets have.
struct Common<'a, 'py> {
    k: &'a Bound<'py, PyAny>,
    memory: Option<&'a Bound<'py, PyAny>>,
    temp_dir: Option<&'a Bound<'py, PyAny>>,
}

impl Common<'_, '_> {
    fn pairs(&self) -> PyResult<PairOptions> {
        let mut options = PairOptions::default();
        options.distance = options::distance(self.k, "k")?;
        options.sorted = true;
        options.memory = options::optional(self.memory, "memory", options::bytes)?;
        options.temp_dir = self.temp_dir.map(options::path).transpose()?;
        Ok(options)
    }

    fn dedup(&self) -> PyResult<DedupOptions> {
        let mut options = DedupOptions::default();
        options.distance = options::distance(self.k, "k")?;
        options.memory = options::optional(self.memory, "memory", options::bytes)?;
        options.temp_dir = self.temp_dir.map(options::path).transpose()?;
        Ok(options)
    }
}

fn how(threads: Option<&Bound<'_, PyAny>>) -> PyResult<How> {
    Ok(How {
        threads: options::optional(threads, "threads", options::count)?,
        progress: None,
    })
}

/// All pairs within `k` bits: `left, right, distance`. Of fingerprints each distinct one once, the smaller on the left; of
/// rows also those of equal fingerprints, the first on the left.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, *, rows=false, width=None, signed=false, max_pairs=None, memory=None, temp_dir=None, threads=None), text_signature = "(fingerprints, k=3, *, rows=False, width=None, signed=False, max_pairs=None, memory=None, temp_dir=None, threads=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    rows: bool,
    width: Option<u32>,
    signed: bool,
    max_pairs: Option<u64>,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let three = 3u32.into_pyobject(py)?.into_any();
    let common = Common {
        k: k.unwrap_or(&three),
        memory,
        temp_dir,
    };
    let mut options = common.pairs()?;
    options.max_pairs = max_pairs;
    let read = input::fingerprints(fingerprints, Expected { width, signed })?;
    let how = how(threads)?;
    by_width!(read.width(), F => {
        let column = column::<F>(py, read)?;
        match rows {
            true => rows_of(py, &how, column, options),
            false => pairs_of(py, &how, column, options),
        }
    })
}

fn column<F: Width>(py: Python<'_>, read: input::Fingerprints) -> PyResult<Column<F>> {
    F::column(read).ok_or_else(|| Class::Internal.error(py, "a mix of widths"))
}

fn pairs_of<'py, F: Width>(
    py: Python<'py>,
    how: &How,
    column: Column<F>,
    options: PairOptions,
) -> PyResult<Bound<'py, PyTuple>> {
    let (left, right, distances) = run(py, how, move |watch| {
        let mut finder = PairFinder::<F>::new(&options)?;
        for piece in column.chunks(PIECE) {
            finder.extend_from_slice(piece)?;
            watch.check()?;
        }
        let (mut left, mut right, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        finder.finish(|pair| {
            left.push(pair.smaller);
            right.push(pair.larger);
            distances.push(pair.distance as u8);
            watch.check()
        })?;
        Ok((left, right, distances))
    })?;
    let distances = distances.into_pyarray(py).into_any();
    PyTuple::new(py, [F::array(py, left)?, F::array(py, right)?, distances])
}

fn rows_of<'py, F: Width>(
    py: Python<'py>,
    how: &How,
    column: Column<F>,
    options: PairOptions,
) -> PyResult<Bound<'py, PyTuple>> {
    let (left, right, distances) = run(py, how, move |watch| {
        let pairs = row_pairs(&column, &options, || watch.check())?;
        let left: Vec<i64> = pairs.iter().map(|pair| pair.first as i64).collect();
        let right: Vec<i64> = pairs.iter().map(|pair| pair.second as i64).collect();
        let distances: Vec<u8> = pairs.iter().map(|pair| pair.distance as u8).collect();
        Ok((left, right, distances))
    })?;
    let (left, right) = (left.into_pyarray(py), right.into_pyarray(py));
    let distances = distances.into_pyarray(py).into_any();
    PyTuple::new(py, [left.into_any(), right.into_any(), distances])
}

/// For each row the first row of its cluster: `int64`. Two rows are in one cluster if steps of at most `k` bits lead from one
/// to the other.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, *, width=None, signed=false, memory=None, temp_dir=None, threads=None), text_signature = "(fingerprints, k=3, *, width=None, signed=False, memory=None, temp_dir=None, threads=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn clusters<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    width: Option<u32>,
    signed: bool,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let three = 3u32.into_pyobject(py)?.into_any();
    let common = Common {
        k: k.unwrap_or(&three),
        memory,
        temp_dir,
    };
    let options = common.dedup()?;
    let read = input::fingerprints(fingerprints, Expected { width, signed })?;
    let how = how(threads)?;
    let labels = by_width!(read.width(), F => {
        let column = column::<F>(py, read)?;
        run(py, &how, move |watch| {
            let found = decide(&column, &options, None, watch)?;
            let label = |row: usize| match found.decision(row) {
                Decision::Duplicate { of, .. } => of as i64,
                _ => row as i64,
            };
            Ok((0..column.len()).map(label).collect::<Vec<i64>>())
        })?
    });
    Ok(labels.into_pyarray(py).into_any())
}

/// Which rows to keep so that one of each cluster is left: the first, or that of the highest `priority`. Rows near to one of
/// `against` are not kept.
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None, *, against=None, priority=None, width=None, signed=false, memory=None, temp_dir=None, threads=None), text_signature = "(fingerprints, k=3, *, against=None, priority=None, width=None, signed=False, memory=None, temp_dir=None, threads=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn dedup<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<&Bound<'py, PyAny>>,
    against: Option<&Bound<'py, PyIndex>>,
    priority: Option<&Bound<'py, PyAny>>,
    width: Option<u32>,
    signed: bool,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let three = 3u32.into_pyobject(py)?.into_any();
    let common = Common {
        k: k.unwrap_or(&three),
        memory,
        temp_dir,
    };
    let options = common.dedup()?;
    let against = against.map(|index| index.get().opened(py)).transpose()?;
    let expected = Expected {
        width: match &against {
            Some(opened) => Some(crate::width::width_of(&opened.segments)),
            None => width,
        },
        signed,
    };
    let read = input::fingerprints(fingerprints, expected)?;
    let how = how(threads)?;
    let mask = by_width!(read.width(), F => {
        let column = column::<F>(py, read)?;
        let priority = priorities(py, priority, column.len())?;
        run(py, &how, move |watch| {
            let mut found = decide(&column, &options, against, watch)?;
            if let Some(priority) = priority {
                found.keep_by(|row| priority[row]);
            }
            Ok((0..column.len()).map(|row| found.is_kept(row)).collect::<Vec<bool>>())
        })?
    });
    Ok(mask.into_pyarray(py).into_any())
}

/// A number for each row.
fn priorities(
    py: Python<'_>,
    object: Option<&Bound<'_, PyAny>>,
    rows: usize,
) -> PyResult<Option<Column<u64>>> {
    let Some(object) = object else {
        return Ok(None);
    };
    let numbers = match input::ids(Some(object))? {
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

fn decide<F: Width>(
    rows: &[F],
    options: &DedupOptions,
    against: Option<Arc<Opened>>,
    watch: &Watch,
) -> Result<Deduplicated<F>, Failure> {
    let mut documents = Deduplicator::<F>::new(options);
    for piece in rows.chunks(PIECE) {
        documents.extend_from_slice(piece)?;
        watch.check()?;
    }
    if let Some(opened) = against {
        documents.exclude(opened.of::<F>()?)?;
    }
    watch.check()?;
    Ok(documents.finish(None)?)
}
