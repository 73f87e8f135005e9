//! Arrow files and streams with new columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};

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
    let new = fields(&[("n", FieldKind::Number)]);
    let found = rewritten(&[("a.arrow", &file(&parts))], None, &new, &fates);
    let message = found.unwrap_err();
    assert!(
        message.starts_with("a.arrow: has a field \"n\" already"),
        "{message}"
    );
}
