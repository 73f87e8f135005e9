//! Building a file, and merging several files into one.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use simidx::Set;
use simidx::builder::AtomicFile;
use simidx::design::TableDesign;
use simidx::merge::MergeOptions;
use simidx::{BuildOptions, Codec, IdKind, IndexBuilder, Width};

use crate::errors::{Class, Failure, raise};
use crate::exclusions::Excluded;
use crate::given::Given;
use crate::ids::{self, Ids};
use crate::index::PyIndex;
use crate::input::{self, Fingerprints};
use crate::opened::Opened;
use crate::options;
use crate::run::{How, Watch, run, run_apart};
use crate::texts::pipeline_of;

/// Records between two progress reports.
const PIECE: usize = 1 << 16;

/// Writes an index of these fingerprints to a file. The complete file replaces any file of its name.
#[pyfunction]
pub(crate) fn build(given: Given<'_>) -> PyResult<()> {
    let py = given.py();
    let path = options::path(&given.value("path")?)?;
    let read = input::fingerprints(&given.value("fingerprints")?, given.expected(None)?)?;
    let ids = ids::of_rows(given.get("ids")?.as_ref())?;
    let mut options = BuildOptions::default();
    options.max_distance = given.distance()?.unwrap_or(options.max_distance);
    options.design = design(&given, read.column().width(), options.max_distance)?;
    options.memory = given.memory()?;
    options.codec = given.read("codec", codec)?.flatten();
    let block_size = given.read("block_size", options::count)?;
    if let Some(bytes) = block_size {
        options.block_size = u32::try_from(bytes).unwrap_or(u32::MAX);
    }
    options.id_lookup = given.flag("id_lookup")?;
    options.pipeline = given.read("pipeline", |given, _| pipeline_of(given, 1))?;
    options.temp_dir = given.temp_dir()?;
    options.ids = match &ids {
        Ids::None => IdKind::None,
        Ids::Rows | Ids::Numbers(_) => IdKind::Number,
        Ids::Strings(_) => IdKind::String,
    };
    if let Some(metadata) = given.get("metadata")? {
        let Ok(metadata) = metadata.cast::<PyDict>() else {
            let what = "a dict is expected";
            return Err(options::refused(
                Class::OptionType,
                &metadata,
                "metadata",
                what,
            ));
        };
        for (key, value) in metadata {
            let [key, value] = [key.str()?.to_string(), value.str()?.to_string()];
            let inserted = options.metadata.insert(&key, &value);
            inserted.map_err(|error| raise(py, &error.into()))?;
        }
    }
    run(py, &given.how()?, move |watch| {
        write(options, &path, read, ids, watch)
    })
}

fn codec(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Codec>> {
    let Ok(given) = object.cast::<PyString>() else {
        let what = "a name is expected";
        return Err(options::refused(Class::OptionType, object, name, what));
    };
    match &*input::unicode(given, name)? {
        "auto" => Ok(None),
        name => match name.parse::<Codec>() {
            Ok(codec) => Ok(Some(codec)),
            Err(error) => Err(raise(object.py(), &error.into())),
        },
    }
}

/// Returns the design with the number of tables in `tables`.
fn design(given: &Given<'_>, width: Width, distance: u32) -> PyResult<Option<TableDesign>> {
    let tables = given.read("tables", options::count)?;
    let design = tables.map(|tables| TableDesign::with_table_count(width, distance, tables));
    design
        .transpose()
        .map_err(|error| raise(given.py(), &error.into()))
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
    // The target is checked before the work.
    let mut file = AtomicFile::create(path)?;
    let texts = match &ids {
        Ids::Strings(texts) => texts.all(),
        _ => Vec::new(),
    };
    match &ids {
        Ids::None | Ids::Rows => {}
        Ids::Numbers(numbers) => check(numbers.len())?,
        Ids::Strings(_) => check(texts.len())?,
    }
    let mut start = 0;
    for piece in fingerprints.chunks(PIECE) {
        let records = (start..).zip(piece.iter());
        match &ids {
            Ids::None => builder.extend_from_slice(piece)?,
            Ids::Rows => {
                for (row, fingerprint) in records {
                    builder.push_with_id(fingerprint, row as u64)?;
                }
            }
            Ids::Numbers(numbers) => {
                for (row, fingerprint) in records {
                    builder.push_with_id(fingerprint, numbers[row])?;
                }
            }
            Ids::Strings(_) => {
                for (row, fingerprint) in records {
                    let pushed = builder.push_with_id(fingerprint, texts[row]);
                    pushed.map_err(|error| of_row(row, error))?;
                }
            }
        }
        start += piece.len();
        watch.report("read", start as u64, total as u64)?;
    }
    drop(texts);
    // The builder has copied everything, and sorts it for a long time.
    watch.let_go((given, ids));
    builder.finish(&mut file)?;
    commit(file, watch)
}

/// Gives a file its name, unless the work has been stopped.
fn commit(mut file: AtomicFile, watch: &Watch) -> Result<(), Failure> {
    file.sync()?;
    watch.commit()?;
    Ok(file.commit()?)
}

/// Adds the number of the record to an error.
fn of_row(row: usize, error: simidx::Error) -> Failure {
    match error {
        simidx::Error::Build(error) => Failure::Other(Class::Input, format!("ids[{row}]: {error}")),
        error => error.into(),
    }
}

/// Writes one file with the records of several. `signed` applies to `exclude_fingerprints`.
#[pyfunction]
pub(crate) fn merge(given: Given<'_>) -> PyResult<()> {
    let py = given.py();
    let path = options::path(&given.value("path")?)?;
    let set = gathered(py, &given.value("inputs")?)?;
    let mut options = MergeOptions::default();
    let distance = given.distance()?;
    options.max_distance = distance;
    options.newest_wins = given.flag("newest_wins")?;
    options.temp_dir = given.temp_dir()?;
    options.memory = given.memory()?.unwrap_or(options.memory);
    let distance = distance.unwrap_or(set.max_distance());
    options.design = design(&given, set.width(), distance)?;
    if options.design.is_some() {
        options.max_distance = Some(distance);
    }
    let excluded = Excluded::read(&given, set.width(), "exclude_ids", "exclude_fingerprints")?;
    run(py, &given.how()?, move |watch| {
        excluded.add_to(&mut options.exclusions, watch)?;
        let mut file = AtomicFile::create(&path)?;
        options.watch = watch.of_library();
        set.merge(&options, &mut file)?;
        commit(file, watch)
    })
}

/// Returns the files to merge: paths, or open indexes.
fn gathered(py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Set> {
    let is_one = inputs.is_instance_of::<PyString>()
        || inputs.hasattr("__fspath__")?
        || inputs.is_instance_of::<PyIndex>();
    let items: Vec<Bound<'_, PyAny>> = match is_one {
        true => vec![inputs.clone()],
        false => input::iterate(inputs, "inputs")?.collect::<PyResult<_>>()?,
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
