//! Files: building one, and merging several into one.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use simidx::Set;
use simidx::builder::AtomicFile;
use simidx::design::TableDesign;
use simidx::merge::{MergeOptions, merge as merge_files};
use simidx::{BuildOptions, Codec, IdKind, IndexBuilder, Width};

use crate::errors::{Class, Failure, raise};
use crate::exclusions::Excluded;
use crate::ids::{self, Ids};
use crate::index::PyIndex;
use crate::input::{self, Expected, Fingerprints};
use crate::opened::Opened;
use crate::options;
use crate::run::{How, Watch, run, run_apart};
use crate::texts::pipeline_of;

/// Records that are handed over between two reports of progress.
const PIECE: usize = 1 << 16;

/// Writes an index of these fingerprints to a file, which replaces what has its name when it is complete, and opens it.
#[pyfunction]
#[pyo3(signature = (path, fingerprints, ids=None, k=None, tables=None, memory=None, *, width=None, signed=false, codec=None, block_size=None, id_lookup=false, pipeline=None, metadata=None, temp_dir=None, threads=None, progress=None), text_signature = "(path, fingerprints, ids=None, k=3, tables=None, memory=None, *, width=None, signed=False, codec=None, block_size=None, id_lookup=False, pipeline=None, metadata=None, temp_dir=None, threads=None, progress=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn build(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    fingerprints: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
    k: Option<&Bound<'_, PyAny>>,
    tables: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    width: Option<u32>,
    signed: bool,
    codec: Option<&str>,
    block_size: Option<u32>,
    id_lookup: bool,
    pipeline: Option<&Bound<'_, PyAny>>,
    metadata: Option<&Bound<'_, PyDict>>,
    temp_dir: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyIndex> {
    let path = options::path(path)?;
    let read = input::fingerprints(fingerprints, Expected { width, signed })?;
    let ids = ids::read(ids)?;
    let how = How {
        threads: options::optional(threads, "threads", options::count)?,
        progress: options::progress(progress)?,
    };
    let mut options = BuildOptions::default();
    options.max_distance = options::optional(k, "k", options::distance)?.unwrap_or(3);
    if let Some(count) = options::optional(tables, "tables", options::count)? {
        let width = read.column().width();
        options.design = Some(design(py, width, options.max_distance, count)?);
    }
    options.memory = options::optional(memory, "memory", options::bytes)?;
    options.codec = codec_of(py, codec)?;
    options.block_size = block_size.unwrap_or(options.block_size);
    options.id_lookup = id_lookup;
    options.pipeline = pipeline.map(pipeline_of).transpose()?;
    options.temp_dir = temp_dir.map(options::path).transpose()?;
    options.ids = match &ids {
        Ids::None => IdKind::None,
        Ids::Rows | Ids::Numbers(_) => IdKind::Number,
        Ids::Strings(_) => IdKind::String,
    };
    for (key, value) in metadata.into_iter().flatten() {
        let [key, value] = [key.str()?.to_string(), value.str()?.to_string()];
        let inserted = options.metadata.insert(&key, &value);
        inserted.map_err(|error| raise(py, &error.into()))?;
    }
    let opened = run(py, &how, move |watch| {
        write(options, &path, read, ids, watch)?;
        Ok(Opened::open(vec![path], false)?)
    })?;
    Ok(PyIndex::new(opened))
}

