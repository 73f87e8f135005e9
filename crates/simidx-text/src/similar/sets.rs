//! The feature sets of many texts, for reading by several threads: in memory as far as they fit, the rest in a file.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::digest::{Digest, Parities, parities};
use super::files::TempFile;

/// Bytes of a feature.
const FEATURE_LEN: usize = 8;

/// Number of bytes that are written to the file together.
const WRITE_LEN: usize = 1 << 20;

/// Number of bits for the length of a set. Longer lengths are stored separately.
const LEN_BITS: u32 = 24;
const LONG: u64 = (1 << LEN_BITS) - 1;

/// The part of a set that is always in memory.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The number of features before the set, times 2^24, plus the number of its own features, or [`LONG`] if that does
    /// not fit.
    place: u64,
    parities: Parities,
}

/// Represents a missing set.
const ABSENT: Entry = Entry {
    place: u64::MAX,
    parities: [0; 2],
};

/// Feature sets of numbered texts, added in any order.
#[derive(Debug)]
pub(super) struct Sets {
    /// Number of features that memory permits.
    room: u64,
    /// The set of each text.
    index: Vec<Entry>,
    /// The lengths of the longest sets.
    long: HashMap<usize, u64>,
    feature_count: u64,
    in_memory: Vec<u64>,
    file: TempFile,
    /// Number of bytes in the file, and the bytes that follow them.
    written: u64,
    pending: Vec<u8>,
}

/// Working memory for reading a set.
#[derive(Debug, Default)]
pub(super) struct SetBuffer {
    bytes: Vec<u8>,
    features: Vec<u64>,
}

impl Sets {
    /// Creates storage for `text_count` texts, none of which has a set yet.
    pub(super) fn new(text_count: usize, budget: Option<u64>, temp_dir: Option<&Path>) -> Self {
        Sets {
            room: budget.map_or(u64::MAX, |bytes| bytes / FEATURE_LEN as u64),
            index: vec![ABSENT; text_count],
            long: HashMap::new(),
            feature_count: 0,
            in_memory: Vec::new(),
            file: TempFile::new(temp_dir),
            written: 0,
            pending: Vec::new(),
        }
    }

    /// Adds a text and its set.
    pub(super) fn push(&mut self, features: &[u64]) -> io::Result<()> {
        self.index.push(ABSENT);
        self.put(self.index.len() - 1, features)
    }

    /// Adds the set of a text: its features in ascending order.
    pub(super) fn put(&mut self, text: usize, features: &[u64]) -> io::Result<()> {
        let len = features.len() as u64;
        if self.feature_count >= 1 << (u64::BITS - LEN_BITS) {
            return Err(io::Error::other("more than 2^40 features"));
        }
        if len >= LONG {
            self.long.insert(text, len);
        }
        self.index[text] = Entry {
            place: self.feature_count << LEN_BITS | len.min(LONG),
            parities: parities(features),
        };
        self.feature_count += len;
        let is_in_memory = self.written == 0 && self.pending.is_empty();
        if is_in_memory && self.feature_count <= self.room {
            let spare = self.in_memory.capacity() - self.in_memory.len();
            if spare < features.len() {
                // Doubling would leave up to half of the vector empty.
                let more = features.len().max(self.in_memory.len() / 4);
                self.in_memory.reserve_exact(more);
            }
            self.in_memory.extend_from_slice(features);
            return Ok(());
        }
        self.pending
            .extend(features.iter().flat_map(|feature| feature.to_le_bytes()));
        match self.pending.len() >= WRITE_LEN {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Makes the last added sets readable.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write(&self.pending, self.written)?;
            self.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// Memory in bytes for the sets and the index.
    pub(super) fn byte_count(&self) -> u64 {
        Self::byte_count_of(self.index.len() as u64, self.in_memory.len() as u64)
    }

    /// Memory in bytes after adding a text of `feature_count` features.
    pub(super) fn byte_count_with(&self, feature_count: usize) -> u64 {
        self.byte_count() + Self::byte_count_of(1, feature_count as u64)
    }

    /// Memory in bytes for `text_count` texts with `feature_count` features in total.
    pub(super) fn byte_count_of(text_count: u64, feature_count: u64) -> u64 {
        let index = text_count.saturating_mul(size_of::<Entry>() as u64);
        index.saturating_add(feature_count.saturating_mul(FEATURE_LEN as u64))
    }

    /// Whether the set of a text was added.
    pub(super) fn has(&self, text: usize) -> bool {
        self.index[text].place != ABSENT.place
    }

    /// Returns the digest of a set.
    #[inline]
    pub(super) fn digest(&self, text: usize) -> Digest {
        let Entry { place, parities } = self.index[text];
        let len = match place & LONG {
            LONG => self.long.get(&text).copied().unwrap_or(0),
            len => len,
        };
        Digest { len, parities }
    }

    /// Returns the features of a text that has a set, from memory or through the buffer. [`Sets::flush`] must have been
    /// called after the last addition.
    pub(super) fn read<'b>(
        &'b self,
        text: usize,
        buffer: &'b mut SetBuffer,
    ) -> io::Result<&'b [u64]> {
        let start = self.index[text].place >> LEN_BITS;
        let end = start + self.digest(text).len;
        if end <= self.in_memory.len() as u64 {
            return Ok(&self.in_memory[start as usize..end as usize]);
        }
        // The first set that did not fit, and all later ones, are in the file.
        buffer.bytes.resize((end - start) as usize * FEATURE_LEN, 0);
        let at = (start - self.in_memory.len() as u64) * FEATURE_LEN as u64;
        self.file.read(&mut buffer.bytes, at)?;
        buffer.features.clear();
        let (features, _) = buffer.bytes.as_chunks();
        let features = features.iter().map(|feature| u64::from_le_bytes(*feature));
        buffer.features.extend(features);
        Ok(&buffer.features)
    }
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
            let mut sets = Sets::new(200, budget, None);
            for i in (0..200).rev().filter(|i| i % 3 != 0) {
                sets.put(i as usize, &set(i)).unwrap();
            }
            sets.push(&set(6)).unwrap();
            sets.flush().unwrap();
            assert_eq!(sets.file.is_there(), budget.is_some());
            let mut buffer = SetBuffer::default();
            for i in 0..200 {
                assert_eq!(sets.has(i as usize), i % 3 != 0);
                if i % 3 != 0 {
                    assert_eq!(sets.read(i as usize, &mut buffer).unwrap(), set(i), "{i}");
                    assert_eq!(sets.digest(i as usize).len, i % 7);
                }
            }
            assert_eq!(sets.read(200, &mut buffer).unwrap(), set(6));
        }
    }

    #[test]
    fn the_longest_sets_have_their_lengths_elsewhere() {
        let long: Vec<u64> = (0..=LONG).collect();
        let mut sets = Sets::new(2, None, None);
        sets.put(1, &long).unwrap();
        sets.put(0, &[5]).unwrap();
        let mut buffer = SetBuffer::default();
        assert_eq!(sets.read(1, &mut buffer).unwrap(), long);
        assert_eq!(sets.read(0, &mut buffer).unwrap(), [5]);
        assert_eq!((sets.digest(0).len, sets.digest(1).len), (1, LONG + 1));
    }
}
