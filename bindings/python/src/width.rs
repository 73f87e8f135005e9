//! The three widths: what is erased at the border to Python, and found again here.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use simidx::segments::{AnySegments, Segments};
use simidx::{Fingerprint, Index};
use simidx_collection::{AnyCollection, Collection};
use std::sync::Arc;

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

    /// The segments if they have this width.
    fn segments(any: &AnySegments) -> Option<&Segments<Self>>;

    /// The collection if it has this width.
    fn collection(any: &AnyCollection) -> Option<&Collection<Self>>;

    /// Segments of this width.
    fn any(segments: Segments<Self>) -> AnySegments;

    /// An array of fingerprints: `uint32`, `uint64`, or two columns of `uint64`, the high half first.
    fn array(py: Python<'_>, values: Vec<Self>) -> PyResult<Bound<'_, PyAny>>;
}

impl Width for u32 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W32(column) => Some(column),
            _ => None,
        }
    }

    fn segments(any: &AnySegments) -> Option<&Segments<Self>> {
        match any {
            AnySegments::W32(segments) => Some(segments),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W32(collection) => Some(collection),
            _ => None,
        }
    }

    fn any(segments: Segments<Self>) -> AnySegments {
        AnySegments::W32(segments)
    }

    fn array(py: Python<'_>, values: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        Ok(values.into_pyarray(py).into_any())
    }
}

impl Width for u64 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W64(column) => Some(column),
            _ => None,
        }
    }

    fn segments(any: &AnySegments) -> Option<&Segments<Self>> {
        match any {
            AnySegments::W64(segments) => Some(segments),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W64(collection) => Some(collection),
            _ => None,
        }
    }

    fn any(segments: Segments<Self>) -> AnySegments {
        AnySegments::W64(segments)
    }

    fn array(py: Python<'_>, values: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        Ok(values.into_pyarray(py).into_any())
    }
}

impl Width for u128 {
    fn column(fingerprints: Fingerprints) -> Option<Column<Self>> {
        match fingerprints {
            Fingerprints::W128(column) => Some(column),
            _ => None,
        }
    }

    fn segments(any: &AnySegments) -> Option<&Segments<Self>> {
        match any {
            AnySegments::W128(segments) => Some(segments),
            _ => None,
        }
    }

    fn collection(any: &AnyCollection) -> Option<&Collection<Self>> {
        match any {
            AnyCollection::W128(collection) => Some(collection),
            _ => None,
        }
    }

    fn any(segments: Segments<Self>) -> AnySegments {
        AnySegments::W128(segments)
    }

    fn array(py: Python<'_>, values: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        let halves = values.iter().flat_map(|&v| [(v >> 64) as u64, v as u64]);
        let halves: Vec<u64> = halves.collect();
        Ok(halves
            .into_pyarray(py)
            .reshape([values.len(), 2])?
            .into_any())
    }
}

/// Bits of the fingerprints of segments.
pub(crate) fn width_of(any: &AnySegments) -> u32 {
    match any {
        AnySegments::W32(_) => 32,
        AnySegments::W64(_) => 64,
        AnySegments::W128(_) => 128,
    }
}

/// The indexes of segments with their names.
pub(crate) fn named<F: Width>(segments: &Segments<F>) -> Vec<(String, Arc<Index<F>>)> {
    let indexes = segments.segments().iter().cloned();
    segments.names().iter().cloned().zip(indexes).collect()
}
