//! Fingerprints as arrays of NumPy.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;

/// Creates an array of fingerprints: `uint32`, `uint64`, or two columns of `uint64` with the high half first.
pub(crate) fn array(
    py: Python<'_>,
    fingerprints: impl Into<simidx::Fingerprints>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(match fingerprints.into() {
        simidx::Fingerprints::W32(values) => values.into_pyarray(py).into_any(),
        simidx::Fingerprints::W64(values) => values.into_pyarray(py).into_any(),
        simidx::Fingerprints::W128(values) => {
            let halves = values.iter().flat_map(|&v| [(v >> 64) as u64, v as u64]);
            let halves: Vec<u64> = halves.collect();
            halves
                .into_pyarray(py)
                .reshape([values.len(), 2])?
                .into_any()
        }
    })
}
