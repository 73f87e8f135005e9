//! The names of documents: their ids, otherwise their positions among the records.

use std::cell::RefCell;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use simidx::{Error, IdBuf, IdKind};
use simidx_input::{Escaped, FieldKind};
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use crate::support::failure::Failure;
use crate::support::output::Column;
use crate::support::records::{Fingerprinted, ReadCounts, Refusal, id_of};
use crate::support::table::id_kind;

/// The names of documents, in order, and the lengths of their texts.
pub(crate) struct Labels {
    pub(crate) ids: SpooledIds,
    pub(crate) positions: Positions,
    /// The number of bytes of each text, if needed.
    pub(crate) lengths: Option<Vec<u32>>,
    /// Number of documents so far.
    pub(crate) count: u64,
    /// Whether any id is a text.
    pub(crate) has_text_ids: bool,
    /// The inputs as they were read, if records are to be found again there: their names and first positions.
    pub(crate) inputs: Vec<(String, u64)>,
}

impl Labels {
    /// Creates an empty list. Ids of more than `id_memory` bytes in total go to a temporary file in this folder, by
    /// default in the folder of the system.
    pub(crate) fn new(temp_dir: Option<&Path>, id_memory: u64, keeps_lengths: bool) -> Self {
        Labels {
            ids: SpooledIds::new(temp_dir, id_memory),
            positions: Positions::default(),
            lengths: keeps_lengths.then(Vec::new),
            count: 0,
            has_text_ids: false,
            inputs: Vec::new(),
        }
    }

    /// Adds the next record, and its id as one of this kind if it has one. Returns the number of the record.
    ///
    /// # Errors
    /// The errors of [`id_of`], and an id that cannot be written.
    pub(crate) fn push_own(
        &mut self,
        mut record: Fingerprinted,
        kind: IdKind,
    ) -> Result<u64, Refusal> {
        let (number, has_id) = (self.count, record.id.is_some());
        let id = id_of(&mut record, kind)?;
        self.push(&record, has_id.then_some(&id))?;
        Ok(number)
    }

    /// Adds the next document, and its id if it has one.
    ///
    /// # Errors
    /// The id cannot be written.
    pub(crate) fn push(&mut self, record: &Fingerprinted, id: Option<&IdBuf>) -> Result<(), Error> {
        if let Some(id) = id {
            self.ids.push(self.count, id)?;
            self.has_text_ids |= matches!(id, IdBuf::String(_));
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.push(u32::try_from(record.text_len).unwrap_or(u32::MAX));
        }
        self.push_unnamed(record.position, 1);
        Ok(())
    }

    /// Adds fingerprints without ids, from this position on.
    pub(crate) fn push_unnamed(&mut self, position: u64, count: u64) {
        self.positions.push(position, count);
        self.count += count;
    }

    /// Completes the list, after all records have been read.
    ///
    /// # Errors
    /// The ids cannot be written.
    pub(crate) fn end(&mut self, read: &ReadCounts) -> Result<(), Error> {
        self.positions.total = read.records + read.skipped;
        self.inputs.clone_from(&read.inputs);
        self.ids.complete()
    }

    /// Returns the name of a document.
    ///
    /// # Errors
    /// The id cannot be read.
    pub(crate) fn of(&self, document: usize) -> Result<IdBuf, Error> {
        let id = self.ids.get(document as u64)?;
        Ok(id.unwrap_or_else(|| IdBuf::Number(self.positions.of(document))))
    }

    /// The kind of a column of ids in a table.
    pub(crate) fn id_kind(&self) -> FieldKind {
        id_kind(match self.has_text_ids {
            true => IdKind::String,
            false => IdKind::Number,
        })
    }

    /// Returns the cells of a document in a table: its id if it has one itself, and its position in its file with the name of
    /// the file.
    ///
    /// # Errors
    /// An id that cannot be read.
    pub(crate) fn cells(&self, document: usize) -> Result<(String, String), Error> {
        let id = self.ids.get(document as u64)?;
        let id = id.map_or_else(String::new, |id| Column::of(&id).to_string());
        Ok((id, self.place(document)))
    }

    /// The cells of the row and the file of a document, with a tab between.
    pub(crate) fn place(&self, document: usize) -> String {
        let position = self.positions.of(document);
        let started = self.inputs.partition_point(|(_, first)| *first <= position);
        let place = self.inputs[..started].last().map(|(name, first)| {
            let row = position - first;
            format!("{row}\t{}", Escaped(name))
        });
        place.unwrap_or_default()
    }
}

