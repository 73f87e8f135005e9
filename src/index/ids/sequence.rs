//! The ids of an index in the order of the records. Strings are read in batches, each in the order of the dictionary,
//! so that a bucket is decoded once for all of its strings.

use super::dictionary::{Dictionary, DictionaryPicker};
use super::{IdBuffer, IdSections, IdValues};
use crate::cpu::{CACHE_LINE, prefetch};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::format::index_bits;
use crate::id::Id;

/// The most ids of a batch.
const MOST_IDS: usize = 1 << 20;

/// The assumed length of an id before any was read, in bytes: that of a path.
const EXPECTED_ID_LEN: usize = 64;

/// The number of ids by which prefetching is ahead of reading.
const PREFETCHED: u64 = 8;

/// Ids in the order of their indexes.
#[derive(Debug)]
pub(in crate::index) struct IdSequence<'a> {
    ids: &'a IdSections,
    file: &'a [u8],
    /// The index of the next id.
    next: u64,
    batch: Batch,
    /// The most bytes of a batch.
    budget: usize,
    /// The number of ids to read together.
    batch_len: usize,
    /// Ids before this index are read one by one, because one of them is unreadable but those before it are not.
    alone_until: u64,
    /// The last id, if it is a number.
    number: u64,
    /// The last id, if it is a string that was read alone.
    buffer: IdBuffer,
}

impl<'a> IdSequence<'a> {
    /// Creates a sequence from the first id on. Reads ahead about `budget` bytes, and always at least one id.
    pub(in crate::index) fn new(ids: &'a IdSections, file: &'a [u8], budget: usize) -> Self {
        IdSequence {
            ids,
            file,
            next: 0,
            batch: Batch::default(),
            budget,
            batch_len: budget / (ENTRY_LEN + EXPECTED_ID_LEN),
            alone_until: 0,
            number: 0,
            buffer: IdBuffer::default(),
        }
    }

    /// Returns the index of the next id; the number of records at the end.
    pub(in crate::index) fn next_index(&self) -> u64 {
        self.next
    }

    /// Returns the next id and its slot, valid until the following id is read; `None` at the end.
    ///
    /// # Errors
    /// The id cannot be read. The next call continues after it.
    pub(in crate::index) fn read(&mut self) -> Result<Option<(Id<'_>, u64)>, FormatError> {
        let index = self.next;
        if index == self.ids.record_count() {
            return Ok(None);
        }
        self.next += 1;
        match &self.ids.values {
            IdValues::Numbers(numbers) => {
                self.number = numbers.read(self.file, index)?;
                Ok(Some((Id::Number(self.number), index)))
            }
            IdValues::Strings(dictionary) => {
                if index >= self.alone_until && self.batch.get(index).is_none() {
                    self.read_ahead(dictionary, index);
                }
                self.batch.prefetch(index + PREFETCHED);
                let (id, place) = match self.batch.get(index) {
                    Some((bytes, place)) => (dictionary.text(bytes)?, place),
                    None => {
                        let place = dictionary.place(self.file, index)?;
                        let id = dictionary.read(self.file, place, &mut self.buffer)?;
                        (id, place)
                    }
                };
                Ok(Some((Id::String(id), place)))
            }
        }
    }

    /// Returns the last id read.
    pub(in crate::index) fn last(&self) -> Option<Id<'_>> {
        match &self.ids.values {
            IdValues::Numbers(_) => Some(Id::Number(self.number)),
            IdValues::Strings(dictionary) => {
                let of_batch = self.batch.get(self.next.checked_sub(1)?);
                let bytes = of_batch.map_or_else(|| self.buffer.as_bytes(), |(bytes, _)| bytes);
                dictionary.text(bytes).ok().map(Id::String)
            }
        }
    }

    /// Reads a batch that starts at an index. The batch is empty if one of its ids cannot be read.
    fn read_ahead(&mut self, dictionary: &Dictionary, first: u64) {
        // A number in the batch and a place are sorted as one number.
        let most = 1u64 << (64 - index_bits(dictionary.record_count)).min(63);
        let most = most
            .min(dictionary.record_count - first)
            .min(MOST_IDS as u64) as usize;
        let mut count = self.batch_len.clamp(1, most);
        loop {
            let read = self
                .batch
                .read(dictionary, self.file, first, count, self.budget);
            match read {
                Ok(true) => {
                    let id_len = self.batch.memory_len().div_ceil(count).max(1);
                    self.batch_len = self.budget / id_len;
                    return;
                }
                Ok(false) => count = (count / 2).max(1),
                Err(_) => {
                    self.batch.clear();
                    self.alone_until = first + count as u64;
                    return;
                }
            }
        }
    }
}

/// Bytes for each id in a batch, in addition to its string.
const ENTRY_LEN: usize = size_of::<u64>() + size_of::<Entry>();

/// Strings with successive indexes.
#[derive(Debug, Default)]
struct Batch {
    /// The index of the first string.
    first: u64,
    entries: Vec<Entry>,
    /// The strings in the order of their places.
    bytes: Vec<u8>,
    /// The place of each string and its number in the batch, with the place in the high bits.
    keys: Vec<u64>,
}

/// A string of a batch.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    place: u64,
    start: u32,
    len: u16,
}

