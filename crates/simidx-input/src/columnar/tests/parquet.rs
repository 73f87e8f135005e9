//! Parquet files written with the library, then read, damaged and read again.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, Int96};
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::super::*;
use crate::tests::{Read, document, drain, drain_in_bulk, fields, filter_records, fingerprint};
use crate::{Fields, Record, open, open_with};
use simidx::{IdBuf, Width};

/// The values of a column in one row group; `None` is null.
enum Values {
    Small(Vec<Option<i32>>),
    Large(Vec<Option<i64>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

fn large(values: &[u64]) -> Values {
    Values::Large(values.iter().map(|v| Some(v.cast_signed())).collect())
}

fn strings(values: &[&str]) -> Values {
    Values::Bytes(values.iter().map(|v| Some(v.as_bytes().to_vec())).collect())
}

/// Returns a file with these columns, and their values in each row group.
fn write(columns: &str, groups: &[Vec<Values>], compression: Compression) -> Vec<u8> {
    let schema = parse_message_type(&format!("message rows {{ {columns} }}")).unwrap();
    let properties = WriterProperties::builder().set_compression(compression);
    let properties = properties
        .set_data_page_row_count_limit(1000)
        .set_write_batch_size(100)
        .build();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in groups {
        let mut rows = writer.next_row_group().unwrap();
        for values in group {
            let mut column = rows.next_column().unwrap().unwrap();
            macro_rules! put {
                ($writer:expr, $values:expr) => {{
                    let levels: Vec<i16> = $values.iter().map(|v| i16::from(v.is_some())).collect();
                    let there: Vec<_> = $values.iter().flatten().cloned().map(Into::into).collect();
                    $writer.write_batch(&there, Some(&levels), None).unwrap();
                }};
            }
            match (column.untyped(), values) {
                (ColumnWriter::Int32ColumnWriter(w), Values::Small(v)) => put!(w, v),
                (ColumnWriter::Int64ColumnWriter(w), Values::Large(v)) => put!(w, v),
                (ColumnWriter::ByteArrayColumnWriter(w), Values::Bytes(v)) => put!(w, v),
                (ColumnWriter::FixedLenByteArrayColumnWriter(w), Values::Bytes(v)) => {
                    let levels: Vec<i16> = v.iter().map(|v| i16::from(v.is_some())).collect();
                    let there = v.iter().flatten().cloned();
                    let there: Vec<_> = there.map(|v| ByteArray::from(v).into()).collect();
                    w.write_batch(&there, Some(&levels), None).unwrap();
                }
                _ => panic!("the values do not fit the column"),
            }
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    file
}

fn plain(columns: &str, groups: &[Vec<Values>]) -> Vec<u8> {
    write(columns, groups, Compression::UNCOMPRESSED)
}

/// Reads the records of a file named `x.parquet`, and checks that a bulk read returns the same.
fn read(bytes: &[u8]) -> Result<Read, String> {
    read_as(Width::W64, bytes)
}

fn read_as(width: Width, bytes: &[u8]) -> Result<Read, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    let local = |message: String| message.replace(&format!("{}/", dir.path().display()), "");
    let open = || open_with(&path, None, &width.into()).map_err(|e| local(e.to_string()));
    let read = drain(&mut *open()?).map_errors(local);
    let (bulk, _) = drain_in_bulk(&mut *open()?, width, 1);
    let bulk = bulk.map_errors(local);
    assert_eq!(
        (bulk.records(), bulk.errors()),
        (read.records(), read.errors())
    );
    Ok(read)
}

#[test]
fn numbers_of_either_sign_are_bits() {
    let values = [0, 1, u64::MAX, 1 << 63, 0x0123_4567_89ab_cdef];
    let expected = values.map(|value| fingerprint(value.into(), None));
    for column in [
        "required int64 fingerprint;",
        "optional int64 fingerprint (integer(64, false));",
        "optional int64 fingerprint (UINT_64);",
        "required int64 hash; required int32 other;",
        "required int64 fingerprint; required int64 other;",
    ] {
        let mut group = vec![large(&values)];
        match column {
            c if c.contains("int32") => group.push(Values::Small(vec![Some(1); 5])),
            c if c.contains("other") => group.push(large(&values)),
            _ => {}
        }
        let file = plain(column, &[group]);
        assert_eq!(read(&file).unwrap().records(), expected, "{column}");
    }
    let file = plain(
        "required int32 fingerprint (UINT_32);",
        &[vec![Values::Small(vec![Some(-1), Some(7)])]],
    );
    let expected = [fingerprint(u32::MAX.into(), None), fingerprint(7, None)];
    assert_eq!(read_as(Width::W32, &file).unwrap().records(), expected);
}

#[test]
fn every_compression_and_row_group_is_read() {
    let values: Vec<u64> = (0..20_000).map(|i| i * i).collect();
    let expected: Vec<_> = values
        .iter()
        .map(|&value| fingerprint(value.into(), None))
        .collect();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        let groups = values.chunks(9000).map(|group| vec![large(group)]);
        let groups: Vec<_> = groups.collect();
        for column in ["required int64 fingerprint;", "optional int64 fingerprint;"] {
            let file = write(column, &groups, compression);
            assert!(read(&file).unwrap().records() == expected, "{compression}");
        }
    }
}

#[test]
fn byte_arrays_have_the_most_significant_byte_first() {
    let value = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10u128;
    for kind in ["", " (UUID)"] {
        let file = plain(
            &format!("required fixed_len_byte_array(16) fingerprint{kind};"),
            &[vec![Values::Bytes(vec![Some(
                value.to_be_bytes().to_vec(),
            )])]],
        );
        let read = read_as(Width::W128, &file).unwrap();
        assert_eq!(read.records(), [fingerprint(value, None)]);
    }
}

#[test]
fn digits_and_ids_are_read() {
    let file = plain(
        "required binary fingerprint (UTF8); optional binary id (UTF8);",
        &[vec![strings(&["ff", "xyz", "1"]), strings(&["a", "b", ""])]],
    );
    let read = read(&file).unwrap();
    assert_eq!(read.records(), [fingerprint(255, Some("a"))]);
    let messages = [
        "x.parquet: row 2: \"xyz\" is not a hexadecimal number",
        "x.parquet: row 3: id is empty",
    ];
    assert_eq!(read.errors(), messages);
}

#[test]
fn documents_with_numbers_as_ids_are_read() {
    let ids = Values::Large(vec![Some(7), Some(-7), None, Some(8)]);
    let text = Values::Bytes(vec![
        Some(b"one".to_vec()),
        Some(b"two".to_vec()),
        Some(b"three".to_vec()),
        Some(b"\xff".to_vec()),
    ]);
    let file = plain(
        "optional int64 id; required binary text (UTF8);",
        &[vec![ids, text]],
    );
    let read = read(&file).unwrap();
    let mut expected = document("one", None);
    expected.id = Some(IdBuf::Number(7));
    assert_eq!(read.records(), [expected]);
    let messages = [
        "x.parquet: row 2: \"id\" is -7, which is below 0",
        "x.parquet: row 3: \"id\" is null",
        "x.parquet: row 4: not valid UTF-8",
    ];
    assert_eq!(read.errors(), messages);
    let file = plain(
        "required int32 id (UINT_32); required binary text;",
        &[vec![Values::Small(vec![Some(-1)]), strings(&["a"])]],
    );
    let id = self::read(&file).unwrap().records()[0].id.clone();
    assert_eq!(id, Some(IdBuf::Number(u32::MAX.into())));
}

#[test]
fn a_null_is_a_bad_row() {
    let mut values: Vec<_> = (0..3000).map(Some).collect();
    values[2000] = None;
    let file = plain(
        "optional int64 fingerprint;",
        &[vec![Values::Large(values)]],
    );
    let read = read(&file).unwrap();
    assert_eq!(read.records().len(), 2999);
    assert_eq!(
        read.errors(),
        ["x.parquet: row 2001: \"fingerprint\" is null"]
    );
}

#[test]
fn files_without_the_columns_are_refused() {
    let one = || large(&[1]);
    let text = || strings(&["a"]);
    for (columns, group, message) in [
        (
            "required int64 a; required int64 b;",
            vec![one(), one()],
            "has no column \"text\" or \"fingerprint\"; it has: a, b; choose with --text-field or --fingerprint-field",
        ),
        (
            "required binary a;",
            vec![text()],
            "has no column \"text\" or \"fingerprint\"; it has: a; choose with --text-field or --fingerprint-field",
        ),
        (
            "required int64 a (TIMESTAMP(MILLIS,true));",
            vec![one()],
            "has no column \"text\" or \"fingerprint\"; it has: a; choose with --text-field or --fingerprint-field",
        ),
        (
            "required int64 id;",
            vec![one()],
            "has no column \"text\" or \"fingerprint\"; it has: id; choose with --text-field or --fingerprint-field",
        ),
        (
            "required int64 views; required binary body (UTF8); required binary id (UTF8);",
            vec![one(), text(), text()],
            "has no column \"text\" or \"fingerprint\"; it has: views, body, id; choose with --text-field or --fingerprint-field",
        ),
        (
            "required int64 fingerprint; required binary text;",
            vec![one(), text()],
            "has both a column \"text\" and a column \"fingerprint\"; choose with --text-field or --fingerprint-field",
        ),
        (
            "required binary text (BSON);",
            vec![text()],
            "column \"text\" holds values of another type, not strings",
        ),
        (
            "required int64 text;",
            vec![one()],
            "column \"text\" holds 64-bit numbers, not strings",
        ),
        (
            "required int32 fingerprint;",
            vec![Values::Small(vec![Some(1)])],
            "column \"fingerprint\" holds 32-bit numbers, not 64-bit fingerprints",
        ),
        (
            "required fixed_len_byte_array(1) fingerprint;",
            vec![text()],
            "column \"fingerprint\" holds arrays of 1 bytes, not 64-bit fingerprints",
        ),
        (
            "repeated int64 fingerprint;",
            vec![],
            "column \"fingerprint.*\" is a list, where one value is wanted",
        ),
        (
            "required fixed_len_byte_array(1) id; required int64 fingerprint;",
            vec![text(), one()],
            "column \"id\" holds arrays of 1 bytes, neither strings nor integers",
        ),
    ] {
        let groups = if group.is_empty() {
            vec![]
        } else {
            vec![group]
        };
        let error = read(&plain(columns, &groups)).err().unwrap();
        assert_eq!(error, format!("x.parquet: {message}"), "{columns}");
    }
}

#[test]
fn what_is_no_file_of_this_format_is_refused() {
    let message = |bytes: &[u8]| read(bytes).err().unwrap();
    assert_eq!(message(b"ff\n"), "x.parquet: is not a Parquet file");
    assert_eq!(message(b""), "x.parquet: is empty");
    assert_eq!(
        message(b"PK\x03\x04"),
        "x.parquet: is a zip archive; unpack it first"
    );
    let compressed = crate::source::tests::gzip(b"PAR1");
    let through = "x.parquet: a Parquet file cannot be read through compression";
    assert_eq!(message(&compressed), through);
    let error = message(b"PAR1 and no more");
    assert!(
        error.starts_with("x.parquet: cannot be read as Parquet: "),
        "{error}"
    );
    let stdin = open(Path::new("-"), Some(crate::Format::Parquet));
    let message = "-: a Parquet file cannot be read from standard input";
    assert_eq!(stdin.err().unwrap().to_string(), message);
}

#[test]
fn damaged_files_are_errors() {
    let values: Vec<u64> = (0..50).map(|i| i * 77).collect();
    let names: Vec<String> = values.iter().map(|v| format!("name {v}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let arrays = (0..50).map(|n| (n % 3 > 0).then(|| vec![n; 4])).collect();
    let groups = [vec![large(&values), strings(&names), Values::Bytes(arrays)]];
    let columns = "optional int64 fingerprint; optional binary id (UTF8); \
                   optional fixed_len_byte_array(4) x;";
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let whole = write(columns, &groups, compression);
        for length in (0..whole.len()).step_by(7) {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            // Some changed bits have no effect. In any case, nothing panics.
            let _ = read(&bytes);
            let _ = copy(&bytes);
        }
    }
}

/// Returns a copy of all rows of a file.
fn copy(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    let mut copy = Vec::new();
    let copied = InputFile::open(&path, None, None)
        .and_then(|input| filter_records(&[input], &mut copy, &mut |_| true));
    copied.map_err(|error| error.to_string())?;
    Ok(copy)
}

#[test]
fn arrays_of_a_declared_length_take_little_memory() {
    let file = |length: usize| {
        let columns = format!("required binary text; optional fixed_len_byte_array({length}) x;");
        plain(
            &columns,
            &[vec![strings(&["a"; 5]), Values::Bytes(vec![None; 5])]],
        )
    };
    let rows = |length: usize| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        std::fs::write(&path, file(length)).unwrap();
        let mut batches = ParquetBatches::open(&path)?;
        let mut rows = 0;
        while let Some(batch) = batches.next()? {
            rows += batch.num_rows();
        }
        Ok::<_, Error>(rows)
    };
    assert_eq!(rows(20_000_000).unwrap(), 5);
    let message = "x.parquet: the arrays of a row are longer than 268435456 bytes";
    let error = rows(2_000_000_000).unwrap_err().to_string();
    assert!(error.ends_with(message), "{error}");
}

/// Returns a file with changed metadata.
fn altered(
    file: &[u8],
    rows: i64,
    change: impl Fn(&[RowGroupMetaData]) -> Vec<RowGroupMetaData>,
) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, file).unwrap();
    let reader = parquet_file::ParquetFile::open(&path).unwrap().reader;
    let own = reader.metadata().file_metadata();
    let groups = change(reader.metadata().row_groups());
    let schema = own.schema_descr_ptr();
    let own = FileMetaData::new(own.version(), rows, None, None, schema, None);
    let mut file = file.to_vec();
    let writer = ParquetMetaDataWriter::new(&mut file, &ParquetMetaData::new(own, groups)).finish();
    writer.unwrap();
    file
}

