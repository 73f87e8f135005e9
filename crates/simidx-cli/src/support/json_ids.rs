//! Ids and matches as JSON, written one by one: a vector of values would take many times their bytes.

use std::io::Write;

use serde_json::Value;
use simidx::{Fingerprint, Id, IdBuf};

/// Writes the array of some ids.
///
/// # Errors
/// What `ids` or `out` reports; then a part of the array may be written.
pub(crate) fn write_ids(
    out: &mut impl Write,
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    out.write_all(b"[")?;
    let mut separator = "";
    for id in ids {
        write!(out, "{separator}{}", id_to_json(id?.as_id()))?;
        separator = ",";
    }
    Ok(out.write_all(b"]")?)
}

/// Adds the object of a match to the elements of an array.
///
/// # Errors
/// What `ids` reports.
pub(crate) fn push_match<F: Fingerprint>(
    elements: &mut Vec<u8>,
    (fingerprint, distance): (F, u32),
    ids: impl Iterator<Item = simidx::Result<IdBuf>>,
) -> simidx::Result<()> {
    if !elements.is_empty() {
        elements.push(b',');
    }
    let hex = fingerprint.to_hex();
    write!(
        elements,
        r#"{{"distance":{distance},"fingerprint":"{hex}","ids":"#
    )?;
    write_ids(elements, ids)?;
    elements.push(b'}');
    Ok(())
}

/// An id as JSON says it.
pub(crate) fn id_to_json(id: Id<'_>) -> Value {
    match id {
        Id::Number(number) => number.into(),
        Id::String(string) => string.into(),
    }
}
