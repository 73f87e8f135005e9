//! Reads records from the rows of record batches.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;

use super::cells::{Cell, big_endian, plain_fingerprints, visit};
use super::leaves::{Step, leaves};
use super::schema::{Chosen, Kind, Schema, number_id, one_text, too_long, utf8};
use super::{Batches, unreadable};
use crate::fields::{Held, joined};
use crate::source::input_error;
use crate::{Content, Error, MAX_DOCUMENT, Place, ReadOptions, Record, RecordReader, Result};
use crate::{digits, id};
use simidx::{Fingerprints, IdBuf};

/// Number of rows of numbers, of strings, and of documents that are decoded at a time, if the file does not determine
/// it.
const NUMBERS: usize = 8192;
const STRINGS: usize = 1024;
const DOCUMENTS: usize = 64;

/// Largest number of fingerprints that are returned at a time.
const MANY: usize = 1 << 20;

/// Reads the rows of consecutive record batches.
pub(crate) struct Records {
    batches: Box<dyn Batches>,
    schema: Schema,
    /// The columns of `schema`, in its order, and the column of the id.
    content: Vec<Located>,
    id: Option<Located>,
    batch: Option<RecordBatch>,
    /// The next row of the batch, and the number of rows returned so far.
    next: usize,
    row: u64,
    /// The failure that ended a bulk read, still to be returned.
    untold: Option<Error>,
}

/// A column, and the location of its values.
struct Located {
    chosen: Chosen,
    /// Number of the top-level column among the decoded columns.
    column: usize,
    steps: Vec<Step>,
}

impl Records {
    /// Finds the columns with fingerprints of the width, or with documents.
    pub(crate) fn open(mut batches: Box<dyn Batches>, options: &ReadOptions) -> Result<Self> {
        let (mut leaves_of_file, _) = leaves(batches.schema());
        batches.correct(&mut leaves_of_file);
        let schema = Schema::find(&leaves_of_file, options);
        let schema = schema.map_err(|message| input_error(batches.name(), Place::File, message))?;
        let (content, rows) = match &schema.content {
            Held::Texts(texts) => (texts.clone(), DOCUMENTS),
            Held::Fingerprint(chosen) if schema.is_plain() => (vec![chosen.clone()], NUMBERS),
            Held::Fingerprint(chosen) => (vec![chosen.clone()], STRINGS),
        };
        let all = content.iter().chain(&schema.id);
        let all: BTreeSet<usize> = all.map(|chosen| chosen.index).collect();
        let decoded = batches.decode_only(&all, rows)?;
        let (_, routes) = leaves(batches.schema());
        let locate = |chosen: Chosen| {
            let place = decoded.partition_point(|&leaf| leaf < chosen.index);
            match routes.get(place).cloned() {
                Some((column, steps)) => Ok(Located {
                    chosen,
                    column,
                    steps,
                }),
                None => Err(unreadable(batches.name(), "a column is not decoded")),
            }
        };
        let id = schema.id.clone().map(locate).transpose()?;
        let content = content.into_iter().map(locate).collect::<Result<_>>()?;
        Ok(Records {
            id,
            content,
            batches,
            schema,
            batch: None,
            next: 0,
            row: 0,
            untold: None,
        })
    }

    /// Decodes the next batch if all rows of the last one have been read. Returns `false` at the end and after a
    /// failure.
    fn make_ready(&mut self) -> Result<bool> {
        while self
            .batch
            .as_ref()
            .is_none_or(|batch| self.next >= batch.num_rows())
        {
            // This frees the memory of the last batch before the next one is read.
            self.batch = None;
            self.batch = self.batches.next()?;
            self.next = 0;
            if self.batch.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn record(&self, batch: &RecordBatch, row: usize) -> Result<Record, String> {
        let id = self.id.as_ref().map(|id| match id.cell(batch, row) {
            Some(cell) => id_of(cell, &id.chosen),
            None => Err(null(&id.chosen.name)),
        });
        let id = self.schema.found_id(id)?;
        let content = match &self.schema.content {
            Held::Texts(texts) => {
                let all = self.content.iter().map(|column| column.text(batch, row));
                Content::Text(one_text(all.collect::<Result<_, _>>()?, texts)?)
            }
            Held::Fingerprint(chosen) => {
                let cell = self
                    .content
                    .first()
                    .and_then(|column| column.cell(batch, row));
                let cell = cell.ok_or_else(|| null(&chosen.name))?;
                Content::Fingerprint(fingerprint_of(cell, chosen)?)
            }
        };
        Ok(Record::new(content, id))
    }
}

impl Located {
    /// Returns the value of a row, if it exists and is not null.
    fn cell<'b>(&self, batch: &'b RecordBatch, row: usize) -> Option<Cell<'b>> {
        let mut found = None;
        visit(batch.column(self.column), row, &self.steps, &mut |cell| {
            found = Some(cell)
        });
        found
    }

    /// Returns the text of a row, or `None` if it is null.
    fn text(&self, batch: &RecordBatch, row: usize) -> Result<Option<String>, String> {
        let read = |cell: Cell<'_>| match cell {
            Cell::Bytes(text) if text.len() as u64 <= MAX_DOCUMENT => utf8(text).map(str::to_owned),
            _ => Err(too_long(&self.chosen.name)),
        };
        if !self.chosen.is_list {
            return self.cell(batch, row).map(read).transpose();
        }
        let mut texts = Vec::new();
        let column = batch.column(self.column);
        let has_list = visit(column, row, &self.steps, &mut |cell| {
            texts.push(read(cell).map(Some));
        });
        let texts = texts.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(has_list.then(|| joined(texts).unwrap_or_default()))
    }
}

fn null(name: &str) -> String {
    format!("{} is null", digits::quote(name))
}

/// Returns the id in a cell.
fn id_of(cell: Cell<'_>, column: &Chosen) -> Result<IdBuf, String> {
    match cell {
        Cell::Bytes(text) => id::from_text(utf8(text)?),
        Cell::Integer(number) => number_id(number, &column.name),
    }
}

fn fingerprint_of(cell: Cell<'_>, column: &Chosen) -> Result<u128, String> {
    Ok(match (column.kind, cell) {
        (Kind::Digits(width), Cell::Bytes(text)) => return digits::hex(utf8(text)?, width),
        (_, Cell::Bytes(bytes)) => big_endian(bytes),
        (Kind::Integer { bits: 32, .. }, Cell::Integer(number)) => (number as u32).into(),
        (_, Cell::Integer(number)) => (number as u64).into(),
    })
}

impl Iterator for Records {
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
        let record = self.record(self.batch.as_ref()?, self.next);
        self.next += 1;
        self.row += 1;
        let name = self.batches.name();
        Some(record.map_err(|message| input_error(name, Place::Row(self.row), message)))
    }
}

impl RecordReader for Records {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        if !self.schema.fits(out.width()) {
            return 0;
        }
        match self.make_ready() {
            Ok(true) => {}
            Ok(false) => return 0,
            Err(e) => {
                self.untold = Some(e);
                return 0;
            }
        }
        let (Some(batch), Some(column)) = (&self.batch, self.content.first()) else {
            return 0;
        };
        let rows = self.next..batch.num_rows().min(self.next + MANY);
        let count = match column.steps.is_empty() {
            true => plain_fingerprints(batch.column(column.column), rows, out),
            false => 0,
        };
        self.next += count;
        self.row += count as u64;
        count
    }

    fn bytes_read(&self) -> u64 {
        self.batches.bytes_read()
    }

    fn place(&self) -> (&str, Place) {
        (self.batches.name(), Place::Row(self.row))
    }
}