impl Batch {
    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.keys.clear();
    }

    fn memory_len(&self) -> usize {
        self.entries.len() * ENTRY_LEN + self.bytes.len()
    }

    /// Returns the id at an index and its place, if the batch holds it.
    fn get(&self, index: u64) -> Option<(&[u8], u64)> {
        let number = index.checked_sub(self.first)?;
        let entry = self.entries.get(usize::try_from(number).ok()?)?;
        let bytes = &self.bytes[entry.start as usize..][..entry.len.into()];
        Some((bytes, entry.place))
    }

    /// Prefetches the id at an index, which lies anywhere in the batch.
    fn prefetch(&self, index: u64) {
        if let Some(entry) = self.entries.get(index.wrapping_sub(self.first) as usize) {
            let start = entry.start as usize;
            prefetch(&self.bytes, start);
            prefetch(&self.bytes, start + CACHE_LINE);
        }
    }

    /// Reads `count` ids from an index on. Returns false, without any id, if several take more than `budget` bytes.
    ///
    /// # Errors
    /// One of them cannot be read.
    fn read(
        &mut self,
        dictionary: &Dictionary,
        file: &[u8],
        first: u64,
        count: usize,
        budget: usize,
    ) -> Result<bool, FormatError> {
        self.clear();
        self.first = first;
        let number_bits = index_bits(count as u64);
        for number in 0..count as u64 {
            let place = dictionary.place(file, first + number)?;
            self.keys.push(place << number_bits | number);
        }
        u64::sort(&mut self.keys);
        self.entries.resize(count, Entry::default());
        let mut picker = DictionaryPicker::new(dictionary, file);
        let budget = budget.min(u32::MAX as usize);
        for &key in &self.keys {
            let (place, number) = (key >> number_bits, key & ((1 << number_bits) - 1));
            let id = picker.pick(place)?;
            if count > 1 && self.memory_len() + id.len() > budget {
                self.clear();
                return Ok(false);
            }
            self.entries[number as usize] = Entry {
                place,
                start: self.bytes.len() as u32,
                len: id.len() as u16,
            };
            self.bytes.extend_from_slice(id);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, IdBuf, IdKind, Index, IndexBuilder, Width};
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    fn index(ids: &[String]) -> Index<u64> {
        let options = BuildOptions {
            ids: IdKind::String,
            ..BuildOptions::default()
        };
        let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
        for (id, number) in ids.iter().zip(0u64..) {
            // Some fingerprints get several ids.
            let fingerprint = (number / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            builder.push_with_id(fingerprint, id).unwrap();
        }
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        Index::from_bytes(file).unwrap()
    }

    type Read = Result<(IdBuf, u64), FormatError>;

    fn one_by_one(index: &Index<u64>) -> Vec<Read> {
        let (sections, mut buffer) = (index.ids.as_ref().unwrap(), IdBuffer::default());
        let mut read = |number| {
            let slot = sections.slot(index.bytes(), number)?;
            let id = sections.read_at_slot(index.bytes(), slot, &mut buffer)?;
            Ok((id.into(), slot))
        };
        (0..sections.record_count()).map(&mut read).collect()
    }

    fn together(index: &Index<u64>, budget: usize) -> Vec<Read> {
        let sections = index.ids.as_ref().unwrap();
        let mut sequence = IdSequence::new(sections, index.bytes(), budget);
        let mut all = Vec::new();
        while let Some(read) = sequence
            .read()
            .map(|read| read.map(|(id, slot)| (IdBuf::from(id), slot)))
            .transpose()
        {
            if let Ok((id, _)) = &read {
                assert_eq!(sequence.last(), Some(id.as_id()));
            }
            all.push(read);
        }
        assert_eq!(sequence.next_index(), sections.record_count());
        all
    }

    fn ids() -> impl Strategy<Value = Vec<String>> {
        let id = prop_oneof![8 => "/(usr|lib|[a-d]){1,5}/[0-9]{1,4}", 1 => "x{1,600}", 1 => "same"];
        prop::collection::vec(id, 0..900)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 48,
            failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
            ..ProptestConfig::default()
        })]

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn ids_are_those_that_are_read_one_by_one(
            ids in ids(), budget in prop_oneof![0usize..2_000, 0usize..60_000],
        ) {
            let index = index(&ids);
            prop_assert_eq!(together(&index, budget), one_by_one(&index));
            prop_assert_eq!(together(&index, usize::MAX), one_by_one(&index));
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn damage_keeps_no_other_id_from_being_read(
            ids in ids(), budget in 0usize..60_000, at in any::<prop::sample::Index>(), byte in 1u8..,
        ) {
            let index = index(&ids);
            let sections = index.ids.as_ref().unwrap();
            let mut file = index.storage().as_ref().to_vec();
            // Somewhere in the sections of the ids, which are adjacent.
            let sections = sections.paged_sections();
            let start = sections.iter().map(|section| section.page_offset(0)).min().unwrap();
            let end = sections.iter().map(|s| s.page_offset(0) + s.len()).max().unwrap();
            if start < end {
                file[start + at.index(end - start)] ^= byte;
            }
            let damaged = Index::<u64>::from_bytes(file).unwrap();
            let expected = one_by_one(&damaged);
            prop_assert_eq!(together(&damaged, budget), expected);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_batch_does_not_pass_its_budget() {
        let ids: Vec<String> = (0..400).map(|i| format!("{i:04}").repeat(100)).collect();
        let index = index(&ids);
        let sections = index.ids.as_ref().unwrap();
        let budget = 10_000;
        let mut sequence = IdSequence::new(sections, index.bytes(), budget);
        let mut most = 0;
        while sequence.read().unwrap().is_some() {
            assert!(sequence.batch.memory_len() <= budget);
            most = most.max(sequence.batch.entries.len());
        }
        assert!((10..=24).contains(&most), "{most}");
    }
}
