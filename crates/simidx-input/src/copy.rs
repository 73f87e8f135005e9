//! Records that are kept, copied out of their inputs.

use std::io::Write;

use super::fields::Holds;
use super::files::FilesReader;
use super::json::Values;
use super::line_source::{BYTE_ORDER_MARK, LineSource};
#[cfg(feature = "arrow")]
use super::new_fields::Fate;
#[cfg(feature = "warc")]
use super::warc::WarcReader;
use super::{Escaped, Format, InputFile, MAX_DOCUMENT, columns, csv};
use crate::{Error, Result};

/// Decides for each record, in the order of all inputs, whether to keep it. The argument is the number of bytes of all
/// inputs that have been read so far.
pub type RecordPredicate<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Copies the records that `keep` accepts to `out`, in order and byte for byte, except that decoded lines are written in
/// UTF-8. For an example see [`InputFile`].
///
/// - Line formats: a record is its line with its end. A last line without an end gets one if another record follows. A
///   first record that begins with a byte order mark gets another, because readers ignore one at the start of a file.
///   The header of a `tsv` is copied once. Lines without a record are left out.
/// - `csv`: a record is its row with its end, in the same way. The row with the names of the columns is copied once.
/// - `json`: the output is an array if the first input begins with one, and otherwise has a value on each line or lines.
///   What stands between the values is not copied.
/// - `files`: a record is written as its path on a line.
/// - `warc`: a record is written with its header; records that are not documents are left out.
/// - `parquet`: rows are written with all columns, and with the schema, the metadata and the compression of the first
///   file; the others must have the same schema.
/// - `arrow`: the same; the output is a file or a stream as the first input is.
///
/// The output of compressed inputs is not compressed. Returns how many records `keep` accepted that could not be copied: lines
/// that are too long, and the like.
///
/// # Errors
///
/// An input that cannot be read or has changed since it was opened, Parquet or Arrow files that differ in their schemas, and
/// what `out` reports.
pub fn filter_records(
    inputs: &[InputFile],
    mut out: &mut (dyn Write + Send),
    keep: RecordPredicate<'_>,
) -> Result<u64> {
    inputs.iter().try_for_each(InputFile::check_unchanged)?;
    let lost = match inputs.first().map(InputFile::format) {
        #[cfg(feature = "arrow")]
        Some(Format::Parquet | Format::Arrow) => {
            super::columnar::copy_rows(inputs, out, &[], &mut |bytes| Ok(chosen(keep(bytes))))?;
            0
        }
        // Without their features, files cannot be opened, and it is said which one is missing.
        #[cfg(not(feature = "arrow"))]
        Some(Format::Parquet | Format::Arrow) => {
            inputs
                .iter()
                .try_for_each(|input| input.records().map(drop))?;
            0
        }
        _ => copy_all(inputs, &mut out, keep)?,
    };
    inputs.iter().try_for_each(InputFile::check_unchanged)?;
    Ok(lost)
}

/// Copies records of the formats that are written as they are read.
fn copy_all(inputs: &[InputFile], out: &mut dyn Write, keep: RecordPredicate<'_>) -> Result<u64> {
    let mut copier = Copier::new(out);
    for input in inputs {
        match input.format {
            Format::Files => {
                let files = FilesReader::open(&input.path, input.options.encoding)?;
                copier.copy_paths(files, keep)?;
            }
            #[cfg(feature = "warc")]
            Format::Warc => {
                let archive = WarcReader::new(input.source()?, input.options.encoding);
                copier.copy_archived(archive, keep)?;
            }
            Format::Csv => {
                let rows = csv::open_rows(input.text()?, &input.options)?;
                copier.copy_rows(rows, keep)?;
            }
            Format::Json => copier.copy_values(Values::new(input.text()?, MAX_DOCUMENT), keep)?,
            _ => {
                let mut lines = lines(input)?;
                copier.copy_header(&mut lines, &input.header)?;
                copier.copy_lines(lines, keep)?;
            }
        }
    }
    copier.finish()?;
    Ok(copier.lost)
}

/// What becomes of a row that is kept or not.
#[cfg(feature = "arrow")]
fn chosen(keeps: bool) -> Fate {
    match keeps {
        true => Fate::Copied,
        false => Fate::Dropped,
    }
}

/// The lines of an input, bounded as its reader bounds them.
pub(super) fn lines(input: &InputFile) -> Result<LineSource> {
    let limit = match input.format {
        Format::Hex | Format::Dec => columns::MAX_LINE,
        Format::Tsv if input.options.fields.holds() == Holds::Either => columns::MAX_LINE,
        _ => MAX_DOCUMENT,
    };
    Ok(LineSource::new(input.text()?, limit))
}

