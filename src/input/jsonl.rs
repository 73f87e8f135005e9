//! JSON objects on a line each: the format `jsonl`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use super::digits;
use super::id::RecordId;
use super::line_source::LineSource;
use super::source::Source;
use super::{MAX_DOCUMENT, Record, RecordReader};
use crate::{Fingerprint, Place, Result};

const FINGERPRINT_FIELD: &str = "fingerprint";

/// A reader of JSON objects that hold a document or a fingerprint, and maybe an id.
pub(super) struct JsonlReader {
    lines: LineSource,
    fields: Fields,
}

/// The names of the members looked for.
struct Fields {
    text_field: String,
    id_field: String,
}

/// A member looked for, or any other.
#[derive(Clone, Copy)]
enum Member {
    Text,
    Fingerprint,
    Id,
    Other,
}

/// The members found in one object.
#[derive(Default)]
struct Object {
    text: Option<Value>,
    fingerprint: Option<Value>,
    id: Option<Value>,
    /// A member that stands there more than once.
    repeated: Option<Member>,
}

impl JsonlReader {
    pub(super) fn new(source: Source) -> Self {
        let fields = Fields {
            text_field: "text".into(),
            id_field: "id".into(),
        };
        JsonlReader {
            lines: LineSource::new(source, MAX_DOCUMENT),
            fields,
        }
    }
}

impl Fields {
    /// The record that a line holds, or what is wrong with it.
    fn record<F: Fingerprint>(&self, line: &str) -> Result<Record<F>, String> {
        let object = self.object(line)?;
        if let Some(member) = object.repeated {
            return Err(format!("\"{}\" stands there twice", self.name(member)));
        }
        let id = object.id.map(|id| self.id(id)).transpose()?;
        let text = &self.text_field;
        match (object.text, object.fingerprint) {
            (Some(Value::String(text)), None) => Ok(Record::text(text, id)),
            (Some(_), None) => Err(format!("\"{text}\" is not a string")),
            (None, Some(value)) => Ok(Record::fingerprint(fingerprint(value)?, id)),
            (Some(_), Some(_)) => Err(format!("both \"{text}\" and \"{FINGERPRINT_FIELD}\"")),
            (None, None) => Err(format!("neither \"{text}\" nor \"{FINGERPRINT_FIELD}\"")),
        }
    }

    /// Parses a line, keeping the members looked for.
    fn object(&self, line: &str) -> Result<Object, String> {
        let mut json = serde_json::Deserializer::from_str(line);
        let object = self
            .deserialize(&mut json)
            .and_then(|object| json.end().map(|()| object));
        object.map_err(|e| not_an_object(&e))
    }

    fn id(&self, value: Value) -> Result<RecordId, String> {
        let number = value.as_u64();
        match (value, number) {
            (Value::String(text), _) => RecordId::from_text(&text),
            (_, Some(number)) => Ok(RecordId::Number(number)),
            _ => {
                let id = &self.id_field;
                Err(format!(
                    "\"{id}\" is neither a string nor an unsigned integer below 2^64"
                ))
            }
        }
    }

    fn member(&self, name: &str) -> Member {
        match name {
            _ if name == self.text_field => Member::Text,
            FINGERPRINT_FIELD => Member::Fingerprint,
            _ if name == self.id_field => Member::Id,
            _ => Member::Other,
        }
    }

    fn name(&self, member: Member) -> &str {
        match member {
            Member::Text => &self.text_field,
            Member::Fingerprint => FINGERPRINT_FIELD,
            Member::Id => &self.id_field,
            Member::Other => "",
        }
    }
}

/// The fingerprint that a JSON value stands for, or what is wrong with it.
fn fingerprint<F: Fingerprint>(value: Value) -> Result<F, String> {
    match (value.as_u64(), value) {
        (_, Value::String(text)) => digits::hex(&text),
        (Some(number), _) => {
            let fingerprint = F::from_u128(number.into());
            if fingerprint.to_u128() == u128::from(number) {
                Ok(fingerprint)
            } else {
                Err(format!(
                    "{number} does not fit a {}-bit fingerprint",
                    F::WIDTH
                ))
            }
        }
        _ => Err(format!(
            "\"{FINGERPRINT_FIELD}\" is neither a string of hexadecimal digits \
             nor an unsigned integer below 2^64"
        )),
    }
}

/// What is wrong with a line that is not one JSON object.
fn not_an_object(error: &serde_json::Error) -> String {
    if error.classify() == Category::Data {
        return "not a JSON object".into();
    }
    // The line is always the first one of what the parser sees.
    let (message, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    match message.strip_suffix(&place) {
        Some(clause) => format!("not JSON: {clause} at column {column}"),
        None => format!("not JSON: {message}"),
    }
}

impl<'de> DeserializeSeed<'de> for &Fields {
    type Value = Object;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Object, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Fields {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some(member) = members.next_key_seed(Name(self))? {
            let slot = match member {
                Member::Text => &mut object.text,
                Member::Fingerprint => &mut object.fingerprint,
                Member::Id => &mut object.id,
                Member::Other => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(members.next_value()?).is_some() {
                object.repeated = Some(member);
            }
        }
        Ok(object)
    }
}

/// Tells a member by its name, which need not be kept.
struct Name<'a>(&'a Fields);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Member, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member, E> {
        Ok(self.0.member(name))
    }
}

