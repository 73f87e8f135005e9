//! The feature sets of many texts, for reading by several threads: in memory as far as they fit, the rest in a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of a feature.
const FEATURE_LEN: usize = 8;

/// Bytes that are written to the file together.
const WRITE_LEN: usize = 1 << 20;

/// Feature sets, numbered from 0 in the order in which they came.
#[derive(Debug)]
pub(super) struct Sets {
    folder: PathBuf,
    /// Features for which there is memory.
    room: u64,
    /// Where each set ends, counted in features.
    ends: Vec<u64>,
    in_memory: Vec<u64>,
    file: Option<BufWriter<File>>,
}

impl Sets {
    pub(super) fn new(budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        Sets {
            folder: temp_dir.map_or_else(std::env::temp_dir, Path::to_owned),
            room: budget.map_or(u64::MAX, |bytes| bytes / FEATURE_LEN as u64),
            ends: Vec::new(),
            in_memory: Vec::new(),
            file: None,
        }
    }

    /// Number of sets.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn feature_count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Adds a set: its features in ascending order.
    pub(super) fn push(&mut self, features: &[u64]) -> io::Result<()> {
        let end = self.feature_count() + features.len() as u64;
        if self.file.is_none() && end <= self.room {
            self.in_memory.extend_from_slice(features);
        } else {
            let written = self.write(features);
            written.map_err(|error| self.blame(error))?;
        }
        self.ends.push(end);
        Ok(())
    }

    fn write(&mut self, features: &[u64]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            file => {
                let new = tempfile::tempfile_in(&self.folder)?;
                file.insert(BufWriter::with_capacity(WRITE_LEN, new))
            }
        };
        features
            .iter()
            .try_for_each(|f| file.write_all(&f.to_le_bytes()))
    }

    /// Makes what was pushed last readable.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        flushed.map_err(|error| self.blame(error))
    }

    /// Number of features of a set.
    pub(super) fn len_of(&self, set: usize) -> u64 {
        self.ends[set] - self.start(set)
    }

    fn start(&self, set: usize) -> u64 {
        set.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// The features of a set, from memory or through the buffer. After the last [`Sets::push`] comes [`Sets::flush`].
    pub(super) fn read<'b>(
        &'b self,
        set: usize,
        buffer: &'b mut Vec<u64>,
    ) -> io::Result<&'b [u64]> {
        let (start, end) = (self.start(set), self.ends[set]);
        if end <= self.in_memory.len() as u64 {
            return Ok(&self.in_memory[start as usize..end as usize]);
        }
        // The set that did not fit any more, and all after it, are in the file.
        let Some(file) = &self.file else {
            unreachable!("what is not in memory was written");
        };
        let mut bytes = vec![0; (end - start) as usize * FEATURE_LEN];
        let at = (start - self.in_memory.len() as u64) * FEATURE_LEN as u64;
        read_at(file.get_ref(), &mut bytes, at).map_err(|error| self.blame(error))?;
        buffer.clear();
        let (features, _) = bytes.as_chunks();
        buffer.extend(features.iter().map(|feature| u64::from_le_bytes(*feature)));
        Ok(buffer)
    }

    fn blame(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
    }
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(i: u64) -> Vec<u64> {
        (0..i % 7).map(|j| i * 31 + j).collect()
    }

    #[test]
    fn sets_come_back_from_memory_and_from_the_file() {
        for budget in [None, Some(0), Some(800)] {
            let mut sets = Sets::new(budget, None);
            for i in 0..200 {
                sets.push(&set(i)).unwrap();
            }
            sets.flush().unwrap();
            assert_eq!(sets.file.is_some(), budget.is_some());
            let mut buffer = Vec::new();
            for i in (0..200).rev() {
                assert_eq!(sets.read(i as usize, &mut buffer).unwrap(), set(i), "{i}");
                assert_eq!(sets.len_of(i as usize), i % 7);
            }
            assert_eq!(sets.len(), 200);
        }
    }
}
