//! Rows of Apache Parquet files: the format `parquet`.

mod column;
mod copy;
mod out;
mod rows;
mod schema;
mod values;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::compression::Compression;
use super::digits;
use super::fields::joined;
use super::guard::guarded_call;
use super::schema::{Chosen, Kind, Schema, Wanted, number_id, one_text, too_long, utf8};
use super::source::{input_error, io_error, is_stdin, open_file, printable};
use super::{Content, MAX_DOCUMENT, ReadOptions, Record, RecordReader, kinds};
use crate::id;
use crate::{Error, Place, Result};
pub(super) use copy::copy_rows;
pub(super) use out::ParquetOut;
pub(super) use rows::ParquetRows;
use simidx::{Fingerprints, IdBuf};

use column::{Cell, Column};
use schema::leaves;

/// What a file starts and ends with.
const MAGIC: [u8; 4] = *b"PAR1";

/// Rows of numbers, and of strings, that are decoded at a time.
const NUMBERS: u64 = 8192;
const STRINGS: u64 = 1024;

/// Rows of documents that are decoded at a time. Beyond the page that they lie in they cost nothing.
const DOCUMENTS: u64 = 64;

/// A reader of the rows of a file, some rows of the columns needed at a time.
pub(super) struct ParquetReader {
    name: String,
    /// Another handle of the file, to see what became of it.
    file: File,
    file_len: u64,
    parquet: SerializedFileReader<File>,
    schema: Schema,
    /// For each column of the file, the level from which on a row has a list.
    list_levels: Vec<i16>,
    /// Rows of the whole file, and those returned so far.
    rows: u64,
    row: u64,
    /// The row group to be opened next.
    next_group: usize,
    columns: Option<Columns>,
    failed: bool,
    /// The failure that ended the reading of many rows and is still to be told.
    untold: Option<Error>,
}

/// The columns of an open row group.
struct Columns {
    /// One or more of texts, or one of fingerprints.
    content: Vec<Column>,
    id: Option<Column>,
    /// Rows that are decoded and not returned yet.
    ready: usize,
    /// Rows of the group that are still to be decoded.
    left: u64,
}

impl ParquetReader {
    /// Opens a file and finds the columns with fingerprints of the width, or with documents.
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let name = printable(path);
        let refuse = |message: &str| input_error(&name, Place::File, message);
        if is_stdin(path) {
            return Err(refuse("a Parquet file cannot be read from standard input"));
        }
        let (_, mut file) = open_file(path)?;
        let data = file.metadata().map_err(|e| io_error(&name, e))?;
        if !data.is_file() {
            return Err(refuse("a Parquet file cannot be read from a stream"));
        }
        let mut head = Vec::new();
        let read = (&mut file).take(kinds::HEAD).read_to_end(&mut head);
        read.and_then(|_| file.rewind())
            .map_err(|e| io_error(&name, e))?;
        if Compression::by_magic(&head) != Compression::None {
            return Err(refuse("a Parquet file cannot be read through compression"));
        }
        if !head.starts_with(&MAGIC) {
            return Err(refuse(match head.is_empty() {
                true => "is empty",
                false => kinds::words(&head).unwrap_or("is not a Parquet file"),
            }));
        }
        let other = file.try_clone().map_err(|e| io_error(&name, e))?;
        let parquet = guarded(|| SerializedFileReader::new(other));
        let parquet = parquet.map_err(|message| unreadable(&name, &message))?;
        let groups = parquet.metadata().row_groups().iter();
        let rows = groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        let rows = rows.fold(0, u64::saturating_add);
        let schema = parquet.metadata().file_metadata().schema_descr();
        let (leaves, list_levels) = leaves(schema);
        let schema = Schema::find(&leaves, options).map_err(|message| refuse(&message))?;
        Ok(ParquetReader {
            name,
            file,
            file_len: data.len(),
            parquet,
            schema,
            list_levels,
            rows,
            row: 0,
            next_group: 0,
            columns: None,
            failed: false,
            untold: None,
        })
    }

    /// Decodes rows if none are ready; false at the end and after a failure.
    fn make_ready(&mut self) -> Result<bool> {
        let most = match &self.schema.wanted {
            Wanted::Texts(_) => DOCUMENTS,
            Wanted::Fingerprints(_) if self.schema.is_plain() => NUMBERS,
            Wanted::Fingerprints(_) => STRINGS,
        };
        while !self.failed && self.columns.as_ref().is_none_or(|c| c.ready == 0) {
            let loaded = match &mut self.columns {
                Some(columns) if columns.left > 0 => guarded(|| columns.load(most)),
                _ if self.next_group < self.parquet.num_row_groups() => self.open_group(),
                _ => return Ok(false),
            };
            if let Err(message) = loaded {
                self.failed = true;
                return Err(self.failure(&message));
            }
        }
        Ok(!self.failed)
    }

    fn open_group(&mut self) -> Result<(), String> {
        let (parquet, schema) = (&self.parquet, &self.schema);
        let columns = guarded(|| {
            let group = parquet.get_row_group(self.next_group)?;
            let column = |chosen: &Chosen| Column::new(&*group, chosen.index);
            let content = match &schema.wanted {
                Wanted::Texts(texts) => texts.iter().map(column).collect(),
                Wanted::Fingerprints(fingerprints) => column(fingerprints).map(|c| vec![c]),
            };
            Ok(Columns {
                content: content?,
                id: schema.id.as_ref().map(column).transpose()?,
                ready: 0,
                left: u64::try_from(group.metadata().num_rows())?,
            })
        })?;
        self.next_group += 1;
        self.columns = Some(columns);
        Ok(())
    }

    /// The error of a file that could not be read on.
    fn failure(&self, message: &str) -> Error {
        match self.file.metadata() {
            Ok(data) if data.len() < self.file_len => {
                unreadable(&self.name, "is shorter than when it was opened")
            }
            _ => unreadable(&self.name, message),
        }
    }
}

