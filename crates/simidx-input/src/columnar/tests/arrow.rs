//! Arrow files and streams written with the library, then read, damaged and read again.

use std::sync::Arc;

use arrow_array::builder::{
    ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder, StructBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeBinaryArray, Int32Array, Int64Array, LargeStringArray,
    ListViewArray, RunArray, StringArray, StringViewArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields as ArrowFields, Schema as ArrowSchema};

use super::super::*;
use crate::source::tests::{gzip, source, zstd};
use crate::tests::{Read, document, drain, drain_in_bulk, fields, filter_records, fingerprint};
use crate::{Content, Fields, Format, InputFile, ReadOptions, open, open_with};
use simidx::Width;

/// Returns a batch of these columns.
fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// Returns a file, or a stream, of these batches.
fn write(batches: &[RecordBatch], is_file: bool, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let (mut out, schema) = (Vec::new(), batches[0].schema());
    match is_file {
        true => {
            let mut writer = FileWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            batches
                .iter()
                .for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        false => {
            let mut writer =
                StreamWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            batches
                .iter()
                .for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
    out
}

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    write(&[batch(columns)], true, None)
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Reads the records of a source named `in`, and checks that a bulk read returns the same.
fn read_named(bytes: &[u8], names: &Fields) -> Result<Read, String> {
    read_with(bytes, &names.clone().into())
}

fn read_with(bytes: &[u8], options: &ReadOptions) -> Result<Read, String> {
    let open = || {
        let batches = ArrowBatches::open(source(bytes)).map_err(|e| e.to_string())?;
        Records::open(Box::new(batches), options).map_err(|e| e.to_string())
    };
    let read = drain(&mut open()?);
    let (bulk, _) = drain_in_bulk(&mut open()?, options.width, 1);
    assert_eq!(
        (bulk.records(), bulk.errors()),
        (read.records(), read.errors())
    );
    Ok(read)
}

fn read(bytes: &[u8]) -> Result<Read, String> {
    read_with(bytes, &ReadOptions::default())
}

#[test]
fn files_and_streams_of_every_compression_are_read() {
    let values: Vec<u64> = (0..20_000).map(|i| i * i).collect();
    let expected: Vec<_> = values
        .iter()
        .map(|&value| fingerprint(value.into(), None))
        .collect();
    let batches: Vec<RecordBatch> = values
        .chunks(9000)
        .map(|part| {
            batch(vec![(
                "fingerprint",
                Arc::new(UInt64Array::from(part.to_vec())),
            )])
        })
        .collect();
    let codecs = [
        None,
        Some(CompressionType::LZ4_FRAME),
        Some(CompressionType::ZSTD),
    ];
    for (is_file, codec) in [true, false]
        .into_iter()
        .flat_map(|f| codecs.map(|c| (f, c)))
    {
        let bytes = write(&batches, is_file, codec);
        let read_back = read(&bytes).unwrap();
        assert_eq!(read_back.errors(), [""; 0], "{is_file} {codec:?}");
        assert!(read_back.records() == expected, "{is_file} {codec:?}");
        // A stream consists of the same batches, without the magic strings and the footer.
        for packed in [gzip(&bytes), zstd(&bytes)] {
            assert!(read(&packed).unwrap().records() == expected);
        }
    }
}

#[test]
fn numbers_bytes_and_digits_are_fingerprints() {
    let value = 0xfedc_ba98_7654_3210_u64;
    let signed: ArrayRef = Arc::new(Int64Array::from(vec![value.cast_signed()]));
    let bytes = FixedSizeBinaryArray::try_from_iter([value.to_be_bytes()].into_iter()).unwrap();
    for column in [
        signed,
        Arc::new(UInt64Array::from(vec![value])),
        Arc::new(bytes),
        strings(&["fedcba9876543210"]),
        Arc::new(StringViewArray::from(vec!["fedcba9876543210"])),
    ] {
        let kind = column.data_type().clone();
        let read = read(&file(vec![("fingerprint", column)])).unwrap();
        assert_eq!(read.records(), [fingerprint(value.into(), None)], "{kind}");
    }
    for column in [
        Arc::new(Int32Array::from(vec![-2])) as ArrayRef,
        Arc::new(UInt32Array::from(vec![u32::MAX - 1])),
    ] {
        let read = read_with(&file(vec![("hash", column)]), &Width::W32.into()).unwrap();
        assert_eq!(read.records(), [fingerprint((u32::MAX - 1).into(), None)]);
    }
}

#[test]
fn texts_of_every_type_are_documents() {
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    for word in ["a", "b", "a"] {
        words.append_value(word);
    }
    let columns: [(ArrayRef, [&str; 3]); 5] = [
        (strings(&["a", "b", "a"]), ["a", "b", "a"]),
        (
            Arc::new(LargeStringArray::from(vec!["a", "b", "a"])),
            ["a", "b", "a"],
        ),
        (
            Arc::new(StringViewArray::from(vec!["a", "b", "a"])),
            ["a", "b", "a"],
        ),
        (
            Arc::new(BinaryArray::from(vec![&b"a"[..], b"b", b"a"])),
            ["a", "b", "a"],
        ),
        (Arc::new(words.finish()), ["a", "b", "a"]),
    ];
    for (column, texts) in columns {
        let kind = column.data_type().clone();
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        for is_file in [true, false] {
            let bytes = write(
                &[batch(vec![("text", column.clone()), ("id", ids.clone())])],
                is_file,
                None,
            );
            let read = read(&bytes).unwrap();
            let found = read.records().into_iter().map(|record| record.content);
            let expected = texts.map(|text| Content::Text(text.to_owned()));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{kind}");
        }
    }
}

#[test]
fn rare_forms_of_columns_are_refused() {
    let ends = Int32Array::from(vec![1, 3]);
    let runs = RunArray::try_new(&ends, &StringArray::from(vec!["a", "b"])).unwrap();
    let words = ListViewArray::from(ListBuilder::new(StringBuilder::new()).finish());
    for (column, name) in [
        (Arc::new(runs) as ArrayRef, "text"),
        (Arc::new(words), "words"),
    ] {
        let refused = read_named(&file(vec![(name, column)]), &fields(name, ""));
        let message = format!("in: column {name:?} holds values of another type, not strings");
        assert_eq!(refused.err(), Some(message));
    }
}

/// Returns a column of conversations. Each is a list of structures; the third is null and the fourth empty.
fn conversations() -> ArrayRef {
    let members = vec![
        Field::new("role", DataType::Utf8, true),
        Field::new("content", DataType::Utf8, true),
    ];
    let turn = StructBuilder::from_fields(members, 8);
    let mut lists = ListBuilder::new(turn);
    for turns in [
        Some(&[Some("a"), None, Some("b")][..]),
        Some(&[Some("c")]),
        None,
        Some(&[]),
    ] {
        for content in turns.unwrap_or_default() {
            let turn = lists.values();
            let string = |turn: &mut StructBuilder, at, value| {
                let column = turn.field_builder::<StringBuilder>(at).unwrap();
                column.append_option(value);
            };
            string(turn, 0, Some("user"));
            string(turn, 1, *content);
            turn.append(true);
        }
        lists.append(turns.is_some());
    }
    Arc::new(lists.finish())
}

#[test]
fn lists_structures_and_maps_are_gone_into() {
    let inner = Field::new("url", DataType::Utf8, true);
    let meta = StructArray::new(
        ArrowFields::from(vec![inner]),
        vec![strings(&["u1", "u2", "u3", "u4"])],
        None,
    );
    let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for row in 0..4 {
        maps.keys().append_value("key");
        maps.values().append_value(format!("value {row}"));
        maps.append(true).unwrap();
    }
    let bytes = file(vec![
        ("messages", conversations()),
        ("meta", Arc::new(meta)),
        ("pairs", Arc::new(maps.finish())),
        ("title", strings(&["A", "B", "C", "D"])),
    ]);
    let read_by = |text: &str| read_named(&bytes, &fields(text, "meta.url"));
    let read = read_by("messages.*.content").unwrap();
    let expected = [
        document("a\nb", Some("u1")),
        document("c", Some("u2")),
        document("", Some("u4")),
    ];
    assert_eq!(read.records(), expected);
    assert_eq!(read.errors(), ["in: row 3: \"messages.*.content\" is null"]);
    let read = read_by("title,messages.*.content,messages.*.role").unwrap();
    assert_eq!(
        read.records()[0],
        document("A\na\nb\nuser\nuser\nuser", Some("u1"))
    );
    assert_eq!(read.records()[2], document("C", Some("u3")));
    assert_eq!(read.records()[3], document("D\n\n", Some("u4")));
    let read = read_by("pairs.*.key,pairs.*.value").unwrap();
    assert_eq!(read.records()[1], document("key\nvalue 1", Some("u2")));
    for (text, message) in [
        (
            "messages",
            "column \"messages\" is a list; \"messages.*.role\" names its elements",
        ),
        ("meta", "column \"meta\" has members; it has: meta.url"),
    ] {
        assert_eq!(read_by(text).err().unwrap(), format!("in: {message}"));
    }
    let error = read_by("contnet").err().unwrap();
    assert!(
        error.starts_with("in: has no column \"contnet\"; it has: messages.*.content, "),
        "{error}"
    );
}

#[test]
fn bad_rows_are_named() {
    let text = StringArray::from(vec![Some("a"), None, Some("b"), Some("c")]);
    let ids = Int64Array::from(vec![Some(1), Some(2), None, Some(-1)]);
    let bytes = file(vec![("text", Arc::new(text)), ("id", Arc::new(ids))]);
    let read = read(&bytes).unwrap();
    assert_eq!(read.records().len(), 1);
    let errors = [
        "in: row 2: \"text\" is null",
        "in: row 3: \"id\" is null",
        "in: row 4: \"id\" is -1, which is below 0",
    ];
    assert_eq!(read.errors(), errors);
}

#[test]
fn the_only_numbers_are_fingerprints_with_or_without_an_id() {
    let numbers = |values: &[u64]| Arc::new(UInt64Array::from(values.to_vec())) as ArrayRef;
    let bytes = file(vec![
        ("url", strings(&["u"])),
        ("simhash", numbers(&[7])),
        ("id", numbers(&[1])),
    ]);
    let read = read_named(&bytes, &fields("", "url")).err().unwrap();
    assert!(
        read.starts_with("in: has no column \"text\" or \"fingerprint\"; it has: "),
        "{read}"
    );
    let read = self::read(&bytes).unwrap();
    assert_eq!(read.records()[0].content, Content::Fingerprint(7));
    let bytes = file(vec![("url", strings(&["u"])), ("simhash", numbers(&[7]))]);
    let read = read_named(&bytes, &fields("", "url")).unwrap();
    assert_eq!(read.records(), [fingerprint(7, Some("u"))]);
    // If there are strings, signed numbers need not be fingerprints.
    let signed: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let bytes = file(vec![("body", strings(&["u"])), ("views", signed)]);
    assert!(self::read(&bytes).is_err());
    let mut names = fields("", "");
    names.fingerprint = Some("views".into());
    let read = read_named(&bytes, &names).unwrap();
    assert_eq!(read.records(), [fingerprint(7, None)]);
}

#[test]
fn what_is_no_arrow_is_refused() {
    let message = |bytes: &[u8]| read(bytes).err().unwrap();
    assert_eq!(message(b""), "in: is empty");
    assert_eq!(message(b"ff\n"), "in: is not an Arrow file");
    assert_eq!(
        message(b"some other text that goes on"),
        "in: is not an Arrow file"
    );
    assert_eq!(
        message(b"ARROW1\0\0\xff\xff\xff\xff\x10\0"),
        "in: the Arrow data are cut off"
    );
}

#[test]
fn damaged_files_are_errors() {
    let column = conversations();
    let ids: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3, 4]));
    let batches = [batch(vec![("messages", column), ("id", ids)])];
    let names = fields("messages.*.content", "");
    for (is_file, codec) in [
        (true, None),
        (true, Some(CompressionType::LZ4_FRAME)),
        (false, Some(CompressionType::ZSTD)),
    ] {
        let whole = write(&batches, is_file, codec);
        let count = read_named(&whole, &names).unwrap().records().len();
        for length in 0..whole.len() {
            let Ok(read) = read_named(&whole[..length], &names) else {
                continue;
            };
            // A stream may end after any message.
            let is_error = read.errors().iter().any(|error| !error.contains(" row "));
            assert!(
                is_error || !is_file && [0, count].contains(&read.records().len()),
                "{length}"
            );
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            // Some changed bits have no effect. In any case, nothing panics.
            let _ = read_named(&bytes, &names);
        }
    }
}

