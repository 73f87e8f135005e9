//! Excluded ids: sorted in bounded memory, then compared with the ids of each segment in order.

use std::io;

use super::NumberedIndex;
use crate::bit_set::BitSet;
use crate::error::{Error, Result};
use crate::extsort::{IndexedStrings, Prefix, Sorter, Spool, TempSpace};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::id::Id;
use crate::index::Index;

/// The least memory for ids during a comparison, in bytes.
const LEAST_CHUNK: usize = 1 << 20;

/// Ids of one kind, in any order.
#[derive(Debug)]
pub(super) enum ExcludedIds {
    None,
    Numbers(Sorter<Vec<u64>>),
    Strings(Sorter<IndexedStrings>),
    /// Sorted; no more ids can be added.
    Sorted(SortedIds),
    /// Lost, because they could not be sorted.
    Lost,
}

impl ExcludedIds {
    /// The kind of the ids.
    ///
    /// # Errors
    /// The ids are lost.
    pub(super) fn kind(&self) -> Result<IdKind> {
        match self {
            ExcludedIds::None => Ok(IdKind::None),
            ExcludedIds::Numbers(_) => Ok(IdKind::Number),
            ExcludedIds::Strings(_) => Ok(IdKind::String),
            ExcludedIds::Sorted(sorted) => Ok(sorted.kind),
            ExcludedIds::Lost => Err(lost()),
        }
    }

    /// Adds a number id.
    ///
    /// # Errors
    /// String ids were added before, or a temporary file cannot be written.
    pub(super) fn add_number(&mut self, id: u64, temp: &TempSpace, budget: usize) -> Result<()> {
        if let ExcludedIds::None = self {
            *self = ExcludedIds::Numbers(Sorter::new(temp.clone(), budget));
        }
        match self {
            ExcludedIds::Numbers(sorter) => sorter.add(|ids| ids.push(id)),
            other => Err(other.refusal()),
        }
    }

    /// Adds a string id of at most 65,535 bytes.
    ///
    /// # Errors
    /// Number ids were added before, or a temporary file cannot be written.
    pub(super) fn add_string(&mut self, id: &[u8], temp: &TempSpace, budget: usize) -> Result<()> {
        if let ExcludedIds::None = self {
            *self = ExcludedIds::Strings(Sorter::new(temp.clone(), budget));
        }
        match self {
            ExcludedIds::Strings(sorter) => {
                sorter.add(|ids| ids.push(Prefix::default(), [id, b""], 0))
            }
            other => Err(other.refusal()),
        }
    }

    /// Sorts the ids, if they are not yet sorted. Afterwards no more can be added.
    ///
    /// # Errors
    /// A failure to read or write temporary files; the ids are then lost, and every later call fails.
    pub(super) fn sorted(&mut self, temp: &TempSpace) -> Result<&mut SortedIds> {
        let sorted = match std::mem::replace(self, ExcludedIds::Lost) {
            ExcludedIds::Sorted(sorted) => sorted,
            unsorted => unsorted.sort(temp)?,
        };
        *self = ExcludedIds::Sorted(sorted);
        match self {
            ExcludedIds::Sorted(sorted) => Ok(sorted),
            _ => Err(lost()),
        }
    }

    /// Returns why an id cannot be added.
    fn refusal(&self) -> Error {
        let message = match self {
            ExcludedIds::Lost => return lost(),
            ExcludedIds::Sorted(_) => "ids to be left out are added before they are used",
            _ => "ids to be left out are numbers or strings, not both",
        };
        Error::option("exclusions", message)
    }

    fn sort(self, temp: &TempSpace) -> Result<SortedIds> {
        let (mut ids, kind) = (temp.spool(), self.kind()?);
        match self {
            ExcludedIds::None | ExcludedIds::Sorted(_) | ExcludedIds::Lost => {}
            ExcludedIds::Numbers(sorter) => {
                let mut last = None;
                sorter.finish()?.for_each_round(|numbers| {
                    numbers.iter().try_for_each(|&number| {
                        match last.replace(number) == Some(number) {
                            true => Ok(()),
                            false => Ok(ids.write(&number.to_le_bytes())?),
                        }
                    })
                })?;
            }
            ExcludedIds::Strings(sorter) => {
                let mut last: Option<Vec<u8>> = None;
                sorter.finish()?.for_each_round(|strings| {
                    strings.for_each(|_, [string, _], _| {
                        if last.as_deref() == Some(string) {
                            return Ok(());
                        }
                        let of_last = last.get_or_insert_default();
                        of_last.clear();
                        of_last.extend_from_slice(string);
                        ids.write(&(string.len() as u16).to_le_bytes())?;
                        Ok(ids.write(string)?)
                    })
                })?;
            }
        }
        Ok(SortedIds { ids, kind })
    }
}

