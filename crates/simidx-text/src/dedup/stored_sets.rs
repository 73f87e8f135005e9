//! Feature sets of many documents: in memory as long as they fit, the others in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use crate::compare::FeatureSet;

/// Bytes of a feature.
const FEATURE_LEN: usize = 8;

/// Bytes that a set takes beside its features: its entry, and what the allocator adds to its list.
const ENTRY_LEN: u64 = size_of::<Entry>() as u64 + 16;

/// The set of a document.
#[derive(Debug)]
struct Entry {
    document: u32,
    identity: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(FeatureSet),
    /// Where the set starts in the file, and how many features it has.
    File {
        start: u64,
        count: usize,
    },
}

/// Feature sets by the numbers of their documents.
#[derive(Debug)]
pub(super) struct StoredSets {
    folder: PathBuf,
    /// Bytes of memory that are left.
    budget: u64,
    entries: Vec<Entry>,
    is_sorted: bool,
    file: Option<BufWriter<File>>,
    /// Bytes in the file.
    file_len: u64,
    /// Whether the file is at its end, where sets are written.
    is_at_end: bool,
    /// The set that was read last, with its number among the entries: mostly one is compared with many.
    last: Option<(usize, FeatureSet)>,
}

impl StoredSets {
    /// No sets, and so many bytes of memory for those to come.
    pub(super) fn new(budget: Option<u64>, temp_dir: Option<PathBuf>) -> Self {
        StoredSets {
            folder: temp_dir.unwrap_or_else(std::env::temp_dir),
            budget: budget.unwrap_or(u64::MAX),
            entries: Vec::new(),
            is_sorted: true,
            file: None,
            file_len: 0,
            is_at_end: true,
            last: None,
        }
    }

    /// Stores the set of a document.
    ///
    /// # Errors
    /// What keeps it from being written to the file.
    pub(super) fn push(&mut self, document: u32, set: FeatureSet) -> io::Result<()> {
        let bytes: Vec<u8> = set.hashes().iter().flat_map(|h| h.to_le_bytes()).collect();
        let identity = xxh3_64(&bytes);
        let needed = bytes.len() as u64 + ENTRY_LEN;
        let place = match self.budget.checked_sub(needed) {
            Some(left) => {
                self.budget = left;
                let exact = set.hashes().to_vec();
                Place::Memory(FeatureSet::from_hashes(exact))
            }
            None => {
                // Sets that came later and are smaller go to the file, too: one that is full stays so.
                self.budget = 0;
                self.write(&bytes).map_err(|error| self.blame(error))?
            }
        };
        let last = self.entries.last();
        self.is_sorted &= last.is_none_or(|last| last.document < document);
        self.entries.push(Entry {
            document,
            identity,
            place,
        });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let file = match &mut self.file {
            Some(file) => file,
            file => {
                let new = tempfile::tempfile_in(&self.folder)?;
                file.insert(BufWriter::with_capacity(1 << 20, new))
            }
        };
        if !std::mem::replace(&mut self.is_at_end, true) {
            file.seek(SeekFrom::Start(self.file_len))?;
        }
        file.write_all(bytes)?;
        let start = self.file_len;
        self.file_len += bytes.len() as u64;
        let count = bytes.len() / FEATURE_LEN;
        Ok(Place::File { start, count })
    }

    /// A hash of the set of a document.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn identity(&mut self, document: usize) -> io::Result<u64> {
        let entry = self.entry(document)?;
        Ok(self.entries[entry].identity)
    }

    /// Hands the sets of two documents to `compare`.
    ///
    /// # Errors
    /// There are none, or they cannot be read.
    pub(super) fn compare<T>(
        &mut self,
        a: usize,
        b: usize,
        compare: impl FnOnce(&FeatureSet, &FeatureSet) -> T,
    ) -> io::Result<T> {
        let [a, b] = [self.entry(a)?, self.entry(b)?];
        let is_last = self.last.as_ref().is_some_and(|(last, _)| *last == a);
        if !is_last && let Some(set) = self.read(a)? {
            self.last = Some((a, set));
        }
        let read = self.read(b)?;
        let in_memory = |entry: usize| match &self.entries[entry].place {
            Place::Memory(set) => Some(set),
            Place::File { .. } => None,
        };
        let of_file = self.last.as_ref().map(|(_, set)| set);
        match (in_memory(a).or(of_file), in_memory(b).or(read.as_ref())) {
            (Some(a), Some(b)) => Ok(compare(a, b)),
            _ => unreachable!("what is not in memory has been read"),
        }
    }

    /// The number of the entry of a document.
    fn entry(&mut self, document: usize) -> io::Result<usize> {
        if !self.is_sorted {
            self.entries.sort_unstable_by_key(|entry| entry.document);
            (self.is_sorted, self.last) = (true, None);
        }
        let found = self
            .entries
            .binary_search_by_key(&document, |entry| entry.document as usize);
        found.map_err(|_| {
            let message = format!("the text of document {document} is missing");
            io::Error::new(io::ErrorKind::NotFound, message)
        })
    }

    /// The set of an entry if it is in the file.
    fn read(&mut self, entry: usize) -> io::Result<Option<FeatureSet>> {
        let Place::File { start, count } = self.entries[entry].place else {
            return Ok(None);
        };
        let mut bytes = vec![0; count * FEATURE_LEN];
        self.is_at_end = false;
        let read = match &mut self.file {
            Some(file) => file
                .seek(SeekFrom::Start(start))
                .and_then(|_| file.get_mut().read_exact(&mut bytes)),
            None => Ok(()),
        };
        read.map_err(|error| self.blame(error))?;
        let (hashes, _) = bytes.as_chunks();
        let hashes = hashes.iter().map(|hash| u64::from_le_bytes(*hash));
        Ok(Some(FeatureSet::from_hashes(hashes.collect())))
    }

    fn blame(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(document: u64) -> FeatureSet {
        FeatureSet::from_hashes((0..document % 7).map(|i| document * 31 + i).collect())
    }

    #[test]
    fn sets_come_back_from_memory_and_from_the_file() {
        for budget in [Some(0), Some(50 * ENTRY_LEN), None] {
            let mut sets = StoredSets::new(budget, None);
            // In no order.
            for i in 0..200 {
                let document = i * 77 % 200;
                sets.push(document as u32, set(document)).unwrap();
            }
            assert_eq!(sets.file.is_some(), budget.is_some());
            for (a, b) in [(0, 199), (3, 4), (3, 180), (180, 3), (180, 180), (20, 21)] {
                let pair = sets.compare(a, b, |a, b| (a.clone(), b.clone()));
                assert_eq!(pair.unwrap(), (set(a as u64), set(b as u64)));
            }
            assert_eq!(sets.identity(0).unwrap(), sets.identity(7).unwrap());
            assert_ne!(sets.identity(1).unwrap(), sets.identity(8).unwrap());
            // More sets may follow.
            sets.push(500, set(5)).unwrap();
            assert!(sets.compare(500, 5, |a, b| a == b).unwrap());
            assert!(sets.compare(5, 400, |_, _| ()).is_err());
        }
    }
}
