//! Rows of Apache Arrow files and streams: the format `arrow`.

mod batches;
mod cells;
mod columns;
mod copy;
mod new_columns;
mod rows;

use arrow_array::RecordBatch;

use super::fields::joined;
use super::schema::{Chosen, Kind, Schema, Wanted, number_id, one_text, too_long, utf8};
use super::source::{Source, input_error, io_error};
use super::{Content, MAX_DOCUMENT, ReadOptions, Record, RecordReader, digits};
use crate::id;
use crate::{Error, Place, Result};
use batches::Batches;
use cells::{Cell, plain_fingerprints, visit};
use columns::{Step, leaves};
pub(super) use copy::copy_rows;
pub(super) use rows::ArrowRows;
use simidx::{Fingerprints, IdBuf};

/// Fingerprints that are returned at a time.
const MANY: usize = 1 << 20;

/// A reader of the rows of one record batch after another.
pub(super) struct ArrowReader {
    batches: Batches,
    schema: Schema,
    /// The columns of `schema`, in its order, and that of the id.
    content: Vec<Located>,
    id: Option<Located>,
    batch: Option<RecordBatch>,
    /// The next row of the batch, and the rows returned so far.
    next: usize,
    row: u64,
    failed: bool,
    /// The failure that ended the reading of many rows and is still to be reported.
    untold: Option<Error>,
}

/// A column, and where its values are.
struct Located {
    chosen: Chosen,
    /// Number of the outermost column among those that are decoded.
    column: usize,
    steps: Vec<Step>,
}

impl ArrowReader {
    /// Reads the schema and finds the columns with fingerprints of the width, or with documents.
    pub(super) fn open(source: Source, options: &ReadOptions) -> Result<Self> {
        let mut batches = Batches::open(source)?;
        let (leaves, routes) = leaves(batches.schema());
        let schema = Schema::find(&leaves, options);
        let name = batches.source().name();
        let schema = schema.map_err(|message| input_error(name, Place::File, message))?;
        let content: Vec<Chosen> = match &schema.wanted {
            Wanted::Texts(texts) => texts.clone(),
            Wanted::Fingerprints(fingerprints) => vec![fingerprints.clone()],
        };
        let all = content.iter().chain(&schema.id);
        let mut projection: Vec<usize> = all.map(|chosen| routes[chosen.index].0).collect();
        projection.sort_unstable();
        projection.dedup();
        let locate = |chosen: Chosen| {
            let (column, steps) = &routes[chosen.index];
            Located {
                column: projection.partition_point(|other| other < column),
                steps: steps.clone(),
                chosen,
            }
        };
        let id = schema.id.clone().map(locate);
        let content = content.into_iter().map(locate).collect();
        batches.decode_only(projection);
        Ok(ArrowReader {
            batches,
            schema,
            content,
            id,
            batch: None,
            next: 0,
            row: 0,
            failed: false,
            untold: None,
        })
    }

    /// Decodes the next batch if no row is left of the last one; false at the end and after a failure.
    fn make_ready(&mut self) -> Result<bool> {
        while self
            .batch
            .as_ref()
            .is_none_or(|batch| self.next >= batch.num_rows())
        {
            if self.failed {
                return Ok(false);
            }
            // The memory of the one is free before the other is read.
            self.batch = None;
            self.batch = self.batches.next().inspect_err(|_| self.failed = true)?;
            self.next = 0;
            if self.batch.is_none() {
                self.failed = true;
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
        let content = match &self.schema.wanted {
            Wanted::Texts(texts) => {
                let all = self.content.iter().map(|column| column.text(batch, row));
                Content::Text(one_text(all.collect::<Result<_, _>>()?, texts)?)
            }
            Wanted::Fingerprints(chosen) => {
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
    /// The value of a row, if it is there and not null.
    fn cell<'b>(&self, batch: &'b RecordBatch, row: usize) -> Option<Cell<'b>> {
        let mut found = None;
        visit(batch.column(self.column), row, &self.steps, &mut |cell| {
            found = Some(cell)
        });
        found
    }

    /// The text of a row, nothing if it is null, or what is wrong with it.
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

/// The id that a cell holds, or what is wrong with it.
fn id_of(cell: Cell<'_>, column: &Chosen) -> Result<IdBuf, String> {
    match cell {
        Cell::Bytes(text) => id::from_text(utf8(text)?),
        Cell::Signed(number) => number_id(number, &column.name),
        Cell::Unsigned(number) => Ok(IdBuf::Number(number)),
    }
}

fn fingerprint_of(cell: Cell<'_>, column: &Chosen) -> Result<u128, String> {
    Ok(match (column.kind, cell) {
        (Kind::Digits(width), Cell::Bytes(text)) => return digits::hex(utf8(text)?, width),
        // The most significant byte is the first.
        (_, Cell::Bytes(bytes)) => bytes.iter().fold(0, |all, &b| all << 8 | u128::from(b)),
        (Kind::Integer { bits: 32, .. }, Cell::Signed(number)) => (number as u32).into(),
        (_, Cell::Signed(number)) => number.cast_unsigned().into(),
        (_, Cell::Unsigned(number)) => number.into(),
    })
}

impl Iterator for ArrowReader {
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
        let name = self.batches.source().name();
        Some(record.map_err(|message| input_error(name, Place::Row(self.row), message)))
    }
}

impl RecordReader for ArrowReader {
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
        self.batches.source().bytes_read()
    }

    fn place(&self) -> (&str, Place) {
        (self.batches.source().name(), Place::Row(self.row))
    }
}

/// The error of a file that cannot be read on.
fn unreadable(name: &str, message: &str) -> Error {
    io_error(
        name,
        std::io::Error::new(std::io::ErrorKind::InvalidData, message),
    )
}

#[cfg(test)]
mod tests;
