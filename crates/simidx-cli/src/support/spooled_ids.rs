//! The ids of records: in memory as far as they fit, otherwise in a temporary file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use simidx::{Error, IdBuf};

/// Ids that are read together.
const BLOCK_LEN: u64 = 64;

/// What an id in the file starts with.
const NUMBER: u8 = b'n';
const TEXT: u8 = b't';

/// Ids by the numbers of their records, which need not all have one. Memory: `room`, a byte for every eight records, and
/// buffers.
///
/// Each id stands after its length in four bytes.
#[derive(Debug)]
pub(crate) struct SpooledIds {
    folder: PathBuf,
    /// Bytes of ids for which there is memory.
    room: u64,
    /// The ids, as long as all of them fit.
    in_memory: Vec<u8>,
    /// The ids, once they do not.
    file: Option<BufWriter<File>>,
    /// Where each block starts.
    starts: Vec<u64>,
    /// Bytes of all ids.
    len: u64,
    /// Records so far.
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
    /// No ids yet. They go to a temporary file in this folder, by default in that of the system, if they take more than so
    /// many bytes.
    pub(crate) fn new(temp_dir: Option<&Path>, room: u64) -> Self {
        SpooledIds {
            folder: temp_dir.map_or_else(std::env::temp_dir, Path::to_owned),
            room,
            in_memory: Vec::new(),
            file: None,
            starts: Vec::new(),
            len: 0,
            count: 0,
            block: RefCell::default(),
        }
    }

    /// Number of the record after the last one with an id.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Stores the id of a record; the records come in order.
    ///
    /// # Errors
    /// What keeps it from being written.
    pub(crate) fn push(&mut self, record: u64, id: &IdBuf) -> Result<(), Error> {
        let result = self.try_push(record, id);
        result.map_err(|error| self.blame(error).into())
    }

    fn try_push(&mut self, record: u64, id: &IdBuf) -> io::Result<()> {
        while self.count < record {
            self.write(&[], &[])?;
        }
        match id {
            IdBuf::Number(number) => self.write(&[NUMBER], number.to_string().as_bytes()),
            IdBuf::String(text) => self.write(&[TEXT], text.as_bytes()),
        }
    }

    fn write(&mut self, kind: &[u8], id: &[u8]) -> io::Result<()> {
        if self.count.is_multiple_of(BLOCK_LEN) {
            self.starts.push(self.len);
        }
        // Readers bound the length of an id.
        let len = (kind.len() + id.len()) as u32;
        self.len += 4 + u64::from(len);
        self.count += 1;
        let fits = self.file.is_none() && self.len <= self.room;
        let out: &mut dyn Write = match fits {
            true => &mut self.in_memory,
            false => self.file()?,
        };
        out.write_all(&len.to_ne_bytes())?;
        out.write_all(kind)?;
        out.write_all(id)
    }

    /// The file, which at first gets what has been in memory.
    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let mut file = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
                file.write_all(&std::mem::take(&mut self.in_memory))?;
                Ok(none.insert(file))
            }
        }
    }

    /// Makes the ids ready to be read.
    ///
    /// # Errors
    /// What keeps them from being written.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| self.blame(error).into())
    }

    /// The id of a record, if it has one.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub(crate) fn get(&self, record: u64) -> Result<Option<IdBuf>, Error> {
        if record >= self.count {
            return Ok(None);
        }
        let number = (record / BLOCK_LEN) as usize;
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.len);
        let id = match &self.file {
            None => id_in(&self.in_memory[start as usize..end as usize], record),
            Some(file) => self.read(file.get_ref(), (start, end), record),
        };
        id.map_err(|error| self.blame(error).into())
    }

    fn read(
        &self,
        mut file: &File,
        (start, end): (u64, u64),
        record: u64,
    ) -> io::Result<Option<IdBuf>> {
        let number = (record / BLOCK_LEN) as usize;
        let mut block = self.block.borrow_mut();
        if block.number != Some(number) {
            block.number = None;
            block.bytes.resize((end - start) as usize, 0);
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut block.bytes)?;
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

/// The id of a record, out of its block.
fn id_in(block: &[u8], record: u64) -> io::Result<Option<IdBuf>> {
    let mut rest = block;
    let mut id = &rest[..0];
    for _ in 0..=record % BLOCK_LEN {
        let (len, after) = rest.split_first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        (id, rest) = after.split_at(u32::from_ne_bytes(*len) as usize);
    }
    // They were written as text.
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match id.split_first() {
        Some((&NUMBER, digits)) => text(digits).parse().ok().map(IdBuf::Number),
        Some((&TEXT, rest)) => Some(IdBuf::String(text(rest))),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_from_memory_and_from_the_file() {
        for room in [0, 300, u64::MAX] {
            let ids = ids_that_come_back(room);
            assert_eq!(ids.file.is_some(), room < u64::MAX);
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
        assert_eq!(ids.count(), 302);
        for record in (0..310).chain([3, 300, 4]) {
            let expected = given.iter().find(|given| given.0 == record);
            let expected = expected.map(|given| IdBuf::String(given.1.into()));
            let number = (record == 301).then_some(IdBuf::Number(u64::MAX));
            assert_eq!(ids.get(record).unwrap(), expected.or(number));
        }
        ids
    }
}
