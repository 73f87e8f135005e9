use std::path::Path;

use super::*;
use crate::{FieldKind, FieldValue, ReadOptions, TextEncoding};

/// Rewrites some inputs; their records get these fates in turn.
fn rewritten(
    inputs: &[(&str, &[u8])],
    text: Option<&str>,
    fields: &[NewField],
    fates: &[Fate],
) -> Result<(Vec<u8>, u64), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ReadOptions::from(TextEncoding::default());
    options.fields.text = text.map(str::to_owned).into_iter().collect();
    let open = |(name, bytes): &(&str, &[u8])| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        InputFile::open_with(&path, None, &options, None)
    };
    let inputs: Result<Vec<_>> = inputs.iter().map(open).collect();
    let mut out = Vec::new();
    let mut fate = |number: u64, _| Ok(fates[number as usize].clone());
    let lost = rewrite_records(&inputs.unwrap(), &mut out, fields, &mut fate);
    let name = |error: crate::Error| {
        let place = format!("{}/", folder.path().display());
        error.to_string().replace(&place, "")
    };
    lost.map(|lost| (out, lost)).map_err(name)
}

fn text(result: Result<(Vec<u8>, u64), String>) -> (String, u64) {
    let (out, lost) = result.unwrap();
    (String::from_utf8(out).unwrap(), lost)
}

fn fields(names: &[(&str, FieldKind)]) -> Vec<NewField> {
    let fields = names.iter();
    fields
        .map(|&(name, kind)| NewField::new(name, kind))
        .collect()
}

fn values(of: &str, distance: u64) -> Fate {
    Fate::With(vec![
        Some(FieldValue::Text(of.to_owned())),
        Some(FieldValue::Number(distance)),
        None,
    ])
}

fn three() -> Vec<NewField> {
    fields(&[
        ("of", FieldKind::Text),
        ("distance", FieldKind::Number),
        ("share", FieldKind::Real),
    ])
}

#[test]
fn objects_get_members_at_their_end() {
    let lines = "\u{feff}{ \"text\" : \"a}\" , \"x\":[1.50, {}] }\t\r\n\n{\"text\":\"b\"}\nnot JSON\n{}  \n{\"text\":\"c\"}";
    let fates = [
        values("\"quoted\"", 3),
        Fate::Copied,
        Fate::Copied,
        values("x", u64::MAX),
        values("", 0),
    ];
    let expected = "{ \"text\" : \"a}\" , \"x\":[1.50, {}],\"of\":\"\\\"quoted\\\"\",\"distance\":3,\"share\":null}\r\n\
                    {\"text\":\"b\"}\nnot JSON\n\
                    {\"of\":\"x\",\"distance\":18446744073709551615,\"share\":null}\n\
                    {\"text\":\"c\",\"of\":\"\",\"distance\":0,\"share\":null}";
    let found = rewritten(&[("a.jsonl", lines.as_bytes())], None, &three(), &fates);
    assert_eq!(text(found), (expected.to_owned(), 0));
    let clash = b"{\"text\":\"a\"}\n{\"text\":\"b\",\"distance\":null}\n";
    let fates = [Fate::Dropped, values("", 0)];
    let found = rewritten(&[("a.jsonl", clash)], None, &three(), &fates);
    let message = "a.jsonl:2: has a field \"distance\" already; give the new ones other names";
    assert_eq!(found.unwrap_err(), message);
}

#[test]
fn tables_get_columns() {
    let tables: [(&str, &[u8]); 2] = [
        ("a.tsv", b"text\tid\r\none\t1\r\ntwo\t2\r\nbad\r\n"),
        ("b.tsv", b"text\tid\nthree\t3"),
    ];
    let fates = [
        values("a\tb", 1),
        Fate::Copied,
        Fate::Copied,
        values("c", 2),
    ];
    let found = rewritten(&tables, Some("text"), &three(), &fates);
    let expected = "text\tid\tof\tdistance\tshare\r\none\t1\ta b\t1\t\r\ntwo\t2\t\t\t\r\nbad\r\nthree\t3\tc\t2\t";
    assert_eq!(text(found), (expected.to_owned(), 0));
    let clash: (&str, &[u8]) = ("a.tsv", b"text\tof\n");
    let found = rewritten(&[clash], Some("text"), &three(), &[]);
    assert!(
        found
            .unwrap_err()
            .starts_with("a.tsv:1: has a field \"of\" already")
    );
}

