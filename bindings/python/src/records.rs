//! All records of an index: fingerprints and ids in columns.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use simidx::batch::IdColumn;
use simidx::{Fingerprints, IdKind, Set};

use crate::arrow::ArrowColumn;
use crate::errors::Failure;
use crate::run::Watch;
use crate::table;

/// Records between two progress reports.
const PIECE: usize = 1 << 14;

/// Reads the records of all files, ordered by fingerprint, then by id. Without ids, reads only the fingerprints.
pub(crate) fn read(set: &Set, watch: &Watch) -> Result<(Fingerprints, Option<IdColumn>), Failure> {
    let mut fingerprints = Fingerprints::new(set.width());
    let total = set.record_count();
    let report = |count: usize| match count.is_multiple_of(PIECE) {
        true => watch.report("read", count as u64, total),
        false => Ok(()),
    };
    if set.id_kind() == IdKind::None {
        for fingerprint in set.fingerprints(0)? {
            report(fingerprints.len())?;
            fingerprints.push(fingerprint?);
        }
        return Ok((fingerprints, None));
    }
    let mut ids = IdColumn::new(set.id_kind());
    let mut records = set.records()?;
    while let Some((fingerprint, id)) = records.read()? {
        report(fingerprints.len())?;
        fingerprints.push(fingerprint);
        ids.push(id);
    }
    Ok((fingerprints, Some(ids)))
}

/// Converts ids to Python: an array of numbers, a column of strings, or `None`.
pub(crate) fn to_python(py: Python<'_>, ids: Option<IdColumn>) -> PyResult<Bound<'_, PyAny>> {
    Ok(match ids {
        None => py.None().into_bound(py),
        Some(IdColumn::Numbers(numbers)) => numbers.into_pyarray(py).into_any(),
        Some(IdColumn::Strings { ends, text }) => {
            let array = table::strings(py, ends, text)?;
            ArrowColumn { array }.into_pyobject(py)?.into_any()
        }
    })
}
