//! JSON objects on a line each: the format `jsonl`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::digits;
use super::id::RecordId;
use super::line_source::LineSource;
use super::source::Source;
use super::{MAX_DOCUMENT, Record, RecordReader};
use crate::{Fingerprint, Place, Result};

/// A reader of JSON objects that hold a document or a fingerprint, and maybe an id.
pub(super) struct JsonlReader {
    lines: LineSource,
}

/// A member looked for, or any other.
#[derive(Clone, Copy)]
enum Member {
    Text,
    Fingerprint,
    Id,
    Other,
}

/// The value of a member looked for, of which nothing is kept that cannot be used.
enum Scalar {
    Text(String),
    Number(u64),
    Other,
}

/// The members found in one object.
#[derive(Default)]
struct Object {
    text: Option<Scalar>,
    fingerprint: Option<Scalar>,
    id: Option<Scalar>,
    /// A member that stands there more than once.
    repeated: Option<Member>,
}

impl JsonlReader {
    pub(super) fn new(source: Source) -> Self {
        JsonlReader {
            lines: LineSource::new(source, MAX_DOCUMENT),
        }
    }
}

/// The record that a line holds, or what is wrong with it.
fn record<F: Fingerprint>(line: &str) -> Result<Record<F>, String> {
    let object = object(line)?;
    if let Some(member) = object.repeated {
        return Err(format!("\"{}\" stands there twice", member.name()));
    }
    let id = object.id.map(id).transpose()?;
    match (object.text, object.fingerprint) {
        (Some(Scalar::Text(text)), None) => Ok(Record::text(text, id)),
        (Some(_), None) => Err("\"text\" is not a string".into()),
        (None, Some(value)) => Ok(Record::fingerprint(fingerprint(value)?, id)),
        (Some(_), Some(_)) => Err("both \"text\" and \"fingerprint\"".into()),
        (None, None) => Err("neither \"text\" nor \"fingerprint\"".into()),
    }
}

/// Parses a line, keeping the members looked for.
fn object(line: &str) -> Result<Object, String> {
    let mut json = serde_json::Deserializer::from_str(line);
    let object = Object::deserialize(&mut json).and_then(|object| json.end().map(|()| object));
    object.map_err(|e| not_an_object(&e))
}

/// The id that a JSON value stands for, or what is wrong with it.
fn id(value: Scalar) -> Result<RecordId, String> {
    match value {
        Scalar::Text(text) => RecordId::from_text(&text),
        Scalar::Number(number) => Ok(RecordId::Number(number)),
        Scalar::Other => {
            Err("\"id\" is neither a string nor an unsigned integer below 2^64".into())
        }
    }
}

/// The fingerprint that a JSON value stands for, or what is wrong with it.
fn fingerprint<F: Fingerprint>(value: Scalar) -> Result<F, String> {
    match value {
        Scalar::Text(text) => digits::hex(&text),
        Scalar::Number(number) => {
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
        Scalar::Other => Err("\"fingerprint\" is neither a string of hexadecimal digits \
                              nor an unsigned integer below 2^64"
            .into()),
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

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Object, D::Error> {
        json.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some(member) = members.next_key()? {
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

impl Member {
    fn name(self) -> &'static str {
        match self {
            Member::Text => "text",
            Member::Fingerprint => "fingerprint",
            Member::Id => "id",
            Member::Other => "",
        }
    }
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Member, D::Error> {
        json.deserialize_str(MemberVisitor)
    }
}

/// Tells a member by its name, which need not be kept.
struct MemberVisitor;

impl Visitor<'_> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member, E> {
        Ok(match name {
            "text" => Member::Text,
            "fingerprint" => Member::Fingerprint,
            "id" => Member::Id,
            _ => Member::Other,
        })
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Scalar, D::Error> {
        json.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Scalar, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Scalar, A::Error> {
        IgnoredAny.visit_map(members).map(|_| Scalar::Other)
    }
}

impl<F: Fingerprint> RecordReader<F> for JsonlReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        match self.lines.advance() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        let line = self.lines.text();
        Some(line.and_then(|line| record(line).map_err(|message| self.lines.error(message))))
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
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
    fn values_of_other_kinds_are_passed_over() {
        let number = "is neither a string of hexadecimal digits nor an unsigned integer below 2^64";
        for value in [
            "[]",
            "[1,[\"a\"]]",
            "{}",
            "{\"id\":{}}",
            "true",
            "-0",
            "1e2",
        ] {
            let read = jsonl(&format!(
                "{{\"text\":{value},\"id\":\"a\"}}\n{{\"fingerprint\":{value}}}"
            ));
            let errors = [
                "in:1: \"text\" is not a string".to_owned(),
                format!("in:2: \"fingerprint\" {number}"),
            ];
            assert_eq!(read.errors(), errors, "{value}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let open = "[".repeat(100_000);
        let read = jsonl(&format!("{{\"text\":{open}"));
        let message = "in:1: not JSON: EOF while parsing a list at column 100008";
        assert_eq!(read.errors(), [message]);
        let read = jsonl(&format!("{{\"text\":{open}{}}}", "]".repeat(100_000)));
        assert_eq!(read.errors(), ["in:1: \"text\" is not a string"]);
    }
}
