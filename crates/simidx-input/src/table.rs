//! Documents in the columns of lines between tabs, which a first line names: the format `tsv` with a text field.

use super::id::RecordId;
use super::line_reader::{LineFormat, LineReader};
use super::line_source::LineSource;
use super::source::Source;
use super::{Fields, MAX_DOCUMENT, Record};
use crate::{Error, Place, Result};
use simidx::Fingerprint;

/// Lines with a document in one column, and the id in another.
pub(super) struct Table {
    header: Vec<u8>,
    /// The numbers of the columns, from 0, and how many there are.
    text: usize,
    id: Option<usize>,
    count: usize,
}

impl Table {
    /// Reads the names of the columns, which must have those of the fields.
    pub(super) fn open(source: Source, fields: &Fields) -> Result<LineReader<Self>> {
        let mut lines = LineSource::new(source, MAX_DOCUMENT);
        if !lines.advance()? {
            let name = lines.name().to_owned();
            return Err(super::source::input_error(
                &name,
                Place::File,
                "has no line with the names of columns",
            ));
        }
        let names: Vec<&str> = lines.text()?.split('\t').collect();
        let column = |name: &str| column(&names, name).map_err(|message| lines.error(message));
        let missing = |name: &str| -> Error { lines.error(format!("has no column {name:?}")) };
        let text = column(fields.text())?.ok_or_else(|| missing(fields.text()))?;
        let id = column(fields.id())?;
        if id.is_none() && fields.id.is_some() {
            return Err(missing(fields.id()));
        }
        let table = Table {
            text,
            id,
            count: names.len(),
            header: lines.raw().0.to_owned(),
        };
        Ok(LineReader::new(lines, table))
    }

    /// The line with the names of the columns, without its end.
    pub(super) fn into_header(self) -> Vec<u8> {
        self.header
    }
}

impl LineFormat for Table {
    fn record<F: Fingerprint>(&self, line: &str) -> Result<Record<F>, String> {
        let count = line.split('\t').count();
        if count != self.count {
            return Err(format!(
                "has {count} columns, the first line has {}",
                self.count
            ));
        }
        let cell = |index: usize| line.split('\t').nth(index).unwrap_or_default();
        let id = self.id.map(|index| RecordId::from_text(cell(index)));
        Ok(Record::text(cell(self.text).to_owned(), id.transpose()?))
    }
}

/// The number of the column that has a name.
fn column(names: &[&str], name: &str) -> Result<Option<usize>, String> {
    let mut found = (0..names.len()).filter(|&index| names[index] == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(format!("column {name:?} appears twice")),
        (found, None) => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::super::tests::{Read, document, drain, fields, read_with};
    use super::*;
    use crate::Format;

    fn table(text: &str, names: &Fields) -> Read<u64> {
        read_with(text.as_bytes(), Format::Tsv, names)
    }

    fn refusal(text: &str, names: &Fields) -> String {
        let opened = Table::open(source(text.as_bytes()), names);
        opened.err().unwrap().to_string()
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let text = "\u{feff}url\tbody\tid\r\nu1\tone\t1\r\n\nu2\t\t2";
        let read = table(text, &fields("body", "url"));
        assert_eq!(
            read.records(),
            [document("one", Some("u1")), document("", Some("u2"))]
        );
        let read = table(text, &fields("body", ""));
        assert_eq!(
            read.records(),
            [document("one", Some("1")), document("", Some("2"))]
        );
        let read = table("x\ny", &fields("x", ""));
        assert_eq!(read.records(), [document("y", None)]);
    }

    #[test]
    fn rows_that_do_not_fit_are_bad_records() {
        let read = table(
            "id\tx\na\nb\tone\nc\ttwo\tthree\n\tfour\n",
            &fields("x", ""),
        );
        assert_eq!(read.records(), [document("one", Some("b"))]);
        let errors = [
            "in:2: has 1 columns, the first line has 2",
            "in:4: has 3 columns, the first line has 2",
            "in:5: id is empty",
        ];
        assert_eq!(read.errors(), errors);
    }

    #[test]
    fn tables_without_the_columns_are_refused() {
        let missing = "in:1: has no column \"x\"";
        assert_eq!(refusal("a\tb\n1\t2\n", &fields("x", "")), missing);
        assert_eq!(refusal("a\tb\n", &fields("a", "x")), missing);
        let twice = "in:1: column \"x\" appears twice";
        assert_eq!(refusal("x\tx\n", &fields("x", "")), twice);
        let empty = "in: has no line with the names of columns";
        assert_eq!(refusal("\n\n", &fields("x", "")), empty);
    }

    #[test]
    fn a_table_may_be_nothing_but_names() {
        let mut reader = Table::open(source(b"x\n"), &fields("x", "")).unwrap();
        assert!(drain::<u64>(&mut reader).records().is_empty());
    }
}
