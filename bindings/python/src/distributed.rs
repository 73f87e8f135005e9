//! Parts of searches on many machines, for `simidx.distributed`: arrays in, arrays out.

use std::collections::BTreeMap;
use std::path::Path;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use simidx::Fingerprint;
use simidx::batch::{self, PairRound, PairRounds, RoundsRequest};
use simidx::set::Manifest;

use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::options;
use crate::run::{How, run};
use crate::width::{Width, array, by_width};

/// A round as Python keeps it: within, value, mask, before, divided.
type Round = (u128, u128, u128, Vec<u128>, Vec<u128>);

fn round_of<F: Fingerprint>((within, value, mask, before, divided): &Round) -> PairRound<F> {
    let all = |values: &[u128]| values.iter().map(|&value| F::from_u128(value)).collect();
    PairRound {
        within: F::from_u128(*within),
        value: F::from_u128(*value),
        mask: F::from_u128(*mask),
        before: all(before),
        divided: all(divided),
    }
}

fn plain<F: Fingerprint>(round: &PairRound<F>) -> Round {
    let all = |values: &[F]| values.iter().map(|value| value.to_u128()).collect();
    (
        round.within.to_u128(),
        round.value.to_u128(),
        round.mask.to_u128(),
        all(&round.before),
        all(&round.divided),
    )
}

/// The rounds of a search for pairs on many machines.
#[pyclass(frozen, module = "simidx._simidx", name = "_PairRounds")]
pub(crate) struct PyRounds {
    width: u32,
    distance: u32,
    rounds: Vec<Round>,
}

impl PyRounds {
    fn typed<F: Fingerprint>(&self) -> PairRounds<F> {
        PairRounds::of_rounds(self.distance, self.rounds.iter().map(round_of).collect())
    }

    fn check(&self, py: Python<'_>, round: usize) -> PyResult<()> {
        match round < self.rounds.len() {
            true => Ok(()),
            false => {
                let message = format!("round={round}: there are {} rounds", self.rounds.len());
                Err(Class::Option.error(py, message))
            }
        }
    }
}

pub(crate) fn of_width<F: Width>(object: &Bound<'_, PyAny>, width: u32) -> PyResult<Column<F>> {
    let expected = Expected {
        width: Some(width),
        signed: true,
    };
    let read = input::fingerprints(object, expected)?;
    F::column(read).ok_or_else(|| Class::Internal.error(object.py(), "a mix of widths"))
}

fn places(py: Python<'_>, count: usize) -> PyResult<usize> {
    match (1..=1 << 24).contains(&count) {
        true => Ok(count),
        false => {
            let message = format!("places={count}: 1 to {} are possible", 1 << 24);
            Err(Class::Option.error(py, message))
        }
    }
}

fn scattered<F: Width>(
    py: Python<'_>,
    (values, ends): (Vec<F>, Vec<usize>),
) -> PyResult<Bound<'_, PyTuple>> {
    let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
    PyTuple::new(py, [array(py, values)?, ends.into_pyarray(py).into_any()])
}

#[pymethods]
impl PyRounds {
    #[new]
    fn new(width: u32, distance: u32, rounds: Vec<Round>) -> Self {
        PyRounds {
            width,
            distance,
            rounds,
        }
    }

    /// Chooses rounds for about so many distinct fingerprints, of which these are a sample.
    #[staticmethod]
    fn choose(
        k: &Bound<'_, PyAny>,
        count: u64,
        varying: u128,
        sample: &Bound<'_, PyAny>,
        largest_share: f64,
    ) -> PyResult<Self> {
        let distance = options::distance(k, "k")?;
        let expected = Expected {
            width: None,
            signed: true,
        };
        let read = input::fingerprints(sample, expected)?;
        let width = read.width();
        let rounds = by_width!(width, F => {
            let Some(sample) = F::column(read) else {
                return Err(Class::Internal.error(k.py(), "a mix of widths"));
            };
            let rounds = PairRounds::new(&RoundsRequest {
                distance,
                count,
                varying: F::from_u128(varying),
                sample: &sample,
                largest_share,
            });
            rounds.rounds().iter().map(plain).collect()
        });
        Ok(PyRounds {
            width,
            distance,
            rounds,
        })
    }

    fn __len__(&self) -> usize {
        self.rounds.len()
    }

    #[getter]
    fn width(&self) -> u32 {
        self.width
    }

    #[getter]
    fn distance(&self) -> u32 {
        self.distance
    }

