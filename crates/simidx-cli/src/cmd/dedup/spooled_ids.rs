//! The ids of documents, in a temporary file: each is needed once or a few times, at the end.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use simidx::Error;
use simidx_input::RecordId;

/// Bytes of an entry of the list of ends.
const END_LEN: u64 = 8;

/// What an id in the file starts with.
const NUMBER: u8 = b'n';
const TEXT: u8 = b't';

/// Ids by the numbers of their documents, which need not all have one. No memory but buffers.
pub(super) struct SpooledIds {
    folder: PathBuf,
    files: Option<Files>,
}

struct Files {
    ids: BufWriter<File>,
    /// Where in `ids` that of each document ends.
    ends: BufWriter<File>,
    end: u64,
    /// Documents so far.
    count: u64,
}

impl SpooledIds {
    pub(super) fn new(temp_dir: Option<&Path>) -> Self {
        SpooledIds {
            folder: temp_dir.map_or_else(std::env::temp_dir, Path::to_owned),
            files: None,
        }
    }

    /// Stores the id of a document; the documents come in order.
    pub(super) fn push(&mut self, document: u64, id: &RecordId) -> Result<(), Error> {
        let result = self.try_push(document, id);
        result.map_err(|error| self.blame(error).into())
    }

    fn try_push(&mut self, document: u64, id: &RecordId) -> io::Result<()> {
        let files = match &mut self.files {
            Some(files) => files,
            files => files.insert(Files::new(&self.folder)?),
        };
        while files.count < document {
            files.push(&[])?;
        }
        match id {
            RecordId::Number(number) => files.push(format!("n{number}").as_bytes()),
            RecordId::Text(text) => files.push(format!("t{text}").as_bytes()),
        }
    }

    /// Makes the ids ready to be read.
    pub(super) fn complete(&mut self) -> Result<(), Error> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        let flushed = files.ids.flush().and_then(|()| files.ends.flush());
        flushed.map_err(|error| self.blame(error).into())
    }

    /// The id of a document, if it has one.
    pub(super) fn get(&self, document: usize) -> Result<Option<RecordId>, Error> {
        match &self.files {
            Some(files) if (document as u64) < files.count => {
                let id = files.get(document as u64);
                id.map_err(|error| self.blame(error).into())
            }
            _ => Ok(None),
        }
    }

    fn blame(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
    }
}

impl Files {
    fn new(folder: &Path) -> io::Result<Self> {
        Ok(Files {
            ids: BufWriter::new(tempfile::tempfile_in(folder)?),
            ends: BufWriter::new(tempfile::tempfile_in(folder)?),
            end: 0,
            count: 0,
        })
    }

    fn push(&mut self, id: &[u8]) -> io::Result<()> {
        self.ids.write_all(id)?;
        self.end += id.len() as u64;
        self.count += 1;
        self.ends.write_all(&self.end.to_le_bytes())
    }

    fn get(&self, document: u64) -> io::Result<Option<RecordId>> {
        let mut ends = [[0; END_LEN as usize]; 2];
        let mut file = self.ends.get_ref();
        match document.checked_sub(1) {
            None => {
                file.seek(SeekFrom::Start(0))?;
                file.read_exact(&mut ends[1])?;
            }
            Some(before) => {
                file.seek(SeekFrom::Start(before * END_LEN))?;
                file.read_exact(ends.as_flattened_mut())?;
            }
        }
        let [start, end] = ends.map(u64::from_le_bytes);
        let mut id = vec![0; (end - start) as usize];
        let mut file = self.ids.get_ref();
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut id)?;
        // They were written as text.
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match id.split_first() {
            Some((&NUMBER, digits)) => text(digits).parse().ok().map(RecordId::Number),
            Some((&TEXT, rest)) => Some(RecordId::Text(text(rest))),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back() {
        let mut ids = SpooledIds::new(None);
        let given = [(0, "a"), (3, "t"), (4, "汉字"), (9, "n7")];
        for (document, id) in given {
            ids.push(document, &RecordId::Text(id.into())).unwrap();
        }
        ids.push(10, &RecordId::Number(u64::MAX)).unwrap();
        ids.complete().unwrap();
        for document in 0..12 {
            let expected = given.iter().find(|given| given.0 == document as u64);
            let expected = expected.map(|given| RecordId::Text(given.1.into()));
            let number = (document == 10).then_some(RecordId::Number(u64::MAX));
            assert_eq!(ids.get(document).unwrap(), expected.or(number));
        }
        assert_eq!(SpooledIds::new(None).get(0).unwrap(), None);
    }
}
