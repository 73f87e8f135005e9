//! Buffers of records that are sorted, written to a run and read back: fingerprints alone, with numbers, or with
//! strings.

use std::io::{self, BufRead, Write};

use rayon::prelude::*;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::threads::map_parts;

/// The buffer size for reading and writing fixed-size records, in bytes.
const PIECE_LEN: usize = 1 << 20;

/// Values that one task checks.
pub(super) const TASK_LEN: usize = 1 << 16;

/// Records in memory.
pub(crate) trait RecordBuffer: Default + Send + 'static {
    /// The sort key: the whole record.
    type Key: Ord;

    /// Returns the bytes of memory that the records take.
    fn memory_len(&self) -> usize;

    /// Returns the number of records.
    fn count(&self) -> usize;

    /// Drops the records and keeps their memory.
    fn clear(&mut self);

    /// Sorts the records. Fingerprints alone are a set, so equal ones are combined.
    fn sort(&mut self);

    /// Returns the key of the last record.
    fn last_key(&self) -> Option<Self::Key>;

    /// Moves the records up to `bound` from a sorted buffer to the end of another; all records without a bound.
    fn move_up_to(&mut self, bound: Option<&Self::Key>, to: &mut Self);

    /// Writes the records in the format of [`RecordBuffer::read_from`].
    fn write_to(&self, out: &mut impl Write) -> io::Result<()>;

    /// Appends records up to about `budget` bytes; returns false at the end of the input.
    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool>;
}

/// A record of constant length.
pub(crate) trait FixedRecord: Copy + Ord + Send + Sync + 'static {
    const LEN: usize;

    fn encode(self, out: &mut Vec<u8>);

    /// Decodes exactly `LEN` bytes.
    fn decode(bytes: &[u8]) -> Self;

    /// Sorts records, and combines equal ones if they are fingerprints alone.
    fn sort(records: &mut Vec<Self>);
}

impl<F: Fingerprint> FixedRecord for F {
    const LEN: usize = F::BYTES;

    fn encode(self, out: &mut Vec<u8>) {
        self.extend_le(out);
    }

    fn decode(bytes: &[u8]) -> Self {
        F::from_le_slice(bytes).expect("the slice has as many bytes as a fingerprint")
    }

    fn sort(records: &mut Vec<Self>) {
        if !is_sorted(records) {
            F::sort(records);
        }
        records.dedup();
    }
}

/// A fingerprint and the number id of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Numbered<F> {
    pub(crate) fingerprint: F,
    pub(crate) id: u64,
}

impl<F: Fingerprint> FixedRecord for Numbered<F> {
    const LEN: usize = F::BYTES + 8;

    fn encode(self, out: &mut Vec<u8>) {
        self.fingerprint.extend_le(out);
        self.id.extend_le(out);
    }

    fn decode(bytes: &[u8]) -> Self {
        let (fingerprint, id) = bytes.split_at(F::BYTES);
        Numbered {
            fingerprint: F::decode(fingerprint),
            id: u64::decode(id),
        }
    }

    fn sort(records: &mut Vec<Self>) {
        if !is_sorted(records) {
            records.par_sort_unstable();
        }
    }
}

/// Returns whether records are already sorted; this is cheap compared to sorting them.
fn is_sorted<T: Ord + Sync>(records: &[T]) -> bool {
    let ascend = map_parts(records, TASK_LEN, |i, part| {
        let next = records.get((i + 1) * TASK_LEN);
        part.is_sorted() && next.is_none_or(|next| part.last() <= Some(next))
    });
    ascend.into_iter().all(|ascends| ascends)
}

impl<T: FixedRecord> RecordBuffer for Vec<T> {
    type Key = T;

    fn memory_len(&self) -> usize {
        std::mem::size_of_val(self.as_slice())
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.truncate(0);
    }

    fn sort(&mut self) {
        T::sort(self);
    }

    fn last_key(&self) -> Option<T> {
        self.last().copied()
    }

