//! JSON objects with a document or a fingerprint, and an optional id: the formats `jsonl` and `json`.

mod members;
mod names;
#[cfg(test)]
mod tests;
mod values;

use serde_json::error::Category;

use super::digits;
use super::fields::{CHOOSE, FINGERPRINT, Holds, TEXT, joined, null_texts};
use super::items::{ItemReader, Items};
use super::line_source::LineSource;
use super::source::Source;
use super::{Content, Fields, MAX_DOCUMENT, ReadOptions, Record};
use crate::id;
use members::{Found, Path, Value, find};
use simidx::{IdBuf, Width};
pub(super) use values::Values;

/// Returns a reader of an object on each line: the format `jsonl`.
pub(super) fn line_reader(source: Source, options: &ReadOptions) -> ItemReader<LineSource> {
    objects(LineSource::new(source, MAX_DOCUMENT), options)
}

/// Returns a reader of objects, independent of line ends: the format `json`.
pub(super) fn reader(source: Source, options: &ReadOptions) -> ItemReader<Values> {
    objects(Values::new(source, MAX_DOCUMENT), options)
}

fn objects<I: Items>(items: I, options: &ReadOptions) -> ItemReader<I> {
    let options = options.clone();
    ItemReader::new(items, move |object: &I, _| {
        let record = record(object.text()?, &options);
        record.map_err(|fault| object.error_at(fault.line, fault.message))
    })
}

/// The problem with an object.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    /// Number of lines of the object before the one with the problem.
    line: u64,
    message: String,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault { line: 0, message }
    }
}

/// Returns the record in an object.
fn record(object: &str, options: &ReadOptions) -> Result<Record, Fault> {
    let fields = &options.fields;
    let texts = fields.texts();
    let (fingerprint, id) = (texts.len(), texts.len() + 1);
    let path = |(slot, name)| Path::new(slot, name);
    let names = texts
        .iter()
        .copied()
        .chain([fields.fingerprint(), fields.id()]);
    let mut paths: Vec<Path<'_>> = names.enumerate().map(path).collect();
    match fields.holds() {
        Holds::Texts => paths.retain(|path| path.slot != fingerprint),
        Holds::Fingerprints => paths.retain(|path| path.slot >= fingerprint),
        Holds::Either => {}
    }
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(id + 1, Found::default);
    find(object, &paths, &mut found).map_err(|error| not_an_object(&error))?;
    for path in &paths {
        if found[path.slot].is_repeated {
            return Err(format!("{:?} appears twice", path.rest).into());
        }
    }
    let absent = |name: &str| format!("no {name:?}{}", names::list(name, object));
    let id = match found.pop() {
        None | Some(Found { value: None, .. }) if fields.id.is_some() => {
            return Err(absent(fields.id()).into());
        }
        id => id.and_then(|id| id.value),
    };
    let id = fields.found_id(id.map(|value| id_of(value, fields)))?;
    let fingerprint = found.pop().and_then(|found| found.value);
    let is_document = found.iter().any(Found::is_there);
    let holds_text = match (fields.holds(), is_document, &fingerprint) {
        (Holds::Texts, ..) | (Holds::Either, true, None) => true,
        (Holds::Fingerprints, ..) | (Holds::Either, false, Some(_)) => false,
        (Holds::Either, true, Some(_)) => return Err(both().into()),
        (Holds::Either, false, None) => {
            let names = names::list(TEXT, object);
            let advice = match names.is_empty() {
                true => String::new(),
                false => format!("{names}; {CHOOSE}"),
            };
            return Err(format!("neither {TEXT:?} nor {FINGERPRINT:?}{advice}").into());
        }
    };
    if !holds_text {
        let value = fingerprint.ok_or_else(|| absent(fields.fingerprint()))?;
        let content = Content::Fingerprint(fingerprint_of(value, fields, options.width)?);
        return Ok(Record::new(content, id));
    }
    let mut parts = Vec::with_capacity(texts.len());
    for (found, name) in found.into_iter().zip(&texts) {
        match found.is_there() {
            true => parts.push(found.into_text(name)?),
            false => return Err(absent(name).into()),
        }
    }
    // A single text, the usual case, is not copied.
    let text = match parts.len() {
        1 => parts.pop().flatten(),
        _ => joined(parts),
    };
    let text = text.ok_or_else(|| null_texts(&texts))?;
    Ok(Record::new(Content::Text(text), id))
}

fn both() -> String {
    format!(
        "both {TEXT:?} and {FINGERPRINT:?}; choose with --text-field {TEXT} or --fingerprint-field {FINGERPRINT}"
    )
}

/// Converts a JSON value to an id.
fn id_of(value: Value, fields: &Fields) -> Result<IdBuf, String> {
    match value {
        Value::Text(text) => id::from_text(&text),
        Value::Number(number) => Ok(IdBuf::Number(number)),
        _ => {
            let name = fields.id();
            Err(format!(
                "{name:?} is neither a string nor an unsigned integer below 2^64"
            ))
        }
    }
}

/// Converts a JSON value to a fingerprint.
fn fingerprint_of(value: Value, fields: &Fields, width: Width) -> Result<u128, String> {
    match value {
        Value::Text(text) => digits::hex(&text, width),
        Value::Number(number) if u128::from(number) <= width.max() => Ok(number.into()),
        Value::Number(number) => Err(format!("{number} does not fit a {width}-bit fingerprint")),
        _ => Err(format!(
            "{:?} is neither a string of hexadecimal digits nor an unsigned integer below 2^64",
            fields.fingerprint()
        )),
    }
}

/// Returns the problem with text that is not one JSON object.
fn not_an_object(error: &serde_json::Error) -> Fault {
    if error.classify() == Category::Data {
        return Fault::from("not a JSON object".to_owned());
    }
    let (message, line, column) = (error.to_string(), error.line(), error.column());
    let place = format!(" at line {line} column {column}");
    Fault {
        line: (line as u64).saturating_sub(1),
        message: match message.strip_suffix(&place) {
            Some(clause) => format!("not JSON: {clause} at column {column}"),
            None => format!("not JSON: {message}"),
        },
    }
}