#[test]
fn a_row_group_has_the_rows_that_it_declares() {
    let columns = "required int64 id; required binary text;";
    let first = vec![large(&[1, 2, 3]), strings(&["a", "b", "c"])];
    let second = vec![large(&[4, 5]), strings(&["d", "e"])];
    let file = plain(columns, &[first, second]);
    let with_rows = |rows: [i64; 2]| {
        altered(&file, 5, |groups| {
            let groups = groups.iter().zip(rows);
            let groups =
                groups.map(|(g, rows)| g.clone().into_builder().set_num_rows(rows).build());
            groups.map(Result::unwrap).collect()
        })
    };
    let [short, long] =
        ["ends before", "goes on after"].map(|what| format!("x.parquet: a column {what} its rows"));
    for (rows, count, message) in [
        ([2, 2], 0, &long),
        ([2, 3], 0, &long),
        ([3, 1], 3, &long),
        ([3, 0], 3, &long),
        ([0, 0], 0, &long),
        ([4, 1], 3, &short),
        ([5, 0], 3, &short),
        ([3, 3], 5, &short),
    ] {
        let read = read(&with_rows(rows)).unwrap();
        assert_eq!(read.records().len(), count, "{rows:?}");
        assert_eq!(read.errors(), [message.as_str()], "{rows:?}");
    }
    let none_in_all = altered(&file, 0, <[_]>::to_vec);
    assert_eq!(read(&none_in_all).unwrap().records().len(), 5);
    // The first group has the texts of the second, which are fewer.
    let mixed = altered(&file, 5, |groups| {
        let columns = vec![groups[0].column(0).clone(), groups[1].column(1).clone()];
        let mixed = groups[0]
            .clone()
            .into_builder()
            .set_column_metadata(columns);
        vec![mixed.build().unwrap(), groups[1].clone()]
    });
    let read = read(&mixed).unwrap();
    assert_eq!((read.records().len(), read.errors().len()), (0, 1));
}