#[test]
fn other_records_have_no_fields() {
    let lines: (&str, &[u8]) = ("a.hex", b"1\n");
    let found = rewritten(&[lines], None, &three(), &[]);
    assert_eq!(
        found.unwrap_err(),
        "a.hex: records read as hex have no named fields"
    );
    // They can be copied unchanged, and the result counts those that cannot.
    let found = rewritten(&[lines], None, &[], &[Fate::Copied]);
    assert_eq!(text(found), ("1\n".to_owned(), 0));
}

#[test]
fn cells_of_rows_are_quoted_if_necessary() {
    let row = |cells: &[&str]| {
        let mut out = Vec::new();
        write_csv_row(&mut out, cells.iter().copied()).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(row(&["a, \"b\"", "1.50", ""]), "\"a, \"\"b\"\"\",1.50,\n");
    assert_eq!(row(&["two\nlines"]), "\"two\nlines\"\n");
    assert_eq!(row(&[""]), "\"\"\n");
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::ParquetOut;

    /// Writes a file of these columns and rows.
    fn written(columns: &[NewField], rows: &[Vec<Option<FieldValue>>]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut out = ParquetOut::of_fields(&mut file, columns).unwrap();
        rows.iter().for_each(|row| out.write(row).unwrap());
        out.finish().unwrap();
        file
    }

    /// Returns the names and types of the columns, and the rows.
    fn rows(bytes: Vec<u8>) -> (Vec<String>, Vec<String>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter();
        let columns = columns.map(|c| format!("{} {}", c.name(), c.physical_type()));
        let rows = reader.get_row_iter(None).unwrap();
        let rows = rows.map(|row| row.unwrap().to_string());
        (columns.collect(), rows.collect())
    }

    #[test]
    fn files_get_columns_after_their_own() {
        let text = |text: &str| Some(FieldValue::Text(text.to_owned()));
        let file = [
            vec![text("z"), Some(FieldValue::Number(u64::MAX)), None],
            // Numbers may be texts.
            vec![None, text("7"), text("0.5")],
        ];
        let bytes = written(&three(), &file);
        let (columns, found) = rows(bytes.clone());
        let own = ["of BYTE_ARRAY", "distance INT64", "share DOUBLE"];
        assert_eq!(columns, own);
        let expected = [
            "{of: \"z\", distance: 18446744073709551615, share: null}",
            "{of: null, distance: 7, share: 0.5}",
        ];
        assert_eq!(found, expected);

        let two = [Fate::Dropped, Fate::With(vec![Some(FieldValue::Real(0.5))])];
        let new = fields(&[("similarity", FieldKind::Real)]);
        let found = rewritten(&[("a.parquet", &bytes)], Some("of"), &new, &two).unwrap();
        let (columns, found) = rows(found.0);
        assert_eq!(columns, [&own[..], &["similarity DOUBLE"]].concat());
        let expected = ["{of: null, distance: 7, share: 0.5, similarity: 0.5}"];
        assert_eq!(found, expected);
        let new = fields(&[("distance", FieldKind::Number)]);
        let found = rewritten(&[("a.parquet", &bytes)], Some("of"), &new, &two);
        assert!(
            found
                .unwrap_err()
                .starts_with("a.parquet: has a field \"distance\" already")
        );
    }

    #[test]
    fn many_rows_are_written_in_groups() {
        let row = |number| vec![Some(FieldValue::Number(number))];
        let all: Vec<_> = (0..300_000).map(row).collect();
        let (_, found) = rows(written(&fields(&[("n", FieldKind::Number)]), &all));
        assert_eq!(found.len(), 300_000);
        assert_eq!(found[299_999], "{n: 299999}");
    }
}

#[test]
fn the_error_of_a_fate_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hex");
    std::fs::write(&path, "1\n2\n").unwrap();
    let input = InputFile::open(Path::new(&path), None, None).unwrap();
    let mut asked = 0;
    let mut fate = |_, _| {
        asked += 1;
        Err(io::Error::other("on purpose"))
    };
    let ended = rewrite_records(&[input], &mut Vec::new(), &[], &mut fate);
    assert_eq!(ended.unwrap_err().to_string(), "on purpose");
    assert_eq!(asked, 1);
}

