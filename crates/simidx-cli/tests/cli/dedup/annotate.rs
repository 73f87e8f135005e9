//! `--annotate`: all records, with the results for each.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::{Value, json};

use super::done;
use crate::support::{Sandbox, gzip, parquet};

const LINES: &str = "{\"id\":\"a\",\"text\":\"one two three\"}\n\
                     {\"id\":\"b\",\"text\":\"four five six\"}\n\
                     { \"id\":\"c\", \"text\":\"One, two; three.\" }\n\
                     {\"id\":\"d\",\"text\":\"…\"}\n\
                     {\"id\":\"e\",\"text\":\"…\"}\n";

fn objects(bytes: Vec<u8>) -> Vec<Value> {
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn objects_get_members() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", LINES);
    done(sandbox.run(&[
        "dedup",
        "a.jsonl",
        "-k",
        "3",
        "--annotate",
        "-o",
        "all.jsonl",
    ]));
    let expected = "{\"id\":\"a\",\"text\":\"one two three\",\"duplicate_of\":null,\"cluster\":0,\"distance\":null}\n\
                    {\"id\":\"b\",\"text\":\"four five six\",\"duplicate_of\":null,\"cluster\":null,\"distance\":null}\n\
                    { \"id\":\"c\", \"text\":\"One, two; three.\",\"duplicate_of\":\"a\",\"cluster\":0,\"distance\":0}\n\
                    {\"id\":\"d\",\"text\":\"…\",\"duplicate_of\":null,\"cluster\":1,\"distance\":null}\n\
                    {\"id\":\"e\",\"text\":\"…\",\"duplicate_of\":\"d\",\"cluster\":1,\"distance\":0}\n";
    assert_eq!(
        String::from_utf8(sandbox.read("all.jsonl")).unwrap(),
        expected
    );
    // Without ids, positions are used; compared texts have a similarity.
    sandbox.write("b.jsonl", "{\"text\":\"a b\"}\n{\"text\":\"A b!\"}\n");
    let args = [
        "dedup",
        "b.jsonl",
        "-o",
        "b",
        "--annotate",
        "--similarity",
        "0.5",
    ];
    done(sandbox.run(&args));
    let found = objects(sandbox.read("b"));
    assert_eq!(
        (&found[0]["duplicate_of"], &found[0]["similarity"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&found[1]["duplicate_of"], &found[1]["similarity"]),
        (&json!(0), &json!(1.0))
    );
}

#[test]
fn an_index_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("old.jsonl", "{\"id\":\"old\",\"text\":\"four five six\"}\n");
    sandbox
        .run(&["build", "old.jsonl", "-o", "x.simidx"])
        .done();
    sandbox
        .run(&["build", "old.jsonl", "-o", "n.simidx", "--ids", "none"])
        .done();
    sandbox.write("a.jsonl.gz", gzip(LINES.as_bytes()));
    for index in ["x.simidx", "n.simidx"] {
        let args = [
            "dedup",
            "a.jsonl.gz",
            "--annotate",
            "-o",
            "all.jsonl.gz",
            "--force",
        ];
        let ran = sandbox.run(&[&args[..], &["--against", index]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let all = sandbox.shell("zcat all.jsonl.gz", &[]);
        let found = objects(all.stdout);
        let places: Vec<&Value> = found.iter().map(|object| &object["duplicate_in"]).collect();
        let input = json!("input");
        assert_eq!(
            places,
            [&Value::Null, &json!("index"), &input, &Value::Null, &input]
        );
        let of = found[1]["duplicate_of"].as_str().unwrap();
        match index {
            "x.simidx" => assert_eq!(of, "old"),
            _ => assert_eq!(of.len(), 16),
        }
        assert_eq!(found[1]["cluster"], Value::Null);
    }
}

#[test]
fn names_may_have_a_prefix() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"cluster\":9,\"text\":\"a b\"}\n");
    let args = ["dedup", "a.jsonl", "--annotate", "-o", "all.jsonl"];
    let message = "a.jsonl:1: has a field \"cluster\" already; give the new ones other names, with --annotate-prefix";
    sandbox.run(&args).refused(message);
    assert_eq!(sandbox.names(), ["a.jsonl"]);
    let ran = sandbox.run(&[&args[..], &["--annotate-prefix", "x_"]].concat());
    assert_eq!(ran.code, Some(0));
    let found = objects(sandbox.read("all.jsonl"));
    assert_eq!(
        (&found[0]["cluster"], &found[0]["x_cluster"]),
        (&json!(9), &Value::Null)
    );
    let ran = sandbox.run(&["dedup", "a.jsonl", "-o", "b", "--annotate-prefix", "x_"]);
    assert!(ran.refusal().contains("--annotate"), "{ran:?}");
}

