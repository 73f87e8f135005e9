//! Buffers of records that are sorted, written to a run and read back, among them those of records of constant length.

use std::io::{self, BufRead, Write};

use rayon::prelude::*;

use crate::fingerprint::Fingerprint;
use crate::threads::map_parts;

/// The buffer size for reading and writing fixed-size records, in bytes.
pub(super) const PIECE_LEN: usize = 1 << 20;

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
    fn sort(records: &mut Vec<Self>) {
        records.par_sort_unstable();
    }
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
        size_of_val(self.as_slice())
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) fn read_all<B: RecordBuffer>(bytes: &[u8], budget: usize) -> B {
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