fn codec_of(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Codec>> {
    match name {
        None | Some("auto") => Ok(None),
        Some(name) => {
            let codec = name.parse::<Codec>();
            codec.map(Some).map_err(|error| raise(py, &error.into()))
        }
    }
}

fn design(py: Python<'_>, width: Width, distance: u32, tables: usize) -> PyResult<TableDesign> {
    let design = TableDesign::with_table_count(width, distance, tables);
    design.map_err(|error| raise(py, &error.into()))
}

fn write(
    options: BuildOptions,
    path: &PathBuf,
    given: Fingerprints,
    ids: Ids,
    watch: &Watch,
) -> Result<(), Failure> {
    let fingerprints = given.column();
    let total = fingerprints.len();
    let check = |count: usize| match count == total {
        true => Ok(()),
        false => {
            let message = format!("there are {total} fingerprints and {count} ids");
            Err(Failure::Other(Class::Input, message))
        }
    };
    let mut builder = IndexBuilder::new(fingerprints.width(), options.watch(watch.of_library()))?;
    // What keeps the file from being written is known before the work.
    let mut file = AtomicFile::create(path)?;
    let report = |done: usize| watch.report("read", done as u64, total as u64);
    match &ids {
        Ids::None => {
            for (piece, done) in fingerprints.chunks(PIECE).zip((PIECE..).step_by(PIECE)) {
                builder.extend_from_slice(piece)?;
                report(done.min(total))?;
            }
        }
        Ids::Rows => {
            for (row, fingerprint) in fingerprints.iter().enumerate() {
                builder.push_with_id(fingerprint, row as u64)?;
                if row % PIECE == 0 {
                    report(row)?;
                }
            }
        }
        Ids::Numbers(numbers) => {
            check(numbers.len())?;
            for (row, (fingerprint, &id)) in fingerprints.iter().zip(&**numbers).enumerate() {
                builder.push_with_id(fingerprint, id)?;
                if row % PIECE == 0 {
                    report(row)?;
                }
            }
        }
        Ids::Strings(texts) => {
            let texts = texts.all();
            check(texts.len())?;
            for (row, (fingerprint, id)) in fingerprints.iter().zip(texts).enumerate() {
                let pushed = builder.push_with_id(fingerprint, id);
                pushed.map_err(|error| of_row(row, error))?;
                if row % PIECE == 0 {
                    report(row)?;
                }
            }
        }
    }
    // The builder has all, and sorts it for long.
    watch.let_go((given, ids));
    builder.finish(&mut file)?;
    file.sync()?;
    watch.commit()?;
    Ok(file.commit()?)
}

/// Says which record cannot be added.
fn of_row(row: usize, error: simidx::Error) -> Failure {
    match error {
        simidx::Error::Build(error) => Failure::Other(Class::Input, format!("ids[{row}]: {error}")),
        error => error.into(),
    }
}

/// Writes one file with the records of several, and opens it. `signed` is of `exclude_fingerprints`.
#[pyfunction]
#[pyo3(signature = (path, inputs, *, k=None, tables=None, newest_wins=false, exclude_ids=None, exclude_fingerprints=None, signed=false, memory=None, temp_dir=None, threads=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn merge(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    k: Option<&Bound<'_, PyAny>>,
    tables: Option<&Bound<'_, PyAny>>,
    newest_wins: bool,
    exclude_ids: Option<&Bound<'_, PyAny>>,
    exclude_fingerprints: Option<&Bound<'_, PyAny>>,
    signed: bool,
    memory: Option<&Bound<'_, PyAny>>,
    temp_dir: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyIndex> {
    let path = options::path(path)?;
    let how = How {
        threads: options::optional(threads, "threads", options::count)?,
        progress: options::progress(progress)?,
    };
    let set = gathered(py, inputs)?;
    let mut options = MergeOptions::default();
    options.max_distance = options::optional(k, "k", options::distance)?;
    options.newest_wins = newest_wins;
    options.temp_dir = temp_dir.map(options::path).transpose()?;
    if let Some(memory) = options::optional(memory, "memory", options::bytes)? {
        options.memory = memory;
    }
    if let Some(count) = options::optional(tables, "tables", options::count)? {
        let distance = options.max_distance.unwrap_or(set.max_distance());
        options.max_distance = Some(distance);
        options.design = Some(design(py, set.width(), distance, count)?);
    }
    let excluded = Excluded::read(
        py,
        set.width().bits(),
        exclude_ids,
        exclude_fingerprints,
        signed,
    )?;
    let opened = run(py, &how, move |watch| {
        excluded.add_to(&mut options.exclusions, watch)?;
        let mut file = AtomicFile::create(&path)?;
        options.watch = watch.of_library();
        merge_files(&set, &options, &mut file)?;
        file.sync()?;
        watch.commit()?;
        file.commit()?;
        Ok(Opened::open(vec![path], false)?)
    })?;
    Ok(PyIndex::new(opened))
}

/// The files to be merged: paths, or indexes that are open.
fn gathered(py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Set> {
    let is_one = inputs.is_instance_of::<PyString>()
        || inputs.hasattr("__fspath__")?
        || inputs.is_instance_of::<PyIndex>();
    let items: Vec<Bound<'_, PyAny>> = match is_one {
        true => vec![inputs.clone()],
        false => inputs.try_iter()?.collect::<PyResult<_>>()?,
    };
    let mut all: Vec<std::sync::Arc<Opened>> = Vec::new();
    for item in items {
        if let Ok(index) = item.cast::<PyIndex>() {
            all.push(index.get().opened(py)?);
        } else {
            let path = options::path(&item)?;
            let opened = run_apart(py, &How::default(), move |_| {
                Ok(Opened::open(vec![path], false)?)
            })?;
            all.push(std::sync::Arc::new(opened));
        }
    }
    let Some(first) = all.first() else {
        return Err(Class::Option.error(py, "there is no file to merge"));
    };
    if all.len() > 1 && all.iter().any(|opened| opened.leaves_out) {
        let message = "an index without some records is merged alone; pass exclude_ids to merge it with others";
        return Err(Class::Input.error(py, message));
    }
    if first.leaves_out {
        return Ok(first.set.clone());
    }
    if all.iter().any(|opened| opened.width() != first.width()) {
        let message = "the files differ in the width of their fingerprints and cannot be merged";
        return Err(Class::Input.error(py, message));
    }
    let sets = all.iter().map(|opened| opened.set.clone());
    Set::new(sets).map_err(|error| raise(py, &error))
}