/// Returns the position of an item in a list, from its number among the items that are not left out. `place` returns
/// the positions of the `len` items that are left out, ascending.
pub(crate) fn place_among(len: usize, place: impl Fn(usize) -> u64, item: u64) -> u64 {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        match place(middle) - middle as u64 <= item {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    item + low as u64
}

/// The positions of the documents among all records of the inputs. Memory: 8 bytes for each skipped record.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// The positions of records that are not documents, ascending.
    skipped: Vec<u64>,
    /// The position after the last document.
    end: u64,
    /// Number of all records.
    total: u64,
}

impl Positions {
    /// Adds the next documents, at consecutive positions.
    pub(crate) fn push(&mut self, position: u64, count: u64) {
        self.skipped.extend(self.end..position);
        self.end = position + count;
    }

    /// Returns the number of the document at a position; `None` if the record is not a document.
    pub(crate) fn document_at(&self, position: u64) -> Option<usize> {
        let before = self.skipped.partition_point(|&skipped| skipped < position);
        let is_skipped = self.skipped.get(before) == Some(&position);
        (position < self.end && !is_skipped).then(|| position as usize - before)
    }

    /// Returns the position of a document.
    pub(crate) fn of(&self, document: usize) -> u64 {
        let skipped = |number: usize| self.skipped[number];
        place_among(self.skipped.len(), skipped, document as u64)
    }

    /// Number of records that are not documents.
    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped.len() as u64 + (self.total - self.end)
    }

    /// Checks that a further pass over the records had the same number of records as the first one.
    pub(crate) fn check(&self, count: u64) -> Result<(), Failure> {
        unchanged("records", self.total, count)
    }

    /// Checks that a further pass over documents that all have texts had the same number of texts as the first one.
    pub(crate) fn check_texts(&self, count: u64) -> Result<(), Failure> {
        unchanged("texts", self.end - self.skipped.len() as u64, count)
    }
}

fn unchanged(what: &str, first: u64, later: u64) -> Result<(), Failure> {
    if first == later {
        return Ok(());
    }
    let message = format!("the inputs have changed: {first} {what} at first, {later} later");
    Err(Failure::new(message))
}

/// Number of ids that are read together.
const BLOCK_LEN: u64 = 64;

/// Ids by the numbers of their records; records may have none. Memory: `room`, one byte for every eight records, and
/// buffers.
///
/// Each id is a line of JSON, which is empty for a record without one.
#[derive(Debug)]
pub(crate) struct SpooledIds {
    folder: PathBuf,
    /// The ids, in memory as long as all of them fit.
    file: RefCell<BufWriter<SpooledTempFile>>,
    /// The offset of each block.
    starts: Vec<u64>,
    /// Number of bytes of all ids.
    len: u64,
    /// Number of records so far.
    count: u64,
    /// The block that was read last.
    block: RefCell<Block>,
}

/// A block of the file.
#[derive(Debug, Default)]
struct Block {
    number: Option<usize>,
    bytes: Vec<u8>,
}

impl SpooledIds {
    /// Creates an empty list. Ids of more than `room` bytes in total go to a temporary file in this folder, by default
    /// in the folder of the system.
    pub(crate) fn new(temp_dir: Option<&Path>, room: u64) -> Self {
        let folder = temp_dir.map_or_else(std::env::temp_dir, Path::to_owned);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        SpooledIds {
            file: RefCell::new(BufWriter::new(spooled_tempfile_in(room, &folder))),
            folder,
            starts: Vec::new(),
            len: 0,
            count: 0,
            block: RefCell::default(),
        }
    }

    /// Adds the id of a record; records must come in order.
    ///
    /// # Errors
    /// The id cannot be written.
    pub(crate) fn push(&mut self, record: u64, id: &IdBuf) -> Result<(), Error> {
        let result = self.try_push(record, id);
        result.map_err(|error| self.blame(error).into())
    }

    fn try_push(&mut self, record: u64, id: &IdBuf) -> io::Result<()> {
        while self.count < record {
            self.write("")?;
        }
        match id {
            IdBuf::Number(number) => self.write(&number.to_string()),
            IdBuf::String(text) => self.write(&serde_json::to_string(text)?),
        }
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.count.is_multiple_of(BLOCK_LEN) {
            self.starts.push(self.len);
        }
        self.len += line.len() as u64 + 1;
        self.count += 1;
        writeln!(self.file.get_mut(), "{line}")
    }