#[test]
fn rows_between_many_dropped_ones_are_copied() {
    let values: Vec<u64> = (0..10_000).collect();
    let file = plain("optional int64 fingerprint;", &[vec![large(&values)]]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, file).unwrap();
    let input = InputFile::open(&path, None, None).unwrap();
    let kept = [0, 3000, 3001, 6000, 8500];
    let (mut copy, mut row) = (Vec::new(), 0);
    let mut keep = |_| {
        row += 1;
        kept.contains(&(row - 1))
    };
    filter_records(&[input], &mut copy, &mut keep).unwrap();
    let expected = kept.map(|value| fingerprint(value, None));
    assert_eq!(read(&copy).unwrap().records(), expected);
}

/// Reads the records of a file with these field names.
fn read_named(bytes: &[u8], text: &str, id: &str) -> Result<Read, String> {
    read_with(bytes, &fields(text, id))
}

fn read_with(bytes: &[u8], names: &Fields) -> Result<Read, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    let local = |message: String| message.replace(&format!("{}/", dir.path().display()), "");
    let reader = open_with(&path, None, &names.clone().into());
    let mut reader = reader.map_err(|e| local(e.to_string()))?;
    Ok(drain(&mut *reader).map_errors(local))
}

#[test]
fn columns_may_have_other_names() {
    let file = plain(
        "required int64 fingerprint; required binary text; optional binary body (UTF8); required int64 url;",
        &[vec![
            large(&[1, 2]),
            strings(&["x", "y"]),
            Values::Bytes(vec![Some(b"one".to_vec()), None]),
            large(&[7, u64::MAX]),
        ]],
    );
    let one = |id| Record::text("one".into(), id);
    let read = read_named(&file, "body", "").unwrap();
    assert_eq!(read.records(), [one(None)]);
    assert_eq!(read.errors(), ["x.parquet: row 2: \"body\" is null"]);
    let read = read_named(&file, "body", "url").unwrap();
    assert_eq!(read.records(), [one(Some(IdBuf::Number(7)))]);
    assert_eq!(
        read.errors(),
        ["x.parquet: row 2: \"url\" is -1, which is below 0"]
    );
    for (text, id, message) in [
        (
            "page",
            "",
            "has no column \"page\"; it has: fingerprint, text, body, url",
        ),
        (
            "body",
            "page",
            "has no column \"page\"; it has: fingerprint, text, body, url",
        ),
        (
            "url",
            "",
            "column \"url\" holds 64-bit numbers, not strings",
        ),
        (
            "body",
            "body",
            "the text and the id cannot both be \"body\"",
        ),
    ] {
        let error = read_named(&file, text, id).err().unwrap();
        assert_eq!(error, format!("x.parquet: {message}"));
    }
}

