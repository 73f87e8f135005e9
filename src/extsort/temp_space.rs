//! Temporary files without names in one folder, which disappear with the process however it ends, and byte sequences
//! that move there when they exceed their share of memory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::{SpooledTempFile, spooled_tempfile_in, tempfile_in};

/// The buffer size for reading a spool, in bytes.
const CHUNK_LEN: usize = 1 << 18;

/// The folder for temporary files, and the bytes of a [`Spool`] that stay in memory.
#[derive(Debug, Clone)]
pub(crate) struct TempSpace {
    folder: Arc<Path>,
    spool_len: usize,
}

impl TempSpace {
    /// Creates a space for temporary files in a folder, by default that of the system.
    pub(crate) fn new(folder: Option<PathBuf>, spool_len: usize) -> Self {
        TempSpace {
            folder: folder.unwrap_or_else(system_folder).into(),
            spool_len,
        }
    }

    /// Creates an empty file that others cannot find.
    ///
    /// # Errors
    /// Any error of the system, with the name of the folder.
    pub(crate) fn file(&self) -> io::Result<TempFile> {
        let file = tempfile_in(&self.folder).map_err(|error| blame(&self.folder, error))?;
        Ok(TempFile {
            file,
            folder: self.folder.clone(),
        })
    }

    /// Creates an empty spool.
    pub(crate) fn spool(&self) -> Spool {
        let file = spooled_tempfile_in(self.spool_len, &self.folder);
        Spool {
            out: BufWriter::with_capacity(1 << 13, file),
            folder: self.folder.clone(),
            len: 0,
        }
    }
}

/// The folder of the system for temporary files.
fn system_folder() -> PathBuf {
    // Without files, as in a browser, asking for it panics, but making a file in any folder is an error.
    if cfg!(target_family = "wasm") {
        return PathBuf::from("/tmp");
    }
    std::env::temp_dir()
}

/// A temporary file whose errors name its folder.
#[derive(Debug)]
pub(crate) struct TempFile {
    file: File,
    folder: Arc<Path>,
}

impl Read for TempFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes);
        read.map_err(|error| blame(&self.folder, error))
    }
}

impl Seek for TempFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let sought = self.file.seek(to);
        sought.map_err(|error| blame(&self.folder, error))
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|error| blame(&self.folder, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that are written once, in order, and then read any number of times.
#[derive(Debug)]
pub(crate) struct Spool {
    out: BufWriter<SpooledTempFile>,
    folder: Arc<Path>,
    len: u64,
}

impl Spool {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Any error of the system, with the name of the folder.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|error| blame(&self.folder, error))
    }

    /// Calls `take` with all bytes, in pieces that are multiples of `item_len` bytes. Afterwards nothing can be
    /// written.
    ///
    /// # Errors
    /// Any error of the system, with the name of the folder, and any error of `take`.
    pub(crate) fn read<E: From<io::Error>>(
        &mut self,
        item_len: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.out.seek(SeekFrom::Start(0));
        start.map_err(|error| blame(&self.folder, error))?;
        let mut piece = vec![0; (CHUNK_LEN / item_len).max(1) * item_len];
        let mut left = self.len;
        while left > 0 {
            let len = left.min(piece.len() as u64) as usize;
            let read = self.out.get_mut().read_exact(&mut piece[..len]);
            read.map_err(|error| blame(&self.folder, error))?;
            take(&piece[..len])?;
            left -= len as u64;
        }
        Ok(())
    }
}

fn blame(folder: &Path, error: io::Error) -> io::Error {
    let folder = folder.display();
    io::Error::new(error.kind(), format!("temporary file in {folder}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_spool_gives_back_what_it_took_from_memory_and_from_disk() {
        let folder = tempfile::tempdir().unwrap();
        for spool_len in [0, 1000, usize::MAX] {
            let temp = TempSpace::new(Some(folder.path().into()), spool_len);
            let mut spool = temp.spool();
            let bytes: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
            for part in bytes.chunks(777) {
                spool.write(part).unwrap();
            }
            assert_eq!(spool.len(), bytes.len() as u64);
            for _ in 0..2 {
                let mut read = Vec::new();
                let take = |piece: &[u8]| {
                    assert!(piece.len().is_multiple_of(12));
                    read.extend_from_slice(piece);
                    io::Result::Ok(())
                };
                spool.read(12, take).unwrap();
                assert!(read == bytes);
            }
            assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        }
    }

    #[test]
    fn errors_name_the_folder() {
        let temp = TempSpace::new(Some("/no/such/folder".into()), 0);
        let error = temp.file().unwrap_err().to_string();
        assert!(
            error.starts_with("temporary file in /no/such/folder: "),
            "{error}"
        );
        let mut spool = temp.spool();
        let result = (0..10_000).try_for_each(|_| spool.write(&[0; 10]));
        let error = result.unwrap_err().to_string();
        assert!(
            error.starts_with("temporary file in /no/such/folder: "),
            "{error}"
        );
    }
}