impl<F: Fingerprint> RecordReader<F> for JsonlReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        match self.lines.advance() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        let record = self.lines.text().and_then(|line| {
            self.fields
                .record(line)
                .map_err(|message| self.lines.error(message))
        });
        Some(record)
    }

    fn place(&self) -> (&str, Place) {
        (self.lines.name(), self.lines.place())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Read, document, fingerprint, read_all};
    use super::*;
    use crate::input::Format;

    fn jsonl(text: &str) -> Read<u64> {
        read_all(text.as_bytes(), Format::Jsonl)
    }

    #[test]
    fn documents_are_read() {
        let text = r#"{"id":"a","text":"one\ntwo \u00e9","more":{"x":[1,null]}}
            {"text":""}"#;
        let expected = [document("one\ntwo é", Some("a")), document("", None)];
        assert_eq!(jsonl(text).records(), expected);
    }

    #[test]
    fn fingerprints_are_read() {
        let text = r#"{"fingerprint":"ff","id":"a"}

            {"fingerprint":18446744073709551615}"#;
        let expected = [fingerprint(255, Some("a")), fingerprint(u64::MAX, None)];
        assert_eq!(jsonl(text).records(), expected);
    }

    #[test]
    fn ids_may_be_numbers() {
        let read = jsonl(r#"{"id":7,"fingerprint":1}"#);
        assert_eq!(read.records()[0].id, Some(RecordId::Number(7)));
    }

    #[test]
    fn wide_fingerprints_are_strings() {
        let text = format!(
            "{{\"fingerprint\":\"{:x}\"}}\n{{\"fingerprint\":{0}}}",
            u128::MAX
        );
        let read: Read<u128> = read_all(text.as_bytes(), Format::Jsonl);
        assert_eq!(read.records(), [fingerprint(u128::MAX, None)]);
        assert!(read.errors()[0].ends_with(" nor an unsigned integer below 2^64"));
    }

    #[test]
    fn bad_lines_are_reported_and_the_next_one_is_read() {
        let number = "is neither a string of hexadecimal digits nor an unsigned integer below 2^64";
        let id = "\"id\" is neither a string nor an unsigned integer below 2^64";
        for (line, message) in [
            ("{}", "neither \"text\" nor \"fingerprint\""),
            (
                r#"{"text":"","fingerprint":1}"#,
                "both \"text\" and \"fingerprint\"",
            ),
            (r#"{"text":1}"#, "\"text\" is not a string"),
            (r#"{"text":null}"#, "\"text\" is not a string"),
            (r#"{"text":"","text":""}"#, "\"text\" stands there twice"),
            (r#"{"id":1,"id":2,"text":""}"#, "\"id\" stands there twice"),
            (
                r#"{"fingerprint":-1}"#,
                &format!("\"fingerprint\" {number}"),
            ),
            (
                r#"{"fingerprint":1.5}"#,
                &format!("\"fingerprint\" {number}"),
            ),
            (
                r#"{"fingerprint":"xyz"}"#,
                "\"xyz\" is not a hexadecimal number",
            ),
            (r#"{"id":-1,"text":""}"#, id),
            (r#"{"id":null,"text":""}"#, id),
            (r#"{"id":"","text":""}"#, "id is empty"),
            (
                r#"{"id":"a\u0000","text":""}"#,
                "id holds a control character",
            ),
            ("[1]", "not a JSON object"),
            ("7", "not a JSON object"),
            ("text", "not JSON: expected ident at column 2"),
            (
                r#"{"text":"a"#,
                "not JSON: EOF while parsing a string at column 10",
            ),
            (
                r#"{"text":"a"} x"#,
                "not JSON: trailing characters at column 14",
            ),
            (
                r#"{"text":"\ud800"}"#,
                "not JSON: unexpected end of hex escape at column 16",
            ),
        ] {
            let read = jsonl(&format!("{line}\n{{\"text\":\"next\"}}\n"));
            assert_eq!(read.errors(), [format!("in:1: {message}")], "{line}");
            assert_eq!(read.records(), [document("next", None)], "{line}");
        }
    }

    #[test]
    fn narrow_fingerprints_are_checked() {
        let read: Read<u32> = read_all(b"{\"fingerprint\":4294967296}", Format::Jsonl);
        assert_eq!(
            read.errors(),
            ["in:1: 4294967296 does not fit a 32-bit fingerprint"]
        );
    }

    #[test]
    fn members_may_have_other_names() {
        let fields = Fields {
            text_field: "body".into(),
            id_field: "url".into(),
        };
        let record = fields.record(r#"{"text":1,"url":"u","body":"b"}"#);
        assert_eq!(record, Ok::<Record<u64>, _>(document("b", Some("u"))));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let read = jsonl(&format!("{{\"text\":{}", "[".repeat(100_000)));
        assert!(read.errors()[0].starts_with("in:1: not JSON: recursion limit exceeded"));
    }
}
