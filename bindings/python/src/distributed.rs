//! Steps of distributed searches for `simidx_spark.distributed`: arrays in, arrays out.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use simidx::Fingerprints;
use simidx::batch::rounds::{self, PairRound, RoundsRequest};
use simidx::set::Manifest;

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::options;
use crate::run::{How, run};

/// A round in Python: within, value, mask, before, divided.
type Round = (u128, u128, u128, Vec<u128>, Vec<u128>);

fn round_of((within, value, mask, before, divided): Round) -> PairRound {
    PairRound {
        within,
        value,
        mask,
        before,
        divided,
    }
}

/// Reads fingerprints from an array of their width.
fn read(object: &Bound<'_, PyAny>) -> PyResult<input::Fingerprints> {
    let expected = Expected {
        width: None,
        signed: true,
    };
    input::fingerprints(object, expected)
}

/// Two arrays.
type Two<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn place_count(py: Python<'_>, count: usize) -> PyResult<usize> {
    match (1..=1 << 24).contains(&count) {
        true => Ok(count),
        false => {
            let message = format!("places={count}: 1 to {} are possible", 1 << 24);
            Err(Class::Option.error(py, message))
        }
    }
}

fn scattered(py: Python<'_>, (values, ends): (Fingerprints, Vec<usize>)) -> PyResult<Two<'_>> {
    let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
    Ok((array(py, values)?, ends.into_pyarray(py).into_any()))
}

/// Chooses the rounds of a search for pairs of about `count` distinct fingerprints, given a sample of them.
#[pyfunction]
pub(crate) fn choose_rounds(
    k: &Bound<'_, PyAny>,
    count: u64,
    varying: u128,
    sample: &Bound<'_, PyAny>,
    largest_share: f64,
) -> PyResult<Vec<Round>> {
    let distance = options::distance(k, "k")?;
    let read = read(sample)?;
    let rounds = rounds::choose(&RoundsRequest {
        distance,
        count,
        varying,
        sample: read.column(),
        largest_share,
    });
    let rounds = rounds.into_iter().map(|round| {
        let PairRound {
            within,
            value,
            mask,
            before,
            divided,
        } = round;
        (within, value, mask, before, divided)
    });
    Ok(rounds.collect())
}

/// Groups the values that take part in a round by place. Returns them and the end of each place's group.
#[pyfunction]
pub(crate) fn scatter_round<'py>(
    py: Python<'py>,
    round: Round,
    values: &Bound<'py, PyAny>,
    places: usize,
) -> PyResult<Two<'py>> {
    let places = place_count(py, places)?;
    let values = read(values)?;
    let values = py.detach(|| round_of(round).scatter(values.column(), places));
    scattered(py, values)
}

/// Returns the pairs within `k` of the values of a place in a round, or with `links` only enough of them to link the
/// values.
#[pyfunction]
pub(crate) fn find_pairs<'py>(
    py: Python<'py>,
    k: &Bound<'py, PyAny>,
    round: Round,
    values: &Bound<'py, PyAny>,
    links: bool,
) -> PyResult<Two<'py>> {
    let distance = options::distance(k, "k")?;
    let values = read(values)?;
    let (left, right) = run(py, &on_one_core(), move |_| {
        let width = values.column().width();
        let [mut left, mut right] = [Fingerprints::new(width), Fingerprints::new(width)];
        round_of(round).find(distance, values.column(), links, |x, y| {
            left.push(x.min(y));
            right.push(x.max(y));
        })?;
        Ok((left, right))
    })?;
    Ok((array(py, left)?, array(py, right)?))
}

/// Returns how to run the work of a Spark task, which has one core.
fn on_one_core() -> How {
    How {
        threads: Some(1),
        progress: None,
    }
}

/// Groups values by place. Returns them and the end of each place's group.
#[pyfunction]
pub(crate) fn scatter<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    places: usize,
) -> PyResult<Two<'py>> {
    let places = place_count(py, places)?;
    let values = read(values)?;
    let values = py.detach(|| rounds::scatter_values(values.column(), places));
    scattered(py, values)
}

/// Returns the place of each value in `scatter`.
#[pyfunction]
pub(crate) fn places<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    places: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let places = place_count(py, places)?;
    let values = read(values)?;
    let of_values = py.detach(|| rounds::places_of(values.column(), places));
    Ok(of_values.into_pyarray(py).into_any())
}