impl Columns {
    fn load(&mut self, most: u64) -> Result<(), ParquetError> {
        let rows = self.left.min(most);
        for column in self.content.iter_mut().chain(&mut self.id) {
            column.load(rows as usize)?;
        }
        self.ready = rows as usize;
        self.left -= rows;
        Ok(())
    }

    /// The record of the next row, or what is wrong with it.
    fn record(&mut self, schema: &Schema, list_levels: &[i16]) -> Result<Record, String> {
        self.ready -= 1;
        // Every column goes on to the next row, whatever is wrong with another.
        let id = self.id.as_mut().map(Column::next);
        let content = match &schema.wanted {
            Wanted::Texts(texts) => {
                let columns = self.content.iter_mut().zip(texts);
                let of_row = columns.map(|(column, chosen)| text_of(column, chosen, list_levels));
                let of_row: Vec<_> = of_row.collect();
                let all = of_row.into_iter().collect::<Result<Vec<_>, _>>();
                all.and_then(|all| one_text(all, texts)).map(Content::Text)
            }
            Wanted::Fingerprints(chosen) => {
                let cell = self.content.first_mut().and_then(Column::next);
                let cell = cell.ok_or_else(|| null(&chosen.name));
                let fingerprint = cell.and_then(|cell| fingerprint_of(cell, chosen));
                fingerprint.map(Content::Fingerprint)
            }
        };
        let id = id.zip(schema.id.as_ref()).map(|(cell, column)| match cell {
            Some(cell) => id_of(cell, column),
            None => Err(null(&column.name)),
        });
        let id = schema.found_id(id)?;
        Ok(Record::new(content?, id))
    }
}

fn null(name: &str) -> String {
    format!("{} is null", digits::quote(name))
}

fn fingerprint_of(cell: Cell<'_>, column: &Chosen) -> Result<u128, String> {
    match (column.kind, cell) {
        (Kind::Digits(width), Cell::Bytes(text)) => digits::hex(utf8(text)?, width),
        (_, cell) => Ok(cell.to_fingerprint()),
    }
}

/// The text of the next row of a column, nothing if it is null, or what is wrong with it.
fn text_of(
    column: &mut Column,
    chosen: &Chosen,
    list_levels: &[i16],
) -> Result<Option<String>, String> {
    let read = |cell: Cell<'_>| match cell {
        Cell::Bytes(text) if text.len() as u64 <= MAX_DOCUMENT => utf8(text).map(str::to_owned),
        _ => Err(too_long(&chosen.name)),
    };
    if !chosen.is_list {
        return column.next().map(read).transpose();
    }
    let mut texts = Vec::new();
    let level = list_levels.get(chosen.index).copied().unwrap_or_default();
    let has_list = column.next_list(level, |cell| texts.push(read(cell).map(Some)));
    let texts = texts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(has_list.then(|| joined(texts).unwrap_or_default()))
}

/// The id that a cell holds, or what is wrong with it.
fn id_of(cell: Cell<'_>, column: &Chosen) -> Result<IdBuf, String> {
    match cell {
        Cell::Bytes(text) => id::from_text(utf8(text)?),
        Cell::Small(number) => match column.kind {
            Kind::Integer { signed: true, .. } => number_id(number.into(), &column.name),
            _ => Ok(IdBuf::Number(u64::from(number.cast_unsigned()))),
        },
        Cell::Large(number) => match column.kind {
            Kind::Integer { signed: true, .. } => number_id(number, &column.name),
            _ => Ok(IdBuf::Number(number.cast_unsigned())),
        },
    }
}

/// What the library returns; see [`guarded_call`].
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match guarded_call(call) {
        Some(result) => result.map_err(|e| clause(&e.to_string())),
        None => Err("damaged Parquet file".into()),
    }
}

/// A message of the library without its prefix, on one line.
fn clause(message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    let message = message.strip_prefix("Parquet error: ").unwrap_or(message);
    format!("cannot be read as Parquet: {message}")
}

fn unreadable(name: &str, message: &str) -> Error {
    io_error(name, io::Error::new(io::ErrorKind::InvalidData, message))
}

impl Iterator for ParquetReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if let Some(e) = self.untold.take() {
            return Some(Err(e));
        }
        match self.make_ready() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        let record = self
            .columns
            .as_mut()?
            .record(&self.schema, &self.list_levels);
        self.row += 1;
        let place = Place::Row(self.row);
        Some(record.map_err(|message| input_error(&self.name, place, message)))
    }
}

impl RecordReader for ParquetReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        if !self.schema.fits(out.width()) {
            return 0;
        }
        let columns = match self.make_ready() {
            Ok(true) => self.columns.as_mut(),
            Ok(false) => None,
            Err(e) => {
                self.untold = Some(e);
                None
            }
        };
        let Some(columns) = columns else { return 0 };
        let Some(column) = columns.content.first_mut() else {
            return 0;
        };
        let count = column.take_many(out);
        columns.ready -= count;
        self.row += count as u64;
        count
    }

    fn bytes_read(&self) -> u64 {
        let share = u128::from(self.file_len) * u128::from(self.row);
        (share / u128::from(self.rows.max(1))) as u64
    }

    fn expected_records(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn place(&self) -> (&str, Place) {
        (&self.name, Place::Row(self.row))
    }
}

#[cfg(test)]
mod tests;
