//! Ids and matches as JSON, written one by one: a vector of values would take many times their bytes.

use std::io::Write;

use serde_json::Value;
use simidx::{Fingerprint, Id, Match};

/// What calls a function with each id.
pub(crate) type ReadIds<'r> = &'r dyn Fn(&mut dyn FnMut(Id<'_>)) -> simidx::Result<()>;

/// Writes the array of the ids that `read` gives.
///
/// # Errors
/// What `read` or `out` reports; then a part of the array may be written.
pub(crate) fn write_ids(out: &mut impl Write, read: ReadIds<'_>) -> simidx::Result<()> {
    out.write_all(b"[")?;
    let (mut separator, mut result) = ("", Ok(()));
    read(&mut |id| {
        if result.is_ok() {
            result = write!(out, "{separator}{}", id_to_json(id));
        }
        separator = ",";
    })?;
    result?;
    Ok(out.write_all(b"]")?)
}

/// Adds the object of a match to the elements of an array.
///
/// # Errors
/// What `read` reports.
pub(crate) fn push_match<F: Fingerprint>(
    elements: &mut Vec<u8>,
    found: Match<F>,
    read: ReadIds<'_>,
) -> simidx::Result<()> {
    if !elements.is_empty() {
        elements.push(b',');
    }
    let (distance, hex) = (found.distance, found.fingerprint.to_hex());
    write!(
        elements,
        r#"{{"distance":{distance},"fingerprint":"{hex}","ids":"#
    )?;
    write_ids(elements, read)?;
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
