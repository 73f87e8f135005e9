//! Tests of the format `json`: consecutive objects, or objects in arrays.

use proptest::prelude::*;

use crate::items::Items;
use crate::json::Values;
use crate::source::tests::{pieces, source};
use crate::tests::{Read, document, fields, read_all, read_with};
use crate::{Error, Format};

fn json(text: &str) -> Read {
    read_all(text.as_bytes(), Format::Json)
}

/// Returns the documents of these texts, without ids.
fn documents(texts: &[&str]) -> Vec<crate::Record> {
    texts.iter().map(|text| document(text, None)).collect()
}

#[test]
fn objects_are_read_wherever_their_lines_end() {
    let one = r#"{"text": "a ] } \" [ { \\"}"#;
    let expected = documents(&["a ] } \" [ { \\", "b"]);
    for text in [
        format!("[{one},{{\"text\":\"b\"}}]"),
        format!("\u{feff} [\n {one} ,\r\n\t{{\"text\":\n\n\"b\"}}\n]\n"),
        format!("{one}{{\"text\":\"b\"}}"),
        format!("{one}\n\n{{\n  \"text\": \"b\"\n}}\n"),
        format!("[{one}]\n[]\n[{{\"text\":\"b\"}}] "),
    ] {
        let read = json(&text);
        assert_eq!(read.errors(), [""; 0], "{text}");
        assert_eq!(read.records(), expected, "{text}");
    }
    for text in ["", " \n", "[]", "[\n]\n"] {
        assert_eq!(
            (json(text).records(), json(text).errors()),
            (vec![], vec![]),
            "{text:?}"
        );
    }
}

#[test]
fn bad_elements_are_named_and_the_next_one_is_read() {
    let text = r#"[
          {"text": "a"}, 7, "x", null, [1, [2]], -1.5e3,
          {"text": 1},
          {
            "text": "b" x
          },
          {"body": "c"}, {"text": "d"}
        ]"#;
    let read = json(text);
    assert_eq!(read.records(), documents(&["a", "d"]));
    let no_object = |number: u32| format!("in:2: element {number}: not a JSON object");
    let mut expected: Vec<String> = (2..=6).map(no_object).collect();
    expected.push("in:3: element 7: \"text\" is not a string".into());
    expected.push("in:5: element 8: not JSON: expected `,` or `}` at column 25".into());
    let choose = "choose with --text-field or --fingerprint-field";
    expected.push(format!(
        "in:7: element 9: neither \"text\" nor \"fingerprint\"; it has: body; {choose}"
    ));
    assert_eq!(read.errors(), expected);
}