/// Whether the next record can be read, given what came of going on to it; nothing at the end.
pub(super) fn readable(advanced: Result<bool>) -> Result<Option<bool>> {
    match advanced {
        Ok(true) => Ok(Some(true)),
        Ok(false) => Ok(None),
        Err(Error::Input(_)) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// Copies the lines of several inputs.
pub(super) struct Copier<'a> {
    out: &'a mut dyn Write,
    /// Whether no line has been written.
    is_empty: bool,
    /// Whether the line written last has no end.
    open_line: bool,
    /// Whether the names of the columns have been written.
    pub(super) has_header: bool,
    /// Whether values are written as elements of an array, once that is known.
    in_array: Option<bool>,
    pub(super) bytes_before: u64,
    /// Records that were to be copied and could not.
    lost: u64,
}

impl<'a> Copier<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Copier {
            out,
            is_empty: true,
            open_line: false,
            has_header: false,
            in_array: None,
            bytes_before: 0,
            lost: 0,
        }
    }
}

impl Copier<'_> {
    fn copy_lines(&mut self, mut lines: LineSource, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(is_line) = readable(lines.advance())? {
            let chosen = keep(self.bytes_before + lines.bytes_read());
            match is_line && chosen {
                true => self.write_raw(lines.raw())?,
                false => self.lost += u64::from(chosen),
            }
        }
        self.bytes_before += lines.bytes_read();
        Ok(())
    }

    /// Skips the line with the names of the columns, if there is one, and copies that of the first input.
    fn copy_header(&mut self, lines: &mut LineSource, header: &[u8]) -> Result<()> {
        if header.is_empty() {
            return Ok(());
        }
        lines.advance()?;
        if !std::mem::replace(&mut self.has_header, true) {
            self.write_raw(lines.raw())?;
        }
        Ok(())
    }

    /// Copies rows, and before the first of them that with the names of the columns, which has been read.
    fn copy_rows(&mut self, mut rows: csv::Rows, keep: RecordPredicate<'_>) -> Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            self.write_raw(rows.raw())?;
        }
        while let Some(is_row) = readable(rows.advance())? {
            let chosen = keep(self.bytes_before + rows.source().bytes_read());
            match is_row && chosen {
                true => self.write_raw(rows.raw())?,
                false => self.lost += u64::from(chosen),
            }
        }
        self.bytes_before += rows.source().bytes_read();
        Ok(())
    }

    fn copy_values(&mut self, mut values: Values, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(is_value) = readable(values.advance())? {
            self.note_array(&values);
            let chosen = keep(self.bytes_before + values.source().bytes_read());
            match is_value && chosen {
                true => self.write_value(values.raw())?,
                false => self.lost += u64::from(chosen),
            }
        }
        self.note_array(&values);
        self.bytes_before += values.source().bytes_read();
        Ok(())
    }

    /// Writes an array if the first input is one.
    pub(super) fn note_array(&mut self, values: &Values) {
        self.in_array = self.in_array.or(values.are_in_array());
    }

    /// Writes a value as an element of an array, or on a line of its own.
    pub(super) fn write_value(&mut self, value: &[u8]) -> Result<()> {
        let (before, after): (&[u8], &[u8]) = match (self.in_array, self.is_empty) {
            (Some(true), true) => (b"[\n", b""),
            (Some(true), false) => (b",\n", b""),
            _ => (b"", b"\n"),
        };
        self.is_empty = false;
        for part in [before, value, after] {
            self.out.write_all(part)?;
        }
        Ok(())
    }

    /// Ends an array.
    pub(super) fn finish(&mut self) -> Result<()> {
        let end: &[u8] = match (self.in_array, self.is_empty) {
            (Some(true), true) => b"[]\n",
            (Some(true), false) => b"\n]\n",
            _ => b"",
        };
        Ok(self.out.write_all(end)?)
    }

    /// Writes a line such that it will be read as it is.
    pub(super) fn write_raw(&mut self, (line, end): (&[u8], &[u8])) -> Result<()> {
        if self.is_empty && line.starts_with(BYTE_ORDER_MARK) {
            self.out.write_all(BYTE_ORDER_MARK)?;
        }
        self.is_empty = false;
        self.write(line, end)
    }

    #[cfg(feature = "warc")]
    fn copy_archived(&mut self, mut records: WarcReader, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(record) = records.next_document() {
            let is_record = match record {
                Err(error @ Error::Io(_)) => return Err(error),
                record => record.is_ok(),
            };
            let chosen = keep(self.bytes_before + records.bytes_read());
            if !(chosen && is_record) {
                self.lost += u64::from(chosen);
                continue;
            }
            for part in records.raw() {
                self.out.write_all(part)?;
            }
        }
        self.bytes_before += records.bytes_read();
        Ok(())
    }

    fn copy_paths(&mut self, mut files: FilesReader, keep: RecordPredicate<'_>) -> Result<()> {
        while let Some(path) = files.next_path() {
            if !keep(self.bytes_before) {
                continue;
            }
            match path? {
                Some(path) => self.write(Escaped(&path).to_string().as_bytes(), b"\n")?,
                None => self.lost += 1,
            }
        }
        Ok(())
    }

    pub(super) fn write(&mut self, line: &[u8], end: &[u8]) -> Result<()> {
        if std::mem::replace(&mut self.open_line, !end.ends_with(b"\n")) {
            self.out.write_all(b"\n")?;
        }
        self.out.write_all(line)?;
        Ok(self.out.write_all(end)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{fields, read_all};
    use crate::{Error, InputFile, ReadOptions};

    /// What a copy of some files holds without the records that are not wanted, and what comes after those.
    fn copied(
        files: &[(&str, &str)],
        options: &ReadOptions,
        wanted: &[bool],
    ) -> Result<String, Error> {
        let folder = tempfile::tempdir().unwrap();
        let open = |(name, text): &(&str, &str)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            InputFile::open_with(&path, None, options, None)
        };
        let inputs = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        assert!(inputs.iter().all(|input| input.goes_with(&inputs[0])));
        let (mut out, mut wanted) = (Vec::new(), wanted.iter());
        filter_records(&inputs, &mut out, &mut |_| *wanted.next().unwrap())?;
        assert!(wanted.next().is_none());
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn rows_are_copied_byte_for_byte_after_one_header() {
        let options = ReadOptions::default();
        let first = "\u{feff}id,\"text\"\r\n1,\"a\nb\"\r\n2,c\r\n\r\n3,d";
        let second = "id,\"text\"\n4,\"\"\"e\"\"\"\n5,f,g\n6,h\n";
        let files = [("a.csv", first), ("b.csv", second)];
        let copy = copied(&files, &options, &[true, false, true, true, true, true]).unwrap();
        assert_eq!(
            copy,
            "id,\"text\"\r\n1,\"a\nb\"\r\n3,d\n4,\"\"\"e\"\"\"\n5,f,g\n6,h\n"
        );
        let copy = copied(&files, &options, &[false; 6]).unwrap();
        assert_eq!(copy, "id,\"text\"\r\n");
        let marked = [("a.csv", "\r\n\u{feff}id,text\n1,a\n")];
        let copy = copied(&marked, &options, &[true]).unwrap();
        assert_eq!(read_all(copy.as_bytes(), Format::Csv).records()[0].id, None);
        let other = [("a.csv", "id;body\n1;a\n"), ("b.csv.gz", "id;body\n2;b")];
        let copy = copied(&other, &fields("body", "").into(), &[true; 2]).unwrap();
        assert_eq!(copy, "id;body\n1;a\n2;b");
    }

    #[test]
    fn elements_are_copied_into_an_array() {
        let options = ReadOptions::default();
        let array = "[ {\"text\": \"a\",\n \"x\":  1}  , 7,{\"text\":\"b\"}]";
        let objects = "{\n  \"text\": \"c\"\n}\n{\"text\":\"d\"}";
        let both = [("a.json", array), ("b.json", objects)];
        let wanted = [true, true, false, true, false];
        let copy = copied(&both, &options, &wanted).unwrap();
        assert_eq!(
            copy,
            "[\n{\"text\": \"a\",\n \"x\":  1},\n7,\n{\n  \"text\": \"c\"\n}\n]\n"
        );
        assert_eq!(read_all(copy.as_bytes(), Format::Json).records().len(), 2);
        assert_eq!(copied(&both, &options, &[false; 5]).unwrap(), "[]\n");
        assert_eq!(copied(&[("a.json", "[]")], &options, &[]).unwrap(), "[]\n");
        let copy = copied(&[("b.json", objects)], &options, &[true, true]).unwrap();
        assert_eq!(copy, "{\n  \"text\": \"c\"\n}\n{\"text\":\"d\"}\n");
        let error = copied(&[("a.json", "[{\"text\":1}\n")], &options, &[true]).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("a.json:2: the array has no end"),
            "{error}"
        );
    }
}
