//! The three widths: what is erased at the border to Python, and found again here.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use simidx::Fingerprint;
use simidx_collection::{AnyCollection, Collection};

use crate::column::Column;
use crate::input::Fingerprints;

/// Runs code for one of the three widths, in which `$F` is the type of fingerprints.
macro_rules! by_width {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            32 => {
                type $F = u32;
                $body
            }
            64 => {
                type $F = u64;
                $body
            }
            _ => {
                type $F = u128;
                $body
            }
        }
    };
}
pub(crate) use by_width;

/// A type of fingerprints with its arrays.
pub(crate) trait Width: Fingerprint + Send + Sync + 'static {
    /// The fingerprints if they have this width.
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>>;

    /// The collection if it has this width.
    fn collection(any: &AnyCollection) -> Option<&Collection<Self>>;
}

impl Width for u32 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W32(column) => Some(column),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W32(collection) => Some(collection),
            _ => None,
        }
    }
}

impl Width for u64 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W64(column) => Some(column),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W64(collection) => Some(collection),
            _ => None,
        }
    }
}

impl Width for u128 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W128(column) => Some(column),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W128(collection) => Some(collection),
            _ => None,
        }
    }
}

/// An array of fingerprints: `uint32`, `uint64`, or two columns of `uint64`, the high half first.
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
