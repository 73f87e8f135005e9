//! Finds members of most objects without a general parser, which would copy a text twice.

use serde::de::IgnoredAny;

use super::members::{Found, Path, Value};

/// White space between the tokens of JSON.
const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Finds texts and whole numbers at the names of members of an object, and skips its other members. Returns `None` if
/// something else is needed, or if this is not an object: then the general parser decides. `found` may have values by then.
pub(super) fn find(object: &str, paths: &[Path<'_>], found: &mut [Found]) -> Option<()> {
    if paths.iter().any(|path| path.rest.contains('.')) {
        return None;
    }
    let mut rest = after(object, '{')?;
    loop {
        let (name, value) = name(rest)?;
        let path = paths.iter().find(|path| path.rest == name);
        rest = match (path, value.strip_prefix('"')) {
            (Some(path), Some(text)) => {
                let (text, rest) = unescaped(text)?;
                found[path.slot].set(Value::Text(text));
                rest
            }
            (path, _) => {
                let (value, rest) = value.split_at(value_length(value)?);
                if let Some(path) = path {
                    found[path.slot].set(Value::Number(value.parse().ok()?));
                }
                rest
            }
        };
        if let Some(next) = after(rest, ',') {
            rest = next;
            continue;
        }
        let end = after(rest, '}')?;
        return end.trim_start_matches(WHITE).is_empty().then_some(());
    }
}

/// Returns what follows a token and the white space before it.
fn after(text: &str, token: char) -> Option<&str> {
    text.trim_start_matches(WHITE).strip_prefix(token)
}

/// Returns a name without escapes, and the text from its value on.
fn name(text: &str) -> Option<(&str, &str)> {
    let text = after(text, '"')?;
    let (name, rest) = text.split_at(plain_length(text.as_bytes()));
    let value = after(rest.strip_prefix('"')?, ':')?;
    Some((name, value.trim_start_matches(WHITE)))
}

/// Returns the length of the value at the start of a text.
fn value_length(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Returns a string from behind its opening quote, and the text after it.
fn unescaped(mut rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    loop {
        let (plain, special) = rest.split_at(plain_length(rest.as_bytes()));
        text.push_str(plain);
        if let Some(rest) = special.strip_prefix('"') {
            text.shrink_to_fit();
            return Some((text, rest));
        }
        let (c, length) = escaped(special)?;
        // Once there is an escape, there may be many: the text grows once.
        text.reserve(special.len());
        text.push(c);
        rest = &special[length..];
    }
}

/// Returns the character of the escape at the start of a text, and the length of the escape.
fn escaped(text: &str) -> Option<(char, usize)> {
    let c = match text.strip_prefix('\\')?.bytes().next()? {
        b'u' => {
            let digits = text.get(2..6)?;
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
            // A surrogate is half a character, of which the general parser joins two.
            return Some((char::from_u32(code)?, 6));
        }
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        c @ (b'"' | b'\\' | b'/') => c.into(),
        _ => return None,
    };
    Some((c, 2))
}

/// Returns the number of bytes before a quote, a backslash or a control character. The compiler makes vector instructions of
/// the check of a chunk.
fn plain_length(text: &[u8]) -> usize {
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let is_plain = |chunk: &&[u8; 16]| {
        let any = chunk
            .iter()
            .fold(false, |any, &byte| any | is_special(byte));
        !any
    };
    let (chunks, _) = text.as_chunks();
    let length = 16 * chunks.iter().take_while(is_plain).count();
    let rest = text[length..].iter();
    length + rest.take_while(|&&byte| !is_special(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::members;
    use proptest::prelude::*;

    /// The values that are found, or `None` if the general parser decides.
    fn found(object: &str, is_plain: bool) -> Option<String> {
        let paths = ["text", "id"].into_iter().enumerate();
        let paths: Vec<_> = paths.map(|(slot, name)| Path::new(slot, name)).collect();
        let mut found = [Found::default(), Found::default()];
        match is_plain {
            true => find(object, &paths, &mut found)?,
            false => members::find(object, &paths, &mut found).ok()?,
        }
        Some(format!("{found:?}"))
    }

    #[test]
    fn usual_objects_are_plain() {
        for object in [
            r#"{"id":"a","text":"one\ntwo \u00e9\"\\\/\b\f\r\t"}"#,
            r#" { "text" : "汉字, sixteen bytes or more: \u6c49" , "more" : {"x":[1,null,"}"]} , "id" : 7 } "#,
            r#"{"text":"","text":"twice","url":"\ud83d\ude42","n":-1.5e3}"#,
        ] {
            let plain = found(object, true);
            assert!(plain.is_some(), "{object}");
            assert_eq!(plain, found(object, false), "{object}");
        }
        for other in [
            r#"{}"#,
            r#"{"text":null}"#,
            r#"{"te\u0078t":"a"}"#,
            r#"{"text":"\ud83d\ude42"}"#,
            r#"{"text":"\u+123"}"#,
            r#"{"text":"a","id":-0}"#,
            r#"{"text":"a","id":18446744073709551616}"#,
            r#"{"text":"a"} x"#,
            r#"{"text":"a",}"#,
            "{\"text\":\"a\tb\"}",
            r#"[1]"#,
            "",
        ] {
            assert_eq!(found(other, true), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn the_general_parser_finds_the_same(
            members in prop::collection::vec(
                (
                    "(text|id|other|te\\\\u0078t)",
                    prop_oneof![
                        "\"[a汉 \\\\\"/bnu0d8é\t]{0,40}\"",
                        "\"([a-z]{0,20}|\\\\[nrtbf/\\\\\"]|\\\\u[0-9a-fA-F]{4}){0,6}\"",
                        "(-?[0-9]{1,21}(\\.5)?(e3)?|null|true|nul|\\[\\]|\\{\"id\":3\\}|\\[[,\"1\\]]{0,4})",
                    ],
                ),
                0..4,
            ),
            white in "[ \\n\u{a0}]{0,1}",
            end in "(|\\}| \\}|\\},|\\} x)",
        ) {
            let members = members.iter().map(|(name, value)| format!("\"{name}\"{white}:{value}"));
            let object = format!("{{{}{end}", members.collect::<Vec<_>>().join(","));
            if let Some(plain) = found(&object, true) {
                prop_assert_eq!(Some(plain), found(&object, false), "{}", object);
            }
        }
    }
}
