//! Tests of the format `jsonl`: an object on each line.

use crate::Format;
use crate::tests::{Read, document, fields, fingerprint, read_all, read_by, read_with};
use simidx::IdBuf;
use simidx::Width;

fn jsonl(text: &str) -> Read {
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
fn escapes_and_white_space_are_read() {
    let text = r#"{"text":"\"\\\/\b\f\r\t\u00E9 \ud83d\ude42","url":"\ud83d\ude42","n":-1.5e3}
             { "text" : "汉字, sixteen bytes or more: \u6c49" , "more" : {"x":[1,null,"}"],"id":3} , "id" : "b" }
            {"te\u0078t":"","\u0069d":"c"}"#;
    let expected = [
        document("\"\\/\u{8}\u{c}\r\té \u{1f642}", None),
        document("汉字, sixteen bytes or more: 汉", Some("b")),
        document("", Some("c")),
    ];
    assert_eq!(jsonl(text).records(), expected);
}

#[test]
fn fingerprints_are_read() {
    let text = r#"{"fingerprint":"ff","id":"a"}

            {"fingerprint":18446744073709551615}"#;
    let expected = [
        fingerprint(255, Some("a")),
        fingerprint(u64::MAX.into(), None),
    ];
    assert_eq!(jsonl(text).records(), expected);
}

#[test]
fn ids_may_be_numbers() {
    let read = jsonl(r#"{"id":7,"fingerprint":1}"#);
    assert_eq!(read.records()[0].id, Some(IdBuf::Number(7)));
}

#[test]
fn wide_fingerprints_are_strings() {
    let text = format!(
        "{{\"fingerprint\":\"{:x}\"}}\n{{\"fingerprint\":{0}}}",
        u128::MAX
    );
    let read = read_by(text.as_bytes(), Format::Jsonl, &Width::W128.into());
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
            r#"{"url":1,"test":2}"#,
            "neither \"text\" nor \"fingerprint\"; it has: test, url; \
                 choose with --text-field or --fingerprint-field",
        ),
        (
            r#"{"text":"","fingerprint":1}"#,
            "both \"text\" and \"fingerprint\"; \
                 choose with --text-field text or --fingerprint-field fingerprint",
        ),
        (r#"{"text":1}"#, "\"text\" is not a string"),
        (r#"{"text":null}"#, "\"text\" is null"),
        (r#"{"text":"","text":""}"#, "\"text\" appears twice"),
        (r#"{"text":"","te\u0078t":""}"#, "\"text\" appears twice"),
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
        (r#"{"id":18446744073709551616,"text":""}"#, id),
        (r#"{"id":"","text":""}"#, "id is empty"),
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
        (r#"{"text":"a",}"#, "not JSON: trailing comma at column 13"),
        (
            "{\"text\":\"a\tb\"}",
            "not JSON: control character (\\u0000-\\u001F) found while parsing a string at column 11",
        ),
        (
            r#"{"text":"\u+123"}"#,
            "not JSON: invalid escape at column 15",
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
    let read = read_by(
        b"{\"fingerprint\":4294967296}",
        Format::Jsonl,
        &Width::W32.into(),
    );
    assert_eq!(
        read.errors(),
        ["in:1: 4294967296 does not fit a 32-bit fingerprint"]
    );
}

#[test]
fn values_of_other_kinds_are_passed_over() {
    let number = "is neither a string of hexadecimal digits nor an unsigned integer below 2^64";
    for value in ["{}", "{\"id\":{}}", "true", "-0", "1e2"] {
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
    let message = "in:1: \"text\" is a list; \"text.*\" names its elements";
    assert_eq!(read.errors(), [message]);
}

#[test]
fn fields_may_have_other_names() {
    let text = r#"{"text":1,"fingerprint":"x","body":"one","url":"u"}
            {"body":"two","meta":{"id":7,"url":9},"url":8}"#;
    let read = read_with(text.as_bytes(), Format::Jsonl, &fields("body", ""));
    assert_eq!(
        read.records(),
        [document("one", None), document("two", None)]
    );
    let read = read_with(text.as_bytes(), Format::Jsonl, &fields("body", "url"));
    let ids: Vec<_> = read.records().into_iter().map(|record| record.id).collect();
    let text = IdBuf::String("u".into());
    assert_eq!(ids, [Some(text), Some(IdBuf::Number(8))]);
}

#[test]
fn an_absent_field_is_named() {
    let text = r#"{"text":"one","id":1}
            {"body":"two"}
            {"body":3,"url":1}
            {"body":"","url":null}
            {"body":"","url":1,"body":""}"#;
    let read = read_with(text.as_bytes(), Format::Jsonl, &fields("body", "url"));
    let errors = [
        "in:1: no \"url\"; it has: id, text",
        "in:2: no \"url\"; it has: body",
        "in:3: \"body\" is not a string",
        "in:4: \"url\" is neither a string nor an unsigned integer below 2^64",
        "in:5: \"body\" appears twice",
    ];
    assert_eq!(read.errors(), errors);
    let read = read_with(b"{\"text\":\"\"}", Format::Jsonl, &fields("a.b", ""));
    assert_eq!(read.errors(), ["in:1: no \"a.b\"; it has: text"]);
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
    let read = read_with(text.as_bytes(), Format::Jsonl, &names);
    assert_eq!(
        read.records(),
        [document("one", Some("u1")), document("four", Some("u4"))]
    );
    let errors = [
        "in:2: no \"doc.body.zh\"; it has: doc.body.*.zh, doc.url",
        "in:3: \"doc.body.zh\" appears twice",
        "in:5: no \"doc.url\"; it has: doc",
        "in:6: no \"doc.url\"; it has: doc",
    ];
    assert_eq!(read.errors(), errors);
}

#[test]
fn a_fingerprint_may_be_named_and_chosen() {
    let text = r#"{"text":"a","fingerprint":"ff","meta":{"simhash":7},"id":"x"}"#;
    let mut names = fields("", "");
    for (name, value) in [("fingerprint", 255), ("meta.simhash", 7)] {
        names.fingerprint = Some(name.to_owned());
        let read = read_with(text.as_bytes(), Format::Jsonl, &names);
        assert_eq!(read.records(), [fingerprint(value, Some("x"))]);
    }
    let read = read_with(text.as_bytes(), Format::Jsonl, &fields("text", ""));
    assert_eq!(read.records(), [document("a", Some("x"))]);
    names.fingerprint = Some("simhash".to_owned());
    let read = read_with(text.as_bytes(), Format::Jsonl, &names);
    let start = "in:1: no \"simhash\"; it has: meta.simhash, ";
    assert!(read.errors()[0].starts_with(start), "{:?}", read.errors());
}
