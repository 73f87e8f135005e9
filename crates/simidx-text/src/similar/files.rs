//! Temporary files, which are created at the first write.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Number of bytes of a number.
pub(super) const NUMBER_LEN: usize = 4;

/// Number of numbers that are written together.
const PIECE: usize = 1 << 16;

/// A temporary file. Errors name its folder.
#[derive(Debug)]
pub(super) struct TempFile {
    folder: PathBuf,
    file: Option<File>,
}

impl TempFile {
    /// Creates a file in a folder, by default the folder of the system.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        TempFile {
            folder: folder.map_or_else(std::env::temp_dir, Path::to_owned),
            file: None,
        }
    }

    /// Whether anything was written.
    #[cfg(test)]
    pub(super) fn is_there(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        let TempFile { folder, file } = self;
        let written = match file {
            Some(file) => write_at(file, bytes, at),
            None => tempfile::tempfile_in(&*folder)
                .and_then(|new| write_at(file.insert(new), bytes, at)),
        };
        written.map_err(|error| blame(folder, error))
    }

    /// Reads bytes that were written.
    pub(super) fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let Some(file) = &self.file else {
            unreachable!("what is not in memory was written");
        };
        read_at(file, bytes, at).map_err(|error| blame(&self.folder, error))
    }

    /// Writes numbers, from number `start` of the file on.
    pub(super) fn write_numbers(&mut self, start: u64, numbers: &[u32]) -> io::Result<()> {
        let (mut at, mut bytes) = (start * NUMBER_LEN as u64, Vec::new());
        for numbers in numbers.chunks(PIECE) {
            bytes.clear();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            self.write(&bytes, at)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Appends `count` numbers of the file to `out`, from number `start` on.
    pub(super) fn read_numbers(
        &self,
        start: u64,
        count: usize,
        out: &mut Vec<u32>,
    ) -> io::Result<()> {
        let mut bytes = vec![0; count * NUMBER_LEN];
        self.read(&mut bytes, start * NUMBER_LEN as u64)?;
        let (numbers, _) = bytes.as_chunks();
        out.extend(numbers.iter().map(|number| u32::from_le_bytes(*number)));
        Ok(())
    }
}

/// Adds the folder of the file to an error.
fn blame(folder: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                bytes = &bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}
