//! The Python package `simidx`: the libraries `simidx` and `simidx-text` for arrays, and the program.
//!
//! This crate only converts: values read from Python go to the libraries, and their results become arrays and tables.
//! Work runs without the interpreter, see `run`.
//!
//! The module does not rely on the GIL, so free-threaded builds of Python may load it: all classes are frozen; their
//! changing parts have their own locks (`PyIndex::opened`, `PyCollection::live`), and so has the pool of threads
//! (`run::pool`). A caller's array is read while a call runs, with the GIL or without, and must not be written to
//! meanwhile. A cancelled call returns only when its array is no longer read, see `run::Watch::let_go`.

mod arrays;
mod arrow;
mod build;
mod collection;
mod column;
mod distributed;
mod distributed_texts;
mod errors;
mod exclusions;
mod facts;
mod given;
mod ids;
mod index;
mod input;
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

/// Runs the program with these arguments, the first of which is its name. Returns its exit code.
#[pyfunction]
fn program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| simidx_cli::run(args))
}

#[pymodule(gil_used = false)]
mod _simidx {
    #[pymodule_export]
    #[expect(
        non_upper_case_globals,
        reason = "it is the name that Python has for it"
    )]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::program;
    #[pymodule_export]
    use crate::arrow::ArrowColumn;
    #[pymodule_export]
    use crate::build::{build, merge};
    #[pymodule_export]
    use crate::collection::{PyCollection, add, add_many};
    #[pymodule_export]
    use crate::distributed::{
        choose_rounds, components, distinct, find_pairs, lookup, manifest_segments, next_manifest,
        places, scatter, scatter_round, segment_manifest,
    };
    #[pymodule_export]
    use crate::distributed_texts::{
        identities, similarities, sketch_matches, sketch_words, text_keys,
    };
    #[pymodule_export]
    use crate::facts::Facts;
    #[pymodule_export]
    use crate::index::{PyIndex, fingerprints, ids_of, records, verify, warm};
    #[pymodule_export]
    use crate::search::{contains, join, query};
    #[pymodule_export]
    use crate::sets::{clusters, dedup, pairs};
    #[pymodule_export]
    use crate::similar::{clusters_texts, dedup_texts, dropped_texts, pairs_texts};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::texts::{PyPipeline, compare, fingerprints_and_features};
}
