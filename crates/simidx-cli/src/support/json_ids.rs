//! Ids and matches as JSON, written one by one: a vector of values would take many times their bytes.

use std::io::Write;

use serde_json::Value;
use simidx::{Fingerprint, Id, IdBuf};
use simidx_input::RecordId;

use crate::support::json::{are_ids_strings, write_json};

/// Writes the array of some ids.
///
/// # Errors
/// What `ids` or `out` reports; then a part of the array may be written.
pub(crate) fn write_ids(
    out: &mut impl Write,
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    out.write_all(b"[")?;
    let mut is_first = true;
    for id in ids {
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        match id?.as_id() {
            Id::String(string) => write_json(&mut *out, &string)?,
            number => write_json(&mut *out, &id_to_json(number))?,
        }
    }
    Ok(out.write_all(b"]")?)
}

/// Writes the object of a match.
///
/// # Errors
/// What `ids` or `out` reports; then a part of the object may be written.
pub(crate) fn write_match<F: Fingerprint>(
    out: &mut impl Write,
    (fingerprint, distance): (F, u32),
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    let hex = fingerprint.to_hex();
    write!(
        out,
        r#"{{"distance":{distance},"fingerprint":"{hex}","ids":"#
    )?;
    write_ids(out, ids)?;
    Ok(out.write_all(b"}")?)
}

/// An id as JSON says it.
pub(crate) fn id_to_json(id: Id<'_>) -> Value {
    match id {
        Id::Number(number) if are_ids_strings() => number.to_string().into(),
        Id::Number(number) => number.into(),
        Id::String(string) => string.into(),
    }
}

/// The id of a record as JSON says it.
pub(crate) fn record_id_to_json(id: &RecordId) -> Value {
    id_to_json(match id {
        RecordId::Number(number) => Id::Number(*number),
        RecordId::Text(text) => Id::String(text),
    })
}