    #[getter]
    fn rounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.rounds.clone())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class = py.import("simidx._simidx")?.getattr("_PairRounds")?;
        (class, (self.width, self.distance, self.rounds.clone())).into_pyobject(py)
    }

    /// Which values go to which place in a round.
    fn scatter<'py>(
        &self,
        py: Python<'py>,
        round: usize,
        values: &Bound<'py, PyAny>,
        places: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.check(py, round)?;
        let places = self::places(py, places)?;
        by_width!(self.width, F => {
            let (values, rounds) = (of_width::<F>(values, self.width)?, self.typed::<F>());
            scattered(py, py.detach(|| rounds.scatter(round, &values, places)))
        })
    }

    /// The pairs of the values of a place in a round, or as many as link them.
    #[pyo3(signature = (round, values, links, threads=None))]
    fn find<'py>(
        &self,
        py: Python<'py>,
        round: usize,
        values: &Bound<'py, PyAny>,
        links: bool,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.check(py, round)?;
        let how = How {
            threads: options::optional(threads, "threads", options::count)?,
            progress: None,
        };
        by_width!(self.width, F => {
            let (values, rounds) = (of_width::<F>(values, self.width)?, self.typed::<F>());
            let (left, right) = run(py, &how, move |_| {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                let visit = |x: F, y: F| {
                    left.push(x.min(y));
                    right.push(x.max(y));
                };
                match links {
                    true => rounds.links(round, &values, visit)?,
                    false => rounds.pairs(round, &values, visit)?,
                }
                Ok((left, right))
            })?;
            PyTuple::new(py, [array(py, left)?, array(py, right)?])
        })
    }
}

/// Values by places, and where those of each place end.
#[pyfunction]
pub(crate) fn _scatter<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    width: u32,
    places: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let places = self::places(py, places)?;
    by_width!(width, F => {
        let values = of_width::<F>(values, width)?;
        scattered(py, py.detach(|| batch::scatter_values(&values, places)))
    })
}

/// The place of each value in `_scatter`.
#[pyfunction]
pub(crate) fn _places<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    width: u32,
    places: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let places = self::places(py, places)?;
    by_width!(width, F => {
        let values = of_width::<F>(values, width)?;
        let of_values = py.detach(|| batch::places_of(&values, places));
        Ok(of_values.into_pyarray(py).into_any())
    })
}

/// The distinct values in order, and the bits in which not all agree.
#[pyfunction]
pub(crate) fn _distinct<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    width: u32,
) -> PyResult<(Bound<'py, PyAny>, u128)> {
    by_width!(width, F => {
        let values = of_width::<F>(values, width)?;
        let (values, varying) = run(py, &one_thread(), move |_| {
            let mut values = values.to_vec();
            F::sort(&mut values);
            values.dedup();
            let first = values.first().copied().unwrap_or_default();
            let varying = values.iter().fold(F::ZERO, |all, &value| all | (value ^ first));
            Ok((values, varying.to_u128()))
        })?;
        Ok((array(py, values)?, varying))
    })
}

/// The values of pairs in order, and the least value that pairs lead to from each.
#[pyfunction]
pub(crate) fn _components<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
    width: u32,
) -> PyResult<Bound<'py, PyTuple>> {
    by_width!(width, F => {
        let (left, right) = (of_width::<F>(left, width)?, of_width::<F>(right, width)?);
        if left.len() != right.len() {
            return Err(Class::Input.error(py, "the two columns of pairs differ in length"));
        }
        let (values, least) = run(py, &How::default(), move |_| {
            let pairs: Vec<(F, F)> = left.iter().copied().zip(right.iter().copied()).collect();
            Ok(batch::components(&pairs)?)
        })?;
        PyTuple::new(py, [array(py, values)?, array(py, least)?])
    })
}

/// The place of each value among distinct ones in order, or -1.
#[pyfunction]
pub(crate) fn _lookup<'py>(
    py: Python<'py>,
    ordered: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    width: u32,
) -> PyResult<Bound<'py, PyAny>> {
    by_width!(width, F => {
        let (ordered, values) = (of_width::<F>(ordered, width)?, of_width::<F>(values, width)?);
        let found = py.detach(|| batch::positions_in(&ordered, &values));
        let found = found.into_iter().map(|at| at.map_or(-1, |at| at as i64));
        Ok(found.collect::<Vec<i64>>().into_pyarray(py).into_any())
    })
}

/// A task has one core.
fn one_thread() -> How {
    How {
        threads: Some(1),
        progress: None,
    }
}

/// Gives an index file the name of a segment, in which `{content}` stands for its content identifier: that name, and the manifest of
/// a set of this file alone.
#[pyfunction]
pub(crate) fn _segment_manifest<'py>(
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

/// One manifest of the segments of several, in their order.
#[pyfunction]
pub(crate) fn _join_manifests<'py>(
    py: Python<'py>,
    manifests: Vec<Vec<u8>>,
    notes: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let raise = |error: simidx::Error| Failure::from(error).raise(py);
    let mut all = Manifest::default();
    for bytes in manifests {
        let one = Manifest::from_bytes(&bytes).map_err(raise)?;
        all.segments.extend(one.segments);
    }
    all.notes = notes;
    Ok(PyBytes::new(py, &all.to_bytes().map_err(raise)?))
}

/// The names of the segments of a manifest, each with the identifier of its contents and the length of its file.
#[pyfunction]
pub(crate) fn _manifest_segments(
    py: Python<'_>,
    manifest: &[u8],
) -> PyResult<Vec<(String, String, u64)>> {
    let read = Manifest::from_bytes(manifest);
    let read = read.map_err(|error| Failure::from(error).raise(py))?;
    Ok(read
        .segments
        .into_iter()
        .map(|segment| {
            let content = format!("{:032x}", segment.content_id);
            (segment.name, content, segment.file_len)
        })
        .collect())
}