#[test]
fn columns_may_lie_within_others() {
    let columns = "required group page { optional binary body (UTF8); } required binary body;";
    let file = plain(columns, &[vec![strings(&["one"]), strings(&["two"])]]);
    for (name, text) in [("page.body", "one"), ("body", "two")] {
        let read = read_named(&file, name, "").unwrap();
        assert_eq!(read.records(), [document(text, None)], "{name}");
    }
}

/// Returns a file of one row group, whose columns all have these levels and strings.
fn conversations(schema: &str, levels: [&[i16]; 2], values: &[&str]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message rows {{ {schema} }}")).unwrap();
    let mut file = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), properties).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    while let Some(mut column) = rows.next_column().unwrap() {
        let values: Vec<ByteArray> = values.iter().map(|value| (*value).into()).collect();
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(w) => {
                w.write_batch(&values, Some(levels[0]), Some(levels[1]))
                    .unwrap();
            }
            _ => panic!("the schema has strings only"),
        }
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn lists_are_joined() {
    let wrapped = "optional group turns (LIST) { repeated group list { optional group element { optional binary said (UTF8); } } }";
    // Three turns, the second without content; one turn; no list; an empty list.
    let levels: [&[i16]; 2] = [&[4, 3, 4, 4, 0, 1], &[0, 1, 1, 0, 0, 0]];
    let file = conversations(wrapped, levels, &["a", "b", "c"]);
    let read = read_named(&file, "turns.*.said", "").unwrap();
    let expected = ["a\nb", "c", ""].map(|text| document(text, None));
    assert_eq!(read.records(), expected);
    assert_eq!(
        read.errors(),
        ["x.parquet: row 3: \"turns.*.said\" is null"]
    );
    let read = read_named(&file, "turns.list.element.said", "").unwrap();
    assert_eq!(read.records(), expected);
    for (name, message) in [
        (
            "turns",
            "column \"turns\" is a list; \"turns.*.said\" names its elements",
        ),
        ("said", "has no column \"said\"; it has: turns.*.said"),
    ] {
        let error = read_named(&file, name, "").err().unwrap();
        assert_eq!(error, format!("x.parquet: {message}"));
    }
    let bare = [
        "optional group tags (LIST) { repeated binary array (UTF8); }",
        "optional group tags (LIST) { repeated group array { required binary tags (UTF8); } }",
        "optional group tags (LIST) { repeated group bag { required binary array_element (UTF8); } }",
    ];
    for (schema, name) in bare.into_iter().zip(["tags.*", "tags.*.tags", "tags.*"]) {
        let levels: [&[i16]; 2] = [&[2, 2, 2, 0, 1], &[0, 1, 0, 0, 0]];
        let file = conversations(schema, levels, &["a", "b", "c"]);
        let read = read_named(&file, name, "").unwrap();
        assert_eq!(read.records(), expected, "{schema}");
        assert_eq!(read.errors().len(), 1, "{schema}");
    }
    let levels: [&[i16]; 2] = [&[1, 1, 1, 0], &[0, 1, 0, 0]];
    let file = conversations("repeated binary tags (UTF8);", levels, &["a", "b", "c"]);
    assert_eq!(read_named(&file, "tags.*", "").unwrap().records(), expected);
    let map = "optional group tags (MAP) { repeated group key_value { required binary key (UTF8); required binary value (UTF8); } }";
    let levels: [&[i16]; 2] = [&[2, 2, 2, 1], &[0, 1, 0, 0]];
    let file = conversations(map, levels, &["a", "b", "c"]);
    assert_eq!(
        read_named(&file, "tags.*.value", "").unwrap().records(),
        expected
    );
}