/// Copies the wanted records of a file, and returns the copy.
fn copied(bytes: &[u8], name: &str, wanted: &[bool]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let inputs = [0, 1].map(|_| InputFile::open(&path, None, None).unwrap());
    let (mut out, mut wanted) = (Vec::new(), wanted.iter());
    filter_records(&inputs, &mut out, &mut |_| *wanted.next().unwrap()).unwrap();
    out
}

#[test]
fn rows_are_copied_with_all_their_columns() {
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3, 4]));
    let texts = strings(&["a", "b", "c", "d"]);
    let whole = batch(vec![
        ("messages", conversations()),
        ("id", numbers),
        ("text", texts),
    ]);
    let batches = [whole.slice(0, 3), whole.slice(3, 1)];
    let wanted = [false, true, false, true, false, false, false, true];
    for (is_file, codec) in [(true, Some(CompressionType::LZ4_FRAME)), (false, None)] {
        let name = if is_file { "a.feather" } else { "a.arrow" };
        let out = copied(&write(&batches, is_file, codec), name, &wanted);
        assert_eq!(out.starts_with(b"ARROW1"), is_file);
        let mut read = ArrowBatches::open(source(&out)).unwrap();
        let rows: Vec<RecordBatch> = std::iter::from_fn(|| read.next().unwrap()).collect();
        assert_eq!(
            rows,
            [whole.slice(1, 1), whole.slice(3, 1), whole.slice(3, 1)]
        );
        assert_eq!(read.compression(), codec);
    }
    let out = copied(&write(&batches, true, None), "a.feather", &[false; 8]);
    assert_eq!(self::read(&out).unwrap().records(), []);
}

