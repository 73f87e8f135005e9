//! The files of an open index: their full check, and their figures.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use simidx::segments::{AnySegments, Segments, SegmentsView};
use simidx::{Error, IdKind, Index, Storage};

use crate::errors::{Class, Failure};
use crate::run::Watch;
use crate::width::Width;

/// Open files and where they are.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) segments: AnySegments,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) in_memory: bool,
}

impl Opened {
    /// Opens files.
    pub(crate) fn open(paths: Vec<PathBuf>, in_memory: bool) -> simidx::Result<Self> {
        let segments = match in_memory {
            true => AnySegments::open_in_memory(&paths)?,
            false => AnySegments::open(&paths)?,
        };
        Ok(Opened {
            segments,
            paths,
            in_memory,
        })
    }

    /// The segments of a width, which is that of the files.
    pub(crate) fn of<F: Width>(&self) -> Result<&Segments<F>, Failure> {
        let of_other = || Failure::Other(Class::Internal, "a mix of widths".to_owned());
        F::segments(&self.segments).ok_or_else(of_other)
    }
}

/// Checks every byte of the files; the first problem is the error.
pub(crate) fn verify<F: Width>(segments: &Segments<F>, watch: &Watch) -> Result<(), Failure> {
    let view: SegmentsView<'_, F, Storage> = segments.view();
    for (number, index) in view.indexes().enumerate() {
        let total = view.segment_count() as u64;
        let report = index.verify_while(|_| match watch.report("verify", number as u64, total) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        watch.check()?;
        let report = report.unwrap_or_default();
        if let Some(first) = report.problems.into_iter().next() {
            return Err(Failure::Library(Error::Segment {
                segment: number,
                name: segments.names()[number].clone(),
                error: Box::new(first.into()),
            }));
        }
    }
    Ok(())
}

/// The figures of a file.
pub(crate) fn file_info<'py, F: Width>(
    py: Python<'py>,
    name: &str,
    index: &Index<F>,
) -> PyResult<Bound<'py, PyDict>> {
    let summary = index.summary();
    let info = PyDict::new(py);
    info.set_item("path", name)?;
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
    for (key, value) in index.metadata().iter() {
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