#[test]
fn what_cannot_be_cut_into_values_ends_the_records() {
    for (text, message) in [
        (r#"[{"text":"a"}"#, "in:1: the array has no end"),
        (r#"[{"text":"a"},"#, "in:1: the array has no end"),
        ("[{\"text\":\"a\"},\n]", "in:2: ']' where a value is wanted"),
        (
            "[{\"text\":\"a\"}\n{}]",
            "in:2: neither a comma nor the end of the array",
        ),
        (
            "{\"text\":\"a\"}\n\n{\"text\":\n\"b",
            "in:3: the value that begins here has no end",
        ),
        ("{\"text\":\"a\"}\n]", "in:2: ']' where a value is wanted"),
        ("{\"text\":\"a\"}\nx", "in:2: not JSON"),
    ] {
        let read = json(text);
        assert_eq!(read.records(), documents(&["a"]), "{text}");
        assert_eq!(read.errors(), [message], "{text}");
    }
}

#[test]
fn lists_are_joined() {
    let text = r#"[{"id": 1, "title": "T", "messages": [{"content": "a"}, {"content": null}, {}, {"content": "b"}]},
            {"id": 2, "title": null, "messages": []},
            {"id": 3, "title": null, "messages": null},
            {"id": 4, "title": "T", "messages": [{"content": 7}]},
            {"id": 5, "title": "T", "messages": {"content": "x"}},
            {"id": 6, "title": "T"},
            {"id": 7, "title": "T", "messages": [{"contents": "a"}, {"role": "b"}]},
            {"id": 8, "title": null, "messages": [{"role": "b"}, {"content": null}]}]"#;
    let read = read_with(
        text.as_bytes(),
        Format::Json,
        &fields("title,messages.*.content", ""),
    );
    let texts: Vec<_> = read
        .records()
        .into_iter()
        .map(|record| record.content)
        .collect();
    let expected = ["T\na\nb", "", ""].map(|text| crate::Content::Text(text.to_owned()));
    assert_eq!(texts, expected);
    let errors = read.errors();
    let starts = [
        "in:3: element 3: \"title\" and \"messages.*.content\" are null",
        "in:4: element 4: \"messages.*.content\" names values that are not strings",
        "in:5: element 5: no \"messages.*.content\"; it has: messages.content, ",
        "in:6: element 6: no \"messages.*.content\"; it has: ",
        "in:7: element 7: no \"messages.*.content\"; it has: messages.*.contents, ",
    ];
    assert_eq!(errors.len(), starts.len(), "{errors:?}");
    for (error, start) in errors.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
    let text = r#"{"tags": ["a", null, "b"], "turns": [["c"], ["d", "e"]]}"#;
    let read = read_with(
        text.as_bytes(),
        Format::Json,
        &fields("tags.*,turns.*.*", ""),
    );
    assert_eq!(read.records(), documents(&["a\nb\nc\nd\ne"]));
    let nested = r#"{"a": [{"b": null}]} {"a": [{"b": []}, {}]} {"a": [null]}
                  {"a": [{"c": [1]}]} {"a": [{"b": [1]}]}"#;
    let read = read_with(nested.as_bytes(), Format::Json, &fields("a.*.b.*", ""));
    assert_eq!(read.records(), documents(&["", "", ""]));
    assert_eq!(
        read.errors(),
        [
            "in:2: no \"a.*.b.*\"; it has: a.*.c.*",
            "in:2: \"a.*.b.*\" names values that are not strings"
        ]
    );
    let read = read_with(text.as_bytes(), Format::Json, &fields("tags", ""));
    assert_eq!(
        read.errors(),
        ["in:1: \"tags\" is a list; \"tags.*\" names its elements"]
    );
}

#[test]
fn values_too_long_are_passed_over() {
    let text = b"[{\"a\": \"bcdefgh\"}, {\"a\": 1}, \"0123456789\" , 12]";
    let mut values = Values::new(source(text), 9);
    let mut seen = Vec::new();
    loop {
        match values.advance() {
            Ok(false) => break,
            Ok(true) => seen.push(String::from_utf8(values.raw().0.to_vec()).unwrap()),
            Err(error @ Error::Input(_)) => seen.push(error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
    let long = |number: u32| format!("in:1: element {number}: value is longer than 9 bytes");
    assert_eq!(seen, [long(1), "{\"a\": 1}".into(), long(3), "12".into()]);
}

/// Returns JSON values of any kind, within the depth limit of parsers.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-c{}\\[\\]\",:\\\\\n\u{e9}]{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into);
        let members = prop::collection::hash_map("[a-c\"}]{0,3}", inner, 0..4);
        let object = members.prop_map(|members| members.into_iter().collect());
        prop_oneof![list, object.prop_map(serde_json::Value::Object)]
    })
}

proptest! {
    /// The values, which are split without parsing, equal those of a parser.
    #[test]
    fn values_are_those_of_a_parser(
        values in prop::collection::vec(value(), 0..6),
        is_pretty in any::<bool>(),
        in_array in any::<bool>(),
        piece in 1usize..20,
    ) {
        let write = match is_pretty {
            true => serde_json::to_string_pretty,
            false => serde_json::to_string,
        };
        // Outside an array, an array would be an array of records.
        let values: Vec<_> = values.into_iter().filter(|v| in_array || !v.is_array()).collect();
        let texts: Vec<String> = values.iter().map(|value| write(value).unwrap()).collect();
        let text = match in_array {
            true => format!(" [{}\n]", texts.join(" ,\n ")),
            false => texts.join("\n"),
        };
        let mut cut = Values::new(pieces(text.as_bytes(), piece), 1 << 20);
        let mut found: Vec<serde_json::Value> = Vec::new();
        while cut.advance().unwrap() {
            prop_assert!(texts.contains(&cut.text().unwrap().to_owned()));
            found.push(serde_json::from_slice(cut.raw().0).unwrap());
        }
        prop_assert_eq!(found, values);
    }
}
