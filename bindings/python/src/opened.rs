//! The files of an open index: their full check, and their figures.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use simidx::segments::{AnySegments, Exclusions, Segments};
use simidx::{Error, IdKind, Index};

use crate::errors::{Class, Failure};
use crate::run::Watch;
use crate::width::{Width, named, width_of};

/// Runs code with segments of whatever width.
macro_rules! with_segments {
    ($any:expr, $segments:ident => $body:expr) => {
        match $any {
            AnySegments::W32($segments) => $body,
            AnySegments::W64($segments) => $body,
            AnySegments::W128($segments) => $body,
        }
    };
}

/// Open files and where they are.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) segments: AnySegments,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) in_memory: bool,
    /// Whether some records of the files are left out of answers.
    pub(crate) leaves_out: bool,
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
            leaves_out: false,
        })
    }

    /// The same files without some records, of one file if `only` names one by its number.
    pub(crate) fn without<F: Width>(
        &self,
        exclusions: &Exclusions<F>,
        only: Option<usize>,
    ) -> Result<Self, Failure> {
        let segments = self.of::<F>()?.clone();
        let segments = match only {
            None => segments.without(exclusions)?,
            Some(number) => segments.without_from(number, exclusions)?,
        };
        Ok(Opened {
            segments: F::any(segments),
            paths: self.paths.clone(),
            in_memory: self.in_memory,
            leaves_out: true,
        })
    }

    pub(crate) fn max_distance(&self) -> u32 {
        with_segments!(&self.segments, segments => segments.max_distance())
    }

    pub(crate) fn record_count(&self) -> u64 {
        with_segments!(&self.segments, segments => segments.record_count())
    }

    pub(crate) fn id_kind(&self) -> IdKind {
        with_segments!(&self.segments, segments => segments.id_kind())
    }

    pub(crate) fn pipeline(&self) -> Option<&str> {
        with_segments!(&self.segments, segments => segments.pipeline())
    }

    /// Number of fingerprints; one that several files hold counts for each.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        with_segments!(&self.segments, segments => segments.indexes().map(Index::len).sum())
    }

    /// The segments of a width, which is that of the files.
    pub(crate) fn of<F: Width>(&self) -> Result<&Segments<F>, Failure> {
        let of_other = || Failure::Other(Class::Internal, "a mix of widths".to_owned());
        F::segments(&self.segments).ok_or_else(of_other)
    }
}

/// Checks every byte of the files; the first problem is the error.
pub(crate) fn verify<F: Width>(segments: &Segments<F>, watch: &Watch) -> Result<(), Failure> {
    for (number, index) in segments.indexes().enumerate() {
        let total = segments.segment_count() as u64;
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

/// The figures of all files.
pub(crate) fn info<'py>(py: Python<'py>, opened: &Opened) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("width", width_of(&opened.segments))?;
    info.set_item("max_distance", opened.max_distance())?;
    info.set_item("record_count", opened.record_count())?;
    info.set_item("id_kind", opened.id_kind().name())?;
    info.set_item("pipeline", opened.pipeline())?;
    let files = PyList::empty(py);
    with_segments!(&opened.segments, segments => {
        for (name, index) in named(segments) {
            files.append(file_info(py, &name, &index)?)?;
        }
    });
    info.set_item("files", files)?;
    Ok(info)
}

/// The figures of a file.
fn file_info<'py, F: Width>(
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