    fn move_up_to(&mut self, bound: Option<&T>, to: &mut Self) {
        let count = match bound {
            Some(bound) => self.partition_point(|record| record <= bound),
            None => self.len(),
        };
        to.extend_from_slice(&self[..count]);
        self.drain(..count);
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(PIECE_LEN);
        for piece in self.chunks(PIECE_LEN / T::LEN) {
            bytes.clear();
            piece.iter().for_each(|record| record.encode(&mut bytes));
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool> {
        let wanted = budget.saturating_sub(self.memory_len()) / size_of::<T>();
        let mut left = wanted.max(1);
        while left > 0 {
            let bytes = input.fill_buf()?;
            let count = (bytes.len() / T::LEN).min(left);
            if count > 0 {
                let records = bytes[..count * T::LEN].chunks_exact(T::LEN);
                self.extend(records.map(T::decode));
                input.consume(count * T::LEN);
                left -= count;
                continue;
            }
            // A record across the end of the buffer, or the end of the input.
            let mut record = Vec::with_capacity(T::LEN);
            let mut one = io::Read::take(&mut *input, T::LEN as u64);
            io::Read::read_to_end(&mut one, &mut record)?;
            if record.len() < T::LEN {
                return Ok(false);
            }
            self.push(T::decode(&record));
            left -= 1;
        }
        Ok(true)
    }
}

/// Records with string ids, each with an optional sketch.
#[derive(Debug)]
pub(crate) struct NamedRecords<F> {
    records: Vec<(F, StringRef)>,
    arena: Vec<u8>,
}

/// The place of a string in the arena, and of the sketch after it.
#[derive(Debug, Clone, Copy)]
struct StringRef {
    start: u64,
    len: u16,
    sketch_len: u8,
}

impl StringRef {
    fn bytes(self, arena: &[u8]) -> &[u8] {
        &arena[self.start as usize..][..usize::from(self.len)]
    }

    fn sketch(self, arena: &[u8]) -> &[u8] {
        let start = self.start as usize + usize::from(self.len);
        &arena[start..][..usize::from(self.sketch_len)]
    }

    /// Returns the key by which records of one fingerprint are sorted.
    fn key(self, arena: &[u8]) -> (&[u8], &[u8]) {
        (self.bytes(arena), self.sketch(arena))
    }
}

impl<F> Default for NamedRecords<F> {
    fn default() -> Self {
        NamedRecords {
            records: Vec::new(),
            arena: Vec::new(),
        }
    }
}

impl<F: Fingerprint> NamedRecords<F> {
    /// Appends a record; the id has at most 65,535 bytes.
    pub(crate) fn push(&mut self, fingerprint: F, id: &[u8]) {
        self.push_parts(fingerprint, id, &[]);
    }

    /// Appends a record with a sketch of at most 255 bytes; the id has at most 65,535 bytes.
    pub(crate) fn push_with_sketch(&mut self, fingerprint: F, id: &[u8], sketch: &[u64]) {
        let mut bytes = [0; 8 * (u8::MAX as usize / 8)];
        let (words, _) = bytes.as_chunks_mut::<8>();
        for (bytes, word) in words.iter_mut().zip(sketch) {
            *bytes = word.to_le_bytes();
        }
        self.push_parts(fingerprint, id, &bytes[..8 * sketch.len()]);
    }

    fn push_parts(&mut self, fingerprint: F, id: &[u8], sketch: &[u8]) {
        let string = StringRef {
            start: self.arena.len() as u64,
            len: id.len() as u16,
            sketch_len: sketch.len() as u8,
        };
        self.arena.extend_from_slice(id);
        self.arena.extend_from_slice(sketch);
        self.records.push((fingerprint, string));
    }

    /// [`NamedRecords::for_each`], with the sketches.
    pub(crate) fn for_each_with_sketch(
        &self,
        mut visit: impl FnMut(F, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut records = self.records.iter();
        records.try_for_each(|(fingerprint, id)| {
            visit(*fingerprint, id.bytes(&self.arena), id.sketch(&self.arena))
        })
    }

    /// Calls `visit` with each record, in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(F, &[u8]) -> Result<()>) -> Result<()> {
        let mut records = self.records.iter();
        records.try_for_each(|(fingerprint, id)| visit(*fingerprint, id.bytes(&self.arena)))
    }
}

impl<F: Fingerprint> RecordBuffer for NamedRecords<F> {
    type Key = (F, Vec<u8>, Vec<u8>);

    fn memory_len(&self) -> usize {
        std::mem::size_of_val(self.records.as_slice()) + self.arena.len()
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.arena.clear();
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.records.par_sort_unstable_by(|(f, a), (g, b)| {
            f.cmp(g).then_with(|| a.key(arena).cmp(&b.key(arena)))
        });
    }

    fn last_key(&self) -> Option<Self::Key> {
        let (fingerprint, id) = self.records.last()?;
        let (id, sketch) = id.key(&self.arena);
        Some((*fingerprint, id.to_vec(), sketch.to_vec()))
    }

    fn move_up_to(&mut self, bound: Option<&Self::Key>, to: &mut Self) {
        let arena = &self.arena;
        let count = match bound {
            Some((last, id, sketch)) => self
                .records
                .partition_point(|(f, a)| (*f, a.key(arena)) <= (*last, (id, sketch))),
            None => self.records.len(),
        };
        for (fingerprint, id) in &self.records[..count] {
            to.push_parts(*fingerprint, id.bytes(arena), id.sketch(arena));
        }
        self.records.drain(..count);
        // Strings were read in order, so the remaining ones are at the end of the arena.
        let start = self.records.first().map(|(_, id)| id.start);
        let start = start.unwrap_or(self.arena.len() as u64);
        self.arena.drain(..start as usize);
        self.records
            .iter_mut()
            .for_each(|(_, id)| id.start -= start);
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(PIECE_LEN);
        for (fingerprint, id) in &self.records {
            fingerprint.extend_le(&mut bytes);
            bytes.extend_from_slice(&id.len.to_le_bytes());
            bytes.push(id.sketch_len);
            bytes.extend_from_slice(id.bytes(&self.arena));
            bytes.extend_from_slice(id.sketch(&self.arena));
            if bytes.len() >= PIECE_LEN {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)
    }

    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool> {
        let mut string = Vec::new();
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut head = [0; 19];
            let head = &mut head[..F::BYTES + 3];
            input.read_exact(head)?;
            let (fingerprint, lens) = head.split_at(F::BYTES);
            let len = usize::from(lens[0]) | usize::from(lens[1]) << 8;
            string.resize(len + usize::from(lens[2]), 0);
            input.read_exact(&mut string)?;
            let (id, sketch) = string.split_at(len);
            self.push_parts(F::decode(fingerprint), id, sketch);
            if self.memory_len() >= budget {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all<B: RecordBuffer>(bytes: &[u8], budget: usize) -> B {
        let (mut all, mut buffer) = (B::default(), B::default());
        // A small buffer splits records across its end.
        let mut input = io::BufReader::with_capacity(13, bytes);
        let mut more = true;
        while more {
            more = buffer.read_from(&mut input, budget).unwrap();
            buffer.move_up_to(None, &mut all);
        }
        all
    }

    fn named(records: &[(u32, String)]) -> NamedRecords<u32> {
        let mut buffer = NamedRecords::default();
        for (fingerprint, id) in records {
            buffer.push(*fingerprint, id.as_bytes());
        }
        buffer
    }

    fn contents(buffer: &NamedRecords<u32>) -> Vec<(u32, String)> {
        let mut records = Vec::new();
        let push = |fingerprint, id: &[u8]| {
            records.push((fingerprint, String::from_utf8(id.to_vec()).unwrap()));
            Ok(())
        };
        buffer.for_each(push).unwrap();
        records
    }

    proptest! {
        #[test]
        fn fixed_records_are_sorted_written_and_read(
            records in prop::collection::vec((0u128..9, any::<u64>()), 0..80), budget in 0usize..400,
        ) {
            let mut buffer: Vec<Numbered<u128>> = records
                .iter()
                .map(|&(fingerprint, id)| Numbered { fingerprint, id })
                .collect();
            RecordBuffer::sort(&mut buffer);
            let mut expected = records.clone();
            expected.sort_unstable();
            prop_assert!(buffer.iter().map(|r| (r.fingerprint, r.id)).eq(expected));
            let mut bytes = Vec::new();
            buffer.write_to(&mut bytes).unwrap();
            prop_assert_eq!(read_all::<Vec<Numbered<u128>>>(&bytes, budget), buffer);
        }

        #[test]
        fn fingerprints_alone_become_a_set(records in prop::collection::vec(0u64..50, 0..80)) {
            let mut buffer = records.clone();
            RecordBuffer::sort(&mut buffer);
            let set: std::collections::BTreeSet<u64> = records.into_iter().collect();
            prop_assert!(buffer.into_iter().eq(set));
        }

        #[test]
        fn named_records_are_sorted_written_and_read(
            records in prop::collection::vec((0u32..9, "[ab]{0,3}"), 0..80), budget in 0usize..400,
        ) {
            let mut buffer = named(&records);
            buffer.sort();
            let mut expected = records.clone();
            expected.sort();
            prop_assert_eq!(contents(&buffer), expected.clone());
            let mut bytes = Vec::new();
            buffer.write_to(&mut bytes).unwrap();
            prop_assert_eq!(contents(&read_all(&bytes, budget)), expected);
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn records_up_to_a_bound_are_moved(
            records in prop::collection::vec((0u32..9, "[ab]{0,3}"), 0..80), bound in (0u32..9, "[ab]{0,3}"),
        ) {
            let mut buffer = named(&records);
            buffer.sort();
            // Ordered strings, as in a run.
            let mut buffer = named(&contents(&buffer));
            let mut below = NamedRecords::default();
            let key = (bound.0, bound.1.clone().into_bytes(), vec![]);
            buffer.move_up_to(Some(&key), &mut below);
            let (mut low, mut high): (Vec<_>, Vec<_>) = records.into_iter().partition(|r| *r <= bound);
            low.sort();
            high.sort();
            prop_assert_eq!(contents(&below), low);
            prop_assert_eq!(contents(&buffer), high);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn order_is_seen_across_tasks() {
        let mut values: Vec<u64> = (0..200_000).collect();
        assert!(is_sorted(&values));
        values[TASK_LEN] = 7;
        assert!(!is_sorted(&values));
        assert!(is_sorted::<u64>(&[]));
    }
}
