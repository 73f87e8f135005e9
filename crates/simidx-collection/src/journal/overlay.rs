//! A file that redb reads and repairs although it remains unchanged: writes go to memory.
//!
//! redb repairs a file when it opens it, by a commit in that file. The commit replaces the one before the last, which
//! may be the last that reached the disk, and consists of pages that the system has cached.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use redb::StorageBackend;

use crate::system::lock;

const PAGE: usize = 4096;

/// The file, with the pages that were written since it was opened.
#[derive(Debug)]
pub(super) struct Overlay(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    file: File,
    /// Length of the file that is read. Later bytes are zeros.
    file_len: u64,
    len: u64,
    /// The written pages by their numbers.
    written: HashMap<u64, Box<[u8; PAGE]>>,
}

impl Pages {
    fn page(&mut self, number: u64) -> io::Result<Box<[u8; PAGE]>> {
        if let Some(page) = self.written.get(&number) {
            return Ok(page.clone());
        }
        let mut page = Box::new([0; PAGE]);
        let start = number * PAGE as u64;
        let len = self.file_len.saturating_sub(start).min(PAGE as u64);
        if len > 0 {
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut page[..len as usize])?;
        }
        Ok(page)
    }

    /// Visits the pages of a byte range, each with its number, the range within the page, and the range within the
    /// buffer.
    fn visit(
        &mut self,
        offset: u64,
        len: usize,
        mut visit: impl FnMut(&mut Self, u64, Range<usize>, Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < len {
            let place = offset + done as u64;
            let start = (place % PAGE as u64) as usize;
            let part = (PAGE - start).min(len - done);
            let number = place / PAGE as u64;
            visit(self, number, start..start + part, done..done + part)?;
            done += part;
        }
        Ok(())
    }
}

impl Overlay {
    /// Opens a file.
    ///
    /// # Errors
    /// An empty file, which redb would take for a new one, and any error of the operating system.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
        }
        Ok(Overlay(Mutex::new(Pages {
            file,
            file_len: len,
            len,
            written: HashMap::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        lock(&self.0)
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut pages = self.lock();
        pages.visit(offset, out.len(), |pages, number, of_page, of_range| {
            out[of_range].copy_from_slice(&pages.page(number)?[of_page]);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut pages = self.lock();
        let (last, kept) = (len / PAGE as u64, (len % PAGE as u64) as usize);
        pages.written.retain(|&number, _| number <= last);
        if let Some(page) = pages.written.get_mut(&last) {
            page[kept..].fill(0);
        }
        pages.file_len = pages.file_len.min(len);
        pages.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut pages = self.lock();
        pages.visit(offset, data.len(), |pages, number, of_page, of_range| {
            let mut page = pages.page(number)?;
            page[of_page].copy_from_slice(&data[of_range]);
            pages.written.insert(number, page);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn it_is_read_as_it_was_written_and_the_file_stays() {
        const LEN: usize = 3 * PAGE + 100;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut random = SmallRng::seed_from_u64(1);
        let bytes: Vec<u8> = (0..LEN).map(|_| random.random()).collect();
        std::fs::write(&path, &bytes).unwrap();
        let (overlay, mut twin) = (Overlay::open(&path).unwrap(), bytes.clone());
        for _ in 0..2000 {
            let start = random.random_range(0..=twin.len());
            let end = random.random_range(start..=twin.len());
            match random.random_range(0..10) {
                0 => {
                    let len = random.random_range(0..2 * LEN);
                    overlay.set_len(len as u64).unwrap();
                    twin.resize(len, 0);
                }
                1..4 => {
                    let data: Vec<u8> = (start..end).map(|_| random.random()).collect();
                    overlay.write(start as u64, &data).unwrap();
                    twin[start..end].copy_from_slice(&data);
                }
                _ => {
                    let mut out = vec![0; end - start];
                    overlay.read(start as u64, &mut out).unwrap();
                    assert!(out == twin[start..end], "{start} to {end}");
                }
            }
            assert_eq!(overlay.len().unwrap(), twin.len() as u64);
        }
        overlay.read(twin.len() as u64, &mut [0]).unwrap_err();
        assert!(std::fs::read(&path).unwrap() == bytes);
        std::fs::write(&path, "").unwrap();
        Overlay::open(&path).unwrap_err();
    }
}
