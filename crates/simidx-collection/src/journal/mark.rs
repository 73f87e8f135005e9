//! The mark next to the journal: how many changes have been acknowledged, and whether the collection was closed.
//!
//! redb goes back one commit if it finds the last one damaged after a crash, since it looks like a commit that was not
//! finished. The mark distinguishes the two: it is written after a commit has reached the disk, without a sync, which
//! costs nothing. It therefore has every acknowledged change after the process was killed; after a power failure it may
//! lag behind. Before the journal is written to, the mark records on disk that the collection is open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, at};

const MAGIC: [u8; 8] = *b"simidxJM";
/// The magic, the number, whether the end was clean, three zeros and a CRC-32 of all that.
const LEN: usize = 24;

/// The open file.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    path: PathBuf,
}

/// The contents of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marked {
    /// The last change that is certainly on disk.
    pub(crate) acknowledged: u64,
    /// Whether the collection was closed, and everything that it wrote reached the disk.
    pub(crate) is_clean: bool,
}

impl Marked {
    /// Creates the mark of an open collection whose changes up to this one are on disk.
    pub(super) fn open(acknowledged: u64) -> Self {
        Marked {
            acknowledged,
            is_clean: false,
        }
    }

    /// Creates the mark of a closed collection.
    pub(super) fn clean(acknowledged: u64) -> Self {
        Marked {
            acknowledged,
            is_clean: true,
        }
    }

    fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.acknowledged.to_le_bytes());
        bytes[16] = self.is_clean.into();
        let checksum = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = bytes.get(8..16)?.try_into().ok()?;
        let marked = Marked {
            acknowledged: u64::from_le_bytes(number),
            is_clean: bytes.get(16)? == &1,
        };
        (marked.to_bytes() == *bytes).then_some(marked)
    }

    /// Reads a mark. If the file is missing or empty, nothing has been acknowledged.
    ///
    /// # Errors
    /// A damaged file, and any error of the operating system.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Marked::default()),
            opened => opened
                .and_then(|file| file.take(LEN as u64 + 1).read_to_end(&mut bytes))
                .map_err(at(path))?,
        };
        if bytes.is_empty() {
            return Ok(Marked::default());
        }
        Marked::from_bytes(&bytes).ok_or_else(|| {
            let path = path.display();
            let message = format!(
                "{path}: damaged; restore the folder from a backup, or remove this file to go on without its check"
            );
            Error::Io(io::Error::other(message))
        })
    }
}

impl Mark {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(at(path))?;
        Ok(Mark {
            file,
            path: path.to_owned(),
        })
    }

    /// Replaces the contents without waiting for the disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub(super) fn write(&self, marked: Marked) -> Result<()> {
        let mut file = &self.file;
        file.rewind()
            .and_then(|()| file.write_all(&marked.to_bytes()))
            .map_err(at(&self.path))
    }

    /// Replaces the contents and syncs them to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub(super) fn write_through(&self, marked: Marked) -> Result<()> {
        self.write(marked)?;
        self.file.sync_all().map_err(at(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.mark");
        assert_eq!(Marked::read(&path).unwrap(), Marked::default());
        let mark = Mark::open(&path).unwrap();
        assert_eq!(Marked::read(&path).unwrap(), Marked::default());
        for is_clean in [false, true] {
            let marked = Marked {
                acknowledged: 0x0123_4567,
                is_clean,
            };
            mark.write_through(marked).unwrap();
            assert_eq!(Marked::read(&path).unwrap(), marked);
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), LEN);
        for bit in 0..8 * LEN {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, damaged).unwrap();
            let refused = Marked::read(&path).unwrap_err().to_string();
            assert!(refused.contains("journal.mark: damaged"), "{refused}");
        }
        for len in 1..LEN {
            std::fs::write(&path, &bytes[..len]).unwrap();
            Marked::read(&path).unwrap_err();
        }
    }
}