    /// Makes the ids readable.
    ///
    /// # Errors
    /// The ids cannot be written.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        let flushed = self.file.get_mut().flush();
        flushed.map_err(|error| self.blame(error).into())
    }

    /// Returns the id of a record, if it has one.
    ///
    /// # Errors
    /// The id cannot be read.
    pub(crate) fn get(&self, record: u64) -> Result<Option<IdBuf>, Error> {
        if record >= self.count {
            return Ok(None);
        }
        let id = self.read(record);
        id.map_err(|error| self.blame(error).into())
    }

    fn read(&self, record: u64) -> io::Result<Option<IdBuf>> {
        let number = (record / BLOCK_LEN) as usize;
        let mut block = self.block.borrow_mut();
        if block.number != Some(number) {
            let start = self.starts[number];
            let end = self.starts.get(number + 1).copied().unwrap_or(self.len);
            block.number = None;
            block.bytes.resize((end - start) as usize, 0);
            let mut file = self.file.borrow_mut();
            file.get_mut().seek(SeekFrom::Start(start))?;
            file.get_mut().read_exact(&mut block.bytes)?;
            block.number = Some(number);
        }
        id_in(&block.bytes, record)
    }

    fn blame(&self, error: io::Error) -> io::Error {
        let folder = self.folder.display();
        let message =
            format!("{folder}: {error}; --temp-dir names another directory for temporary files");
        io::Error::new(error.kind(), message)
    }
}

/// Returns the id of a record from its block.
fn id_in(block: &[u8], record: u64) -> io::Result<Option<IdBuf>> {
    let mut lines = block.split(|&byte| byte == b'\n');
    let line = lines.nth((record % BLOCK_LEN) as usize).unwrap_or_default();
    Ok(match line {
        [] => None,
        [b'"', ..] => Some(IdBuf::String(serde_json::from_slice(line)?)),
        _ => Some(IdBuf::Number(serde_json::from_slice(line)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_what_was_skipped() {
        let mut positions = Positions::default();
        for (position, count) in [(2, 1), (3, 4), (7, 1), (10, 2), (20, 1)] {
            positions.push(position, count);
        }
        positions.total = 25;
        let expected = [2, 3, 4, 5, 6, 7, 10, 11, 20];
        let found: Vec<u64> = (0..9).map(|document| positions.of(document)).collect();
        assert_eq!(found, expected);
        assert_eq!(positions.skipped_count(), 25 - 9);
        let found: Vec<u64> = (0..25)
            .filter(|&position| positions.document_at(position).is_some())
            .collect();
        assert_eq!(found, expected);
        for (document, &position) in expected.iter().enumerate() {
            assert_eq!(positions.document_at(position), Some(document));
        }
        assert!(positions.check(25).is_ok());
        assert!(positions.check(26).is_err());
    }

    #[test]
    fn ids_come_back_from_memory_and_from_the_file() {
        for room in [0, 300, u64::MAX] {
            let ids = ids_that_come_back(room);
            assert_eq!(ids.file.borrow().get_ref().is_rolled(), room < u64::MAX);
        }
        assert_eq!(SpooledIds::new(None, 0).get(0).unwrap(), None);
    }

    fn ids_that_come_back(room: u64) -> SpooledIds {
        let mut ids = SpooledIds::new(None, room);
        let given = [
            (0, "a"),
            (3, "t"),
            (4, "汉字"),
            (63, "n7"),
            (64, ""),
            (300, "z"),
        ];
        for (record, id) in given {
            ids.push(record, &IdBuf::String(id.into())).unwrap();
        }
        ids.push(301, &IdBuf::Number(u64::MAX)).unwrap();
        ids.complete().unwrap();
        assert_eq!(ids.count, 302);
        for record in (0..310).chain([3, 300, 4]) {
            let expected = given.iter().find(|given| given.0 == record);
            let expected = expected.map(|given| IdBuf::String(given.1.into()));
            let number = (record == 301).then_some(IdBuf::Number(u64::MAX));
            assert_eq!(ids.get(record).unwrap(), expected.or(number));
        }
        ids
    }
}
