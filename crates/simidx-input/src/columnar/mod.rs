//! Reads the rows of Parquet and Arrow files in record batches: the formats `parquet` and `arrow`.

mod arrays;
mod cells;
mod ipc;
mod ipc_copy;
mod leaves;
#[cfg(feature = "parquet")]
mod parquet_copy;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parquet_out;
mod records;
mod schema;
mod watched;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

#[cfg(feature = "parquet")]
use super::Format;
use super::new_fields::{RowFate, has_already};
use super::source::{input_error, io_error};
use super::{InputFile, NewField};
use crate::{Error, Place, Result};
pub(super) use ipc::ArrowBatches;
#[cfg(feature = "parquet")]
pub(super) use parquet_file::ParquetBatches;
#[cfg(feature = "parquet")]
pub use parquet_out::ParquetOut;
pub(super) use records::Records;
use schema::Leaf;

/// The rows of a file or a stream.
pub(super) trait Batches: Send {
    /// The name of the file in errors.
    fn name(&self) -> &str;

    /// The columns of the batches.
    fn schema(&self) -> &SchemaRef;

    /// Corrects the leaves of the schema: sets the paths that other programs write, and removes the kinds of values whose
    /// type Arrow lacks.
    fn correct(&self, _leaves: &mut [Leaf]) {}

    /// Limits decoding to these leaves, and to `rows` rows at a time if the file does not determine that. Returns the
    /// leaves of the schema from now on, which may be more, in ascending order.
    fn decode_only(&mut self, leaves: &BTreeSet<usize>, rows: usize) -> Result<Vec<usize>>;

    /// Returns the next batch; `None` at the end and after a failure.
    fn next(&mut self) -> Result<Option<RecordBatch>>;

    fn bytes_read(&self) -> u64;
}

/// Copies the rows that `fate` does not drop, with new fields. See [`rewrite_records`](crate::rewrite_records).
pub(super) fn copy_rows(
    inputs: &[InputFile],
    out: &mut (dyn Write + Send),
    fields: &[NewField],
    fate: RowFate<'_>,
) -> Result<()> {
    let Some(first) = inputs.first() else {
        return Ok(());
    };
    match first.format() {
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet_copy::copy_rows(inputs, out, fields, fate),
        _ => ipc_copy::copy_rows(inputs, out, fields, fate),
    }
}

/// Checks that the rows of a file can get these new columns.
fn check_new<'n>(
    name: &str,
    columns: impl Iterator<Item = &'n str> + Clone,
    fields: &[NewField],
) -> Result<()> {
    let has = |field: &&NewField| columns.clone().any(|column| column == field.name);
    match fields.iter().find(has) {
        Some(field) => Err(input_error(name, Place::File, has_already(field))),
        None => Ok(()),
    }
}

thread_local! {
    /// Whether this thread is in a guarded call, in which a panic is an error of the file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the library that reads files of a kind. A panic is the error of a damaged file.
fn guarded<T, E: ToString>(kind: &str, call: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    silence_guarded_panics();
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    let result = result.map_err(|_| format!("damaged {kind} file"))?;
    result.map_err(|error| {
        let message = error.to_string();
        let mut clause = message.lines().next().unwrap_or_default();
        for prefix in ["Parquet argument error: ", "Parquet error: ", "Ipc error: "] {
            clause = clause.strip_prefix(prefix).unwrap_or(clause);
        }
        format!("cannot be read as {kind}: {clause}")
    })
}

/// Suppresses the messages of panics in guarded calls. All other panics go to the previous hook.
fn silence_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
}

/// Returns the error of a file that cannot be read further.
fn unreadable(name: &str, message: &str) -> Error {
    io_error(name, io::Error::new(io::ErrorKind::InvalidData, message))
}

#[cfg(test)]
mod tests;