#[test]
fn records_without_fields_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    let args = [
        "dedup",
        "a.txt",
        "--input",
        "lines",
        "--annotate",
        "-o",
        "all",
    ];
    let message = "a.txt: records read as lines have no fields to annotate; use --report instead";
    sandbox.run(&args).refused(message);
}

#[test]
fn elements_rows_and_columns_get_fields() {
    let sandbox = Sandbox::new();
    let annotated = |name: &str| {
        let args = [
            "dedup",
            name,
            "-k",
            "3",
            "--annotate",
            "-o",
            "all",
            "--force",
        ];
        done(sandbox.run(&args));
        sandbox.read("all")
    };
    sandbox.write("a.csv", "id;text\r\nx;\"one; two\"\r\ny;\"One\r\nTwo\"\r\n");
    let expected = "id;text;duplicate_of;cluster;distance\r\nx;\"one; two\";;0;\r\n\
                    y;\"One\r\nTwo\";x;0;0\r\n";
    assert_eq!(String::from_utf8(annotated("a.csv")).unwrap(), expected);
    sandbox.write(
        "a.json",
        "[\n  {\n    \"text\": \"a b\"\n  },\n  {\n    \"text\": \"A b!\"\n  }\n]\n",
    );
    let expected = json!([
        {"text": "a b", "duplicate_of": null, "cluster": 0, "distance": null},
        {"text": "A b!", "duplicate_of": 0, "cluster": 0, "distance": 0}
    ]);
    let found: Value = serde_json::from_slice(&annotated("a.json")).unwrap();
    assert_eq!(found, expected);
    // An Arrow file keeps its columns and their types.
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a b", "A b!", "c"]));
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("text", texts), ("n", numbers)]).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    sandbox.write("a.arrow", writer.into_inner().unwrap());
    let found = FileReader::try_new(Cursor::new(annotated("a.arrow")), None).unwrap();
    let found: Vec<RecordBatch> = found.map(Result::unwrap).collect();
    assert_eq!(found[0].project(&[0, 1]).unwrap(), batch);
    let column = |name| {
        found[0]
            .column_by_name(name)
            .unwrap()
            .as_primitive::<UInt64Type>()
    };
    let values = ["duplicate_of", "cluster", "distance"];
    let values = values.map(|name| column(name).iter().collect::<Vec<_>>());
    let expected: [Vec<Option<u64>>; 3] = [
        vec![None, Some(0), None],
        vec![Some(0), Some(0), None],
        vec![None, Some(0), None],
    ];
    assert_eq!(values, expected);
    // So does a Parquet file.
    let lines = "{\"text\":\"a b\"}\n{\"text\":\"A b!\"}\n{\"text\":\"c\"}\n";
    sandbox.write("a.parquet", parquet(lines, &["text"]));
    annotated("a.parquet");
    let file = std::fs::File::open(sandbox.path("all")).unwrap();
    let found = SerializedFileReader::new(file).unwrap();
    let rows = found.get_row_iter(None).unwrap();
    let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
    let expected = [
        "{text: \"a b\", duplicate_of: null, cluster: 0, distance: null}",
        "{text: \"A b!\", duplicate_of: 0, cluster: 0, distance: 0}",
        "{text: \"c\", duplicate_of: null, cluster: null, distance: null}",
    ];
    assert_eq!(rows, expected);
}
