//! Records in tables with a header line: the format `tsv` with named fields, and `csv`.

use super::fields::{Held, joined, neither_column, no_column};
use super::items::{ItemReader, Items};
use super::line_source::LineSource;
use super::source::Source;
use super::{Content, MAX_DOCUMENT, ReadOptions, Record, digits};
use crate::id;
use crate::{Place, Result};
use simidx::IdBuf;

/// The columns of a table that contain the records.
#[derive(Debug)]
pub(super) struct TableColumns {
    content: Held<usize>,
    id: Option<usize>,
    /// Number of columns.
    count: usize,
    options: ReadOptions,
}

impl TableColumns {
    /// Finds the columns of the fields among columns with these names.
    pub(super) fn find(all: &[&str], options: &ReadOptions) -> Result<Self, String> {
        let (content, id) = options.fields.find(
            |name| column(all, name),
            |name| no_column(name, all),
            |_| Err(neither_column(all)),
        )?;
        Ok(TableColumns {
            content,
            id,
            count: all.len(),
            options: options.clone(),
        })
    }

    /// Returns the record of a row with `count` values; `read_id` converts a value to an id.
    pub(super) fn record<'r>(
        &self,
        count: usize,
        value: impl Fn(usize) -> Result<&'r str, String>,
        read_id: impl Fn(&str) -> Result<IdBuf, String>,
    ) -> Result<Record, String> {
        if count != self.count {
            return Err(format!(
                "has {count} columns, the first line has {}",
                self.count
            ));
        }
        let id = self.id.map(|index| read_id(value(index)?));
        let id = self.options.fields.found_id(id)?;
        match &self.content {
            Held::Texts(columns) => {
                let texts = columns.iter().map(|&index| value(index).map(Some));
                let texts = texts.collect::<Result<Vec<_>, _>>()?;
                let text = joined(texts).unwrap_or_default();
                Ok(Record::new(Content::Text(text), id))
            }
            Held::Fingerprint(column) => {
                let fingerprint = digits::hex(value(*column)?, self.options.width)?;
                Ok(Record::new(Content::Fingerprint(fingerprint), id))
            }
        }
    }
}

/// Returns the number of the column with a name.
fn column(names: &[&str], name: &str) -> Result<Option<usize>, String> {
    let mut found = (0..names.len()).filter(|&index| names[index] == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(format!("column {name:?} appears twice")),
        (found, None) => Ok(found),
    }
}

/// Returns a reader of tab-separated lines. The first one names the columns, including those of the fields.
pub(super) fn reader(source: Source, options: &ReadOptions) -> Result<ItemReader<LineSource>> {
    let mut lines = LineSource::new(source, MAX_DOCUMENT);
    if !lines.advance()? {
        let message = "is empty, where the first line names the columns";
        return Err(lines.source().input_error(Place::File, message));
    }
    let columns = lines.cells();
    let columns = columns.and_then(|names| TableColumns::find(&names, options));
    let columns = columns.map_err(|message| lines.error(message))?;
    Ok(ItemReader::new(lines, move |line: &LineSource, _| {
        let record = line.cells().and_then(|values| {
            let value = |index: usize| Ok(values.get(index).copied().unwrap_or_default());
            columns.record(values.len(), value, id::from_column)
        });
        record.map_err(|message| line.error(message))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::super::tests::{Read, document, drain, fields, read_with};
    use super::*;
    use crate::{Fields, Format};

    fn table(text: &str, names: &Fields) -> Read {
        read_with(text.as_bytes(), Format::Tsv, names)
    }

    fn refusal(text: &str, names: &Fields) -> String {
        let opened = reader(source(text.as_bytes()), &names.clone().into());
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
        let missing = "in:1: has no column \"x\"; it has: a, b";
        assert_eq!(refusal("a\tb\n1\t2\n", &fields("x", "")), missing);
        assert_eq!(refusal("a\tb\n", &fields("a", "x")), missing);
        let twice = "in:1: column \"x\" appears twice";
        assert_eq!(refusal("x\tx\n", &fields("x", "")), twice);
        let empty = "in: is empty, where the first line names the columns";
        assert_eq!(refusal("\n\n", &fields("x", "")), empty);
    }

    #[test]
    fn a_table_may_be_nothing_but_names() {
        let mut reader = super::reader(source(b"x\n"), &fields("x", "").into()).unwrap();
        assert!(drain(&mut reader).records().is_empty());
    }
}
