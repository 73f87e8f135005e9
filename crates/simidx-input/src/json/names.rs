//! Lists the names in an object, for the message about a missing one.

use serde_json::Value;

use crate::names;

/// Largest depth of the objects and lists that are searched.
const DEPTH: usize = 5;

/// Largest number of collected names.
const MOST: usize = 200;

/// Returns the members of an object and of its members, by descending similarity to the wanted name.
#[cold]
pub(super) fn list(wanted: &str, object: &str) -> String {
    let Ok(object) = serde_json::from_str::<Value>(object) else {
        return String::new();
    };
    let mut all = Vec::new();
    add("", &object, DEPTH, &mut all);
    names::list(wanted, &all)
}

/// Adds the paths of values that are neither objects nor lists, up to `depth`.
fn add(path: &str, value: &Value, depth: usize, all: &mut Vec<String>) {
    let within = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(members) if depth > 0 && !members.is_empty() => {
            for (name, value) in members {
                add(&within(name), value, depth - 1, all);
            }
        }
        Value::Array(items) if depth > 0 && !items.is_empty() && !path.is_empty() => {
            add(&within("*"), &items[0], depth - 1, all);
        }
        _ if !path.is_empty() && all.len() < MOST => all.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_at_any_depth_are_listed() {
        let object = r#"{"id": 1, "meta": {"url": "u", "tags": ["a"]}, "messages": [{"content": "x"}], "no": []}"#;
        let listed = list("contents", object);
        assert!(
            listed.starts_with("; it has: messages.*.content, "),
            "{listed}"
        );
        for name in ["id", "meta.url", "meta.tags.*", "no"] {
            assert!(listed.contains(name), "{listed}");
        }
        assert_eq!(list("x", "{}"), "");
        assert_eq!(list("x", "no JSON"), "");
    }
}
