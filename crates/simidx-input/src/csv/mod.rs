//! Tables of comma-separated values: the format `csv`.

mod delimiter;
mod rows;

use super::items::{ItemReader, Items};
use super::line_source::BYTE_ORDER_MARK;
use super::source::Source;
use super::table::TableColumns;
use super::{MAX_DOCUMENT, Place, ReadOptions, Result};
use crate::id;
pub(super) use delimiter::in_header;
pub(super) use rows::Rows;

/// The greatest length in bytes of the first row, and of its first line when the delimiter is detected.
const MAX_HEADER: u64 = 16 << 20;
const SNIFFED: u64 = 1 << 20;

/// Returns a reader of rows. The first row names the columns, including those of the fields.
pub(super) fn reader(source: Source, options: &ReadOptions) -> Result<ItemReader<Rows>> {
    let rows = open_rows(source, options)?;
    let columns = rows.cells();
    let columns = columns.and_then(|names| TableColumns::find(&names, options));
    let columns = columns.map_err(|message| rows.error(message))?;
    Ok(ItemReader::new(rows, move |row: &Rows, _| {
        let record = columns.record(row.cell_count(), |index| row.value(index), id::from_text);
        record.map_err(|message| row.error(message))
    }))
}

/// Returns the rows of a source after its header row.
pub(super) fn open_rows(mut source: Source, options: &ReadOptions) -> Result<Rows> {
    let mut line = source.peek_line(SNIFFED)?;
    if line.starts_with(BYTE_ORDER_MARK) {
        source.pass_over(BYTE_ORDER_MARK.len())?;
        line.drain(..BYTE_ORDER_MARK.len());
    }
    let delimiter = options.delimiter;
    let delimiter = delimiter.unwrap_or_else(|| delimiter::of(&line, options));
    let mut rows = Rows::new(source, delimiter, MAX_HEADER);
    match rows.advance()? {
        true => {
            rows.set_limit(MAX_DOCUMENT);
            Ok(rows)
        }
        false => {
            let message = "is empty, where the first row names the columns";
            Err(rows.source().input_error(Place::File, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Format;
    use crate::source::tests::{pieces, source};
    use crate::tests::{Read, document, fields, fingerprint, read_all, read_by, read_with};

    fn csv(text: &str) -> Read {
        read_all(text.as_bytes(), Format::Csv)
    }

    fn refusal(text: &str, options: &ReadOptions) -> String {
        let opened = reader(source(text.as_bytes()), options);
        opened.err().unwrap().to_string()
    }

    #[test]
    fn quoted_values_may_hold_anything() {
        let text =
            "\u{feff}id,text,more\r\n1,\"a, \"\"b\"\"\r\nc\",x\r\n\r\n2,d \"e\" f,\"\"\n3,\"\",y";
        let expected = [
            document("a, \"b\"\r\nc", Some("1")),
            document("d \"e\" f", Some("2")),
            document("", Some("3")),
        ];
        let read = csv(text);
        assert_eq!(read.errors(), [""; 0]);
        assert_eq!(read.records(), expected);
    }

    #[test]
    fn fingerprints_are_read() {
        let read = csv("fingerprint,id\nff,a\n1,b\nxyz,c\n");
        assert_eq!(
            read.records(),
            [fingerprint(255, Some("a")), fingerprint(1, Some("b"))]
        );
        assert_eq!(read.errors(), ["in:4: \"xyz\" is not a hexadecimal number"]);
        let mut options = ReadOptions::default();
        options.fields.fingerprint = Some("simhash".into());
        let read = read_by(b"text;simhash\nno;7\n", Format::Csv, &options);
        assert_eq!(read.records(), [fingerprint(7, None)]);
    }

    #[test]
    fn several_columns_make_one_text() {
        let names = fields("title,body", "url");
        let read = read_with(b"url\ttitle\tbody\nu\tT\tB\n", Format::Csv, &names);
        assert_eq!(read.records(), [document("T\nB", Some("u"))]);
    }

    #[test]
    fn rows_that_do_not_fit_are_bad_records() {
        let text = "id,text\n1,a\n2\n3,\"b\nb\",c\n\n,d\n\u{1},e\n4,f\n";
        let read = csv(text);
        assert_eq!(
            read.records(),
            [
                document("a", Some("1")),
                document("e", Some("\u{1}")),
                document("f", Some("4"))
            ]
        );
        let errors = [
            "in:3: has 1 columns, the first line has 2",
            "in:4: has 3 columns, the first line has 2",
            "in:7: id is empty",
        ];
        assert_eq!(read.errors(), errors);
        let read = read_all(b"text,x\n\xff,1\na,\xff\n", Format::Csv);
        assert_eq!(read.errors(), ["in:2: not valid UTF-8"]);
        assert_eq!(read.records(), [document("a", None)]);
    }

    #[test]
    fn quotation_marks_that_never_close_are_told() {
        let read = csv("id,text\n1,a\n2,\"b\n3,c\n");
        assert_eq!(read.records(), [document("a", Some("1"))]);
        let message = "in:3: the quotation marks that open in this row never close";
        assert_eq!(read.errors(), [message]);
        assert_eq!(csv("text\n\"a\"").records(), [document("a", None)]);
        assert_eq!(csv("text\n\"\"\"\"\n").records(), [document("\"", None)]);
    }

    #[test]
    fn tables_without_the_columns_are_refused() {
        let default = ReadOptions::default();
        let choose = "choose with --text-field or --fingerprint-field";
        assert_eq!(
            refusal("url,content\n", &default),
            format!(
                "in:1: has no column \"text\" or \"fingerprint\"; it has: content, url; {choose}"
            )
        );
        assert_eq!(
            refusal("url,content,id\n", &fields("contents", "").into()),
            "in:1: has no column \"contents\"; it has: content, url, id"
        );
        assert_eq!(
            refusal("text,text\n", &default),
            "in:1: column \"text\" appears twice"
        );
        let both = refusal("text,fingerprint\n", &default);
        assert!(
            both.starts_with("in:1: has both a column \"text\" and a column"),
            "{both}"
        );
        assert_eq!(
            refusal("\n", &default),
            "in: is empty, where the first row names the columns"
        );
    }

    #[test]
    fn a_delimiter_may_be_named() {
        let mut options = ReadOptions {
            delimiter: Some(b':'),
            ..ReadOptions::default()
        };
        let read = read_by(b"id:text\n1:\"a:b\"\n", Format::Csv, &options);
        assert_eq!(read.records(), [document("a:b", Some("1"))]);
        for delimiter in [b'"', b'\n', 0xe9] {
            options.delimiter = Some(delimiter);
            assert!(options.check("in", Format::Csv).is_err());
        }
        options.delimiter = Some(b',');
        let message = "in: the format jsonl has no delimiter to name; only csv has one";
        assert_eq!(
            options.check("in", Format::Jsonl).unwrap_err().to_string(),
            message
        );
    }

    #[test]
    fn rows_are_cut_out_as_they_stand() {
        let text = b"a,b\r\n\r\n\"x\ny\",1\n\n2,\" \"\r3,4";
        let mut rows = Rows::new(source(text), b',', 100);
        let mut raw = Vec::new();
        while rows.advance().unwrap() {
            let (row, end) = rows.raw();
            raw.push((rows.place(), [row, b"|", end].concat()));
        }
        let expected = [
            (1, &b"a,b|\r\n"[..]),
            (3, b"\"x\ny\",1|\n"),
            (6, b"2,\" \"|\r"),
            (6, b"3,4|"),
        ];
        let expected = expected.map(|(line, row)| (Place::Line(line), row.to_vec()));
        assert_eq!(raw, expected);
    }

    #[test]
    fn rows_too_long_are_passed_over() {
        let text = b"a\n12345678\n1234\n\"\n\n\n\n\n\n\"\n5\n";
        let mut rows = Rows::new(source(text), b',', 6);
        let mut seen = Vec::new();
        loop {
            match rows.advance() {
                Ok(true) => seen.push(rows.value(0).unwrap().to_owned()),
                Ok(false) => break,
                Err(error) => seen.push(error.to_string()),
            }
        }
        let long = |line: u32| format!("in:{line}: row is longer than 6 bytes");
        assert_eq!(
            seen,
            ["a".to_owned(), long(2), "1234".into(), long(4), "5".into()]
        );
    }

    /// Returns a value in quotation marks, or without them if it needs none.
    fn written(value: &str, is_quoted: bool) -> String {
        match is_quoted || value.is_empty() || value.contains(['"', ',', '\r', '\n']) {
            true => format!("\"{}\"", value.replace('"', "\"\"")),
            false => value.to_owned(),
        }
    }

    proptest! {
        /// The values equal the written ones, and the rows contain all bytes.
        #[test]
        fn what_is_written_is_read_back(
            table in prop::collection::vec(prop::collection::vec("[ab\",\r\n \u{e9}]{0,6}", 3), 0..6),
            is_quoted in any::<bool>(),
            end in prop::sample::select(vec!["\n", "\r\n", "\n\n"]),
            piece in 1usize..20,
        ) {
            let row = |row: &Vec<String>| {
                let values: Vec<String> = row.iter().map(|v| written(v, is_quoted)).collect();
                values.join(",")
            };
            let lines: Vec<String> = table.iter().map(row).collect();
            let text = lines.join(end);
            let mut rows = Rows::new(pieces(text.as_bytes(), piece), b',', 1 << 20);
            for (values, line) in table.iter().zip(&lines) {
                prop_assert!(rows.advance().unwrap());
                prop_assert_eq!(&rows.cells().unwrap(), values);
                prop_assert_eq!(rows.raw().0, line.as_bytes());
            }
            prop_assert!(!rows.advance().unwrap());
        }
    }
}
