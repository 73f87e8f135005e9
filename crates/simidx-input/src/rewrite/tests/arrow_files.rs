//! Arrow files and streams with new columns, and in other formats.

use std::sync::Arc;

use arrow_array::builder::{
    Int32Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, IntervalYearMonthArray, RecordBatch, RunArray, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, UInt64Array,
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field};

use super::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(n, a)| (n, a, true))).unwrap()
}

fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.into_inner().unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.into_inner().unwrap()
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Reads the batches of a file or a stream.
fn batches(bytes: &[u8]) -> Vec<RecordBatch> {
    match bytes.starts_with(b"ARROW1") {
        true => {
            let reader = FileReader::try_new(io::Cursor::new(bytes), None).unwrap();
            reader.map(Result::unwrap).collect()
        }
        false => {
            let reader = StreamReader::try_new(bytes, None).unwrap();
            reader.map(Result::unwrap).collect()
        }
    }
}

#[test]
fn rows_get_columns() {
    let all = batch(vec![
        ("text", texts(&["a", "b", "c"])),
        (
            "n",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
        ),
    ]);
    let parts = [all.slice(0, 2), all.slice(2, 1)];
    let fates = [
        values("x", u64::MAX),
        Fate::Dropped,
        Fate::With(vec![None, None, Some(FieldValue::Real(0.5))]),
        Fate::Copied,
        Fate::Dropped,
        Fate::Dropped,
    ];
    for bytes in [file(&parts), stream(&parts)] {
        let inputs = [("a.arrow", &bytes[..]), ("b.arrow", &bytes[..])];
        let (out, lost) = rewritten(&inputs, None, &three(), &fates).unwrap();
        assert_eq!(lost, 0);
        assert_eq!(out.starts_with(b"ARROW1"), bytes.starts_with(b"ARROW1"));
        let found = batches(&out);
        let rows: Vec<usize> = found.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [1, 1, 1]);
        let names: Vec<String> = found[0]
            .schema()
            .fields()
            .iter()
            .map(|f| f.to_string())
            .collect();
        assert_eq!(names.len(), 5, "{names:?}");
        assert_eq!(found[0].project(&[0, 1]).unwrap(), all.slice(0, 1));
        assert_eq!(found[1].project(&[0, 1]).unwrap(), all.slice(2, 1));
        let column = |row: usize, name| found[row].column_by_name(name).unwrap().clone();
        assert_eq!(column(0, "of").as_string::<i32>().value(0), "x");
        let distances = column(0, "distance");
        assert_eq!(distances.as_primitive::<UInt64Type>().value(0), u64::MAX);
        assert!(column(0, "share").is_null(0) && column(1, "of").is_null(0));
        let share = column(1, "share");
        assert_eq!(share.as_primitive::<Float64Type>().value(0), 0.5);
        assert!(
            ["of", "distance", "share"]
                .iter()
                .all(|n| column(2, n).is_null(0))
        );
    }
    let mut rewrite = three();
    rewrite.fields = fields(&[("n", FieldKind::Number)]);
    let found = rewritten(&[("a.arrow", &file(&parts))], None, &rewrite, &fates);
    let message = found.unwrap_err();
    assert!(
        message.starts_with("a.arrow: has a field \"n\" already"),
        "{message}"
    );
}

/// Returns a batch with a row of values of each kind, and a row of nulls.
fn kinds() -> RecordBatch {
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    words.append_value("word");
    words.append_null();
    let runs = RunArray::try_new(
        &Int32Array::from(vec![1, 2]),
        &StringArray::from(vec![Some("run"), None]),
    );
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(7);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let inner = Field::new("m", DataType::Utf8, true);
    let nulls = vec![true, false];
    let structs = StructArray::new(
        vec![inner].into(),
        vec![texts(&["\"", ""])],
        Some(nulls.into()),
    );
    let decimals = Decimal128Array::from(vec![Some(-1234), None]);
    let moments = TimestampMillisecondArray::from(vec![Some(1_600_000_000_123), None]);
    batch(vec![
        ("text", Arc::new(StringArray::from(vec![Some("t"), None]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("signed", Arc::new(Int64Array::from(vec![Some(-5), None]))),
        (
            "unsigned",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
        ),
        (
            "real",
            Arc::new(Float64Array::from(vec![Some(0.25), Some(f64::NAN)])),
        ),
        (
            "bytes",
            Arc::new(BinaryArray::from(vec![Some(&b"\xff\x01"[..]), None])),
        ),
        ("word", Arc::new(words.finish())),
        ("run", Arc::new(runs.unwrap())),
        ("list", Arc::new(lists.finish())),
        ("map", Arc::new(maps.finish())),
        ("struct", Arc::new(structs)),
        (
            "decimal",
            Arc::new(decimals.with_precision_and_scale(6, 2).unwrap()),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(18_000), None]))),
        ("moment", Arc::new(moments.with_timezone("UTC"))),
        (
            "time",
            Arc::new(Time64MicrosecondArray::from(vec![
                Some(3_600_000_001),
                None,
            ])),
        ),
    ])
}

