//! JSON objects on a line each: the format `jsonl`.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::error::Category;

use super::digits;
use super::id::RecordId;
use super::line_reader::{LineFormat, LineReader};
use super::line_source::LineSource;
use super::source::Source;
use super::{Fields, MAX_DOCUMENT, Record};
use simidx::Fingerprint;

/// The name of the member that holds a fingerprint.
const FINGERPRINT: &str = "fingerprint";

/// Lines of a JSON object with a document or a fingerprint, and maybe an id.
pub(super) struct Jsonl {
    fields: Fields,
}

/// A member looked for, or any other.
#[derive(Clone, Copy)]
enum Member<'a> {
    Text,
    Fingerprint,
    Id,
    /// An object that may have members looked for.
    Object(Wanted<'a>),
    Other,
}

/// The names of the members looked for in an object, or paths that lead to them.
#[derive(Clone, Copy, Default)]
struct Wanted<'a> {
    text: Option<&'a str>,
    fingerprint: Option<&'a str>,
    id: Option<&'a str>,
}

/// The value of a member looked for, of which nothing is kept that cannot be used.
enum Scalar {
    Text(String),
    Number(u64),
    Other,
}

/// The members found in one object.
#[derive(Default)]
struct Object<'a> {
    text: Option<Scalar>,
    fingerprint: Option<Scalar>,
    id: Option<Scalar>,
    /// A member that appears more than once.
    repeated: Option<Member<'a>>,
}

impl Jsonl {
    pub(super) fn reader(source: Source, fields: &Fields) -> LineReader<Self> {
        let fields = fields.clone();
        LineReader::new(LineSource::new(source, MAX_DOCUMENT), Jsonl { fields })
    }
}

/// The record that a line holds, or what is wrong with it.
fn record<F: Fingerprint>(line: &str, fields: &Fields) -> Result<Record<F>, String> {
    let wanted = Wanted {
        text: Some(fields.text()),
        fingerprint: fields.text.is_none().then_some(FINGERPRINT),
        id: Some(fields.id()),
    };
    let object = object(line, wanted)?;
    if let Some(member) = object.repeated {
        return Err(format!("{:?} appears twice", member.name(fields)));
    }
    let id = match object.id {
        None if fields.id.is_some() => return Err(format!("no {:?}", fields.id())),
        id => id.map(|value| id_of(value, fields)).transpose()?,
    };
    match (object.text, object.fingerprint) {
        (Some(Scalar::Text(text)), None) => Ok(Record::text(text, id)),
        (Some(_), None) => Err(format!("{:?} is not a string", fields.text())),
        (None, Some(value)) => Ok(Record::fingerprint(fingerprint(value)?, id)),
        (Some(_), Some(_)) => Err("both \"text\" and \"fingerprint\"".into()),
        (None, None) if fields.text.is_some() => Err(format!("no {:?}", fields.text())),
        (None, None) => Err("neither \"text\" nor \"fingerprint\"".into()),
    }
}

/// Parses a line, keeping the members looked for.
fn object<'a>(line: &str, wanted: Wanted<'a>) -> Result<Object<'a>, String> {
    let mut json = serde_json::Deserializer::from_str(line);
    let mut object = Object::default();
    let visitor = ObjectVisitor {
        wanted,
        object: &mut object,
    };
    let read = json.deserialize_map(visitor).and_then(|()| json.end());
    match read {
        Ok(()) => Ok(object),
        Err(e) => Err(not_an_object(&e)),
    }
}

