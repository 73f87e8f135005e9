//! The Python package `simidx`: the libraries `simidx` and `simidx-text` for arrays, and the program.
//!
//! Nothing is decided here: what is read from Python goes to the libraries, and what they give becomes arrays and tables. Work is done without
//! the interpreter, see `run`.
//!
//! No state relies on the lock of the interpreter, so that the module may be loaded by builds of Python without it: all classes are
//! frozen; what changes in them is behind a lock of its own (`PyIndex::opened`, `PyCollection::live`, `Matches::positions`), as is the pool of threads
//! (`run::pool`). A caller's array is read while a call runs, with the lock or without: nobody may write to it meanwhile.
//! A call that is broken off returns when its array is not read any more, see `run::Watch::let_go`.

mod arrays;
mod arrow;
mod build;
mod collection;
mod column;
mod distributed;
mod distributed_texts;
mod errors;
mod exclusions;
mod ids;
mod index;
mod input;
mod keywords;
mod matches;
mod opened;
mod options;
mod records;
mod run;
mod search;
mod sets;
mod similar;
mod table;
mod texts;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, of which the first is its name, and returns its exit code.
#[pyfunction]
fn _program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| simidx_cli::run(args))
}

#[pymodule(gil_used = false)]
fn _simidx(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::ArrowColumn>()?;
    module.add_class::<collection::Added>()?;
    module.add_class::<collection::Additions>()?;
    module.add_class::<collection::PyCollection>()?;
    module.add_class::<distributed::PyRounds>()?;
    module.add_class::<index::PyIndex>()?;
    module.add_class::<matches::Match>()?;
    module.add_class::<matches::Matches>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<texts::Comparison>()?;
    module.add_class::<texts::PyPipeline>()?;
    module.add_function(wrap_pyfunction!(_program, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_scatter, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_places, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_distinct, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_components, module)?)?;
    module.add_function(wrap_pyfunction!(distributed_texts::_text_keys, module)?)?;
    module.add_function(wrap_pyfunction!(distributed_texts::_dedup_texts, module)?)?;
    module.add_function(wrap_pyfunction!(
        distributed_texts::_dedup_documents,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(distributed_texts::_sketch_words, module)?)?;
    module.add_function(wrap_pyfunction!(
        distributed_texts::_sketch_matches,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(distributed::_lookup, module)?)?;
    module.add_function(wrap_pyfunction!(distributed_texts::_identities, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_segment_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_join_manifests, module)?)?;
    module.add_function(wrap_pyfunction!(distributed::_manifest_segments, module)?)?;
    module.add_function(wrap_pyfunction!(index::_reopen, module)?)?;
    module.add_function(wrap_pyfunction!(matches::_match, module)?)?;
    module.add_function(wrap_pyfunction!(matches::_matches, module)?)?;
    module.add_function(wrap_pyfunction!(texts::_pipeline, module)?)?;
    module.add_function(wrap_pyfunction!(index::open, module)?)?;
    module.add_function(wrap_pyfunction!(build::build, module)?)?;
    module.add_function(wrap_pyfunction!(build::merge, module)?)?;
    module.add_function(wrap_pyfunction!(sets::pairs, module)?)?;
    module.add_function(wrap_pyfunction!(sets::clusters, module)?)?;
    module.add_function(wrap_pyfunction!(sets::dedup, module)?)?;
    module.add_function(wrap_pyfunction!(similar::dedup_texts, module)?)?;
    module.add_function(wrap_pyfunction!(similar::pairs_texts, module)?)?;
    module.add_function(wrap_pyfunction!(similar::clusters_texts, module)?)?;
    module.add_function(wrap_pyfunction!(texts::compare, module)?)
}