#[test]
fn values_become_json_and_text() {
    let mut rewrite = Rewrite {
        format: Some(Format::Jsonl),
        fields: Vec::new(),
    };
    let fates = [Fate::Copied, Fate::Copied, Fate::Dropped, Fate::Copied];
    let rows = [kinds(), kinds()];
    let values = "{\"text\":\"t\",\"bool\":true,\"signed\":-5,\"unsigned\":18446744073709551615,\"real\":0.25,\
                  \"bytes\":\"ff01\",\"word\":\"word\",\"run\":\"run\",\"list\":[1,null],\"map\":{\"k\":7},\
                  \"struct\":{\"m\":\"\\\"\"},\"decimal\":\"-12.34\",\"day\":\"2019-04-14\",\
                  \"moment\":\"2020-09-13 12:26:40.123 +00:00\",\"time\":\"01:00:00.000001\"}";
    let parsed: serde_json::Value = serde_json::from_str(values).unwrap();
    let nulls: Vec<String> = kinds()
        .schema()
        .fields()
        .iter()
        .map(|f| format!("\"{}\":null", f.name()))
        .collect();
    let nulls = format!("{{{}}}", nulls.join(","));
    assert_eq!(parsed.as_object().unwrap().len(), kinds().num_columns());
    for bytes in [file(&rows), stream(&rows)] {
        let found = rewritten(&[("a.arrow", &bytes)], None, &rewrite, &fates);
        assert_eq!(text(found), (format!("{values}\n{nulls}\n{nulls}\n"), 0));
    }
    rewrite.format = Some(Format::Csv);
    let found = rewritten(&[("a.arrow", &file(&rows[..1]))], None, &rewrite, &fates);
    let (found, _) = text(found);
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(
        lines[1],
        "t,true,-5,18446744073709551615,0.25,ff01,word,run,\"[1,null]\",\"{\"\"k\"\":7}\",\
         \"{\"\"m\"\":\"\"\\\"\"\"\"}\",-12.34,2019-04-14,2020-09-13 12:26:40.123 +00:00,01:00:00.000001"
    );
    assert_eq!(lines[2], ",".repeat(14));
}

#[test]
fn files_go_together_by_their_columns() {
    let rewrite = Rewrite {
        format: Some(Format::Jsonl),
        fields: Vec::new(),
    };
    let fates = [Fate::Copied, Fate::Copied];
    let a = file(&[batch(vec![("text", texts(&["a"]))])]);
    let b = file(&[batch(vec![("text", texts(&["b"])), ("x", texts(&["y"]))])]);
    let found = rewritten(&[("a.arrow", &a), ("b.arrow", &b)], None, &rewrite, &fates);
    assert_eq!(
        found.unwrap_err(),
        "b.arrow: has other columns than the files before it"
    );
    let found = rewritten(&[("a.arrow", &a), ("c.arrow", &a)], None, &rewrite, &fates);
    assert_eq!(text(found).0, "{\"text\":\"a\"}\n{\"text\":\"a\"}\n");
}

#[test]
fn values_that_cannot_be_shown_are_errors() {
    let rewrite = Rewrite {
        format: Some(Format::Jsonl),
        fields: Vec::new(),
    };
    let fates = [Fate::Copied, Fate::Copied];
    let spans: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1]));
    let a = file(&[batch(vec![("text", texts(&["a"])), ("span", spans)])]);
    let message = "a.arrow: column \"span\" holds values of the type Interval(YearMonth), which cannot be converted";
    let found = rewritten(&[("a.arrow", &a)], None, &rewrite, &fates);
    assert_eq!(found.unwrap_err(), message);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX, 0]));
    let a = file(&[batch(vec![("day", days)])]);
    let found = rewritten(&[("a.arrow", &a)], None, &rewrite, &fates);
    assert_eq!(text(found), ("{\"day\":\"1970-01-01\"}\n".to_owned(), 1));
}

#[cfg(feature = "parquet")]
#[test]
fn a_column_fits_the_values_of_all_files() {
    let rewrite = Rewrite {
        format: Some(Format::Parquet),
        fields: Vec::new(),
    };
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let b = file(&[batch(vec![("n", numbers)])]);
    let inputs: [(&str, &[u8]); 2] = [("a.jsonl", b"{\"n\":\"x\"}\n"), ("b.arrow", &b)];
    let found = rewritten(&inputs, None, &rewrite, &[Fate::Copied, Fate::Copied]);
    let (_, rows) = parquet_files::rows(found.unwrap().0);
    assert_eq!(rows, ["{n: \"x\"}", "{n: \"1\"}"]);
}

#[cfg(feature = "parquet")]
#[test]
fn types_become_those_of_parquet() {
    let rewrite = Rewrite {
        format: Some(Format::Parquet),
        fields: Vec::new(),
    };
    let bytes = file(&[kinds()]);
    let found = rewritten(
        &[("a.arrow", &bytes)],
        None,
        &rewrite,
        &[Fate::Copied, Fate::Copied],
    );
    let (columns, rows) = parquet_files::rows(found.unwrap().0);
    let expected = ["BOOLEAN", "INT64", "INT64", "DOUBLE", "BYTE_ARRAY"];
    for (column, kind) in columns[1..].iter().zip(expected) {
        assert!(column.ends_with(kind), "{column}");
    }
    assert!(rows[0].starts_with(
        "{text: \"t\", bool: true, signed: -5, unsigned: 18446744073709551615, real: 0.25, bytes: \"ff01\""
    ), "{}", rows[0]);
    assert!(
        rows[1].starts_with("{text: null, bool: null, signed: null, unsigned: null, real: null")
    );
}
