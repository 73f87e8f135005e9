//! Rows of Apache Parquet files: the format `parquet`.

mod column;
mod copy;
mod schema;

use std::cell::Cell as Flag;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::digits;
use super::id::RecordId;
use super::source::{Compression, input_error, io_error, is_stdin, open_file, printable};
use super::{Fields, MAX_DOCUMENT, Record, RecordReader};
use crate::{Error, Place, Result};
pub(super) use copy::copy_rows;
use simidx::Fingerprint;

use column::{Cell, Column};
use schema::{Chosen, Kind, Schema};

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
    content: Column,
    id: Option<Column>,
    /// Rows that are decoded and not returned yet.
    ready: usize,
    /// Rows of the group that are still to be decoded.
    left: u64,
}

impl ParquetReader {
    /// Opens a file and finds the columns with fingerprints of this width, or with documents.
    pub(super) fn open<F: Fingerprint>(path: &Path, fields: &Fields) -> Result<Self> {
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
        let read = (&mut file).take(4).read_to_end(&mut head);
        read.and_then(|_| file.rewind())
            .map_err(|e| io_error(&name, e))?;
        if Compression::by_magic(&head) != Compression::None {
            return Err(refuse("a Parquet file cannot be read through compression"));
        }
        if head != MAGIC {
            return Err(refuse("is not a Parquet file"));
        }
        let other = file.try_clone().map_err(|e| io_error(&name, e))?;
        let parquet = guarded(|| SerializedFileReader::new(other));
        let parquet = parquet.map_err(|message| unreadable(&name, &message))?;
        let groups = parquet.metadata().row_groups().iter();
        let rows = groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        let rows = rows.fold(0, u64::saturating_add);
        let schema = parquet.metadata().file_metadata().schema_descr();
        let schema = Schema::find::<F>(schema, fields).map_err(|message| refuse(&message))?;
        Ok(ParquetReader {
            name,
            file,
            file_len: data.len(),
            parquet,
            schema,
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
        let most = match (self.schema.content.kind, &self.schema.id) {
            (Kind::Text, _) => DOCUMENTS,
            (Kind::Digits, _) | (_, Some(_)) => STRINGS,
            _ => NUMBERS,
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
            let column = |index| Column::new(&*group, index);
            Ok(Columns {
                content: column(schema.content.index)?,
                id: schema.id.as_ref().map(|id| column(id.index)).transpose()?,
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
        self.content.load(rows as usize)?;
        if let Some(id) = &mut self.id {
            id.load(rows as usize)?;
        }
        self.ready = rows as usize;
        self.left -= rows;
        Ok(())
    }

    /// The record of the next row, or what is wrong with it.
    fn record<F: Fingerprint>(&mut self, schema: &Schema) -> Result<Record<F>, String> {
        self.ready -= 1;
        let content = self.content.next();
        let id = self.id.as_mut().map(Column::next);
        let null = |name: &str| format!("{} is null", digits::quote(name));
        let id = match (id, &schema.id) {
            (Some(Some(cell)), Some(column)) => Some(id_of(cell, column)?),
            (Some(None), Some(column)) => return Err(null(&column.name)),
            _ => None,
        };
        let content = content.ok_or_else(|| null(&schema.content.name))?;
        match (schema.content.kind, content) {
            (Kind::Text, Cell::Bytes(text)) if text.len() as u64 > MAX_DOCUMENT => Err(format!(
                "{:?} is longer than {MAX_DOCUMENT} bytes",
                schema.content.name
            )),
            (Kind::Text, Cell::Bytes(text)) => Ok(Record::text(utf8(text)?.to_owned(), id)),
            (Kind::Digits, Cell::Bytes(text)) => {
                Ok(Record::fingerprint(digits::hex(utf8(text)?)?, id))
            }
            (_, cell) => Ok(Record::fingerprint(cell.to_fingerprint(), id)),
        }
    }
}

/// The id that a cell holds, or what is wrong with it.
fn id_of(cell: Cell<'_>, column: &Chosen) -> Result<RecordId, String> {
    match cell {
        Cell::Bytes(text) => RecordId::from_text(utf8(text)?),
        Cell::Small(number) => match column.kind {
            Kind::Integer { signed: true, .. } => number_id(number.into(), &column.name),
            _ => Ok(RecordId::Number(u64::from(number.cast_unsigned()))),
        },
        Cell::Large(number) => match column.kind {
            Kind::Integer { signed: true, .. } => number_id(number, &column.name),
            _ => Ok(RecordId::Number(number.cast_unsigned())),
        },
    }
}

fn number_id(number: i64, name: &str) -> Result<RecordId, String> {
    let id = u64::try_from(number);
    id.map(RecordId::Number)
        .map_err(|_| format!("{name:?} is {number}, which is below 0"))
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8".into())
}

thread_local! {
    /// Whether this thread is within a call in which a panic is an error of the file.
    static GUARDED: Flag<bool> = const { Flag::new(false) };
}

/// Keeps panics of guarded calls from being printed; all others go the way they went before.
fn silence_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
}

/// What the library returns. Damaged files may make it panic, which then is an error as well.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    silence_guarded_panics();
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    match result {
        Ok(result) => result.map_err(|e| clause(&e.to_string())),
        Err(_) => Err("damaged Parquet file".into()),
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

impl<F: Fingerprint> RecordReader<F> for ParquetReader {
    fn next_record(&mut self) -> Option<Result<Record<F>>> {
        if let Some(e) = self.untold.take() {
            return Some(Err(e));
        }
        match self.make_ready() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => return Some(Err(e)),
        }
        let record = self.columns.as_mut()?.record(&self.schema);
        self.row += 1;
        let place = Place::Row(self.row);
        Some(record.map_err(|message| input_error(&self.name, place, message)))
    }

    fn read_fingerprints(&mut self, out: &mut Vec<F>) -> usize {
        if self.schema.id.is_some() || !self.schema.content.kind.is_ready_made() {
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
        let count = columns.content.take_many(out);
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