fn lost() -> Error {
    io::Error::other("the ids to be left out were lost when they were sorted").into()
}

/// Distinct ids in order.
#[derive(Debug)]
pub(super) struct SortedIds {
    /// Numbers of eight bytes each, or strings, each preceded by its length in two bytes.
    ids: Spool,
    kind: IdKind,
}

impl SortedIds {
    /// Marks the slots of each segment (see [`Index::visit_ids`]) that have one of the ids. Reads the ids once, in
    /// chunks of about `chunk_len` bytes, and the ids of all segments once for each chunk. Returns the number of ids
    /// that are not in any segment.
    ///
    /// # Errors
    /// Damaged segments, reported with their number, and a failure to read temporary files.
    pub(super) fn mark<F: Fingerprint>(
        &mut self,
        segments: &[NumberedIndex<'_, F>],
        slots: &mut [BitSet],
        chunk_len: usize,
        blame: impl Fn(usize, Error) -> Error,
    ) -> Result<u64> {
        let (mut chunk, mut unmatched, kind) = (Chunk::default(), 0, self.kind);
        let mut compare = |chunk: &mut Chunk| -> Result<()> {
            for (&(number, segment), slots) in segments.iter().zip(&mut *slots) {
                let marked = chunk.mark(segment, slots);
                marked.map_err(|error| blame(number, error))?;
            }
            unmatched += chunk.unmatched();
            chunk.clear();
            Ok(())
        };
        let chunk_len = chunk_len.max(LEAST_CHUNK);
        self.ids.read::<Error>(1, |piece| {
            chunk.waiting.extend_from_slice(piece);
            chunk.take_whole(kind);
            match chunk.len() >= chunk_len {
                true => compare(&mut chunk),
                false => Ok(()),
            }
        })?;
        compare(&mut chunk)?;
        Ok(unmatched)
    }

    /// Calls `take` with each id, in order.
    ///
    /// # Errors
    /// A failure to read temporary files, and any error of `take`.
    pub(super) fn for_each(&mut self, mut take: impl FnMut(Id<'_>) -> Result<()>) -> Result<()> {
        let (mut chunk, kind) = (Chunk::default(), self.kind);
        self.ids.read::<Error>(1, |piece| {
            chunk.waiting.extend_from_slice(piece);
            chunk.take_whole(kind);
            for &number in &chunk.numbers {
                take(Id::Number(number))?;
            }
            for string in 0..chunk.ends.len() {
                // It was valid UTF-8 when it was added.
                take(Id::String(&String::from_utf8_lossy(chunk.string(string))))?;
            }
            chunk.clear();
            Ok(())
        })
    }
}

/// Some of the ids in memory, in order.
#[derive(Debug, Default)]
struct Chunk {
    numbers: Vec<u64>,
    bytes: Vec<u8>,
    /// The end of each string.
    ends: Vec<usize>,
    matched: Vec<bool>,
    /// The start of an incomplete id.
    waiting: Vec<u8>,
}

impl Chunk {
    fn len(&self) -> usize {
        size_of_val(&self.numbers[..]) + self.bytes.len() + size_of_val(&self.ends[..])
    }

    /// Takes the complete ids.
    fn take_whole(&mut self, kind: IdKind) {
        let mut rest = &self.waiting[..];
        if kind == IdKind::Number {
            let (numbers, after) = rest.as_chunks::<8>();
            self.numbers
                .extend(numbers.iter().map(|&n| u64::from_le_bytes(n)));
            rest = after;
        }
        while kind == IdKind::String
            && let Some((len, after)) = rest.split_first_chunk::<2>()
            && let Some((id, after)) = after.split_at_checked(u16::from_le_bytes(*len).into())
        {
            self.bytes.extend_from_slice(id);
            self.ends.push(self.bytes.len());
            rest = after;
        }
        self.waiting = rest.to_vec();
        self.matched
            .resize(self.numbers.len() + self.ends.len(), false);
    }

    fn string(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// Marks the slots of a segment whose ids are in the chunk.
    fn mark<F: Fingerprint>(&mut self, segment: &Index<F>, slots: &mut BitSet) -> Result<()> {
        if self.matched.is_empty() {
            return Ok(());
        }
        // Strings are visited in order, numbers are not.
        let mut next = 0;
        segment.visit_ids(|slot, id| {
            let found = match id {
                Id::Number(number) => self.numbers.binary_search(&number).ok(),
                Id::String(string) => {
                    while next < self.ends.len() && self.string(next) < string.as_bytes() {
                        next += 1;
                    }
                    let is_it = next < self.ends.len() && self.string(next) == string.as_bytes();
                    is_it.then_some(next)
                }
            };
            if let Some(found) = found {
                self.matched[found] = true;
                slots.insert(slot);
            }
        })
    }

    /// Returns the number of ids that no segment has had.
    fn unmatched(&self) -> u64 {
        self.matched.iter().filter(|matched| !**matched).count() as u64
    }

    /// Drops the ids, except the start of an incomplete one.
    fn clear(&mut self) {
        self.numbers.clear();
        self.bytes.clear();
        self.ends.clear();
        self.matched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, IndexBuilder, Width};

    fn index(kind: IdKind, ids: impl Iterator<Item = u64>) -> Index<u64> {
        let options = BuildOptions {
            ids: kind,
            ..BuildOptions::default()
        };
        let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
        for (id, fingerprint) in ids.zip(0u64..) {
            match kind {
                IdKind::Number => builder.push_with_id(fingerprint, id).unwrap(),
                _ => builder.push_with_id(fingerprint, &name(id)).unwrap(),
            }
        }
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        Index::from_bytes(file).unwrap()
    }

    fn name(id: u64) -> String {
        // Long ids, so that there are several chunks.
        format!("{id:07}{}", "x".repeat(300))
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn records_are_marked_whatever_the_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let temp = TempSpace::new(Some(folder.path().into()), 0);
        for kind in [IdKind::Number, IdKind::String] {
            let segments = [index(kind, 0..10_000), index(kind, (5_000..20_000).rev())];
            let mut excluded = ExcludedIds::None;
            for id in (0..40_000).step_by(3).chain([3, 6]) {
                match kind {
                    IdKind::Number => excluded.add_number(id, &temp, 1 << 16).unwrap(),
                    _ => excluded
                        .add_string(name(id).as_bytes(), &temp, 1 << 16)
                        .unwrap(),
                }
            }
            assert_eq!(excluded.kind().unwrap(), kind);
            let sorted = excluded.sorted(&temp).unwrap();
            let all: Vec<_> = segments.iter().enumerate().collect();
            let mut slots = vec![BitSet::default(); 2];
            let unmatched = sorted.mark(&all, &mut slots, 0, |_, error| error).unwrap();
            for (segment, slots) in segments.iter().zip(&slots) {
                segment
                    .visit_ids(|slot, id| {
                        let id = id.to_string();
                        let number: u64 = id[..id.len().min(7)].parse().unwrap();
                        assert_eq!(slots.contains(slot), number.is_multiple_of(3), "{number}");
                    })
                    .unwrap();
            }
            // Marking can be repeated.
            let again = excluded.sorted(&temp).unwrap();
            let marked_again = again.mark(&all, &mut slots, 0, |_, error| error);
            assert_eq!(marked_again.unwrap(), unmatched);
            let mut listed = Vec::new();
            let list = |id: Id<'_>| {
                listed.push(id.to_string());
                Ok(())
            };
            excluded.sorted(&temp).unwrap().for_each(list).unwrap();
            assert_eq!(listed.len(), (0..40_000).step_by(3).count());
            assert_eq!(
                unmatched,
                (20_000..40_000).filter(|id| id % 3 == 0).count() as u64
            );
        }
    }

    #[test]
    fn ids_that_cannot_be_written_are_an_error_for_ever() {
        let temp = TempSpace::new(Some("/no/such/folder".into()), 0);
        // They are lost while they are added, or when they are sorted.
        for (count, budget) in [(3000, 1 << 10), (3000, 1 << 22)] {
            for kind in [IdKind::Number, IdKind::String] {
                let mut excluded = ExcludedIds::None;
                let add = |excluded: &mut ExcludedIds, id| match kind {
                    IdKind::Number => excluded.add_number(id, &temp, budget),
                    _ => excluded.add_string(name(id).as_bytes(), &temp, budget),
                };
                let added = (0..count).try_for_each(|id| add(&mut excluded, id));
                assert_eq!(added.is_ok(), budget == 1 << 22);
                for _ in 0..2 {
                    assert!(matches!(excluded.sorted(&temp), Err(Error::Io(_))));
                    assert!(matches!(excluded.kind(), Err(Error::Io(_))));
                    assert!(matches!(add(&mut excluded, 7), Err(Error::Io(_))));
                }
            }
        }
    }

    #[test]
    fn ids_are_of_one_kind() {
        let temp = TempSpace::new(None, usize::MAX);
        let mut excluded = ExcludedIds::None;
        excluded.add_number(1, &temp, usize::MAX).unwrap();
        assert!(excluded.add_string(b"1", &temp, usize::MAX).is_err());
    }
}