#[test]
fn files_are_told_by_their_content_and_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = file(vec![("text", strings(&["a"]))]);
    let stream = write(&[batch(vec![("text", strings(&["a"]))])], false, None);
    for (name, bytes) in [
        ("a.feather", &bytes),
        ("a.ipc", &stream),
        ("a", &bytes),
        ("b", &stream),
        ("c.arrow.gz", &gzip(&bytes)),
        ("d", &zstd(&stream)),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut reader = open(&path, None).unwrap();
        assert_eq!(
            drain(&mut *reader).records(),
            [document("a", None)],
            "{name}"
        );
    }
    let path = folder.path().join("a");
    let error = open_with(&path, Some(Format::Lines), &Default::default());
    let message = error.err().unwrap().to_string();
    assert!(
        message.ends_with("a: is an Arrow file; read it with --input arrow"),
        "{message}"
    );
    let schema = ArrowSchema::new(vec![Field::new("x", DataType::Float64, true)]);
    let empty = write(&[RecordBatch::new_empty(Arc::new(schema))], true, None);
    std::fs::write(&path, empty).unwrap();
    let message = open(&path, None).err().unwrap().to_string();
    assert!(
        message.contains("has no column \"text\" or \"fingerprint\"; it has: x; "),
        "{message}"
    );
}