/// The id that a JSON value stands for, or what is wrong with it.
fn id_of(value: Scalar, fields: &Fields) -> Result<RecordId, String> {
    match value {
        Scalar::Text(text) => RecordId::from_text(&text),
        Scalar::Number(number) => Ok(RecordId::Number(number)),
        Scalar::Other => {
            let name = fields.id();
            Err(format!(
                "{name:?} is neither a string nor an unsigned integer below 2^64"
            ))
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

/// Takes the members looked for out of an object and those within it.
struct ObjectVisitor<'a, 'o> {
    wanted: Wanted<'a>,
    object: &'o mut Object<'a>,
}

impl<'de> Visitor<'de> for ObjectVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(member) = members.next_key_seed(self.wanted)? {
            let slot = match member {
                Member::Text => &mut self.object.text,
                Member::Fingerprint => &mut self.object.fingerprint,
                Member::Id => &mut self.object.id,
                Member::Object(wanted) => {
                    let object = &mut *self.object;
                    members.next_value_seed(Within(ObjectVisitor { wanted, object }))?;
                    continue;
                }
                Member::Other => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(members.next_value()?).is_some() {
                self.object.repeated = Some(member);
            }
        }
        Ok(())
    }
}

/// A value that may be an object with members looked for; any other has none.
struct Within<'a, 'o>(ObjectVisitor<'a, 'o>);

impl<'de> DeserializeSeed<'de> for Within<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.0.visit_map(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        IgnoredAny.visit_seq(items).map(drop)
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

impl Member<'_> {
    fn name(self, fields: &Fields) -> &str {
        match self {
            Member::Text => fields.text(),
            Member::Fingerprint => FINGERPRINT,
            Member::Id => fields.id(),
            Member::Object(_) | Member::Other => "",
        }
    }
}

impl<'a> Wanted<'a> {
    /// What a member of this name is.
    fn find(self, name: &str) -> Member<'a> {
        let is = |wanted: Option<&str>| wanted == Some(name);
        if is(self.text) {
            return Member::Text;
        }
        if is(self.fingerprint) {
            return Member::Fingerprint;
        }
        if is(self.id) {
            return Member::Id;
        }
        let rest = |path: Option<&'a str>| path?.strip_prefix(name)?.strip_prefix('.');
        let within = Wanted {
            text: rest(self.text),
            fingerprint: None,
            id: rest(self.id),
        };
        match within {
            Wanted {
                text: None,
                id: None,
                ..
            } => Member::Other,
            within => Member::Object(within),
        }
    }
}

impl<'de, 'a> DeserializeSeed<'de> for Wanted<'a> {
    type Value = Member<'a>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Member<'a>, D::Error> {
        json.deserialize_str(self)
    }
}

/// Tells a member by its name, which need not be kept.
impl<'a> Visitor<'_> for Wanted<'a> {
    type Value = Member<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member<'a>, E> {
        Ok(self.find(name))
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

impl LineFormat for Jsonl {
    fn record<F: Fingerprint>(&self, line: &str) -> Result<Record<F>, String> {
        record(line, &self.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Read, document, fields, fingerprint, read_all, read_with};
    use super::*;
    use crate::Format;

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
            (r#"{"text":"","text":""}"#, "\"text\" appears twice"),
            (r#"{"id":1,"id":2,"text":""}"#, "\"id\" appears twice"),
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

    #[test]
    fn fields_may_have_other_names() {
        let text = r#"{"text":1,"fingerprint":"x","body":"one","url":"u"}
            {"body":"two","meta":{"id":7,"url":9},"url":8}"#;
        let read: Read<u64> = read_with(text.as_bytes(), Format::Jsonl, &fields("body", ""));
        assert_eq!(
            read.records(),
            [document("one", None), document("two", None)]
        );
        let read: Read<u64> = read_with(text.as_bytes(), Format::Jsonl, &fields("body", "url"));
        let ids: Vec<_> = read.records().into_iter().map(|record| record.id).collect();
        let text = RecordId::Text("u".into());
        assert_eq!(ids, [Some(text), Some(RecordId::Number(8))]);
    }

    #[test]
    fn an_absent_field_is_named() {
        let text = r#"{"text":"one","id":1}
            {"body":"two"}
            {"body":3,"url":1}
            {"body":"","url":null}
            {"body":"","url":1,"body":""}"#;
        let read: Read<u64> = read_with(text.as_bytes(), Format::Jsonl, &fields("body", "url"));
        let errors = [
            "in:1: no \"url\"",
            "in:2: no \"url\"",
            "in:3: \"body\" is not a string",
            "in:4: \"url\" is neither a string nor an unsigned integer below 2^64",
            "in:5: \"body\" appears twice",
        ];
        assert_eq!(read.errors(), errors);
        let read: Read<u64> = read_with(b"{\"text\":\"\"}", Format::Jsonl, &fields("a.b", ""));
        assert_eq!(read.errors(), ["in:1: no \"a.b\""]);
    }

    #[test]
    fn paths_lead_into_objects() {
        let text = r#"{"id":1,"doc":{"body":{"zh":"one","en":"1"},"url":"u1"}}
            {"doc":{"body":[{"zh":"no"}],"url":"u2"}}
            {"doc.url":"u3","doc":{"body":{"zh":"three","zh":"4"}}}
            {"doc.url":"u4","doc":{"body.zh":"four"}}
            {"doc":"x"}
            {"doc":null}"#;
        let names = fields("doc.body.zh", "doc.url");
        let read: Read<u64> = read_with(text.as_bytes(), Format::Jsonl, &names);
        assert_eq!(
            read.records(),
            [document("one", Some("u1")), document("four", Some("u4"))]
        );
        let errors = [
            "in:2: no \"doc.body.zh\"",
            "in:3: \"doc.body.zh\" appears twice",
            "in:5: no \"doc.url\"",
            "in:6: no \"doc.url\"",
        ];
        assert_eq!(read.errors(), errors);
    }
}
