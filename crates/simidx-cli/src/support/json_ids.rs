//! Ids and matches as JSON, in the style that the user asked for.

use std::io::Write;

use serde_json::Value;
use simidx::{Id, IdBuf, Width};

use crate::support::json::json_style;

/// Writes the array of some ids.
///
/// # Errors
/// What `ids` or `out` reports; then a part of the array may be written.
pub(crate) fn write_ids(
    out: &mut impl Write,
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    json_style().write_ids(out, ids)
}

/// Writes the object of a match.
///
/// # Errors
/// What `ids` or `out` reports; then a part of the object may be written.
pub(crate) fn write_match(
    out: &mut impl Write,
    fingerprint: (u128, Width),
    distance: u32,
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    json_style().write_match(out, fingerprint, distance, ids)
}

/// An id as JSON says it.
pub(crate) fn id_to_json(id: Id<'_>) -> Value {
    match id {
        Id::Number(number) if json_style().strings => number.to_string().into(),
        Id::Number(number) => number.into(),
        Id::String(string) => string.into(),
    }
}