#[test]
fn elements_get_members_and_stay_in_their_array() {
    let array = "[ {\"text\": \"a\",\n  \"x\": [1.50, {}]\n}, 7, {\"text\":\"c\"} ]";
    let objects = "{\n  \"text\": \"d\"\n}\n{}";
    let fates = [
        values("\"q\"", 3),
        Fate::Copied,
        Fate::Dropped,
        values("x", u64::MAX),
        values("", 0),
    ];
    let edited = "{\"text\": \"a\",\n  \"x\": [1.50, {}],\"of\":\"\\\"q\\\"\",\"distance\":3,\"share\":null}";
    let last = [
        "{\n  \"text\": \"d\",\"of\":\"x\",\"distance\":18446744073709551615,\"share\":null}",
        "{\"of\":\"\",\"distance\":0,\"share\":null}",
    ];
    let inputs = [("a.json", array.as_bytes()), ("b.json", objects.as_bytes())];
    let expected = format!("[\n{edited},\n7,\n{},\n{}\n]\n", last[0], last[1]);
    let found = rewritten(&inputs, None, &three(), &fates);
    assert_eq!(text(found), (expected, 0));
    let found = rewritten(&inputs[1..], None, &three(), &fates[3..]);
    assert_eq!(text(found), (format!("{}\n{}\n", last[0], last[1]), 0));
    let found = rewritten(&inputs[..1], None, &three(), &vec![Fate::Dropped; 3]);
    assert_eq!(text(found), ("[]\n".to_owned(), 0));
    let clash: (&str, &[u8]) = ("a.json", b"[{\"text\":\"a\"},\n{\"text\":\"b\",\"of\":1}]");
    let found = rewritten(&[clash], None, &three(), &[Fate::Dropped, values("", 0)]);
    let message = "a.json:2: element 2: has a field \"of\" already; give the new ones other names";
    assert_eq!(found.unwrap_err(), message);
}

#[test]
fn rows_get_columns_between_their_delimiters() {
    let files: [(&str, &[u8]); 2] = [
        (
            "a.csv",
            "\u{feff}id;\"text\"\r\n1;\"one\r\n\"\"x\"\"\"\r\n\r\n2;two, three\r\nbad\r\n3;\"\""
                .as_bytes(),
        ),
        ("b.csv", b"id;\"text\"\n4;four"),
    ];
    let fates = [
        values("a;b", 1),
        Fate::Copied,
        Fate::Copied,
        values("c\"\n", 2),
        values("e", 3),
    ];
    let found = rewritten(&files, None, &three(), &fates);
    let expected = "id;\"text\";of;distance;share\r\n1;\"one\r\n\"\"x\"\"\";\"a;b\";1;\r\n\
                    2;two, three;;;\r\nbad\r\n3;\"\";\"c\"\"\n\";2;\n4;four;e;3;";
    assert_eq!(text(found), (expected.to_owned(), 0));
    let clash: (&str, &[u8]) = ("a.csv", b"\ntext,of\n");
    let found = rewritten(&[clash], None, &three(), &[]);
    let message = "a.csv:2: has a field \"of\" already; give the new ones other names";
    assert_eq!(found.unwrap_err(), message);
    // A header without a line end.
    let bare: (&str, &[u8]) = ("a.csv", b"text");
    let found = rewritten(&[bare], None, &three(), &[]);
    assert_eq!(text(found), ("text,of,distance,share\n".to_owned(), 0));
}

#[cfg(feature = "arrow")]
mod arrow_files;
mod copies;