#[test]
fn several_columns_make_one_text() {
    let columns = "optional binary title (UTF8); optional binary body (UTF8); required int64 url;";
    let texts = |values: [Option<&str>; 3]| {
        Values::Bytes(values.map(|v| v.map(|v| v.as_bytes().to_vec())).to_vec())
    };
    let titles = texts([Some("A"), None, None]);
    let bodies = texts([Some("a"), Some("b"), None]);
    let file = plain(columns, &[vec![titles, bodies, large(&[1, 2, 3])]]);
    let read = read_named(&file, "title,body", "").unwrap();
    assert_eq!(
        read.records(),
        [document("A\na", None), document("b", None)]
    );
    assert_eq!(
        read.errors(),
        ["x.parquet: row 3: \"title\" and \"body\" are null"]
    );
}

#[test]
fn a_fingerprint_may_be_named_or_guessed_beside_an_id() {
    let columns = "required binary url (UTF8); required int64 simhash; required int32 len;";
    let group = vec![strings(&["u"]), large(&[7]), Values::Small(vec![Some(3)])];
    let file = plain(columns, &[group]);
    let read = read_named(&file, "", "url").unwrap();
    assert_eq!(read.records(), [fingerprint(7, Some("u"))]);
    let mut names = fields("", "");
    names.fingerprint = Some("simhash".into());
    assert_eq!(
        read_with(&file, &names).unwrap().records(),
        [fingerprint(7, None)]
    );
    names.fingerprint = Some("url".into());
    assert_eq!(
        read_with(&file, &names).unwrap().errors(),
        ["x.parquet: row 1: \"u\" is not a hexadecimal number"]
    );
    names.fingerprint = Some("len".into());
    let message = "x.parquet: column \"len\" holds 32-bit numbers, not 64-bit fingerprints";
    assert_eq!(read_with(&file, &names).err().unwrap(), message);
}

