//! Adds members to JSON objects.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::new_fields::{FieldValue, NewField, has_already};

/// Returns an object with further members at its end.
pub(super) fn with_members(
    line: &str,
    fields: &[NewField],
    values: &[Option<FieldValue>],
) -> Result<Vec<u8>, String> {
    let members: HashMap<String, IgnoredAny> =
        serde_json::from_str(line).map_err(|_| "not a JSON object")?;
    let has = |field: &&NewField| members.contains_key(&field.name);
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
        let name = Value::from(field.name.as_str());
        let value = value.as_ref().map_or(Value::Null, FieldValue::json);
        object.extend(format!("{name}:{value}").into_bytes());
    }
    object.push(b'}');
    Ok(object)
}
