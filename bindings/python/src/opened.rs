//! The files of an open index: their checks and figures.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use simidx::set::{Exclusions, Segment};
use simidx::{IdKind, Set, Width};

/// Open files and their paths.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) set: Set,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) in_memory: bool,
    /// Whether answers exclude some records of the files.
    pub(crate) leaves_out: bool,
}

impl Opened {
    /// Opens files.
    pub(crate) fn open(paths: Vec<PathBuf>, in_memory: bool) -> simidx::Result<Self> {
        let set = match in_memory {
            true => Set::open_in_memory(&paths)?,
            false => Set::open(&paths)?,
        };
        Ok(Opened {
            set,
            paths,
            in_memory,
            leaves_out: false,
        })
    }

    /// Returns the same files without some records, all or only those of file number `only`.
    pub(crate) fn without(
        &self,
        exclusions: &Exclusions,
        only: Option<usize>,
    ) -> simidx::Result<Self> {
        let set = self.set.clone();
        Ok(Opened {
            set: match only {
                None => set.without(exclusions)?,
                Some(number) => set.without_from(number, exclusions)?,
            },
            paths: self.paths.clone(),
            in_memory: self.in_memory,
            leaves_out: true,
        })
    }

    /// The width of the fingerprints.
    pub(crate) fn width(&self) -> Width {
        self.set.width()
    }

    /// Number of fingerprints; one in several files counts for each.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.set.segments().map(Segment::len).sum()
    }

    /// Returns the expected nanoseconds of a query within a distance.
    pub(crate) fn query_ns(&self, distance: u32) -> f64 {
        let plans = self.set.segments().map(|file| file.plan(distance));
        plans.map(|plan| plan.ns()).sum()
    }
}

/// Returns the figures of all files.
pub(crate) fn info<'py>(py: Python<'py>, opened: &Opened) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    let set = &opened.set;
    info.set_item("width", opened.width().bits())?;
    info.set_item("max_distance", set.max_distance())?;
    info.set_item("record_count", set.record_count())?;
    info.set_item("id_kind", set.id_kind().name())?;
    info.set_item("pipeline", set.pipeline())?;
    let files = PyList::empty(py);
    for segment in set.segments() {
        files.append(file_info(py, segment)?)?;
    }
    info.set_item("files", files)?;
    Ok(info)
}

/// Returns the figures of a file.
fn file_info<'py>(py: Python<'py>, segment: Segment<'_>) -> PyResult<Bound<'py, PyDict>> {
    let summary = segment.summary();
    let info = PyDict::new(py);
    info.set_item("path", segment.name())?;
    info.set_item("max_distance", summary.max_distance)?;
    info.set_item("record_count", summary.record_count)?;
    info.set_item("fingerprint_count", summary.fingerprint_count)?;
    info.set_item("table_count", summary.tables.len())?;
    info.set_item("block_size", summary.block_size)?;
    info.set_item("id_kind", summary.id_kind.name())?;
    info.set_item("has_ids", summary.id_kind != IdKind::None)?;
    info.set_item("has_id_lookup", summary.has_id_lookup)?;
    info.set_item("content_id", summary.content_id.to_string())?;
    info.set_item("file_bytes", summary.file_len)?;
    info.set_item("raw_bytes", summary.raw_len())?;
    info.set_item("bits_per_fingerprint", summary.bits_per_fingerprint())?;
    info.set_item(
        "bound_bits_per_fingerprint",
        summary.bound_bits_per_fingerprint(),
    )?;
    let metadata = PyDict::new(py);
    for (key, value) in segment.metadata().iter() {
        metadata.set_item(key, value)?;
    }
    info.set_item("metadata", metadata)?;
    let tables = PyList::empty(py);
    for table in &summary.tables {
        let of_table = PyDict::new(py);
        of_table.set_item("prefix_bits", table.prefix_bits())?;
        of_table.set_item("flips", table.flips)?;
        of_table.set_item("codec", table.codec.name())?;
        of_table.set_item("block_count", table.block_count)?;
        of_table.set_item("bytes", table.byte_len)?;
        tables.append(of_table)?;
    }
    info.set_item("tables", tables)?;
    Ok(info)
}