#[test]
fn a_copy_has_the_codec_of_its_source_and_its_own_level() {
    let zstd = |level| Compression::ZSTD(ZstdLevel::try_new(level).unwrap());
    for (given, copied) in [
        (zstd(9), zstd(3)),
        (zstd(1), zstd(3)),
        (Compression::SNAPPY, Compression::SNAPPY),
        (Compression::UNCOMPRESSED, Compression::UNCOMPRESSED),
    ] {
        let columns = "required int64 fingerprint;";
        let file = write(columns, &[vec![large(&[1, 2])]], given);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        std::fs::write(&path, file).unwrap();
        let file = parquet_file::ParquetFile::open(&path).unwrap();
        let properties = parquet_copy::properties(file.reader.metadata(), &[]).unwrap();
        assert_eq!(properties.compression(&"fingerprint".into()), copied);
    }
}

#[test]
fn odd_ids_are_passed_over_if_that_is_wanted() {
    let names = Fields {
        odd_ids: true,
        ..Fields::default()
    };
    let file = plain(
        "required int64 id; required int64 fingerprint;",
        &[vec![large(&[7, u64::MAX]), large(&[1, 2])]],
    );
    let read = read_with(&file, &names).unwrap();
    assert_eq!(read.errors(), [""; 0]);
    let records = read.records();
    assert_eq!(records[0].id, Some(IdBuf::Number(7)));
    let odd = "\"id\" is -1, which is below 0";
    assert_eq!(
        (&records[1].id, records[1].odd_id.as_deref()),
        (&None, Some(odd))
    );
    let file = plain(
        "required fixed_len_byte_array(16) id; required int64 fingerprint;",
        &[vec![Values::Bytes(vec![Some(vec![1; 16])]), large(&[1])]],
    );
    let records = read_with(&file, &names).unwrap().records();
    let odd = "column \"id\" holds arrays of 16 bytes, neither strings nor integers";
    assert_eq!(records[0].odd_id.as_deref(), Some(odd));
}

