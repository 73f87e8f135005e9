//! Reads and adds members of JSON objects.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::cells::{Cell, Columns, has_already};
use crate::new_fields::{FieldValue, NewField};

/// The members of an object, in order.
struct Members<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Visit<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Visit<V> {
            type Value = Members<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        json.deserialize_map(Visit(PhantomData))
    }
}

/// Converts an object to the cells of a row.
pub(super) fn take_apart(
    line: &str,
    columns: &mut Columns,
    row: &mut Vec<Cell>,
) -> Result<(), String> {
    let members: Members<&RawValue> =
        serde_json::from_str(line).map_err(|_| "not a JSON object")?;
    for (name, value) in members.0 {
        let number = columns.number(&name);
        if row.len() <= number {
            row.resize(number + 1, Cell::Missing);
        }
        row[number] = cell(value.get())?;
    }
    Ok(())
}

/// Converts a JSON value to a cell.
fn cell(value: &str) -> Result<Cell, String> {
    Ok(match value.as_bytes().first() {
        Some(b'"') => {
            let text = serde_json::from_str(value);
            Cell::Text(text.map_err(|_| "a string holds half of a surrogate pair")?)
        }
        // The value must fit a line.
        Some(b'{' | b'[') if value.contains(['\n', '\r']) => Cell::Json(compact(value)),
        Some(b'{' | b'[') => Cell::Json(value.to_owned()),
        Some(b't') => Cell::Bool(true),
        Some(b'f') => Cell::Bool(false),
        Some(b'n') => Cell::Null,
        _ => Cell::Number(value.to_owned()),
    })
}

/// Removes the white space outside strings.
fn compact(json: &str) -> String {
    let (mut in_string, mut escapes) = (false, false);
    let is_wanted = |&c: &char| {
        let is_quote = c == '"' && !escapes;
        escapes = in_string && c == '\\' && !escapes;
        in_string ^= is_quote;
        in_string || !c.is_ascii_whitespace()
    };
    json.chars().filter(is_wanted).collect()
}

/// Returns an object with further members at its end.
pub(super) fn with_members(
    line: &str,
    fields: &[NewField],
    values: &[Option<FieldValue>],
) -> Result<Vec<u8>, String> {
    let Members::<IgnoredAny>(members) =
        serde_json::from_str(line).map_err(|_| "not a JSON object")?;
    let has = |field: &&NewField| members.iter().any(|(name, _)| *name == field.name);
    if let Some(field) = fields.iter().find(has) {
        return Err(has_already(field));
    }
    let open = line
        .trim_end()
        .strip_suffix('}')
        .ok_or("not a JSON object")?;
    let mut object = open.trim_end().as_bytes().to_vec();
    let mut is_first = members.is_empty();
    for (field, value) in fields.iter().zip(values) {
        if !std::mem::take(&mut is_first) {
            object.push(b',');
        }
        crate::cells::write_string(&field.name, &mut object);
        object.push(b':');
        Cell::of(value).write_json(&mut object);
    }
    object.push(b'}');
    Ok(object)
}
