//! `--format`: records in another format.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::done;
use crate::support::{Sandbox, gzip};

const LINES: &str = "{\"id\":1,\"text\":\"one, two\",\"tags\":[\"x\"]}\n\
                     {\"id\":2,\"text\":\"four five\"}\n\
                     {\"id\":3,\"text\":\"One two\"}\n";

fn rows(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let file = std::fs::File::open(sandbox.path(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn records_are_converted_if_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl.gz", gzip(LINES.as_bytes()));
    let convert = |from: &str, to: &str, format: &str| {
        done(sandbox.run(&["dedup", from, "-o", to, "--format", format]));
        sandbox.read(to)
    };
    let csv = "id,text,tags\n1,\"one, two\",\"[\"\"x\"\"]\"\n2,four five,\n";
    assert_eq!(
        String::from_utf8(convert("a.jsonl.gz", "a.csv", "csv")).unwrap(),
        csv
    );
    convert("a.jsonl.gz", "a.parquet", "parquet");
    let expected = [
        "{id: 1, text: \"one, two\", tags: \"[\"x\"]\"}",
        "{id: 2, text: \"four five\", tags: null}",
    ];
    assert_eq!(rows(&sandbox, "a.parquet"), expected);
    let back = convert("a.parquet", "back.jsonl", "jsonl");
    let expected = "{\"id\":1,\"text\":\"one, two\",\"tags\":\"[\\\"x\\\"]\"}\n\
                    {\"id\":2,\"text\":\"four five\",\"tags\":null}\n";
    assert_eq!(String::from_utf8(back).unwrap(), expected);
    // The same format needs no conversion.
    let same = convert("a.jsonl.gz", "same.jsonl", "jsonl");
    let (kept, _) = LINES.split_at(LINES.find("{\"id\":3").unwrap());
    assert_eq!(same, kept.as_bytes());
    // Compressed as the extension demands.
    convert("a.jsonl.gz", "z.csv.zst", "csv");
    assert_eq!(
        sandbox.shell("zstd -dc z.csv.zst || true", &[]).code,
        Some(0)
    );
    // With the results added.
    let args = [
        "dedup",
        "a.jsonl.gz",
        "-o",
        "n.csv",
        "--format",
        "csv",
        "--annotate",
    ];
    done(sandbox.run(&args));
    let text = String::from_utf8(sandbox.read("n.csv")).unwrap();
    let last: Vec<&str> = text.lines().collect();
    assert_eq!(last[0], "id,text,tags,duplicate_of,cluster,similarity");
    assert_eq!(last[3], "3,One two,,1,0,1.0");
    done(sandbox.run(&["dedup", "a.parquet", "-o", "n.parquet", "--annotate"]));
    let expected = "{id: 2, text: \"four five\", tags: null, duplicate_of: null, cluster: null, similarity: null}";
    assert_eq!(rows(&sandbox, "n.parquet")[1], expected);
}

#[test]
fn records_without_fields_are_not_converted() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    let args = [
        "dedup", "a.txt", "--input", "lines", "--format", "jsonl", "-o", "k",
    ];
    let message = "a.txt: records read as lines have no fields and cannot be converted to jsonl";
    sandbox.run(&args).refused(message);
    let ran = sandbox.run(&["dedup", "a.txt", "-o", "k", "--format", "xml"]);
    let known = "\"xml\" is no output format, those are jsonl, csv and parquet";
    assert!(ran.refusal().contains(known), "{ran:?}");
}

#[test]
fn every_format_with_fields_is_converted() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "id,text\nx,\"one, two\"\ny,One two\n");
    sandbox.write(
        "a.json",
        "[{\"id\": \"x\",\n \"text\": \"one, two\"},\n {\"id\": \"y\", \"text\": \"One two\"}]",
    );
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["one, two", "One two"]));
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    sandbox.write("a.arrow", writer.into_inner().unwrap());
    for from in ["a.csv", "a.json", "a.arrow"] {
        let args = ["dedup", from, "--force", "-o"];
        let convert = |to: &str, format| {
            done(sandbox.run(&[&args[..], &[to, "--format", format]].concat()));
            String::from_utf8_lossy(&sandbox.read(to)).into_owned()
        };
        let line = "{\"id\":\"x\",\"text\":\"one, two\"}\n";
        assert_eq!(convert("k.jsonl", "jsonl"), line, "{from}");
        assert_eq!(
            convert("k.csv", "csv"),
            "id,text\nx,\"one, two\"\n",
            "{from}"
        );
        convert("k.parquet", "parquet");
        let row = "{id: \"x\", text: \"one, two\"}";
        assert_eq!(rows(&sandbox, "k.parquet"), [row], "{from}");
    }
}