#[test]
fn types_of_old_files_are_copied() {
    let schema = "message rows { required binary text (UTF8); required int96 at; \
                  required int64 local (TIMESTAMP(MILLIS,false)); optional binary kind (ENUM); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(&mut file, schema.clone(), properties).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let days = [2_000_000_u32, 2_440_588, 4_000_000];
    while let Some(mut column) = rows.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(w) => {
                let values = [&b"a"[..], b"\xff\x01", b"c"].map(|v| ByteArray::from(v.to_vec()));
                w.write_batch(&values, Some(&[1, 1, 1]), None).unwrap();
            }
            ColumnWriter::Int96ColumnWriter(w) => {
                let values = days.map(|day| Int96::from(vec![1_000_000, 0, day]));
                w.write_batch(&values, None, None).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(w) => {
                w.write_batch(&[0, 1, -1], None, None).unwrap();
            }
            _ => unreachable!(),
        }
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, &file).unwrap();
    let inputs = [InputFile::open(&path, None, None).unwrap()];

    let (mut copy, mut kept) = (Vec::new(), [true, false, true].iter());
    filter_records(&inputs, &mut copy, &mut |_| *kept.next().unwrap()).unwrap();
    let copied = folder.path().join("copy.parquet");
    std::fs::write(&copied, copy).unwrap();
    let [all, copy] = [&path, &copied].map(|path| {
        let reader = parquet_file::ParquetFile::open(path).unwrap().reader;
        let data = reader.metadata().file_metadata();
        assert_eq!(data.schema_descr().root_schema(), &*schema);
        let mut group = reader
            .get_row_group(0)
            .unwrap()
            .get_column_reader(1)
            .unwrap();
        let ColumnReader::Int96ColumnReader(column) = &mut group else {
            panic!("another type");
        };
        let mut values = Vec::new();
        column.read_records(3, None, None, &mut values).unwrap();
        values
    });
    assert_eq!(copy, [all[0], all[2]]);
}
