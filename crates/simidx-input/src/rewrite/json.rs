//! Adds members to JSON objects.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::new_fields::{FieldValue, NewField, has_already};

/// The names of the members of an object, in order.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        json.deserialize_map(Visit)
    }
}

/// Returns an object with further members at its end.
pub(super) fn with_members(
    line: &str,
    fields: &[NewField],
    values: &[Option<FieldValue>],
) -> Result<Vec<u8>, String> {
    let Names(names) = serde_json::from_str(line).map_err(|_| "not a JSON object")?;
    let has = |field: &&NewField| names.contains(&field.name);
    if let Some(field) = fields.iter().find(has) {
        return Err(has_already(field));
    }
    let open = line
        .trim_end()
        .strip_suffix('}')
        .ok_or("not a JSON object")?;
    let mut object = open.trim_end().as_bytes().to_vec();
    let mut is_first = names.is_empty();
    for (field, value) in fields.iter().zip(values) {
        if !std::mem::take(&mut is_first) {
            object.push(b',');
        }
        let name = Value::from(field.name.as_str());
        let value = value.as_ref().map_or(Value::Null, FieldValue::json);
        object.extend(format!("{name}:{value}").into_bytes());
    }
    object.push(b'}');
    Ok(object)
}