/// Returns the distinct values in order, and the bits in which not all agree.
#[pyfunction]
pub(crate) fn distinct<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, u128)> {
    let values = read(values)?;
    let (values, varying) = run(py, &on_one_core(), move |_| {
        let mut values = values.into_owned();
        values.sort_distinct();
        let first = values.get(0).unwrap_or_default();
        let varying = values.iter().fold(0, |all, value| all | (value ^ first));
        Ok((values, varying))
    })?;
    Ok((array(py, values)?, varying))
}

/// Returns the values of pairs in order, and the least value of each one's connected component.
#[pyfunction]
pub(crate) fn components<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Two<'py>> {
    let (left, right) = (read(left)?, read(right)?);
    if left.column().len() != right.column().len() {
        return Err(Class::Input.error(py, "the two columns of pairs differ in length"));
    }
    let (values, least) = run(py, &How::default(), move |_| {
        Ok(rounds::components(left.column(), right.column())?)
    })?;
    Ok((array(py, values)?, array(py, least)?))
}

/// Returns the place of each value in an ascending list of distinct values, or -1.
#[pyfunction]
pub(crate) fn lookup<'py>(
    py: Python<'py>,
    ordered: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (ordered, values) = (read(ordered)?, read(values)?);
    let found = py.detach(|| rounds::positions_in(ordered.column(), values.column()));
    let found = found.map_err(|error| Failure::from(error).raise(py))?;
    let found = found.into_iter().map(|at| at.map_or(-1, |at| at as i64));
    Ok(found.collect::<Vec<i64>>().into_pyarray(py).into_any())
}

/// Renames an index file to the name of a segment, in which `{content}` is replaced by its content id. Returns that
/// name, and the manifest of a set of this file alone.
#[pyfunction]
pub(crate) fn segment_manifest<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let path = options::path(path)?;
    let raise = |error: simidx::Error| Failure::from(error).raise(py);
    let folder = path.parent().unwrap_or(Path::new(""));
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut manifest = Manifest::default();
    let added = manifest
        .add_file(folder, &file)
        .map(|segment| segment.content_id);
    let content_id = added.map_err(raise)?;
    let name = name.replace("{content}", &format!("{content_id:032x}"));
    for segment in &mut manifest.segments {
        segment.name.clone_from(&name);
    }
    let bytes = manifest.to_bytes().map_err(raise)?;
    Ok((name, PyBytes::new(py, &bytes)))
}

/// Returns the manifest that replaces `before`: without the segments `gone`, and with those of `added` after the others.
/// It keeps the notes that `notes` does not replace. Without `gone` it keeps no segment and no note.
#[pyfunction]
pub(crate) fn next_manifest<'py>(
    py: Python<'py>,
    before: Option<&[u8]>,
    gone: Option<HashSet<String>>,
    added: Vec<Vec<u8>>,
    notes: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let raise = |error: simidx::Error| Failure::from(error).raise(py);
    let mut next = Manifest::default();
    match (before.map(Manifest::from_bytes), gone) {
        (Some(before), Some(gone)) => {
            next = before.map_err(raise)?;
            next.segments
                .retain(|segment| !gone.contains(&segment.name));
        }
        // A manifest of which nothing is kept may be damaged.
        (Some(before), None) => next.generation = before.map_or(0, |before| before.generation),
        (None, _) => {}
    }
    for bytes in added {
        let one = Manifest::from_bytes(&bytes).map_err(raise)?;
        next.segments.extend(one.segments);
    }
    next.notes.extend(notes);
    next.generation = next.generation.saturating_add(1);
    Ok(PyBytes::new(py, &next.to_bytes().map_err(raise)?))
}

/// A segment in Python: its name, its content id, the length of its file, and the number of its records.
type Listed = (String, String, u64, u64);

/// Returns the segments of a manifest.
#[pyfunction]
pub(crate) fn manifest_segments(py: Python<'_>, manifest: &[u8]) -> PyResult<Vec<Listed>> {
    let read = Manifest::from_bytes(manifest);
    let read = read.map_err(|error| Failure::from(error).raise(py))?;
    Ok(read
        .segments
        .into_iter()
        .map(|segment| {
            let content = format!("{:032x}", segment.content_id);
            let (len, records) = (segment.file_len, segment.record_count);
            (segment.name, content, len, records)
        })
        .collect())
}
